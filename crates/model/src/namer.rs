//! One name for states that are the same but for the names of threads and records, written straight from the row of words.
//!
//! The bytes are those that come of sorting the threads ([`Symmetry::sort`](crate::symmetry::Symmetry::sort)), renumbering the heap
//! ([`Machine::canonical`]) and packing ([`Packer::pack`](crate::pack::Packer::pack)), one after the other. Here it is one pass: words are written
//! in the order of the sorted threads, and a record gets its number when the first pointer to it is written; what is never met is never written. The slow way is the
//! definition; both are compared on the whole corpus.

use std::cmp::Ordering;

use linpoint_lang::flow::live_locals;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::{NONE, Slot, Type, UNSET, Word};

use crate::client::Workload;
use crate::monitor::{Monitor, MonitorId};
use crate::pack::{get, get_monitor, needs_headers, rare};
use crate::symmetry::{is_pointer, names_thread};

/// A state on the way: what [`Full`](crate::pack::Full) is, in a form that costs little to copy. Words of dead locals mean nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    pub words: Vec<Word>,
    pub monitor: MonitorId,
    pub fresh: u8,
    pub made: [u8; 16],
}

impl Walk {
    pub fn copy_from(&mut self, other: &Walk) {
        self.words.clear();
        self.words.extend_from_slice(&other.words);
        (self.monitor, self.fresh, self.made) = (other.monitor, other.fresh, other.made);
    }
}

/// What a word means to renaming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Pointer,
    Thread,
}

fn kind_of(ty: &Type) -> Kind {
    match ty {
        _ if is_pointer(ty) => Kind::Pointer,
        _ if names_thread(ty) => Kind::Thread,
        _ => Kind::Plain,
    }
}

pub(crate) struct Namer {
    threads: usize,
    /// For each thread, the last before it that has the same to do.
    twin: Vec<Option<usize>>,
    shared: Vec<Kind>,
    /// Live locals of each node: where in the frame. One node's behind the other's, and where each node's end.
    live: Vec<(u16, Kind)>,
    live_ends: Vec<usize>,
    fields: Vec<Vec<Kind>>,
    headers: bool,
    frames: usize,
    frame: usize,
    heap: usize,
    cell: usize,
    scratch: Scratch,
}

/// What is used again for each name.
#[derive(Default)]
struct Scratch {
    /// New numbers of cells, and cells by their old numbers, in the order of the new.
    renumber: Vec<Word>,
    met: Vec<usize>,
    /// Where a name is written before its length is known.
    buffer: Vec<u8>,
}

impl Namer {
    pub fn new(machine: &Machine<'_>, workload: &Workload, distinct: bool) -> Namer {
        let program = machine.program;
        let twin = |thread: usize| {
            let same = |other: &usize| workload.threads[*other] == workload.threads[thread];
            (0..thread).rev().find(same).filter(|_| !distinct)
        };
        let (mut live, mut live_ends) = (Vec::new(), Vec::new());
        for (alive, node) in live_locals(program).iter().zip(&program.nodes) {
            let locals = &program.operation(node.op).locals;
            let here = (0..alive.len()).filter(|&local| alive[local]);
            live.extend(here.map(|local| (1 + local as u16, kind_of(&locals[local].ty))));
            live_ends.push(live.len());
        }
        let kinds = |slots: &[Slot]| slots.iter().map(|slot| kind_of(&slot.ty)).collect();
        let frame = machine.frame_range(0);
        Namer {
            threads: machine.threads,
            twin: (0..machine.threads).map(twin).collect(),
            shared: machine.shared_slots().iter().map(|(_, slot)| kind_of(&slot.ty)).collect(),
            live,
            live_ends,
            fields: program.records.iter().map(|record| kinds(&record.fields)).collect(),
            headers: needs_headers(program),
            frames: frame.start,
            frame: frame.len(),
            heap: machine.heap_start(),
            cell: machine.cell_width(),
            scratch: Scratch::default(),
        }
    }

    /// Adds the name of a state to the bytes.
    pub fn name(&mut self, walk: &Walk, monitor: Option<&mut Monitor<'_>>, out: &mut Vec<u8>) {
        let mut order = IDENTITY;
        let mut id = walk.monitor;
        if self.sort(walk, &mut order)
            && let Some(monitor) = monitor
        {
            id = monitor.permute(id, &order[..self.threads]);
        }
        let order = &order[..self.threads];
        let mut place = [0_u8; 16];
        for (new, old) in order.iter().enumerate() {
            place[usize::from(*old & 15)] = new as u8;
        }
        let words = walk.words.as_slice();
        let Namer { shared, live, live_ends, fields, headers, frames, frame, heap, cell, scratch, .. } = self;
        let Scratch { renumber, met, buffer } = scratch;
        // No word takes more than five bytes.
        let most = 5 * (words.len() + 1) + 1 + order.len();
        if buffer.len() < most {
            buffer.resize(most, 0);
        }
        let cells = (words.len() - *heap) / *cell;
        // Few cells need no memory of their own.
        let mut few = [0; 24];
        let renumber = match few.get_mut(..cells) {
            Some(few) => few,
            None => {
                renumber.clear();
                renumber.resize(cells, 0);
                renumber.as_mut_slice()
            }
        };
        met.clear();
        let mut writer = Writer { place: &place[..order.len()], renumber, met, buffer, length: 0 };

        for byte in id.to_le_bytes() {
            writer.push(byte);
        }
        writer.push(walk.fresh);
        for old in order {
            writer.push(walk.made[usize::from(*old & 15)]);
        }
        for (word, kind) in words.iter().zip(shared) {
            writer.write(*word, *kind);
        }
        for old in order {
            let start = *frames + usize::from(*old) * *frame;
            let words = &words[start..start + *frame];
            writer.put(words[0]);
            if words[0] >= 0 {
                for (at, kind) in live_at(live, live_ends, words[0] as usize) {
                    writer.write(words[usize::from(*at)], *kind);
                }
            }
        }
        let mut next = 0;
        while let Some(&old) = writer.met.get(next) {
            let start = *heap + old * *cell;
            let words = &words[start..start + *cell];
            if *headers {
                writer.put(words[0]);
            }
            for (word, kind) in words[1..].iter().zip(&fields[words[0].unsigned_abs() as usize - 1]) {
                writer.write(*word, *kind);
            }
            next += 1;
        }
        let Writer { length, .. } = writer;
        out.extend_from_slice(&buffer[..length]);
    }

    /// Puts interchangeable threads in order; did any change places?
    fn sort(&self, walk: &Walk, order: &mut [u8; 16]) -> bool {
        let mut moved = false;
        for end in 1..self.threads {
            let mut at = end;
            while let Some(before) = self.twin[at] {
                if self.compare(walk, order[before].into(), order[at].into()) != Ordering::Greater {
                    break;
                }
                order.swap(before, at);
                moved = true;
                at = before;
            }
        }
        moved
    }

    fn compare(&self, walk: &Walk, a: usize, b: usize) -> Ordering {
        let (x, y) = (self.frames + a * self.frame, self.frames + b * self.frame);
        let (p, q) = (walk.words[x], walk.words[y]);
        let first = (walk.made[a], p).cmp(&(walk.made[b], q));
        if first != Ordering::Equal || p < 0 {
            return first;
        }
        let known = |word: Word| word == 0 || word == NONE || word == UNSET;
        for &(at, kind) in live_at(&self.live, &self.live_ends, p as usize) {
            let at = usize::from(at);
            let (p, q) = (walk.words[x + at], walk.words[y + at]);
            let order = match kind {
                Kind::Plain => p.cmp(&q),
                Kind::Pointer | Kind::Thread => known(p).cmp(&known(q)),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// The state behind a name.
    pub fn read(&self, mut bytes: &[u8], walk: &mut Walk) {
        let bytes = &mut bytes;
        walk.monitor = get_monitor(bytes);
        walk.fresh = bytes[0];
        walk.made[..self.threads].copy_from_slice(&bytes[1..=self.threads]);
        *bytes = &bytes[1 + self.threads..];
        let words = &mut walk.words;
        words.resize(self.heap, UNSET);
        for word in &mut words[..self.frames] {
            *word = get(bytes);
        }
        for frame in words[self.frames..].chunks_exact_mut(self.frame) {
            let pc = get(bytes);
            frame[0] = pc;
            if pc >= 0 {
                for (at, _) in live_at(&self.live, &self.live_ends, pc as usize) {
                    frame[usize::from(*at)] = get(bytes);
                }
            }
        }
        while !bytes.is_empty() {
            let header = if self.headers { get(bytes) } else { 1 };
            words.push(header);
            let fields = self.fields[header.unsigned_abs() as usize - 1].len();
            for _ in 0..fields {
                words.push(get(bytes));
            }
            words.resize(words.len() + self.cell - 1 - fields, 0);
        }
    }
}

const IDENTITY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

#[inline]
fn live_at<'n>(live: &'n [(u16, Kind)], ends: &[usize], node: usize) -> &'n [(u16, Kind)] {
    let start = if node == 0 { 0 } else { ends[node - 1] };
    &live[start..ends[node]]
}

/// Writes words with threads and records renamed, as [`put`](crate::pack::put) does.
struct Writer<'w> {
    place: &'w [u8],
    renumber: &'w mut [Word],
    met: &'w mut Vec<usize>,
    buffer: &'w mut [u8],
    length: usize,
}

impl Writer<'_> {
    #[inline(always)]
    fn write(&mut self, word: Word, kind: Kind) {
        let word = match kind {
            Kind::Plain => word,
            Kind::Pointer if word > 0 => self.meet(word),
            Kind::Pointer => word,
            Kind::Thread => self.place.get(word as usize).map_or(word, |place| Word::from(*place)),
        };
        self.put(word);
    }

    #[inline(always)]
    fn meet(&mut self, pointer: Word) -> Word {
        let old = pointer as usize - 1;
        let number = &mut self.renumber[old];
        if *number == 0 {
            self.met.push(old);
            *number = self.met.len() as Word;
        }
        *number
    }

    #[inline(always)]
    fn put(&mut self, word: Word) {
        match word {
            -8..=240 => self.push((word + 10) as u8),
            _ => {
                let (bytes, count) = rare(word);
                for byte in &bytes[..count] {
                    self.push(*byte);
                }
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, byte: u8) {
        self.buffer[self.length] = byte;
        self.length += 1;
    }
}
