//! Every litmus test of the corpus has as many graphs as its file says, and those that the enumerator finds.

use std::ops::ControlFlow;
use std::path::Path;

use linpoint_memory::litmus::{self, Expected, Litmus};
use linpoint_memory::{Coverage, End, Model, Options, explore, oracle};

fn tests_of(file: &str) -> Vec<Litmus> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus").join(file);
    let text = std::fs::read_to_string(&path).expect("the corpus is there");
    litmus::read(&text).expect("the corpus is in the notation")
}

fn check_counts(file: &str, at_least: usize) {
    let tests = tests_of(file);
    assert!(tests.len() >= at_least, "{file} has {} tests", tests.len());
    for test in tests {
        let Expected::Graphs { rc11, sc } = test.expected else { panic!("{} expects no counts", test.name) };
        for (model, expected) in [(Model::Rc11, rc11), (Model::Sc, sc)] {
            let report =
                explore(&mut test.program.clone(), &Options::of(model), |_, _| ControlFlow::Continue(()));
            assert_eq!(report.complete, expected, "{} under {}", test.name, model.name());
            assert_eq!(report.coverage(), Coverage::Everything, "{}", test.name);
        }
    }
}

#[test]
fn counts_are_those_of_genmc() {
    check_counts("genmc.litmus", 94);
}

#[test]
fn locks_and_loops_have_their_counts() {
    check_counts("locks.litmus", 7);
}

#[test]
fn shapes_have_their_counts() {
    check_counts("shapes.litmus", 50);
}

#[test]
fn outcomes_are_those_of_dat3m() {
    let tests = tests_of("dat3m.litmus");
    assert!(tests.len() >= 130, "{} tests", tests.len());
    for test in tests {
        let Expected::Outcome { allowed, outcome } = &test.expected else {
            panic!("{} expects no outcome", test.name)
        };
        let mut met = false;
        let _ = explore(&mut test.program.clone(), &Options::of(Model::Rc11), |graph, end| {
            met |= end == End::Complete && outcome.holds(&test.program, graph);
            ControlFlow::Continue(())
        });
        assert_eq!(met, *allowed, "{}", test.name);
    }
}

#[test]
fn graphs_of_the_corpus_are_those_of_the_enumerator() {
    let mut compared = 0;
    for test in tests_of("shapes.litmus").into_iter().chain(tests_of("genmc.litmus")) {
        // The largest ones take the enumerator long: `cargo xtask litmus --enumerate` has them.
        if matches!(test.expected, Expected::Graphs { rc11, .. } if rc11 > 100) {
            continue;
        }
        for model in Model::ALL {
            match oracle::agrees(&mut test.program.clone(), &Options::of(model)) {
                Some(Ok(_)) => compared += 1,
                Some(Err(why)) => panic!("{} under {}: {why:?}", test.name, model.name()),
                None => {}
            }
        }
    }
    assert!(compared > 450, "only {compared} were compared");
}
