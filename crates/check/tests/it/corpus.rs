//! The histories we ship, made by hand and recorded from real servers, against their expected verdicts.

use std::fs;
use std::path::Path;

use linpoint_check::decide::{self, Options};
use linpoint_history::formats::{self, Input, ReadOptions};
use linpoint_history::{Verdict, specs};

#[test]
fn every_history_has_its_verdict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/histories");
    let table = fs::read_to_string(folder.join("expected.csv")).expect("the table is shipped");
    let mut checked = 0;
    for line in table.lines().skip(1) {
        let [file, spec, expected] = line.splitn(3, ',').collect::<Vec<_>>()[..] else {
            panic!("expected.csv: `{line}`")
        };
        let spec = specs::parse(spec).expect("a known spec");
        let input = Input::File(folder.join(file));
        let mut history =
            formats::read_all(&input, &spec, &ReadOptions::default()).expect("a readable history");
        let rows = std::mem::take(&mut history.operations);
        let answer = decide::check_rows(rows, &spec, &mut history.symbols, &Options::default());
        let verdict = match answer.expect("the recheck agrees").verdict {
            Verdict::Holds(_) => "linearizable",
            Verdict::Violated(_) => "not linearizable",
            Verdict::Unknown(_) => "unknown",
        };
        assert_eq!(verdict, expected, "{file}");
        checked += 1;
    }
    assert_eq!(checked, 10);
}
