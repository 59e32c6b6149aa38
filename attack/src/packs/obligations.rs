//! Attacks on local proof obligations: whatever is proved is explored, without ghosts and without reductions.

mod annotated;

use std::time::Duration;

use linpoint_history::rng::Rng;
use linpoint_lang::erase::erase;
use linpoint_lang::interp::ErrorKind;
use linpoint_lang::{Program, compile};
use linpoint_model::{Budget, second_opinion};
use linpoint_prove::solver::{SolverKind, find};
use linpoint_prove::{Options, prove};

use crate::corpus::corpus;
use crate::mutant::mutants;
use crate::pack::{Pack, Round};
use crate::program::{Wish, random_program};
use crate::variation::{Variation, rename_all};

/// The packs of this engine.
pub const PACKS: &[Pack] = &[
    Pack {
        engine: "obligations",
        name: "obligations-annotations",
        about: "small objects with any annotations, gates, locks, ghosts, optional tuples and odd names: proved against explored",
        round: |rng| against_runs(&annotated::random_text(rng), rng),
    },
    Pack {
        engine: "obligations",
        name: "obligations-random",
        about: "random programs with points, `abs`, ghosts, several locks, tuples and odd names: proved against explored",
        round: |rng| against_runs(&random_program(rng, PROVABLE).0, rng),
    },
    Pack {
        engine: "obligations",
        name: "obligations-mutants",
        about: "small programs of the corpus that are proved, with one place changed: proved against explored",
        round: |rng| {
            let texts = small_proofs();
            let text: &String = rng.pick(&texts);
            let all = mutants(text);
            if all.is_empty() { Round::Agreed(0) } else { against_runs(&rng.pick(&all).1, rng) }
        },
    },
    Pack {
        engine: "obligations",
        name: "obligations-variations",
        about: "small programs that are proved, told differently: still proved",
        round: |rng| {
            let texts = small_proofs();
            let corpus = rng.chance(0.2);
            let text = if corpus { rng.pick(&texts).clone() } else { annotated::random_text(rng) };
            told_differently(&text, rng)
        },
    },
];

/// What a program may contain that can be proved.
const PROVABLE: Wish = Wish { proof: true, free: false, objects: false, points: false, ..Wish::ALL };

/// Programs of the corpus whose proofs take well below a second.
fn small_proofs() -> Vec<String> {
    const SMALL: [&str; 6] =
        ["array-set", "array-queue", "multiset-insert", "snapshot", "ticket-lock", "treiber-ghosts"];
    corpus().into_iter().filter(|(name, _)| SMALL.contains(&name.as_str())).map(|(_, text)| text).collect()
}

/// A program that is proved is proved as well if it is told differently: names and order mean nothing.
fn told_differently(text: &str, rng: &mut Rng) -> Round {
    let kind = *rng.pick(&[Variation::OddNames, Variation::Reordered]);
    let Some(program) = of_text(text).filter(is_proved) else { return Round::Agreed(0) };
    let mut renamed = program;
    rename_all(&mut renamed, "result");
    if !is_proved(&renamed) {
        return Round::disagreed(
            "not proved: all names the same",
            "proved as it was",
            text,
            "linpoint prove",
        );
    }
    let Some(told) = kind.of(text, rng) else { return Round::Agreed(1) };
    match of_text(&told) {
        // What odd names make of a text is not always a program.
        None => Round::Agreed(1),
        Some(program) if is_proved(&program) => Round::Agreed(2),
        Some(_) => {
            Round::disagreed(format!("{kind:?}: not proved"), "proved as it was", told, "linpoint prove")
        }
    }
}

/// Numbers are taken as unlimited, and the verdict says so; what a ghost array has no room for is not known.
fn forgiven(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Arithmetic | ErrorKind::Beyond)
}

fn is_proved(program: &Program) -> bool {
    let solver = find(SolverKind::Z3, None).expect("this needs z3: `cargo xtask solvers` sets it up");
    let options = Options {
        jobs: 1,
        limit: Duration::from_secs(1),
        time: Some(Duration::from_secs(3)),
        ..Options::new(solver)
    };
    prove(program, &options, &|_, _| {}).verdict.holds()
}

/// What a run says against a program that is proved.
fn refuted(program: &Program, seed: u64) -> Option<String> {
    let budget = Budget { time: Duration::from_secs(2), states: 60_000, forgiven, seed };
    let opinion = second_opinion(&erase(program), &budget);
    let found = opinion.refutation()?;
    let threads = found.scope.workload.threads.len();
    Some(format!("{:?} with {threads} threads, sizes {:?}", found.violation.wrong, found.scope.sizes))
}

fn of_text(text: &str) -> Option<Program> {
    let (mut programs, wrong) = compile(text);
    let good = !wrong.iter().any(|diagnostic| diagnostic.is_error()) && !programs.is_empty();
    good.then(|| programs.swap_remove(0))
}

/// Proves a program; what is proved is explored. Programs that are not proved count for nothing.
fn against_runs(text: &str, rng: &mut Rng) -> Round {
    let seed = rng.bits();
    let wrong = |text: &str| {
        let program = of_text(text).filter(is_proved)?;
        refuted(&program, seed)
    };
    let Some(program) = of_text(text).filter(is_proved) else { return Round::Agreed(0) };
    match refuted(&program, seed) {
        None => Round::Agreed(1),
        Some(judge) => {
            let small = shrunk(text, &|text| wrong(text).is_some());
            Round::disagreed("proved", judge, small, "linpoint prove")
        }
    }
}

/// Leaves lines out as long as what is wanted of a text stays true.
fn shrunk(text: &str, wanted: &dyn Fn(&str) -> bool) -> String {
    let mut small = text.to_owned();
    'again: loop {
        let lines: Vec<&str> = small.lines().collect();
        for left_out in 0..lines.len() {
            let less: Vec<&str> =
                lines.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, line)| *line).collect();
            let less = less.join("\n");
            if wanted(&less) {
                small = less;
                continue 'again;
            }
        }
        return small;
    }
}
