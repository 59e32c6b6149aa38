//! Spin loops without annotation.
//!
//! A thread that goes once round a loop, only reading, and comes back to *exactly* the local state it had, will do
//! the same again until somebody writes to something it read: such a turn is a stutter, and scheduling it explores
//! nothing. So the thread waits until one of the locations it read in that turn is written.
//!
//! "Exactly the local state" is taken literally: the registers that survive a call and every byte of the fiber's
//! stack are hashed at the head of the turn. A loop with a bound keeps its counter there, so it is never mistaken for
//! a spin; so do the values of `thread_local!`, which count as well. A counter that is kept elsewhere, on the heap or in a static, is not
//! seen, so loops are tried before they are taken for spins (`execution/probe.rs`); and that a loop goes on for ever is said only where all
//! memory was compared ([`crate::twin`]).
//!
//! A turn may also take a lock, look at what it protects, and release it: all is as it was at its end. But it was not
//! in between, and others can tell: a `try_lock` fails only while the turn lasts. What can be left out is such a turn that
//! nobody else came by: without it the others see the same. So the thread waits until somebody else comes by what it
//! took (locks it, tries to, unlocks it), or writes what it read; and if somebody did during its turn, it does not wait at all. Schedules
//! without turns that nobody came by are all made, and every other reaches what one of these does. As somebody who goes round in the same way
//! comes by in each of his turns, such turns end in a head ([`crate::fair`]) as well.
//! The head of such a turn is found where the thread holds nothing that it takes in the turn.
//!
//! In general: a turn may be left out only if no other thread could tell *at any moment* that it takes place. A turn that
//! only reads is of that kind. One that adds and takes back, swaps and swaps back, or stores what was there before is taken for
//! one that writes.
//!
//! # Which turns are looked at
//! Most loops retry because something has changed: a compare-and-exchange failed, a second look saw another value.
//! Such a turn read a location in two versions, so it can never come to wait ([`Spin::ready`]: not all it read is as it
//! was), whatever the local state. And a loop is looked at from one place only, the one of its places that the thread came
//! to first: seen from its middle, the end of one turn and the beginning of the next may well agree where neither of
//! them agrees with itself. So a *candidate* is a turn that begins and ends at the first of its places, and saw every
//! location in one version. A loop that goes on for ever while nothing changes makes candidates, one a turn. What a thread
//! read, where, and in which version, is the same in all runs of a trace, and so is which of its turns are candidates.
//!
//! Programs without candidates, lock-free ones mostly, need no local states at all. So a run begins without noting any,
//! and asks only [`Spin::might_turn`]. When that says yes, the run is made once more from its beginning along the same
//! schedule, noting local states, and so is every run after it. Up to that point the two cannot differ: there
//! was no candidate.

use crate::event::Loc;
use crate::location::Locations;

/// What one thread has read since it last wrote.
#[derive(Default)]
pub(crate) struct Spin {
    reads: Vec<(Loc, u32, usize)>,
    /// A bit for each place it read at; several places may share one.
    places: u64,
    /// Where a turn may have begun.
    heads: Vec<Head>,
    /// While it waits: the reads of the turn that is repeated.
    turn: Option<usize>,
    /// What it has taken and not given back since it last wrote, with the number of reads at that time.
    open: Vec<(Loc, usize)>,
    /// What it took since it last wrote.
    taken: Vec<Taken>,
}

/// Something that the thread took.
#[derive(Clone, Copy)]
struct Taken {
    loc: Loc,
    /// The number of reads then.
    at: usize,
    /// The number of visits there, if nobody else came since it was taken; otherwise what it would be.
    visits: u32,
}

/// What an arrival at a place where the thread was before means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Nothing is known of it.
    New,
    /// The thread would only do the same again: it waits until something of what it read is written, or somebody else comes by
    /// where it took something.
    Waits {
        /// Did it take something, and give it back?
        visits: bool,
    },
}

/// An arrival at a place where the thread was before.
#[derive(Clone, Copy)]
struct Head {
    place: Place,
    /// The number of reads then.
    at: usize,
    /// The read that the thread made when it first came to this place.
    first: usize,
    /// Has it given back everything it took since it was here before?
    free: bool,
    /// The hash of its local state; 0 where none is noted.
    state: u64,
}

/// What a thread is about to touch, and where in the source.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    loc: Loc,
    site: usize,
}

/// Longest streak of reads that is watched for a turn.
const LONGEST: usize = 256;

impl Spin {
    /// Forgets everything: the thread wrote, or begins anew.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.reads.is_empty() {
            self.reads.clear();
            self.heads.clear();
            self.open.clear();
            self.places = 0;
            self.taken.clear();
        }
        self.turn = None;
    }

    /// A bit for a place.
    #[inline]
    pub(crate) fn bit(loc: Loc, site: usize) -> u64 {
        // Places in a source are 24 bytes apart, and so have different bits if they are near.
        1 << ((site >> 3 ^ loc.0 as usize) & 63)
    }

    /// Notes a read of `loc` when it had been written `version` times, by the code at `site`.
    #[inline]
    pub(crate) fn read(&mut self, loc: Loc, version: u32, site: usize) {
        self.read_at(loc, version, site, Spin::bit(loc, site));
    }

    /// The same, where the bit of the place is known.
    #[inline]
    pub(crate) fn read_at(&mut self, loc: Loc, version: u32, site: usize, bit: u64) {
        if self.reads.len() >= LONGEST {
            self.clear();
        }
        self.reads.push((loc, version, site));
        self.places |= bit;
    }

    /// The same, where [`Spin::has_room`] has said yes.
    ///
    /// # Safety
    /// It must have.
    #[inline]
    pub(crate) unsafe fn read_within(&mut self, loc: Loc, version: u32, site: usize, bit: u64) {
        let length = self.reads.len();
        // SAFETY: as the caller promises.
        unsafe {
            self.reads.as_mut_ptr().add(length).write((loc, version, site));
            self.reads.set_len(length + 1);
        }
        self.places |= bit;
    }

    /// Can a read be noted without more ado?
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.reads.len() < LONGEST.min(self.reads.capacity())
    }

    /// The thread took something that it will give back as it was, a lock for one. That is a read, and until it is
    /// given back the thread is in nobody's way only if it keeps it for whole turns.
    pub(crate) fn open(&mut self, loc: Loc, version: u32, site: usize, visits: u32) {
        self.read(loc, version, site);
        let at = self.reads.len() - 1;
        self.open.push((loc, at));
        self.taken.push(Taken { loc, at, visits });
    }

    /// The thread comes by `loc`, the visit of that number.
    pub(crate) fn visit(&mut self, loc: Loc, visits: u32) {
        for taken in self.taken.iter_mut().filter(|taken| taken.loc == loc && taken.visits + 1 == visits) {
            taken.visits = visits;
        }
    }

    /// It gave it back. Did it take it in this turn?
    pub(crate) fn close(&mut self, loc: Loc) -> bool {
        let last = self.open.iter().rposition(|open| open.0 == loc);
        last.map(|last| self.open.remove(last)).is_some()
    }

    /// Has the thread, about to touch `loc` by the code at `site`, which has this `bit`, been here before? Then it may be
    /// at the head of a turn.
    #[inline]
    pub(crate) fn suspects(&self, loc: Loc, site: usize, bit: u64) -> bool {
        self.places & bit != 0 && self.reads.iter().any(|read| read.0 == loc && read.2 == site)
    }

    /// The thread has been here before, in a local state that is not known. Could it be the same, with a candidate for a
    /// turn in between?
    pub(crate) fn might_turn(&mut self, loc: Loc, site: usize) -> bool {
        let head = self.head(Place { loc, site }, 0);
        // The latest: a longer turn read more, took more, and has more places.
        let before = self.before(&head).find(|before| before.at < head.at).map(|before| before.at);
        let might = before.is_some_and(|from| self.is_candidate(from, &head));
        self.heads.push(head);
        might
    }

    /// The thread has been here before, and is in the local state that hashes to `state`. Says whether it was here
    /// before in the same state, with a candidate for a turn in between. Whether something it read since then has been
    /// written is left to [`Spin::ready`], so that the answer depends on what the thread did alone, and not on who was
    /// faster.
    pub(crate) fn arrive(&mut self, loc: Loc, site: usize, state: u64) -> Arrival {
        let head = self.head(Place { loc, site }, state);
        let same = |before: &&Head| before.at < head.at && before.state == state;
        let before = self.before(&head).find(same).map(|before| before.at);
        let from = before.filter(|&from| self.is_candidate(from, &head));
        self.heads.push(head);
        self.turn = from;
        match from {
            None => Arrival::New,
            Some(from) => Arrival::Waits { visits: self.taken.iter().any(|taken| taken.at >= from) },
        }
    }

    /// An arrival at `place`.
    fn head(&self, place: Place, state: u64) -> Head {
        let at = self.reads.len();
        let first =
            self.reads.iter().position(|read| read.0 == place.loc && read.2 == place.site).unwrap_or(at);
        let mut head = Head { place, at, first, free: true, state };
        let from = self.before(&head).next().map_or(first, |before| before.at);
        head.free = self.is_free(from);
        head
    }

    /// The arrivals at the same place before, the latest first.
    fn before(&self, head: &Head) -> impl Iterator<Item = &Head> {
        let place = head.place;
        self.heads.iter().rev().filter(move |before| before.place == place)
    }

    /// Has the thread given back what it took since the read `from`?
    fn is_free(&self, from: usize) -> bool {
        !self.open.iter().any(|open| open.1 >= from)
    }

    /// Is the turn from the read `from` to `head` a candidate?
    fn is_candidate(&self, from: usize, head: &Head) -> bool {
        // What was taken within the turn is given back within it, so this is not the place to wait.
        if !self.is_free(from) {
            return false;
        }
        // Places where it would not be free do not count as better ones.
        let mut within = self.heads.iter().rev().take_while(|other| other.at >= from);
        if within.any(|other| other.free && other.first < head.first) {
            return false;
        }
        let turn = &self.reads[from..];
        turn.iter().enumerate().all(|(at, read)| {
            turn[..at].iter().rev().find(|other| other.0 == read.0).is_none_or(|other| other.1 == read.1)
        })
    }

    /// The locations it read in the turn that it would repeat.
    pub(crate) fn turn(&self, mut look: impl FnMut(Loc)) {
        if let Some(from) = self.turn {
            for (at, read) in self.reads.iter().enumerate().skip(from) {
                if !self.reads[from..at].iter().any(|other| other.0 == read.0) {
                    look(read.0);
                }
            }
        }
    }

    /// Could it see something new now?
    pub(crate) fn ready(&self, locations: &Locations) -> bool {
        self.turn.is_none_or(|from| {
            self.reads[from..].iter().any(|&(loc, seen, _)| locations.version(loc) != seen)
                || self.taken_from(from).any(|taken| locations.visits(taken.loc) != taken.visits)
        })
    }

    fn taken_from(&self, from: usize) -> impl Iterator<Item = &Taken> {
        self.taken.iter().filter(move |taken| taken.at >= from)
    }

    /// It does not wait, wherever it has been.
    pub(crate) fn go_on(&mut self) {
        self.turn = None;
    }

    /// It was chosen to go on. Had it only read?
    pub(crate) fn resume(&mut self) -> bool {
        self.turn.take().is_some_and(|from| self.taken_from(from).next().is_none())
    }
}
