//! Registers whose values repeat: a handful of configurations, each a value and three sets of open
//! operations.
//!
//! A configuration is one way to explain all returns so far: the value the register holds, and for each open
//! operation what became of it. An open write is
//!
//! - *due*: it has not taken effect;
//! - *used*: it took effect, and its value was the register's for a while;
//! - *optional*: another write took effect while it was open, so it may have taken effect just before that
//!   one, unseen; or it is still to come. This one bit stands for all the subsets of writes that nobody saw.
//!
//! A pending write is optional from its call. An open read is *served* or not; it is served the moment the
//! value is right.
//!
//! Nothing happens at a call. At a return only what must happen happens: a write that is used goes; one that
//! is optional goes unseen, or takes effect now; one that is due takes effect now (that another open write
//! hides it is the same thing continued: it takes effect, and the other one after it, later). A read that is
//! not served needs a write of its value now. Before the write that takes effect now, others may have, in any
//! order: those that serve open reads. Of several writes of one value the one that returns first is taken,
//! since it leaves the one with more time.
//!
//! `optional` leaves all that `due` and `used` leave. So a configuration is *dominated* by another with the
//! same value, if the other has no more used writes, no more due ones and no more unserved reads; only
//! undominated ones are kept. There are seldom more than ten.

mod path;

use linpoint_history::specs::codes::{kv, register};
use linpoint_history::{Kind, OpCode, ValueId};

use self::path::{Path, What};
use super::meter::Meter;
use crate::engine::{Context, Engine, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};

/// A set of open operations, by slot.
type Mask = u128;

/// Decides registers and single keys of a key–value store that are only written and read; values may repeat.
#[derive(Debug, Default)]
pub struct RegisterMetastates {
    next: u32,
    started: bool,
    slots: Slots,
    configurations: Vec<Configuration>,
    /// The configurations after the return at hand.
    after: Vec<Configuration>,
    path: Path,
    /// Pending writes that are not called yet, the latest first.
    pending: Vec<(u32, OpId)>,
    pending_known: usize,
    meter: Meter,
}

#[derive(Clone, Copy, Debug)]
struct Configuration {
    value: ValueId,
    used: Mask,
    due: Mask,
    unserved: Mask,
    /// The end of its order in [`Path`].
    path: u32,
}

impl Configuration {
    /// Can it do all that `other` can?
    #[inline]
    fn dominates(&self, other: &Configuration) -> bool {
        self.value == other.value
            && (self.used & !other.used) | (self.due & !other.due) | (self.unserved & !other.unserved) == 0
    }
}

/// The open operations that configurations disagree about, or might.
#[derive(Debug)]
struct Slots {
    operations: Vec<(OpId, ValueId)>,
    free: Mask,
    writes: Mask,
    pending: Mask,
}

impl Default for Slots {
    fn default() -> Slots {
        Slots { operations: vec![(OpId(0), ValueId::NULL); 128], free: Mask::MAX, writes: 0, pending: 0 }
    }
}

impl Slots {
    fn take(&mut self, id: OpId, value: ValueId) -> Result<Mask, Stop> {
        if self.free == 0 {
            return Err(Stop::Unsupported("more than 128 operations are open at once".into()));
        }
        let slot = self.free.trailing_zeros();
        self.operations[slot as usize] = (id, value);
        self.free &= !(1 << slot);
        Ok(1 << slot)
    }

    fn give_back(&mut self, slots: Mask) {
        self.free |= slots;
        self.writes &= !slots;
        self.pending &= !slots;
    }

    fn find(&self, id: OpId) -> Option<Mask> {
        slots_of(!self.free & !self.pending).find(|&slot| self.operations[slot].0 == id).map(|slot| 1 << slot)
    }

    fn value(&self, bit: Mask) -> ValueId {
        self.operations[bit.trailing_zeros() as usize].1
    }

    fn id(&self, bit: Mask) -> OpId {
        self.operations[bit.trailing_zeros() as usize].0
    }

    /// Those of `among` that write or read `value`.
    fn of_value(&self, value: ValueId, among: Mask) -> Mask {
        slots_of(among).filter(|&slot| self.operations[slot].1 == value).fold(0, |all, slot| all | 1 << slot)
    }

    /// Of the writes `among` that write `value`, the one that returns first.
    fn first_write(&self, value: ValueId, among: Mask) -> Option<Mask> {
        slots_of(among & self.writes)
            .filter(|&slot| self.operations[slot].1 == value)
            .min_by_key(|&slot| self.operations[slot].0)
            .map(|slot| 1 << slot)
    }
}

fn slots_of(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let slot = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(slot)
    })
}

/// A write that may take effect to serve open reads of its value.
#[derive(Clone, Copy, Debug)]
struct Service {
    write: Mask,
    reads: Mask,
}

impl RegisterMetastates {
    /// Nothing seen yet.
    pub fn new() -> RegisterMetastates {
        RegisterMetastates::default()
    }

    fn prepare(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        if !self.started {
            self.started = true;
            // An initial value without a number is in no row so far; it may be given one later, below.
            let value = cx.symbols.find(&cx.spec.initial).unwrap_or(UNNAMED);
            self.configurations.push(Configuration {
                value,
                used: 0,
                due: 0,
                unserved: 0,
                path: Path::BEGIN,
            });
        }
        if let Some(value) = cx.symbols.find(&cx.spec.initial) {
            self.configurations.iter_mut().filter(|c| c.value == UNNAMED).for_each(|c| c.value = value);
        }
        let known = std::mem::replace(&mut self.pending_known, timeline.pending().len());
        for index in known..timeline.pending().len() {
            let id = OpId::pending(index as u32);
            if access(cx, timeline.op(id).op())? == Access::Write {
                self.pending.push((timeline.earliest(id), id));
            }
        }
        self.pending.sort_unstable_by(|a, b| b.cmp(a));
        Ok(())
    }

    fn write_called(&mut self, id: OpId, value: ValueId) -> Result<(), Stop> {
        let bit = self.slots.take(id, value)?;
        self.slots.writes |= bit;
        if id.as_pending().is_some() {
            self.slots.pending |= bit;
        } else {
            self.configurations.iter_mut().for_each(|c| c.due |= bit);
        }
        Ok(())
    }

    fn read_called(&mut self, id: OpId, value: ValueId) -> Result<(), Stop> {
        let mut bit = 0;
        for configuration in &mut self.configurations {
            if configuration.value == value {
                configuration.path = self.path.push(configuration.path, What::Read, id);
                continue;
            }
            if bit == 0 {
                bit = self.slots.take(id, value)?;
            }
            configuration.unserved |= bit;
        }
        Ok(())
    }

    /// Explains the return of `id`; is there a way?
    fn returned(&mut self, id: OpId) -> bool {
        let Some(bit) = self.slots.find(id) else { return true };
        let mut before = std::mem::take(&mut self.configurations);
        for configuration in &before {
            if self.slots.writes & bit == 0 {
                self.read_returned(configuration, bit);
            } else {
                self.write_returned(configuration, bit);
            }
        }
        before.clear();
        self.configurations = std::mem::replace(&mut self.after, before);
        self.slots.give_back(bit);
        self.give_back_settled();
        !self.configurations.is_empty()
    }

    /// Operations that took effect, visibly, in every configuration need no slot any more.
    fn give_back_settled(&mut self) {
        let (mut used, mut unserved) = (Mask::MAX, 0);
        for configuration in &self.configurations {
            used &= configuration.used;
            unserved |= configuration.unserved;
        }
        let settled = (self.slots.writes & used) | (!self.slots.free & !self.slots.writes & !unserved);
        if settled != 0 && !self.configurations.is_empty() {
            self.configurations.iter_mut().for_each(|c| c.used &= !settled);
            self.slots.give_back(settled);
        }
    }

    fn read_returned(&mut self, configuration: &Configuration, bit: Mask) {
        if configuration.unserved & bit == 0 {
            return self.offer(configuration, &[], None, bit);
        }
        let unused = self.slots.writes & !configuration.used;
        if let Some(write) = self.slots.first_write(self.slots.value(bit), unused) {
            self.take_effect(configuration, write, bit);
        }
    }

    fn write_returned(&mut self, configuration: &Configuration, bit: Mask) {
        if configuration.used & bit != 0 {
            return self.offer(configuration, &[], None, bit);
        }
        if configuration.due & bit == 0 {
            self.offer(configuration, &[], Some(self.slots.id(bit)), bit);
        }
        self.take_effect(configuration, bit, bit);
    }

    /// All ways in which `write` takes effect now: before it, any of the writes that serve open reads of
    /// other values.
    fn take_effect(&mut self, configuration: &Configuration, write: Mask, returning: Mask) {
        let value = self.slots.value(write);
        let unused = self.slots.writes & !configuration.used & !write;
        let mut waiting = configuration.unserved & !self.slots.of_value(value, configuration.unserved);
        let mut services = Vec::new();
        while waiting != 0 {
            let value = self.slots.value(waiting);
            let reads = self.slots.of_value(value, waiting);
            waiting &= !reads;
            if let Some(write) = self.slots.first_write(value, unused) {
                services.push(Service { write, reads });
            }
        }
        let last = Service { write, reads: self.slots.of_value(value, configuration.unserved) };
        let mut chosen = Vec::with_capacity(services.len() + 1);
        for subset in 0..1u64 << services.len().min(63) {
            let steps = self.after.len() + 1;
            let bytes = || self.path.memory() + self.after.capacity() * size_of::<Configuration>();
            if self.meter.is_over(steps, bytes) {
                return;
            }
            chosen.clear();
            chosen.extend((0..services.len()).filter(|&at| subset >> at & 1 == 1).map(|at| services[at]));
            chosen.push(last);
            self.offer(configuration, &chosen, None, returning);
        }
    }

    /// The configuration after some writes took effect, unless it is dominated. The operation `returning` is
    /// then forgotten.
    fn offer(&mut self, from: &Configuration, writes: &[Service], hidden: Option<OpId>, returning: Mask) {
        let mut to = *from;
        for service in writes {
            to.value = self.slots.value(service.write);
            to.used |= service.write;
            to.due = 0;
            to.unserved &= !service.reads;
        }
        to.used &= !returning;
        to.due &= !returning;
        to.unserved &= !returning;
        if self.after.iter().any(|other| other.dominates(&to)) {
            return;
        }
        for service in writes {
            to.path = self.path.push(to.path, What::Write, self.slots.id(service.write));
            for slot in slots_of(service.reads) {
                to.path = self.path.push(to.path, What::Read, self.slots.operations[slot].0);
            }
        }
        if let Some(id) = hidden {
            to.path = self.path.push(to.path, What::Hidden, id);
        }
        self.after.retain(|other| !to.dominates(other));
        self.after.push(to);
    }

    /// Writes down what all configurations agree on.
    fn flush(&mut self, witness: &mut Witness) {
        let may_hide = self.slots.writes & !self.slots.pending != 0 || self.configurations.len() > 1;
        let ends = self.configurations.iter_mut().map(|configuration| &mut configuration.path);
        self.path.flush(ends, may_hide, witness);
    }
}

impl Engine for RegisterMetastates {
    fn name(&self) -> &'static str {
        "register metastates"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        self.prepare(cx, timeline)?;
        self.meter.start(cx.budget);
        while self.next < upto {
            let gap = self.next;
            while let Some(&(_, id)) = self.pending.last().filter(|(earliest, _)| *earliest <= gap) {
                self.pending.pop();
                self.write_called(id, timeline.op(id).arg)?;
            }
            for id in timeline.called_in(gap) {
                let op = timeline.op(id);
                match access(cx, op.op())? {
                    Access::Write => self.write_called(id, op.arg)?,
                    Access::Read => self.read_called(id, op.result)?,
                }
            }
            let explained = self.returned(OpId(gap));
            self.meter.stop()?;
            if !explained {
                let reason = format!(
                    "{} finds no place",
                    crate::counterexample::sentence(cx.spec, cx.symbols, timeline.op(OpId(gap)))
                );
                return Err(Stop::Violated(Violation { at: OpId(gap), core: Vec::new(), reason }));
            }
            self.next += 1;
            if self.next.is_multiple_of(1024) || self.path.is_full() {
                self.flush(witness);
                cx.budget.check(self.memory())?;
            }
        }
        self.flush(witness);
        Ok(())
    }

    fn finish(&mut self, _cx: &Context<'_>, _timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        self.configurations.truncate(1);
        self.slots = Slots::default();
        self.flush(witness);
        Ok(())
    }

    fn explained(&self) -> Option<u32> {
        Some(self.next)
    }

    fn memory(&self) -> usize {
        self.path.memory()
            + (self.configurations.capacity() + self.after.capacity()) * size_of::<Configuration>()
    }
}

/// Stands for an initial value that occurs in no row so far.
const UNNAMED: ValueId = ValueId(0xFFFF_FFFC);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Write,
    Read,
}

/// Which access an operation is, if it is one this engine knows.
#[inline]
fn access(cx: &Context<'_>, op: OpCode) -> Result<Access, Stop> {
    let (write, read) = match cx.spec.kind {
        Kind::Register | Kind::CasRegister | Kind::RmwRegister => (register::WRITE, register::READ),
        Kind::Kv => (kv::PUT, kv::GET),
        _ => return Err(Stop::Unsupported("not a register".into())),
    };
    match op {
        op if op == write => Ok(Access::Write),
        op if op == read => Ok(Access::Read),
        _ => Err(Stop::Unsupported("there is more than reads and writes".into())),
    }
}
