//! A second opinion on a program that somebody says is correct: no proof is told while exploration refutes
//! it.
//!
//! # What it covers
//!
//! Two and three threads with up to three operations each (2×1, 2×2, 3×1, 2×3, 3×2), each with the program's
//! usual sizes and with all sizes 0, 1, 2 and 3; data of which each piece is new, and data and numbers from a
//! few values, negative and large ones among the numbers. Threads call whatever they like, but keep the rules
//! of a lock. Each of these scopes is explored without any reduction
//! ([`explore_plainly`](crate::explore_plainly)) as far as its share goes; where that does not see
//! everything, with all reductions, which gets further; and by random runs without reductions.
//!
//! Of a `choose` with many values a sample is tried: the ends, the program's own numbers, and some others.
//!
//! Wrong is a history that is not linearizable and an error of a run. Deadlocks, progress, linearization
//! points and claims are not looked at.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::interp::ErrorKind;
use linpoint_lang::program::{Type, Word};
use linpoint_verdict::Counterexample;

use crate::client::Workload;
use crate::explore::{Bounds, Deciding, Limit, Mode, Verdict, Violation, Wrong, explore};
use crate::plain::{Noted, Plainly, Values, explore_noting, walk_noting};

/// What a second opinion may cost.
#[derive(Clone, Debug)]
pub struct Budget {
    /// How long at the most.
    pub time: Duration,
    /// How many states and steps at the most, over all scopes. This, not the time, ends it on a machine that
    /// is not busy, so the same program is looked at as far each time.
    pub states: usize,
    /// Errors of a run that whoever asks took as impossible, and says so.
    pub forgiven: fn(ErrorKind) -> bool,
    /// The seed of random runs.
    pub seed: u64,
}

impl Budget {
    /// What takes longer than this is not looked at whole.
    pub const LONGEST: Duration = Duration::from_secs(10);
}

impl Default for Budget {
    /// About a second.
    fn default() -> Budget {
        Budget { time: Duration::from_secs(1), states: 200_000, forgiven: |_| false, seed: 1 }
    }
}

/// Who calls, how often, with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The threads and their calls.
    pub workload: Workload,
    /// What symbolic sizes are.
    pub sizes: Vec<Word>,
    /// Where arguments come from.
    pub values: Values,
}

/// How far a scope was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Every run, without reductions.
    Everything,
    /// Every run, with reductions.
    Reduced,
    /// Some runs.
    Some,
    /// None: the program cannot be started like this.
    Nothing,
}

/// What a second opinion comes to.
#[derive(Clone, Debug)]
pub enum Agreement {
    /// Nothing that was seen is wrong.
    Agrees(Vec<(Scope, Seen)>),
    /// A run is wrong.
    Refutes(Box<Refutation>),
}

/// A run that is wrong, and who made the calls.
#[derive(Clone, Debug)]
pub struct Refutation {
    /// Where it was found.
    pub scope: Scope,
    /// The run.
    pub violation: Counterexample<Violation>,
}

impl Agreement {
    /// The run that is wrong, if one was found.
    #[must_use]
    pub fn refutation(&self) -> Option<&Refutation> {
        match self {
            Agreement::Agrees(_) => None,
            Agreement::Refutes(refutation) => Some(refutation),
        }
    }
}

/// Explores a program that is said to be correct for all callers; see the module for what is covered.
#[must_use]
pub fn second_opinion(program: &Program, budget: &Budget) -> Agreement {
    let sizes = [(2, 1), (2, 2), (3, 1), (2, 3), (3, 2)];
    let workloads = sizes.map(|(threads, ops)| Workload::usual(program, threads, ops));
    second_opinion_of(program, &workloads, budget)
}

/// Explores a program that is said to be correct for these callers, small ones first. The sizes of the
/// program and the values of arguments are those of [`second_opinion`].
#[must_use]
pub fn second_opinion_of(program: &Program, workloads: &[Workload], budget: &Budget) -> Agreement {
    second_opinion_noting(program, workloads, budget, &mut Noted::new(program))
}

/// The same, and notes which operations were seen to return, and how far it came.
#[must_use]
pub fn second_opinion_noting(
    program: &Program,
    workloads: &[Workload],
    budget: &Budget,
    noted: &mut Noted,
) -> Agreement {
    let start = Instant::now();
    let scopes = scopes(program, workloads);
    let mut looks: Vec<(Scope, Seen)> = scopes.into_iter().map(|scope| (scope, Seen::Nothing)).collect();
    // First everything without reductions, then with them, then at random; each way goes round all scopes.
    let ways: [(Way, usize); 3] = [(Way::Plain, 4), (Way::Reduced, 2), (Way::Random, 1)];
    let mut left = budget.states;
    (noted.states, noted.finished) = (0, false);
    let mut in_time = true;
    for (way, part) in ways {
        let mut states = left / part;
        for at in 0..looks.len() {
            let (scope, seen) = &looks[at];
            if *seen == Seen::Everything || way == Way::Reduced && *seen == Seen::Nothing {
                continue;
            }
            let rest = budget.time.saturating_sub(start.elapsed());
            if rest.is_zero() {
                return Agreement::Agrees(looks);
            }
            let share = Share {
                states: (states / (looks.len() - at)).max(1),
                time: rest.min(budget.time / 2).div_f64(((looks.len() - at) as f64 / 3.0).max(1.0)),
                seed: budget.seed.wrapping_add(at as u64),
            };
            let (verdict, used) = look(program, scope, way, &share, (budget, noted));
            (states, left) = (states.saturating_sub(used), left.saturating_sub(used));
            noted.states += used;
            in_time &= !matches!(verdict, Verdict::Unknown(Limit::Time));
            let seen = match verdict {
                Verdict::Holds(_) if way == Way::Plain => Seen::Everything,
                Verdict::Holds(_) => Seen::Reduced,
                Verdict::Violated(violation) if is_refutation(&violation, budget) => {
                    let scope = scope.clone();
                    return Agreement::Refutes(Box::new(Refutation { scope, violation }));
                }
                Verdict::Unknown(Limit::CannotStart(_)) => *seen,
                Verdict::Violated(_) | Verdict::Unknown(_) if *seen == Seen::Nothing => Seen::Some,
                Verdict::Violated(_) | Verdict::Unknown(_) => *seen,
            };
            looks[at].1 = seen;
        }
    }
    noted.finished = in_time;
    Agreement::Agrees(looks)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    Reduced,
    Random,
}

struct Share {
    states: usize,
    time: Duration,
    seed: u64,
}

fn look(
    program: &Program,
    scope: &Scope,
    way: Way,
    share: &Share,
    (budget, noted): (&Budget, &mut Noted),
) -> (Verdict, usize) {
    let mut workload = scope.workload.clone();
    let plainly = Plainly {
        time: Some(share.time),
        states: share.states,
        sizes: Some(scope.sizes.clone()),
        values: scope.values.clone(),
        deadlocks: false,
        forgiven: budget.forgiven,
        forgetting: true,
        given: false,
        sampling: true,
    };
    let explored = match way {
        Way::Plain => explore_noting(program, &workload, &plainly, noted),
        Way::Random => walk_noting(program, &workload, &plainly, share.seed, noted),
        Way::Reduced => {
            workload.values = scope.values.numbers.len() as Word;
            let bounds = Bounds {
                time: Some(share.time),
                states: Some(share.states),
                sizes: Some(scope.sizes.clone()),
                deadlocks: false,
                claims: Deciding::Ignored,
                second_look: false,
                ..Bounds::default()
            };
            explore(program, &workload, Mode::Anywhere, &bounds)
        }
    };
    (explored.verdict, explored.states)
}

fn is_refutation(violation: &Counterexample<Violation>, budget: &Budget) -> bool {
    match violation.wrong {
        Wrong::NotLinearizable => violation.rechecked,
        Wrong::Error(kind) => !kind.is_limit() && !(budget.forgiven)(kind),
        Wrong::Points
        | Wrong::Claim(_)
        | Wrong::Deadlock
        | Wrong::Endless
        | Wrong::Stuck
        | Wrong::GoesRound
        | Wrong::GoesRoundAlone
        | Wrong::Waits => false,
    }
}

fn scopes(program: &Program, workloads: &[Workload]) -> Vec<Scope> {
    let usual: Vec<Word> = program.sizes.iter().map(|size| size.usual).collect();
    let mut sizes = vec![usual];
    for same in 0..=3 {
        let all = vec![same; program.sizes.len()];
        if !sizes.contains(&all) {
            sizes.push(all);
        }
    }
    let mut values = vec![Values::distinct()];
    if takes(program, &Type::Data) {
        values.push(Values::few(2));
    }
    if takes(program, &Type::Int) {
        values.push(Values { data: None, numbers: vec![-1, 2, 1000] });
    }
    let mut scopes = Vec::new();
    for workload in workloads {
        for sizes in &sizes {
            for values in &values {
                let (workload, sizes, values) = (workload.clone(), sizes.clone(), values.clone());
                scopes.push(Scope { workload, sizes, values });
            }
        }
    }
    scopes
}

/// Is there an operation with an argument of this type that has no range?
fn takes(program: &Program, wanted: &Type) -> bool {
    program.operations.iter().any(|op| {
        let params = op.locals[..op.params].iter().filter(|slot| slot.bounds.is_none());
        params.map(|slot| &slot.ty).any(|ty| match ty {
            Type::Option(inner) => **inner == *wanted,
            ty => ty == wanted,
        })
    })
}
