//! How many runs until a bug shows, over all orders of the threads.

use std::ops::ControlFlow;
use std::sync::Mutex;

use linpoint_sched::explore::{Plan, Search, explore};
use linpoint_sched::{mark_call, mark_return};

use super::keys::{key, violates};
use super::named_programs::{Snapshot, together};

/// The runs to the first snapshot that no order explains, threads in the given order of roles; `None` if there is none.
fn broken_snapshot(search: &Search, roles: [usize; 4], writes: usize) -> Option<u64> {
    let results: Mutex<Vec<Option<(u32, u32)>>> = Mutex::new(Vec::new());
    let operations = 2 + 2 * writes;
    let program = || {
        results.lock().unwrap().clear();
        results.lock().unwrap().resize(2, None);
        together(Snapshot::default(), 4, |snapshot, index| match roles[index] {
            role @ (0 | 1) => {
                mark_call(role as u32);
                let result = snapshot.snapshot();
                mark_return(role as u32);
                results.lock().unwrap()[role] = result;
            }
            role => {
                for write in 0..writes {
                    let operation = (2 + (role - 2) * writes + write) as u32;
                    mark_call(operation);
                    snapshot.write_in_two(role - 2);
                    mark_return(operation);
                }
            }
        });
    };
    let mut runs = 0;
    let mut found = false;
    let plan = Plan { search: *search, time: None, ..Plan::default() };
    explore(&program, &plan, &mut |mut seen| {
        runs += 1;
        let key = key(seen.run, seen.clocks(), operations);
        let results = results.lock().unwrap();
        let step = |state: u64, operation: usize| match operation {
            0 | 1 => match results[operation] {
                Some((a, b)) => (state == u64::from(a) << 32 | u64::from(b)).then_some(state),
                None => Some(state),
            },
            write => Some(state + if write - 2 < writes { 1 << 32 } else { 1 }),
        };
        found = violates(&key, 0, &step);
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.then_some(runs)
}

/// Fewest, median and most runs over all orders of the threads.
fn over_all_orders(search: &Search, writes: usize) -> (u64, u64, u64) {
    let mut runs = Vec::new();
    for code in 0..256_usize {
        let roles = [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6];
        if (0..4).all(|role| roles.contains(&role)) {
            runs.push(broken_snapshot(search, roles, writes).expect("the bug is there"));
        }
    }
    runs.sort_unstable();
    (runs[0], runs[runs.len() / 2], runs[runs.len() - 1])
}

#[test]
fn the_broken_snapshot_is_caught_early() {
    assert_eq!(over_all_orders(&Search::Auto, 1), (87, 88, 89));
    assert_eq!(over_all_orders(&Search::Auto, 2), (315, 317, 544));
    assert_eq!(over_all_orders(&Search::Dpor, 1), (221, 424, 593));
}
