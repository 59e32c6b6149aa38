//! What the ends of a history tell about its beginning, where operations of one process may touch: insertions
//! that would be too early.
//!
//! Let x be a value that one operation inserts and another, d, removes; *before* is what stamps and processes
//! say. Whatever the rest of the order is:
//!
//! - *All.* A removal that found nothing, before d, comes before x goes in.
//! - *Queue.* What is removed before d goes in before x does ([`Foresight`] has the part of stamps).
//! - *Stack.* x does not go on top of what is removed before d. What goes in before d and is removed after d
//!   (or never) goes in before x does.
//! - *Priority queue.* What leaves after x, and is removed before d, is gone when x goes in.
//!
//! A search that goes forward would notice only when it comes to d. Only so many operations are looked at,
//! since nothing but time rests on it.

use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Kind, Operation, Symbols, Value, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::clusters::touched;
use super::needed;
use crate::depth_first::links::Calls;
use crate::depth_first::{Foresight, Role};

/// See the module's text.
pub(super) struct Ahead {
    kind: Kind,
    objects: Vec<Option<Object>>,
    /// Is no value inserted twice, by object?
    is_distinct: Vec<bool>,
    /// The number of each row in its object.
    local: Vec<u32>,
    /// Of an insertion its removal, of a removal its insertion.
    partner: Vec<u32>,
    /// The row of the same process that returned at the stamp of this one's call.
    touched: Vec<u32>,
    done: Vec<bool>,
}

struct Object {
    foresight: Option<Foresight>,
    /// By number in the object, which row.
    rows: Vec<u32>,
    /// Missing operations in order of return: those that found nothing, those that insert, those that remove.
    empties: Calls,
    insertions: Calls,
    removals: Calls,
}

const NONE: u32 = u32::MAX;
/// How many operations are looked at.
const FAR: usize = 48;

impl Ahead {
    /// What is known of a history, whose `rows` are the completed ones in order of return, then those that
    /// never returned.
    pub(super) fn new(
        spec: &Builtin,
        symbols: &Symbols,
        rows: &[Operation],
        completed: usize,
        object: &[u32],
        objects: usize,
    ) -> Ahead {
        use Kind::{Deque, PriorityQueue, PriorityQueueMax, Queue, Stack};
        let is_plain = spec.capacity.is_none() && !spec.spurious;
        let mut ahead = Ahead {
            kind: spec.kind,
            objects: Vec::new(),
            is_distinct: vec![false; objects],
            local: Vec::new(),
            partner: Vec::new(),
            touched: Vec::new(),
            done: Vec::new(),
        };
        if !is_plain || !matches!(spec.kind, Queue | Stack | Deque | PriorityQueue | PriorityQueueMax) {
            return ahead;
        }
        let inserted = ahead.inserted(spec, symbols, rows, object);
        if spec.kind == Deque {
            return ahead;
        }
        ahead.match_rows(rows, object, &inserted);
        let mut has_open_removal = vec![false; objects];
        let mut of_object: Vec<Vec<u32>> = vec![Vec::new(); objects];
        for (index, (row, &object)) in rows.iter().zip(object).enumerate() {
            has_open_removal[object as usize] |= row.is_pending() && !inserts(spec.kind, row);
            ahead.local.push(of_object[object as usize].len() as u32);
            of_object[object as usize].push(index as u32);
        }
        let object = |(index, numbers): (usize, Vec<u32>)| {
            let usable = ahead.is_distinct[index] && !has_open_removal[index];
            usable.then(|| ahead.object(numbers, rows, completed))
        };
        ahead.objects = of_object.into_iter().enumerate().map(object).collect();
        ahead
    }

    /// Who inserts which value; notes where one is inserted twice.
    fn inserted(
        &mut self,
        spec: &Builtin,
        symbols: &Symbols,
        rows: &[Operation],
        object: &[u32],
    ) -> FxHashMap<(u32, ValueId), u32> {
        let items = match &spec.initial {
            Value::List(items) => items.as_ref(),
            _ => &[],
        };
        let first: FxHashSet<ValueId> = items.iter().filter_map(|item| symbols.find(item)).collect();
        self.is_distinct.fill(first.len() == items.len());
        let mut inserted: FxHashMap<(u32, ValueId), u32> = FxHashMap::default();
        for (index, (row, &object)) in rows.iter().zip(object).enumerate() {
            if inserts(self.kind, row) {
                let is_new = inserted.insert((object, row.arg), index as u32).is_none();
                self.is_distinct[object as usize] &= is_new && !first.contains(&row.arg);
            } else if self.kind != Kind::Deque && row.op() == codes::priority_queue::CHANGE_KEY {
                self.is_distinct[object as usize] = false;
            }
        }
        inserted
    }

    fn match_rows(&mut self, rows: &[Operation], object: &[u32], inserted: &FxHashMap<(u32, ValueId), u32>) {
        (self.partner, self.touched) = (vec![NONE; rows.len()], touched(rows));
        self.done = vec![false; rows.len()];
        for (index, (row, &object)) in rows.iter().zip(object).enumerate() {
            if takes(self.kind, row)
                && let Some(&insertion) = inserted.get(&(object, row.result))
            {
                self.partner[index] = insertion;
                self.partner[insertion as usize] = index as u32;
            }
        }
    }

    fn object(&self, numbers: Vec<u32>, rows: &[Operation], completed: usize) -> Object {
        let end = numbers.len() as u32;
        let is_done = |at: &u32| (numbers[*at as usize] as usize) < completed;
        let those = |wanted: &dyn Fn(&Operation) -> bool| {
            let order: Vec<u32> =
                (0..end).filter(|at| is_done(at) && wanted(&rows[numbers[*at as usize] as usize])).collect();
            Calls::in_order(end, &order)
        };
        let role = |&row: &u32| {
            let op = &rows[row as usize];
            match (inserts(self.kind, op), self.partner[row as usize]) {
                (true, NONE) => Role::Inserts { from: u32::MAX, to: u32::MAX },
                (true, removal) => {
                    let call = rows[removal as usize].call;
                    let from = rows[..completed].partition_point(|done| done.ret < call) as u32;
                    Role::Inserts { from, to: removal }
                }
                (false, _) if takes(self.kind, op) => Role::Removes,
                (false, _) => Role::Looks,
            }
        };
        let is_line = matches!(self.kind, Kind::Queue | Kind::Stack);
        Object {
            foresight: is_line.then(|| Foresight::new(self.kind, numbers.iter().map(role).collect())),
            empties: those(&|op| !inserts(self.kind, op) && !takes(self.kind, op)),
            insertions: those(&|op| inserts(self.kind, op)),
            removals: those(&|op| takes(self.kind, op)),
            rows: numbers,
        }
    }

    /// Is this a removal that may as well take effect as soon as it fits?
    pub(super) fn is_free(&self, object: u32, op: &Operation) -> bool {
        self.is_distinct[object as usize] && takes(self.kind, op)
    }

    /// May this operation come next?
    pub(super) fn admits(&self, rows: &[Operation], object: u32, row: u32) -> bool {
        let Some(Some(ahead)) = self.objects.get(object as usize) else { return true };
        if !inserts(self.kind, &rows[row as usize]) {
            return true;
        }
        if ahead.foresight.as_ref().is_some_and(|foresight| !foresight.admits(self.local[row as usize])) {
            return false;
        }
        let removal = self.partner[row as usize];
        if removal == NONE {
            // What stays inside goes in after all have found nothing.
            return ahead.empties.first().is_none();
        }
        let call = rows[removal as usize].call;
        let is_early = |at: u32| rows[ahead.rows[at as usize] as usize].ret < call;
        !ahead.empties.first().is_some_and(is_early)
            && self.admits_process(rows, row, removal)
            && self.admits_others(rows, ahead, row, removal)
    }

    /// As far as operations tell that the removal touches.
    fn admits_process(&self, rows: &[Operation], row: u32, removal: u32) -> bool {
        let mut before = self.touched[removal as usize];
        for _ in 0..FAR {
            let Some(op) = rows.get(before as usize).filter(|_| !self.done[before as usize]) else { break };
            let partner = self.partner[before as usize];
            let is_same = op.key == rows[row as usize].key;
            if before != row && is_same {
                let refused = if takes(self.kind, op) {
                    match self.kind {
                        Kind::Queue => partner != NONE && !self.done[partner as usize],
                        Kind::Stack => partner != NONE && self.done[partner as usize],
                        _ => self.leaves_later(op.result, rows[row as usize].arg),
                    }
                } else if inserts(self.kind, op) {
                    self.kind == Kind::Stack && self.is_removed_after(rows, partner, removal)
                } else {
                    true
                };
                if refused {
                    return false;
                }
            }
            before = self.touched[before as usize];
        }
        true
    }

    /// As far as stamps tell.
    fn admits_others(&self, rows: &[Operation], ahead: &Object, row: u32, removal: u32) -> bool {
        let call = rows[removal as usize].call;
        let list = match self.kind {
            Kind::Stack => &ahead.insertions,
            Kind::PriorityQueue | Kind::PriorityQueueMax => &ahead.removals,
            _ => return true,
        };
        let mut next = list.first();
        for _ in 0..FAR {
            let Some(at) = next else { break };
            let other = ahead.rows[at as usize];
            let op = &rows[other as usize];
            if op.ret >= call {
                break;
            }
            let refused = match self.kind {
                Kind::Stack => self.is_removed_after(rows, self.partner[other as usize], removal),
                _ => self.leaves_later(op.result, rows[row as usize].arg),
            };
            if other != row && refused {
                return false;
            }
            next = list.after(at);
        }
        true
    }

    /// Does this removal, if there is one, come after that one?
    fn is_removed_after(&self, rows: &[Operation], removal: u32, other: u32) -> bool {
        removal == NONE || rows[removal as usize].call > rows[other as usize].ret
    }

    /// Of an insertion its removal, of a removal its insertion, if there is one.
    pub(super) fn partner(&self, row: u32) -> u32 {
        self.partner[row as usize]
    }

    /// Is anything known of the order in which values come and leave?
    pub(super) fn is_known(&self) -> bool {
        self.objects.iter().any(Option::is_some)
    }

    /// Does an operation put a value in?
    pub(super) fn inserts(&self, op: &Operation) -> bool {
        inserts(self.kind, op)
    }

    /// What an operation does to its collection.
    pub(super) fn role(&self, op: &Operation) -> needed::Role {
        match (inserts(self.kind, op), takes(self.kind, op)) {
            (true, _) => needed::Role::Insertion,
            (_, true) => needed::Role::Removal,
            (false, false) if op.is_pending() => needed::Role::Other,
            (false, false) => needed::Role::Empty,
        }
    }

    /// Does a priority queue give `a` after `b`?
    pub(super) fn leaves_later(&self, a: ValueId, b: ValueId) -> bool {
        let both = a.small().is_some() && b.small().is_some();
        both && if self.kind == Kind::PriorityQueue { a.0 > b.0 } else { a.0 < b.0 }
    }

    /// An operation takes effect.
    pub(super) fn take(&mut self, rows: &[Operation], object: u32, row: u32) {
        if let Some(done) = self.done.get_mut(row as usize) {
            *done = true;
        }
        let Some(Some(ahead)) = self.objects.get_mut(object as usize) else { return };
        let at = self.local[row as usize];
        if let Some(foresight) = &mut ahead.foresight {
            foresight.done(at);
        }
        if let Some(list) = list(self.kind, ahead, &rows[row as usize]) {
            list.remove(at);
        }
    }

    /// The last operation that took effect is taken back.
    pub(super) fn take_back(&mut self, rows: &[Operation], object: u32, row: u32) {
        if let Some(done) = self.done.get_mut(row as usize) {
            *done = false;
        }
        let Some(Some(ahead)) = self.objects.get_mut(object as usize) else { return };
        let at = self.local[row as usize];
        if let Some(foresight) = &mut ahead.foresight {
            foresight.undone(at);
        }
        if let Some(list) = list(self.kind, ahead, &rows[row as usize]) {
            list.put_back(at);
        }
    }
}

/// The list in which a completed operation is.
fn list<'a>(kind: Kind, ahead: &'a mut Object, op: &Operation) -> Option<&'a mut Calls> {
    match (inserts(kind, op), takes(kind, op)) {
        _ if op.is_pending() => None,
        (true, _) => Some(&mut ahead.insertions),
        (_, true) => Some(&mut ahead.removals),
        (false, false) => Some(&mut ahead.empties),
    }
}

fn inserts(kind: Kind, op: &Operation) -> bool {
    match kind {
        Kind::Deque => matches!(op.op(), codes::deque::PUSH_FRONT | codes::deque::PUSH_BACK),
        _ => op.op() == codes::queue::ENQUEUE,
    }
}

/// Does an operation take a value out?
fn takes(kind: Kind, op: &Operation) -> bool {
    let removes = match kind {
        Kind::Deque => matches!(op.op(), codes::deque::POP_FRONT | codes::deque::POP_BACK),
        _ => op.op() == codes::queue::DEQUEUE,
    };
    removes && op.result != ValueId::NULL && !op.is_pending()
}
