//! What one step of one thread leads to, by compiled steps, with nothing made anew but names.
//!
//! This is [`Explorer::successors`](crate::steps::Explorer::successors) once more: the same steps, fused in the same way, tried in the same order. A step is taken in
//! a row of words that is used again and again, and its end is written down as a name at once. Whatever is not everyday is not looked into here: an error, a result that
//! nothing explains, a long way through local steps. It is [`Unusual`], and the slow way looks at that state again and says what it is. So the slow way decides every
//! violation; a search with either meets the same states in the same order, which is tested.

use linpoint_lang::interp::{Choices, Compiled, CompiledEdge, Effects, Event, Taken};
use linpoint_lang::program::{ClientThread, MarkKind, OpId, Word};
use rustc_hash::FxHashMap;

use crate::client::{FRESH, Workload};
use crate::data::Data;
use crate::monitor::Monitor;
use crate::namer::{Namer, Walk};
use crate::reference::{CallId, ResultId};

/// More local steps than this are left to the slow way.
const MAX_LOCAL: usize = 256;

/// The slow way must look at this state.
#[derive(Debug)]
pub(crate) struct Unusual;

/// The names of the states that steps lead to, one behind the other.
#[derive(Default)]
pub(crate) struct Names {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
    /// Whose step led there.
    pub threads: Vec<u8>,
}

/// One name after another.
pub(crate) struct Each<'n> {
    bytes: &'n [u8],
    ends: std::slice::Iter<'n, usize>,
    start: usize,
}

impl<'n> Iterator for Each<'n> {
    type Item = &'n [u8];

    #[inline]
    fn next(&mut self) -> Option<&'n [u8]> {
        let end = *self.ends.next()?;
        let name = &self.bytes[self.start..end];
        self.start = end;
        Some(name)
    }
}

impl Names {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.threads.clear();
    }

    /// The name with this number.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// Adds names behind these.
    pub fn append(&mut self, other: &Names) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        self.threads.extend_from_slice(&other.threads);
    }

    /// Each name.
    pub fn iter(&self) -> Each<'_> {
        Each { bytes: &self.bytes, ends: self.ends.iter(), start: 0 }
    }
}

pub(crate) struct Fast<'e> {
    pub code: &'e Compiled,
    pub workload: &'e Workload,
    pub arguments: &'e [Vec<Vec<Word>>],
    /// Nodes whose steps nobody notices.
    pub local: &'e [bool],
    /// The operation of each node.
    pub ops: Vec<OpId>,
    /// Where data is, if it is renamed.
    pub data: Option<&'e Data>,
    pub namer: Namer,
    pub memory: Scratch,
}

/// What is used again and again.
#[derive(Default)]
pub(crate) struct Scratch {
    parent: Walk,
    spare: Vec<Walk>,
    open: Vec<Walk>,
    ready: Vec<Walk>,
    /// Where steps ended.
    done: Vec<Walk>,
    /// Are calls kept that wait at their first step?
    waiting: bool,
    effects: Effects,
    given: Vec<Word>,
    calls: FxHashMap<(u64, u8), CallId>,
    results: FxHashMap<(OpId, usize, [Word; 2]), ResultId>,
}

/// Where a walk goes that goes on while nobody notices.
#[derive(Clone, Copy)]
enum End {
    /// It is one of the states that steps lead to.
    Done,
    /// It is a call that has come to its first step that others notice.
    Ready,
}

impl Fast<'_> {
    /// The names of all states that one step of one thread leads to.
    pub fn successors(
        &mut self,
        monitor: &mut Option<Monitor<'_>>,
        packed: &[u8],
        names: &mut Names,
    ) -> Result<(), Unusual> {
        self.memory.effects.wanted = monitor.as_ref().is_some_and(|monitor| monitor.with_points);
        let mut parent = std::mem::take(&mut self.memory.parent);
        self.namer.read(packed, &mut parent);
        // What an unusual state left behind.
        self.memory.open.clear();
        self.memory.ready.clear();
        let mut done = Ok(());
        for inside in [true, false] {
            // Nobody inside an operation can go on: what waits where it is called may be a deadlock.
            self.memory.waiting = !inside && self.memory.done.is_empty();
            for thread in 0..self.workload.threads.len() {
                if done.is_err() || self.code.pc(&parent.words, thread).is_some() != inside {
                    continue;
                }
                done = match inside {
                    true => self.visible_step(monitor, &mut parent, thread),
                    false => self.call(monitor, &parent, thread),
                };
                names.threads.resize(self.memory.done.len(), thread as u8);
            }
        }
        self.memory.parent = parent;
        let mut ends = std::mem::take(&mut self.memory.done);
        if done.is_ok() {
            for walk in &ends {
                self.namer.name(walk, monitor.as_mut(), &mut names.bytes);
                names.ends.push(names.bytes.len());
            }
        }
        self.memory.spare.append(&mut ends);
        self.memory.done = ends;
        done
    }

    fn call(
        &mut self,
        monitor: &mut Option<Monitor<'_>>,
        parent: &Walk,
        thread: usize,
    ) -> Result<(), Unusual> {
        let made = usize::from(parent.made[thread]);
        if made >= self.workload.calls(thread) {
            return Ok(());
        }
        let (workload, arguments) = (self.workload, self.arguments);
        match &workload.threads[thread] {
            ClientThread::Calls(calls) => {
                let (op, args) = &calls[made];
                let key = 1 << 63 | (thread as u64) << 32 | made as u64;
                self.make_call(monitor, parent, thread, (*op, args, key))
            }
            ClientThread::Any(ops, _) => {
                let who = match monitor {
                    Some(monitor) if monitor.by_thread => thread as u64,
                    _ => 0,
                };
                for op in ops {
                    for (index, args) in arguments[op.index()].iter().enumerate() {
                        let key = who << 56 | u64::from(op.0) << 32 | index as u64;
                        self.make_call(monitor, parent, thread, (*op, args, key))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// `key` is the same only for the same call, but for fresh values.
    fn make_call(
        &mut self,
        monitor: &mut Option<Monitor<'_>>,
        parent: &Walk,
        thread: usize,
        (op, args, key): (OpId, &[Word], u64),
    ) -> Result<(), Unusual> {
        let in_use = match self.data {
            Some(data) => data.admits(op.index(), args, parent.fresh),
            None => Some(parent.fresh),
        };
        let Some(in_use) = in_use else { return Ok(()) };
        let mut walk = self.copy(parent);
        walk.fresh = in_use;
        let Scratch { given, calls, .. } = &mut self.memory;
        given.clear();
        given.extend_from_slice(args);
        for word in given.iter_mut().filter(|word| **word == FRESH) {
            walk.fresh += 1;
            *word = Word::from(walk.fresh);
        }
        walk.made[thread] += 1;
        self.code.call(&mut walk.words, thread, op, given);
        if let Some(monitor) = monitor {
            let call =
                *calls.entry((key, parent.fresh)).or_insert_with(|| monitor.call_id(thread, op, given));
            walk.monitor = monitor.call(walk.monitor, thread, call);
        }
        self.run_locally(monitor, walk, thread, End::Ready)?;
        let mut ready = std::mem::take(&mut self.memory.ready);
        for mut walk in ready.drain(..) {
            match self.code.pc(&walk.words, thread) {
                None => self.memory.done.push(walk),
                Some(_) => {
                    let before = self.memory.done.len();
                    self.visible_step(monitor, &mut walk, thread)?;
                    let waits = self.memory.done.len() == before;
                    if waits && self.memory.waiting { &mut self.memory.done } else { &mut self.memory.spare }
                        .push(walk);
                }
            }
        }
        self.memory.ready = ready;
        Ok(())
    }

    /// A step that others can notice, and what follows it unnoticed.
    fn visible_step(
        &mut self,
        monitor: &mut Option<Monitor<'_>>,
        from: &mut Walk,
        thread: usize,
    ) -> Result<(), Unusual> {
        let code = self.code;
        let Some(pc) = code.pc(&from.words, thread) else { return Ok(()) };
        for edge in code.edges(pc) {
            if !code.is_open(&mut from.words, thread, edge).ok_or(Unusual)? {
                continue;
            }
            let mut choices = Choices::default();
            loop {
                let mut walk = self.copy(from);
                if self.take(monitor, &mut walk, (thread, pc), edge, &mut choices)? {
                    self.run_locally(monitor, walk, thread, End::Done)?;
                } else {
                    self.memory.spare.push(walk);
                }
                if edge.is_certain() || !choices.next() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Goes on while nobody can notice. Where there is one way only, the row itself moves on.
    fn run_locally(
        &mut self,
        monitor: &mut Option<Monitor<'_>>,
        walk: Walk,
        thread: usize,
        end: End,
    ) -> Result<(), Unusual> {
        let code = self.code;
        let others = self.memory.open.len();
        let (mut current, mut steps) = (Some(walk), 0);
        while let Some(mut walk) = current {
            steps += 1;
            if steps > MAX_LOCAL {
                return Err(Unusual);
            }
            current = match code.pc(&walk.words, thread).filter(|pc| self.local[*pc]) {
                None => {
                    self.finish(walk, end);
                    None
                }
                Some(pc) => match self.only_edge(&mut walk, thread, pc)? {
                    Ways::None => {
                        self.finish(walk, end);
                        None
                    }
                    Ways::One(edge) => {
                        let edge = &code.edges(pc)[edge];
                        self.take(monitor, &mut walk, (thread, pc), edge, &mut Choices::default())?;
                        Some(walk)
                    }
                    Ways::Several => {
                        let before = self.memory.open.len();
                        self.spread(monitor, &mut walk, (thread, pc))?;
                        if self.memory.open.len() == before {
                            self.finish(walk, end);
                        } else {
                            self.memory.spare.push(walk);
                        }
                        None
                    }
                },
            };
            if current.is_none() && self.memory.open.len() > others {
                current = self.memory.open.pop();
            }
        }
        Ok(())
    }

    /// Which steps can be taken here?
    fn only_edge(&self, walk: &mut Walk, thread: usize, pc: usize) -> Result<Ways, Unusual> {
        let mut ways = Ways::None;
        for (index, edge) in self.code.edges(pc).iter().enumerate() {
            if self.code.is_open(&mut walk.words, thread, edge).ok_or(Unusual)? {
                ways = match ways {
                    Ways::None if edge.is_certain() => Ways::One(index),
                    _ => Ways::Several,
                };
            }
        }
        Ok(ways)
    }

    /// Every way on goes to the open walks.
    fn spread(
        &mut self,
        monitor: &mut Option<Monitor<'_>>,
        from: &mut Walk,
        (thread, pc): (usize, usize),
    ) -> Result<(), Unusual> {
        let code = self.code;
        for edge in code.edges(pc) {
            if !code.is_open(&mut from.words, thread, edge).ok_or(Unusual)? {
                continue;
            }
            let mut choices = Choices::default();
            loop {
                let mut walk = self.copy(from);
                if self.take(monitor, &mut walk, (thread, pc), edge, &mut choices)? {
                    self.memory.open.push(walk);
                } else {
                    self.memory.spare.push(walk);
                }
                if !choices.next() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes a step, and tells the monitor; false if it cannot be taken.
    fn take(
        &mut self,
        monitor: &mut Option<Monitor<'_>>,
        walk: &mut Walk,
        (thread, pc): (usize, usize),
        edge: &CompiledEdge,
        choices: &mut Choices,
    ) -> Result<bool, Unusual> {
        let Scratch { effects, results, .. } = &mut self.memory;
        effects.events.clear();
        let taken = self.code.take(&mut walk.words, thread, edge, choices, effects);
        let op = self.ops[pc];
        if taken == Taken::Wrong {
            return Err(Unusual);
        }
        if taken == Taken::Disabled {
            return Ok(false);
        }
        let Some(monitor) = monitor else { return Ok(true) };
        for event in effects.events.drain(..) {
            let Event::Point(point) = event else { continue };
            let found = match point.kind {
                MarkKind::Lin => {
                    let result = point.result.map(|words| monitor.result_id(op, &words));
                    monitor.point(walk.monitor, point.thread, result)
                }
                MarkKind::Query => monitor.query(walk.monitor, point.thread),
            };
            walk.monitor = found.map_err(|_| Unusual)?;
        }
        if taken == Taken::Returned {
            let words = effects.result.as_slice();
            let key = match *words {
                [] => Some([0, 0]),
                [a] => Some([a, 0]),
                [a, b] => Some([a, b]),
                _ => None,
            };
            let result = match key {
                Some(key) => {
                    *results.entry((op, words.len(), key)).or_insert_with(|| monitor.result_id(op, words))
                }
                None => monitor.result_id(op, words),
            };
            walk.monitor = monitor.returns(walk.monitor, thread, result).map_err(|_| Unusual)?;
        }
        Ok(true)
    }

    fn finish(&mut self, walk: Walk, end: End) {
        match end {
            End::Ready => self.memory.ready.push(walk),
            End::Done => self.memory.done.push(walk),
        }
    }

    fn copy(&mut self, from: &Walk) -> Walk {
        let mut walk = self.memory.spare.pop().unwrap_or_default();
        walk.copy_from(from);
        walk
    }
}

/// How many steps can be taken.
enum Ways {
    None,
    One(usize),
    Several,
}
