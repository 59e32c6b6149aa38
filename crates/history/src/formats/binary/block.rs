//! The frame of the binary form: a magic number, and blocks with a kind, a length and a checksum.

use super::super::problem;
use super::super::source::Source;
use crate::diagnostic::Diagnostic;

/// A byte that no text begins with, the name, line ends that a careless copy would change, and the version.
pub(super) const MAGIC: [u8; 8] = *b"\x8bLINH\r\n\x01";

/// Bytes before a block's payload: kind (4), length (4), checksum (8).
pub(super) const HEADER: usize = 16;

/// No block is longer than this.
const LONGEST_BLOCK_BYTES: usize = 255 << 20;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The names of the operations.
    Operations = 1,
    /// Values, processes, keys.
    Symbols = 2,
    /// Rows.
    Rows = 3,
    /// The number of rows, and nothing after it.
    End = 4,
}

/// Is this the beginning of a binary file, of whatever version?
pub fn is_binary(head: &[u8]) -> bool {
    head.starts_with(&MAGIC[..5])
}

/// Takes the magic number.
pub(super) fn read_magic(source: &mut Source) -> Result<(), Diagnostic> {
    let head = source.bytes();
    let problem = match head.get(..MAGIC.len()) {
        Some(magic) if magic == MAGIC => {
            source.consume(MAGIC.len());
            return Ok(());
        }
        Some(magic) if magic[..7] == MAGIC[..7] => problem::damaged(
            format!("the file is of version {} of the binary form; expected version {}", magic[7], MAGIC[7]),
            "a newer Linpoint, or the file written again by this one",
        ),
        None if MAGIC.starts_with(head) => problem::truncated("the magic number"),
        _ => problem::damaged(
            "the file does not begin with the magic number of the binary form",
            "a file that Linpoint wrote; if it was copied as text, copy it again as it is",
        ),
    };
    Err(problem)
}

/// Loads the next block and checks it: its kind, and its length with the header.
pub(super) fn next(source: &mut Source, rows: u64) -> Result<(Kind, usize), Diagnostic> {
    let torn = || {
        problem::truncated(if rows == 0 {
            "the first operations"
        } else {
            "more operations, or the end block"
        })
    };
    source.want(HEADER)?;
    let header: &[u8; HEADER] = source.bytes().first_chunk().ok_or_else(torn)?;
    let [k0, k1, k2, k3, l0, l1, l2, l3, sum @ ..] = *header;
    let kind = match u32::from_le_bytes([k0, k1, k2, k3]) {
        1 => Kind::Operations,
        2 => Kind::Symbols,
        3 => Kind::Rows,
        4 => Kind::End,
        _ => return Err(damaged("it has a block of an unknown kind")),
    };
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > LONGEST_BLOCK_BYTES {
        return Err(damaged("it has a block of an impossible length"));
    }
    source.want(HEADER + length)?;
    let payload = source.bytes().get(HEADER..HEADER + length).ok_or_else(torn)?;
    if checksum(kind, payload) != u64::from_le_bytes(sum) {
        return Err(damaged("the checksum of a block is wrong"));
    }
    Ok((kind, HEADER + length))
}

/// Adds a block to `out`.
pub(super) fn write(out: &mut dyn std::io::Write, kind: Kind, payload: &[u8]) -> std::io::Result<()> {
    out.write_all(&(kind as u32).to_le_bytes())?;
    out.write_all(&(payload.len() as u32).to_le_bytes())?;
    out.write_all(&checksum(kind, payload).to_le_bytes())?;
    out.write_all(payload)
}

/// Four independent chains of multiplications over words of eight bytes, so that none waits for another.
fn checksum(kind: Kind, payload: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut lanes = [kind as u64, 1, 2, payload.len() as u64];
    let mix = |lane: u64, word: [u8; 8]| {
        let product = (lane ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
        product ^ product >> 32
    };
    let (chunks, rest) = payload.as_chunks::<32>();
    for chunk in chunks {
        let (words, _) = chunk.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = mix(*lane, *word);
        }
    }
    for (index, part) in rest.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        lanes[index] = mix(lanes[index], word);
    }
    lanes.iter().fold(0, |sum, lane| mix(sum, lane.to_le_bytes()))
}

/// The file is not as it was written.
#[cold]
pub(super) fn damaged(what: &str) -> Diagnostic {
    problem::damaged(
        format!("the file is damaged: {what}"),
        "the file as it was written; make or copy it again",
    )
}
