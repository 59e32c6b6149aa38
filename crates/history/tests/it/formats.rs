//! Reading and writing histories.

use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::notation;
use linpoint_history::{Builtin, Kind, Spec};

#[test]
fn json_lines_round_trip() {
    let spec = Builtin::new(Kind::Queue);
    let text = "p1: enqueue 1 [1,4]; p2: dequeue -> 1 [2,3]; p7: dequeue -> null [5,..]";
    let history = notation::parse(spec.signature(), text).unwrap();
    let mut bytes = Vec::new();
    formats::write(Format::JsonLines, &history, spec.signature(), &mut bytes).unwrap();
    let back = formats::read_all(&Input::Bytes(bytes.clone()), &spec, &ReadOptions::default()).unwrap();
    assert_eq!(back.operations.len(), 3);
    let mut again = Vec::new();
    formats::write(Format::JsonLines, &back, spec.signature(), &mut again).unwrap();
    let sorted = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(again), sorted(bytes));
}
