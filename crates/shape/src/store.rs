//! The structures met so far, in one of three domains.
//!
//! - **Joined** (the usual one): one structure a skeleton; rows of equal skeletons are united. Everything
//!   that relates names is in the skeleton, and a row that became uncertain is split again where it is read.
//! - **Links**: structures are joined only if the links of nodes with certain names lead to the same, too;
//!   other links are united.
//! - **Disjunctive** (Amit 2007): every canonical structure apart.
//!
//! What structures must share to be joined is their *frame*.

use std::hash::Hash;

use crate::index::{Index, hash_of};
use crate::layout::Mask;
use crate::structure::{Node, Structure};

/// How structures are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// One a skeleton.
    Joined,
    /// One a skeleton with the links of nodes that have one of these names.
    Links(Mask),
    /// Each apart.
    Disjunctive,
}

/// Too many nodes in one structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Domain {
    /// The hash of a canonical structure's frame, threads aside.
    pub(crate) fn hash(self, s: &Structure, hasher: &mut impl std::hash::Hasher) {
        s.globals.hash(hasher);
        for node in &s.nodes {
            match self {
                Domain::Joined if node.many => {}
                Domain::Joined => node.mask.hash(hasher),
                Domain::Links(names) if node.many || node.mask & names == 0 => node.mask.hash(hasher),
                Domain::Links(_) | Domain::Disjunctive => node.hash(hasher),
            }
        }
    }

    /// Do two canonical structures have one frame, threads aside?
    pub(crate) fn same_frame(self, a: &Structure, b: &Structure) -> bool {
        if a.globals != b.globals {
            return false;
        }
        let rows = |a: &Node, b: &Node| a.row == b.row && a.other == b.other;
        match self {
            Domain::Joined => a.same_names(b),
            Domain::Disjunctive => a.nodes == b.nodes,
            Domain::Links(names) => {
                let same = |(a, b): (&Node, &Node)| {
                    a.mask == b.mask && (a.many || a.mask & names == 0 || rows(a, b))
                };
                a.nodes.len() == b.nodes.len() && a.nodes.iter().zip(&b.nodes).all(same)
            }
        }
    }
}

/// Structures by number; `K` tells apart what must not be joined.
#[derive(Debug)]
pub struct Store<K> {
    domain: Domain,
    index: Index,
    keys: Vec<K>,
    /// The structures.
    pub all: Vec<Structure>,
    bytes: usize,
}

impl<K: Hash + Eq + Clone> Store<K> {
    /// An empty one.
    pub fn new(domain: Domain) -> Store<K> {
        Store { domain, index: Index::default(), keys: Vec::new(), all: Vec::new(), bytes: 0 }
    }

    fn hash(&self, key: &K, s: &Structure) -> u64 {
        hash_of(|hasher| {
            key.hash(hasher);
            s.threads.hash(hasher);
            self.domain.hash(s, hasher);
        })
    }

    fn find(&self, key: &K, s: &Structure, hash: u64) -> Option<u32> {
        self.index.find(hash, |id| {
            let found = &self.all[id];
            self.keys[id] == *key && found.threads == s.threads && self.domain.same_frame(found, s)
        })
    }

    /// Adds a canonical structure: its number, and whether there is something new to it.
    pub fn add(&mut self, key: &K, s: Structure) -> Result<(u32, bool), Full> {
        let hash = self.hash(key, &s);
        if let Some(id) = self.find(key, &s, hash) {
            if self.domain == Domain::Disjunctive {
                return Ok((id, false));
            }
            let grown = self.all[id as usize].join(&s).ok_or(Full)?;
            return Ok((id, grown));
        }
        self.bytes += 120 + s.nodes.len() * 32 + s.threads.len() * 24;
        self.keys.push(key.clone());
        self.all.push(s);
        Ok((self.index.add(hash), true))
    }

    /// The number of the structure with which this one would be joined.
    pub(crate) fn number(&self, key: &K, s: &Structure) -> Option<u32> {
        self.find(key, s, self.hash(key, s))
    }

    /// Is there a structure that covers this one?
    pub fn covers(&self, key: &K, s: &Structure) -> bool {
        let found = self.find(key, s, self.hash(key, s));
        found.is_some_and(|id| self.domain == Domain::Disjunctive || self.all[id as usize].covers(s))
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
