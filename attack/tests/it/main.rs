//! A few rounds of every pack: what has rotted shows. Rounds are counted, not timed, so that a busy machine makes the
//! same test.

mod programs;

use std::time::Duration;

use linpoint_attack::{Campaign, find};

#[track_caller]
fn check(engine: &str) {
    for pack in find(engine) {
        let campaign = Campaign { seed: 1, rounds: 20, time: Duration::MAX, enough: 1 };
        let findings = campaign.run(pack, Duration::MAX);
        assert!(findings.disagreements.is_empty(), "{}: {:#?}", pack.name, findings.disagreements);
        assert!(findings.cases > 0, "{}: nothing was compared", pack.name);
    }
}

#[test]
fn history() {
    check("history");
}

#[test]
fn monitor() {
    check("monitor");
}

#[test]
fn model() {
    check("model");
}

#[test]
fn shape() {
    check("shape");
}

#[test]
fn obligations() {
    check("obligations");
}

#[test]
fn rust() {
    check("rust");
}
