//! What a monitor costs, phase by phase: `cargo run --release -p linpoint-check --example monitor_speed --
//! queue 16 1000000`.
//!
//! A history is generated, cut into pieces of 64k rows as a reader would deliver them, and fed to the first
//! specialised engine of its specification. Printed are nanoseconds an operation, the best of several rounds,
//! and the most bytes the engine held.
//!
//! Further words: the share of empties, the share of insertions, and `deep` (of a stack: half of the
//! operations push, then all is popped).

use std::time::{Duration, Instant};

use linpoint_check::engine::Edit;
use linpoint_check::monitor::stack::StackMonitor;
use linpoint_check::portfolio::{Choice, candidates};
use linpoint_check::recheck::Recheck;
use linpoint_check::recheck::segments::Segments;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Context, Engine, OpId, Stop, Timeline, Witness};
use linpoint_history::generate::{self, Plan};
use linpoint_history::specs::codes::stack::POP;
use linpoint_history::{History, Kind, Operation, specs};

const PIECE: usize = 1 << 16;
const ROUNDS: usize = 7;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, otherwise: &'static str| words.get(index).map_or(otherwise, String::as_str);
    let spec = specs::parse(word(0, "queue")).expect("a known specification");
    let mut plan = Plan::new(spec);
    plan.processes = word(1, "4").parse().expect("a number of processes");
    plan.operations = word(2, "1000000").parse().expect("a number of operations");
    plan.empties = word(3, "0.01").parse().expect("a share of empties");
    plan.add_share = word(4, "0.5").parse().expect("a share of insertions");
    let history = match word(5, "") {
        "deep" => deep(&plan),
        _ => generate::history(&plan, None).expect("a plan that can be played").0,
    };
    let mut best =
        Phases { timeline: Duration::MAX, engine: Duration::MAX, recheck: Duration::MAX, bytes: 0 };
    for _ in 0..ROUNDS {
        let phases = round(&plan, &history);
        best.timeline = best.timeline.min(phases.timeline);
        best.engine = best.engine.min(phases.engine);
        best.recheck = best.recheck.min(phases.recheck);
        best.bytes = best.bytes.max(phases.bytes);
    }
    let each = |time: Duration| time.as_nanos() as f64 / history.operations.len() as f64;
    println!(
        "{} x {}: timeline {:.1} ns, engine {:.1} ns, recheck {:.1} ns an operation; engine held {} KB",
        plan.processes,
        history.operations.len(),
        each(best.timeline),
        each(best.engine),
        each(best.recheck),
        best.bytes >> 10
    );
}

struct Phases {
    timeline: Duration,
    engine: Duration,
    recheck: Duration,
    bytes: usize,
}

fn round(plan: &Plan, history: &History) -> Phases {
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec: &plan.spec, budget: &budget };
    let mut engine: Box<dyn Engine> = match plan.spec.kind {
        Kind::Stack => Box::new(StackMonitor::new()),
        _ => (candidates(&plan.spec, Choice::Monitor).first().expect("a monitor").make)(&plan.spec),
    };
    let mut recheck = match plan.spec.kind {
        Kind::Stack => Check::Pieces(Segments::new(&plan.spec, &history.symbols)),
        _ => Check::Plain(Recheck::new(&plan.spec, &history.symbols)),
    };
    let mut timeline = Timeline::new(Ties::Strict);
    let mut witness = Witness::default();
    let mut phases =
        Phases { timeline: Duration::ZERO, engine: Duration::ZERO, recheck: Duration::ZERO, bytes: 0 };
    let completed = history.operations.partition_point(|op| !op.is_pending());
    let (rows, pending) = history.operations.split_at(completed);
    for op in pending {
        timeline.push_pending_at(*op, rows.partition_point(|row| row.ret < op.call) as u32);
    }
    let floors = floors(rows);
    for (piece, floor) in rows.chunks(PIECE).zip(floors) {
        let start = Instant::now();
        piece.iter().for_each(|op| timeline.push(*op));
        let upto = timeline.base() + timeline.rows().partition_point(|op| op.ret < floor) as u32;
        phases.timeline += start.elapsed();
        let start = Instant::now();
        engine.advance(&cx, &timeline, upto, &mut witness).unwrap_or_else(refuse);
        phases.engine += start.elapsed();
        phases.bytes = phases.bytes.max(engine.memory());
        let start = Instant::now();
        recheck.take(plan, history, completed, &mut witness);
        phases.recheck += start.elapsed();
        timeline.release(upto);
    }
    let start = Instant::now();
    engine.finish(&cx, &timeline, &mut witness).unwrap_or_else(refuse);
    phases.engine += start.elapsed();
    let start = Instant::now();
    recheck.take(plan, history, completed, &mut witness);
    match recheck {
        Check::Plain(recheck) => recheck.finish(completed as u32),
        Check::Pieces(segments) => segments.finish(completed as u32),
    }
    .expect("a whole witness");
    phases.recheck += start.elapsed();
    phases
}

enum Check {
    Plain(Recheck),
    Pieces(Segments),
}

impl Check {
    fn take(&mut self, plan: &Plan, history: &History, completed: usize, witness: &mut Witness) {
        match self {
            Check::Plain(recheck) => {
                for id in witness.order.drain(..) {
                    let row = row(history, completed, id);
                    recheck.take(&plan.spec, &history.symbols, id, row).expect("a witness");
                }
            }
            Check::Pieces(segments) => {
                let mut holes = witness.holes.iter().peekable();
                for (at, id) in witness.order.iter().enumerate() {
                    while let Some(hole) = holes.next_if(|hole| hole.at == at) {
                        segments.hole(hole.name).expect("a witness");
                    }
                    segments.push(*id, row(history, completed, *id)).expect("a witness");
                }
                holes.for_each(|hole| segments.hole(hole.name).expect("a witness"));
                for edit in &witness.edits {
                    match edit {
                        Edit::Fill { hole, op, row } => segments.fill(*hole, *op, row),
                        Edit::Close { hole } => segments.close(*hole),
                    }
                    .expect("a witness");
                }
                witness.clear();
            }
        }
    }
}

/// Pushes only, and then the same schedule backwards in time, which pops the values again.
fn deep(plan: &Plan) -> History {
    let mut half = plan.clone();
    (half.add_share, half.empties, half.operations) = (1.0, 0.0, plan.operations / 2);
    let (mut history, _) = generate::history(&half, None).expect("a plan that can be played");
    let end = history.operations.iter().map(|op| op.ret).max().unwrap_or(0) + 1;
    for at in 0..history.operations.len() {
        let push = history.operations[at];
        let mut pop = Operation::new(push.process(), POP);
        (pop.call, pop.ret, pop.result) = (2 * end - push.ret, 2 * end - push.call, push.arg);
        history.operations.push(pop);
    }
    history.operations.sort_by_key(linpoint_history::history::return_order);
    history
}

fn refuse(stop: Stop) {
    panic!("a generated history is linearizable and has distinct values, but: {stop:?}");
}

fn row(history: &History, completed: usize, id: OpId) -> &Operation {
    match id.as_pending() {
        Some(index) => &history.operations[completed + index],
        None => &history.operations[id.0 as usize],
    }
}

/// For each piece, the least call of the pieces after it.
fn floors(rows: &[Operation]) -> Vec<i64> {
    let mut floor = i64::MAX;
    let mut floors = Vec::new();
    for piece in rows.chunks(PIECE).rev() {
        floors.push(floor);
        floor = piece.iter().map(|op| op.call).fold(floor, i64::min);
    }
    floors.reverse();
    floors
}
