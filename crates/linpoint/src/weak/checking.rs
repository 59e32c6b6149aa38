//! `check` under a weak memory model: the graphs of each scenario, each decided for every client.

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use linpoint_sched::explore::{Covered, Plan};
use linpoint_sched::weak::linearize::{self, Clients, Verdict};
use linpoint_sched::weak::{self, Coverage as Whole, End, Seen};
use linpoint_sched::{Failure, thread, untracked};

use super::bridge::{Answers, Bridge};
use super::drawn::{self, Mark};
use super::{GraphToken, counterexample, first_failure, plan_of, refusal, walked};
use crate::counterexample::FailingRun;
use crate::memory::Memory;
use crate::plan::Reached;
use crate::scenario::Scenario;
use crate::spec::{Object, Specification};
use crate::token::Token;

/// How to check one scenario.
pub(crate) struct Setting<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) memory: Memory,
    /// The program and the scenario, for tokens.
    pub(crate) token: &'a dyn Fn() -> Token,
    /// The number of the graph that is asked for, if it is one.
    pub(crate) only: Option<u64>,
}

/// Sets of synchronisations that are tried when what was found is checked again.
const PAIRS: usize = 12;

/// Explores one scenario.
pub(crate) fn check<O: Object>(
    scenario: &Scenario<O::Spec>,
    setting: &Setting<'_>,
) -> (Reached, Option<FailingRun>) {
    let memory = setting.memory;
    let nothing = |why| (Reached::default(), Some(refusal(why, memory)));
    let plan = match plan_of(setting.plan, memory) {
        Ok(plan) => weak::Plan { stuck_fails: false, ..plan },
        Err(why) => return nothing(why),
    };
    let operations = scenario.operations();
    let answers = RefCell::new(Answers::new());
    let object = || Bridge::<O::Spec> { operations: &operations, answers: &answers };
    let bridge = object();
    let mut clients = Clients::new(object(), memory.model());
    let program = || run::<O>(scenario, &answers);
    let (found, explored) = first_failure(&program, &plan, setting.only, &mut |seen, number| {
        let wrong = judge::<O>(seen, &bridge, &mut clients)?;
        Some(tell::<O>(seen, &wrong, &bridge, setting, number))
    });
    let walked = walked(&explored);
    let reached = Reached {
        runs: walked.runs,
        complete: walked.covered == Covered::Every && found.is_none(),
        exhausted: walked.covered == Covered::Every,
        questions: usize::try_from(clients.counts.asked - clients.counts.remembered).unwrap_or(usize::MAX),
        random: if plan.samples.is_some() { walked.runs } else { 0 },
        ..Reached::default()
    };
    debug_assert!(!reached.complete || explored.report.coverage() == Whole::Everything);
    let found = found.or_else(|| explored.refused.map(|why| refusal(why, memory)));
    (reached, found)
}

/// Runs a scenario once.
fn run<O: Object>(scenario: &Scenario<O::Spec>, answers: &RefCell<Answers<<O::Spec as Specification>::Ret>>) {
    let object = Box::new(O::create());
    let perform = |ops: &[<O::Spec as Specification>::Op], first: usize| {
        for (index, op) in ops.iter().enumerate() {
            weak::mark_call((first + index) as u32, 0);
            let answer = object.perform(op);
            let number = untracked(|| answers.borrow_mut().number(&answer));
            weak::mark_return(number);
        }
    };
    perform(&scenario.before, 0);
    let first = scenario.before.len();
    thread::run_numbered(scenario.threads.len(), &|index| {
        let base = first + scenario.threads[..index].iter().map(Vec::len).sum::<usize>();
        perform(&scenario.threads[index], base);
    });
    perform(&scenario.after, scenario.len() - scenario.after.len());
}

/// What is wrong in a graph.
enum Wrong {
    Failure(Failure),
    /// Nothing explains it where a client adds these pairs.
    Unexplained(Vec<(usize, usize)>),
    /// There is no answer.
    Unknown(&'static str),
}

fn judge<O: Object>(
    seen: &Seen<'_>,
    bridge: &Bridge<'_, O::Spec>,
    clients: &mut Clients<Bridge<'_, O::Spec>>,
) -> Option<Wrong> {
    if let Some(failure) = seen.failure {
        return Some(Wrong::Failure(failure.clone()));
    }
    // What is blocked in one graph goes on in another one.
    if seen.end == End::Complete || seen.is_stuck {
        match clients.check(seen.graph) {
            Verdict::Holds(_) => {}
            Verdict::Violated(pairs) => return Some(Wrong::Unexplained(pairs.evidence)),
            Verdict::Unknown(_) => {
                return Some(Wrong::Unknown(
                    "whether an execution is linearizable for every client takes too long to decide",
                ));
            }
        }
    }
    if !seen.is_stuck {
        return None;
    }
    if bridge.may_wait() {
        return Some(Wrong::Unknown(
            "an operation waits for ever in an execution, and whether one that may wait is right to do so is not decided \
             under a weak memory model",
        ));
    }
    Some(Wrong::Failure(Failure::Violation(
        "an operation waits for ever, which the specification never does".to_owned(),
    )))
}

/// A counterexample in words.
fn tell<O: Object>(
    seen: &Seen<'_>,
    wrong: &Wrong,
    bridge: &Bridge<'_, O::Spec>,
    setting: &Setting<'_>,
    number: u64,
) -> FailingRun {
    let name = |thread: usize| if thread == 0 { "main".to_owned() } else { format!("thread {thread}") };
    let shown = |operation: u32| {
        bridge.operations.get(operation as usize).map(<O::Spec as Specification>::show_op).unwrap_or_default()
    };
    let answer = |number: i64| {
        let answers = bridge.answers.borrow();
        answers.of(number).map(<O::Spec as Specification>::show_ret).unwrap_or_default()
    };
    let marks = |mark: &Mark| {
        Some(match mark {
            Mark::Call(operation) => format!("{} begins", shown(*operation)),
            Mark::Return(operation, value) => format!("{} returns {}", shown(*operation), answer(*value)),
        })
    };
    let drawn = drawn::draw(seen, &name, &marks);
    let token = GraphToken { program: (setting.token)(), graph: number }.to_string();
    let headline = match wrong {
        Wrong::Failure(failure) => failure.to_string(),
        Wrong::Unexplained(_) => {
            "not linearizable: no order of the operations explains what they answer".to_owned()
        }
        Wrong::Unknown(why) => (*why).to_owned(),
    };
    let mut found = counterexample(headline, setting.memory, drawn, token);
    let placed = linearize::operations(seen.graph);
    let one = |index: usize| {
        placed.get(index).map_or(String::new(), |placed| {
            let result = placed.operation.result.map_or("?".to_owned(), answer);
            format!("{} = {result} in {}", shown(placed.operation.operation), name(placed.thread))
        })
    };
    found.history = (0..placed.len()).map(|index| format!("{}\n", one(index))).collect();
    match wrong {
        Wrong::Failure(failure) => found.refused = failure.is_refusal(),
        Wrong::Unknown(_) => found.refused = true,
        Wrong::Unexplained(pairs) => {
            for &(before, after) in pairs {
                found.notes.push(format!(
                    "where a client orders [{}] before [{}] (by a join, a channel, a flag)",
                    one(before),
                    one(after)
                ));
            }
            let again = linpoint_sched::weak::oracle::linearizable(
                &seen.graph.key(),
                setting.memory.model(),
                bridge,
                PAIRS,
            );
            found.rechecked = again == Some(false);
            if again == Some(true) {
                found.refused = true;
                found.notes.push(
                    "trying every set of synchronisations found none that is unexplained: a mistake of linpoint's, \
                     please report it"
                        .to_owned(),
                );
            }
        }
    }
    found
}

/// What was reached of each scenario that was begun, and the first that fails, by their numbers.
pub(crate) type Checked = (Vec<(usize, Reached)>, Option<(usize, FailingRun)>);

/// Checks the scenarios on so many OS threads, the small ones first.
pub(crate) fn check_all<O: Object>(
    scenarios: &[Scenario<O::Spec>],
    setting: &(dyn Fn(usize) -> (Plan, Token) + Sync),
    (memory, workers, deadline): (Memory, usize, Instant),
) -> Checked {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let all = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(index) else { return };
            if stop.load(Ordering::Relaxed) || Instant::now() >= deadline {
                return;
            }
            let (plan, token) = setting(index);
            let token = || token.clone();
            let one = check::<O>(scenario, &Setting { plan: &plan, memory, token: &token, only: None });
            if one.1.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, one));
        }
    };
    if workers <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
    }
    let mut all = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.sort_by_key(|one| one.0);
    let found = all.iter_mut().find_map(|(index, one)| Some((*index, one.1.take()?)));
    (all.into_iter().map(|(index, one)| (index, one.0)).collect(), found)
}
