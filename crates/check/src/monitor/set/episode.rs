//! The open operations of one value, from the first call to the last return, and the configurations that
//! explain them.

use crate::engine::Stop;
use crate::timeline::OpId;

/// What an operation does to its value, or says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// One more.
    Add,
    /// One less.
    Take,
    /// It is there.
    Present,
    /// It is not.
    Absent,
}

impl Role {
    /// All of them, by number.
    pub const ALL: [Role; 4] = [Role::Add, Role::Take, Role::Present, Role::Absent];

    /// Does it only read, and is this what it reads?
    #[inline]
    pub fn is_satisfied(self, count: u32) -> bool {
        (self == Role::Present) & (count > 0) | (self == Role::Absent) & (count == 0)
    }
}

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Episode {
    /// The operation in each slot.
    operations: Vec<OpId>,
    /// The slots of each role that are taken.
    open: [u64; 4],
    /// The count that the operations returned so far leave.
    pub settled: i64,
    pub configurations: Vec<Configuration>,
}

/// One way to explain all returns so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Configuration {
    /// Open operations that took effect, by slot.
    done: u64,
    pub count: u32,
    /// What took effect in which gap, as far as it is not written down elsewhere.
    pub log: Vec<(u32, OpId)>,
}

impl Episode {
    /// Begins anew, with this count.
    pub fn begin(&mut self, count: u32) {
        self.operations.clear();
        self.open = [0; 4];
        self.settled = i64::from(count);
        self.configurations.truncate(1);
        match self.configurations.first_mut() {
            Some(first) => (first.done, first.count) = (0, count),
            None => self.configurations.push(Configuration { done: 0, count, log: Vec::new() }),
        }
    }

    /// The count, if nothing is open any more.
    #[inline]
    pub fn is_over(&self) -> Option<u32> {
        (self.open == [0; 4]).then(|| self.configurations[0].count)
    }

    /// Takes note of a call, unless there is only one configuration and the operation is satisfied in it at
    /// once: then the answer is true.
    #[inline]
    pub fn called(&mut self, id: OpId, role: Role, now: u32) -> Result<bool, Stop> {
        if self.configurations.len() == 1 && role.is_satisfied(self.configurations[0].count) {
            return Ok(true);
        }
        let taken = self.open.iter().fold(0, |all, slots| all | slots);
        let slot = (!taken).trailing_zeros() as usize;
        if slot == 64 {
            return Err(Stop::Unsupported("more than 64 operations on one value are open at once".into()));
        }
        if slot == self.operations.len() {
            self.operations.push(id);
        }
        self.operations[slot] = id;
        self.open[role as usize] |= 1 << slot;
        for configuration in &mut self.configurations {
            if role.is_satisfied(configuration.count) {
                configuration.done |= 1 << slot;
                configuration.log.push((now, id));
            }
        }
        Ok(false)
    }

    /// Explains the return of an operation; is there a way?
    pub fn returned(&mut self, id: OpId, role: Role, now: u32, limit: u32) -> bool {
        let open = self.open[role as usize];
        let Some(bit) = bits(open).find(|bit| self.operations[bit.trailing_zeros() as usize] == id) else {
            return true;
        };
        let mut index = 0;
        while index < self.configurations.len() {
            if self.configurations[index].done & bit == 0 && !self.force(index, bit, role, now, limit) {
                self.configurations.swap_remove(index);
                continue;
            }
            index += 1;
        }
        self.open[role as usize] &= !bit;
        self.configurations.iter_mut().for_each(|configuration| configuration.done &= !bit);
        if self.configurations.len() > 1 {
            self.drop_dominated();
        }
        if self.configurations.is_empty() {
            return false;
        }
        self.settled += i64::from(role == Role::Add) - i64::from(role == Role::Take);
        true
    }

    /// Lets an operation that returns take effect in a configuration, after what it needs. False: it cannot.
    fn force(&mut self, index: usize, bit: u64, role: Role, now: u32, limit: u32) -> bool {
        let mut one = std::mem::take(&mut self.configurations[index]);
        let possible = match role {
            Role::Take => {
                (one.count > 0 || self.add_one(&mut one, now)) && self.step(&mut one, bit, role, now)
            }
            Role::Present => self.add_one(&mut one, now),
            Role::Absent => self.drain(&mut one, now),
            Role::Add => {
                let waits = self.open[Role::Absent as usize] & !one.done != 0;
                if one.count > 0 && (waits || one.count >= limit) {
                    let mut drained = one.clone();
                    if self.drain(&mut drained, now) && self.step(&mut drained, bit, role, now) {
                        if one.count >= limit {
                            self.configurations[index] = drained;
                            return true;
                        }
                        self.configurations.push(drained);
                    }
                }
                one.count < limit && self.step(&mut one, bit, role, now)
            }
        };
        self.configurations[index] = one;
        possible
    }

    /// Brings a count of zero to one.
    fn add_one(&self, one: &mut Configuration, now: u32) -> bool {
        self.first(Role::Add, one).is_some_and(|bit| self.step(one, bit, Role::Add, now))
    }

    /// Brings the count to zero.
    fn drain(&self, one: &mut Configuration, now: u32) -> bool {
        if (self.open[Role::Take as usize] & !one.done).count_ones() < one.count {
            return false;
        }
        while one.count > 0 {
            let Some(bit) = self.first(Role::Take, one) else { return false };
            self.step(one, bit, Role::Take, now);
        }
        true
    }

    /// Of the operations of a role that have not taken effect, the one that returns first.
    fn first(&self, role: Role, one: &Configuration) -> Option<u64> {
        let open = self.open[role as usize] & !one.done;
        bits(open).min_by_key(|bit| self.operations[bit.trailing_zeros() as usize])
    }

    /// An operation changes the count; reads that wait for it are satisfied.
    fn step(&self, one: &mut Configuration, bit: u64, role: Role, now: u32) -> bool {
        one.done |= bit;
        one.log.push((now, self.operations[bit.trailing_zeros() as usize]));
        one.count = if role == Role::Add { one.count + 1 } else { one.count - 1 };
        let reads = if one.count > 0 { Role::Present } else { Role::Absent };
        let satisfied = self.open[reads as usize] & !one.done;
        one.done |= satisfied;
        for read in bits(satisfied) {
            one.log.push((now, self.operations[read.trailing_zeros() as usize]));
        }
        true
    }

    fn drop_dominated(&mut self) {
        let changes = self.open[Role::Add as usize] | self.open[Role::Take as usize];
        let reads = self.open[Role::Present as usize] | self.open[Role::Absent as usize];
        let dominates = |a: &Configuration, b: &Configuration| {
            a.done & changes & !b.done == 0 && b.done & reads & !a.done == 0
        };
        let mut index = 0;
        while index < self.configurations.len() {
            let here = &self.configurations[index];
            let mut others = self.configurations.iter().enumerate();
            let dominated = others.any(|(at, other)| {
                at != index && dominates(other, here) && (at < index || !dominates(here, other))
            });
            if dominated {
                self.configurations.swap_remove(index);
                index = 0;
            } else {
                index += 1;
            }
        }
    }
}

fn bits(mut mask: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = mask & mask.wrapping_neg();
        mask &= mask.wrapping_sub(1);
        (bit != 0).then_some(bit)
    })
}
