//! One name for states that are the same but for the names of threads, records and data, written straight
//! from the row of words.
//!
//! This is the part of a name that says where the program is; the number of the monitor's set comes before
//! it. [`Namer::name`] puts threads and records in order. Data gets names that depend on what the monitor
//! says: either these come before this part and values are numbered here as they are met, or
//! [`Namer::rename`] puts them in.
//!
//! The bytes are those that come of sorting the threads
//! ([`Symmetry::sort`](crate::symmetry::Symmetry::sort)), renumbering the heap ([`Machine::canonical`]),
//! renaming data ([`Data::rename`](crate::data::Data::rename)) and packing
//! ([`Packer::pack`](crate::pack::Packer::pack)), one after the other. Here it is one pass: words are written
//! in the order of the sorted threads, and a record or a value gets its number when it is first met; what is
//! never met is never written. The slow way is the definition; both are compared on the whole corpus.

use std::cmp::Ordering;
use std::sync::Arc;

use linpoint_lang::flow::live_locals;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::{NONE, Node, Record, Slot, Type, UNSET, Word};

use crate::client::Workload;
use crate::data::{Classes, Data, MOST, Naming, Nibbles, is_data};
use crate::monitor::Places;
use crate::pack::{UNNAMED, get, needs_headers, put};
use crate::symmetry::{is_pointer, names_thread};

/// A state on the way: what [`Full`](crate::pack::Full) is, in a form that costs little to copy. Words of
/// dead locals mean nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    pub words: Vec<Word>,
    /// What explains the history so far, of all that was recorded.
    pub slot: u32,
    pub fresh: u8,
    pub made: [u8; 16],
}

impl Walk {
    #[inline]
    pub fn copy_from(&mut self, other: &Walk) {
        self.words.clear();
        self.words.extend_from_slice(&other.words);
        (self.slot, self.fresh, self.made) = (other.slot, other.fresh, other.made);
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

/// A word that is written: where it is in its frame or record, and what it means.
#[derive(Clone, Copy, Debug)]
struct Item {
    at: u16,
    kind: Kind,
}

/// How a state has its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// By their names; how many are in use comes first.
    Names,
    /// By numbers, so many, in the order in which they are met; names come before.
    Numbers(u8),
}

/// What was found out about a state that was named.
pub(crate) struct Placed {
    pub places: Places,
    /// Did any thread change places?
    pub moved: bool,
    /// What values were called, in the order in which they are met; and how many there are.
    pub met: Nibbles,
    pub count: u8,
}

pub(crate) struct Namer {
    threads: usize,
    /// Where data is, if it is renamed.
    data: Option<Arc<Data>>,
    /// For each thread, the last before it that has the same to do.
    twin: Vec<Option<usize>>,
    shared: Vec<Item>,
    /// Live locals of each node.
    live: Vec<Box<[Item]>>,
    /// Fields of each kind of record.
    fields: Vec<Box<[Item]>>,
    headers: bool,
    frames: usize,
    frame: usize,
    heap: usize,
    cell: usize,
    met: Met,
}

/// Records in the order in which they are met.
#[derive(Default)]
struct Met {
    order: Vec<usize>,
    /// One more than the place of each; 0 for those that were not met yet.
    places: Vec<Word>,
}

impl Met {
    fn clear(&mut self, cells: usize) {
        self.order.clear();
        self.places.clear();
        self.places.resize(cells, 0);
    }

    /// The new number of a record, one more than its place.
    fn meet(&mut self, old: usize) -> Word {
        let number = &mut self.places[old];
        if *number == 0 {
            self.order.push(old);
            *number = self.order.len() as Word;
        }
        *number
    }
}

/// How threads, and data, are renamed.
struct Names {
    /// Which thread comes to each place.
    order: [u8; 16],
    /// The place that each thread comes to.
    place: [u8; 16],
    threads: usize,
    values: Values,
}

/// What values are called.
enum Values {
    /// What they were called; numbers are given as well, to values below sixteen.
    Keep(Naming, Nibbles),
    Name(Naming),
    /// Numbers, in the order in which they are met; and what they were called, by number.
    Number(Naming, Nibbles),
}

impl Namer {
    pub fn new(machine: &Machine<'_>, workload: &Workload, distinct: bool, data: Option<Arc<Data>>) -> Namer {
        let program = machine.program;
        let twin = |thread: usize| {
            let same = |other: &usize| workload.threads[*other] == workload.threads[thread];
            (0..thread).rev().find(same).filter(|_| !distinct)
        };
        let kind_of = |ty: &Type| match ty {
            _ if is_pointer(ty) => Kind::Pointer,
            _ if names_thread(ty) => Kind::Thread,
            _ if data.is_some() && is_data(ty) => Kind::Data,
            _ => Kind::Plain,
        };
        let item = |at: usize, slot: &Slot| Item { at: at as u16, kind: kind_of(&slot.ty) };
        let live = |(alive, node): (&Vec<bool>, &Node)| {
            let locals = &program.operation(node.op).locals;
            let here = (0..alive.len()).filter(|&local| alive[local]);
            here.map(|local| item(1 + local, &locals[local])).collect()
        };
        let fields = |record: &Record| {
            record.fields.iter().enumerate().map(|(field, slot)| item(1 + field, slot)).collect()
        };
        let frame = machine.frame_range(0);
        Namer {
            threads: machine.threads,
            twin: (0..machine.threads).map(twin).collect(),
            shared: machine.shared_slots().iter().enumerate().map(|(at, (_, slot))| item(at, slot)).collect(),
            live: live_locals(program).iter().zip(&program.nodes).map(live).collect(),
            fields: program.records.iter().map(fields).collect(),
            headers: needs_headers(program),
            frames: frame.start,
            frame: frame.len(),
            heap: machine.heap_start(),
            cell: machine.cell_width(),
            met: Met::default(),
            data,
        }
    }

    /// Is each piece of data that is handed out a new one, and does it get names?
    pub fn is_new(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data.distinct)
    }

    /// Writes a state with threads and records in order.
    pub fn name(&mut self, walk: &Walk, form: Form, out: &mut Vec<u8>) -> Placed {
        let mut order = IDENTITY;
        let moved = self.sort(walk, &mut order);
        let mut place = IDENTITY;
        for (new, old) in order.iter().enumerate() {
            place[usize::from(*old)] = new as u8;
        }
        let naming = Naming::new(Classes::default());
        let values = match form {
            Form::Names => Values::Keep(naming, Nibbles::default()),
            Form::Numbers(_) => Values::Number(naming, Nibbles::default()),
        };
        let mut names = Names { order, place, threads: self.threads, values };
        out.clear();
        self.write(walk, form, &mut names, out);
        let places = Places::of(order[..self.threads].iter().map(|thread| usize::from(*thread)));
        let (met, count) = match names.values {
            Values::Keep(naming, met) | Values::Number(naming, met) => (met, naming.count()),
            Values::Name(_) => (Nibbles::default(), 0),
        };
        Placed { places, moved, met, count }
    }

    /// Is data renamed where so many values are in use?
    pub fn renames(&self, fresh: u8) -> bool {
        self.data.is_some() && fresh <= MOST
    }

    /// Writes a state that has its threads and records in order with data under other names. What the monitor
    /// says of them is in `classes`.
    pub fn rename(&mut self, named: &[u8], classes: Classes, walk: &mut Walk, out: &mut Vec<u8>) {
        self.read(named, Form::Names, walk);
        let values = Values::Name(Naming::new(classes));
        let mut names = Names { order: IDENTITY, place: IDENTITY, threads: self.threads, values };
        out.clear();
        self.write(walk, Form::Names, &mut names, out);
        if let Values::Name(naming) = names.values {
            out[0] = naming.count();
        }
    }

    /// Writes the whole name, with the number of values as it was.
    fn write(&mut self, walk: &Walk, form: Form, names: &mut Names, out: &mut Vec<u8>) {
        if form == Form::Names {
            out.push(walk.fresh);
            if self.is_new() {
                out.push(UNNAMED);
            }
        }
        let order = names.order;
        let order = &order[..self.threads];
        out.extend(order.iter().map(|old| walk.made[usize::from(*old)]));
        let cells = (walk.words.len() - self.heap) / self.cell;
        let met = &mut self.met;
        met.clear(cells);
        let words = walk.words.as_slice();
        names.write_all(words, &self.shared, met, out);
        for old in order {
            let start = self.frames + usize::from(*old) * self.frame;
            let words = &words[start..];
            put(out, words[0]);
            if words[0] >= 0 {
                names.write_all(words, &self.live[words[0] as usize], met, out);
            }
        }
        let mut next = 0;
        while let Some(old) = met.order.get(next) {
            let words = &words[self.heap + old * self.cell..];
            if self.headers {
                put(out, words[0]);
            }
            names.write_all(words, &self.fields[words[0].unsigned_abs() as usize - 1], met, out);
            next += 1;
        }
    }

    /// Puts interchangeable threads in order; did any change places?
    #[inline]
    fn sort(&self, walk: &Walk, order: &mut [u8; 16]) -> bool {
        // The calls made, then where it is: what threads are told apart by first.
        let mut keys = [0_u64; 16];
        let frames = walk.words[self.frames..].chunks_exact(self.frame);
        for ((key, frame), made) in keys.iter_mut().zip(frames).zip(&walk.made).take(self.threads) {
            *key = u64::from(*made) << 32 | u64::from(frame[0] as u32 ^ 1 << 31);
        }
        let mut moved = false;
        for end in 1..self.threads {
            let mut at = end;
            while let Some(before) = self.twin[at] {
                let (a, b) = (order[before & 15], order[at & 15]);
                let (x, y) = (keys[usize::from(a & 15)], keys[usize::from(b & 15)]);
                if x < y || x == y && self.compare_locals(walk, a.into(), b.into()) != Ordering::Greater {
                    break;
                }
                order.swap(before & 15, at & 15);
                moved = true;
                at = before;
            }
        }
        moved
    }

    /// Compares threads that are at the same node.
    fn compare_locals(&self, walk: &Walk, a: usize, b: usize) -> Ordering {
        let (x, y) =
            (&walk.words[self.frames + a * self.frame..], &walk.words[self.frames + b * self.frame..]);
        let known = |word: Word| word == 0 || word == NONE || word == UNSET;
        if x[0] < 0 {
            return Ordering::Equal;
        }
        for item in &self.live[x[0] as usize] {
            let (p, q) = (x[usize::from(item.at)], y[usize::from(item.at)]);
            let order = match item.kind {
                Kind::Pointer | Kind::Thread => known(p).cmp(&known(q)),
                Kind::Data if self.is_new() => known(p).cmp(&known(q)),
                Kind::Plain | Kind::Data => p.cmp(&q),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// The state behind a name.
    pub fn read(&self, mut bytes: &[u8], form: Form, walk: &mut Walk) {
        let bytes = &mut bytes;
        walk.slot = 0;
        walk.fresh = match form {
            Form::Numbers(count) => count,
            Form::Names => {
                let (fresh, before) = (bytes[0], 1 + usize::from(self.is_new()));
                *bytes = &bytes[before..];
                fresh
            }
        };
        walk.made[..self.threads].copy_from_slice(&bytes[..self.threads]);
        *bytes = &bytes[self.threads..];
        let words = &mut walk.words;
        words.resize(self.heap, UNSET);
        for word in &mut words[..self.frames] {
            *word = get(bytes);
        }
        for frame in words[self.frames..].chunks_exact_mut(self.frame) {
            let pc = get(bytes);
            frame[0] = pc;
            if pc >= 0 {
                for item in &self.live[pc as usize] {
                    frame[usize::from(item.at)] = get(bytes);
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
            for _ in 1 + fields..self.cell {
                words.push(0);
            }
        }
    }
}

const IDENTITY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

impl Names {
    /// Writes words of a frame or record.
    #[inline(always)]
    fn write_all(&mut self, words: &[Word], items: &[Item], met: &mut Met, out: &mut Vec<u8>) {
        for item in items {
            put(out, self.rename(words[usize::from(item.at)], item.kind, met));
        }
    }

    /// A word with threads, records and data renamed.
    #[inline(always)]
    fn rename(&mut self, word: Word, kind: Kind, met: &mut Met) -> Word {
        match (kind, &mut self.values) {
            (Kind::Pointer, _) if word > 0 => met.meet(word as usize - 1),
            (Kind::Data, Values::Name(naming)) if word > 0 => naming.name(word as u8).into(),
            (Kind::Data, Values::Number(naming, was)) if word > 0 => number(naming, was, word as u8).into(),
            (Kind::Data, Values::Keep(naming, was)) if word > 0 => {
                if word <= Word::from(MOST) {
                    number(naming, was, word as u8);
                }
                word
            }
            (Kind::Thread, _) if (0..self.threads as Word).contains(&word) => {
                Word::from(self.place[word as usize & 15])
            }
            _ => word,
        }
    }
}

/// The number of a value that is met; what it is called is written down the first time.
#[inline]
fn number(naming: &mut Naming, was: &mut Nibbles, value: u8) -> u8 {
    let (count, number) = (naming.count(), naming.name(value));
    if number > count {
        was.add(number, value);
    }
    number
}
