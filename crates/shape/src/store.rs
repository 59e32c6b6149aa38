//! The structures met so far, in one of two domains.
//!
//! - **Joined** (the usual one): one structure a skeleton; rows of equal skeletons are united. Everything that relates names is in the skeleton, and a row that became uncertain
//!   is split again where it is read.
//! - **Links**: structures are joined only if the links of nodes with certain names lead to the same, too; other links are united.
//! - **Disjunctive** (Amit 2007): every canonical structure apart.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::layout::Mask;
use crate::structure::{Skeleton, Structure};

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

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Skeleton(Skeleton),
    Whole(Structure),
}

impl Domain {
    /// What a canonical structure must share with others to be joined with them, as a structure.
    pub(crate) fn frame(self, s: &Structure) -> Structure {
        let mut frame = s.clone();
        match self {
            Domain::Disjunctive => {}
            Domain::Links(names) => {
                for node in frame.nodes.iter_mut().filter(|node| node.many || node.mask & names == 0) {
                    (node.row, node.other) = (0, 0);
                }
            }
            Domain::Joined => {
                frame.nodes.retain(|node| !node.many);
                for node in &mut frame.nodes {
                    (node.row, node.other) = (0, 0);
                }
            }
        }
        frame
    }
}

/// Structures by number; `K` tells apart what must not be joined.
#[derive(Debug)]
pub struct Store<K> {
    domain: Domain,
    ids: FxHashMap<(K, Name), u32>,
    /// The structures.
    pub all: Vec<Structure>,
    bytes: usize,
}

impl<K: Hash + Eq + Clone> Store<K> {
    /// An empty one.
    pub fn new(domain: Domain) -> Store<K> {
        Store { domain, ids: FxHashMap::default(), all: Vec::new(), bytes: 0 }
    }

    /// Adds a canonical structure: its number, and whether there is something new to it.
    pub fn add(&mut self, key: &K, s: Structure) -> Result<(u32, bool), Full> {
        let name = match self.domain {
            Domain::Joined => Name::Skeleton(s.skeleton()),
            finer => Name::Whole(finer.frame(&s)),
        };
        let fresh = self.all.len() as u32;
        match self.ids.entry((key.clone(), name)) {
            std::collections::hash_map::Entry::Occupied(found) => {
                let id = *found.get();
                if self.domain == Domain::Disjunctive {
                    return Ok((id, false));
                }
                let grown = self.all[id as usize].join(&s).ok_or(Full)?;
                Ok((id, grown))
            }
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(fresh);
                self.bytes += 160 + s.nodes.len() * 80 + s.threads.len() * 40;
                self.all.push(s);
                Ok((fresh, true))
            }
        }
    }

    /// The structure that covers this one, if there is one.
    pub fn covers(&self, key: &K, s: &Structure) -> bool {
        let name = match self.domain {
            Domain::Joined => Name::Skeleton(s.skeleton()),
            finer => Name::Whole(finer.frame(s)),
        };
        match self.ids.get(&(key.clone(), name)) {
            None => false,
            Some(id) => self.domain == Domain::Disjunctive || self.all[*id as usize].covers(s),
        }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
