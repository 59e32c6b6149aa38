//! Where rows come from, and how much of the past they leave open.
//!
//! A [`Feed`] hands out rows in order of return together with its *floor*: nothing it still has to give was
//! called before that. The floor is the source's part of the run's watermark. [`FileFeed`] reads a file
//! twice: once for its floors and pending operations, as `check` does, and once to give them out. A file that
//! is not in order of return is held in memory and sorted. [`Outlet`] sends rows to the workers that own
//! their objects.

use std::collections::VecDeque;
use std::ops::Range;

use linpoint_history::formats::{self, Guard, Input, ProcessOrder, ReadOptions, Reader, problem};
use linpoint_history::history::return_order;
use linpoint_history::{Builtin, Diagnostic, KeyId, Operation, Spec, Symbols, Value, ValueId};

use crate::homes::{self, Table};
use crate::run::Named;
use crate::wire::{About, Batch, Notice, Packing, Rows, Wire};

/// Rows handed out at a time.
pub const CHUNK: usize = 1 << 12;

/// What a feed gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// Rows; nothing still to come was called before the floor.
    Rows {
        /// The floor.
        floor: i64,
    },
    /// Nothing now.
    Idle,
    /// Nothing more, ever.
    End,
    /// It broke off.
    Lost(String),
}

/// A source of rows.
pub trait Feed {
    /// Adds rows, in order of return.
    fn pull(&mut self, rows: &mut Vec<Operation>) -> Result<Pulled, Diagnostic>;

    /// What the numbers of its rows stand for.
    fn symbols(&self) -> &Symbols;

    /// Do operations of one process touch on different objects? Then objects are not independent.
    fn touches_across(&self) -> bool {
        false
    }

    /// What it calls itself, where it does.
    fn name(&self) -> Option<&str> {
        None
    }

    /// Rows in all, where that is known.
    fn total(&self) -> Option<u64> {
        None
    }

    /// Does [`Feed::symbols`] have all keys that will come?
    fn knows_keys(&self) -> bool {
        false
    }
}

/// A source that could not be opened: it is lost from the beginning.
pub struct Unreadable {
    why: String,
    symbols: Symbols,
}

impl Unreadable {
    /// In the place of a source that is not readable.
    pub fn source(diagnostic: &Diagnostic) -> Named {
        let about = About { name: diagnostic.file.clone(), spec: String::new(), initial: None, epsilon: 0 };
        Named {
            about,
            feed: Box::new(Unreadable { why: diagnostic.message.clone(), symbols: Symbols::new() }),
        }
    }
}

impl Feed for Unreadable {
    fn pull(&mut self, _: &mut Vec<Operation>) -> Result<Pulled, Diagnostic> {
        Ok(Pulled::Lost(self.why.clone()))
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }
}

/// A history in a file.
pub struct FileFeed {
    rows: Kept,
    /// All names: the first reading gave them, and the second gives them again in the same order.
    symbols: Symbols,
    /// The lowest call of all later chunks, chunk by chunk.
    floors: VecDeque<i64>,
    /// By call.
    pending: VecDeque<Operation>,
    total: u64,
    /// Completed rows that were not given out yet.
    left: u64,
    /// Keys of the first reading.
    keys: usize,
    touches_across: bool,
}

/// It was not the same when it was read again.
pub(crate) fn changed() -> Diagnostic {
    let message = "it has changed since it was read for the first time";
    let help = "files are read twice: check a copy, or wait until nobody writes to it any more";
    Diagnostic::new(problem::CHANGED, message, help)
}

enum Kept {
    File { reader: Box<dyn Reader>, buffer: Vec<Operation>, more: bool },
    Memory(VecDeque<Operation>),
}

impl FileFeed {
    /// Reads a file for the first time; the guard of `options` is asked then, and not when it is read again.
    pub fn open(input: &Input, spec: &Builtin, options: &ReadOptions) -> Result<FileFeed, Diagnostic> {
        let mut survey = Survey::default();
        let (mut symbols, mut block, mut more) = (Symbols::new(), Vec::new(), true);
        let mut reader = formats::open(input, spec, options)?;
        while more && survey.sorted {
            block.clear();
            more = reader.read(&mut symbols, &mut block, CHUNK)?;
            for row in &block {
                survey.add(row, &symbols, spec)?;
            }
        }
        if !survey.sorted {
            let history = formats::read_all(input, spec, options)?;
            return FileFeed::of(history.operations, history.symbols, spec);
        }
        let mut reader = formats::open(input, spec, options)?;
        reader.set_guard(Guard::default());
        survey.into_feed(Kept::File { reader, buffer: Vec::new(), more: true }, symbols, spec)
    }

    /// Rows in memory, in any order; their numbers are those of `symbols`.
    pub fn of(mut rows: Vec<Operation>, symbols: Symbols, spec: &Builtin) -> Result<FileFeed, Diagnostic> {
        rows.sort_by_key(return_order);
        let mut survey = Survey::default();
        for row in &rows {
            survey.add(row, &symbols, spec)?;
        }
        let completed = rows.partition_point(|row| !row.is_pending());
        rows.truncate(completed);
        survey.into_feed(Kept::Memory(rows.into()), symbols, spec)
    }

    /// The next chunk of completed rows.
    fn chunk(&mut self, rows: &mut Vec<Operation>) -> Result<(), Diagnostic> {
        let count = CHUNK.min(usize::try_from(self.left).unwrap_or(CHUNK));
        let is_last = self.left <= CHUNK as u64;
        match &mut self.rows {
            Kept::Memory(kept) => rows.extend(kept.drain(..count)),
            Kept::File { reader, buffer, more } => {
                buffer.reserve(CHUNK);
                // At the end of it all there must be nothing more.
                while *more && (buffer.len() < count || is_last && buffer.len() == count) {
                    let from = buffer.len();
                    *more = reader.read(&mut self.symbols, buffer, CHUNK)?;
                    if buffer[from..].iter().any(Operation::is_pending) {
                        buffer.retain(|row| !row.is_pending());
                    }
                }
                let has_changed = if is_last { buffer.len() != count } else { buffer.len() < count };
                if has_changed || self.symbols.key_count() != self.keys {
                    return Err(changed());
                }
                if rows.is_empty() && buffer.len() <= CHUNK {
                    std::mem::swap(rows, buffer);
                } else {
                    rows.extend(buffer.drain(..count));
                }
            }
        }
        self.left -= count as u64;
        Ok(())
    }
}

impl Feed for FileFeed {
    fn pull(&mut self, rows: &mut Vec<Operation>) -> Result<Pulled, Diagnostic> {
        let Some(floor) = self.floors.pop_front() else {
            rows.extend(self.pending.drain(..));
            return Ok(if rows.is_empty() { Pulled::End } else { Pulled::Rows { floor: i64::MAX } });
        };
        self.chunk(rows)?;
        while let Some(row) = self.pending.front().filter(|row| row.call < floor) {
            rows.push(*row);
            self.pending.pop_front();
        }
        Ok(Pulled::Rows { floor })
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn touches_across(&self) -> bool {
        self.touches_across
    }

    fn total(&self) -> Option<u64> {
        Some(self.total)
    }

    fn knows_keys(&self) -> bool {
        true
    }
}

/// What the first reading tells.
struct Survey {
    lowest: Vec<i64>,
    pending: Vec<Operation>,
    count: u64,
    last: (i64, i64),
    in_chunk: usize,
    lowest_here: i64,
    sorted: bool,
    order: ProcessOrder,
    touches_across: bool,
}

impl Default for Survey {
    fn default() -> Survey {
        Survey {
            lowest: Vec::new(),
            pending: Vec::new(),
            count: 0,
            last: (i64::MIN, i64::MIN),
            in_chunk: 0,
            lowest_here: i64::MAX,
            sorted: true,
            order: ProcessOrder::default(),
            touches_across: false,
        }
    }
}

impl Survey {
    #[inline]
    fn add(&mut self, row: &Operation, symbols: &Symbols, spec: &Builtin) -> Result<(), Diagnostic> {
        if !self.sorted {
            return Ok(());
        }
        if let Some(last) = self.order.previous(row.process()) {
            self.touches_across |= last.ret == row.call && last.key != row.key;
        }
        if row.is_pending() {
            self.pending.push(*row);
            return Ok(());
        }
        if return_order(row) < self.last {
            self.sorted = false;
            return Ok(());
        }
        self.order.check(row, symbols, spec.signature())?;
        self.last = return_order(row);
        self.lowest_here = self.lowest_here.min(row.call);
        self.count += 1;
        self.in_chunk += 1;
        if self.in_chunk == CHUNK {
            self.close();
        }
        Ok(())
    }

    fn into_feed(mut self, rows: Kept, symbols: Symbols, spec: &Builtin) -> Result<FileFeed, Diagnostic> {
        self.close();
        self.pending.sort_by_key(|row| row.call);
        for row in &self.pending {
            self.order.check(row, &symbols, spec.signature())?;
        }
        let mut lowest = i64::MAX;
        for floor in self.lowest.iter_mut().rev() {
            lowest = lowest.min(std::mem::replace(floor, lowest));
        }
        Ok(FileFeed {
            rows,
            keys: symbols.key_count(),
            symbols,
            floors: self.lowest.into(),
            total: self.count + self.pending.len() as u64,
            left: self.count,
            pending: self.pending.into(),
            touches_across: self.touches_across,
        })
    }

    fn close(&mut self) {
        if self.in_chunk > 0 {
            self.lowest.push(self.lowest_here);
        }
        (self.in_chunk, self.lowest_here) = (0, i64::MAX);
    }
}

/// Sends the rows of one source to the workers that own their objects.
pub struct Outlet {
    source: u32,
    about: About,
    told: bool,
    workers: usize,
    /// The workers of this process: what they get is moved and need not be packed.
    host: Range<u64>,
    /// The worker of each key so far.
    homes: Table,
    /// The same of all keys, where they were assigned beforehand.
    assigned: Option<Vec<u16>>,
    home_of_none: usize,
    /// How many processes were sent to all.
    processes: usize,
    /// Which values of the table were sent to each worker.
    values: Vec<Vec<bool>>,
    /// Where rows that travel are packed.
    packing: Packing,
}

impl Outlet {
    /// For source number `source` of a run with so many workers, of which those of `host` are in this
    /// process. Its keys have these homes, or theirs by name.
    pub fn new(
        source: u32,
        about: About,
        workers: usize,
        host: Range<u64>,
        assigned: Option<Vec<u16>>,
    ) -> Outlet {
        assert!(workers <= 1 << 16, "a run has at most 65,536 workers");
        Outlet {
            source,
            told: false,
            workers,
            host,
            homes: Table::new(workers),
            assigned,
            home_of_none: homes::by_name(&about.spec, &Value::Null, workers) as usize,
            processes: 0,
            values: vec![Vec::new(); workers],
            packing: Default::default(),
            about,
        }
    }

    /// It calls itself `name`; of use before anything was sent.
    pub fn rename(&mut self, name: &str) {
        if !self.told && self.about.name != name {
            self.about.name = name.to_owned();
        }
    }

    /// What the source is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Were homes found for all keys, where that was done beforehand? Others may look for a new one
    /// elsewhere.
    pub fn expects(&self, symbols: &Symbols) -> bool {
        self.assigned.as_ref().is_none_or(|homes| symbols.key_count() <= homes.len())
    }

    /// One batch a worker that gets something.
    pub fn batches(&mut self, rows: Vec<Operation>, symbols: &Symbols) -> Vec<Batch> {
        let mut batches: Vec<Batch> = (0..self.workers as u64)
            .map(|target| Batch { target, source: self.source, ..Batch::default() })
            .collect();
        if !self.told {
            batches.iter_mut().for_each(|batch| batch.about = Some(self.about.clone()));
            self.told = true;
        }
        for key in self.homes.len()..symbols.key_count() {
            let name = symbols.key_name(KeyId(key as u32));
            let home = match self.assigned.as_ref().and_then(|homes| homes.get(key)) {
                Some(&home) => usize::from(home),
                None => homes::by_name(&self.about.spec, &name, self.workers) as usize,
            };
            self.homes.push(home);
            batches[home].keys.push((key as u32, Wire(name)));
        }
        for process in self.processes..symbols.process_count() {
            let id = linpoint_history::ProcessId(process as u32);
            let name = Wire(symbols.process_name(id));
            batches.iter_mut().for_each(|batch| batch.processes.push((process as u32, name.clone())));
        }
        self.processes = symbols.process_count();
        if self.workers == 1 {
            for row in rows.iter().filter(|_| symbols.table_len() > 0) {
                self.tell(row, &mut batches[0], symbols);
            }
            batches[0].rows = Rows::new(rows);
        } else {
            if symbols.table_len() > 0 {
                for row in &rows {
                    let home = self.home(row.key);
                    self.tell(row, &mut batches[home], symbols);
                }
            }
            self.share(rows, &mut batches);
        }
        batches.retain(|batch| {
            batch.about.is_some()
                || !batch.rows.is_empty()
                || !batch.keys.is_empty()
                || !batch.processes.is_empty()
        });
        batches
    }

    /// Gives each worker its rows.
    fn share(&mut self, rows: Vec<Operation>, batches: &mut [Batch]) {
        if let Some(only) = self.homes.only()
            && (only == self.home_of_none || rows.iter().all(|row| row.key != KeyId::NONE))
        {
            let near = self.host.contains(&(only as u64));
            batches[only].rows = if near { Rows::new(rows) } else { Rows::packed(rows.iter().copied()) };
            return;
        }
        match batches {
            [near, far] if self.host == (0..1) => self.share_by_two(rows, 0, near, far),
            [far, near] if self.host == (1..2) => self.share_by_two(rows, 1, near, far),
            _ => self.share_by_many(&rows, batches),
        }
    }

    /// Keeps the rows of the worker `own` of this process where they are, and packs those of the other one.
    /// Whose a row is is anybody's guess, so there is no branch on it: each is written to both places, and
    /// stays in one.
    fn share_by_two(&mut self, mut rows: Vec<Operation>, own: usize, near: &mut Batch, far: &mut Batch) {
        let (mut kept, mut travelling) = (0, 0);
        let mut packing = std::mem::take(&mut self.packing);
        packing.begin(rows.iter().copied(), rows.len());
        for place in 0..rows.len() {
            let row = rows[place];
            let stays = self.home(row.key) == own;
            rows[kept] = row;
            packing.put(travelling, &row);
            kept += usize::from(stays);
            travelling += usize::from(!stays);
        }
        rows.truncate(kept);
        (near.rows, far.rows) = (Rows::new(rows), packing.rows(travelling));
        self.packing = packing;
    }

    /// First the places of each one's rows are listed, without a branch on whose they are, for that is
    /// anybody's guess; then they are copied, list by list.
    fn share_by_many(&self, rows: &[Operation], batches: &mut [Batch]) {
        let most = rows.len();
        let (mut places, mut counts) = (vec![0u32; most * self.workers], vec![0usize; self.workers]);
        for (place, row) in rows.iter().enumerate() {
            let home = self.home(row.key);
            places[home * most + counts[home]] = place as u32;
            counts[home] += 1;
        }
        for (target, batch) in batches.iter_mut().enumerate() {
            let own = places[target * most..][..counts[target]].iter().map(|&place| rows[place as usize]);
            let near = self.host.contains(&(target as u64));
            batch.rows = if near { Rows::new(own.collect()) } else { Rows::packed(own) };
        }
    }

    /// A notice for every worker.
    pub fn notices(&mut self, notice: &Notice) -> Vec<Batch> {
        let about = (!self.told).then(|| self.about.clone());
        self.told = true;
        let batch = |target| Batch {
            target,
            source: self.source,
            about: about.clone(),
            notice: Some(notice.clone()),
            ..Batch::default()
        };
        (0..self.workers as u64).map(batch).collect()
    }

    /// Tells of rows that came after it was promised that none would: each owner hears of its keys, which
    /// [`Outlet::batches`] told it of before.
    pub fn late(&mut self, rows: &[Operation]) -> Vec<Batch> {
        let at = rows.iter().map(|row| row.call).min().unwrap_or_default();
        let mut batches = self.notices(&Notice::Late { keys: Vec::new(), at });
        for row in rows {
            let batch = &mut batches[self.home(row.key)];
            if let Some(Notice::Late { keys, .. }) = &mut batch.notice {
                keys.push(row.key.0);
            }
        }
        batches
    }

    /// The worker that owns a key.
    #[inline]
    fn home(&self, key: KeyId) -> usize {
        if key == KeyId::NONE { self.home_of_none } else { self.homes.of(key.0 as usize) }
    }

    /// Explains the large values of a row to the worker that gets it.
    fn tell(&mut self, row: &Operation, batch: &mut Batch, symbols: &Symbols) {
        for id in [row.arg, row.result] {
            if id.0 < ValueId::INLINE || id.0 >= ValueId::TRUE.0 {
                continue;
            }
            let index = (id.0 - ValueId::INLINE) as usize;
            let sent = &mut self.values[batch.target as usize];
            if index >= sent.len() {
                sent.resize(index + 1, false);
            }
            if !std::mem::replace(&mut sent[index], true) {
                batch.values.push((index as u32, Wire(symbols.value(id))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linpoint_history::rng::Rng;
    use linpoint_history::{OpCode, ProcessId};

    #[test]
    fn two_workers_get_what_many_would() {
        let mut symbols = Symbols::new();
        let keys: Vec<KeyId> = (0..50).map(|key| symbols.key(&Value::Int(key))).collect();
        let mut rng = Rng::new(9);
        let rows: Vec<Operation> = (0..300)
            .map(|place| {
                let mut row = Operation::new(ProcessId(place % 7), OpCode(1));
                (row.call, row.ret) = (i64::from(place), i64::from(place) + 2);
                row.key = if rng.below(9) == 0 { KeyId::NONE } else { keys[rng.below(50) as usize] };
                row
            })
            .collect();
        let about = About { name: "f".to_owned(), spec: "queue".to_owned(), initial: None, epsilon: 0 };
        for host in [0..1, 1..2] {
            let mut outlet = Outlet::new(0, about.clone(), 2, host, None);
            // Of the keys; the rows are shared below, in both ways.
            outlet.batches(Vec::new(), &symbols);
            let mut ways = [(); 2].map(|()| vec![Batch::default(), Batch { target: 1, ..Batch::default() }]);
            outlet.share(rows.clone(), &mut ways[0]);
            outlet.share_by_many(&rows, &mut ways[1]);
            let [quick, plain] = ways.map(|batches| {
                let unpacked = |batch: &Batch| {
                    let mut rows = Vec::new();
                    batch.rows.chunks(7, |few| rows.extend_from_slice(few));
                    rows
                };
                batches.iter().map(unpacked).collect::<Vec<_>>()
            });
            assert_eq!(quick, plain);
            assert!(quick.iter().all(|rows| !rows.is_empty()));
        }
    }

    #[test]
    fn rows_go_where_their_keys_were_assigned_to() {
        let mut symbols = Symbols::new();
        let rows: Vec<Operation> = (0..90)
            .map(|place| {
                let mut row = Operation::new(ProcessId(0), OpCode(1));
                row.key = symbols.key(&Value::Int(i64::from(place) % 30));
                row
            })
            .collect();
        let about = About { name: "f".to_owned(), spec: "queue".to_owned(), initial: None, epsilon: 0 };
        for assigned in [vec![1; 30], vec![0; 30], (0..30).map(|key| u16::from(key % 3 == 0)).collect()] {
            for host in [0..1, 1..2] {
                let mut outlet = Outlet::new(0, about.clone(), 2, host, Some(assigned.clone()));
                let mut count = 0;
                for batch in outlet.batches(rows.clone(), &symbols) {
                    count += batch.rows.len();
                    let is_its = |key: u32| u64::from(assigned[key as usize]) == batch.target;
                    assert!(batch.keys.iter().all(|(key, _)| is_its(*key)));
                    batch.rows.chunks(7, |rows| assert!(rows.iter().all(|row| is_its(row.key.0))));
                }
                assert_eq!(count, rows.len());
                assert!(outlet.expects(&symbols));
            }
        }
        let outlet = Outlet::new(0, about, 2, 0..1, Some(vec![1; 29]));
        assert!(!outlet.expects(&symbols));
    }
}
