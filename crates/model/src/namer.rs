//! One name for states that are the same but for the names of threads, records and data, written straight from the row of words.
//!
//! The bytes are those that come of sorting the threads ([`Symmetry::sort`](crate::symmetry::Symmetry::sort)), renumbering the heap
//! ([`Machine::canonical`]), renaming data ([`Data::rename`](crate::data::Data::rename)) and packing ([`Packer::pack`](crate::pack::Packer::pack)), one after the other. Here it is one pass: words are
//! written in the order of the sorted threads, and a record or a value gets its number when it is first met; what is never met is never written. The slow way is the
//! definition; both are compared on the whole corpus.

mod room;

use std::cmp::Ordering;

use linpoint_lang::flow::live_locals;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::{NONE, Slot, Type, UNSET, Word};

use crate::client::Workload;
use crate::data::{Classes, MOST, Naming, is_data};
use crate::monitor::{Monitor, MonitorId, Settled};
use crate::pack::{get, get_monitor, needs_headers};
use crate::symmetry::{is_pointer, names_thread};

use room::{Large, Room, SMALL_BYTES, SMALL_CELLS, Small};

/// A state on the way: what [`Full`](crate::pack::Full) is, in a form that costs little to copy. Words of dead locals mean nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    pub words: Vec<Word>,
    pub monitor: MonitorId,
    pub fresh: u8,
    pub made: [u8; 16],
}

impl Walk {
    #[inline]
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
    Data,
}

pub(crate) struct Namer {
    threads: usize,
    /// Is data renamed?
    data: bool,
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
    small: Option<Box<Small>>,
    large: Large,
}

/// How threads, and data, are renamed.
struct Names<'n> {
    /// Which thread comes to each place.
    order: &'n [u8],
    /// The place that each thread comes to.
    place: [u8; 16],
    /// The new names of values.
    data: Naming,
    renames: bool,
}

impl Namer {
    pub fn new(machine: &Machine<'_>, workload: &Workload, distinct: bool, data: bool) -> Namer {
        let program = machine.program;
        let twin = |thread: usize| {
            let same = |other: &usize| workload.threads[*other] == workload.threads[thread];
            (0..thread).rev().find(same).filter(|_| !distinct)
        };
        let kind_of = |ty: &Type| match ty {
            _ if is_pointer(ty) => Kind::Pointer,
            _ if names_thread(ty) => Kind::Thread,
            _ if data && is_data(ty) => Kind::Data,
            _ => Kind::Plain,
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
            data,
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
            small: Some(Box::default()),
            large: Large::default(),
        }
    }

    /// Adds the name of a state to the bytes.
    pub fn name(&mut self, walk: &Walk, monitor: Option<&mut Monitor<'_>>, out: &mut Vec<u8>) {
        let mut order = IDENTITY;
        let moved = self.sort(walk, &mut order);
        let order = &order[..self.threads];
        let mut place = IDENTITY;
        if moved {
            for (new, old) in order.iter().enumerate() {
                place[usize::from(*old & 15)] = new as u8;
            }
        }
        let renames = self.data && walk.fresh <= MOST;
        let (mut id, mut classes) = (walk.monitor, Classes::default());
        if let Some(monitor) = monitor {
            if renames {
                Settled { id, classes } = monitor.settle(id, order);
            } else if moved {
                id = monitor.permute(id, order);
            }
        }
        let mut names = Names { order, place, data: Naming::new(&classes), renames };
        let cells = (walk.words.len() - self.heap) / self.cell;
        let start = out.len();
        // No word takes more than five bytes.
        if 5 * (walk.words.len() + 1) + 5 + self.threads <= SMALL_BYTES && cells <= SMALL_CELLS {
            let mut small = self.small.take().unwrap_or_default();
            small.clear();
            self.write(walk, id, &mut names, &mut *small);
            out.extend_from_slice(small.bytes());
            self.small = Some(small);
        } else {
            let mut large = std::mem::take(&mut self.large);
            large.clear(cells);
            self.write(walk, id, &mut names, &mut large);
            out.extend_from_slice(large.bytes());
            self.large = large;
        }
        if renames {
            out[start + 4] = names.data.finish(walk.fresh);
        }
    }

    /// Writes the whole name, with the number of values as it was.
    #[inline(always)]
    fn write(&self, walk: &Walk, id: MonitorId, names: &mut Names<'_>, room: &mut impl Room) {
        // What comes first: the number of the set, how many values there are, the calls made.
        id.to_le_bytes().into_iter().for_each(|byte| room.push(byte));
        room.push(walk.fresh);
        names.order.iter().for_each(|old| room.push(walk.made[usize::from(*old & 15)]));
        let words = walk.words.as_slice();
        for (word, kind) in words.iter().zip(&self.shared) {
            names.write(*word, *kind, room);
        }
        for old in names.order {
            let start = self.frames + usize::from(*old) * self.frame;
            let words = &words[start..start + self.frame];
            room.put(words[0]);
            if words[0] >= 0 {
                for (at, kind) in live_at(&self.live, &self.live_ends, words[0] as usize) {
                    names.write(words[usize::from(*at)], *kind, room);
                }
            }
        }
        let mut next = 0;
        while let Some(old) = room.met(next) {
            let start = self.heap + old * self.cell;
            let words = &words[start..start + self.cell];
            if self.headers {
                room.put(words[0]);
            }
            for (word, kind) in words[1..].iter().zip(&self.fields[words[0].unsigned_abs() as usize - 1]) {
                names.write(*word, *kind, room);
            }
            next += 1;
        }
    }

    /// Puts interchangeable threads in order; did any change places?
    #[inline]
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

    #[inline]
    fn compare(&self, walk: &Walk, a: usize, b: usize) -> Ordering {
        let (x, y) = (self.frames + a * self.frame, self.frames + b * self.frame);
        let (p, q) = (walk.words[x], walk.words[y]);
        let first = (walk.made[a], p).cmp(&(walk.made[b], q));
        if first != Ordering::Equal || p < 0 {
            return first;
        }
        self.compare_locals(walk, p as usize, (x, y))
    }

    fn compare_locals(&self, walk: &Walk, node: usize, (x, y): (usize, usize)) -> Ordering {
        let known = |word: Word| word == 0 || word == NONE || word == UNSET;
        for &(at, kind) in live_at(&self.live, &self.live_ends, node) {
            let at = usize::from(at);
            let (p, q) = (walk.words[x + at], walk.words[y + at]);
            let order = match kind {
                Kind::Plain | Kind::Data => p.cmp(&q),
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

impl Names<'_> {
    /// Writes a word with threads, records and data renamed.
    #[inline(always)]
    fn write(&mut self, word: Word, kind: Kind, room: &mut impl Room) {
        let word = match kind {
            Kind::Pointer if word > 0 => room.meet(word as usize - 1),
            Kind::Data if word > 0 && self.renames => self.data.name(word),
            Kind::Thread if (0..self.order.len() as Word).contains(&word) => {
                Word::from(self.place[word as usize & 15])
            }
            _ => word,
        };
        room.put(word);
    }
}
