//! The recheck must refuse what is no witness, and the fast replay must be the readable specification.

use linpoint_check::recheck::Recheck;
use linpoint_check::replay::Replay;
use linpoint_check::timeline::OpId;
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, Kind, Spec, notation, specs};

use crate::small::{self, Taste};

/// Replays rows (completed ones in order of return) in the order of `order`.
#[track_caller]
fn check(spec: &str, text: &str, order: &[u32], expect: Option<&str>) {
    let spec = specs::parse(spec).expect("a known spec");
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let mut recheck = Recheck::new(&spec, &history.symbols);
    let take =
        |&i: &u32| recheck.take(&spec, &history.symbols, OpId::completed(i), &history.operations[i as usize]);
    let found = order.iter().map(take).collect::<Result<Vec<_>, _>>().map(|_| ());
    let found = found.and_then(|()| recheck.finish(history.operations.len() as u32).map(|_| ()));
    match (found, expect) {
        (Ok(()), None) => {}
        (Err(bad), Some(why)) => assert!(bad.to_string().contains(why), "{bad}"),
        (found, _) => panic!("{text} {order:?}: {found:?}"),
    }
}

#[test]
fn refuses_what_is_no_witness() {
    let text = "enqueue 1 [1,2]; enqueue 2 [3,4]; dequeue -> 1 [3,6]";
    check("queue", text, &[0, 1, 2], None);
    check("queue", text, &[0, 2, 1], None);
    check("queue", text, &[1, 0, 2], Some("already returned"));
    check("queue", text, &[0, 1], Some("missing"));
    check("queue", text, &[0, 0, 1], Some("twice"));
    check(
        "queue",
        "enqueue 1 [1,9]; enqueue 2 [3,10]; dequeue -> 1 [3,11]",
        &[1, 0, 2],
        Some("does not allow"),
    );
    check(
        "register",
        "p1: write 1 [1,5]; p1: write 2 [5,5]; p1: read -> 1 [5,5]",
        &[1, 0, 2],
        Some("of its process"),
    );
}

#[test]
fn the_fast_replay_is_the_specification() {
    for kind in Kind::all() {
        let spec = Builtin::new(kind);
        let mut rng = Rng::new(3);
        for _ in 0..300 {
            let taste = Taste { lanes: 1, pending: 0.0, ..Taste::random(&mut rng, 30, false) };
            let history = small::history(&spec, &taste, &mut rng);
            let mut replay = Replay::new(&spec, &history.symbols);
            let mut state = spec.initial();
            for op in &history.operations {
                let (arg, result) = (history.symbols.value(op.arg), history.symbols.value(op.result));
                let call = Call { op: op.op(), process: op.process(), arg: &arg };
                let allowed = spec.step(&state, call, &result);
                assert_eq!(
                    replay.step(&spec, &history.symbols, op),
                    allowed.is_some(),
                    "{} {op:?}",
                    kind.name()
                );
                match allowed {
                    Some(next) => state = next,
                    None => break,
                }
            }
        }
    }
}
