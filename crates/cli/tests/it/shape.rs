//! `linpoint prove --engine shape`: exit code, standard output and standard error together.

use crate::run::{linpoint, scratch};

#[test]
fn proved() {
    let ran = linpoint(&["prove", "--engine", "shape", "corpus/correct/treiber.lin"], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let first = "proved: linearizable in every run of any number of threads, of every length; ";
    assert!(ran.out.starts_with(first), "{}", ran.out);
    assert!(
        ran.out.contains("takes effect: push at line 19: if cas(top, t, x) @lin { return }\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("34 views, 5 records, closed under every step"), "{}", ran.out);
    let ran = linpoint(&["prove", "corpus/correct/two-lock.lin", "--threads", "1/1"], b"");
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("1 threads that only insert and 1 that only take"), "{}", ran.out);
}

#[test]
fn other_points_than_those_given() {
    let early = "corpus/correct/michael-scott-early-empty.lin";
    let ran = linpoint(&["prove", "--engine", "shape", early], b"");
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("takes effect: whoever's record it is at line "), "{}", ran.out);
    assert!(ran.out.contains("with the points that the program gives there is no proof"), "{}", ran.out);
    let ran = linpoint(&["prove", early, "--points", "given"], b"");
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("refuted: the given linearization points do not explain this run\n"),
        "{}",
        ran.out
    );
}

#[test]
fn refuted_with_a_run() {
    let ran = linpoint(&["prove", "corpus/broken/treiber-pop-no-cas.lin"], b"");
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert!(
        ran.out.starts_with("refuted: not linearizable: no order explains this run\n\n  thread 0"),
        "{}",
        ran.out
    );
    let ran = linpoint(&["prove", "corpus/broken/two-lock-enqueue-gap.lin", "--json"], b"");
    assert_eq!(ran.code, 1);
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&value["verdict"], &value["engine"]), (&"refuted".into(), &"shape".into()));
    assert!(value["counterexample"]["steps"].as_array().is_some_and(|steps| steps.len() > 5));
}

#[test]
fn not_proved_with_a_state() {
    let dump = scratch("harris.dot", b"");
    let path = dump.display().to_string();
    let ran =
        linpoint(&["prove", "corpus/correct/harris-set.lin", "--time-limit", "1s", "--dump", &path], b"");
    assert_eq!((ran.code, ran.err.as_str()), (3, ""));
    assert!(ran.out.starts_with("not proved: "), "{}", ran.out);
    assert!(ran.out.contains("  thread 0: "), "{}", ran.out);
    let dot = std::fs::read_to_string(dump).expect("the picture");
    assert!(dot.starts_with("digraph \"HarrisSet 0\" {"), "{dot}");
}

#[test]
fn certificates() {
    let file = "corpus/correct/michael-scott.lin";
    let certificate = scratch("michael-scott.proof", b"");
    let path = certificate.display().to_string();
    assert_eq!(linpoint(&["prove", file, "--certificate", &path], b"").code, 0);
    let ran = linpoint(&["prove", file, "--recheck", &path], b"");
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.starts_with("proved: the certificate is closed under every step"), "{}", ran.out);
    // Each line is needed: without one, some step leads out.
    let text = std::fs::read_to_string(&certificate).expect("the certificate");
    let lines: Vec<&str> = text.lines().collect();
    for left_out in [2, lines.len() / 2, lines.len() - 1] {
        let mut fewer = lines.clone();
        fewer.remove(left_out);
        let spoiled = scratch("spoiled.proof", fewer.join("\n").as_bytes());
        let ran = linpoint(&["prove", file, "--recheck", &spoiled.display().to_string()], b"");
        assert_eq!(ran.code, 3, "line {left_out}: {}", ran.out);
    }
    assert_eq!(linpoint(&["prove", "corpus/correct/dglm.lin", "--recheck", &path], b"").code, 3);
}

#[test]
fn bad_use() {
    assert_eq!(linpoint(&["prove", "corpus/correct/treiber.lin", "--threads", "many"], b"").code, 2);
    assert_eq!(linpoint(&["prove", "corpus/correct/treiber.lin", "--threads", "0"], b"").code, 2);
    assert_eq!(linpoint(&["prove", "-"], b"object").code, 2);
}
