//! Heaps by number: what a view shows besides its thread.
//!
//! Equal heaps have one number, so that what others may do to a heap is worked out once, whoever sees it. Heaps with the same names, which may be joined for one thread, have one *frame*.

use rustc_hash::FxHashMap;

use crate::interference::ANYONE;
use crate::store::Domain;
use crate::structure::Structure;

/// Heaps by number.
#[derive(Debug)]
pub(crate) struct Heaps {
    ids: FxHashMap<Structure, u32>,
    frames: FxHashMap<Structure, u32>,
    domain: Domain,
    /// Each heap, with anyone as its thread.
    pub all: Vec<Structure>,
    /// The frame of each.
    pub frame: Vec<u32>,
    bytes: usize,
}

impl Heaps {
    /// None, to be joined in this domain.
    pub fn new(domain: Domain) -> Heaps {
        Heaps {
            ids: FxHashMap::default(),
            frames: FxHashMap::default(),
            domain,
            all: Vec::new(),
            frame: Vec::new(),
            bytes: 0,
        }
    }

    /// The number of a heap; whose it is does not matter.
    pub fn number(&mut self, mut s: Structure) -> u32 {
        s.threads[0] = ANYONE;
        if let Some(id) = self.ids.get(&s) {
            return *id;
        }
        let fresh = self.frames.len() as u32;
        let frame = *self.frames.entry(self.domain.frame(&s)).or_insert(fresh);
        let id = self.all.len() as u32;
        self.bytes += 320 + s.nodes.len() * 64;
        self.frame.push(frame);
        self.all.push(s.clone());
        self.ids.insert(s, id);
        id
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
