//! What a worker remembers on disk, so that a run that was killed can go on.
//!
//! At a *checkpoint* with mark c a worker has decided nothing that returned after c, and everything called
//! before c has arrived. It writes, for each object, the state it is in and the rows that wait and were
//! called before c; a source that begins again leaves out what was called before c. So every operation counts
//! exactly once, whatever happened in between.
//!
//! A file is written beside its place and renamed, and carries a checksum: it is there whole or not at all.
//! Workers take the same checkpoints but not at the same moment, so a few are kept, and a run goes on from
//! the newest that all workers have.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use linpoint_history::specs::State;
use linpoint_history::{Builtin, KeyId, OpCode, Operation, Spec as _, Symbols};
use serde::{Deserialize, Serialize};

use crate::report::Found;
use crate::wire::{About, Wire};

/// Where progress is kept.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The directory.
    pub dir: PathBuf,
    /// What is checked, in words: a run goes on only where this is the same.
    pub of: String,
    /// Rows a worker reads between two checkpoints; none: so many that there are forty in all.
    pub every: Option<u64>,
}

/// Checkpoints a worker keeps: one that lags takes a few fewer, and what counts is the newest that all have.
const KEPT: usize = 8;
const MAGIC: &[u8; 8] = b"linprog3";

/// A worker at a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub of: String,
    pub mark: i64,
    pub worker: usize,
    pub workers: usize,
    /// What objects got their homes by.
    pub homes: u64,
    pub sources: Vec<(u32, About)>,
    pub objects: Vec<Kept>,
}

/// Where a worker keeps its progress.
pub(crate) struct Keeper {
    pub progress: Progress,
    pub worker: usize,
    pub workers: usize,
    /// What objects get their homes by.
    pub homes: u64,
}

impl Keeper {
    /// The marks of those of its checkpoints that are whole and of this run.
    pub fn usable(&self) -> Vec<i64> {
        let fits = |snapshot: Snapshot| {
            snapshot.of == self.progress.of
                && snapshot.workers == self.workers
                && snapshot.homes == self.homes
        };
        let mut marks = self.progress.marks(self.worker);
        marks.retain(|&mark| self.progress.read(self.worker, mark).is_some_and(fits));
        marks
    }
}

/// An object at a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub spec: (String, Option<Wire>),
    pub name: Wire,
    pub operations: u64,
    pub unanswered: u64,
    pub since: i64,
    pub start: KeptState,
    pub rows: Vec<KeptRow>,
    /// If it is decided: what was found.
    pub found: Option<Found>,
}

/// A row with names.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeptRow {
    call: i64,
    ret: i64,
    op: u8,
    process: Wire,
    arg: Wire,
    result: Wire,
    source: u32,
}

/// A state with names.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum KeptState {
    Value(Wire),
    Sequence(Vec<Wire>),
    Bag(Vec<(Wire, u32)>),
    Map(Vec<(Wire, Wire)>),
    Holders(Vec<(Wire, u32)>, Option<Wire>),
    /// The initial one: the past of an object with a specification of one's own is forgotten in no other
    /// ([`crate::lead::is_memorable`]).
    Initial,
}

impl KeptRow {
    pub fn new(row: &Operation, symbols: &Symbols) -> KeptRow {
        KeptRow {
            call: row.call,
            ret: row.ret,
            op: row.op().0,
            process: Wire(symbols.process_name(row.process())),
            arg: Wire(symbols.value(row.arg)),
            result: Wire(symbols.value(row.result)),
            source: row.key.0,
        }
    }

    pub fn rebuilt(&self, symbols: &mut Symbols) -> Operation {
        let mut row = Operation::new(symbols.process(&self.process.0), OpCode(self.op));
        (row.call, row.ret, row.key) = (self.call, self.ret, KeyId(self.source));
        (row.arg, row.result) = (symbols.intern(&self.arg.0), symbols.intern(&self.result.0));
        row
    }
}

impl KeptState {
    pub fn new(state: &State, symbols: &Symbols) -> KeptState {
        let process = |process| Wire(symbols.process_name(process));
        let wire = |value: &linpoint_history::Value| Wire(value.clone());
        match state {
            State::Value(value) => KeptState::Value(wire(value)),
            State::Sequence(items) => KeptState::Sequence(items.iter().map(wire).collect()),
            State::Bag(bag) => {
                KeptState::Bag(bag.iter().map(|(value, count)| (wire(value), *count)).collect())
            }
            State::Map(map) => {
                KeptState::Map(map.iter().map(|(key, value)| (wire(key), wire(value))).collect())
            }
            State::Holders(shares, owner) => KeptState::Holders(
                shares.iter().map(|(&who, &count)| (process(who), count)).collect(),
                owner.map(process),
            ),
            State::Own(_) => KeptState::Initial,
        }
    }

    pub fn rebuilt(&self, spec: &Builtin, symbols: &mut Symbols) -> State {
        match self {
            KeptState::Initial => spec.initial(),
            KeptState::Value(value) => State::Value(value.0.clone()),
            KeptState::Sequence(items) => State::Sequence(items.iter().map(|item| item.0.clone()).collect()),
            KeptState::Bag(bag) => {
                State::Bag(bag.iter().map(|(value, count)| (value.0.clone(), *count)).collect())
            }
            KeptState::Map(map) => {
                State::Map(map.iter().map(|(key, value)| (key.0.clone(), value.0.clone())).collect())
            }
            KeptState::Holders(shares, owner) => State::Holders(
                shares.iter().map(|(who, count)| (symbols.process(&who.0), *count)).collect(),
                owner.as_ref().map(|who| symbols.process(&who.0)),
            ),
        }
    }
}

impl Progress {
    fn path(&self, worker: usize, mark: i64) -> PathBuf {
        self.dir.join(format!("worker-{worker}.{mark}.progress"))
    }

    /// Writes a checkpoint and removes the oldest.
    pub(crate) fn write(&self, snapshot: &Snapshot) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let bytes = bincode::serialize(snapshot).map_err(io::Error::other)?;
        let path = self.path(snapshot.worker, snapshot.mark);
        let beside = path.with_extension("part");
        let mut file = File::create(&beside)?;
        file.write_all(MAGIC)?;
        file.write_all(&crc32fast::hash(&bytes).to_le_bytes())?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        drop(file);
        fs::rename(&beside, &path)?;
        // The oldest by the clock: those of another run may have higher marks.
        let mut kept: Vec<_> = self
            .marks(snapshot.worker)
            .into_iter()
            .map(|mark| {
                let path = self.path(snapshot.worker, mark);
                (path.metadata().and_then(|about| about.modified()).ok(), mark, path)
            })
            .collect();
        kept.sort_unstable();
        let old = kept.len().saturating_sub(KEPT);
        for (_, _, path) in &kept[..old] {
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    /// The marks of a worker's checkpoints.
    pub(crate) fn marks(&self, worker: usize) -> Vec<i64> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let mark = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let rest = name.strip_prefix(&format!("worker-{worker}."))?;
            rest.strip_suffix(".progress")?.parse().ok()
        };
        entries.filter_map(Result::ok).filter_map(mark).collect()
    }

    /// Reads a checkpoint, if it is there and whole.
    pub(crate) fn read(&self, worker: usize, mark: i64) -> Option<Snapshot> {
        read(&self.path(worker, mark)).filter(|snapshot| snapshot.worker == worker && snapshot.mark == mark)
    }
}

fn read(path: &Path) -> Option<Snapshot> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*sum) != crc32fast::hash(rest) {
        return None;
    }
    bincode::deserialize(rest).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checkpoints that another run left, with higher marks, do not push out those of this one.
    #[test]
    fn the_oldest_go_first() {
        let dir = std::env::temp_dir().join(format!("linpoint-progress-{}", std::process::id()));
        let progress = Progress { dir: dir.clone(), of: "this".to_owned(), every: None };
        let write = |of: &str, mark: i64| {
            let (sources, objects) = (Vec::new(), Vec::new());
            let of = of.to_owned();
            let snapshot = Snapshot { of, mark, worker: 0, workers: 1, homes: 0, sources, objects };
            progress.write(&snapshot).expect("written");
        };
        (0..KEPT as i64).for_each(|mark| write("another", 1_000 + mark));
        // Clocks of file systems are coarse.
        std::thread::sleep(std::time::Duration::from_millis(50));
        (0..3).for_each(|mark| write("this", mark));
        let keeper = Keeper { progress: progress.clone(), worker: 0, workers: 1, homes: 0 };
        let mut usable = keeper.usable();
        usable.sort_unstable();
        assert_eq!((usable, progress.marks(0).len()), (vec![0, 1, 2], KEPT));
        fs::remove_dir_all(&dir).expect("removed");
    }
}
