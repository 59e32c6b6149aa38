//! The time limit from outside. Whoever proves looks at the clock itself, and tells how far it came; what
//! cannot look at it, such as one step of a program with quantifiers in quantifiers, is left behind when the
//! limit has passed by a twentieth.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_prove::solver::Failure;
use linpoint_report::view::{self, View};
use serde_json::json;

use crate::fault::{Exit, Fault};
use crate::prove::ProveArgs;

/// Has the verdict been told? One of two tells it.
static TOLD: AtomicBool = AtomicBool::new(false);

/// As large as that of the main thread.
const STACK: usize = 8 << 20;

/// Tells a verdict, if it was not told for want of time.
pub fn tell(text: &str) {
    if TOLD.swap(true, Ordering::SeqCst) {
        // The process is about to end.
        loop {
            std::thread::park();
        }
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Proves under a limit that holds whatever happens.
pub fn run(
    args: &ProveArgs,
    program: &Program,
    text: &str,
    start: Instant,
    limit: Duration,
) -> Result<Exit, Fault> {
    let (send, done) = channel();
    let (own, of, source) = (args.clone(), program.clone(), text.to_owned());
    let started = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let _ = send.send(super::prove(&own, &of, &source, start));
    });
    if started.is_err() {
        return super::prove(args, program, text, start);
    }
    let most = (limit + limit / 20).saturating_add(Duration::from_millis(100));
    match done.recv_timeout(most.saturating_sub(start.elapsed())) {
        Ok(came) => came,
        Err(RecvTimeoutError::Timeout) if !TOLD.swap(true, Ordering::SeqCst) => late(args, program, start),
        // It was telling its verdict just then.
        Err(_) => done.recv().unwrap_or(Err(Fault::Bug { what: "the prover broke off".into(), saved: None })),
    }
}

/// The verdict where nothing came in time.
fn late(args: &ProveArgs, program: &Program, start: Instant) -> Result<Exit, Fault> {
    let why = format!("{} in the middle of a step", Failure::TimeUp);
    let shown = match args.json {
        true => {
            let object = json!({
                "verdict": "not proved",
                "basis": why,
                "engine": "obligations",
                "operations": program.operations.len(),
                "elapsed_s": start.elapsed().as_secs_f64(),
            });
            format!("{object}\n")
        }
        false => format!("not proved: {why}\n"),
    };
    let _ = std::io::stdout().write_all(shown.as_bytes());
    args.output.write(|| {
        let mut view = View::new(view::VerdictKind::Unknown, "not proved", &why);
        view.text = shown.clone();
        view
    })?;
    Ok(Exit::Unknown)
}
