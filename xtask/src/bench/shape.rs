//! `cargo xtask bench shape`: proofs of linked structures, whole commands of the release build, beside Amit's table 5.1.
//!
//! Time is CPU time of the whole process on one core, the best of several; his figures are of 2007, on a 3.8 GHz Xeon.

use serde_json::Value as Json;

use super::child;

/// A run: what it is called, the program, more arguments, the verdict it should have, seconds at most, and Amit's figures (seconds, states).
struct Row {
    name: &'static str,
    file: &'static str,
    arguments: &'static [&'static str],
    verdict: &'static str,
    most_s: f64,
    text: Option<(u32, u32)>,
}

const fn row(
    name: &'static str,
    file: &'static str,
    arguments: &'static [&'static str],
    verdict: &'static str,
    most_s: f64,
    text: Option<(u32, u32)>,
) -> Row {
    Row { name, file, arguments, verdict, most_s, text }
}

const ROWS: &[Row] = &[
    row("Treiber, 3 threads", "correct/treiber", &["--threads", "3"], "proved", 5.55, Some((555, 64_618))),
    row(
        "Michael–Scott, 2",
        "correct/michael-scott",
        &["--threads", "2"],
        "proved",
        18.74,
        Some((1874, 116_902)),
    ),
    row("DGLM, 2", "correct/dglm", &["--threads", "2"], "proved", 3.4, Some((340, 34_611))),
    row("two-lock, 4", "correct/two-lock", &["--threads", "4"], "proved", 12.96, Some((1296, 115_456))),
    row(
        "pessimistic set, 2",
        "correct/pessimistic-set",
        &["--threads", "2"],
        "proved",
        141.5,
        Some((14_153, 229_380)),
    ),
    row("Treiber, 2/2", "correct/treiber", &["--threads", "2/2"], "proved", 14.32, Some((1432, 82_497))),
    row(
        "Michael–Scott, 1/1",
        "correct/michael-scott",
        &["--threads", "1/1"],
        "proved",
        0.15,
        Some((15, 2518)),
    ),
    row("DGLM, 1/1", "correct/dglm", &["--threads", "1/1"], "proved", 0.12, Some((12, 1440))),
    row("two-lock, 3/3", "correct/two-lock", &["--threads", "3/3"], "proved", 45.96, Some((4596, 178_180))),
    row(
        "pessimistic set, 1/1",
        "correct/pessimistic-set",
        &["--threads", "1/1"],
        "proved",
        29.81,
        Some((2981, 51_755)),
    ),
    row("Treiber, any", "correct/treiber", &[], "proved", 0.05, None),
    row("two-lock, any", "correct/two-lock", &[], "proved", 0.05, None),
    row("DGLM, any", "correct/dglm", &[], "proved", 0.2, None),
    row("Michael–Scott, any", "correct/michael-scott", &[], "proved", 0.3, None),
    row("pessimistic set, any", "correct/pessimistic-set", &[], "proved", 1.0, None),
    row("Michael–Scott, early empty, any", "correct/michael-scott-early-empty", &[], "proved", 20.0, None),
    row("lazy set, any", "correct/lazy-set", &[], "proved", 5.0, None),
    row("optimistic set, any", "correct/optimistic-set", &[], "proved", 20.0, None),
    row(
        "lazy set, contains without mark, any",
        "correct/lazy-set-contains-no-mark",
        &[],
        "proved",
        20.0,
        None,
    ),
    row("Vechev–Yahav set, any", "correct/vechev-yahav-set", &[], "proved", 20.0, None),
    row("Michael set, any", "correct/michael-set", &[], "proved", 20.0, None),
    row("elimination stack, any", "correct/elimination-stack", &[], "proved", 20.0, None),
    row("coarse set, refined, any", "correct/coarse-set", &[], "proved", 20.0, None),
    row("Treiber with free and a count, any", "correct/treiber-counted", &[], "proved", 20.0, None),
    row("Treiber, points inferred", "correct/treiber", &["--points", "inferred"], "proved", 1.0, None),
    row("two-lock, points inferred", "correct/two-lock", &["--points", "inferred"], "proved", 1.0, None),
    row(
        "Michael–Scott, points inferred",
        "correct/michael-scott",
        &["--points", "inferred"],
        "proved",
        1.0,
        None,
    ),
    row("DGLM, points inferred", "correct/dglm", &["--points", "inferred"], "proved", 1.0, None),
    row(
        "pessimistic set, points inferred",
        "correct/pessimistic-set",
        &["--points", "inferred"],
        "proved",
        2.0,
        None,
    ),
    row("stack mutation (a)", "broken/treiber-push-no-cas", &[], "refuted", 2.0, Some((5, 618))),
    row("stack mutation (b)", "broken/treiber-pop-no-cas", &[], "refuted", 2.0, Some((1, 170))),
    row(
        "nonblocking queue mutation (a)",
        "broken/michael-scott-no-tail-check",
        &[],
        "refuted",
        2.0,
        Some((203, 18_611)),
    ),
    row("two-lock mutation (a)", "broken/two-lock-enqueue-gap", &[], "refuted", 2.0, Some((4, 766))),
    row("two-lock mutation (b)", "broken/two-lock-dequeue-gap", &[], "refuted", 2.0, Some((4, 435))),
    row(
        "set mutation (a), points",
        "broken/pessimistic-set-late-point",
        &["--points", "given"],
        "refuted",
        2.0,
        Some((118, 2981)),
    ),
    row("Treiber with free, pool", "broken/treiber-free-aba", &[], "refuted", 2.0, None),
    row("Treiber with free", "broken/treiber-use-after-free", &[], "refuted", 2.0, None),
    row("lazy set, no validation", "broken/lazy-set-no-validation", &[], "refuted", 2.0, None),
    row("optimistic set, no validation", "broken/optimistic-set-no-validation", &[], "refuted", 2.0, None),
    row("Michael set, no mark", "broken/michael-set-no-mark", &[], "refuted", 2.0, None),
    row("Harris set, no mark", "broken/harris-set-no-mark", &[], "refuted", 2.0, None),
    row("Vechev–Yahav set, no mark", "broken/vechev-yahav-set-no-mark", &[], "refuted", 2.0, None),
    row("elimination stack, offer stays", "broken/elimination-stack-offer-stays", &[], "refuted", 2.0, None),
];

/// Runs that took less than this are made again, for the best.
const REPEAT_S: f64 = 0.5;

/// Runs all and prints a table, and a second one of other provers where they are; an error if a verdict or a bar is missed.
pub fn run(options: &super::Options) -> Result<(), String> {
    let binary = super::binary()?;
    println!(
        "{} · `cargo xtask bench shape` · one core, CPU time of the whole command, best of up to 3\n\n| program | verdict | structures | seconds | MiB | asked | Amit 2007: s, states | |\n|---|---|---|---|---|---|---|---|",
        super::today()
    );
    let mut missed = 0;
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    for row in ROWS {
        let file = crate::root().join("corpus").join(format!("{}.lin", row.file));
        let (mut best, mut peak, mut answer) = (f64::INFINITY, 0, Json::Null);
        for _ in 0..3 {
            let mut command = child::pinned(&binary);
            command.arg("prove").arg(&file).args(["--engine", "shape", "--json", "--time-limit", "300s"]);
            command.args(row.arguments);
            let (usage, text) = child::run(command, 330)?;
            answer = serde_json::from_str(&text).unwrap_or(Json::Null);
            best = best.min(usage.cpu_s);
            peak = peak.max(usage.peak_bytes);
            if usage.cpu_s > REPEAT_S {
                break;
            }
        }
        let verdict = answer["verdict"].as_str().unwrap_or("no answer");
        let theirs = row.text.map(|(seconds, states)| (f64::from(seconds), f64::from(states)));
        times.push((row.name.to_owned(), vec![Some(best), theirs.map(|(seconds, _)| seconds)]));
        sizes.push((
            row.name.to_owned(),
            vec![answer["structures"].as_f64(), theirs.map(|(_, states)| states)],
        ));
        let passed = verdict == row.verdict && best <= row.most_s;
        missed += u32::from(!passed);
        let text = row.text.map_or_else(String::new, |(seconds, states)| format!("{seconds}, {states}"));
        println!(
            "| {} | {verdict} | {} | {best:.3} | {} | ≤ {} | {text} | {} |",
            row.name,
            answer["structures"],
            peak >> 20,
            row.most_s,
            if passed { "pass" } else { "**miss**" }
        );
    }
    let names = ["Linpoint", "Amit 2007"];
    super::charts::bars("shape-time.svg", "Time a structure", "seconds", &names, &times);
    super::charts::bars(
        "shape-structures.svg",
        "Structures, and states of Amit 2007",
        "number",
        &names,
        &sizes,
    );
    if let Some(folder) = &options.peers {
        super::provers::run(folder, &binary)?;
    }
    if missed == 0 { Ok(()) } else { Err(format!("{missed} missed")) }
}
