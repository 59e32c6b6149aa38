//! Names for shared locations: from an address to a small number, per execution.
//!
//! Addresses differ from run to run; the order of first access does not differ between runs of the same schedule.
//! Forgetting all names costs nothing: each entry carries the number of the execution it belongs to.

use crate::event::Loc;

/// The names given so far in this execution.
pub(crate) struct Locations {
    slots: Vec<Slot>,
    epoch: u32,
    known: Vec<Known>,
}

/// What is known of a location.
#[derive(Clone, Copy)]
struct Known {
    address: usize,
    /// The value there, as last noted.
    bits: u64,
    /// How often it was written.
    version: u32,
    /// How often it was taken or given back, as a lock is, or found taken.
    visits: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    address: usize,
    epoch: u32,
    loc: u32,
}

const VACANT: Slot = Slot { address: 0, epoch: 0, loc: 0 };

impl Locations {
    pub(crate) fn new() -> Locations {
        Locations { slots: vec![VACANT; 64], epoch: 1, known: Vec::new() }
    }

    /// Forgets every name.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.fill(VACANT);
            self.epoch = 1;
        }
    }

    /// The name of what is at `address`.
    #[inline]
    pub(crate) fn name(&mut self, address: usize) -> Loc {
        let mask = self.slots.len() - 1;
        let mut at = hash(address) & mask;
        loop {
            let slot = self.slots[at];
            if slot.epoch != self.epoch {
                return self.add(at, address);
            }
            if slot.address == address {
                return Loc(slot.loc);
            }
            at = (at + 1) & mask;
        }
    }

    /// The name of what is at `address`, if it has one.
    #[inline]
    pub(crate) fn named(&self, address: usize) -> Option<Loc> {
        let mask = self.slots.len() - 1;
        let mut at = hash(address) & mask;
        loop {
            // SAFETY: the number of slots is a power of two, and never 0, so that the mask keeps within it.
            let slot = unsafe { self.slots.get_unchecked(at) };
            if slot.epoch != self.epoch {
                return None;
            }
            if slot.address == address {
                return Some(Loc(slot.loc));
            }
            at = (at + 1) & mask;
        }
    }

    /// How often the location was written so far.
    pub(crate) fn version(&self, loc: Loc) -> u32 {
        self.known[loc.0 as usize].version
    }

    /// Notes a write.
    #[inline]
    pub(crate) fn written(&mut self, loc: Loc) {
        self.known[loc.0 as usize].version += 1;
    }

    /// How often it was taken or given back so far, or found taken.
    pub(crate) fn visits(&self, loc: Loc) -> u32 {
        self.known[loc.0 as usize].visits
    }

    /// Notes that it is taken or given back, or found taken.
    pub(crate) fn visited(&mut self, loc: Loc) {
        self.known[loc.0 as usize].visits += 1;
    }

    /// Notes the value there now.
    #[inline]
    pub(crate) fn set_bits(&mut self, loc: Loc, bits: u64) {
        self.known[loc.0 as usize].bits = bits;
    }

    /// The value there, as last noted.
    pub(crate) fn bits(&self, loc: Loc) -> u64 {
        self.known[loc.0 as usize].bits
    }

    /// Where the location is.
    pub(crate) fn address(&self, loc: Loc) -> usize {
        self.known[loc.0 as usize].address
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    #[cold]
    fn add(&mut self, at: usize, address: usize) -> Loc {
        let loc = self.known.len() as u32;
        self.slots[at] = Slot { address, epoch: self.epoch, loc };
        self.known.push(Known { address, bits: 0, version: 0, visits: 0 });
        if self.known.len() * 2 > self.slots.len() {
            self.grow();
        }
        Loc(loc)
    }

    fn grow(&mut self) {
        let bigger = vec![VACANT; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, bigger);
        let mask = self.slots.len() - 1;
        for slot in old.into_iter().filter(|slot| slot.epoch == self.epoch) {
            let mut at = hash(slot.address) & mask;
            while self.slots[at].epoch == self.epoch {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }
}

#[inline]
fn hash(address: usize) -> usize {
    (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) as usize
}
