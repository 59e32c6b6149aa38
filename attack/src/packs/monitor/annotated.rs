//! Small runs of a map, simulated one step at a time: threads call, take effect, log writes and commits, return, or are dropped in the middle. Some commits stand at the wrong moment, some answers are
//! wrong, some writes are lost. The simulation knows what it did; every order of the operations says whether the answers can be explained.

use linpoint_history::rng::Rng;
use linpoint_history::{Call, OpCode, ProcessId, Spec as _, Value, specs};
use linpoint_monitor::shadows::Entries;
use linpoint_monitor::{
    Checker, Commits, Conclusion, End, Event, Location, ObjectId, Setup, Summary, ThreadId, What, Write,
    models,
};

use crate::pack::Round;

/// So many runs a round.
const RUNS: u64 = 50;

/// Many runs, each judged with and without views.
pub fn round(rng: &mut Rng) -> Round {
    for _ in 0..RUNS {
        let run = Run::random(rng);
        for view in [false, true] {
            let said = run.check(rng, view);
            if let Some(judge) = run.objection(said.conclusion, view) {
                let input: Vec<String> = run.events.iter().map(|event| format!("{event:?}")).collect();
                let said = format!("{:?} {:?}", said.conclusion, said.findings);
                return Round::disagreed(
                    said,
                    judge,
                    input.join("\n"),
                    format!("views: {view}, {:?}", run.style),
                );
            }
        }
    }
    Round::Agreed(2 * RUNS)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Exact,
    Windows,
    Versions,
    Intervals,
}

/// An operation, as far as the judge needs it.
#[derive(Clone, Debug)]
struct Op {
    thread: u32,
    op: u8,
    arg: Value,
    result: Option<Value>,
    look: u64,
    ret: u64,
}

struct Run {
    style: Style,
    events: Vec<Event>,
    ops: Vec<Op>,
    /// Was a wrong answer given, a write lost, a commit put at the wrong moment?
    spoiled: bool,
    lost: bool,
    misplaced: bool,
    /// Was an operation dropped after its effect and before its write was logged?
    unlogged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Called,
    Effective,
    Written,
    Committed,
}

/// A thread of the simulation.
struct Actor {
    step: Step,
    op: usize,
    before: u64,
    result: Value,
    write: Option<Write>,
    version: u64,
    reads: bool,
    early: bool,
    late: bool,
}

impl Run {
    fn random(rng: &mut Rng) -> Run {
        let style =
            *rng.pick(&[Style::Exact, Style::Exact, Style::Windows, Style::Versions, Style::Intervals]);
        let share = |rng: &mut Rng, share: f64| if rng.chance(0.4) { share } else { 0.0 };
        let (spoil, lose, misplace, drops) =
            (share(rng, 0.2), share(rng, 0.2), share(rng, 0.4), share(rng, 0.3));
        let spec = specs::parse("map").expect("it is built in");
        let signature = spec.signature();
        let code = |name: &str| signature.find(name).expect("a map has it").0;
        let codes = [code("insert"), code("get"), code("remove")];
        let mut run = Run {
            style,
            events: Vec::new(),
            ops: Vec::new(),
            spoiled: false,
            lost: false,
            misplaced: false,
            unlogged: false,
        };
        let (mut next, mut version) = (0u64, 0u64);
        let mut state = spec.initial();
        let idle = || Actor {
            step: Step::Idle,
            op: 0,
            before: 0,
            result: Value::Null,
            write: None,
            version: 0,
            reads: false,
            early: false,
            late: false,
        };
        let mut actors: Vec<Actor> = (0..2 + rng.below(2)).map(|_| idle()).collect();
        let total = 2 + rng.below(4) as usize;
        while run.ops.len() < total || actors.iter().any(|actor| actor.step != Step::Idle) {
            let id = rng.below(actors.len() as u64) as u32;
            let actor = &mut actors[id as usize];
            let events = &mut run.events;
            let mut log = |what: What| {
                let stamp = next;
                next += u64::from(what.takes_number());
                events.push(Event { thread: ThreadId(id), object: ObjectId(0), stamp, what });
                stamp
            };
            if actor.step != Step::Idle && rng.chance(drops) {
                run.unlogged |= actor.step == Step::Effective && actor.write.is_some();
                log(What::Abandon);
                *actor = idle();
                continue;
            }
            match actor.step {
                Step::Idle if run.ops.len() < total => {
                    let op = *rng.pick(&codes);
                    let (key, value) = (Value::Int(rng.below(2) as i64), Value::Int(rng.below(3) as i64));
                    let arg = if op == codes[0] { Value::list([key, value]) } else { key };
                    let look = log(What::Call { op, arg: arg.clone() });
                    actor.op = run.ops.len();
                    run.ops.push(Op { thread: id, op, arg, result: None, look, ret: u64::MAX });
                    let exact = style == Style::Exact;
                    actor.early = exact && rng.chance(misplace);
                    actor.late = exact && !actor.early && rng.chance(misplace);
                    run.misplaced |= actor.early || actor.late;
                    actor.before = look;
                    actor.step = Step::Called;
                    if actor.early {
                        log(What::Commit);
                    }
                }
                Step::Idle => {}
                Step::Called => {
                    let op = &run.ops[actor.op];
                    let call = Call { op: OpCode(op.op), process: ProcessId(id), arg: &op.arg };
                    let (answer, after) = rng.pick(&spec.outcomes(&state, call)).clone();
                    (actor.reads, state) = (after == state, after);
                    version += u64::from(!actor.reads);
                    actor.version = version;
                    let key = op.arg.as_pair().map_or(&op.arg, |(key, _)| key);
                    let location = Location(key.as_int().unwrap_or(0) as u64);
                    let value = if op.op == codes[0] { op.arg.clone() } else { Value::Null };
                    actor.write = (op.op != codes[1]).then_some(Write { location, value });
                    actor.result = answer;
                    if rng.chance(spoil) {
                        let other = Value::Int(rng.below(3) as i64);
                        run.spoiled |= other != actor.result;
                        actor.result = other;
                    }
                    if rng.chance(lose) && actor.write.is_some() {
                        run.lost = true;
                        actor.write = None;
                    }
                    // The effect and its record are one step, under a lock: except where a thread is dropped in between.
                    if rng.chance(drops) {
                        actor.step = Step::Effective;
                        run.unlogged |= actor.write.is_some();
                        log(What::Abandon);
                        *actor = idle();
                        continue;
                    }
                    let writes: Vec<Write> = actor.write.take().into_iter().collect();
                    let at_once = style == Style::Exact && !actor.early && !actor.late;
                    log(if at_once { What::CommitBlock(writes) } else { What::Block(writes) });
                    let committed = at_once || actor.early || style == Style::Intervals;
                    actor.step = if committed { Step::Committed } else { Step::Written };
                }
                Step::Effective => actor.step = Step::Written,
                Step::Written => {
                    match style {
                        Style::Windows => log(What::Window { from: actor.before }),
                        Style::Versions if actor.reads => log(What::CommitAfter { version: actor.version }),
                        Style::Versions => log(What::CommitAt { version: actor.version }),
                        Style::Exact | Style::Intervals => log(What::Commit),
                    };
                    actor.step = Step::Committed;
                }
                Step::Committed => {
                    let op = &mut run.ops[actor.op];
                    op.ret = log(What::Return(actor.result.clone()));
                    op.result = Some(actor.result.clone());
                    *actor = idle();
                }
            }
        }
        run
    }

    fn check(&self, rng: &mut Rng, view: bool) -> Summary {
        let commits = match self.style {
            Style::Exact | Style::Versions => Commits::Marked,
            Style::Windows => Commits::Windows,
            Style::Intervals => Commits::Intervals,
        };
        let model = models::by_name("map").expect("it is built in");
        let mut setup = Setup::new(ObjectId(0), model).with_commits(commits);
        if view {
            setup = setup.with_view(Box::new(Entries::map()));
        }
        let mut checker = Checker::new(setup);
        let (mut findings, mut numbers) = (Vec::new(), 0);
        for event in &self.events {
            checker.push(event.clone());
            numbers += u64::from(event.what.takes_number());
            if rng.chance(0.3) {
                checker.seal(numbers);
                findings.extend(checker.advance().findings);
            }
        }
        let mut summary = checker.finish(End::Complete);
        findings.extend(std::mem::take(&mut summary.findings));
        Summary { findings, ..summary }
    }

    /// What is wrong with this verdict, if anything is.
    fn objection(&self, said: Conclusion, view: bool) -> Option<String> {
        let explained = self.explains();
        let right_object = !self.spoiled && !self.lost;
        let doubt = view && self.unlogged;
        let text = match said {
            Conclusion::Clean if !explained => "no order explains the answers",
            Conclusion::Violated if explained && !doubt && !(view && (self.lost || self.spoiled)) => {
                "the answers have an order and the writes are true"
            }
            Conclusion::Violated if right_object => "the object did nothing wrong",
            Conclusion::Mistaken if !self.misplaced && right_object && !doubt => {
                "nothing is wrong with the annotation"
            }
            Conclusion::Unknown if !self.misplaced && right_object && !doubt && !self.has_unplaced() => {
                "there is nothing wrong, and all of it can be known"
            }
            Conclusion::Clean | Conclusion::Violated | Conclusion::Mistaken | Conclusion::Unknown => {
                return None;
            }
        };
        Some(text.to_owned())
    }

    /// Dropped operations that never said their version: what does not fit without them is open.
    fn has_unplaced(&self) -> bool {
        self.style == Style::Versions && self.ops.iter().any(|op| op.result.is_none())
    }

    /// Is there an order of the operations that answered, and of any of the others, that agrees with real time and explains all answers?
    fn explains(&self) -> bool {
        let spec = specs::parse("map").expect("it is built in");
        fn go(spec: &linpoint_history::Builtin, state: &specs::State, left: &[&Op]) -> bool {
            if left.iter().all(|op| op.result.is_none()) {
                return true;
            }
            let limit = left.iter().map(|op| op.ret).min().unwrap_or(u64::MAX);
            (0..left.len()).any(|at| {
                let op = left[at];
                if op.look > limit {
                    return false;
                }
                let rest: Vec<&Op> =
                    left.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, op)| *op).collect();
                let call = Call { op: OpCode(op.op), process: ProcessId(op.thread), arg: &op.arg };
                let outcomes = spec.outcomes(state, call);
                let fits = |(answer, _): &&(Value, specs::State)| {
                    op.result.as_ref().is_none_or(|said| said == answer)
                };
                outcomes.iter().filter(fits).any(|(_, after)| go(spec, after, &rest))
            })
        }
        let ops: Vec<&Op> = self.ops.iter().collect();
        go(&spec, &spec.initial(), &ops)
    }
}
