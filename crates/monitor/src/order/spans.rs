//! Operations that take effect somewhere in a stretch of numbers: which stretches open and close at which
//! number, and who decides.
//!
//! A number n may be judged once every operation that was called before it (its look is n or less) is
//! settled: only then is every stretch known that begins by n, and what each answered. Stretches that begin
//! by n open, then the one that ends at n closes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use linpoint_history::Value;
use rustc_hash::FxHashMap;

use crate::event::ThreadId;
use crate::merge::{Answer, OpIndex, Open};
use crate::model::Model;
use crate::order::engine::{self, Stream, Verdicts};
use crate::order::frontier::{Frontier, Stuck};
use crate::order::search::Task;

/// Stretches by where they begin.
type Opening = BinaryHeap<Reverse<(u64, OpIndex)>>;

/// The stretches that are known and not closed, and what decides about them.
pub(crate) struct Spans {
    /// Are they whole intervals?
    pub whole: bool,
    opening: Opening,
    judge: Judge,
    suspicion: Option<Suspicion>,
}

enum Judge {
    /// Configurations, and where in them the open operations are.
    Own(Frontier, FxHashMap<OpIndex, u32>),
    /// An engine; with windows a second one for whole intervals.
    Engines { spans: Box<Stream>, whole: Option<Box<(Stream, Opening)>> },
}

/// The windows have no order, and the engine for whole intervals is waited for.
pub(crate) struct Suspicion {
    pub number: u64,
    pub operation: Box<Task>,
    /// What returned by then must have a place in real time; then, what overlaps that.
    pub end: u64,
    pub widened: bool,
}

/// Why judging stops.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The specification allows none of the orders.
    Refused {
        expected: String,
        state: String,
    },
    /// An engine says so about whole intervals.
    Violated(Verdicts),
    /// An engine says so about windows; whole intervals are looked at next.
    Suspected,
    Many {
        open: usize,
        configurations: usize,
    },
}

impl From<Stuck> for Halt {
    fn from(stuck: Stuck) -> Halt {
        match stuck {
            Stuck::Refused { expected, state } => Halt::Refused { expected, state },
            Stuck::Many { open, configurations } => Halt::Many { open, configurations },
        }
    }
}

impl Spans {
    /// With configurations of `worlds`, or with an engine that knows the object better.
    pub fn new(worlds: Vec<Box<dyn Model>>, whole: bool, own: bool, most: usize) -> Spans {
        let known =
            worlds[0].builtin().map(|(spec, _)| spec.clone()).filter(|spec| !own && engine::knows(spec));
        let judge = match known {
            Some(spec) => {
                let intervals = (!whole).then(|| Box::new((Stream::new(&spec), Opening::new())));
                Judge::Engines { spans: Box::new(Stream::new(&spec)), whole: intervals }
            }
            None => Judge::Own(Frontier::new(worlds, most), FxHashMap::default()),
        };
        Spans { whole, opening: Opening::new(), judge, suspicion: None }
    }

    /// The configurations, if they are kept here.
    pub fn frontier(&mut self) -> Option<&mut Frontier> {
        match &mut self.judge {
            Judge::Own(frontier, _) => Some(frontier),
            Judge::Engines { .. } => None,
        }
    }

    /// Is a second opinion awaited?
    pub fn suspicion(&mut self) -> Option<&mut Suspicion> {
        self.suspicion.as_mut()
    }

    /// An operation is settled.
    pub fn settled(&mut self, index: OpIndex, open: &Open) {
        self.opening.push(Reverse((open.from, index)));
        if let Judge::Engines { whole: Some(whole), .. } = &mut self.judge {
            whole.1.push(Reverse((open.look, index)));
        }
    }

    /// Opens what begins by `number`.
    #[inline]
    pub fn open(&mut self, number: u64, ops: &[Open]) -> Result<(), Halt> {
        while let Some(Reverse((from, index))) = self.opening.peek().copied()
            && from <= number
        {
            self.opening.pop();
            self.open_one(from, index, &ops[index as usize])?;
        }
        if let Judge::Engines { whole: Some(whole), .. } = &mut self.judge {
            let (stream, opening) = &mut **whole;
            while let Some(Reverse((look, index))) = opening.peek().copied()
                && look <= number
            {
                opening.pop();
                tell_open(stream, look, &ops[index as usize]).map_err(Halt::Violated)?;
            }
        }
        Ok(())
    }

    fn open_one(&mut self, from: u64, index: OpIndex, open: &Open) -> Result<(), Halt> {
        // Without a commit nobody knows whether an operation that never answered took effect.
        let optional = open.state == Answer::Never && open.commits == 0;
        match &mut self.judge {
            Judge::Own(frontier, places) => {
                let place = frontier.open(open.task(u64::MAX), optional)?;
                if !optional {
                    places.insert(index, place);
                }
                Ok(())
            }
            Judge::Engines { .. } if self.suspicion.is_some() => Ok(()),
            Judge::Engines { spans, whole } => {
                let told = tell_open(spans, from, open);
                told.map_err(|verdict| halt(verdict, whole.is_some()))
            }
        }
    }

    /// Closes the stretch of an operation.
    #[inline]
    pub fn close(
        &mut self,
        number: u64,
        index: OpIndex,
        open: &Open,
        touched: &mut Vec<Value>,
    ) -> Result<(), Halt> {
        match &mut self.judge {
            Judge::Own(frontier, places) => match places.remove(&index) {
                Some(place) => Ok(frontier.close(place, touched)?),
                None => Ok(()),
            },
            Judge::Engines { .. } if self.suspicion.is_some() => Ok(()),
            Judge::Engines { spans, whole } => {
                let told = tell_close(spans, number, open);
                told.map_err(|verdict| halt(verdict, whole.is_some()))
            }
        }
    }

    /// An operation returns: tells the engine for whole intervals.
    pub fn returned(&mut self, number: u64, open: &Open) -> Result<(), Halt> {
        match &mut self.judge {
            Judge::Engines { whole: Some(whole), .. } => {
                tell_close(&mut whole.0, number, open).map_err(Halt::Violated)
            }
            _ => Ok(()),
        }
    }

    /// The windows have no order: waits for the whole intervals.
    pub fn suspect(&mut self, number: u64, operation: Task, end: u64) {
        self.suspicion = Some(Suspicion { number, operation: Box::new(operation), end, widened: false });
    }

    /// No more events.
    pub fn finish(self) -> Result<(), Halt> {
        match self.judge {
            Judge::Own(..) => Ok(()),
            Judge::Engines { spans, whole: None } => spans.finish().map_err(Halt::Violated),
            Judge::Engines { spans, whole: Some(whole) } => {
                whole.0.finish().map_err(Halt::Violated)?;
                if self.suspicion.is_some() {
                    Ok(())
                } else {
                    spans.finish().map_err(|verdict| halt(verdict, true))
                }
            }
        }
    }
}

fn halt(verdict: Verdicts, second: bool) -> Halt {
    match verdict {
        Verdicts::Violated { .. } if second => Halt::Suspected,
        verdict => Halt::Violated(verdict),
    }
}

fn tell_open(stream: &mut Stream, number: u64, open: &Open) -> Result<(), Verdicts> {
    let Open { thread, op, arg, .. } = open;
    let thread: ThreadId = *thread;
    stream.open(number, thread, *op, arg)?;
    if open.state == Answer::Never { stream.lose(thread) } else { Ok(()) }
}

fn tell_close(stream: &mut Stream, number: u64, open: &Open) -> Result<(), Verdicts> {
    if open.state == Answer::Never { Ok(()) } else { stream.close(number, open.thread, &open.result) }
}
