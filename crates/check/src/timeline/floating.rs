//! Rows that are explained but do not stand in the order yet: held in little room, found by number.
//!
//! An enqueue may have to wait for its place until its value leaves, and with it every row since. Rows lie in
//! chunks, so that growth copies nothing and chunks at the front are given back. A row takes 20 bytes instead
//! of 32: the stamp of its call, the time it took, who and what, and its argument or its result. A chunk with
//! a row that does not fit into that holds all its rows as they are.

use std::collections::VecDeque;

use linpoint_history::{KeyId, OpCode, Operation, ProcessId, ValueId};

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(super) struct Floating {
    chunks: VecDeque<Chunk>,
    /// The number of the first row of the first chunk.
    base: u32,
    /// The numbers of the first row that is needed, and of the next to come.
    front: u32,
    end: u32,
}

#[derive(Clone, Debug)]
enum Chunk {
    Packed(Vec<Packed>),
    Whole(Vec<Operation>),
}

/// Call (two halves), duration, who and what, value. The duration's first bit says that the value is the
/// result.
#[derive(Clone, Copy, Debug)]
struct Packed([u32; 5]);

const ROWS: u32 = 1024;
const IS_RESULT: u32 = 1 << 31;

impl Floating {
    /// Forgets all rows below `needed`.
    pub fn forget(&mut self, needed: u32) {
        self.front = self.front.max(needed.min(self.end));
        while self.front - self.base >= ROWS {
            self.chunks.pop_front();
            self.base += ROWS;
        }
        if self.front == self.end {
            self.chunks.clear();
        }
    }

    /// The number of the next row to come, if some are here.
    pub fn end(&self) -> Option<u32> {
        (self.front < self.end).then_some(self.end)
    }

    /// Adds rows, the first of which is number `from`: the next to come, or any if none are here.
    pub fn extend(&mut self, from: u32, rows: &[Operation]) {
        if self.end().is_none() {
            self.chunks.clear();
            (self.base, self.front, self.end) = (from, from, from);
        }
        assert!(from == self.end, "rows float in one piece");
        for row in rows {
            if (self.end - self.base).is_multiple_of(ROWS) {
                self.chunks.push_back(Chunk::Packed(Vec::with_capacity(ROWS as usize)));
            }
            if let Some(chunk) = self.chunks.back_mut() {
                chunk.push(row);
            }
            self.end += 1;
        }
    }

    /// A row, if it is here.
    pub fn get(&self, id: u32) -> Option<Operation> {
        if id < self.front || id >= self.end {
            return None;
        }
        let at = id - self.base;
        let within = (at % ROWS) as usize;
        match &self.chunks[(at / ROWS) as usize] {
            Chunk::Packed(rows) => Some(rows[within].unpack()),
            Chunk::Whole(rows) => Some(rows[within]),
        }
    }
}

impl Chunk {
    fn push(&mut self, row: &Operation) {
        match (self, Packed::pack(row)) {
            (Chunk::Packed(rows), Some(packed)) => rows.push(packed),
            (Chunk::Whole(rows), _) => rows.push(*row),
            (chunk @ Chunk::Packed(_), None) => {
                let mut whole = Vec::with_capacity(ROWS as usize);
                if let Chunk::Packed(rows) = chunk {
                    whole.extend(rows.iter().map(Packed::unpack));
                }
                whole.push(*row);
                *chunk = Chunk::Whole(whole);
            }
        }
    }
}

impl Packed {
    fn pack(row: &Operation) -> Option<Packed> {
        let duration = u32::try_from(row.ret.checked_sub(row.call)?).ok()?;
        let is_result = row.arg == ValueId::NULL;
        if duration >= IS_RESULT || row.key != KeyId::NONE || !is_result && row.result != ValueId::NULL {
            return None;
        }
        let (value, bit) = if is_result { (row.result, IS_RESULT) } else { (row.arg, 0) };
        let who = row.process().0 << 8 | u32::from(row.op().0);
        Some(Packed([row.call as u32, (row.call >> 32) as u32, duration | bit, who, value.0]))
    }

    fn unpack(&self) -> Operation {
        let Packed([low, high, duration, who, value]) = *self;
        let mut row = Operation::new(ProcessId(who >> 8), OpCode(who as u8));
        row.call = (u64::from(high) << 32 | u64::from(low)) as i64;
        row.ret = row.call + i64::from(duration & !IS_RESULT);
        if duration & IS_RESULT != 0 {
            row.result = ValueId(value);
        } else {
            row.arg = ValueId(value);
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use linpoint_history::rng::Rng;

    use super::*;

    #[test]
    fn gives_back_what_it_took() {
        let mut rng = Rng::new(4);
        for odd in [0.0, 0.001, 0.3] {
            let mut rows = Vec::new();
            let mut floating = Floating::default();
            let mut needed = 0;
            for _ in 0..400 {
                let from = rows.len();
                for _ in 0..rng.below(60) {
                    let mut row =
                        Operation::new(ProcessId(rng.below(1 << 24) as u32), OpCode(rng.below(256) as u8));
                    row.call = rng.bits() as i64 >> rng.below(40);
                    row.ret = row.call.saturating_add(rng.below(1 << 31) as i64);
                    let value = ValueId(rng.bits() as u32);
                    if rng.chance(0.5) {
                        row.arg = value;
                    } else {
                        row.result = value;
                    }
                    if rng.chance(odd) {
                        (row.arg, row.result) = (value, ValueId(7));
                        row.key = KeyId(rng.below(5) as u32);
                        row.ret = row.call.saturating_add(1 << rng.below(50));
                    }
                    rows.push(row);
                }
                // What nobody needs any more when it comes need not be given.
                let first = floating.end().unwrap_or(needed.max(from as u32));
                floating.extend(first, &rows[first as usize..]);
                needed += rng.below(2 * (rows.len() as u64 - u64::from(needed)) / 3 + 1) as u32;
                floating.forget(needed);
                for id in 0..rows.len() as u32 + 3 {
                    let expected = rows.get(id as usize).filter(|_| id >= needed).copied();
                    assert_eq!(floating.get(id), expected);
                }
            }
        }
    }
}
