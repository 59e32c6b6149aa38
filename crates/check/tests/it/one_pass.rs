//! Files take the way of one pass where they can; the verdict must be the oracle's all the same.

use linpoint_check::decide::Unwatched;
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
            assert_eq!(matches!(answer.verdict, Verdict::Holds(_)), oracle, "{answer:?} {history:#?}");
            assert!(!matches!(answer.verdict, Verdict::Unknown(_)), "{answer:?}");
            assert_eq!(answer.operations, history.operations.len() as u64);
        }
    }
}
