//! Records what real threads do to an object: a history that `linpoint check` reads, or a run under the monitor.
//!
//! **Stamps.** One counter for all. An operation *loads* it before it begins, and adds one after it has ended; the call's stamp is the number loaded, the
//! return's the number before the addition, so no two returns have the same. If the history says that A precedes B, A's return is below B's call: B's load saw
//! A's addition, or a later one of the same chain of additions, so all that A did happened before all that B does. Hence no order in the history is invented, and a violation found is one of
//! the object. In the other direction, where A's addition came before B's load in the order of the counter, the history says so: nothing that these threads could know is lost. (Counters of the
//! processor do not give the first: they were seen to disagree between cores.) The price: the addition orders memory, so errors that live in store buffers may hide.
//!
//! **Logs** are allocated and touched before the threads start; a thread writes its own and nothing else. The first operations and the last are not
//! those of the load: threads do not start or end together (Dragicevic 2011, section 6.4.3).
//!
//! **Clients.** With fewer cores than threads few operations are open at once, and a history says little. A thread may therefore serve several clients, as the threads of a server do: it takes the call of one, does what
//! another asked for, hands a third its answer, as chance has it. Each client is a process of the history, its operation open from the moment the thread took its call until it handed over the answer.
//!
//! **An end.** A broken object may have operations that never return. When nothing has returned for a while the run is given up: threads that come by a shim are unwound out of their operation there, and what had not returned
//! is pending in the history, which is checked like any other. A thread that is blocked in a lock comes by no shim and cannot be ended; the process then says so and ends.
//!
//! **Prefix.** The contents that the object starts with are put in before the threads start, and are operations of the history, one after the other.

use std::time::Duration;

use linpoint_history::history::return_order;
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes::{priority_queue, set};
use linpoint_history::{Builtin, History, Kind, OpCode, Operation, Spec as _, Symbols, Value, ValueId};
use linpoint_monitor::{Monitor, MonitorError};

use crate::priority::PriorityQueue;
use crate::sets::Set;
use crate::stall::{Sights, Stall};

mod run;

use run::{Online, run};

/// Something that operations are done to.
pub enum Target {
    /// A priority queue.
    Queue(Box<dyn PriorityQueue + Send>),
    /// A set.
    Set(Box<dyn Set + Send>),
}

/// What the threads do.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Threads.
    pub threads: usize,
    /// Operations in all, without the prefix.
    pub operations: usize,
    /// The share of operations that put something in.
    pub adds: f64,
    /// The share of operations that change a key, or look one up in a set; the rest take something out.
    pub others: f64,
    /// How many different priorities or keys there are; `None`: no priority twice.
    pub values: Option<u32>,
    /// What is put in before the threads start.
    pub prefix: usize,
    /// Turns of an empty loop after each operation.
    pub work: u32,
    /// The share of operations after which a thread gives way.
    pub pauses: f64,
    /// Clients of a thread; one is the thread itself.
    pub clients: usize,
    /// Where operations are held up.
    pub stall: Option<Stall>,
    /// Where threads run.
    pub pinning: Pinning,
    /// Where nothing returns for so long, the run ends, and what has not returned is pending.
    pub patience: Duration,
    /// Names the run. What the threads do follows from it, how they interleave does not.
    pub seed: u64,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            threads: 4,
            operations: 100_000,
            adds: 0.5,
            others: 0.0,
            values: Some(1000),
            prefix: 0,
            work: 0,
            pauses: 0.0,
            clients: 1,
            stall: None,
            pinning: Pinning::Free,
            patience: Duration::from_secs(10),
            seed: 1,
        }
    }
}

/// Where threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pinning {
    /// Where the system puts them.
    Free,
    /// Thread n on core n, round and round.
    Spread,
    /// All on one core.
    Together,
}

/// An operation as it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    op: OpCode,
    arg: u32,
    /// The second of two arguments.
    to: u32,
}

/// An operation as it was logged.
#[derive(Clone, Copy)]
struct Row {
    client: u32,
    call: Call,
    result: ValueId,
    called: u64,
    /// [`Operation::NEVER`] where it did not.
    returned: u64,
}

impl Target {
    /// What it should do.
    pub fn spec(&self) -> Builtin {
        Builtin::new(match self {
            Target::Queue(_) => Kind::PriorityQueue,
            Target::Set(_) => Kind::Set,
        })
    }

    /// The specification's name on the command line.
    pub fn spec_name(&self) -> &'static str {
        match self {
            Target::Queue(_) => "priority-queue",
            Target::Set(_) => "set",
        }
    }

    /// Does a call, and says what came out.
    fn perform(&self, call: Call) -> ValueId {
        match self {
            Target::Queue(queue) => match call.op {
                priority_queue::INSERT => {
                    queue.insert(call.arg);
                    ValueId::NULL
                }
                priority_queue::CHANGE_KEY => {
                    let changed = queue.change_key(call.arg, call.to);
                    ValueId::from_bool(changed.expect("only loads for queues that can change keys do so"))
                }
                _ => queue.remove_min().map_or(ValueId::NULL, ValueId),
            },
            Target::Set(keys) => ValueId::from_bool(match call.op {
                set::ADD => keys.add(call.arg),
                set::REMOVE => keys.remove(call.arg),
                _ => keys.contains(call.arg),
            }),
        }
    }

    /// What the history says a call was given.
    fn argument(&self, call: Call, symbols: &mut Symbols) -> ValueId {
        match (self, call.op) {
            (Target::Queue(_), priority_queue::CHANGE_KEY) => {
                let both = [call.arg, call.to].map(|key| Value::Int(i64::from(key)));
                symbols.intern(&Value::List(both.to_vec().into()))
            }
            (Target::Queue(_), priority_queue::REMOVE) => ValueId::NULL,
            _ => ValueId(call.arg),
        }
    }

    /// A thread's next call, where `fresh` numbers all insertions.
    fn choose(&self, load: &Load, rng: &mut Rng, fresh: u32) -> Call {
        let value = |rng: &mut Rng| match load.values {
            Some(values) => rng.below(u64::from(values.max(1))) as u32,
            None => distinct(fresh),
        };
        let share = rng.unit();
        let (add, other, remove) = match self {
            Target::Queue(_) => (priority_queue::INSERT, priority_queue::CHANGE_KEY, priority_queue::REMOVE),
            Target::Set(_) => (set::ADD, set::CONTAINS, set::REMOVE),
        };
        let mut call = Call { op: remove, arg: 0, to: 0 };
        if share < load.adds {
            call = Call { op: add, arg: value(rng), to: 0 };
        } else if share < load.adds + load.others {
            call = Call { op: other, arg: value(rng), to: value(rng) };
        } else if matches!(self, Target::Set(_)) {
            call.arg = value(rng);
        }
        call
    }
}

/// Numbers below 2³¹ in an order that looks random, none twice.
fn distinct(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b1) & 0x7fff_ffff
}

/// Lets threads use an object, and gives the history, in order of return.
pub fn record(target: &Target, load: &Load) -> History {
    record_with_sights(target, load).0
}

/// As [`record`]; and what was seen of the object's inside, where operations are held up.
pub fn record_with_sights(target: &Target, load: &Load) -> (History, Sights) {
    let (mut logs, sights) = run(target, load, None);
    let mut history = History { operations: Vec::new(), symbols: Symbols::new() };
    history.operations.reserve_exact(logs.iter().map(Vec::len).sum());
    for (thread, log) in logs.iter_mut().enumerate() {
        for row in log.drain(..) {
            // The prefix is the work of a process of its own.
            let process = if thread == 0 { 0 } else { 1 + (thread - 1) * load.clients + row.client as usize };
            let process = history.symbols.process_number(process as i64);
            let mut op = Operation::new(process, row.call.op);
            op.arg = target.argument(row.call, &mut history.symbols);
            (op.call, op.ret, op.result) = (row.called as i64, row.returned as i64, row.result);
            history.operations.push(op);
        }
    }
    // Returns are numbered without gaps, so that each knows its place; what never returned is last.
    history.operations.sort_unstable_by_key(return_order);
    (history, sights)
}

/// How many operations never returned, so that the run was given up.
pub fn stuck(history: &History) -> usize {
    // What is pending is last.
    history.operations.iter().rev().take_while(|op| op.is_pending()).count()
}

/// Lets threads use an object under the runtime monitor, which checks while they run. Stops early once something was found.
///
/// # Errors
/// Where the monitor takes no more objects.
pub fn watch(target: &Target, load: &Load, monitor: &Monitor) -> Result<(), MonitorError> {
    let spec = target.spec();
    let object = monitor.object("subject", target.spec_name())?.without_commits().watch()?;
    let names: Vec<_> = spec.signature().operations.iter().map(|decl| object.op(decl.name)).collect();
    let through = |call: Call| {
        let op = names[usize::from(call.op.0)];
        let logged = match (target, call.op) {
            (Target::Queue(_), priority_queue::CHANGE_KEY) => object.call(op, (call.arg, call.to)),
            (Target::Queue(_), priority_queue::REMOVE) => object.call(op, ()),
            _ => object.call(op, call.arg),
        };
        let result = target.perform(call);
        match result.as_bool() {
            Some(truth) => {
                logged.returns(truth);
            }
            None => {
                logged.returns(result.small());
            }
        }
        result
    };
    run(target, load, Some(Online { through: &through, monitor }));
    Ok(())
}
