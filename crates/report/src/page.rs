//! One page that needs nothing else: view data, a style and a script in one file.
//!
//! # Why values cannot become code
//!
//! The data is JSON in a `<script>` that is not run. Inside it `<`, `>`, `&`, U+2028 and U+2029 are written
//! as escapes of JSON, so that no value can end the element; quotes and control characters are escaped by
//! JSON itself. The script puts texts on the page as text nodes only. A policy in the page's head allows the
//! one style and the one script whose hashes it names, and no request to anywhere: what slipped through would
//! not run, and could tell nobody.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::view::View;

const FRAME: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// One script after another; each a part of the page.
const SCRIPTS: [&str; 7] = [
    include_str!("page/page.js"),
    include_str!("page/layout.js"),
    include_str!("page/history.js"),
    include_str!("page/run.js"),
    include_str!("page/heap.js"),
    include_str!("page/tables.js"),
    include_str!("page/start.js"),
];

/// The page that shows `view`.
pub fn page(view: &View) -> String {
    let script = SCRIPTS.concat();
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(STYLE)
    );
    let title = format!("{}: {}", view.word, view.headline);
    let mut out = String::with_capacity(FRAME.len() + STYLE.len() + script.len() + 4096);
    let mut rest = FRAME;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        out.push_str(before);
        match name {
            "policy" => out.push_str(&policy),
            "title" => out.push_str(&escape(&shorten(&title, 160))),
            "word" => out.push_str(&escape(&view.word)),
            "headline" => out.push_str(&escape(&view.headline)),
            "style" => out.push_str(STYLE),
            "data" => out.push_str(&as_data(&view.to_json())),
            "script" => out.push_str(&script),
            "text" => out.push_str(&escape(&view.text)),
            _ => {}
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most).chain(['…']).collect()
}

/// JSON that cannot end the element it stands in.
fn as_data(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// Text between tags or in an attribute. Control characters that HTML has no place for are shown as a
/// replacement.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::VerdictKind;

    #[test]
    fn a_value_cannot_end_the_data() {
        let evil = "</script><script>alert(1)</script><!--\u{2028}\u{0}\"'";
        let mut view = View::new(VerdictKind::Violated, "violated", evil);
        view.text = evil.to_owned();
        let page = page(&view);
        assert!(!page.contains("alert(1)<"), "the value is escaped everywhere");
        assert_eq!(page.matches("</script>").count(), 2, "the data's end and the script's");
        let (_, data) = page.split_once("id=\"data\">").expect("the data");
        let (data, _) = data.split_once("</script>").expect("its end");
        assert_eq!(View::from_json(data).expect("the view"), view);
    }

    #[test]
    fn nothing_is_asked_of_a_network() {
        let page = page(&View::new(VerdictKind::Holds, "proved", "all"));
        for word in ["http://", "https://", "src=", "@import", "url("] {
            let found = page.replace("http://www.w3.org/2000/svg", "").replace("url(#", "");
            assert!(!found.contains(word), "{word}");
        }
    }
}
