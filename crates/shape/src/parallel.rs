//! The same work on many things, on all cores, with the answers in order.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Fewer than this are not worth a thread.
const WORTH: usize = 64;

/// Applies a function to each, on all cores, and gives the answers in order.
pub(crate) fn in_parallel<T: Sync, R: Send>(all: &[T], apply: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    if jobs == 1 || all.len() < WORTH {
        return all.iter().map(apply).collect();
    }
    // Small pieces, taken as they come: some take much longer than others.
    let pieces: Vec<&[T]> = all.chunks(WORTH / 4).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done: Vec<(usize, Vec<R>)> = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(number) else { return done };
            done.push((number, piece.iter().map(&apply).collect()));
        }
    };
    let mut done: Vec<(usize, Vec<R>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..jobs).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, answers)| answers).collect()
}
