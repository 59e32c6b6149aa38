//! `linpoint refine`: checks a log that a monitored program wrote.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use linpoint_history::Diagnostic;
use linpoint_monitor::Finding;
use linpoint_monitor::file::LogError;
use linpoint_monitor::finding::{Blame, Cause, Found, Seen};
use linpoint_monitor::replay::{self, Refine, RefineError, Refined};
use serde_json::{Value as Json, json};

use crate::args::RefineArgs;
use crate::fault::{Exit, Fault};

/// Runs the command.
pub fn run(args: &RefineArgs) -> Result<Exit, Fault> {
    let start = Instant::now();
    if args.log.is_dir() {
        return Err(Fault::usage(format!("{} is a folder", args.log.display()), "name a log file"));
    }
    crate::input::not_over([&args.log], args.output.files())?;
    let bar = progress(&args.log);
    let spec = args.spec.as_deref().map(|name| crate::input::spec(name, None)).transpose()?;
    let how = Refine { spec, view: args.view };
    let refined = replay::refine(&args.log, &how, &mut |bytes| bar.set_position(bytes));
    bar.finish_and_clear();
    let refined = refined.map_err(|error| fault(&args.log, error))?;
    let text = if args.json { object(args, &refined, start.elapsed()) + "\n" } else { lines(&refined) };
    // A closed pipe is not an error.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
    args.output.write(|| crate::view::refine::view(args, &refined, lines(&refined)))?;
    Ok(refined.report.verdict().kind().into())
}

fn lines(refined: &Refined) -> String {
    refined.report.to_string()
}

/// One line of JSON, with the fields of the contract.
fn object(args: &RefineArgs, refined: &Refined, elapsed: Duration) -> String {
    let report = &refined.report;
    let findings: Vec<Json> =
        report.findings().map(|(judged, found)| finding(&judged.description.name, found)).collect();
    let unjudged: u64 = report.objects.iter().map(|judged| judged.summary.unjudged).sum();
    let views: u64 = report.objects.iter().map(|judged| judged.summary.views).sum();
    let missing: u64 = report.objects.iter().map(|judged| judged.summary.missing).sum();
    json!({
        "file": args.log.display().to_string(),
        "verdict": report.verdict().kind().word(),
        "summary": report.to_string().lines().next(),
        "basis": {
            "kind": "commit order",
            "view": args.view,
            "stamps": report.stamps,
            "closed": refined.closed,
            "good_bytes": refined.good_bytes,
            "torn_bytes": refined.torn_bytes,
            "unjudged_events": unjudged,
            "views_compared": views,
            "shortfalls": report.shortfalls().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "missing_numbers": missing,
        },
        "engine": "refine",
        "operations": report.operations(),
        "events": report.events(),
        "objects": report.objects.len(),
        "elapsed_s": elapsed.as_secs_f64(),
        "counterexample": if findings.is_empty() { Json::Null } else { Json::Array(findings) },
    })
    .to_string()
}

fn finding(name: &str, finding: &Finding) -> Json {
    let operations = |seen: &[Seen]| Json::Array(seen.iter().map(|seen| json!(seen.to_string())).collect());
    let mut object = json!({"object": name, "event": finding.at, "reason": finding.found.to_string()});
    let (kind, more) = match &finding.found {
        Found::Refused(refused) => match &refused.blame {
            Blame::Annotation { order, .. } => ("annotation", operations(order)),
            Blame::Object { core, .. } => ("violation", operations(core)),
            Blame::Open { .. } => ("undecided", operations(std::slice::from_ref(&refused.operation))),
        },
        Found::View(difference) => (
            match difference.cause {
                Cause::Object => "view",
                Cause::Annotation { .. } => "annotation",
                Cause::Open { .. } => "undecided",
            },
            difference
                .keys
                .iter()
                .map(|key| {
                    json!({
                        "key": key.key.to_string(),
                        "specification": key.specification.to_string(),
                        "implementation": key.implementation.to_string(),
                    })
                })
                .collect(),
        ),
        Found::Mistake(_) => ("annotation", Json::Null),
        Found::Unknown(_) => ("unknown", Json::Null),
    };
    object["kind"] = json!(kind);
    object["operations"] = more;
    object
}

fn fault(log: &Path, error: RefineError) -> Fault {
    let file = log.display().to_string();
    let at = |message: String, help: &str| {
        let mut diagnostic = Diagnostic::new("", message, help);
        diagnostic.file = file.clone();
        Fault::Input(diagnostic)
    };
    match error {
        RefineError::Log(LogError::Io(error)) => {
            at(format!("cannot read the log: {error}"), "name a log file")
        }
        RefineError::Log(error) => at(
            error.to_string(),
            "a log is written by a monitor with `log_file`; for histories there is `linpoint check`",
        ),
        RefineError::Spec(error) => at(error.to_string(), "`linpoint specs` lists what is built in"),
        RefineError::Custom(_) => at(error.to_string(), "`linpoint specs` lists what is built in"),
        RefineError::Nameless(_) | RefineError::NoOperation { .. } => {
            at(error.to_string(), "name a specification with --spec that has the operations that were logged")
        }
        error => at(error.to_string(), "leave out --view, or log with `.view(…)`"),
    }
}

/// A bar over the bytes of the log, shown to a person only.
fn progress(log: &Path) -> ProgressBar {
    let length = std::fs::metadata(log).map_or(0, |metadata| metadata.len());
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(length) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("{bytes} of {total_bytes} ({elapsed}) {wide_bar}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
