//! The notation of litmus tests: what is read, and what is told about what is not.

use std::ops::ControlFlow;

use linpoint_memory::litmus::{self, Diagnostic, Expected};
use linpoint_memory::{Coverage, Model, Options, explore};

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let wrong = litmus::read(text).expect_err("a diagnostic");
    let shown: Vec<String> = wrong.iter().map(Diagnostic::to_string).collect();
    assert_eq!(shown.join("\n"), expected);
}

/// How many graphs, and how many blocked ones, under RC11.
#[track_caller]
fn check_count(program: &str, complete: u64, blocked: u64) {
    let mut program = litmus::read_program(program).unwrap_or_else(|error| panic!("{program}: {error}"));
    let report = explore(&mut program, &Options::of(Model::Rc11), |_, _| ControlFlow::Continue(()));
    assert_eq!((report.complete, report.blocked), (complete, blocked));
}

#[test]
fn comments_and_blank_lines_are_skipped() {
    let text = "\u{feff}# a comment\n\n  \t\r\nSB |4| 3 | W x rlx 1; R y rlx || W y rlx 1; R x rlx # SB\r\n";
    let tests = litmus::read(text).expect("one test");
    assert_eq!(tests.len(), 1);
    assert_eq!((tests[0].name.as_str(), tests[0].line), ("SB", 4));
    assert_eq!(tests[0].expected, Expected::Graphs { rc11: 4, sc: 3 });
}

#[test]
fn errors_say_where_and_what() {
    check_error("", "1:1: no litmus test in the file; expected: name|RC11|SC|program");
    check_error("SB|4", "1:5: 2 of 4 fields; expected: name|RC11|SC|program");
    check_error(
        "A|x|3|R x rlx",
        "1:3: \"x\" is not a number of graphs; expected: a whole number, 0 or more; or allowed or forbidden, and an outcome",
    );
    check_error(
        "A|-1|3|R x rlx",
        "1:3: \"-1\" is not a number of graphs; expected: a whole number, 0 or more; or allowed or forbidden, and an outcome",
    );
    check_error(" |1|1|R x rlx", "1:1: the test has no name; expected: a name before the first |");
    check_error(
        "A|1|1|R x foo",
        "1:11: \"foo\" is not an ordering; expected: an ordering: na, rlx, acq, rel, ar or sc",
    );
    check_error(
        "A|1|1|R",
        "1:8: a location is missing; expected: a location: a name of letters, digits and _",
    );
    check_error(
        "A|1|1|J 3",
        "1:9: \"3\" is not the number of a thread; expected: the number of a thread, 0 to 0",
    );
    check_error("A|1|1|[a==1 R x rlx", "1:7: [ without ]; expected: a ] after the condition");
    check_error(
        "A|1|1|A a=1",
        "1:10: a comparison is missing; expected: a condition such as a==1, with ==, !=, <, >, <= or >=",
    );
    check_error(
        "A|1|1|W x rlx 99999999999999999999",
        "1:15: 99999999999999999999 is too large; expected: a number of 64 bits",
    );
}

#[test]
fn outcomes_are_read() {
    for wrong in ["2:a==1", "0:y==1", "z==1", "0:a=1", "0:a==b", "", "a==1 & "] {
        let text = format!("A|allowed|{wrong}|W x rlx 1; R x rlx a || R y rlx b");
        assert_eq!(litmus::read(&text).expect_err(wrong).len(), 1, "{wrong}");
    }
    let text = "A|forbidden| 0:a==1 & 1:b==-1 & x == 1 |W x rlx 1; R x rlx a || R y rlx b";
    assert!(matches!(
        litmus::read(text).expect("a test")[0].expected,
        Expected::Outcome { allowed: false, .. }
    ));
}

#[test]
fn all_lines_with_errors_are_told() {
    let wrong = litmus::read("A|1\nB|1|1|R x rlx\nC|1|1|Q").expect_err("two diagnostics");
    assert_eq!(wrong.iter().map(|error| error.line).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn columns_count_characters() {
    assert_eq!(litmus::read("ä|1|1|R ö rlx").expect_err("one")[0].column, 9);
}

#[test]
fn no_text_makes_the_reader_panic() {
    let pieces = [
        "R",
        "W x",
        "||",
        ";",
        "[",
        "]",
        "a==",
        "1",
        "|",
        "#",
        "ü",
        "\u{0}",
        " ",
        "C x 0 1 rlx",
        "-",
        "+",
        "*",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::from("A|1|1|");
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text += pieces[(state >> 33) as usize % pieces.len()];
        }
        let _ = litmus::read(&text);
        let _ = litmus::read(&text[3..]);
    }
}

#[test]
fn long_programs_are_read_and_executed() {
    let long = vec!["W x rlx 1"; 5_000].join("; ");
    let mut program = litmus::read_program(&long).expect("a long thread");
    let mut options = Options::of(Model::Rc11);
    options.limits.events_per_thread = usize::MAX;
    let report = explore(&mut program, &options, |_, _| ControlFlow::Continue(()));
    assert_eq!((report.complete, report.coverage()), (1, Coverage::Everything));
    assert!(litmus::read_program(&format!("S a {}", vec!["1"; 100_000].join("+"))).is_err());
    assert!(litmus::read_program(&format!("S a {}", vec!["1"; 400].join("+"))).is_ok());
    assert!(litmus::read_program(&vec!["R x rlx"; 17].join("||")).is_err());
    assert!(litmus::read_program(&"[a==1]".repeat(10_000)).is_err());
}

#[test]
fn a_value_goes_to_h_if_no_register_is_named() {
    check_count("R x rlx; A h==1 || W x rlx 1", 1, 1);
    check_count("U x rlx 1; A h==0", 1, 0);
}

#[test]
fn compare_exchange_gives_the_old_value_or_success() {
    check_count("C x 0 5 ar rlx a; A a==0; R x rlx b; A b==5", 1, 0);
    check_count("C x 1 5 ar rlx a; A a==0; R x rlx b; A b==0", 1, 0);
    check_count("B x 0 5 ar rlx a; A a==1", 1, 0);
    check_count("B x 1 5 ar rlx a; A a==0", 1, 0);
}

#[test]
fn swap_and_add_give_the_old_value() {
    check_count("X x rlx 3 a; X x rlx 4 b; A a==0; A b==3; U x rlx -2 c; A c==4; R x rlx d; A d==2", 1, 0);
}

#[test]
fn expressions_are_computed() {
    check_count("S a 3; S b a*2+1; A b==7; S c b-a; A c==4; S d a+-1; A d==2; S e +5; A e==5", 1, 0);
    // A number directly after a register is added.
    check_count("S a 3; S b a2; A b==5", 1, 0);
}

#[test]
fn conditions_guard_one_statement() {
    check_count("S a 1; [a==1][a>5]W x rlx 1; R x rlx b; A b==0", 1, 0);
    check_count("S a 1; S b 1; [a==b]W x rlx 1; R x rlx c; A c==1", 1, 0);
    check_count("S a 2; [a >= 2] [a<=2] W x rlx 1; R x rlx b; A b == 1", 1, 0);
}

#[test]
fn orderings_that_make_no_sense_have_no_effect() {
    // A release read and an acquire write are relaxed.
    check_count("W x rlx 1; W y acq 1 || R y rel a; A a==1; R x rlx", 2, 1);
}

#[test]
fn threads_may_be_empty() {
    check_count("", 1, 0);
    check_count("||", 1, 0);
    check_count("; ; || W x rlx 1;", 1, 0);
}

#[test]
fn a_thread_that_waits_for_itself_is_blocked() {
    check_count("J 0", 0, 1);
    check_count("J 1 || J 0", 0, 1);
}

#[test]
fn choices_are_made_both_ways() {
    check_count("N a 3; A a>0", 2, 1);
}
