//! Registers to which no value is written twice: a write and the reads of its value are one *cluster*, and
//! between them nothing else is written.
//!
//! So a write may not come while reads of the value before it are missing, nor while something outside its
//! cluster is missing that precedes one of its reads, by stamps or in a process. With one register a search
//! that keeps to this never turns back: what may come next is a cluster that no other precedes, and if there
//! is none, clusters precede each other in a circle.

use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Kind, Operation, Symbols, ValueId};
use rustc_hash::FxHashMap;

use crate::depth_first::links::Calls;

/// See the module's text.
pub(super) struct Clusters {
    /// The cluster of each row: the number of its write, or, of the value that was there first, one of its
    /// object.
    cluster: Vec<u32>,
    /// Completed reads of each cluster, how many of them are missing, and their latest call.
    reads: Vec<Vec<u32>>,
    missing: Vec<u32>,
    latest_call: Vec<i64>,
    touched: Vec<u32>,
    done: Vec<bool>,
    objects: Vec<Object>,
    local: Vec<u32>,
    write: linpoint_history::OpCode,
}

struct Object {
    is_distinct: bool,
    /// Clusters in the order in which they came; the last is the present one.
    present: Vec<u32>,
    rows: Vec<u32>,
    /// Missing completed operations in order of return.
    returns: Calls,
}

const NONE: u32 = u32::MAX;
const FAR: usize = 48;

impl Clusters {
    /// What is known of a history of registers that are only read and written; nothing for other objects.
    pub(super) fn new(
        spec: &Builtin,
        symbols: &Symbols,
        rows: &[Operation],
        completed: usize,
        object: &[u32],
        objects: usize,
    ) -> Option<Clusters> {
        let (write, read) = match spec.kind {
            Kind::Register => (codes::register::WRITE, codes::register::READ),
            Kind::Kv => (codes::kv::PUT, codes::kv::GET),
            _ => return None,
        };
        let initial = symbols.find(&spec.initial)?;
        let first = rows.len() as u32;
        let mut written: FxHashMap<(u32, ValueId), u32> =
            (0..objects as u32).map(|object| ((object, initial), first + object)).collect();
        let mut is_distinct = vec![true; objects];
        for (index, (row, &object)) in rows.iter().zip(object).enumerate() {
            if row.op() == write {
                is_distinct[object as usize] &= written.insert((object, row.arg), index as u32).is_none();
            }
            is_distinct[object as usize] &= row.op() == write || row.op() == read;
        }
        let all = rows.len() + objects;
        let mut clusters = Clusters {
            cluster: vec![NONE; rows.len()],
            reads: vec![Vec::new(); all],
            missing: vec![0; all],
            latest_call: vec![i64::MIN; all],
            touched: touched(rows),
            done: vec![false; rows.len()],
            objects: Vec::new(),
            local: Vec::with_capacity(rows.len()),
            write,
        };
        let mut of_object: Vec<Vec<u32>> = vec![Vec::new(); objects];
        for (index, (row, &object)) in rows.iter().zip(object).enumerate() {
            clusters.local.push(of_object[object as usize].len() as u32);
            of_object[object as usize].push(index as u32);
            if row.op() == write {
                clusters.cluster[index] = index as u32;
            } else if let Some(&of) = written.get(&(object, row.result)).filter(|_| index < completed) {
                clusters.cluster[index] = of;
                clusters.reads[of as usize].push(index as u32);
                clusters.missing[of as usize] += 1;
                clusters.latest_call[of as usize] = clusters.latest_call[of as usize].max(row.call);
            }
        }
        let make = |(index, rows): (usize, Vec<u32>)| {
            let order: Vec<u32> =
                (0..rows.len() as u32).filter(|&at| (rows[at as usize] as usize) < completed).collect();
            let returns = Calls::in_order(rows.len() as u32, &order);
            Object { is_distinct: is_distinct[index], present: vec![first + index as u32], rows, returns }
        };
        clusters.objects = of_object.into_iter().enumerate().map(make).collect();
        Some(clusters)
    }

    /// May this operation come next?
    pub(super) fn admits(&self, rows: &[Operation], object: u32, row: u32) -> bool {
        let of = &self.objects[object as usize];
        if rows[row as usize].op() != self.write || !of.is_distinct {
            return true;
        }
        if of.present.last().is_some_and(|&present| self.missing[present as usize] > 0) {
            return false;
        }
        let latest = self.latest_call[row as usize];
        let mut next = of.returns.first();
        for _ in 0..FAR {
            let Some(at) = next else { break };
            let other = of.rows[at as usize];
            if self.cluster[other as usize] != row {
                if rows[other as usize].ret < latest {
                    return false;
                }
                break;
            }
            next = of.returns.after(at);
        }
        self.reads[row as usize].iter().take(FAR).all(|&read| self.admits_process(rows, row, read))
    }

    /// As far as operations tell that a read touches.
    fn admits_process(&self, rows: &[Operation], row: u32, read: u32) -> bool {
        let key = rows[row as usize].key;
        let mut before = self.touched[read as usize];
        for _ in 0..FAR {
            let Some(op) = rows.get(before as usize).filter(|_| !self.done[before as usize]) else { break };
            if op.key == key && self.cluster[before as usize] != row {
                return false;
            }
            before = self.touched[before as usize];
        }
        true
    }

    /// An operation takes effect.
    pub(super) fn take(&mut self, rows: &[Operation], object: u32, row: u32) {
        let of = &mut self.objects[object as usize];
        self.done[row as usize] = true;
        if !rows[row as usize].is_pending() {
            of.returns.remove(self.local[row as usize]);
        }
        match self.cluster[row as usize] {
            write if write == row => of.present.push(row),
            NONE => {}
            cluster => self.missing[cluster as usize] -= 1,
        }
    }

    /// The last operation that took effect is taken back.
    pub(super) fn take_back(&mut self, rows: &[Operation], object: u32, row: u32) {
        let of = &mut self.objects[object as usize];
        self.done[row as usize] = false;
        if !rows[row as usize].is_pending() {
            of.returns.put_back(self.local[row as usize]);
        }
        match self.cluster[row as usize] {
            write if write == row => drop(of.present.pop()),
            NONE => {}
            cluster => self.missing[cluster as usize] += 1,
        }
    }
}

/// For each row the one of the same process that returned at the stamp of its call.
pub(super) fn touched(rows: &[Operation]) -> Vec<u32> {
    let processes = rows.iter().map(|row| row.process().0 as usize + 1).max().unwrap_or(0);
    let mut last = vec![NONE; processes];
    let touched = |(index, row): (usize, &Operation)| {
        let before = std::mem::replace(&mut last[row.process().0 as usize], index as u32);
        let touches = rows.get(before as usize).is_some_and(|before| before.ret == row.call);
        if touches { before } else { NONE }
    };
    rows.iter().enumerate().map(touched).collect()
}
