//! One level of the search on several cores, with the same outcome as on one.
//!
//! The states of a level are taken in batches, and a batch goes through five rounds:
//!
//! 1. Workers take pieces of the batch, each in the order of states, and write down the names of the states
//!    that steps lead to. They share nothing that anybody writes; what is new to their monitors they number
//!    for themselves.
//! 2. The new sets of the monitors get the numbers that one worker alone would have given them
//!    ([`Monitor::gather`]).
//! 3. These are put into the names, and the names are hashed.
//! 4. Each worker takes the names with some of the hashes, in their order, and finds out which of them nobody
//!    has met.
//! 5. One worker adds these to the store, in the order of the states they were reached from.
//!
//! So the store is, byte for byte, that of one worker. If something is wrong at several states of a batch,
//! the first counts; what comes after it is forgotten.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::scope;

use crate::explore::Limit;
use crate::fast::Names;
use crate::monitor::{Monitor, MonitorId};
use crate::progress::Arc;
use crate::store::{StateId, Store, hash};

use super::{Search, Stop, Trouble, Worker};

/// States of a batch, and of a piece of it.
const BATCH: usize = 1 << 14;
const PIECE: usize = 1 << 7;

/// What a worker found at the states of a piece.
struct Piece {
    /// Which piece, and who looked at it.
    index: usize,
    worker: usize,
    names: Names,
    hashes: Vec<u32>,
    /// How many names there are of each state.
    counts: Vec<u32>,
    /// How many names the pieces before have.
    before: usize,
    /// What is wrong with the state that comes next.
    wrong: Option<Trouble>,
}

/// What is known about a name: the number of the state, that it is new, or the place of the same name before.
const NEW: u64 = u64::MAX;
const SAME: u64 = 1 << 63;

impl Search<'_, '_, '_> {
    /// Looks at the states of a level; the first of the next level.
    pub(super) fn level_by_all(
        &mut self,
        first: StateId,
        count: usize,
        depth: usize,
    ) -> Result<Option<StateId>, Stop> {
        let mut ids = Vec::with_capacity(count);
        let mut next = Some(first);
        while let Some(id) = next.filter(|_| ids.len() < count) {
            ids.push(id);
            next = self.store.after(id);
        }
        // What one worker found is known to all.
        self.gather();
        for batch in ids.chunks(BATCH) {
            self.beyond()?;
            if self.bounds.states.is_some_and(|most| self.store.len() > most) {
                return Err(Stop::Limit(Limit::States));
            }
            self.tell(depth);
            self.batch(batch)?;
            self.visited += batch.len();
        }
        Ok(ids.last().and_then(|last| self.store.after(*last)))
    }

    fn gather(&mut self) -> Vec<Vec<MonitorId>> {
        let mut monitors: Vec<&mut Monitor<'_>> =
            self.workers.iter_mut().filter_map(|worker| worker.explorer.monitor.as_mut()).collect();
        Monitor::gather(&mut monitors)
    }

    fn batch(&mut self, batch: &[StateId]) -> Result<(), Stop> {
        let known = self.workers[0].explorer.monitor.as_ref().map_or(0, |monitor| monitor.known());
        let mut pieces = self.look(batch);
        let numbers = self.gather();
        let wrong = pieces.iter().position(|piece| piece.wrong.is_some());
        if let Some(wrong) = wrong {
            pieces.truncate(wrong + 1);
        }
        let share = pieces.len().div_ceil(self.workers.len()).max(1);
        let mut before = 0;
        for piece in &mut pieces {
            piece.before = before;
            before += piece.names.ends.len();
        }
        scope(|scope| {
            for share in pieces.chunks_mut(share) {
                let numbers = &numbers;
                scope.spawn(move || share.iter_mut().for_each(|piece| piece.settle(known, numbers)));
            }
        });
        let marks = self.mark(&pieces, before);
        self.add(batch, &pieces, &marks);
        match pieces.pop().and_then(|piece| Some((piece.place(batch), piece.wrong?))) {
            Some((Some(at), trouble)) => Err(trouble.at(at)),
            _ => Ok(()),
        }
    }

    /// The first round. Pieces come in order; after one in which something is wrong, some may be missing.
    fn look(&mut self, batch: &[StateId]) -> Vec<Piece> {
        let (next, first_wrong) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        let (next, first_wrong, store) = (&next, &first_wrong, &*self.store);
        let work = |(number, worker): (usize, &mut Worker<'_, '_>)| {
            let mut pieces = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let states = batch.chunks(PIECE).nth(index);
                let Some(states) = states.filter(|_| index <= first_wrong.load(Ordering::Relaxed)) else {
                    return pieces;
                };
                let piece = look_at(worker, store, states, (index, number));
                if piece.wrong.is_some() {
                    first_wrong.fetch_min(index, Ordering::Relaxed);
                }
                pieces.push(piece);
            }
        };
        let work = &work;
        let mut pieces: Vec<Piece> = scope(|scope| {
            let workers = self.workers.iter_mut().enumerate();
            let started: Vec<_> = workers.map(|worker| scope.spawn(move || work(worker))).collect();
            started.into_iter().flat_map(|one| one.join().unwrap_or_else(|why| resume_unwind(why))).collect()
        });
        pieces.sort_unstable_by_key(|piece| piece.index);
        pieces
    }

    /// The fourth round: what is known about each name.
    fn mark(&self, pieces: &[Piece], names: usize) -> Vec<AtomicU64> {
        let marks: Vec<AtomicU64> = (0..names).map(|_| AtomicU64::new(NEW)).collect();
        let (count, store, marks_of_all) = (self.workers.len(), &*self.store, &marks);
        scope(|scope| {
            for worker in 0..count {
                scope.spawn(move || mark(pieces, store, marks_of_all, (worker, count)));
            }
        });
        marks
    }

    /// The fifth round.
    fn add(&mut self, batch: &[StateId], pieces: &[Piece], marks: &[AtomicU64]) {
        let arcs = !self.graph.given_up;
        // The states that names stand for, where steps are kept.
        let mut ids: Vec<StateId> = Vec::new();
        for piece in pieces {
            self.workers[0].explorer.transitions += piece.names.ends.len() as u64;
            let mut names = piece.names.iter().enumerate();
            let states = batch[piece.index * PIECE..].iter();
            for (&from, &count) in states.zip(&piece.counts) {
                if count == 0 {
                    self.graph.finished.push(from);
                }
                for (index, name) in names.by_ref().take(count as usize) {
                    let mark = marks[piece.before + index].load(Ordering::Relaxed);
                    let to = match mark {
                        NEW => self.store.add(name, piece.hashes[index], from),
                        same if same & SAME != 0 && arcs => ids[(same & !SAME) as usize],
                        known => known as StateId,
                    };
                    if arcs {
                        ids.push(to);
                        let arc = Arc { from, thread: piece.names.threads[index], to };
                        self.graph.note(arc, self.bounds.progress);
                    }
                }
            }
        }
    }
}

impl Piece {
    /// Puts in the numbers that all know sets by, and hashes the names.
    fn settle(&mut self, known: usize, numbers: &[Vec<MonitorId>]) {
        let Names { bytes, ends, .. } = &mut self.names;
        let mut start = 0;
        for end in ends {
            if let (Some(id), Some(numbers)) =
                (bytes[start..*end].first_chunk_mut(), numbers.get(self.worker))
                && let Some(own) = (u32::from_le_bytes(*id) as usize).checked_sub(known)
            {
                *id = numbers[own].to_le_bytes();
            }
            start = *end;
        }
        self.hashes.extend(self.names.iter().map(hash));
    }

    /// The state that comes after those that are in order.
    fn place(&self, batch: &[StateId]) -> Option<StateId> {
        batch.get(self.index * PIECE + self.counts.len()).copied()
    }
}

fn look_at(
    worker: &mut Worker<'_, '_>,
    store: &Store,
    states: &[StateId],
    (index, number): (usize, usize),
) -> Piece {
    let mut piece = Piece {
        index,
        worker: number,
        names: Names::default(),
        hashes: Vec::new(),
        counts: Vec::with_capacity(states.len()),
        before: 0,
        wrong: None,
    };
    for (place, id) in states.iter().enumerate() {
        if let Some(monitor) = &mut worker.explorer.monitor {
            monitor.look_at((index * PIECE + place) as u32);
        }
        if let Err(wrong) = worker.look(store.get(*id)) {
            piece.wrong = Some(wrong);
            break;
        }
        piece.counts.push(worker.names.ends.len() as u32);
        piece.names.append(&worker.names);
    }
    piece
}

/// Finds out about the names with hashes of one share.
fn mark(pieces: &[Piece], store: &Store, marks: &[AtomicU64], (worker, workers): (usize, usize)) {
    let own = |hash: u32| ((u64::from(hash) * workers as u64) >> 32) as usize == worker;
    // New names of this batch: one more than the number of the piece and of the name, where the hash says.
    let size = (marks.len() * 2 / workers + 64).next_power_of_two();
    let mut new: Vec<(u32, u32)> = vec![(0, 0); size];
    let mut held = 0;
    for (number, piece) in pieces.iter().enumerate() {
        for (index, name) in piece.names.iter().enumerate() {
            let hash = piece.hashes[index];
            if !own(hash) {
                continue;
            }
            let mark = &marks[piece.before + index];
            if let Some(id) = store.find(name, hash) {
                mark.store(u64::from(id), Ordering::Relaxed);
                continue;
            }
            if held * 2 > new.len() {
                new = grown(&new, pieces);
            }
            let mask = new.len() - 1;
            // The first bits say whose share it is: the last ones tell names apart.
            let mut at = hash as usize & mask;
            loop {
                let (there, same) = new[at];
                if there == 0 {
                    new[at] = (number as u32 + 1, index as u32);
                    held += 1;
                    break;
                }
                let before = &pieces[there as usize - 1];
                let same = same as usize;
                if before.hashes[same] == hash && before.names.get(same) == name {
                    mark.store(SAME | (before.before + same) as u64, Ordering::Relaxed);
                    break;
                }
                at = (at + 1) & mask;
            }
        }
    }
}

/// Twice as much room.
fn grown(new: &[(u32, u32)], pieces: &[Piece]) -> Vec<(u32, u32)> {
    let mut larger = vec![(0, 0); new.len() * 2];
    let mask = larger.len() - 1;
    for &(piece, index) in new.iter().filter(|(piece, _)| *piece != 0) {
        let mut at = pieces[piece as usize - 1].hashes[index as usize] as usize & mask;
        while larger[at].0 != 0 {
            at = (at + 1) & mask;
        }
        larger[at] = (piece, index);
    }
    larger
}
