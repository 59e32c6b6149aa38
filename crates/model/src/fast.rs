//! What one step of one thread leads to, by compiled steps, once for each state of the program.
//!
//! This is [`Explorer::successors`](crate::steps::Explorer::successors) once more: the same steps, fused in
//! the same way, tried in the same order, and the monitor is told the same in the same order. A step is taken
//! in a row of words that is used again and again; what it leads to is recorded and found again for other
//! sets of explanations ([`Programs`]). Whatever is not everyday is not looked into here: an error, a result
//! that nothing explains, a long way through local steps. It is [`Unusual`], and the slow way looks at that
//! state again and says what it is. So the slow way decides every violation; a search with either meets the
//! same states in the same order, which is tested.

use linpoint_lang::interp::{Choices, Compiled, CompiledEdge, Effects, Event, Taken};
use linpoint_lang::program::{ClientThread, MarkKind, OpId, Word};

use crate::client::{FRESH, Workload};
use crate::data::{Classes, Data, MOST, Naming, Nibbles};
use crate::monitor::{self, Monitor, MonitorId, Settled, who};
use crate::namer::{Form, Namer, Placed, Walk};
use crate::pack::{get_monitor, get_names};
use crate::ways::{End, Known, ProgramId, Programs, Told};

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
    /// Adds a name: the number of a set, and a state of the program.
    #[inline]
    fn push(&mut self, id: MonitorId, program: &[u8], thread: u8) {
        self.bytes.extend_from_slice(&id.to_le_bytes());
        self.bytes.extend_from_slice(program);
        self.ends.push(self.bytes.len());
        self.threads.push(thread);
    }

    /// Adds a name where the names of values come before the state: they were `called` so far, and what the
    /// monitor says of these is in the classes.
    #[inline]
    fn push_named(
        &mut self,
        id: MonitorId,
        (called, classes): (Nibbles, Classes),
        end: &End,
        program: &[u8],
    ) {
        // The number of the set, how many values are in use, how many have names, and these.
        let mut head = [0; 24];
        head[..4].copy_from_slice(&id.to_le_bytes());
        let mut naming = Naming::new(classes);
        for number in 1..=end.count & 15 {
            head[usize::from(5 + number)] = naming.give(called.get(end.met.get(number)));
        }
        (head[4], head[5]) = (naming.count(), end.count);
        self.bytes.extend_from_slice(&head[..usize::from(6 + (end.count & 15))]);
        self.bytes.extend_from_slice(program);
        self.ends.push(self.bytes.len());
        self.threads.push(end.thread);
    }

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
    pub programs: Programs,
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
    /// Whose step led to each end.
    threads: Vec<u8>,
    /// What the monitor is told.
    told: Vec<Told>,
    ends: Vec<End>,
    bytes: Vec<u8>,
    /// Sets on the way.
    slots: Vec<MonitorId>,
    /// How many values there are on some way at most.
    most: u8,
    /// Are values numbers, and have other names elsewhere?
    numbers: bool,
}

impl Scratch {
    /// Notes that the monitor is told something; the slot of what comes of it.
    fn tell(&mut self, slot: u32, event: monitor::Event, op: OpId, monitor: &Monitor<'_>) -> u32 {
        // To tell it twice makes no difference; there may be many, so only the last are looked at.
        let same = |other: &Told| (other.slot, other.event, other.op) == (slot, event, op);
        let known = self.told.iter().rev().take(4).position(same).map(|back| self.told.len() - 1 - back);
        let at = known.unwrap_or_else(|| {
            let values = if self.numbers { monitor.values_in(event, op) } else { Nibbles::default() };
            self.told.push(Told { slot, event, op, values });
            self.told.len() - 1
        });
        at as u32 + 1
    }
}

/// Where a walk goes that goes on while nobody notices.
#[derive(Clone, Copy)]
enum Goal {
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
        mut packed: &[u8],
        names: &mut Names,
    ) -> Result<(), Unusual> {
        self.programs.stay_small();
        let first = get_monitor(&mut packed);
        let mut rest = packed.get(1..).unwrap_or_default();
        let values = if self.namer.is_new() { get_names(&mut rest) } else { None };
        let (fresh, form) = match values {
            Some(values) => (packed[0], Form::Numbers(values.len() as u8)),
            None => (0, Form::Names),
        };
        let packed = if form == Form::Names { packed } else { rest };
        let program = self.programs.number(packed);
        if matches!(self.programs.known(program), Known::Nothing) {
            self.work_out(monitor.as_ref(), packed, form, program);
        }
        let Known::Steps { told, ends, new } = self.programs.known(program) else { return Err(Unusual) };
        let mut called = Nibbles::default();
        if let Some(values) = values {
            if fresh + new > MOST {
                return Err(Unusual);
            }
            values.iter().zip(1..).for_each(|(name, number)| called.add(number, *name));
            (1..=new).for_each(|more| called.add(values.len() as u8 + more, fresh + more));
        }
        self.memory.slots.clear();
        self.memory.slots.push(first);
        if let Some(monitor) = monitor {
            self.tell(monitor, told, called)?;
        }
        for at in ends.0..ends.1 {
            let end = self.programs.end(at);
            let mut id = self.memory.slots[end.slot as usize];
            let mut classes = Classes::default();
            if let Some(monitor) = monitor {
                if end.renames {
                    Settled { id, classes } = monitor.settle(id, end.places);
                } else if end.moved {
                    id = monitor.permute(id, end.places);
                }
            }
            if form == Form::Names {
                let program = match end.renames && !end.is_named(classes) {
                    true => self.renamed(end.program, classes),
                    false => end.program,
                };
                names.push(id, self.programs.get(program), end.thread);
            } else {
                names.push_named(id, (called, classes), &end, self.programs.get(end.program));
            }
        }
        Ok(())
    }

    /// Tells the monitor what was recorded; what comes of it is in the slots.
    #[inline]
    fn tell(&mut self, monitor: &mut Monitor<'_>, told: (u32, u32), called: Nibbles) -> Result<(), Unusual> {
        for at in told.0..told.1 {
            let told = self.programs.told(at);
            let event = self.programs.event(told, called, monitor);
            let slots = &mut self.memory.slots;
            let after = monitor.event(slots[told.slot as usize], event).map_err(|_| Unusual)?;
            slots.push(after);
        }
        Ok(())
    }

    /// The state with data under the names that depend on what the monitor says.
    fn renamed(&mut self, program: ProgramId, classes: Classes) -> ProgramId {
        if let Some(named) = self.programs.named(program, classes) {
            return named;
        }
        let Fast { namer, programs, memory, .. } = self;
        namer.rename(programs.get(program), classes, &mut memory.parent, &mut memory.bytes);
        let named = programs.number(&memory.bytes);
        programs.remember_named(program, classes, named);
        named
    }

    /// Takes every step from a state of the program, and records where they lead.
    #[cold]
    #[inline(never)]
    fn work_out(&mut self, monitor: Option<&Monitor<'_>>, packed: &[u8], form: Form, program: ProgramId) {
        let memory = &mut self.memory;
        memory.effects.wanted = monitor.is_some_and(|monitor| monitor.with_points);
        let mut parent = std::mem::take(&mut memory.parent);
        self.namer.read(packed, form, &mut parent);
        let before = parent.fresh;
        memory.most = before;
        memory.numbers = form != Form::Names;
        // What an unusual state left behind.
        memory.open.clear();
        memory.ready.clear();
        memory.done.clear();
        memory.told.clear();
        memory.threads.clear();
        let mut found = Ok(());
        for inside in [true, false] {
            // Nobody inside an operation can go on: what waits where it is called may be a deadlock.
            self.memory.waiting = !inside && self.memory.done.is_empty();
            for thread in 0..self.workload.threads.len() {
                if found.is_err() || self.code.pc(&parent.words, thread).is_some() != inside {
                    continue;
                }
                found = match inside {
                    true => self.visible_step(monitor, &mut parent, thread),
                    false => self.call(monitor, &parent, thread),
                };
                self.memory.threads.resize(self.memory.done.len(), thread as u8);
            }
        }
        self.memory.parent = parent;
        let Fast { namer, programs, memory, .. } = self;
        let Scratch { done, spare, threads, told, ends, bytes, most, .. } = memory;
        ends.clear();
        // Numbers of values have to be few.
        let few = form == Form::Names || *most <= MOST;
        let usual = found.is_ok() && few;
        if usual {
            for (walk, thread) in done.iter().zip(threads) {
                let Placed { places, moved, met, count } = namer.name(walk, form, bytes);
                let program = programs.number(bytes);
                let renames = form != Form::Names || namer.renames(walk.fresh);
                let (slot, fresh, thread) = (walk.slot, walk.fresh, *thread);
                ends.push(End { slot, program, places, moved, renames, thread, met, count, fresh });
            }
        }
        let ways = (told.as_slice(), ends.as_slice(), *most - before);
        programs.remember(program, usual.then_some(ways));
        spare.append(done);
    }

    fn call(&mut self, monitor: Option<&Monitor<'_>>, parent: &Walk, thread: usize) -> Result<(), Unusual> {
        let made = usize::from(parent.made[thread]);
        if !self.workload.has_calls_left(thread, made) {
            return Ok(());
        }
        let (workload, arguments) = (self.workload, self.arguments);
        match &workload.threads[thread] {
            ClientThread::Calls(calls) => {
                let (op, args) = &calls[made];
                self.make_call(monitor, parent, thread, (*op, args))
            }
            ClientThread::Any(ops, _) => {
                for op in ops.iter().filter(|op| workload.allows(made, **op)) {
                    for args in &arguments[op.index()] {
                        self.make_call(monitor, parent, thread, (*op, args))?;
                    }
                }
                Ok(())
            }
        }
    }

    fn make_call(
        &mut self,
        monitor: Option<&Monitor<'_>>,
        parent: &Walk,
        thread: usize,
        (op, args): (OpId, &[Word]),
    ) -> Result<(), Unusual> {
        let in_use = match self.data {
            Some(data) => data.admits(op.index(), args, parent.fresh),
            None => Some(parent.fresh),
        };
        let Some(in_use) = in_use else { return Ok(()) };
        let mut walk = self.copy(parent);
        walk.fresh = in_use;
        let given = &mut self.memory.given;
        given.clear();
        given.extend_from_slice(args);
        for word in given.iter_mut().filter(|word| **word == FRESH) {
            walk.fresh += 1;
            *word = Word::from(walk.fresh);
        }
        self.memory.most = self.memory.most.max(walk.fresh);
        walk.made[thread] = self.workload.called(usize::from(walk.made[thread]), op) as u8;
        self.code.call(&mut walk.words, thread, op, given);
        if let Some(monitor) = monitor {
            let call = monitor.call_id(thread, op, given);
            walk.slot = self.memory.tell(walk.slot, monitor::Event::Call(who(thread), call), op, monitor);
        }
        self.run_locally(monitor, walk, thread, Goal::Ready)?;
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
        monitor: Option<&Monitor<'_>>,
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
                    self.run_locally(monitor, walk, thread, Goal::Done)?;
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
        monitor: Option<&Monitor<'_>>,
        walk: Walk,
        thread: usize,
        end: Goal,
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
        monitor: Option<&Monitor<'_>>,
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
        monitor: Option<&Monitor<'_>>,
        walk: &mut Walk,
        (thread, pc): (usize, usize),
        edge: &CompiledEdge,
        choices: &mut Choices,
    ) -> Result<bool, Unusual> {
        let mut effects = std::mem::take(&mut self.memory.effects);
        effects.events.clear();
        let taken = self.code.take(&mut walk.words, thread, edge, choices, &mut effects);
        let op = self.ops[pc];
        if let (Some(monitor), Taken::Moved | Taken::Returned) = (monitor, taken) {
            for event in effects.events.drain(..) {
                let Event::Point(point) = event else { continue };
                let event = match point.kind {
                    MarkKind::Lin => {
                        let result = point.result.map(|words| monitor.result_id(op, &words));
                        monitor::Event::Point(who(point.thread), result)
                    }
                    MarkKind::Query => monitor::Event::Query(who(point.thread)),
                };
                walk.slot = self.memory.tell(walk.slot, event, op, monitor);
            }
            if taken == Taken::Returned {
                let result = monitor.result_id(op, &effects.result);
                let event = monitor::Event::Return(who(thread), result);
                walk.slot = self.memory.tell(walk.slot, event, op, monitor);
            }
        }
        if taken == Taken::Returned {
            let made = usize::from(walk.made[thread]);
            walk.made[thread] = self.workload.answered(made, op, &effects.result) as u8;
        }
        self.memory.effects = effects;
        match taken {
            Taken::Wrong => Err(Unusual),
            Taken::Disabled => Ok(false),
            Taken::Moved | Taken::Returned => Ok(true),
        }
    }

    fn finish(&mut self, walk: Walk, end: Goal) {
        match end {
            Goal::Ready => self.memory.ready.push(walk),
            Goal::Done => self.memory.done.push(walk),
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
