//! `linpoint explore`: exit code, standard output and standard error together.

use crate::run::linpoint;

#[test]
fn holds() {
    let ran = linpoint(&["explore", "corpus/correct/treiber.lin", "--threads", "2", "--ops", "2"], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let first = "holds: every run of 2 threads with 2 operations each, each piece of data distinct, memory sequentially consistent\n";
    assert!(ran.out.starts_with(first), "{}", ran.out);
    assert!(ran.out.contains("812 states"), "{}", ran.out);
}

#[test]
fn violated_with_a_run() {
    let ran = linpoint(&["explore", "corpus/broken/snark.lin"], b"");
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert!(
        ran.out.starts_with("violated: not linearizable: no order explains this run\n\n  thread 0"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("pop_back returns null"), "{}", ran.out);
    assert!(ran.out.contains("if rh.right == rh { return none }"), "{}", ran.out);
}

#[test]
fn points_progress_and_json() {
    let late = "corpus/broken/pessimistic-set-late-point.lin";
    assert_eq!(linpoint(&["explore", late], b"").code, 0);
    let ran = linpoint(&["explore", late, "--points"], b"");
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("violated: the given linearization points do not explain this run\n"),
        "{}",
        ran.out
    );
    let stuck = "corpus/broken/mcs-lock-no-wait.lin";
    assert_eq!(linpoint(&["explore", stuck], b"").code, 0);
    assert_eq!(linpoint(&["explore", stuck, "--progress"], b"").code, 1);
    let ran = linpoint(&["explore", "corpus/broken/treiber-use-after-free.lin", "--json"], b"");
    assert_eq!(ran.code, 1);
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&value["verdict"], &value["engine"]), (&"violated".into(), &"explore".into()));
    assert_eq!(value["counterexample"]["reason"], "use after free");
    let steps = value["counterexample"]["steps"].as_array().expect("steps");
    assert!(steps.iter().all(|step| step["line"].as_u64().is_some_and(|line| line > 0)));
}

#[test]
fn limits_and_bad_use() {
    let ms = "corpus/correct/michael-scott.lin";
    let ran = linpoint(&["explore", ms, "--threads", "3", "--ops", "2", "--memory-limit", "1MiB"], b"");
    assert_eq!(ran.code, 3);
    assert!(ran.out.starts_with("unknown: the memory limit came first\n"), "{}", ran.out);
    assert_eq!(linpoint(&["explore", ms, "--client", "nobody"], b"").code, 2);
    let ran = linpoint(&["explore", "-"], b"object T {\n  shared x: int\n  op f() {\n    y = z\n  }\n}\n");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with("error[L010]: unknown name `z`\n --> -:4:9\n"), "{}", ran.err);
}
