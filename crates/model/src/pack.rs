//! States as bytes: small numbers take one; locals that are dead, and threads that run nothing, take none.
//!
//! First comes the number of the monitor's set, then how many values of data are in use. Where each piece of
//! data that is handed out is new, and data is renamed, values are numbered in the order in which a walk
//! through the state meets them, and next come their names, and before these how many there are ([`UNNAMED`]
//! if values have their names in the state): so states of the program that differ only in these names have
//! the same bytes from there on.

use linpoint_lang::Program;
use linpoint_lang::flow::live_locals;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{NONE, UNSET, Word};

use crate::claims::ClaimsId;
use crate::monitor::MonitorId;

/// Everything that is the case: the program's state, what explains the history, how many calls each thread
/// made, how many values were handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    pub state: State,
    pub monitor: MonitorId,
    /// The claims that are not decided.
    pub claims: ClaimsId,
    pub made: Vec<u8>,
    pub fresh: u8,
}

/// In place of how many values have names: there are too many, and they are in the state by their names.
pub(crate) const UNNAMED: u8 = u8::MAX;

pub(crate) struct Packer {
    /// Live locals of each node.
    live: Vec<Vec<u16>>,
    /// Do cells need to say what they are?
    headers: bool,
}

/// Do cells need to say what they are? Not where there is one kind of record, which is never freed. One
/// without fields must, or it would take no byte.
pub(crate) fn needs_headers(program: &Program) -> bool {
    !matches!(program.records.as_slice(), [record] if !record.freed && !record.fields.is_empty())
}

impl Packer {
    pub fn new(machine: &Machine<'_>) -> Packer {
        let live = live_locals(machine.program)
            .iter()
            .map(|live| (0..live.len()).filter(|&local| live[local]).map(|local| local as u16).collect())
            .collect();
        Packer { live, headers: needs_headers(machine.program) }
    }

    /// Packs a state; with names of values, where there are to be any.
    pub fn pack(&self, machine: &Machine<'_>, full: &Full, names: Option<Names<'_>>, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&full.monitor.to_le_bytes());
        if machine.watched {
            put(out, full.claims as Word);
        }
        out.push(full.fresh);
        match names {
            None => {}
            Some(Names::InState) => out.push(UNNAMED),
            Some(Names::Before(names)) => {
                out.push(names.len() as u8);
                out.extend_from_slice(names);
            }
        }
        out.extend_from_slice(&full.made);
        machine.shared(&full.state).iter().for_each(|word| put(out, *word));
        for thread in 0..machine.threads {
            let frame = &full.state.words[machine.frame_range(thread)];
            put(out, frame[0]);
            if frame[0] >= 0 {
                for &local in &self.live[frame[0] as usize] {
                    put(out, frame[1 + usize::from(local)]);
                }
            }
        }
        let width = machine.cell_width();
        for cell in full.state.words[machine.heap_start()..].chunks_exact(width) {
            if self.headers {
                put(out, cell[0]);
            }
            let fields = machine.program.records[cell[0].unsigned_abs() as usize - 1].fields.len();
            cell[1..=fields].iter().for_each(|word| put(out, *word));
        }
    }

    /// Unpacks a state; the names of its values, if these are `named`.
    pub fn unpack<'b>(
        &self,
        machine: &Machine<'_>,
        mut bytes: &'b [u8],
        named: Named,
        full: &mut Full,
    ) -> &'b [u8] {
        let bytes = &mut bytes;
        full.monitor = get_monitor(bytes);
        full.claims = if machine.watched { get(bytes) as ClaimsId } else { 0 };
        full.fresh = bytes[0];
        *bytes = &bytes[1..];
        let names = match named {
            Named::No => &[],
            Named::Yes => get_names(bytes).unwrap_or_default(),
        };
        full.made.clear();
        full.made.extend_from_slice(&bytes[..machine.threads]);
        *bytes = &bytes[machine.threads..];
        let words = &mut full.state.words;
        words.clear();
        for _ in 0..machine.frame_range(0).start {
            words.push(get(bytes));
        }
        for thread in 0..machine.threads {
            let frame = machine.frame_range(thread);
            words.resize(frame.end, UNSET);
            let pc = get(bytes);
            words[frame.start] = pc;
            if pc >= 0 {
                for &local in &self.live[pc as usize] {
                    words[frame.start + 1 + usize::from(local)] = get(bytes);
                }
            }
        }
        while !bytes.is_empty() {
            let start = words.len();
            words.resize(start + machine.cell_width(), 0);
            words[start] = if self.headers { get(bytes) } else { 1 };
            let fields = machine.program.records[words[start].unsigned_abs() as usize - 1].fields.len();
            for field in 1..=fields {
                words[start + field] = get(bytes);
            }
        }
        names
    }
}

/// Where values have their names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names<'n> {
    /// In the state.
    InState,
    /// Before it: these, in the order in which values are met.
    Before(&'n [u8]),
}

/// Are there names of values before the state?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    No,
    Yes,
}

/// The names of values, if they are before the state and not in it.
#[inline]
pub(crate) fn get_names<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (count, rest) = bytes.split_first()?;
    if *count == UNNAMED {
        *bytes = rest;
        return None;
    }
    let (names, rest) = rest.split_at(usize::from(*count));
    *bytes = rest;
    Some(names)
}

/// The number of a set of the monitor: four bytes, as it is seldom small.
#[inline]
pub(crate) fn get_monitor(bytes: &mut &[u8]) -> MonitorId {
    let (first, rest) = bytes.split_at(4);
    *bytes = rest;
    MonitorId::from_le_bytes([first[0], first[1], first[2], first[3]])
}

#[inline]
pub(crate) fn put(out: &mut Vec<u8>, word: Word) {
    match word {
        -8..=240 => out.push((word + 10) as u8),
        _ => {
            let (bytes, count) = rare(word);
            out.extend_from_slice(&bytes[..count]);
        }
    }
}

/// The bytes of a word that is not small.
fn rare(word: Word) -> ([u8; 5], usize) {
    let [a, b, c, d] = word.to_le_bytes();
    match word {
        NONE => ([0; 5], 1),
        UNSET => ([1; 5], 1),
        241..=0xffff => ([254, a, b, 0, 0], 3),
        _ => ([255, a, b, c, d], 5),
    }
}

#[inline]
pub(crate) fn get(bytes: &mut &[u8]) -> Word {
    match **bytes {
        [first @ 2..254, ref rest @ ..] => {
            *bytes = rest;
            Word::from(first) - 10
        }
        [first @ (0 | 1), ref rest @ ..] => {
            *bytes = rest;
            if first == 0 { NONE } else { UNSET }
        }
        _ => get_rare(bytes),
    }
}

fn get_rare(bytes: &mut &[u8]) -> Word {
    let (word, used) = match bytes[0] {
        254 => (Word::from(u16::from_le_bytes([bytes[1], bytes[2]])), 3),
        _ => (Word::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]), 5),
    };
    *bytes = &bytes[used..];
    word
}

#[cfg(test)]
mod tests {
    use super::{get, put};
    use linpoint_lang::program::{NONE, UNSET};

    #[test]
    fn words_survive() {
        let words = [NONE, UNSET, -9, -8, -1, 0, 1, 240, 241, 255, 65535, 65536, -100_000, i32::MAX];
        let mut bytes = Vec::new();
        words.iter().for_each(|word| put(&mut bytes, *word));
        let mut rest = bytes.as_slice();
        assert_eq!(words.map(|_| get(&mut rest)), words);
        assert!(rest.is_empty());
    }
}
