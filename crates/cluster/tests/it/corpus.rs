//! Every history of the corpus, split over one to four sources, has its verdict.

use std::path::Path;

use linpoint_history::formats::{self, Input, ReadOptions};
use linpoint_history::{Kind, Verdict, specs};

use crate::feeds::{self, Split};

fn check_all(folder: &Path) -> usize {
    let table = std::fs::read_to_string(folder.join("expected.csv")).expect("a table of verdicts");
    let mut checked = 0;
    for (number, line) in table.lines().skip(1).enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        let [file, name, expected] = fields[..] else { panic!("three fields: {line}") };
        let (input, options) = (Input::File(folder.join(file)), ReadOptions::default());
        let spec = specs::parse(name).expect("a specification");
        let history = formats::read_all(&input, &spec, &options).expect("a readable history");
        let implied = formats::open(&input, &spec, &options).expect("a readable history").implied_initial();
        let initial = implied.filter(|_| spec.kind == Kind::Kv);
        let (sources, workers, seed) = (1 + number % 4, 1 + number % 2, number as u64);
        let split = Split { sources, workers, seed, ..Split::default() };
        let (answer, _) = feeds::run(&history, name, initial, &split).answer();
        let found = match answer.verdict {
            Verdict::Holds(_) => "linearizable",
            Verdict::Violated(_) => "not linearizable",
            Verdict::Unknown(_) => "unknown",
        };
        // A log in which nothing returned is listed as what it is to others.
        let has_returns = history.operations.iter().any(|op| !op.is_pending());
        let expected = if has_returns { expected } else { "unknown" };
        assert_eq!(found, expected, "{file} {split:?}");
        checked += 1;
    }
    checked
}

#[test]
fn our_own() {
    assert!(check_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/histories")) >= 10);
}

#[test]
fn those_beside_the_project_if_there_are_any() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories");
    if folder.join("expected.csv").exists() {
        check_all(&folder);
    }
}
