//! Where rows come from: memory, or a file read twice.
//!
//! Engines want operations in order of return, and before return i is explained they want to have seen every
//! operation called by then ([`crate::engine`]). A log in order of return keeps an operation back until it
//! returns, so a reader that stands at line n cannot know what is still open. Therefore each chunk of rows
//! comes with its *floor*: no operation in a later chunk was called before it. Floors cost one number a
//! chunk, and one pass over the rows.
//!
//! Short histories, and files in any other order, are held in memory (32 bytes an operation). A long file in
//! order of return is read once for its floors and its pending operations, and then once more for every
//! engine that is tried.

use std::borrow::Cow;
use std::collections::BinaryHeap;

use linpoint_history::formats::{Guard, ProcessOrder, Reader};
use linpoint_history::history::{is_sorted_by_return, return_order, sort_as_logged};
use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Diagnostic, Kind, OpCode, Operation, Signature, Symbols, Value};
use thiserror::Error;

use crate::engine::Limit;
use crate::monitor::seen::Seen;

/// Rows a chunk; also how far an engine goes in one step. Small enough for the caches.
pub const CHUNK: usize = 1 << 13;

/// Rows held in memory before a file is streamed instead.
pub const HOLD: usize = 1 << 20;

/// Opens the history from its beginning, as often as needed.
pub type Open<'a> = dyn Fn() -> Result<Box<dyn Reader>, Diagnostic> + 'a;

/// Rows in order of return, and what is known about all of them.
pub struct Feed<'a> {
    rows: Rows<'a>,
    floors: Vec<i64>,
    /// Operations that never returned, by call.
    pub pending: Vec<Pending>,
    /// How many operations completed.
    pub completed: u64,
    /// Of a file: did an operation begin at the very stamp at which its process's last one returned?
    touches: bool,
}

/// Why a history was not read to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FeedError {
    /// It is not readable.
    #[error(transparent)]
    Input(#[from] Diagnostic),
    /// A limit came first.
    #[error(transparent)]
    Limit(#[from] Limit),
}

/// The symbols of a history: shared by the threads that check its parts, or owned while a file is read on.
pub enum Names<'s> {
    /// They will not grow.
    Shared(&'s Symbols),
    /// They may grow.
    Own(&'s mut Symbols),
}

impl Names<'_> {
    /// The symbols so far.
    pub fn get(&self) -> &Symbols {
        match self {
            Names::Shared(symbols) => symbols,
            Names::Own(symbols) => symbols,
        }
    }
}

/// An operation that never returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The row.
    pub op: Operation,
    /// How many operations returned before its call.
    pub earliest: u32,
    /// The same, but after the operation of its own process that returned at the very stamp of its call.
    pub strict_earliest: u32,
}

impl Pending {
    /// Finds its first gap; `rows` are in order of return, the first is number `base`, those before it
    /// returned before the call, and all that returned at the call are among them.
    fn new(op: Operation, rows: &[Operation], base: u32) -> Pending {
        let gap = rows.partition_point(|done| done.ret < op.call);
        let touching = rows[gap..].iter().take_while(|done| done.ret == op.call);
        let after = touching.enumerate().filter(|(_, done)| done.process() == op.process()).last();
        let strict = after.map_or(gap, |(index, _)| gap + index + 1);
        Pending { op, earliest: base + gap as u32, strict_earliest: base + strict as u32 }
    }
}

/// A feed in memory, for several threads.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    rows: &'a [Operation],
    floors: &'a [i64],
    pending: &'a [Pending],
    completed: u64,
}

impl<'a> Shared<'a> {
    /// The same rows as a feed of one's own.
    pub(crate) fn feed(&self) -> Feed<'a> {
        Feed {
            rows: Rows::Memory(self.rows.into()),
            floors: self.floors.to_vec(),
            pending: self.pending.to_vec(),
            completed: self.completed,
            touches: false,
        }
    }

    /// How many operations completed.
    pub(crate) fn completed(&self) -> u64 {
        self.completed
    }

    /// The completed operations, in order of return.
    pub(crate) fn rows(&self) -> &'a [Operation] {
        self.rows
    }

    /// Is nothing pending?
    pub(crate) fn is_complete(&self) -> bool {
        self.pending.is_empty()
    }
}

enum Rows<'a> {
    Memory(Cow<'a, [Operation]>),
    File(&'a Open<'a>),
}

impl<'a> Feed<'a> {
    /// What several threads can read at the same time, if it is in memory.
    pub(crate) fn shared(&self) -> Option<Shared<'_>> {
        let (floors, pending) = (self.floors.as_slice(), self.pending.as_slice());
        self.in_memory().map(|rows| Shared { rows, floors, pending, completed: self.completed })
    }

    /// Rows in memory, in any order.
    pub fn of(mut rows: Vec<Operation>) -> Feed<'a> {
        if !is_sorted_by_return(&rows) {
            sort_as_logged(&mut rows);
        }
        let pending = rows.split_off(rows.partition_point(|op| !op.is_pending()));
        Feed::sorted(rows.into(), &pending)
    }

    fn sorted(rows: Cow<'a, [Operation]>, pending: &[Operation]) -> Feed<'a> {
        let pending = pending.iter().map(|op| Pending::new(*op, &rows, 0)).collect();
        let floors = floors(rows.chunks(CHUNK).map(lowest_call).collect());
        let completed = rows.len() as u64;
        Feed { rows: Rows::Memory(rows), floors, pending, completed, touches: false }
    }

    /// Rows that are in memory: not copied if they are in order.
    pub(crate) fn over(rows: &'a [Operation]) -> Feed<'a> {
        if !is_sorted_by_return(rows) {
            return Feed::of(rows.to_vec());
        }
        let (rows, pending) = rows.split_at(rows.partition_point(|op| !op.is_pending()));
        Feed::sorted(Cow::Borrowed(rows), pending)
    }

    /// Reads a history; streams it if it is long and in order. `progress` hears how many rows were read;
    /// `guard` is asked before they are put in order.
    pub fn read(
        open: &'a Open<'a>,
        symbols: &mut Symbols,
        hold: usize,
        guard: &Guard,
        progress: &mut dyn FnMut(u64) -> Result<(), Limit>,
    ) -> Result<Feed<'a>, FeedError> {
        let mut reader = open()?;
        let mut rows: Vec<Operation> = Vec::new();
        let mut more = true;
        while more && rows.len() < hold {
            more = reader.read(symbols, &mut rows, CHUNK)?;
            progress(rows.len() as u64)?;
        }
        if more {
            match survey(&rows, reader.as_mut(), symbols, progress)? {
                Some(survey) => return Ok(survey.into_feed(open, symbols)?),
                None => {
                    // Not in order after all: start again and hold it all.
                    drop(rows);
                    rows = Vec::new();
                    let mut reader = open()?;
                    while reader.read(symbols, &mut rows, CHUNK)? {
                        progress(rows.len() as u64)?;
                    }
                }
            }
        }
        if !is_sorted_by_return(&rows) {
            guard.ask(rows.len() / 2 * size_of::<Operation>())?;
        }
        Ok(Feed::of(rows))
    }

    /// Reads a file that was streamed into memory; `None` if everything is there already.
    pub fn held(&self, names: &mut Names<'_>) -> Result<Option<Feed<'static>>, Diagnostic> {
        if self.in_memory().is_some() {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(self.completed as usize + self.pending.len());
        self.chunks(names, |_, chunk, _| {
            rows.extend_from_slice(chunk);
            Ok::<(), Diagnostic>(())
        })?;
        rows.extend(self.pending.iter().map(|p| p.op));
        Ok(Some(Feed::of(rows)))
    }

    /// Is everything in memory? Then all rows that completed.
    pub fn in_memory(&self) -> Option<&[Operation]> {
        match &self.rows {
            Rows::Memory(rows) => Some(rows),
            Rows::File(_) => None,
        }
    }

    /// All completed rows, taken out, if they are in memory.
    pub fn into_rows(self) -> Option<Vec<Operation>> {
        match self.rows {
            Rows::Memory(rows) => {
                let mut rows = rows.into_owned();
                rows.extend(self.pending.iter().map(|p| p.op));
                Some(rows)
            }
            Rows::File(_) => None,
        }
    }

    /// The same history, all in memory.
    pub fn hold(self, symbols: &mut Symbols) -> Result<Feed<'a>, Diagnostic> {
        let mut all: Vec<Operation> = Vec::with_capacity(self.completed as usize);
        self.chunks(&mut Names::Own(symbols), |_, rows, _| {
            all.extend_from_slice(rows);
            Ok::<_, Diagnostic>(())
        })?;
        all.extend(self.pending.iter().map(|p| p.op));
        Ok(Feed::of(all))
    }

    /// Was an operation called at the very stamp at which its process's last one returned?
    pub fn touches(&self) -> bool {
        let completed = match &self.rows {
            Rows::Memory(rows) => {
                let mut processes = LastReturns::default();
                rows.iter().any(|row| processes.touches(row))
            }
            Rows::File(_) => self.touches,
        };
        completed || self.pending.iter().any(|p| p.strict_earliest != p.earliest)
    }

    /// The most operations open at one moment, as far as rows are in memory.
    pub fn widest(&self) -> usize {
        let rows = self.in_memory().unwrap_or_default();
        // From the last return to the first: what is open there was called before it. There may be no room
        // for a copy of the rows.
        let mut open: BinaryHeap<i64> = BinaryHeap::new();
        let mut widest = 0;
        for op in self.pending.iter().map(|pending| &pending.op).chain(rows.iter().rev()) {
            while open.peek().is_some_and(|&call| call > op.ret) {
                open.pop();
            }
            open.push(op.call);
            widest = widest.max(open.len());
        }
        widest
    }

    /// Gives every chunk with its floor to `take`, in order, until it says stop. The last chunk's floor is
    /// `i64::MAX`; a history with no completed operation has one empty chunk.
    pub fn chunks<E: From<Diagnostic>>(
        &self,
        names: &mut Names<'_>,
        mut take: impl FnMut(&Symbols, &[Operation], i64) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.rows {
            Rows::Memory(rows) if rows.is_empty() => take(names.get(), &[], i64::MAX),
            Rows::Memory(rows) => {
                for (chunk, floor) in rows.chunks(CHUNK).zip(&self.floors) {
                    take(names.get(), chunk, *floor)?;
                }
                Ok(())
            }
            Rows::File(open) => {
                let mut chunks = FileChunks::new(open()?);
                let Names::Own(symbols) = names else {
                    unreachable!("a file is never shared between threads: its symbols grow while it is read")
                };
                for floor in &self.floors {
                    let chunk = chunks.next(symbols)?;
                    take(symbols, chunk, *floor)?;
                }
                Ok(())
            }
        }
    }

    /// A value that is inserted or written twice, or once and also there from the start.
    pub fn repeated(&self, spec: &Builtin, names: &mut Names<'_>) -> Result<Option<Value>, Diagnostic> {
        let initial = match &spec.initial {
            Value::List(items) if spec.kind != Kind::Register => items.to_vec(),
            other => vec![other.clone()],
        };
        // The operation that inserts or writes: the first of every other specification with a monitor.
        let insertion = if spec.kind == Kind::Kv { codes::kv::PUT } else { OpCode(0) };
        let mut seen = Seen::default();
        let mut twice = None;
        for id in initial.iter().filter_map(|value| names.get().find(value)) {
            seen.insert(id);
        }
        let mut visit = |op: &Operation| {
            if op.op() == insertion && !seen.insert(op.arg) && twice.is_none() {
                twice = Some(op.arg);
            }
        };
        self.chunks(names, |_, rows, _| {
            rows.iter().for_each(&mut visit);
            Ok::<_, Diagnostic>(())
        })?;
        self.pending.iter().for_each(|pending| visit(&pending.op));
        Ok(twice.map(|id| names.get().value(id)))
    }

    /// Finds two operations of one process that were open at once, which is bad input.
    pub fn check_processes(&self, names: &mut Names<'_>, signature: &Signature) -> Result<(), Diagnostic> {
        let mut order = ProcessOrder::default();
        self.chunks(names, |symbols, chunk, _| {
            chunk.iter().try_for_each(|row| order.check(row, symbols, signature))
        })?;
        self.pending.iter().try_for_each(|p| order.check(&p.op, names.get(), signature))
    }
}

/// The last return of each process.
#[derive(Debug, Default)]
struct LastReturns(Vec<Option<i64>>);

impl LastReturns {
    /// Takes the next row of its process; was it called at the stamp at which the last one returned?
    fn touches(&mut self, row: &Operation) -> bool {
        let process = row.process().0 as usize;
        if process >= self.0.len() {
            self.0.resize(process + 1, None);
        }
        self.0[process].replace(row.ret) == Some(row.call)
    }
}

/// What a first reading of a long file tells.
struct Survey {
    /// The lowest call of each chunk.
    lowest: Vec<i64>,
    pending: Vec<Operation>,
    completed: u64,
    last: Option<(i64, i64)>,
    in_chunk: usize,
    lowest_here: i64,
    processes: LastReturns,
    touches: bool,
}

impl Default for Survey {
    fn default() -> Survey {
        Survey {
            lowest: Vec::new(),
            pending: Vec::new(),
            completed: 0,
            last: None,
            in_chunk: 0,
            lowest_here: i64::MAX,
            processes: LastReturns::default(),
            touches: false,
        }
    }
}

/// Reads the rest of a file whose beginning is in memory; `None` if it is not in order of return.
fn survey(
    beginning: &[Operation],
    reader: &mut dyn Reader,
    symbols: &mut Symbols,
    progress: &mut dyn FnMut(u64) -> Result<(), Limit>,
) -> Result<Option<Survey>, FeedError> {
    let mut survey = Survey::default();
    if !beginning.iter().all(|op| survey.add(op)) {
        return Ok(None);
    }
    let mut block = Vec::new();
    let mut more = true;
    while more {
        block.clear();
        more = reader.read(symbols, &mut block, CHUNK)?;
        if !block.iter().all(|op| survey.add(op)) {
            return Ok(None);
        }
        progress(survey.completed)?;
    }
    survey.close_chunk();
    Ok(Some(survey))
}

impl Survey {
    /// Takes a row; is it still in order?
    fn add(&mut self, op: &Operation) -> bool {
        if op.is_pending() {
            self.pending.push(*op);
            return true;
        }
        let in_order = self.last.is_none_or(|last| last <= return_order(op));
        self.last = Some(return_order(op));
        self.touches |= self.processes.touches(op);
        self.lowest_here = self.lowest_here.min(op.call);
        self.completed += 1;
        self.in_chunk += 1;
        if self.in_chunk == CHUNK {
            self.close_chunk();
        }
        in_order
    }

    fn close_chunk(&mut self) {
        if self.in_chunk > 0 {
            self.lowest.push(self.lowest_here);
        }
        (self.in_chunk, self.lowest_here) = (0, i64::MAX);
    }
}

impl Survey {
    /// Finds the first gaps of the pending operations, which takes one more pass if there are any.
    fn into_feed<'a>(mut self, open: &'a Open<'a>, symbols: &mut Symbols) -> Result<Feed<'a>, Diagnostic> {
        self.pending.sort_by_key(|op| op.call);
        let mut pending = Vec::with_capacity(self.pending.len());
        if !self.pending.is_empty() {
            let mut chunks = FileChunks::new(open()?);
            // Returns at the last stamp of a chunk may go on in the next one, so they are looked at together.
            let mut rows: Vec<Operation> = Vec::new();
            let mut base = 0;
            for _ in &self.lowest {
                rows.extend_from_slice(chunks.next(symbols)?);
                let end = rows.last().map_or(i64::MAX, |op| op.ret);
                while let Some(op) = self.pending.get(pending.len()).filter(|op| op.call < end) {
                    pending.push(Pending::new(*op, &rows, base));
                }
                let done = rows.partition_point(|op| op.ret < end);
                rows.drain(..done);
                base += done as u32;
            }
            pending.extend(self.pending[pending.len()..].iter().map(|op| Pending::new(*op, &rows, base)));
        }
        let (completed, touches) = (self.completed, self.touches);
        Ok(Feed { rows: Rows::File(open), floors: floors(self.lowest), pending, completed, touches })
    }
}

/// Completed rows of a file in chunks of exactly [`CHUNK`], but for the last.
struct FileChunks {
    reader: Box<dyn Reader>,
    buffer: Vec<Operation>,
    given: usize,
    more: bool,
}

impl FileChunks {
    fn new(reader: Box<dyn Reader>) -> FileChunks {
        FileChunks { reader, buffer: Vec::new(), given: 0, more: true }
    }

    fn next(&mut self, symbols: &mut Symbols) -> Result<&[Operation], Diagnostic> {
        self.buffer.drain(..self.given);
        while self.more && self.buffer.len() < CHUNK {
            let from = self.buffer.len();
            self.more = self.reader.read(symbols, &mut self.buffer, CHUNK)?;
            if self.buffer[from..].iter().any(Operation::is_pending) {
                self.buffer.retain(|op| !op.is_pending());
            }
        }
        self.given = self.buffer.len().min(CHUNK);
        Ok(&self.buffer[..self.given])
    }
}

fn lowest_call(rows: &[Operation]) -> i64 {
    rows.iter().map(|op| op.call).min().unwrap_or(i64::MAX)
}

/// From the lowest call of each chunk, the lowest call of all later ones.
fn floors(lowest: Vec<i64>) -> Vec<i64> {
    let mut floors = lowest;
    let mut lowest = i64::MAX;
    for floor in floors.iter_mut().rev() {
        lowest = lowest.min(std::mem::replace(floor, lowest));
    }
    floors
}
