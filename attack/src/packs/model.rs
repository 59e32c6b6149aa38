//! Attacks on exploration of models: searches with reductions against one without any, and programs told differently.

use linpoint_history::rng::Rng;
use linpoint_lang::{Program, compile};
use linpoint_model::{
    Bounds, Deciding, Explored, Mode, Plainly, Reductions, Stepper, Values, Verdict, Workload, Wrong,
    explore, explore_plainly,
};

use crate::corpus::corpus;
use crate::mutant::mutants;
use crate::pack::{Pack, Round};
use crate::program::{Wish, random_program};
use crate::variation::{Variation, rename_all};

/// The packs of this engine.
pub const PACKS: &[Pack] = &[
    Pack {
        engine: "model",
        name: "model-random",
        about: "random programs with locks, pools, ghosts and odd names: reductions against none",
        round: |rng| {
            let (text, _) = random_program(rng, Wish::ALL);
            against_plain(&text, rng)
        },
    },
    Pack {
        engine: "model",
        name: "model-mutants",
        about: "programs of the corpus with one place changed: reductions against none",
        round: |rng| {
            let texts = corpus();
            let all = mutants(&rng.pick(&texts).1);
            if all.is_empty() { Round::Agreed(0) } else { against_plain(&rng.pick(&all).1, rng) }
        },
    },
    Pack {
        engine: "model",
        name: "model-variations",
        about: "programs of the corpus told differently: the same verdict",
        round: |rng| {
            let texts = corpus();
            let text = &rng.pick(&texts).1;
            told_differently(text, rng)
        },
    },
    Pack {
        engine: "model",
        name: "model-random-variations",
        about: "random programs told differently: the same verdict",
        round: |rng| {
            let (text, _) = random_program(rng, Wish::ALL);
            told_differently(&text, rng)
        },
    },
];

/// How a program is explored in a round.
#[derive(Clone)]
struct Way {
    threads: usize,
    ops: u32,
    bounds: Bounds,
}

impl Way {
    fn random(rng: &mut Rng) -> Way {
        let (threads, ops) = *rng.pick(&[(2, 1), (2, 2), (3, 1)]);
        let mut maybe = || rng.chance(0.8);
        let reductions = Reductions { fusion: maybe(), fixed: maybe(), symmetry: maybe(), data: maybe() };
        let several = !maybe();
        let bounds = Bounds {
            states: Some(20_000),
            reductions,
            stepper: if maybe() { Stepper::Compiled } else { Stepper::Interpreted },
            claims: Deciding::Ignored,
            workers: if several { 3 } else { 1 },
            shared_from: if several { 2 } else { 1 << 11 },
            // What is attacked is the search itself.
            second_look: false,
            ..Bounds::default()
        };
        Way { threads, ops, bounds }
    }

    fn explore(&self, program: &Program) -> Explored {
        let workload = Workload::usual(program, self.threads, self.ops);
        explore(program, &workload, Mode::Anywhere, &self.bounds)
    }
}

/// In a word; a loop that a thread cannot leave alone is seen with fusion only, and says nothing else.
fn word(explored: &Explored) -> Option<&'static str> {
    match &explored.verdict {
        Verdict::Holds(_) => Some("holds"),
        Verdict::Violated(violation) if violation.wrong == Wrong::Endless => None,
        Verdict::Violated(_) => Some("violated"),
        Verdict::Unknown(_) => None,
    }
}

fn of_text(text: &str) -> Vec<Program> {
    let (programs, wrong) = compile(text);
    if wrong.iter().any(|diagnostic| diagnostic.is_error()) { Vec::new() } else { programs }
}

/// What reductions say, and what none say, where both say something.
fn both(program: &Program, way: &Way) -> Option<(&'static str, &'static str)> {
    let reduced = way.explore(program);
    let one = word(&reduced)?;
    let values = if reduced.distinct_data { Values::distinct() } else { Values::few(2) };
    let plainly = Plainly { states: 40_000, values, ..Plainly::default() };
    let plain = explore_plainly(program, &Workload::usual(program, way.threads, way.ops), &plainly);
    Some((one, word(&plain)?))
}

fn against_plain(text: &str, rng: &mut Rng) -> Round {
    let way = Way::random(rng);
    let differ = |text: &str| {
        of_text(text).iter().any(|program| both(program, &way).is_some_and(|(one, other)| one != other))
    };
    let mut compared = 0;
    for program in of_text(text) {
        let Some((one, other)) = both(&program, &way) else { continue };
        compared += 1;
        if one != other {
            let small = shrunk(text, &differ);
            return Round::disagreed(one, format!("without reductions: {other}"), small, command(&way));
        }
        let bounds = Bounds { second_look: true, ..way.bounds.clone() };
        let again = Way { bounds, ..way.clone() };
        if again.explore(&program).disagrees {
            let differ = |text: &str| of_text(text).iter().any(|program| again.explore(program).disagrees);
            let small = shrunk(text, &differ);
            return Round::disagreed(
                one,
                "a sample without reductions does not agree",
                small,
                command(&again),
            );
        }
    }
    Round::Agreed(compared)
}

fn command(way: &Way) -> String {
    let (threads, ops) = (way.threads, way.ops);
    format!(
        "linpoint explore --threads {threads} --ops {ops}  ({:?}, {:?})",
        way.bounds.reductions, way.bounds.stepper
    )
}

/// Leaves statements out as long as what is wanted of a text stays true.
pub(super) fn shrunk(text: &str, wanted: &dyn Fn(&str) -> bool) -> String {
    let mut small = text.to_owned();
    'again: loop {
        for (what, less) in mutants(&small) {
            if what.contains("left out") && less.len() < small.len() && wanted(&less) {
                small = less;
                continue 'again;
            }
        }
        return small;
    }
}

fn told_differently(text: &str, rng: &mut Rng) -> Round {
    let way = Way::random(rng);
    let kind = *rng.pick(&Variation::ALL);
    let Some(told) = kind.of(text, rng) else { return Round::Agreed(0) };
    let (programs, others) = (of_text(text), of_text(&told));
    if others.len() != programs.len() {
        let why = compile(&told).1.into_iter().find(|diagnostic| diagnostic.is_error());
        let why = why.map(|diagnostic| diagnostic.render("told.lin", &told)).unwrap_or_default();
        return Round::disagreed(format!("{kind:?}: not a program any more"), why, told, "linpoint explore");
    }
    let mut compared = 0;
    for (program, mut other) in programs.into_iter().zip(others) {
        let (Some(one), Some(two)) = (word(&way.explore(&program)), word(&way.explore(&other))) else {
            continue;
        };
        rename_all(&mut other, "result");
        let three = word(&way.explore(&other)).unwrap_or(two);
        compared += 1;
        if one != two || one != three {
            let said = format!("{kind:?}: {two}, all names the same: {three}");
            return Round::disagreed(said, format!("as it was: {one}\n{text}"), told, command(&way));
        }
    }
    Round::Agreed(compared)
}
