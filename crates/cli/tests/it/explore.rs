//! `linpoint explore`: exit code, standard output and standard error together.

use crate::run::linpoint;

#[test]
fn holds() {
    let ran = linpoint(&["explore", "corpus/correct/treiber.lin", "--threads", "2", "--ops", "2"], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let first = "holds: every run of 2 threads with 2 operations each, each piece of data distinct, memory sequentially consistent\n";
    assert!(ran.out.starts_with(first), "{}", ran.out);
    assert!(ran.out.contains("265 states"), "{}", ran.out);
}

/// However many cores look: the same but for the time it took.
#[test]
fn workers() {
    let run = |workers: &str| {
        let file = "corpus/broken/multiset-findslot-no-lock.lin";
        let ran = linpoint(&["explore", file, "--workers", workers], b"");
        assert_eq!((ran.code, ran.err.as_str()), (1, ""));
        ran.out.rsplit_once(", ").map(|(but_the_time, _)| but_the_time.to_owned())
    };
    assert_eq!(run("1"), run("3"));
    assert_eq!(linpoint(&["explore", "corpus/correct/treiber.lin", "--workers", "0"], b"").code, 2);
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

/// The token of a counterexample gives the same run again.
#[test]
fn replay() {
    let file = "corpus/broken/treiber-pop-no-cas.lin";
    let found = linpoint(&["explore", file], b"");
    assert_eq!(found.code, 1, "{}", found.err);
    let token = found.out.split("--replay ").nth(1).and_then(|rest| rest.lines().next()).expect("a token");
    let again = linpoint(&["explore", file, "--replay", token], b"");
    assert_eq!((again.code, again.err.as_str()), (1, ""));
    let run = |out: &str| out.split("\n\n").nth(1).map(|run| run.trim_end().to_owned());
    assert_eq!(run(&found.out), run(&again.out));
    assert!(again.out.starts_with("violated: not linearizable"), "{}", again.out);

    // A part of it is possible, and nothing is wrong yet.
    let (part, _) = token.rsplit_once('-').expect("several moves");
    let some = linpoint(&["explore", file, "--replay", part], b"");
    assert_eq!(some.code, 3);
    assert!(some.out.starts_with("unknown: this run is as it should be so far"), "{}", some.out);
    assert_eq!(linpoint(&["explore", file, "--replay", "what"], b"").code, 2);
    assert_eq!(linpoint(&["explore", file, "--replay", "0s0"], b"").code, 2);
}

/// By hand: a push alone, one move taken back, and the schedule at the end.
#[test]
fn step_by_step() {
    let file = "corpus/correct/treiber.lin";
    let args = ["explore", file, "--threads", "1", "--ops", "1", "--step"];
    let ran = linpoint(&args, b"1\n\n\nb\n\n\n\n\nx\nq\n");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for part in [
        "memory: top null",
        "1 thread 0: call push(1)",
        "→ 1 thread 0: ",
        "memory: top* → #1",
        "push returns",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    assert!(ran.out.contains("all calls are made and have returned"), "{}", ran.out);
    let token = ran.out.rsplit("--replay ").next().expect("a token").trim();
    assert!(token.starts_with("0c0_1-0s0"), "{token}");
    assert_eq!(linpoint(&["explore", file, "--threads", "1", "--ops", "1", "--replay", token], b"").code, 3);
    assert_eq!(linpoint(&["explore", "-", "--step"], b"object T { op f() { skip } }").code, 2);

    // Along a counterexample: the empty line goes on to its end.
    let broken = "corpus/broken/treiber-pop-no-cas.lin";
    let found = linpoint(&["explore", broken], b"");
    let token = found.out.split("--replay ").nth(1).and_then(|rest| rest.lines().next()).expect("a token");
    let lines = "\n".repeat(token.split('-').count());
    let ran = linpoint(&["explore", broken, "--step", "--replay", token], lines.as_bytes());
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("not linearizable: no order explains this run"), "{}", ran.out);
}

/// A claim that is false is a violation, and says where it stands.
#[test]
fn claims() {
    let ran = linpoint(&["explore", "corpus/broken/elimination-stack-push-claim.lin"], b"");
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("violated: a claim is false: line 19, tressa first(top, wr, me) == x\n"),
        "{}",
        ran.out
    );
}

#[test]
fn preemptions() {
    let args =
        ["explore", "corpus/correct/treiber.lin", "--threads", "2", "--ops", "2", "--preemptions", "2"];
    let ran = linpoint(&args, b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let first = "holds: every run of 2 threads with 2 operations each with at most 2 preemptions, ";
    assert!(ran.out.starts_with(first), "{}", ran.out);
}

/// Cycles, and threads that wait.
#[test]
fn lock_freedom() {
    let small =
        |file: &str, flag: &str| linpoint(&["explore", file, "--threads", "2", "--ops", "1", flag], b"");
    assert_eq!(small("corpus/correct/treiber.lin", "--lock-free").code, 0);
    assert_eq!(small("corpus/correct/treiber.lin", "--obstruction-free").code, 0);
    let ran = small("corpus/correct/two-lock.lin", "--lock-free");
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("violated: not lock-free and not obstruction-free: a thread waits"),
        "{}",
        ran.out
    );
    let ran = small("corpus/correct/herlihy-wing.lin", "--obstruction-free");
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("violated: not obstruction-free: a thread alone can repeat the last "),
        "{}",
        ran.out
    );
    assert_eq!(small("corpus/correct/treiber.lin", "--progress").code, 0);
}

/// A run that goes on for ever, or cannot come to a good end, is found so when it is taken again with the
/// options that are printed.
#[test]
fn runs_without_an_end_are_taken_again() {
    let round = b"object R { shared x: int; op a() { while x == 0 { } } spec { op a() { } } }";
    let all = ["--threads", "2", "--ops", "1"];
    for flag in [None, Some("--progress"), Some("--lock-free"), Some("--obstruction-free")] {
        let options: Vec<&str> = ["explore", "-"].into_iter().chain(all).chain(flag).collect();
        let ran = linpoint(&options, round);
        assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
        let first = ran.out.lines().next().expect("it says something");
        let again =
            ran.out.lines().find_map(|line| line.trim().strip_prefix("once more: ")).expect("a token");
        let options: Vec<&str> = ["explore", "-"].into_iter().chain(again.split(' ')).collect();
        let replayed = linpoint(&options, round);
        assert_eq!((replayed.code, replayed.out.lines().next()), (1, Some(first)), "{again}");
    }
}

const COUNTERS: &[u8] = b"object Good : counter { shared x: int; op increment() { atomic { x = x + 1 } } op get() -> int { return x } }
object Bad : counter { shared x: int; op increment() { x = x + 1 } op get() -> int { return x } }
";

/// A verdict about the first object of a file would be taken for one about all.
#[test]
fn several_objects() {
    for command in ["explore", "prove"] {
        let ran = linpoint(&[command, "-"], COUNTERS);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.contains("this file has 2 objects: Good, Bad"), "{}", ran.err);
        assert!(ran.err.contains("--object NAME"), "{}", ran.err);
    }
    assert_eq!(linpoint(&["explore", "-", "--object", "Good"], COUNTERS).code, 0);
    let ran = linpoint(&["explore", "-", "--object", "Bad"], COUNTERS);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("once more: --object Bad --replay "), "{}", ran.out);
    let ran = linpoint(&["explore", "-", "--object", "Other"], COUNTERS);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("it has Good, Bad"), "{}", ran.err);
}

/// Nor is there a verdict about a good object while another of the file has mistakes, even if only the good
/// one is asked for.
#[test]
fn a_mistake_in_another_object() {
    let file = [b"object Wrong : counter { op get() -> int { return absent } }\n", COUNTERS].concat();
    for args in
        [&["explore", "-"][..], &["explore", "-", "--object", "Good"], &["prove", "-", "--object", "Good"]]
    {
        let ran = linpoint(args, &file);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("`absent`"), "{args:?}: {}", ran.err);
    }
}

/// What is printed is enough to take the run again, and says why no order fits.
#[test]
fn a_run_of_more_threads_again() {
    let (file, bounds) = ("corpus/broken/treiber-pop-no-cas.lin", ["--threads", "3", "--ops", "2"]);
    let ran = linpoint(&["explore", file, bounds[0], bounds[1], bounds[2], bounds[3]], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("is impossible"), "{}", ran.out);
    let again = ran.out.split_once("once more: ").and_then(|(_, rest)| rest.lines().next()).expect("a token");
    let words: Vec<&str> = ["explore", file].into_iter().chain(again.split(' ')).collect();
    let ran = linpoint(&words, b"");
    assert_eq!(ran.code, 1, "{}", ran.err);
}

/// Callers of a lock keep to its rules.
#[test]
fn a_lock_without_a_client() {
    let lock = b"object L : lock { shared l: lock; op acquire() { lock(l) } op release() { unlock(l) } }";
    let ran = linpoint(&["explore", "-"], lock);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("2 threads that acquire and release once each"), "{}", ran.out);
    // Proved or not, for want of a solver or of an abstraction: what nobody may do refutes nothing.
    assert_ne!(linpoint(&["prove", "-"], lock).code, 1);
    let broken = b"object L : lock { shared l: bool; op acquire() { l = true } op release() { l = false } }";
    assert_eq!(linpoint(&["explore", "-"], broken).code, 1);
}

/// What is called is said, and no more: data that a client gives twice is not distinct; what answers whether it
/// acquired is released only then; what waits at a call is a run of that call.
#[test]
fn what_clients_do_is_said() {
    let queue = "object Q : queue { shared a: data? = none
      op enqueue(v: data) { assume a == none\n a = v }
      op dequeue() -> data? { return swap(a, none) }
      client same { thread { enqueue(1); dequeue(); enqueue(1); dequeue() } } }";
    let ran = linpoint(&["explore", "-"], queue.as_bytes());
    assert!(ran.code == 0 && !ran.out.contains("distinct"), "{}{}", ran.out, ran.err);
    let ran = linpoint(&["explore", "-", "--threads", "1", "--ops", "1"], queue.as_bytes());
    assert!(ran.code == 0 && ran.out.contains("each piece of data distinct"), "{}{}", ran.out, ran.err);
    let lock = "object L : lock { shared w: bool
      op acquire() -> bool { return cas(w, false, true) }
      op release() { w = false } }";
    let ran = linpoint(&["explore", "-"], lock.as_bytes());
    let who = "2 threads with 2 operations each, that release what they acquired";
    assert!(ran.code == 0 && ran.out.contains(who), "{}{}", ran.out, ran.err);
    let ran = linpoint(&["explore", "-", "--json"], lock.replace("w = false", "assert false").as_bytes());
    assert!(ran.code == 1 && ran.out.contains("\"violated\""), "{}{}", ran.out, ran.err);
    let waits = "object F { shared flag: bool\n op wait() { assume flag }\n op set() { flag = true }
      spec { op wait() { }\n op set() { } } }";
    for question in ["--lock-free", "--obstruction-free"] {
        let ran = linpoint(&["explore", "-", question], waits.as_bytes());
        assert!(ran.code == 1 && ran.out.contains("call wait()"), "{}{}", ran.out, ran.err);
    }
}

/// A removal that waits for an insertion is a deadlock where there is none, unless that is said to be fine.
#[test]
fn operations_that_wait() {
    let slot = b"object S : queue { shared full: bool; shared x: data
  op enqueue(v: data) { atomic { assume !full; x = v; full = true } }
  op dequeue() -> data { atomic { assume full; full = false; return x } }
}";
    let ran = linpoint(&["explore", "-"], slot);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.starts_with("violated: deadlock"), "{}", ran.out);
    let ran = linpoint(&["explore", "-", "--may-wait"], slot);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("which may wait for ever"), "{}", ran.out);
}

#[test]
fn what_is_no_program() {
    let ran = linpoint(&["explore", "-"], b"{\"process\":0,\"op\":\"read\",\"call\":1,\"return\":2}\n");
    assert_eq!((ran.code, ran.err.matches("error").count()), (2, 1));
    assert!(ran.err.contains("linpoint check"), "{}", ran.err);
    let long = format!("object A {{ shared x: int; op f() -> int {{ return x{} }} }}", " + x".repeat(20_000));
    let ran = linpoint(&["explore", "-"], long.as_bytes());
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("this expression is too long"), "{}", ran.err);
}
