//! What claims cost: `cargo run --release -p linpoint-claim --example cost`.
//!
//! Times are of one thread, the best of several rounds; compare lines of one run with each other, not runs.
//! With an argument, only lines that contain it.

use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use linpoint_claim::{
    Kind, Monitor, PlainHost, Site, ThreadId, ThreadSet, VarId, install, procedure, tressa,
};

static SITE: Site = Site { file: "cost", line: 1, column: 1, source: "claim", terms: &["term"] };

fn main() {
    for claims in [0, 1, 10, 100, 1000, 10_000] {
        let mut monitor = Monitor::new();
        (0..claims).for_each(|other| claim_first(&mut monitor, VarId::of_address(64 * other + 64)));
        let unwatched = VarId::of_address(8);
        let mut value = 0;
        show(&format!("access to a variable nobody watches, {claims} live claims on others"), || {
            value += 1;
            monitor.access(ThreadId(1), black_box(unwatched), Kind::Wr, value);
        });
        claim_first(&mut monitor, unwatched);
        show(&format!("access to a variable that one term watches, {claims} live claims on others"), || {
            value += 1;
            monitor.access(ThreadId(1), black_box(unwatched), Kind::Wr, value);
        });
    }
    let mut monitor = Monitor::new();
    show("claim with one term, decided by the next access, and reset", || {
        claim_first(&mut monitor, VarId::of_address(8));
        monitor.access(ThreadId(2), VarId::of_address(8), Kind::Wr, 7);
        monitor.reset();
    });
    show("reset without claims", || monitor.reset());

    let (x, y) = (black_box(1), black_box(1));
    let s = linpoint_claim::Var::new(true);
    show("tressa! without a host", || tressa!(Exit(s) ==> x == y));
    let _installed = install(Rc::new(PlainHost::default()));
    show("tressa! that holds whatever happens", || tressa!(Exit(s) ==> x == y));
    show("procedure with a tressa! that waits for its end", || {
        let _procedure = procedure();
        let s = linpoint_claim::Var::new(true);
        tressa!(Exit(s) ==> x != y);
        s.set(false);
    });
}

fn claim_first(monitor: &mut Monitor, variable: VarId) {
    let id = monitor.open_claim(ThreadId(1), &SITE);
    monitor.add_first(id, variable, Kind::Wr, ThreadSet::only(ThreadId(2)));
    monitor.close_claim(id, Box::new(|values, _| values[0] == 7));
}

fn show(what: &str, mut run: impl FnMut()) {
    const TIMES: u32 = 200_000;
    if std::env::args().nth(1).is_some_and(|wanted| !what.contains(&wanted)) {
        return;
    }
    let mut round = || {
        let start = Instant::now();
        (0..TIMES).for_each(|_| run());
        start.elapsed()
    };
    let best = (0..7).map(|_| round()).min().unwrap_or(Duration::ZERO);
    println!("{:6.1} ns  {what}", best.as_secs_f64() * 1e9 / f64::from(TIMES));
}
