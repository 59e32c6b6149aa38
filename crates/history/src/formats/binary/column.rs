//! Columns of numbers: the least of them, and each one's distance to it in as few bytes as the largest needs.

use super::ROWS;
use super::block::damaged;
use crate::diagnostic::Diagnostic;

/// A block's rows, by column.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub ops: Vec<u32>,
    pub processes: Vec<u32>,
    /// The number of the key plus one; zero for none.
    pub keys: Vec<u32>,
    pub args: Vec<u32>,
    pub results: Vec<u32>,
    /// The return stamp less that of the row before.
    pub returns: Vec<u64>,
    /// From call to return.
    pub durations: Vec<u64>,
    /// What the first row's return stamp is counted from.
    pub start: i64,
}

impl Columns {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Reads a block's payload.
    pub fn read(&mut self, payload: &[u8]) -> Result<(), Diagnostic> {
        let mut rest = payload;
        let count = u32::from_le_bytes(take(&mut rest)?) as usize;
        if count > ROWS {
            return Err(damaged("a block has too many rows"));
        }
        self.start = i64::from_le_bytes(take(&mut rest)?);
        for column in [&mut self.ops, &mut self.processes, &mut self.keys, &mut self.args, &mut self.results]
        {
            decode(&mut rest, count, column, |n| n as u32)?;
        }
        for column in [&mut self.returns, &mut self.durations] {
            decode(&mut rest, count, column, |n| n)?;
        }
        if rest.is_empty() { Ok(()) } else { Err(damaged("a block is longer than its rows")) }
    }

    /// Adds a block's payload to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend((self.len() as u32).to_le_bytes());
        out.extend(self.start.to_le_bytes());
        for column in [&self.ops, &self.processes, &self.keys, &self.args, &self.results] {
            encode(out, column.iter().map(|&n| i64::from(n)));
        }
        for column in [&self.returns, &self.durations] {
            encode(out, column.iter().map(|&n| n as i64));
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Diagnostic> {
    let (head, tail) = rest.split_first_chunk().ok_or_else(|| damaged("a block ends too early"))?;
    *rest = tail;
    Ok(*head)
}

fn decode<T: Copy>(
    rest: &mut &[u8],
    count: usize,
    out: &mut Vec<T>,
    fit: impl Fn(u64) -> T,
) -> Result<(), Diagnostic> {
    let [width] = take(rest)?;
    let base = u64::from_le_bytes(take(rest)?);
    let (bytes, tail) = rest
        .split_at_checked(count * usize::from(width))
        .ok_or_else(|| damaged("a block ends in a column"))?;
    *rest = tail;
    out.clear();
    match width {
        0 => out.resize(count, fit(base)),
        1 => out.extend(bytes.iter().map(|&b| fit(base.wrapping_add(u64::from(b))))),
        2 => out.extend(words(bytes).map(|b| fit(base.wrapping_add(u64::from(u16::from_le_bytes(b)))))),
        4 => out.extend(words(bytes).map(|b| fit(base.wrapping_add(u64::from(u32::from_le_bytes(b)))))),
        8 => out.extend(words(bytes).map(|b| fit(base.wrapping_add(u64::from_le_bytes(b))))),
        _ => return Err(damaged("a column has an impossible width")),
    }
    Ok(())
}

fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}

fn encode(out: &mut Vec<u8>, column: impl Iterator<Item = i64> + Clone) {
    let base = column.clone().min().unwrap_or(0);
    let distance = |n: i64| n.wrapping_sub(base) as u64;
    let width = match column.clone().map(distance).max().unwrap_or(0) {
        0 => 0,
        1..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    out.push(width);
    out.extend(base.to_le_bytes());
    for n in column {
        out.extend_from_slice(&distance(n).to_le_bytes()[..usize::from(width)]);
    }
}
