//! Attacks on the shape analysis.
//!
//! The analysis is attacked alone, without the second look that is taken at its proofs before they are told: what that look would catch is a finding here.

mod certificates;
mod programs;

use std::time::Duration;

use linpoint_history::rng::Rng;
use linpoint_lang::Program;
use linpoint_model::{Budget, second_opinion};
use linpoint_shape::audit::{Amount, Inside, audit};
use linpoint_shape::layout::Layout;
use linpoint_shape::mutants::mutants;
use linpoint_shape::prove::{Choice, Invariant, Proof, Settings, Verdict, prove};
use linpoint_shape::refine::{self, Precision};
use linpoint_shape::samples::without_queries;

use crate::pack::{Pack, Round};

/// The packs of this engine.
pub const PACKS: &[Pack] = &[
    Pack {
        engine: "shape",
        name: "shape-mutants",
        about: "programs of the corpus spoiled in one or two places; what is proved is explored without reductions, and audited",
        round: mutated,
    },
    Pack {
        engine: "shape",
        name: "shape-programs",
        about: "random small linked programs with locks in records, two heads, marks, pools; what is proved is explored without reductions, and audited",
        round: programs::round,
    },
    Pack {
        engine: "shape",
        name: "shape-certificates",
        about: "damaged certificates, rechecked with their program and with a wrong one",
        round: certificates::round,
    },
];

/// Linked structures of the corpus that are proved within a second.
const CORPUS: &[&str] = &[
    include_str!("../../../corpus/correct/treiber.lin"),
    include_str!("../../../corpus/correct/treiber-counted.lin"),
    include_str!("../../../corpus/correct/two-lock.lin"),
    include_str!("../../../corpus/correct/michael-scott.lin"),
    include_str!("../../../corpus/correct/dglm.lin"),
    include_str!("../../../corpus/correct/elimination-stack.lin"),
    include_str!("../../../corpus/correct/coarse-set.lin"),
    include_str!("../../../corpus/correct/pessimistic-set.lin"),
    include_str!("../../../corpus/broken/treiber-push-no-cas.lin"),
    include_str!("../../../corpus/broken/two-lock-enqueue-gap.lin"),
];

/// The first object of a text, if it is a program.
fn compiled(text: &str) -> Option<Program> {
    let (programs, wrong) = linpoint_lang::compile(text);
    if wrong.iter().any(linpoint_lang::Diagnostic::is_error) { None } else { programs.into_iter().next() }
}

/// The proof of the analysis alone, if there is one.
fn proof(program: &Program, points: Choice) -> Option<Box<Proof>> {
    let settings = Settings {
        points,
        time: Some(Duration::from_millis(500)),
        refute: false,
        second_look: Duration::ZERO,
        ..Settings::default()
    };
    match prove(program, &settings).verdict {
        Verdict::Holds(proof) => Some(proof),
        Verdict::Violated(_) | Verdict::Unknown(_) => None,
    }
}

/// Why a proof is wrong, if something shows it.
fn objection(program: &Program, proof: &Proof) -> Option<String> {
    // The amount of states ends it; the time is for machines on which nothing gets on.
    let budget = Budget { time: Duration::from_secs(10), states: 30_000, ..Budget::default() };
    if let Some(found) = second_opinion(program, &budget).refutation() {
        let threads = found.scope.workload.threads.len();
        return Some(format!("{:?}, by a run of {threads} threads", found.violation.wrong));
    }
    let Invariant::Views(found) = &proof.invariant else { return None };
    let plain = without_queries(program);
    let layout = Layout::new(&plain).ok()?;
    let views = refine::forget(&layout, &found.views).ok()?;
    let heaps = if proof.precision == Precision::default() { 500 } else { 0 };
    let amount = Amount { states: 300, heaps, until: None };
    audit(&layout, &proof.points, &Inside::Views(&views), 1, &amount).err()
}

/// Tries to prove a program, with the points that it gives and with inferred ones: what is wrong with a proof, and how many there were.
fn judged(program: &Program) -> Result<u64, String> {
    let mut proofs = 0;
    for points in [Choice::Auto, Choice::Inferred] {
        if let Some(proof) = proof(program, points) {
            proofs += 1;
            if let Some(why) = objection(program, &proof) {
                return Err(why);
            }
        }
    }
    Ok(proofs)
}

fn mutated(rng: &mut Rng) -> Round {
    let text = *rng.pick(CORPUS);
    let Some(program) = compiled(text) else { return Round::Agreed(0) };
    let mut all = mutants(&program);
    let chosen = rng.below(all.len() as u64) as usize;
    let (mut what, mut mutant) = all.swap_remove(chosen);
    if rng.chance(0.3) {
        let mut more = mutants(&mutant);
        let chosen = rng.below(more.len() as u64) as usize;
        let (also, twice) = more.swap_remove(chosen);
        // One place is less than two, if it does as well.
        if judged(&mutant).is_ok() {
            what = format!("{what}; {also}");
            mutant = twice;
        }
    }
    match judged(&mutant) {
        Ok(proofs) => Round::Agreed(proofs),
        Err(why) => Round::disagreed("proved", why, what, format!("a mutant of {}", program.name)),
    }
}
