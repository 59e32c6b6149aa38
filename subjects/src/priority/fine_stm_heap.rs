//! A binary heap in transactional memory with several short transactions an operation, after Dragicevic and Bauer (2009; Dragicevic 2011, section 2.8.5).
//!
//! Every place has a tag. `FREE`: nothing is there. `DIRTY`: an insertion will put its element there. `OCCUPIED`: an element. `HOLE`: a removal took the element, and will
//! see to the place. There is no size: `DENSE` says up to where no place is free, `LAST` where the last element is; both are hints, changed by compare-and-swap with
//! a version, and nothing rests on them. Places are used in bit-reversed order ([`super::bit_reversed`]).
//!
//! Two invariants hold before and after each transaction:
//! - *Heap.* The nearest occupied place above an occupied one has no larger element. Holes and dirty places are as if they were not there.
//! - *Closed.* Below a free place all is free. So a search through holes and dirty places ends.
//!
//! An insertion claims a free place by fast access, raises `LAST`, and puts its element there in one transaction, which moves it up past larger ones; or down, where smaller ones
//! came to be below a place that was dirty for long. A removal looks for the smallest of the topmost elements and makes its place a hole, in
//! one transaction. Then, in transactions of their own, the hole takes the smallest of the topmost elements below it until there is none, and is filled with one of the last elements, or freed. A hole
//! that has others' holes or dirty places below it waits for them; the lowest never waits.
//!
//! Linearization points: those of the transaction that puts the element in, and of the one that makes the hole. All others keep the elements as they are.
//!
//! Mutation [`PEAK_STOPS_AT_DIRTY`]: the search for the smallest takes a dirty place for a free one. Expected: not linearizable; an element below a place
//! that an insertion has claimed is not found, and the queue is said to be empty.
//!
//! Mutation [`PLACE_LOOKS_UP_ONLY`]: an insertion does not look below its place. Expected: not linearizable; an element that came to be below a dirty place is removed after a larger one.

use linpoint::sync::atomic::AtomicU64;
use linpoint::sync::atomic::Ordering::SeqCst;

use crate::CORRECT;
use crate::priority::{bit_reversed, has_operations};
use crate::stm::{Abort, Packed, Stm, Transaction, Word};

/// The search for the smallest does not look below dirty places.
pub const PEAK_STOPS_AT_DIRTY: u8 = 1;

/// An element is never moved down when it is put in.
pub const PLACE_LOOKS_UP_ONLY: u8 = 2;

/// A priority queue of bounded size.
pub struct FineStmHeap<P = u32, const MUTATION: u8 = CORRECT> {
    stm: Stm,
    /// The root is number one. The upper two bits are the tag, the others the element.
    places: Box<[Word]>,
    /// No place before this one, in the order of use, is free.
    dense: Hint,
    /// No place after this one is occupied.
    last: Hint,
    holds: std::marker::PhantomData<fn(P) -> P>,
}

const FREE: u64 = 0;
const DIRTY: u64 = 1 << 62;
const HOLE: u64 = 2 << 62;
const OCCUPIED: u64 = 3 << 62;

/// Elements there is room for unless asked otherwise.
const ROOM: usize = 1 << 17;

/// An element and where it is.
type Top = Option<(u64, usize)>;

/// What became of a hole.
enum Hole {
    /// An element below took the place, and this is the hole now.
    Sank(usize),
    /// The element of the place with this index in the order of use took it, or of itself: that place is free now.
    Gone(usize),
}

impl<P: Packed, const MUTATION: u8> FineStmHeap<P, MUTATION> {
    /// An empty queue for about a hundred thousand elements.
    pub fn new() -> Self {
        Self::with_capacity(ROOM)
    }

    /// An empty queue for so many elements at least.
    pub fn with_capacity(elements: usize) -> Self {
        let places = (elements + 1).next_power_of_two();
        FineStmHeap {
            stm: Stm::new(),
            places: (0..places).map(|_| Word::new(FREE)).collect(),
            dense: Hint::new(1),
            last: Hint::new(0),
            holds: std::marker::PhantomData,
        }
    }

    fn put(&self, element: P) {
        let element = OCCUPIED | element.pack();
        let index = self.claim();
        self.last.change(|last| last.max(index));
        self.stm.run(|t| {
            let looks_down = MUTATION != PLACE_LOOKS_UP_ONLY;
            self.place(t, bit_reversed(index), element, looks_down)
        });
    }

    /// Makes a free place dirty, and says which, in the order of use.
    fn claim(&self) -> usize {
        let before = self.dense.load();
        let mut index = Hint::value(before);
        loop {
            assert!(index < self.places.len(), "the heap has room for what is inserted");
            let at = bit_reversed(index);
            if self.stm.peek(&self.places[at]).is_none_or(|(value, _)| value != FREE) {
                index += 1;
                continue;
            }
            // Above a claimed place nothing is free: who frees the parent reads this place in a transaction.
            while at > 1 && self.stm.peek(&self.places[at / 2]).is_none() {
                linpoint::thread::yield_now();
            }
            let mut above = None;
            let claimed = self.stm.change(&self.places[at], FREE, DIRTY, || {
                above = (at > 1).then(|| self.stm.peek(&self.places[at / 2])).flatten();
                at == 1 || above.is_some_and(|(parent, _)| parent != FREE)
            });
            match above {
                _ if claimed => {
                    // None of those passed was free, unless one was freed meanwhile, and then the hint has another version.
                    self.dense.swap(before, (index + 1).max(Hint::value(before)));
                    return index;
                }
                Some((FREE, _)) => index = bit_reversed(at / 2),
                _ => {}
            }
        }
    }

    fn take(&self) -> Option<P> {
        let (element, mut hole) = self.stm.run(|t| {
            let root = t.read(&self.places[1])?;
            let top = if root >= OCCUPIED { Some((root, 1)) } else { self.peak(t, root)? };
            if let Some((_, at)) = top {
                t.write(&self.places[at], HOLE)?;
            }
            Ok(top)
        })?;
        loop {
            match self.stm.run(|t| self.fill(t, hole)) {
                Hole::Sank(below) => hole = below,
                Hole::Gone(index) => {
                    self.freed(index);
                    return Some(P::unpack(element & !OCCUPIED));
                }
            }
        }
    }

    /// The smallest element, where the root has none.
    fn peak<'a>(&'a self, t: &mut Transaction<'a>, root: u64) -> Result<Top, Abort<'a>> {
        if root == FREE || root == DIRTY && MUTATION == PEAK_STOPS_AT_DIRTY {
            return Ok(None);
        }
        self.below(t, 1, MUTATION != PEAK_STOPS_AT_DIRTY)
    }

    /// The smallest of the topmost elements below a place.
    fn below<'a>(
        &'a self,
        t: &mut Transaction<'a>,
        at: usize,
        through_dirty: bool,
    ) -> Result<Top, Abort<'a>> {
        let mut best = None;
        for child in [2 * at, 2 * at + 1] {
            if child >= self.places.len() {
                break;
            }
            let value = t.read(&self.places[child])?;
            let found = match value {
                FREE => None,
                DIRTY if !through_dirty => None,
                DIRTY | HOLE => self.below(t, child, through_dirty)?,
                element => Some((element, child)),
            };
            best = match (best, found) {
                (Some(one), Some(other)) => Some(std::cmp::min(one, other)),
                (one, other) => one.or(other),
            };
        }
        Ok(best)
    }

    /// Puts an element at a place that holds none, or above or below it, where the order asks for it.
    fn place<'a>(
        &'a self,
        t: &mut Transaction<'a>,
        start: usize,
        element: u64,
        looks_down: bool,
    ) -> Result<(), Abort<'a>> {
        let mut at = start;
        while let Some((larger, above)) = self.above(t, at)?.filter(|&(above, _)| above > element) {
            t.write(&self.places[at], larger)?;
            at = above;
        }
        // What it has passed is larger, and so is all below that.
        if at == start && looks_down {
            while let Some((smaller, below)) = self.below(t, at, true)?.filter(|&(below, _)| below < element)
            {
                t.write(&self.places[at], smaller)?;
                at = below;
            }
        }
        t.write(&self.places[at], element)
    }

    /// The nearest element above a place.
    fn above<'a>(&'a self, t: &mut Transaction<'a>, at: usize) -> Result<Top, Abort<'a>> {
        let mut above = at / 2;
        while above > 0 {
            let value = t.read(&self.places[above])?;
            if value >= OCCUPIED {
                return Ok(Some((value, above)));
            }
            above /= 2;
        }
        Ok(None)
    }

    /// Sees to a hole.
    fn fill<'a>(&'a self, t: &mut Transaction<'a>, hole: usize) -> Result<Hole, Abort<'a>> {
        if let Some((element, below)) = self.below(t, hole, true)? {
            t.write(&self.places[hole], element)?;
            t.write(&self.places[below], HOLE)?;
            return Ok(Hole::Sank(below));
        }
        // One of the last elements, with nothing below it; not one before the hole.
        let index = self.last.get().min(self.places.len() - 1);
        let last = bit_reversed(index);
        if index > bit_reversed(hole) {
            let element = t.read(&self.places[last])?;
            if element >= OCCUPIED && self.is_lowest(t, last)? {
                t.write(&self.places[last], FREE)?;
                self.place(t, hole, element, true)?;
                return Ok(Hole::Gone(index));
            }
        }
        if !self.is_lowest(t, hole)? {
            return Err(Abort::Retry);
        }
        t.write(&self.places[hole], FREE)?;
        Ok(Hole::Gone(bit_reversed(hole)))
    }

    /// Is everything below free?
    fn is_lowest<'a>(&'a self, t: &mut Transaction<'a>, at: usize) -> Result<bool, Abort<'a>> {
        for child in [2 * at, 2 * at + 1] {
            if child < self.places.len() && t.read(&self.places[child])? != FREE {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Brings the hints up to date after a place was freed.
    fn freed(&self, index: usize) {
        self.dense.change(|dense| dense.min(index));
        loop {
            let before = self.last.load();
            let last = Hint::value(before);
            let free = last > 0
                && self.stm.peek(&self.places[bit_reversed(last)]).is_some_and(|(value, _)| value == FREE);
            if !free || !self.last.swap(before, last - 1) {
                return;
            }
        }
    }
}

/// A number that need not be right, with a version, so that a change is not made over one that was not seen.
struct Hint(AtomicU64);

impl Hint {
    fn new(value: usize) -> Hint {
        Hint(AtomicU64::new(value as u64))
    }

    fn load(&self) -> u64 {
        self.0.load(SeqCst)
    }

    fn value(both: u64) -> usize {
        both as u32 as usize
    }

    fn get(&self) -> usize {
        Hint::value(self.load())
    }

    /// A new value with the next version, unless somebody else was there.
    fn swap(&self, before: u64, value: usize) -> bool {
        let version = (before >> 32).wrapping_add(1);
        self.0.compare_exchange(before, version << 32 | value as u64, SeqCst, SeqCst).is_ok()
    }

    /// A new version, even where the value stays: it was seen to be right now.
    fn change(&self, to: impl Fn(usize) -> usize) {
        loop {
            let before = self.load();
            if self.swap(before, to(Hint::value(before))) {
                return;
            }
        }
    }
}

#[linpoint::object(spec = crate::spec::PriorityQueue, new = Self::with_capacity(8))]
impl<const MUTATION: u8> FineStmHeap<u32, MUTATION> {
    /// Puts `priority` in.
    pub fn insert(&self, priority: u32) {
        self.put(priority);
    }

    /// Takes the smallest out.
    pub fn remove_min(&self) -> Option<u32> {
        self.take()
    }
}

has_operations!(FineStmHeap);

impl<P: Packed, const MUTATION: u8> Default for FineStmHeap<P, MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}
