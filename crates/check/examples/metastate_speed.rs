//! How long metastates take on generated histories, and how many configurations they keep.
//!
//! ```text
//! cargo run --release --example metastate_speed -- queue --processes 16 --ops 1000000 --values 16 --adds 0.5
//! ```
//!
//! Histories are linearizable by construction: durations are exponential, gaps short, and each operation takes effect
//! at a point that is uniform in its interval. `--bursts`: rounds in which all processes overlap. `--long N`: N more operations
//! open from the beginning to the end. `--pending N`: the last N operations never answer. `--lost N`: N operations anywhere
//! never answer. `--spoil`: one result at three quarters
//! is wrong.

use std::time::Instant;

use linpoint_check::metastate::Crowd;
use linpoint_check::metastate::priority_queue::PriorityQueueMetastates;
use linpoint_check::metastate::queue::QueueMetastates;
use linpoint_check::metastate::shrink::shrink;
use linpoint_check::metastate::stack::StackMetastates;
use linpoint_check::timeline::{Ties, Timeline};
use linpoint_check::{Budget, Context, Engine, Stop, counterexample, engine};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Kind, Operation, ProcessId, Symbols, ValueId, specs};

struct Settings {
    spec: Builtin,
    processes: usize,
    ops: usize,
    values: u64,
    adds: f64,
    long: usize,
    pending: usize,
    lost: usize,
    bursts: bool,
    spoil: bool,
    seed: u64,
}

fn main() -> Result<(), String> {
    let settings = settings(std::env::args().skip(1))?;
    let operations = generate(&settings);
    let started = Instant::now();
    let timeline = Timeline::of(&operations, Ties::Strict);
    let sorted_s = started.elapsed().as_secs_f64();
    let symbols = Symbols::new();
    let budget = Budget::unlimited();
    let cx = Context { symbols: &symbols, spec: &settings.spec, budget: &budget };
    let started = Instant::now();
    let (outcome, crowd) = match settings.spec.kind {
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
        let core = shrink(&settings.spec, &symbols, &operations, Some(at)).unwrap_or_default();
        println!("{:.3} s for a core of {} operations", started.elapsed().as_secs_f64(), core.len());
        for op in core.iter().take(12) {
            println!("{}", counterexample::sentence(&settings.spec, &symbols, op));
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

fn settings(mut args: impl Iterator<Item = String>) -> Result<Settings, String> {
    let name = args.next().ok_or("expected a spec: queue, priority-queue, stack")?;
    let spec = specs::parse(&name).map_err(|e| e.to_string())?;
    let mut s = Settings {
        spec,
        processes: 8,
        ops: 100_000,
        values: 16,
        adds: 0.5,
        long: 0,
        pending: 0,
        lost: 0,
        bursts: false,
        spoil: false,
        seed: 1,
    };
    while let Some(flag) = args.next() {
        let mut number = || {
            let text = args.next().ok_or_else(|| format!("{flag} needs a number"))?;
            text.parse::<f64>().map_err(|_| format!("{flag} needs a number, not {text}"))
        };
        match flag.as_str() {
            "--processes" => s.processes = number()? as usize,
            "--ops" => s.ops = number()? as usize,
            "--values" => s.values = number()? as u64,
            "--adds" => s.adds = number()?,
            "--long" => s.long = number()? as usize,
            "--pending" => s.pending = number()? as usize,
            "--lost" => s.lost = number()? as usize,
            "--seed" => s.seed = number()? as u64,
            "--bursts" => s.bursts = true,
            "--spoil" => s.spoil = true,
            _ => return Err(format!("unknown option {flag}")),
        }
    }
    Ok(s)
}

/// A history without results: intervals with the points at which operations take effect.
fn intervals(s: &Settings, rng: &mut Rng) -> Vec<(f64, Operation)> {
    let exponential = |rng: &mut Rng, mean: f64| -mean * (1.0 - rng.unit()).ln();
    let mut clock = vec![0.0f64; s.processes];
    let mut rows = Vec::with_capacity(s.ops + s.long);
    for round in 0..s.ops / s.processes {
        for (process, clock) in clock.iter_mut().enumerate() {
            let (call, ret) = if s.bursts {
                let start = round as f64 * 10_000.0;
                (start + rng.unit() * 1000.0, start + 5000.0 + rng.unit() * 1000.0)
            } else {
                let call = *clock + exponential(rng, 100.0) + 1.0;
                (call, call + exponential(rng, 1000.0) + 1.0)
            };
            *clock = ret;
            rows.push(row(rng, process, call, ret));
        }
    }
    let end = clock.iter().copied().fold(0.0, f64::max);
    for extra in 0..s.long {
        rows.push(row(rng, s.processes + extra, 0.0, end + 10.0 + extra as f64));
    }
    rows
}

fn row(rng: &mut Rng, process: usize, call: f64, ret: f64) -> (f64, Operation) {
    let mut op = Operation::new(ProcessId(process as u32), codes::queue::ENQUEUE);
    (op.call, op.ret) = (call as i64, ret as i64);
    (call + rng.unit() * (ret - call), op)
}

fn generate(s: &Settings) -> Vec<Operation> {
    let mut rng = Rng::new(s.seed);
    let mut rows = intervals(s, &mut rng);
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut contents = Contents::new(s.spec.kind);
    for (_, op) in &mut rows {
        if rng.chance(s.adds) {
            let value = rng.below(s.values) as u32;
            op.arg = ValueId(value);
            contents.add(value);
        } else {
            let mut removal = Operation::new(op.process(), codes::queue::DEQUEUE);
            (removal.call, removal.ret) = (op.call, op.ret);
            removal.result = contents.remove().map_or(ValueId::NULL, ValueId);
            *op = removal;
        }
    }
    let mut operations: Vec<Operation> = rows.into_iter().map(|(_, op)| op).collect();
    operations.sort_by_key(|op| (op.ret, op.call));
    let length = operations.len();
    for op in operations.iter_mut().skip(length - s.pending.min(length)) {
        op.ret = Operation::NEVER;
    }
    for _ in 0..s.lost {
        operations[rng.below(length as u64) as usize].ret = Operation::NEVER;
    }
    if s.spoil {
        let from = length * 3 / 4;
        let is_removal = |op: &&mut Operation| op.op() == codes::queue::DEQUEUE && !op.result.is_null();
        if let Some(op) = operations[from..].iter_mut().find(is_removal) {
            op.result = ValueId((op.result.0 + 1) % s.values as u32);
        }
    }
    operations
}

/// The elements in the object, in the order in which they leave.
enum Contents {
    Queue(std::collections::VecDeque<u32>),
    Stack(Vec<u32>),
    Sorted(std::collections::BTreeMap<u32, usize>, Kind),
}

impl Contents {
    fn new(kind: Kind) -> Contents {
        match kind {
            Kind::Queue => Contents::Queue(Default::default()),
            Kind::Stack => Contents::Stack(Default::default()),
            _ => Contents::Sorted(Default::default(), kind),
        }
    }

    fn add(&mut self, value: u32) {
        match self {
            Contents::Queue(items) => items.push_back(value),
            Contents::Stack(items) => items.push(value),
            Contents::Sorted(items, _) => *items.entry(value).or_default() += 1,
        }
    }

    fn remove(&mut self) -> Option<u32> {
        match self {
            Contents::Queue(items) => items.pop_front(),
            Contents::Stack(items) => items.pop(),
            Contents::Sorted(items, kind) => {
                let mut entry = if *kind == Kind::PriorityQueueMax {
                    items.last_entry()?
                } else {
                    items.first_entry()?
                };
                *entry.get_mut() -= 1;
                let value = *entry.key();
                if *entry.get() == 0 {
                    entry.remove();
                }
                Some(value)
            }
        }
    }
}
