//! Programs spoiled in one place, to attack the prover with: what exploring finds wrong must not be proved.

use std::time::Duration;

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Expr, Place};
use linpoint_model::{Bounds, Mode, Verdict as Explored, Workload, Wrong, explore};

use crate::concrete::World;
use crate::cover::cover;
use crate::layout::Layout;
use crate::prove::{Choice, Invariant, Proof, Settings, Verdict, prove};
use crate::refine;
use crate::run::Steps;

/// However short the time for a proof, a second look at it is not cut short.
const SECOND_LOOK: Duration = Duration::from_secs(5);

/// What came of an attack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attack {
    /// Mutants tried.
    pub mutants: usize,
    /// Those proved; exploring found nothing wrong with them, as far as it got.
    pub proved: usize,
}

/// Tries to prove every mutant, each for so long; what is proved is explored, for so long, and so many of its
/// concrete states are looked up.
///
/// # Errors
/// A mutant that is proved, and wrong.
pub fn attack(
    program: &Program,
    time: Duration,
    explore_for: Duration,
    states: usize,
) -> Result<Attack, String> {
    let mut attack = Attack::default();
    for (what, mutant) in mutants(program) {
        attack.mutants += 1;
        for points in [Choice::Auto, Choice::Inferred] {
            let settings = Settings {
                points,
                time: Some(time),
                refute: false,
                reserve: SECOND_LOOK,
                ..Settings::default()
            };
            let Verdict::Holds(proof) = prove(&mutant, &settings).verdict else { continue };
            covered(&mutant, &proof, states).map_err(|wrong| format!("{what}: proved, but {wrong}"))?;
            let bounds = Bounds { time: Some(explore_for), ..Bounds::default() };
            let explored = explore(&mutant, &Workload::general(&mutant, 2, 2), Mode::Anywhere, &bounds);
            if let Explored::Violated(violation) = &explored.verdict
                && matches!(violation.wrong, Wrong::NotLinearizable | Wrong::Error(_))
            {
                return Err(format!("{what}: proved, but {:?}", violation.wrong));
            }
            attack.proved += 1;
            break;
        }
    }
    Ok(attack)
}

/// Looks up concrete states of a program in its proof; a run that goes wrong is wrong, too.
fn covered(program: &Program, proof: &Proof, states: usize) -> Result<(), String> {
    let Invariant::Views(found) = &proof.invariant else { return Ok(()) };
    let layout = Layout::new(program)?;
    let views = refine::forget(&layout, &found.views).map_err(|_| "too large")?;
    let steps = Steps { layout: &layout, points: &proof.points };
    for (threads, calls) in [(2, 2), (3, 1)] {
        let world = World::new(&layout, &proof.points, threads, calls);
        let coverage = cover(&steps, &world, threads, states, Some(&views), None)?;
        if coverage.missed > 0 {
            return Err(format!("not covered: {coverage:?}"));
        }
    }
    Ok(())
}

/// Every mutant of a program: one action left out, two swapped, one condition turned around or made always
/// true.
pub fn mutants(program: &Program) -> Vec<(String, Program)> {
    let mut all = Vec::new();
    let operations = program.operations.len();
    for node in 0..program.nodes.len() {
        if program.nodes[node].op.index() >= operations {
            continue;
        }
        for edge in 0..program.nodes[node].edges.len() {
            let actions = program.nodes[node].edges[edge].actions.clone();
            for at in 0..actions.len() {
                let mut keep = |what: &str, change: &dyn Fn(&mut Vec<Action>)| {
                    let mut mutant = program.clone();
                    change(&mut mutant.nodes[node].edges[edge].actions);
                    all.push((format!("node {node} edge {edge} action {at}: {what}"), mutant));
                };
                if !matches!(
                    actions[at],
                    Action::Mark(_) | Action::New { .. } | Action::Assign(Place::Local(_), _)
                ) {
                    keep("left out", &|actions| {
                        actions.remove(at);
                    });
                }
                // Annotations see the state at their place; where they stand is no matter of the program.
                let mark = |action: Option<&Action>| matches!(action, None | Some(Action::Mark(_)));
                if !mark(actions.get(at)) && !mark(actions.get(at + 1)) {
                    keep("swapped with the next", &|actions| actions.swap(at, at + 1));
                }
                if let Action::Assume(e) = &actions[at] {
                    keep("turned around", &|actions| {
                        actions[at] = Action::Assume(Expr::Not(Box::new(e.clone())))
                    });
                }
            }
        }
    }
    all
}
