//! What another engine begins with, where the one at work meets an operation that it does not know.
//!
//! The engines for streams are chosen for the operations that are usual, and some objects have rare ones
//! (`change_key`, `insert_pair`) or values (text as a priority) that only a slower engine takes. That one
//! needs the past. It is kept as rows since the last *cut*: a moment at which nothing was open and the whole
//! order up to it had passed its recheck.
//!
//! In a bag (priority queue, multiset) the contents at such a moment do not depend on the order: the initial
//! ones, those put in, less those taken out. So the later part is decided from there, and nothing is lost:
//! every order of the whole is one of the earlier part followed by one of the later part. In other objects
//! the order matters, so for them there is no cut, and all rows are kept. In either case no more than a
//! bound: beyond that the past is given up, and an operation that the engine does not know makes the stream
//! `unknown`, as the verdict then says.

use linpoint_history::specs::codes::{priority_queue, set};
use linpoint_history::{Builtin, Kind, Operation, Symbols, Value, ValueId};
use rustc_hash::FxHashMap;

/// So many rows are kept at most: of a bag, which is cut now and then, and of other objects, where it is
/// hardly ever needed.
const MOST_OF_BAGS: usize = 1 << 16;
const MOST_OF_OTHERS: usize = 1 << 13;
/// Cuts are not made for less.
const WORTH_A_CUT: usize = 256;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Restart {
    kind: Kind,
    /// What was in the object at the cut, where that can be told.
    contents: Option<FxHashMap<ValueId, u32>>,
    pub(super) rows: Vec<Operation>,
    pub(super) pending: Vec<Operation>,
    /// Operations before the cut.
    pub(super) before: u64,
    /// Were rows given up?
    is_lost: bool,
    /// Is there a row whose effect on the contents is not followed?
    is_kept_whole: bool,
}

impl Restart {
    /// Nothing has happened yet.
    pub(super) fn new(spec: &Builtin, symbols: &Symbols) -> Restart {
        let is_bag = matches!(spec.kind, Kind::PriorityQueue | Kind::PriorityQueueMax | Kind::Multiset);
        let contents = (is_bag && spec.capacity.is_none() && !spec.spurious).then(|| {
            let mut contents = FxHashMap::default();
            if let Value::List(items) = &spec.initial {
                for id in items.iter().filter_map(|item| symbols.find(item)) {
                    *contents.entry(id).or_insert(0) += 1;
                }
            }
            contents
        });
        let (rows, pending) = (Vec::new(), Vec::new());
        Restart { kind: spec.kind, contents, rows, pending, before: 0, is_lost: false, is_kept_whole: false }
    }

    /// An operation has returned.
    pub(super) fn note(&mut self, row: Operation) {
        let most = if self.contents.is_some() { MOST_OF_BAGS } else { MOST_OF_OTHERS };
        if self.rows.len() >= most {
            self.give_up();
        }
        if !self.is_lost {
            self.rows.push(row);
        }
    }

    /// An operation will never return.
    pub(super) fn note_pending(&mut self, row: Operation) {
        self.pending.push(row);
    }

    /// Nobody else takes over any more.
    pub(super) fn give_up(&mut self) {
        self.is_lost = true;
        (self.rows, self.pending) = (Vec::new(), Vec::new());
    }

    /// Is a cut wanted, should this be a moment for one?
    pub(super) fn wants_cut(&self) -> bool {
        let is_worth_it = self.pending.is_empty() && self.rows.len() >= WORTH_A_CUT;
        self.contents.is_some() && !self.is_kept_whole && is_worth_it
    }

    /// All that was noted has its place: from now on the contents stand for it.
    pub(super) fn cut(&mut self) {
        // What else an operation does to the contents is not followed: then there is no cut.
        let kind = self.kind;
        let is_followed = |row: &Operation| match kind {
            Kind::Multiset => matches!(row.op(), set::ADD | set::REMOVE | set::CONTAINS),
            Kind::PriorityQueue | Kind::PriorityQueueMax => {
                matches!(row.op(), priority_queue::INSERT | priority_queue::REMOVE)
            }
            _ => false,
        };
        if !self.rows.iter().all(is_followed) {
            self.is_kept_whole = true;
            return;
        }
        let Some(contents) = &mut self.contents else { return };
        for row in &self.rows {
            let (value, is_in) = match (self.kind, row.op()) {
                (Kind::Multiset, set::ADD) => (row.arg, true),
                (Kind::Multiset, set::REMOVE) if row.result == ValueId::TRUE => (row.arg, false),
                (Kind::PriorityQueue | Kind::PriorityQueueMax, priority_queue::INSERT) => (row.arg, true),
                (Kind::PriorityQueue | Kind::PriorityQueueMax, priority_queue::REMOVE) => (row.result, false),
                _ => continue,
            };
            if is_in {
                *contents.entry(value).or_insert(0) += 1;
            } else if let Some(count) = contents.get_mut(&value) {
                *count -= 1;
                if *count == 0 {
                    contents.remove(&value);
                }
            }
        }
        self.before += self.rows.len() as u64;
        self.rows.clear();
    }

    /// The object at the cut, for an engine that is given the rows since; `None` where they are not known any
    /// more.
    pub(super) fn begin(&self, spec: &Builtin, symbols: &Symbols) -> Option<Builtin> {
        if self.is_lost {
            return None;
        }
        let Some(contents) = &self.contents else { return Some(spec.clone()) };
        let item = |(id, count): (&ValueId, &u32)| std::iter::repeat_n(symbols.value(*id), *count as usize);
        let mut items: Vec<Value> = contents.iter().flat_map(item).collect();
        items.sort();
        Some(spec.clone().with_initial(Value::list(items)))
    }
}
