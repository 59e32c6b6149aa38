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
            decode_small(&mut rest, count, column)?;
        }
        for column in [&mut self.returns, &mut self.durations] {
            decode(&mut rest, count, column)?;
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

/// The width of a column, its least number, and its distances.
fn column<'a>(rest: &mut &'a [u8], count: usize) -> Result<(u8, u64, &'a [u8]), Diagnostic> {
    let [width] = take(rest)?;
    let base = u64::from_le_bytes(take(rest)?);
    let (bytes, tail) = rest
        .split_at_checked(count * usize::from(width))
        .ok_or_else(|| damaged("a block ends in a column"))?;
    *rest = tail;
    Ok((width, base, bytes))
}

/// Stamps: differences, which wrap.
fn decode(rest: &mut &[u8], count: usize, out: &mut Vec<u64>) -> Result<(), Diagnostic> {
    let (width, base, bytes) = column(rest, count)?;
    out.clear();
    match width {
        0 => out.resize(count, base),
        1 => out.extend(bytes.iter().map(|&b| base.wrapping_add(u64::from(b)))),
        2 => out.extend(words(bytes).map(|b| base.wrapping_add(u64::from(u16::from_le_bytes(b))))),
        4 => out.extend(words(bytes).map(|b| base.wrapping_add(u64::from(u32::from_le_bytes(b))))),
        8 => out.extend(words(bytes).map(|b| base.wrapping_add(u64::from_le_bytes(b)))),
        _ => return Err(damaged("a column has an impossible width")),
    }
    Ok(())
}

/// Numbers of 32 bits: a larger one stands for nothing.
fn decode_small(rest: &mut &[u8], count: usize, out: &mut Vec<u32>) -> Result<(), Diagnostic> {
    let (width, base, bytes) = column(rest, count)?;
    let base = u32::try_from(base).map_err(|_| too_large())?;
    // Where the width alone does not say that all is well, the largest is looked for.
    let room = u32::MAX - base;
    let fits = match width {
        0 => true,
        1 => room >= 0xFF || bytes.iter().all(|&b| u32::from(b) <= room),
        2 => room >= 0xFFFF || words(bytes).all(|b| u32::from(u16::from_le_bytes(b)) <= room),
        4 => words(bytes).fold(0, |most: u32, b| most.max(u32::from_le_bytes(b))) <= room,
        8 => words(bytes).all(|b| u64::from_le_bytes(b) <= u64::from(room)),
        _ => return Err(damaged("a column has an impossible width")),
    };
    if !fits {
        return Err(too_large());
    }
    out.clear();
    match width {
        0 => out.resize(count, base),
        1 => out.extend(bytes.iter().map(|&b| base + u32::from(b))),
        2 => out.extend(words(bytes).map(|b| base + u32::from(u16::from_le_bytes(b)))),
        4 => out.extend(words(bytes).map(|b| base + u32::from_le_bytes(b))),
        _ => out.extend(words(bytes).map(|b| base + u64::from_le_bytes(b) as u32)),
    }
    Ok(())
}

#[cold]
fn too_large() -> Diagnostic {
    damaged("a row has a number of more than 32 bits")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// One row whose column number `which` has these bytes; all else is zero.
    fn payload(which: usize, width: u8, base: u64, distance: &[u8]) -> Vec<u8> {
        let mut out = [1u32.to_le_bytes().to_vec(), 0i64.to_le_bytes().to_vec()].concat();
        for column in 0..7 {
            let (width, base, distance) =
                if column == which { (width, base, distance) } else { (0, 0, &[][..]) };
            out.push(width);
            out.extend(base.to_le_bytes());
            out.extend_from_slice(distance);
        }
        out
    }

    #[test]
    fn numbers_of_more_than_32_bits_are_no_smaller_ones() {
        let most = u64::from(u32::MAX);
        for which in 0..5 {
            let read = |width, base, distance: &[u8]| {
                let mut columns = Columns::default();
                columns.read(&payload(which, width, base, distance)).map(|()| {
                    [
                        columns.ops[0],
                        columns.processes[0],
                        columns.keys[0],
                        columns.args[0],
                        columns.results[0],
                    ][which]
                })
            };
            for (width, distance) in
                [(1, &[1][..]), (2, &[1, 0]), (4, &[1, 0, 0, 0]), (8, &[1, 0, 0, 0, 0, 0, 0, 0])]
            {
                assert_eq!(read(width, most - 1, distance), Ok(u32::MAX), "{which}, {width}");
                for base in [most, most + 1, 1 << 32, 1 << 40, u64::MAX] {
                    assert!(read(width, base, distance).is_err(), "{which}, {width}, {base}");
                }
            }
            assert_eq!(read(0, most, &[]), Ok(u32::MAX));
            assert!(read(0, 1 << 32, &[]).is_err());
            assert!(read(8, 0, &[0, 0, 0, 0, 1, 0, 0, 0]).is_err());
            assert!(read(8, 5, &[0xFF; 8]).is_err());
        }
    }
}
