//! How long metastates take on generated histories, and how many configurations they keep.
//!
//! ```text
//! cargo run --release --example metastate_speed -- queue --processes 16 --ops 1000000 --values 16 --adds 0.5
//! ```
//!
//! Histories are those of `linpoint generate`. `--bursts`: rounds in which all processes overlap. `--long N`:
//! N more operations open from the beginning to the end. `--pending N`: the last N operations never answer.
//! `--lost N`: about N operations anywhere never answer. `--spoil`: something at three quarters is wrong.

use std::time::Instant;

use linpoint_check::metastate::Crowd;
use linpoint_check::metastate::priority_queue::PriorityQueueMetastates;
use linpoint_check::metastate::queue::QueueMetastates;
use linpoint_check::metastate::shrink::shrink;
use linpoint_check::metastate::stack::StackMetastates;
use linpoint_check::timeline::{Ties, Timeline};
use linpoint_check::{Budget, Context, Engine, Stop, counterexample, engine};
use linpoint_history::generate::{self, Plan, Spoil, Values};
use linpoint_history::{History, Kind, specs};

fn main() -> Result<(), String> {
    let (plan, spoil) = settings(std::env::args().skip(1))?;
    let (History { operations, symbols }, _) = generate::history(&plan, spoil).map_err(|e| e.to_string())?;
    let spec = &plan.spec;
    let started = Instant::now();
    let timeline = Timeline::of(&operations, Ties::Strict);
    let sorted_s = started.elapsed().as_secs_f64();
    let budget = Budget::unlimited();
    let cx = Context { symbols: &symbols, spec, budget: &budget };
    let started = Instant::now();
    let (outcome, crowd) = match spec.kind {
        Kind::Queue => {
            let mut engine = QueueMetastates::new();
            (run(&mut engine, &cx, &timeline), engine.crowd())
        }
        Kind::PriorityQueue | Kind::PriorityQueueMax => {
            let mut engine = PriorityQueueMetastates::new();
            (run(&mut engine, &cx, &timeline), engine.crowd())
        }
        Kind::Stack => {
            let mut engine = StackMetastates::new();
            (run(&mut engine, &cx, &timeline), engine.crowd())
        }
        kind => return Err(format!("no metastates for {}", kind.name())),
    };
    print(&outcome, &crowd, sorted_s, started.elapsed().as_secs_f64());
    if let Err(Stop::Violated(violation)) = &outcome {
        let started = Instant::now();
        let at = *timeline.op(violation.at);
        let core = shrink(spec, &symbols, &operations, Some(at), Budget::unlimited()).unwrap_or_default();
        println!("{:.3} s for a core of {} operations", started.elapsed().as_secs_f64(), core.len());
        for op in core.iter().take(12) {
            println!("{}", counterexample::sentence(spec, &symbols, op));
        }
    }
    Ok(())
}

fn run(engine: &mut dyn Engine, cx: &Context<'_>, timeline: &Timeline) -> Result<usize, Stop> {
    engine::run(engine, cx, timeline).map(|order| order.len())
}

fn print(outcome: &Result<usize, Stop>, crowd: &Crowd, sorted_s: f64, elapsed_s: f64) {
    let verdict = match outcome {
        Ok(ordered) => format!("linearizable, {ordered} in order"),
        Err(Stop::Violated(v)) => {
            format!("violated at {:?}", v.at)
        }
        Err(stop) => format!("{stop:?}"),
    };
    let (max, mean) = (crowd.max, crowd.mean());
    println!(
        "{elapsed_s:.3} s (timeline {sorted_s:.3} s); configurations max {max} mean {mean:.2}; {verdict}"
    );
}

fn settings(mut args: impl Iterator<Item = String>) -> Result<(Plan, Option<Spoil>), String> {
    let name = args.next().ok_or("expected a spec: queue, priority-queue, stack")?;
    let mut plan = Plan::new(specs::parse(&name).map_err(|e| e.to_string())?);
    (plan.processes, plan.operations, plan.values) = (8, 100_000, Values::Repeated(16));
    let (mut lost, mut spoil) = (0.0, None);
    while let Some(flag) = args.next() {
        let mut number = || {
            let text = args.next().ok_or_else(|| format!("{flag} needs a number"))?;
            text.parse::<f64>().map_err(|_| format!("{flag} needs a number, not {text}"))
        };
        match flag.as_str() {
            "--processes" => plan.processes = number()? as u32,
            "--ops" => plan.operations = number()? as u64,
            "--values" => plan.values = Values::Repeated(number()? as u32),
            "--adds" => plan.add_share = number()?,
            "--long" => plan.long_open = number()? as u32,
            "--pending" => plan.trailing_pending = number()? as u64,
            "--lost" => lost = number()?,
            "--seed" => plan.seed = number()? as u64,
            "--bursts" => plan.bursts = true,
            "--spoil" => spoil = Some(Spoil::default()),
            _ => return Err(format!("unknown option {flag}")),
        }
    }
    plan.pending = lost / plan.operations as f64;
    Ok((plan, spoil))
}
