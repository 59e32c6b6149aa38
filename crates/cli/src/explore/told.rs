//! What an exploration found, told: as text, as JSON, and for a page.

use std::fmt::Write as _;
use std::path::Path;

use linpoint_lang::Program;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::{ClientThread, SpecSource, Type};
use linpoint_lang::span::line_column;
use linpoint_model::{
    Explored, Limit, Schedule, TraceStep, Verdict, Violation, Workload, Wrong, only_ghosts_go_wrong,
};
use linpoint_report::view::{self, Summary, View};
use serde_json::json;

use super::{ExploreArgs, columns, memory};

/// What was found, and of what.
pub(super) struct Told<'a> {
    pub args: &'a ExploreArgs,
    pub program: &'a Program,
    /// The program as it is written.
    pub text: &'a str,
    pub workload: &'a Workload,
    /// Who calls what, as a sentence says it.
    pub who: &'a str,
    pub explored: &'a Explored,
    /// How to get to a violation again.
    pub schedule: Option<&'a Schedule>,
}

impl Told<'_> {
    /// For a terminal.
    pub fn text(&self) -> String {
        let Told { args, program, text, workload, who, explored, schedule } = *self;
        let mut out = match &explored.verdict {
            Verdict::Holds(_) => format!("holds: {}\n{}", self.basis(), self.other_clients()),
            Verdict::Violated(violation) => {
                let threads = workload.threads.len();
                let mut out = format!("violated: {}\n\n", reason(program, threads, violation, text));
                draw(program, workload, &violation.steps, text, &mut out);
                if violation.wrong == Wrong::NotLinearizable {
                    let reason = reason(program, threads, violation, text);
                    let run = run_of(program, workload, violation, (text, &args.file), &reason);
                    let why = run.why_unexplained();
                    let _ = writeln!(out, "\n  {why}");
                }
                let _ = writeln!(out, "\n  found by {who}; shortest in steps that others can notice");
                if let Some(schedule) = schedule {
                    let _ = writeln!(out, "  once more:{} --replay {schedule}", same_run(args));
                }
                out
            }
            Verdict::Unknown(why) => format!("unknown: {}\n", limit(why)),
        };
        let _ = writeln!(
            out,
            "  {} states, {} steps, {} deep, {} MiB, {:.2} s",
            explored.states,
            explored.transitions,
            explored.depth,
            explored.memory >> 20,
            explored.elapsed.as_secs_f64()
        );
        out
    }

    /// A line that names the clients of the program that were not run, where the first was taken because
    /// nobody said which.
    fn other_clients(&self) -> String {
        let args = self.args;
        let chosen = args.client.is_some() || args.threads.is_some() || args.ops.is_some();
        let others: Vec<&str> =
            self.program.clients.iter().skip(1).map(|client| client.name.as_str()).collect();
        match chosen || others.is_empty() {
            true => String::new(),
            false => format!("  other clients were not run (--client): {}\n", others.join(", ")),
        }
    }

    /// For a page, which has the text too.
    pub fn view(&self, told: String) -> View {
        let Told { args, program, text, workload, who, explored, schedule } = *self;
        let (verdict, word, headline) = match &explored.verdict {
            Verdict::Holds(_) => (view::VerdictKind::Holds, "holds", self.basis()),
            Verdict::Violated(violation) => {
                let reason = reason(program, workload.threads.len(), violation, text);
                (view::VerdictKind::Violated, "violated", reason)
            }
            Verdict::Unknown(why) => (view::VerdictKind::Unknown, "unknown", limit(why)),
        };
        let mut view = View::new(verdict, word, &headline);
        let command = format!("linpoint explore {}", args.file.display());
        view.summary = Summary {
            checked: format!("Object {} of {}: every run of {who}.", program.name, args.file.display()),
            rests_on: match verdict {
                view::VerdictKind::Holds => {
                    format!("Every state that can be reached was visited: {}.", explored.states)
                }
                view::VerdictKind::Violated => {
                    "One run, shortest in steps that others can notice. It was taken again from the start and judged a second time.".to_owned()
                }
                view::VerdictKind::Unknown => "Nothing: not every run was seen.".to_owned(),
            },
            not_covered: "More threads or operations than these, and memory weaker than sequentially consistent.".to_owned(),
            facts: vec![
                ("states".to_owned(), explored.states.to_string()),
                ("steps".to_owned(), explored.transitions.to_string()),
                ("time".to_owned(), crate::view::seconds(explored.elapsed)),
            ],
            again: match schedule {
                Some(schedule) => format!("{command}{} --replay {schedule}", same_run(args)),
                None => command + &same_search(args),
            },
        };
        if let Verdict::Violated(violation) = &explored.verdict {
            violation_view(program, workload, violation, text, &args.file, &mut view);
        }
        view.text = told;
        view
    }

    /// For a script.
    pub fn json(&self) -> String {
        let Told { program, text, workload, explored, schedule, .. } = *self;
        let found = explored.verdict.counterexample();
        let mut counterexample =
            found.map_or(serde_json::Value::Null, |found| counterexample(program, workload, found, text));
        if let Some(schedule) = schedule {
            counterexample["replay"] = json!(schedule.to_string());
        }
        let (verdict, basis) = match &explored.verdict {
            Verdict::Holds(_) => ("holds", json!(self.basis())),
            Verdict::Violated(_) => ("violated", serde_json::Value::Null),
            Verdict::Unknown(why) => ("unknown", json!(limit(why))),
        };
        let calls = |thread: &ClientThread| match thread {
            ClientThread::Any(_, count) => *count as usize,
            ClientThread::Calls(calls) => calls.len(),
        };
        let object = json!({
            "verdict": verdict,
            "basis": basis,
            "engine": "explore",
            "operations": workload.threads.iter().map(calls).sum::<usize>(),
            "states": explored.states,
            "elapsed_s": explored.elapsed.as_secs_f64(),
            "counterexample": counterexample,
        });
        format!("{object}\n")
    }

    /// What a `holds` rests on.
    fn basis(&self) -> String {
        let Told { program, workload, explored, who, .. } = *self;
        let is_data = |ty: &Type| match ty {
            Type::Option(inner) => **inner == Type::Data,
            ty => *ty == Type::Data,
        };
        let mut params = program.operations.iter().flat_map(|op| &op.locals[..op.params]);
        // A client that says what is called says with which data.
        let chosen = workload.threads.iter().any(|thread| matches!(thread, ClientThread::Any(..)));
        let distinct = explored.distinct_data && chosen && params.any(|slot| is_data(&slot.ty));
        let mut data = String::from(if distinct { ", each piece of data distinct" } else { "" });
        let few = workload.few_values(program, explored.distinct_data);
        let tried = match (few.numbers, few.data) {
            (false, false) => String::new(),
            (true, false) => format!("arguments from 0 to {}", workload.values - 1),
            (false, true) => format!("data from {} values", workload.values),
            (true, true) => {
                format!(
                    "arguments from 0 to {} and data from {} values",
                    workload.values - 1,
                    workload.values
                )
            }
        };
        if !tried.is_empty() {
            let _ = write!(data, ", {tried} (--values)");
        }
        let spec = match program.spec {
            SpecSource::Nothing => "; it has no specification: only errors and asserts were looked for",
            _ => "",
        };
        let args = self.args;
        let ends = match explored.can_end {
            _ if args.progress => "; every operation can come to an end in every state",
            _ if args.lock_free => "; lock-free",
            _ if args.obstruction_free => "; obstruction-free",
            Some(true) => "",
            Some(false) => {
                "; but some operation can wait for ever, and never return (--progress shows a run)"
            }
            None => "; whether operations can wait for ever was not looked at (--progress)",
        };
        format!("every run of {who}{data}, memory sequentially consistent{spec}{ends}")
    }
}

/// What is wrong, in a few words.
pub fn wrong(violation: &Violation) -> String {
    match &violation.wrong {
        Wrong::NotLinearizable => "not linearizable: no order explains this run".into(),
        Wrong::Points => "the given linearization points do not explain this run".into(),
        Wrong::Error(kind) => kind.to_string(),
        Wrong::Claim(_) => "a claim is false".into(),
        Wrong::Deadlock => "deadlock: threads wait, and nobody can go on".into(),
        Wrong::Endless => "a thread goes round for ever, and nothing that others do can end it".into(),
        Wrong::Stuck => "no progress: from here on some operation can never return".into(),
        Wrong::GoesRound => format!(
            "not lock-free: the last {} steps can be repeated for ever, and no operation returns",
            violation.repeats
        ),
        Wrong::GoesRoundAlone => format!(
            "not obstruction-free: a thread alone can repeat the last {} steps for ever, and its operation does not return",
            violation.repeats
        ),
        Wrong::Waits => {
            "not lock-free and not obstruction-free: a thread waits for another, which may have stopped"
                .into()
        }
    }
}

/// The same, and which claim, and whether it is the ghosts that go wrong.
pub(super) fn reason(program: &Program, threads: usize, violation: &Violation, text: &str) -> String {
    match violation.wrong {
        Wrong::Error(kind) if only_ghosts_go_wrong(program, threads, violation) => {
            format!("the ghost code goes wrong: {kind}; without its ghosts the program goes on here")
        }
        Wrong::Claim(claim) => {
            let (line, _) = line_column(text, program.claims[claim.index()].span.start as usize);
            format!("a claim is false: line {line}, {}", text.lines().nth(line - 1).unwrap_or("").trim())
        }
        _ => wrong(violation),
    }
}

pub(super) fn limit(limit: &Limit) -> String {
    match limit {
        Limit::Time => "the time limit came first".into(),
        Limit::Memory => "the memory limit came first".into(),
        Limit::Results => "there are too many different results for so many threads".into(),
        Limit::Alone => "a thread takes too many steps on its own".into(),
        Limit::Ways => "a `choose` has too many values to try them all: give it a smaller range".into(),
        Limit::Rounds => "quantifiers go over too many values in one step: give them smaller ranges".into(),
        Limit::Specification => {
            "an operation of the `spec` takes too many steps to be followed, so nobody knows whether it allows what was seen".into()
        }
        Limit::Nothing => "there is nothing to judge: no operation returns in any run".into(),
        Limit::Reductions => "a run came to a state that the search did not meet: a bug of ours".into(),
        Limit::States => "the limit on states came first".into(),
        Limit::CannotStart(why) => format!("it cannot be run: {why}"),
    }
}

/// The options of a run that a replay needs too, each with a blank before it.
fn same_run(args: &ExploreArgs) -> String {
    let mut options = String::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(options, " --{name} {value}");
        }
    };
    add("object", args.object.clone());
    add("client", args.client.clone());
    add("threads", args.threads.map(|n| n.to_string()));
    add("ops", args.ops.map(|n| n.to_string()));
    add("values", args.values.map(|n| n.to_string()));
    if args.points {
        options.push_str(" --points");
    }
    let flags = [
        (args.may_wait, "may-wait"),
        (args.progress, "progress"),
        (args.lock_free, "lock-free"),
        (args.obstruction_free, "obstruction-free"),
    ];
    for (_, name) in flags.iter().filter(|(is_given, _)| *is_given) {
        let _ = write!(options, " --{name}");
    }
    options
}

/// The options of the whole search: those of a run, and what was looked for among all.
fn same_search(args: &ExploreArgs) -> String {
    let mut options = same_run(args);
    if let Some(most) = args.preemptions {
        let _ = write!(options, " --preemptions {most}");
    }
    options
}

/// Adds the run of a violation to a view.
pub fn violation_view(
    program: &Program,
    workload: &Workload,
    violation: &Violation,
    text: &str,
    file: &Path,
    view: &mut View,
) {
    let reason = reason(program, workload.threads.len(), violation, text);
    run_of(program, workload, violation, (text, file), &reason).add_to(view);
}

/// The run of a violation, to be drawn.
fn run_of<'a>(
    program: &'a Program,
    workload: &Workload,
    violation: &'a Violation,
    (text, file): (&'a str, &'a Path),
    reason: &'a str,
) -> crate::view::run::Shown<'a> {
    crate::view::run::Shown {
        program,
        text,
        file,
        threads: workload.threads.len(),
        steps: &violation.steps,
        reason,
        unexplained: violation.wrong == Wrong::NotLinearizable,
        wrong: true,
        repeats: violation.repeats,
    }
}

/// The run of a violation, step by step.
pub fn counterexample(
    program: &Program,
    workload: &Workload,
    violation: &Violation,
    text: &str,
) -> serde_json::Value {
    let machine = Machine::new(program, workload.threads.len());
    let step = |step: &TraceStep| {
        json!({
            "thread": step.thread,
            "line": line_column(text, step.span.start as usize).0,
            "what": columns::what(program, step, text),
            "memory": memory::memory(&machine, &step.state, None),
        })
    };
    json!({
        "reason": reason(program, workload.threads.len(), violation, text),
        "steps": violation.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

/// The run of a violation, as text.
pub fn draw(program: &Program, workload: &Workload, steps: &[TraceStep], text: &str, out: &mut String) {
    columns::draw(&Machine::new(program, workload.threads.len()), steps, text, out);
}
