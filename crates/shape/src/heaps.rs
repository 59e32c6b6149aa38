//! Heaps by number: what a view shows besides its thread.
//!
//! Equal heaps have one number, so that what others may do to a heap is worked out once, whoever sees it.
//! Heaps with the same names, which may be joined for one thread, have one *frame*.

use crate::index::{Index, hash_of};
use crate::interference::ANYONE;
use crate::store::Domain;
use crate::structure::Structure;

/// Heaps by number.
#[derive(Debug)]
pub(crate) struct Heaps {
    ids: Index,
    frames: Index,
    /// A heap of each frame.
    example: Vec<u32>,
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
            ids: Index::default(),
            frames: Index::default(),
            example: Vec::new(),
            domain,
            all: Vec::new(),
            frame: Vec::new(),
            bytes: 0,
        }
    }

    /// The number of a heap; whose it is does not matter.
    pub fn number(&mut self, mut s: Structure) -> u32 {
        s.threads[0] = ANYONE;
        let hash = hash_of(|hasher| std::hash::Hash::hash(&(s.globals, &s.nodes), hasher));
        let all = &self.all;
        if let Some(id) = self.ids.find(hash, |id| all[id].nodes == s.nodes && all[id].globals == s.globals) {
            return id;
        }
        let frame = self.frame_of(&s);
        self.bytes += 160 + s.nodes.len() * 32;
        self.frame.push(frame);
        self.all.push(s);
        self.ids.add(hash)
    }

    fn frame_of(&mut self, s: &Structure) -> u32 {
        let (domain, all, example) = (self.domain, &self.all, &self.example);
        let hash = hash_of(|hasher| domain.hash(s, hasher));
        let found = self.frames.find(hash, |frame| domain.same_frame(&all[example[frame] as usize], s));
        found.unwrap_or_else(|| {
            self.example.push(self.all.len() as u32);
            self.frames.add(hash)
        })
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
