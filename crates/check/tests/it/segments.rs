//! The recheck of orders with holes against the plain recheck: right orders and wrong ones, told in random
//! pieces.

use linpoint_check::recheck::Recheck;
use linpoint_check::recheck::segments::Segments;
use linpoint_check::timeline::{OpId, Ties, Timeline};
use linpoint_check::{Budget, brute};
use linpoint_history::history::return_order;
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Kind, Operation, Symbols, Value};

use crate::small::{self, Taste};

enum Step {
    Push(usize),
    Hole(u32),
    /// Fills this hole with these, last first, and closes it.
    Late(u32, Vec<usize>),
}

/// Tells the order `0..length` in pieces: runs of operations are left out at first and put into holes.
fn steps(length: usize, rng: &mut Rng) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut at, mut holes) = (0, 0);
    while at < length || rng.chance(0.2) {
        if rng.chance(0.4) {
            let run = (at..length.min(at + rng.below(4) as usize)).collect::<Vec<_>>();
            at += run.len();
            steps.push(Step::Hole(holes));
            steps.push(Step::Late(holes, run));
            holes += 1;
        } else if at < length {
            steps.push(Step::Push(at));
            at += 1;
        }
    }
    steps
}

fn by_pieces(
    spec: &Builtin,
    symbols: &Symbols,
    timeline: &Timeline,
    order: &[(OpId, Operation)],
    completed: u32,
    rng: &mut Rng,
) -> Result<u64, String> {
    let mut segments = Segments::new(spec, symbols);
    let mut late: Vec<(u32, Vec<usize>)> = Vec::new();
    let mut tell = |segments: &mut Segments, late: &mut Vec<(u32, Vec<usize>)>| {
        let pick = rng.below(late.len() as u64) as usize;
        match late[pick].1.pop() {
            Some(at) => segments.fill(late[pick].0, order[at].0, &order[at].1),
            None => segments.close(late.swap_remove(pick).0),
        }
    };
    let mut choices = Rng::new(order.len() as u64);
    let mut steps = steps(order.len(), &mut Rng::new(rng_seed(order))).into_iter().peekable();
    while let Some(step) = steps.next() {
        while !late.is_empty() && choices.chance(0.4) {
            tell(&mut segments, &mut late).map_err(|bad| bad.to_string())?;
        }
        match step {
            Step::Push(at) if choices.chance(0.7) => {
                let mut run = vec![order[at].0];
                while let Some(Step::Push(next)) = steps.next_if(|step| matches!(step, Step::Push(_))) {
                    run.push(order[next].0);
                }
                segments.push_all(timeline, &run)
            }
            Step::Push(at) => segments.push(order[at].0, &order[at].1),
            Step::Hole(name) => segments.hole(name),
            Step::Late(name, run) => {
                late.push((name, run));
                Ok(())
            }
        }
        .map_err(|bad| bad.to_string())?;
    }
    while !late.is_empty() {
        tell(&mut segments, &mut late).map_err(|bad| bad.to_string())?;
    }
    segments.finish(completed).map_err(|bad| bad.to_string())
}

fn rng_seed(order: &[(OpId, Operation)]) -> u64 {
    order.iter().fold(7, |sum, (id, op)| sum * 31 + u64::from(id.0 % 97) + op.call as u64)
}

#[test]
fn agrees_with_the_plain_recheck() {
    let mut rng = Rng::new(5);
    let (mut right, mut wrong) = (0, 0);
    for round in 0..40_000 {
        let mut spec = Builtin::new(Kind::Stack);
        if rng.chance(0.2) {
            spec = spec.with_initial(Value::list([Value::Int(1), Value::Int(2)]));
        }
        let distinct = rng.chance(0.5);
        let mut taste = Taste::random(&mut rng, 9, distinct);
        taste.spoil = 0.0;
        let mut history = small::history(&spec, &taste, &mut rng);
        history.operations.sort_by_key(return_order);
        let completed = history.operations.iter().filter(|op| !op.is_pending()).count() as u32;
        let found = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
        let brute::Search::Linearizable(mut order) = found.expect("no limit") else { continue };
        if order.is_empty() {
            continue;
        }
        // A mistake in some of the orders: two swapped, one moved, one left out, one twice.
        let (i, j) = (rng.below(order.len() as u64) as usize, rng.below(order.len() as u64) as usize);
        match rng.below(10) {
            0 | 1 => order.swap(i, j),
            2 => {
                let one = order.remove(i);
                order.insert(j.min(order.len()), one);
            }
            3 => drop(order.remove(i)),
            4 => order.insert(j, order[i]),
            _ => {}
        }
        let order: Vec<(OpId, Operation)> = order
            .into_iter()
            .map(|at| {
                let id = match (at as u32).checked_sub(completed) {
                    Some(index) => OpId::pending(index),
                    None => OpId::completed(at as u32),
                };
                (id, history.operations[at])
            })
            .collect();
        let mut plain = Recheck::new(&spec, &history.symbols);
        let taken = order.iter().try_for_each(|(id, op)| plain.take(&spec, &history.symbols, *id, op));
        let plainly = taken.and_then(|()| plain.finish(completed));
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        let pieces = by_pieces(&spec, &history.symbols, &timeline, &order, completed, &mut rng);
        assert_eq!(plainly.is_ok(), pieces.is_ok(), "round {round}: {plainly:?}, {pieces:?}: {order:?}");
        right += u32::from(plainly.is_ok());
        wrong += u32::from(plainly.is_err());
    }
    assert!(right > 10_000 && wrong > 3_000, "{right} right, {wrong} wrong");
}
