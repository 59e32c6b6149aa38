//! What is held and given back: whoever only says how many threads there are gets every client that keeps the
//! rules, and none that breaks them.

use linpoint_lang::{Program, compile};
use linpoint_model::{
    Bounds, Explored, Mode, Plainly, Stepper, Verdict, Workload, Wrong, explore, explore_plainly,
};

#[track_caller]
fn program(text: &str) -> Program {
    let (mut programs, wrong) = compile(text);
    let shown: String = wrong.iter().filter(|d| d.is_error()).map(|d| d.render("turns", text)).collect();
    assert!(shown.is_empty(), "{shown}");
    programs.remove(0)
}

fn said(explored: &Explored) -> &'static str {
    match &explored.verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(violation) => {
            assert!(violation.rechecked);
            match violation.wrong {
                Wrong::Error(_) => "error",
                Wrong::NotLinearizable => "not linearizable",
                Wrong::Deadlock => "deadlock",
                _ => "something else",
            }
        }
        Verdict::Unknown(_) => "unknown",
    }
}

/// What is said about the members of such an object, for so many threads: the same by all engines.
#[track_caller]
fn check(kind: &str, members: &str, threads: usize, expected: &str) {
    let program = program(&format!("object X : {kind} {{\n{members}\n}}"));
    let workload = Workload::usual(&program, threads, 2);
    for stepper in [Stepper::Compiled, Stepper::Interpreted] {
        let bounds = Bounds { stepper, deadlocks: false, ..Bounds::default() };
        let explored = explore(&program, &workload, Mode::Anywhere, &bounds);
        assert_eq!(said(&explored), expected, "{kind} {threads} {stepper:?}: {members}");
        assert!(!explored.disagrees);
    }
    let plainly = Plainly { deadlocks: false, ..Plainly::default() };
    let explored = explore_plainly(&program, &workload, &plainly);
    assert_eq!(said(&explored), expected, "{kind} {threads} plainly: {members}");
}

/// Each operation of the object is called, whatever it is called and whatever acquiring answers.
#[test]
fn every_operation_is_called() {
    let state = "shared w: bool\n shared n: int = 1\n";
    let takes =
        ["op TAKE() { atomic { assume !w\n w = true } }", "op TAKE() -> bool { return cas(w, false, true) }"];
    for take in takes {
        let first = take.replace("TAKE", "acquire");
        let second = take.replace("TAKE", "lock");
        check("lock", &format!("{state}{first}\n op release() {{ w = false }}"), 2, "holds");
        check("lock", &format!("{state}{first}\n op release() {{ assert false }}"), 1, "error");
        check("lock", &format!("{state}{first}\n{second}\n op release() {{ w = false }}"), 2, "holds");
        let also = format!("{state}{first}\n op release() {{ w = false }}\n op unlock() {{ assert false }}");
        check("lock", &also, 1, "error");
    }
    let alias = "op acquire() { atomic { assume !w\n w = true } }\n op lock() -> bool { return true }\n";
    check("lock", &format!("{state}{alias} op release() {{ w = false }}"), 2, "not linearizable");
    let give = "op release() { x = fetch_add(n, 1) }";
    let wait = "op acquire() { atomic { assume n > 0\n n = n - 1 } }";
    let attempt = "op acquire() -> bool { atomic { ok = n > 0\n if ok { n = n - 1 } }\n return ok }";
    for take in [wait, attempt] {
        check("semaphore", &format!("{state}{take}\n{give}"), 2, "holds");
        let wrong = give.replace("x = fetch_add(n, 1)", "assert false");
        check("semaphore", &format!("{state}{take}\n{wrong}"), 1, "error");
    }
}

const WRITE: &str =
    "op write_lock() { atomic { assume !w && r == 0\n w = true } }\n op write_unlock() { w = false }\n";
const READ: &str =
    "op read_lock() { atomic { assume !w\n r = r + 1 } }\n op read_unlock() { x = fetch_add(r, -1) }\n";

/// Any thread may read and any may write; one pair of operations is enough.
#[test]
fn who_reads_and_who_writes_is_free() {
    let state = "shared w: bool\n shared r: int\n";
    let with = |members: &str| format!("{state}{members}");
    for threads in [1, 2, 3] {
        check("rw-lock", &with(&format!("{WRITE}{READ}")), threads, "holds");
        check("rw-lock", &with(WRITE), threads, "holds");
        check("rw-lock", &with(READ), threads, "holds");
    }
    let two_writers = WRITE.replace("!w && r == 0", "r == 0");
    check("rw-lock", &with(&format!("{two_writers}{READ}")), 2, "not linearizable");
    let no_readers = READ.replace("r = r + 1", "assert r == 0\n r = r + 1");
    check("rw-lock", &with(&format!("{WRITE}{no_readers}")), 1, "holds");
    check("rw-lock", &with(&format!("{WRITE}{no_readers}")), 2, "error");
    for wrong in ["read_lock", "read_unlock", "write_lock", "write_unlock"] {
        let broken = format!("{WRITE}{READ}")
            .replace(&format!("op {wrong}() {{"), &format!("op {wrong}() {{ assert false\n"));
        check("rw-lock", &with(&broken), 1, "error");
    }
    let aliases = format!(
        "{WRITE}{READ} op rlock() {{ atomic {{ assume !w\n r = r + 1 }} }}\n op runlock() {{ assert false }}\n"
    );
    check("rw-lock", &with(&aliases), 1, "error");
}

/// Nobody gives back what they do not hold.
#[test]
fn nobody_gives_back_what_they_do_not_hold() {
    let members = "shared h: thread? = none
      op acquire() -> bool { atomic { ok = h == none
        if ok { h = some(me) } }
        return ok }
      op release() { atomic { assert h == some(me)
        h = none } }";
    for threads in [1, 2, 3] {
        check("lock", members, threads, "holds");
    }
}

/// An argument that the parameter cannot have, with the sizes of this run: there are no runs.
#[test]
fn an_argument_out_of_range_with_these_sizes() {
    let program = program(
        "object C { size N = 3\n shared c: int\n op add(i: 0..N) { x = fetch_add(c, i) }
         op read() -> int { return c }
         spec { shared d: int\n op add(i: 0..N) { d = d + i }\n op read() -> int { return d } }
         client k { thread { add(2); read() } } }",
    );
    let workload = Workload::of(&program.clients[0]);
    let of = |sizes: Vec<i32>| {
        let bounds = Bounds { sizes: Some(sizes.clone()), ..Bounds::default() };
        let plainly = Plainly { sizes: Some(sizes), ..Plainly::default() };
        let explored = explore(&program, &workload, Mode::Anywhere, &bounds);
        let plain = explore_plainly(&program, &workload, &plainly);
        [said(&explored), said(&plain)]
    };
    assert_eq!(of(vec![3]), ["holds"; 2]);
    assert_eq!(of(vec![2]), ["unknown"; 2]);
}
