//! Random small objects with random annotations: counts in an array, changed and read in several steps, with gates, locks, ghosts and names that mean something elsewhere.
//!
//! Most are wrong, some are right, and annotations say anything at all: a prover that can be talked into something is talked into it here. Conditions of annotations look at what others change.

use linpoint_history::rng::Rng;

/// Names for locals: what the prover or its solver might take for its own.
const NAMES: [&str; 10] = ["t", "result", "p", "q", "k1", "s0", "said", "v", "place", "n0"];

/// A random object as text.
pub fn random_text(rng: &mut Rng) -> String {
    let seen = *rng.pick(&NAMES);
    let got = *rng.pick(&NAMES);
    let steps = adding(rng, seen);
    let add = body(rng, "A", &steps);
    let (answers, read) = reading(rng, got);
    let get = body(rng, "G", &read);
    let mut text = String::from(
        "object O {\n  size N = 2\n  shared a: [int; N]\n  shared f: bool\n  shared l: lock\n  shared m: lock\n  ghost shared g: int\n",
    );
    text.push_str(&format!("  op add(i: 0..N) {{\n{}  }}\n", add.join("")));
    text.push_str(&format!("  op get(i: 0..N) -> {} {{\n{}  }}\n", answers.ty, get.join("")));
    let flag = *rng.pick(&["true", "false"]);
    let point = if rng.chance(0.8) { " @lin" } else { "" };
    text.push_str(&format!("  op turn() {{\n    T1: f = {flag}{point}\n  }}\n"));
    text.push_str(&format!(
        "  spec {{\n    shared c: [int; N]\n    op add(i: 0..N) {{ c[i] = c[i] + 1 }}\n    op get(i: 0..N) -> {} {{ return {} }}\n    op turn() {{\n      return\n    }}\n  }}\n  abs a[n] for n in 0..N\n",
        answers.ty, answers.specified
    ));
    for _ in 0..rng.below(5) {
        text.push_str(&annotation(rng, (add.len(), seen), (get.len(), got), &answers));
    }
    text.push_str("}\n");
    text
}

/// What a read answers, as a type, in the specification, and in the program.
struct Answers {
    ty: &'static str,
    specified: &'static str,
    said: String,
}

fn answers(rng: &mut Rng, got: &str) -> Answers {
    let kind = rng.below(5);
    let wrong = rng.chance(0.2);
    let (ty, specified, right, other) = match kind {
        0 => ("(int?, int)?", "(none, 0)", "(none, 0)".to_owned(), "none"),
        1 => ("(int, bool)", "(c[i], true)", format!("({got}, true)"), "(0, true)"),
        2 => ("int?", "some(c[i])", format!("some({got})"), "none"),
        _ => ("int", "c[i]", got.to_owned(), "0"),
    };
    Answers { ty, specified, said: if wrong { other.to_owned() } else { right } }
}

/// Statements that add one.
fn adding(rng: &mut Rng, seen: &str) -> Vec<String> {
    let point = if rng.chance(0.9) { " @lin" } else { "" };
    let ghost = if rng.chance(0.3) { " @ghost { g = g + 1 }" } else { "" };
    match rng.below(4) {
        0 => vec![format!("atomic {{\n      {seen} = a[i]\n      a[i] = {seen} + 1\n    }}{point}{ghost}")],
        1 => vec![format!("{seen} = fetch_add(a[i], 1){point}{ghost}")],
        _ => {
            let steps = vec![format!("{seen} = a[i]"), format!("a[i] = {seen} + 1{point}{ghost}")];
            guarded(rng, steps)
        }
    }
}

/// Statements that read, and what they return.
fn reading(rng: &mut Rng, got: &str) -> (Answers, Vec<String>) {
    let answers = answers(rng, got);
    let point = if rng.chance(0.8) { format!(" @lin({})", answers.said) } else { String::new() };
    let mut steps = vec![format!("{got} = a[i]{point}")];
    if rng.chance(0.2) {
        steps.push(format!("{got} = {got} + 1"));
    }
    let mut steps = if rng.chance(0.5) { guarded(rng, steps) } else { steps };
    steps.push(format!("return {}", answers.said));
    (answers, steps)
}

/// Between lock and unlock, mostly of one lock, and sometimes unlocked too early.
fn guarded(rng: &mut Rng, mut steps: Vec<String>) -> Vec<String> {
    if rng.chance(0.5) {
        let lock = *rng.pick(&["l", "l", "m"]);
        steps.insert(0, format!("lock({lock})"));
        let early = u64::from(rng.chance(0.2));
        let at = steps.len().saturating_sub(early as usize).max(1);
        steps.insert(at, format!("unlock({lock})"));
    }
    steps
}

/// Labelled lines, with gates and the like in between.
fn body(rng: &mut Rng, letter: &str, steps: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for step in steps {
        while rng.chance(0.25) {
            let more = ["assume f", "assume !f", "f = true", "f = false", "skip = 0"];
            all.push((*rng.pick(&more)).to_owned());
        }
        all.push(step.clone());
    }
    all.iter().enumerate().map(|(at, step)| format!("    {letter}{}: {step}\n", at + 1)).collect()
}

fn annotation(rng: &mut Rng, add: (usize, &str), get: (usize, &str), answers: &Answers) -> String {
    let (letter, (steps, local)) = if rng.chance(0.6) { ("A", add) } else { ("G", get) };
    let first = 1 + rng.below(steps as u64);
    let last = first + rng.below(steps as u64 - first + 1);
    let labels =
        if first == last { format!("{letter}{first}") } else { format!("{letter}{first}..{letter}{last}") };
    let condition = condition(rng, local);
    match rng.below(8) {
        0..=2 => format!("  inv at {labels}: {condition}\n"),
        3 => {
            let always =
                ["all n in 0..N: a[n] >= 0", "f", "!f", "g >= 0", "l == none", "any n in 0..N: a[n] == 0"];
            format!("  inv: {}\n", rng.pick(&always))
        }
        4 | 5 => {
            let what = if rng.chance(0.8) { "i" } else { local };
            let when = if rng.chance(0.7) { format!(" if {condition}") } else { String::new() };
            format!("  disjoint {what} at {labels}{when}\n")
        }
        _ if letter == "A" => {
            let status = rng.pick(&["in", "out", "inout"]);
            format!("  status at {labels} if {condition}: {status}\n")
        }
        _ => {
            let status = match rng.below(3) {
                0 => "in".to_owned(),
                1 => format!("out({})", answers.said),
                _ => format!("inout({})", answers.said.replace(local, "a[i]")),
            };
            format!("  status at {labels}: {status}\n")
        }
    }
}

/// Something that may hold of a process; most look at what others change.
fn condition(rng: &mut Rng, local: &str) -> String {
    let plain = [
        "f".to_owned(),
        "!f".to_owned(),
        format!("{local} == a[i]"),
        format!("{local} <= a[i]"),
        format!("{local} >= 0"),
        "l == me".to_owned(),
        "m == me".to_owned(),
        "l == none".to_owned(),
        "a[i] == g".to_owned(),
        "i >= 0".to_owned(),
    ];
    match rng.below(4) {
        0 => format!("{} ==> {}", rng.pick(&plain), rng.pick(&plain)),
        1 => format!("{} && {}", rng.pick(&plain), rng.pick(&plain)),
        _ => rng.pick(&plain).clone(),
    }
}
