//! Registers: the monitor for distinct values against the oracle.

use linpoint_check::Engine;
use linpoint_check::metastate::register::RegisterMetastates;
use linpoint_check::monitor::register::RegisterMonitor;
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Kind, Value};

use crate::small::{self, Taste};
use crate::stream::{self, Tally};

fn monitor() -> Box<dyn Engine> {
    Box::new(RegisterMonitor::new())
}

fn metastates() -> Box<dyn Engine> {
    Box::new(RegisterMetastates::new())
}

#[test]
fn the_monitor_on_histories_drawn_by_hand() {
    let check = |text, holds| stream::check(monitor, "register", text, holds);
    check("", true);
    check("read -> null [1,2]", true);
    check("read -> 1 [1,2]", false);
    check("read -> 1 [1,3]; write 1 [2,4]", true);
    check("read -> 1 [1,2]; write 1 [3,4]", false);
    check("write 1 [1,2]; read -> null [3,4]", false);
    check("write 1 [1,9]; read -> null [3,4]; read -> 1 [5,6]; read -> null [7,8]", false);
    check("write 1 [1,9]; write 2 [1,9]; read -> 1 [3,4]; read -> 2 [5,6]; read -> 1 [7,8]", false);
    check("write 1 [1,20]; write 2 [1,20]; read -> 2 [3,4]; read -> 1 [5,6]; read -> 1 [21,22]", true);
    check("write 1 [1,..]; read -> 1 [5,6]; write 2 [7,8]; read -> 2 [9,10]", true);
    check("write 1 [1,..]; read -> 1 [5,6]; write 2 [7,8]; read -> 1 [9,10]", false);
    check("write 1 [7,..]; read -> 1 [5,6]", false);
    check("write 1 [1,..]; write 2 [2,3]; read -> 2 [4,5]", true);
    check("write 3 [1,30]; write 1 [2,3]; read -> 1 [5,6]; read -> 1 [15,16]; read -> 1 [31,32]", true);
    check("write 3 [1,30]; write 1 [2,3]; read -> 1 [5,6]; read -> 1 [15,16]; read -> 3 [31,32]", true);
    stream::check_from(monitor, "register", Value::Int(7), "read -> 7 [1,2]; write 1 [3,4]", true);
    stream::check_from(monitor, "register", Value::Int(7), "write 1 [1,2]; read -> 7 [3,4]", false);
    stream::check(monitor, "kv", "put 1 [1,2]; get -> 1 [3,4]; put 2 [3,9]; get -> 1 [5,6]", true);
}

#[test]
fn the_monitor_agrees_with_brute_force() {
    let spec = Builtin::new(Kind::Register);
    let mut rng = Rng::new(7);
    let mut tally = Tally::default();
    for _ in 0..40_000 {
        let taste = Taste::random(&mut rng, 11, true);
        let history = small::history(&spec, &taste, &mut rng);
        stream::compare(monitor().as_mut(), &spec, &history, &mut rng, 6, &mut tally);
    }
    assert_eq!(tally.unsupported, 0);
    assert_eq!(tally.cores, tally.violated);
    assert!(tally.violated > tally.holds / 10);
}

#[test]
fn the_monitor_leaves_repeated_values_to_others() {
    let spec = Builtin::new(Kind::Register);
    let mut rng = Rng::new(9);
    let mut tally = Tally::default();
    for _ in 0..20_000 {
        let taste = Taste { values: 2 + rng.below(8), ..Taste::random(&mut rng, 10, false) };
        let history = small::history(&spec, &taste, &mut rng);
        stream::compare(monitor().as_mut(), &spec, &history, &mut rng, 6, &mut tally);
    }
    assert!(tally.unsupported > 1000 && tally.violated > 1000, "{tally:?}");
}

#[test]
fn metastates_on_traps() {
    let check = |text, holds| stream::check(metastates, "register", text, holds);
    // "The state does not change here, so the write may take effect at once."
    check(
        "write 0 [1,1]; write 0 [3,3]; write 1 [4,6]; read -> 1 [3,17]; write 0 [4,12]; read -> 0 [19,19]",
        true,
    );
    // "A write that may have been hidden is dropped when it returns."
    check(
        "read -> null [1,3]; write 0 [2,3]; read -> 0 [2,6]; write 2 [3,4]; read -> 2 [5,9]; write 1 [9,9]",
        true,
    );
    check("write 1 [1,2]; write 2 [3,4]; write 1 [5,..]; read -> 1 [7,8]; read -> 1 [9,10]", true);
    check("write 1 [1,2]; write 2 [3,4]; write 1 [5,..]; read -> 1 [7,8]; read -> 2 [9,10]", false);
    check("write 1 [1,2]; write 2 [3,4]; write 1 [9,..]; read -> 1 [7,8]", false);
    stream::check_from(metastates, "register", Value::text("a"), "write 1 [1,9]; read -> a [2,3]", true);
    stream::check_from(metastates, "register", Value::Int(1), "write 1 [1,9]; read -> 2 [2,3]", false);
}

#[test]
fn metastates_agree_with_brute_force() {
    let spec = Builtin::new(Kind::Register);
    let mut rng = Rng::new(8);
    let mut tally = Tally::default();
    for _ in 0..40_000 {
        let taste = Taste::random(&mut rng, 14, false);
        let history = small::history(&spec, &taste, &mut rng);
        stream::compare(metastates().as_mut(), &spec, &history, &mut rng, 6, &mut tally);
    }
    assert_eq!(tally.unsupported, 0);
    assert!(tally.violated > tally.holds / 10, "{tally:?}");
}
