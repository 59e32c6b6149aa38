//! The log's own code on real threads, with the shims as std's under it: short, for tools that watch every
//! access. `cargo xtask valgrind` runs this file under Memcheck and Helgrind, to whom the shims then tell
//! what they order.

use std::sync::Arc;

use crate::explored::{log, numbers, operate, take, watched};
use crate::local::Overflow;

const OPERATIONS: u64 = 500;

/// Two threads log and a third reads all the while: every number is seen once, and what a thread logged is in
/// its order.
#[test]
fn two_log_and_one_reads() {
    let on = watched();
    let (mut locals, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (local, end) = log(64, Overflow::Block);
        locals.push(local);
        ends.push(end);
    }
    let users: Vec<_> = locals
        .into_iter()
        .map(|local| {
            let on = Arc::clone(&on);
            std::thread::spawn(move || (0..OPERATIONS).for_each(|_| operate(&local, &on)))
        })
        .collect();
    let mut seen = vec![Vec::new(); 2];
    while seen.iter().map(Vec::len).sum::<usize>() < 6 * OPERATIONS as usize {
        for (thread, end) in ends.iter_mut().enumerate() {
            seen[thread].extend(take(thread as u32, end));
        }
        std::thread::yield_now();
    }
    users.into_iter().for_each(|user| user.join().expect("it does not panic"));
    for events in &seen {
        for operation in events.chunks(3) {
            let kinds: Vec<bool> = operation.iter().map(|event| event.what.takes_number()).collect();
            assert_eq!(kinds, [false, true, true], "{operation:?}");
            assert!(operation[0].stamp <= operation[1].stamp && operation[1].stamp < operation[2].stamp);
        }
    }
    assert_eq!(numbers(&seen.concat()), (0..4 * OPERATIONS).collect::<Vec<_>>());
}
