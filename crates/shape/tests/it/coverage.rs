//! Every concrete state is covered: the net under the analysis.

use linpoint_shape::budget::Budget;
use linpoint_shape::concrete::World;
use linpoint_shape::cover::cover;
use linpoint_shape::exec::Points;
use linpoint_shape::infer::candidates;
use linpoint_shape::initial::initial;
use linpoint_shape::layout::Layout;
use linpoint_shape::run::Steps;
use linpoint_shape::store::{Domain, Store};
use linpoint_shape::threads::{self, Client, End};
use linpoint_shape::views;

use crate::corpus::program;

const ROOM: usize = 1 << 30;

/// Proves with these points, or the first inferred ones that do, and looks up concrete states of both
/// analyses.
#[track_caller]
fn check(name: &str, points: Option<Points>, bounds: &[(usize, u8)], most: usize, whole: bool) {
    let program = program(name);
    let layout = Layout::new(&program).expect("a program that is modelled");
    let start = initial(&layout, 1).expect("an initial state");
    let budget = Budget::new(None, ROOM, &|_| {});
    let tried = match points {
        Some(points) => vec![points],
        None => candidates(&layout),
    };
    for points in &tried {
        let steps = Steps { layout: &layout, points };
        let found = views::analyse(&steps, start.clone(), Domain::Joined, &budget);
        if !matches!(found.end, End::Proved) {
            continue;
        }
        for &(count, calls) in bounds {
            let world = World::new(&layout, points, count, calls);
            let counted = whole.then(|| {
                let client = Client::general(&layout, count);
                threads::analyse(
                    &steps,
                    initial(&layout, count).expect("initial"),
                    &client,
                    Domain::Joined,
                    &budget,
                )
            });
            let store = counted.as_ref().map(|found| &found.store);
            let coverage =
                cover(&steps, &world, count, most, Some(&found.views), store).expect("no run goes wrong");
            assert_eq!(coverage.missed, 0, "{name} {count} × {calls}: {coverage:?}");
            assert!(coverage.asked > 100, "{name} {count} × {calls}: {coverage:?}");
        }
        return;
    }
    panic!("{name} is not proved");
}

#[test]
fn treiber() {
    check("treiber", Some(Points::Given), &[(2, 2), (3, 1)], 20_000, true);
}

#[test]
fn two_lock() {
    check("two-lock", Some(Points::Given), &[(2, 2), (3, 1)], 20_000, true);
}

#[test]
fn michael_scott() {
    check("michael-scott", Some(Points::Given), &[(2, 2), (3, 1)], 20_000, false);
    check("michael-scott", Some(Points::Given), &[(2, 2)], 10_000, true);
}

#[test]
fn dglm() {
    check("dglm", Some(Points::Given), &[(2, 2), (3, 1)], 20_000, false);
}

#[test]
fn helping() {
    check("michael-scott-early-empty", None, &[(2, 2), (3, 1)], 20_000, false);
}

#[test]
fn counted() {
    check("treiber-counted", Some(Points::Given), &[(2, 2), (3, 1)], 20_000, true);
}

#[test]
fn elimination() {
    check("elimination-stack", Some(Points::Given), &[(2, 2), (3, 1)], 20_000, true);
    check("elimination-stack", None, &[(2, 2)], 20_000, false);
}

#[test]
fn pessimistic_set() {
    check("pessimistic-set", None, &[(2, 1), (2, 2), (3, 1)], 20_000, false);
}

/// The net can catch something: without interference, views are too few.
#[test]
fn the_net_catches_missing_views() {
    let program = program("treiber");
    let layout = Layout::new(&program).expect("modelled");
    let points = Points::Given;
    let steps = Steps { layout: &layout, points: &points };
    let alone = threads::analyse(
        &steps,
        initial(&layout, 1).expect("initial"),
        &Client::general(&layout, 1),
        Domain::Joined,
        &Budget::new(None, ROOM, &|_| {}),
    );
    let store: &Store<()> = &alone.store;
    let world = World::new(&layout, &points, 2, 1);
    let coverage = cover(&steps, &world, 2, 10_000, Some(store), None).expect("no run goes wrong");
    assert!(coverage.missed > 0, "{coverage:?}");
}
