//! Attacks on histories: small random ones over every specification, variant and type of value against a referee of its own; renamed and reordered
//! ones; damaged files; several objects of which one is hard and one is violated.

mod case;
mod coarse;
mod damage;
mod hard;
mod referee;
mod renamed;
mod told;

use linpoint_check::online::{Online, Promise};
use linpoint_check::portfolio::Choice;
use linpoint_check::{Budget, Options, check_rows};
use linpoint_history::formats::{self, Input, ReadOptions};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Value, Verdict, specs};

use self::case::Case;
use crate::pack::{Pack, Round};

/// The packs of this engine.
pub const PACKS: &[Pack] = &[
    Pack {
        engine: "history",
        name: "history-values",
        about: "small histories of every specification and variant with every type of value, from odd initial states; all engines and the stream against a referee",
        round: values,
    },
    Pack {
        engine: "history",
        name: "history-renamed",
        about: "histories of several objects under other names, stamps and orders of lines; the verdict must stay",
        round: renamed::round,
    },
    Pack {
        engine: "history",
        name: "history-damage",
        about: "files of every format with bytes changed: refused, or read but for the damaged record",
        round: damage::round,
    },
    Pack {
        engine: "history",
        name: "history-hard-key",
        about: "several objects, some of them hard and one violated: the violation must be found",
        round: hard::round,
    },
    told::PACK,
    coarse::SMALL,
    coarse::DIVIDED,
];

/// How many histories a round makes.
const HISTORIES: u64 = 40;

fn values(rng: &mut Rng) -> Round {
    let mut cases = 0;
    for _ in 0..HISTORIES {
        let case = case::random(rng, 7);
        match complaint(&case) {
            Ok(compared) => cases += compared,
            Err(_) => {
                let case = smallest(case, |case| complaint(case).is_err());
                let Err((said, judge)) = complaint(&case) else { continue };
                return Round::disagreed(said, judge, case.text(), case.command());
            }
        }
    }
    Round::Agreed(cases)
}

/// Leaves out operations as long as something is still wrong.
fn smallest(mut case: Case, is_wrong: impl Fn(&Case) -> bool) -> Case {
    while let Some(less) = (0..case.ops.len()).map(|index| case.without(index)).find(|less| is_wrong(less)) {
        case = less;
    }
    case
}

/// What an engine said, and what the referee says.
type Complaint = (String, String);

/// Has a case decided by everybody; how many agreed with the referee.
fn complaint(case: &Case) -> Result<u64, Complaint> {
    let has_returns = case.ops.iter().any(|op| !op.is_pending());
    let wanted = has_returns.then(|| referee::is_linearizable(case));
    let judge = format!("{wanted:?} (nothing to check: None)");
    let spec = spec_of(case);
    let mut compared = 0;
    for choice in [Choice::Auto, Choice::Monitor, Choice::Metastate, Choice::Search, Choice::Brute] {
        let may_refuse = matches!(choice, Choice::Monitor | Choice::Metastate);
        match decide(&case.text(), &spec, choice) {
            Ok(verdict) if verdict == wanted => compared += 1,
            Ok(None) if may_refuse => {}
            other => return Err((format!("{choice:?}: {other:?}"), judge)),
        }
    }
    match online(case, &spec) {
        Some(verdict) if verdict != wanted => Err((format!("online: {verdict:?}"), judge)),
        _ => Ok(compared),
    }
}

fn spec_of(case: &Case) -> Builtin {
    let spec = specs::parse(&case.spec).unwrap_or_else(|error| panic!("{error}"));
    match &case.initial {
        Some(initial) => spec.starting_from(initial.clone()).unwrap_or_else(|error| panic!("{error}")),
        None => spec,
    }
}

/// What is said of a text: whether it is linearizable, `None` if that is unknown.
fn decide(text: &str, spec: &Builtin, choice: Choice) -> Result<Option<bool>, String> {
    let input = Input::Bytes(text.as_bytes().to_vec());
    let mut history =
        formats::read_all(&input, spec, &ReadOptions::default()).map_err(|why| why.to_string())?;
    let options = Options { choice, ..Options::default() };
    let answer = check_rows(history.operations, spec, &mut history.symbols, &options);
    answer.map(|answer| said(&answer.verdict)).map_err(|error| error.to_string())
}

fn said(verdict: &Verdict) -> Option<bool> {
    match verdict {
        Verdict::Holds(_) => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// What the stream says, where no operation of a process begins at the stamp at which its last one ended: events have an order.
fn online(case: &Case, spec: &Builtin) -> Option<Option<bool>> {
    let mut events: Vec<(i64, bool, usize)> = Vec::new();
    for (index, op) in case.ops.iter().enumerate() {
        let touches = |other: usize| {
            other != index && case.ops[other].process == op.process && case.ops[other].end == op.call
        };
        if (0..case.ops.len()).any(touches) {
            return None;
        }
        events.push((op.call, false, index));
        if !op.is_pending() {
            events.push((op.end, true, index));
        }
    }
    events.sort_unstable();
    let mut online = Online::new(spec.clone(), Promise::None, Budget::unlimited());
    for (_, is_return, index) in events {
        let op = &case.ops[index];
        let process = Value::Int(op.process);
        let step = match (&op.ret, is_return) {
            (Some(ret), true) => online.ret(&process, ret),
            _ => online.call(&process, &op.name, &op.arg),
        };
        step.unwrap_or_else(|error| panic!("the events fit: {error}"));
    }
    Some(said(&online.finish()))
}
