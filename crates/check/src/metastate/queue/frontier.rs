//! The enqueues of a queue's history, seen from the first one not consumed.
//!
//! Returned enqueues stand in order of return; position `p` names the first one a configuration has not
//! consumed ([`Frontier::end`]: it consumed them all). What may be consumed next is what no unconsumed
//! enqueue precedes: `p` itself and the enqueues that were open when `p` returned, its *stab*. Two of them
//! never had the same slot, so a mask over slots says which of them were consumed, and moving from `p` to the
//! next position frees exactly the bit of `p`.
//!
//! Stabs are built one from the other, for the positions configurations stand at, and forgotten below them: a
//! live element costs its entry here and no more.

use std::collections::VecDeque;

/// A set of slots.
pub type Mask = u128;

/// An enqueue. Times count returns; elements the queue started with come first, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// When it returned; pending ones have the highest bit set, and so come last.
    pub id: u32,
    /// The first gap it may take effect in.
    pub earliest: u32,
    /// What was enqueued.
    pub value: u32,
    /// Its slot while open.
    pub slot: u8,
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Frontier {
    /// Open enqueues, pending ones among them, by return.
    open: Vec<Element>,
    slots: Mask,
    /// Returned enqueues that some configuration has not consumed, from position `base` on.
    returned: VecDeque<Element>,
    base: u32,
    /// The stabs of the positions from `base` on, as far as needed so far; never none while something is in
    /// `returned`.
    stabs: VecDeque<Stab>,
    /// Enqueues in order of call, from number `called_base` on: what the next stab may need.
    called: VecDeque<Element>,
    called_base: u64,
    spare: Vec<Vec<Element>>,
}

#[derive(Clone, Debug)]
struct Stab {
    elements: Vec<Element>,
    /// How many enqueues were called by then.
    called: u64,
}

impl Frontier {
    /// The contents a queue starts with.
    pub fn start(&mut self, contents: impl Iterator<Item = u32>) {
        for (j, value) in contents.enumerate() {
            let element = Element { id: j as u32, earliest: j as u32, value, slot: 0 };
            self.called.push_back(element);
            self.returned.push_back(element);
        }
        if let Some(first) = self.returned.front() {
            self.stabs.push_back(Stab { elements: vec![*first], called: 1 });
        }
    }

    /// An enqueue was called. `false`: there are more open ones than slots.
    pub fn call(&mut self, id: u32, earliest: u32, value: u32) -> bool {
        if self.slots == Mask::MAX {
            return false;
        }
        let slot = self.slots.trailing_ones() as u8;
        self.slots |= 1 << slot;
        let element = Element { id, earliest, value, slot };
        let at = self.open.partition_point(|other| other.id < id);
        self.open.insert(at, element);
        if !self.stabs.is_empty() {
            self.called.push_back(element);
        }
        true
    }

    /// The open enqueue that returns as `id`.
    pub fn returning(&self, id: u32) -> Element {
        // Everything that returns earlier has returned, so it is the first.
        debug_assert_eq!(self.open[0].id, id);
        self.open[0]
    }

    /// The first open enqueue has returned: it now stands at position `end - 1`.
    pub fn returns(&mut self) -> Element {
        if self.stabs.is_empty() {
            let called = self.called_base + self.called.len() as u64;
            let mut elements = self.spare.pop().unwrap_or_default();
            elements.extend_from_slice(&self.open);
            self.stabs.push_back(Stab { elements, called });
        }
        let element = self.open.remove(0);
        self.slots &= !(1 << element.slot);
        self.returned.push_back(element);
        element
    }

    /// One past the last position.
    #[inline]
    pub fn end(&self) -> u32 {
        self.base + self.returned.len() as u32
    }

    /// The enqueue at a position.
    #[inline]
    pub fn at(&self, position: u32) -> &Element {
        &self.returned[(position - self.base) as usize]
    }

    /// What may be consumed next at a position, were nothing after it consumed; by return. At the end that is
    /// every open enqueue. [`Frontier::reach`] must have been told of the position.
    #[inline]
    pub fn candidates(&self, position: u32) -> &[Element] {
        match self.stabs.get((position - self.base) as usize) {
            Some(stab) if position < self.end() => &stab.elements,
            _ => &self.open,
        }
    }

    /// Is an open enqueue among the consumed ones of a configuration? Its slot speaks of it only if it was
    /// called before the first unconsumed one returned.
    #[inline]
    pub fn is_taken(&self, element: &Element, position: u32, taken: Mask) -> bool {
        let in_stab = position == self.end() || element.earliest <= self.at(position).id;
        in_stab && taken >> element.slot & 1 == 1
    }

    /// Builds the stabs up to a position.
    #[inline]
    pub fn reach(&mut self, position: u32) {
        while self.base + (self.stabs.len() as u32) <= position && position < self.end() {
            self.build_next();
        }
    }

    fn build_next(&mut self) {
        let next = self.returned[self.stabs.len()];
        let last = &self.stabs[self.stabs.len() - 1];
        let mut elements = self.spare.pop().unwrap_or_default();
        elements.extend(last.elements.iter().filter(|e| e.id >= next.id));
        let mut called = last.called;
        while let Some(element) = self.called.get((called - self.called_base) as usize)
            && element.earliest <= next.id
        {
            let at = elements.partition_point(|other| other.id < element.id);
            elements.insert(at, *element);
            called += 1;
        }
        self.stabs.push_back(Stab { elements, called });
        let needless = (called - self.called_base) as usize;
        self.called.drain(..needless);
        self.called_base = called;
    }

    /// Forgets the positions below `position`: every configuration is past them.
    #[inline]
    pub fn forget_below(&mut self, position: u32) {
        if position == self.base {
            return;
        }
        self.reach(position);
        for _ in self.base..position {
            self.returned.pop_front();
            if let Some(mut stab) = self.stabs.pop_front() {
                stab.elements.clear();
                self.spare.push(stab.elements);
            }
        }
        self.base = position;
        if self.returned.is_empty() {
            self.called_base += self.called.len() as u64;
            self.called.clear();
        }
    }

    /// Can an enqueue of `value` that returns before `id` be uncovered by consuming from `position` on? Says
    /// yes when the answer takes long to find.
    pub fn hides_earlier(&self, position: u32, value: u32, id: u32) -> bool {
        const LOOK: usize = 64;
        if position == self.end() {
            return false;
        }
        let seen = self.at(position).id;
        let hidden = |e: &Element| e.value == value && e.earliest > seen;
        let after = self.returned.range((position - self.base) as usize..);
        for (looked, element) in after.take_while(|e| e.id < id).enumerate() {
            if hidden(element) || looked == LOOK {
                return true;
            }
        }
        self.open.iter().take_while(|e| e.id < id).any(hidden)
    }

    /// The open enqueues.
    pub fn open(&self) -> &[Element] {
        &self.open
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        let stabs: usize = self.stabs.iter().map(|s| s.elements.capacity() + 2).sum();
        (self.open.capacity() + self.returned.capacity() + self.called.capacity() + stabs)
            * size_of::<Element>()
    }
}
