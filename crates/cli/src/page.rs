//! A verdict as one page that needs nothing else.

use linpoint_report::Style;

use crate::check::Shown;
use crate::text;

/// The page.
pub fn render(shown: &Shown<'_>) -> String {
    let body = text::render(shown, Style { width: 160, colour: false });
    let title = escape(&text::first_line(shown));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem;color:#222}}\
         pre{{font:14px/1.35 ui-monospace,monospace;overflow-x:auto;background:#f6f6f4;padding:1rem}}</style>\n\
         <h1>{title}</h1>\n<pre>{}</pre>\n</html>\n",
        escape(&body)
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
