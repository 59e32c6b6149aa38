//! Mutants of every program of the corpus, given to both provers; whatever is proved is explored without reductions.
//!
//! `cargo run --release -p linpoint-attack --example mutants [COUNT] [SECONDS] [SEED]`: so many mutants, the ones with one place changed first, then as many with two or three places as are
//! missing; so many seconds for each proof at the most (3). A line for each proof that a run refutes, and one for each file. The two looks that are taken at a proof before
//! it is told are taken by `linpoint prove`, not here: what they would catch is a finding.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use linpoint_attack::corpus::corpus;
use linpoint_attack::mutant::mutants;
use linpoint_history::rng::Rng;
use linpoint_lang::erase::erase;
use linpoint_lang::interp::ErrorKind;
use linpoint_lang::{Program, compile};
use linpoint_model::{Budget, Workload, second_opinion_of};
use linpoint_prove::solver::{SolverKind, find};
use linpoint_shape::prove::Choice;

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).map_while(|word| word.parse().ok()).collect();
    let count = words.first().map_or(10_000, |count| *count as usize);
    let seconds = Duration::from_secs(words.get(1).copied().unwrap_or(3));
    let all = chosen(count, words.get(2).copied().unwrap_or(1));
    println!("{} mutants of {} programs", all.len(), corpus().len());
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<&str, Tally>::new()));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(mutant) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = attack(mutant, seconds);
                    tally.lock().expect("nobody panics").entry(&mutant.name).or_default().add(&one);
                }
            });
        }
    });
    let mut sum = Tally::default();
    for (name, tally) in tally.into_inner().expect("nobody panics") {
        println!("{name:30} {tally}");
        sum.add(&tally);
    }
    println!("{:30} {sum}; {:.0} s", "all", started.elapsed().as_secs_f64());
    std::process::exit(i32::from(sum.wrong > 0));
}

/// A program with some places changed.
struct Mutant {
    name: String,
    what: String,
    text: String,
}

/// What became of mutants.
#[derive(Default)]
struct Tally {
    mutants: usize,
    by_shapes: usize,
    by_obligations: usize,
    wrong: usize,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.mutants += other.mutants;
        self.by_shapes += other.by_shapes;
        self.by_obligations += other.by_obligations;
        self.wrong += other.wrong;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { mutants, by_shapes, by_obligations, wrong } = self;
        write!(
            f,
            "{mutants:6} mutants, {by_shapes:5} proved by shapes, {by_obligations:5} by obligations, {wrong} of them wrong"
        )
    }
}

/// All mutants with one place changed, in an order that is mixed, and then some with more.
fn chosen(count: usize, seed: u64) -> Vec<Mutant> {
    let mut rng = Rng::new(seed);
    let mut all = Vec::new();
    for (name, text) in corpus() {
        let of = |(what, text)| Mutant { name: name.clone(), what, text };
        all.extend(mutants(&text).into_iter().map(of));
    }
    for at in (1..all.len()).rev() {
        all.swap(at, rng.below(at as u64 + 1) as usize);
    }
    all.truncate(count);
    // Of the ones with two places some are changed once more.
    while !all.is_empty() && all.len() < count {
        let Mutant { name, what, text } = &all[rng.below(all.len() as u64) as usize];
        let (name, what) = (name.clone(), what.clone());
        let mut more = mutants(text);
        if !more.is_empty() {
            let (also, text) = more.swap_remove(rng.below(more.len() as u64) as usize);
            all.push(Mutant { name, what: format!("{what}; {also}"), text });
        }
    }
    all
}

fn attack(mutant: &Mutant, seconds: Duration) -> Tally {
    let (programs, _) = compile(&mutant.text);
    let mut tally = Tally { mutants: 1, ..Tally::default() };
    for program in &programs {
        let (by_shapes, by_obligations) = (shape(program, seconds), obligations(program, seconds));
        tally.by_shapes += usize::from(by_shapes);
        tally.by_obligations += usize::from(by_obligations);
        let mut judge = |by: &str, forgiven: fn(ErrorKind) -> bool| {
            if let Some(why) = refuted(program, forgiven) {
                tally.wrong += 1;
                println!(
                    "PROVED BY {by}, AND WRONG: {}: {}: {why}\n{}",
                    mutant.name, mutant.what, mutant.text
                );
            }
        };
        if by_shapes {
            judge("shapes", |_| false);
        }
        if by_obligations {
            // The proof takes numbers as unlimited, and says so; what a ghost array has no room for is not known.
            judge("obligations", |kind| matches!(kind, ErrorKind::Arithmetic | ErrorKind::Beyond));
        }
    }
    tally
}

fn shape(program: &Program, seconds: Duration) -> bool {
    use linpoint_shape::prove::{Settings, Verdict, prove};
    [Choice::Auto, Choice::Inferred].into_iter().any(|points| {
        let second_look = Duration::ZERO;
        let settings =
            Settings { points, time: Some(seconds), refute: false, second_look, ..Settings::default() };
        matches!(prove(program, &settings).verdict, Verdict::Holds(_))
    })
}

fn obligations(program: &Program, seconds: Duration) -> bool {
    use linpoint_prove::{Options, prove};
    let solver = find(SolverKind::Z3, None).expect("this needs z3: `cargo xtask solvers` sets it up");
    let options =
        Options { jobs: 1, limit: Duration::from_secs(1), time: Some(seconds), ..Options::new(solver) };
    prove(program, &options, &|_, _| {}).verdict.holds()
}

/// What a run without reductions says against a program that is proved.
fn refuted(program: &Program, forgiven: fn(ErrorKind) -> bool) -> Option<String> {
    let budget = Budget { time: Duration::from_secs(20), states: 400_000, forgiven, seed: 1 };
    let program = erase(program);
    let workloads = [(2, 2), (2, 3), (3, 2)].map(|(threads, ops)| Workload::usual(&program, threads, ops));
    let opinion = second_opinion_of(&program, &workloads, &budget);
    let found = opinion.refutation()?;
    let threads = found.scope.workload.threads.len();
    Some(format!("{:?} with {threads} threads, sizes {:?}", found.violation.wrong, found.scope.sizes))
}
