//! Files take the way of one pass where they can; the verdict must be the oracle's all the same.

use linpoint_check::decide::Unwatched;
use linpoint_check::feed::CHUNK;
use linpoint_check::{Budget, Options, brute, check};
use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Kind, Spec, Symbols, Verdict};

use crate::small::{self, Taste};

#[test]
fn files_get_the_verdict_of_the_oracle() {
    for kind in [Kind::Queue, Kind::Stack, Kind::PriorityQueue, Kind::Register, Kind::Set] {
        let spec = Builtin::new(kind);
        let mut rng = Rng::new(11);
        for round in 0..400 {
            let taste = Taste::random(&mut rng, 10, round % 4 > 0);
            let mut history = small::history(&spec, &taste, &mut rng);
            // Most logs are in order of return; some are not.
            if round % 8 > 0 {
                history.sort_by_return();
            }
            let oracle = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
            let oracle = oracle.expect("no limit").holds();
            let mut bytes = Vec::new();
            formats::write(Format::JsonLines, &history, spec.signature(), &mut bytes).expect("written");
            let input = Input::Bytes(bytes);
            let open = || formats::open(&input, &spec, &ReadOptions::default());
            let options = Options { hold: 4, ..Options::default() };
            let answer = check(&open, &spec, &mut Symbols::new(), &options, &Unwatched, None);
            let answer = answer.expect("a verdict");
            if !small::has_returns(&history) {
                assert!(matches!(answer.verdict, Verdict::Unknown(_)), "{answer:?}");
                continue;
            }
            assert_eq!(matches!(answer.verdict, Verdict::Holds(_)), oracle, "{answer:?} {history:#?}");
            assert!(!matches!(answer.verdict, Verdict::Unknown(_)), "{answer:?}");
            assert_eq!(answer.operations, history.operations.len() as u64);
        }
    }
}

#[test]
fn returns_of_one_stamp_may_lie_in_two_chunks() {
    // A long file is streamed in chunks. The last return of the first chunk and the first of the second have
    // one stamp, and a pending operation is called at it, by the process whose return is in the second chunk:
    // it comes after that.
    let spec = Builtin::new(Kind::Snapshot);
    let mut text = String::new();
    let row =
        |process: usize, op: &str, rest: &str| format!("{{\"process\":{process},\"op\":\"{op}\",{rest}}}\n");
    for i in 0..CHUNK - 1 {
        text += &row(0, "scan", &format!("\"ret\":[],\"call\":{i},\"return\":{i}"));
    }
    let last = 2 * CHUNK;
    text += &row(3, "scan", &format!("\"ret\":[3,4],\"call\":{last},\"return\":{last}"));
    text += &row(2, "write", &format!("\"arg\":[0,3],\"call\":{last},\"return\":{last}"));
    text += &row(2, "write", &format!("\"arg\":[1,4],\"call\":{last},\"return\":null"));
    let input = Input::Bytes(text.into_bytes());
    let open = || formats::open(&input, &spec, &ReadOptions::default());
    let options = Options { hold: 4, ..Options::default() };
    let answer = check(&open, &spec, &mut Symbols::new(), &options, &Unwatched, None);
    assert!(matches!(answer.expect("a verdict").verdict, Verdict::Holds(_)));
}
