//! What a log came to, as view data: the monitor's own view, with the name of the log.

use linpoint_monitor::replay::Refined;
use linpoint_report::View;

use crate::args::RefineArgs;

/// The view.
pub fn view(args: &RefineArgs, refined: &Refined, text: String) -> View {
    let mut view = refined.report.view();
    let log = args.log.display();
    view.summary.checked = format!("The log {log}. {}", view.summary.checked);
    let ending = match (refined.closed, refined.torn_bytes) {
        (true, _) => "",
        (false, 0) => " What came after the end of the log, which its program did not close.",
        (false, _) => " What came after the end of the log, which is torn.",
    };
    view.summary.not_covered += ending;
    let with_view = if args.view { " --view" } else { "" };
    view.summary.again = format!("linpoint refine {log}{with_view}");
    view.text = text;
    view
}
