//! Abstract steps cover the interpreter's on random heaps, reachable or not.

use linpoint_lang::program::Action;
use linpoint_shape::concrete::World;
use linpoint_shape::exec::Points;
use linpoint_shape::infer::candidates;
use linpoint_shape::layout::Layout;
use linpoint_shape::run::Steps;
use linpoint_shape::samples::{sample, sample_in, without_queries};

use crate::corpus::program;

/// So many edges in random states, with the points given and with an inferred combination.
#[track_caller]
fn check(name: &str, cases: u64) {
    let program = without_queries(&program(name));
    let layout = Layout::new(&program).expect("a program that is modelled");
    let inferred = candidates(&layout).into_iter().next_back();
    for points in std::iter::once(Points::Given).chain(inferred) {
        let steps = Steps { layout: &layout, points: &points };
        let (found, miss) = sample(&steps, 7, cases);
        assert!(miss.is_none(), "{name}: {found:?}, {miss:?}");
        assert!(found.looked_up > cases / 2 && found.stopped < found.looked_up, "{name}: {found:?}");
    }
}

#[test]
fn stacks_and_queues() {
    for name in ["treiber", "two-lock", "michael-scott", "dglm", "michael-scott-early-empty"] {
        check(name, 10_000);
    }
}

#[test]
fn offers_and_memory_that_is_used_again() {
    for name in ["elimination-stack", "treiber-counted"] {
        check(name, 10_000);
    }
}

#[test]
fn sets() {
    for name in
        ["pessimistic-set", "lazy-set", "optimistic-set", "michael-set", "vechev-yahav-set", "harris-set"]
    {
        check(name, 10_000);
    }
}

/// The net can catch something: steps of a program do not cover those of another one.
#[test]
fn steps_that_are_wrong_are_missed() {
    for name in ["treiber", "michael-scott", "lazy-set"] {
        let right = without_queries(&program(name));
        let layout = Layout::new(&right).expect("modelled");
        let steps = Steps { layout: &layout, points: &Points::Given };
        let mut wrong = right.clone();
        let edges = wrong.nodes.iter_mut().flat_map(|node| &mut node.edges);
        let write = edges
            .flat_map(|edge| &mut edge.actions)
            .find(|action| matches!(action, Action::Assign(place, _) if !matches!(place, linpoint_lang::program::Place::Local(_))))
            .expect("a write");
        *write = Action::Assume(linpoint_lang::program::Expr::Const(1));
        let other = Layout::new(&wrong).expect("modelled");
        let world = World::new(&other, &Points::Given, 2, u8::MAX);
        let (found, miss) = sample_in(&steps, &world, 7, 20_000);
        assert!(found.missed > 0 && miss.is_some(), "{name}: {found:?}");
    }
}
