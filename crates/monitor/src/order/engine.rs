//! Spans of a queue, a stack or a deque: left to the engines of `linpoint_check`.
//!
//! Where elements wait inside for long, two insertions that overlapped leave two orders open until the
//! elements come out, and every such pair doubles the configurations. The engines there know these objects
//! and keep that open without listing orders.
//!
//! With windows a second engine is told of the whole intervals. If the windows have no order and the
//! intervals do, the annotation is wrong.

use std::collections::VecDeque;

use linpoint_check::engine::Budget;
use linpoint_check::online::{EventError, Online, Promise, Status};
use linpoint_history::{Builtin, Kind, Operation, Signature, Spec, Symbols, Value, Verdict};

use crate::event::ThreadId;
use crate::finding::Seen;

/// An engine beside the object.
pub(crate) struct Stream {
    online: Online,
    signature: Signature,
    /// Numbers behind the engine's own stamps, for the last few of them.
    stamps: VecDeque<u64>,
    told: u64,
}

/// What an engine came to.
#[derive(Clone, Debug)]
pub(crate) enum Verdicts {
    /// No order fits.
    Violated {
        core: Vec<Seen>,
        reason: String,
        rechecked: bool,
    },
    Unknown(String),
}

const REMEMBERED: usize = 1 << 16;

/// Is there an engine that knows objects of this kind better than a search over configurations would?
pub(crate) fn knows(spec: &Builtin) -> bool {
    matches!(spec.kind, Kind::Queue | Kind::Stack | Kind::Deque)
}

impl Stream {
    pub fn new(spec: &Builtin) -> Stream {
        Stream {
            online: Online::new(spec.clone(), Promise::None, Budget::unlimited()),
            signature: spec.signature().clone(),
            stamps: VecDeque::new(),
            told: 0,
        }
    }

    /// A span opens at `number`.
    pub fn open(&mut self, number: u64, thread: ThreadId, op: u8, arg: &Value) -> Result<(), Verdicts> {
        self.stamp(number);
        let name = self.signature.operations[usize::from(op)].name;
        let status = self.online.call(&process(thread), name, arg);
        self.judge(status)
    }

    /// The span of this thread closes at `number`.
    pub fn close(&mut self, number: u64, thread: ThreadId, result: &Value) -> Result<(), Verdicts> {
        self.stamp(number);
        let status = self.online.ret(&process(thread), result);
        self.judge(status)
    }

    /// The operation of this thread never answers.
    pub fn lose(&mut self, thread: ThreadId) -> Result<(), Verdicts> {
        let status = self.online.lost(&process(thread));
        self.judge(status)
    }

    /// No more events.
    pub fn finish(self) -> Result<(), Verdicts> {
        let Stream { online, signature, stamps, told } = self;
        // An object that nobody used is none that was found wrong; others were used.
        if !online.has_returns() {
            return Ok(());
        }
        let symbols = online.symbols().clone();
        let verdict = online.finish();
        conclude(&verdict, &symbols, &signature, |stamp| number(&stamps, told, stamp))
    }

    fn stamp(&mut self, number: u64) {
        if self.stamps.len() == REMEMBERED {
            self.stamps.pop_front();
        }
        self.stamps.push_back(number);
        self.told += 1;
    }

    fn judge(&self, status: Result<Status, EventError>) -> Result<(), Verdicts> {
        match status {
            Ok(Status::Fine { .. }) => Ok(()),
            Ok(Status::Decided(verdict)) => {
                let number = |stamp| number(&self.stamps, self.told, stamp);
                conclude(&verdict, self.online.symbols(), &self.signature, number)
            }
            Err(error) => Err(Verdicts::Unknown(error.to_string())),
        }
    }
}

fn process(thread: ThreadId) -> Value {
    Value::Int(i64::from(thread.0))
}

/// The number behind the engine's stamp, the first of which is one; zero if it was forgotten.
fn number(stamps: &VecDeque<u64>, told: u64, stamp: i64) -> u64 {
    let back = told.checked_sub(stamp as u64);
    let index = back.and_then(|back| (stamps.len() as u64).checked_sub(back + 1));
    index.and_then(|index| stamps.get(index as usize)).copied().unwrap_or(0)
}

fn conclude(
    verdict: &Verdict,
    symbols: &Symbols,
    signature: &Signature,
    number: impl Fn(i64) -> u64,
) -> Result<(), Verdicts> {
    match verdict {
        Verdict::Holds(_) => Ok(()),
        Verdict::Unknown(unknown) => Err(Verdicts::Unknown(format!("{unknown:?}"))),
        Verdict::Violated(example) => {
            let seen = |row: &Operation| {
                let pending = row.is_pending();
                Seen {
                    thread: ThreadId(symbols.process_name(row.process()).as_int().unwrap_or(0) as u32),
                    op: row.op().0,
                    name: signature.decl(row.op()).name,
                    arg: symbols.value(row.arg),
                    result: (!pending).then(|| symbols.value(row.result)),
                    call: number(row.call),
                    commit: None,
                    ret: (!pending).then(|| number(row.ret)),
                }
            };
            Err(Verdicts::Violated {
                core: example.core.iter().map(seen).collect(),
                reason: example.reason.clone(),
                rechecked: example.rechecked,
            })
        }
    }
}
