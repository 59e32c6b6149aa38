//! Programs that break what reductions assume: that a record is private, that a place is fixed, that threads
//! and values have no names. Each is explored with all reductions and without any.

use linpoint_lang::{Program, compile};
use linpoint_model::{
    Bounds, Explored, Limit, Mode, Plainly, Stepper, Values, Verdict, Workload, Wrong, explore,
    explore_plainly,
};

fn program(text: &str) -> Program {
    let (mut programs, wrong) = compile(text);
    assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
    programs.remove(0)
}

fn word(explored: &Explored) -> &'static str {
    word_of(&explored.verdict)
}

fn word_of(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// The verdict of its first client, or of two threads with two operations, in every way.
#[track_caller]
fn everywhere(text: &str, expected: &str) {
    let program = program(text);
    let workload = program.clients.first().map_or_else(|| Workload::usual(&program, 2, 2), Workload::of);
    for (stepper, workers) in [(Stepper::Compiled, 1), (Stepper::Interpreted, 1), (Stepper::Compiled, 3)] {
        let bounds = Bounds { stepper, workers, shared_from: 2, ..Bounds::default() };
        let explored = explore(&program, &workload, Mode::Anywhere, &bounds);
        assert_eq!(word(&explored), expected, "{stepper:?} {workers}: {:?}\n{text}", explored.verdict);
    }
    for values in [Values::distinct(), Values::few(2)] {
        let plainly = Plainly { values, ..Plainly::default() };
        let plain = explore_plainly(&program, &workload, &plainly);
        assert_eq!(word(&plain), expected, "{:?}\n{text}", plain.verdict);
    }
}

/// A reader with a pointer to a record that went back to the pool sees it half filled when it is taken again.
#[test]
fn records_of_a_pool_are_not_private() {
    let text = "object Box {
      pooled struct Cell { left: int, right: int }
      shared at: *Cell
      init { at = new Cell }
      op renew() {
        old = at
        free(old)
        c = new Cell { left: 1 }
        c.right = 1
        at = c
      }
      op look() {
        c = at
        l = c.left
        r = c.right
        k = c.left
        assert !(l == 1 && r == 0 && k == 1)
      }
      client c { thread { renew() } thread { look() } }
    }";
    everywhere(text, "violated");
    everywhere(&text.replace("c.right = 1", "d = c\n d.right = 1"), "violated");
    // Filled at once, it is never half filled; nor is it if it is not given back.
    everywhere(&text.replace("left: 1 }", "left: 1, right: 1 }"), "holds");
    everywhere(&text.replace("free(old)", ""), "holds");
}

/// The same where the memory is not the program's own: freed and taken again in one step, nobody meets it
/// freed.
#[test]
fn records_that_are_freed_are_not_private() {
    let text = "object Box {
      struct Cell { left: int, right: int }
      shared at: *Cell
      init { at = new Cell }
      op renew() {
        old = at
        atomic { free(old)
          c = new Cell { left: 1 } }
        c.right = 1
        at = c
      }
      op look() {
        c = at
        atomic { l = c.left
          r = c.right }
        assert !(l == 1 && r == 0)
      }
      client c { thread { renew() } thread { look() } }
    }";
    everywhere(text, "violated");
}

/// An optional pointer that is freed frees its kind of record too: `new` may take its place again.
#[test]
fn optional_pointers_are_freed_as_others() {
    let text = "object Box {
      pooled struct Cell { v: int }
      shared at: *Cell?
      init { c = new Cell { v: 7 }
        at = some(c) }
      op renew() {
        o = at
        if o == none { return }
        at = none
        free(unwrap(o))
        c = new Cell { v: 8 }
        at = some(c)
      }
      op look() {
        a = at
        b = at
        if a == none || b == none { return }
        v = unwrap(a).v
        w = unwrap(b).v
        assert !(a == b && v == 7 && w == 8)
      }
      client c { thread { renew() } thread { look() } }
    }";
    everywhere(text, "violated");
    assert!(program(text).records[0].freed);
}

/// `new` makes the first thread the owner; whoever is first after sorting is not.
#[test]
fn threads_that_records_start_with() {
    let text = "object Count {
      struct Cell { owner: thread }
      shared n: int
      op f() {
        x = n
        n = x + 1
        c = new Cell
        if c.owner == me { y = n
          assert y != 2 }
      }
      client c { thread { f() } thread { f() } }
    }";
    everywhere(text, "violated");
    everywhere(&text.replace("new Cell", "new Cell { owner: me }").replace("y != 2", "y < 3"), "holds");
}

/// A specification that keeps threads, and calls and results with threads in them.
#[test]
fn threads_in_specifications() {
    let text = "object Owner {
      shared owner: thread?
      op give(t: thread) { owner = t }
      op whose() -> thread? { return owner }
      spec {
        shared owner: thread?
        op give(t: thread) { owner = t }
        op whose() -> thread? { return owner }
      }
      client c { threads 2
        ops 2 }
    }";
    everywhere(text, "holds");
    everywhere(&text.replacen("{ owner = t }", "{ if t != me { owner = t } }", 1), "violated");
    // Nothing but calls says who.
    let alone = "object Owner {
      shared last: bool
      op give(t: thread) { last = t == me }
      op mine() -> bool { return last }
      spec {
        shared last: bool
        op give(t: thread) { choose { last = true } or { last = false } }
        op mine() -> bool { return last }
      }
      client c { threads 2
        ops 2 }
    }";
    everywhere(alone, "holds");
}

/// What a point reads may go wrong, wherever points are looked at; a step with one is as visible as what it
/// reads.
#[test]
fn points_that_go_wrong() {
    let text = "object Cell {
      struct Node { v: int }
      shared p: *Node
      shared n: int
      init { p = new Node }
      op f() { n = 1
        x = 0 @lin if p.v == 0
        y = n }
      op g() { if n == 1 { p = null } }
      spec { op f() { }
        op g() { } }
      client c { thread { f() } thread { g() } }
    }";
    everywhere(text, "violated");
}

/// A loop that only chance ends is not endless; one that nothing ends is.
#[test]
fn loops_that_end_by_chance() {
    let text = "object Count : counter {
      shared n: int
      op increment() {
        fetch_add(n, 1)
        loop {
          c = choose 0..3
          if c == 1 { return }
        }
      }
      op read() -> int { return n }
    }";
    everywhere(text, "holds");
    let endless = program(&text.replace("if c == 1 { return }", "if c == 5 { return }"));
    let explored = explore(&endless, &Workload::usual(&endless, 2, 1), Mode::Anywhere, &Bounds::default());
    let Verdict::Violated(violation) = explored.verdict else { panic!("{:?}", explored.verdict) };
    assert_eq!(violation.wrong, Wrong::Endless);
    assert!(!violation.steps.is_empty());
}

/// A long way alone is no endless one: it is followed, or said to be too long.
#[test]
fn long_ways_alone() {
    let text = "object Count : counter {
      shared n: int
      op increment() {
        fetch_add(n, 1)
        for i in 0..MANY { x = i }
      }
      op read() -> int { return n }
    }";
    let of = |many: &str| {
        let program = program(&text.replace("MANY", many));
        explore(&program, &Workload::usual(&program, 2, 1), Mode::Anywhere, &Bounds::default()).verdict
    };
    assert!(matches!(of("1000"), Verdict::Holds(_)));
    assert!(matches!(of("1000000"), Verdict::Unknown(Limit::Alone)));
}

/// An operation of a specification is followed to its end, whichever way it goes; where that is too much,
/// what it does not explain is not known.
#[test]
fn long_operations_of_a_specification() {
    let said = |spec: &str, answer: &str| {
        let text = format!(
            "object P {{ op a() -> int {{ return {answer} }} spec {{ op a() -> int {{ {spec} }} }} }}"
        );
        let program = program(&text);
        let workload = Workload::usual(&program, 2, 1);
        let bounds = Bounds { time: Some(std::time::Duration::from_secs(60)), ..Bounds::default() };
        let plain = explore_plainly(&program, &workload, &Plainly::default()).verdict;
        let explored = explore(&program, &workload, Mode::Anywhere, &bounds).verdict;
        let open = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(Limit::Specification));
        // Which outcomes are left out is a matter of the order in which they are met; never is it taken for a
        // violation.
        match (open(&plain), open(&explored)) {
            (false, false) => assert_eq!(word_of(&plain), word_of(&explored), "{text}"),
            (true, true) => return "open",
            (_, open) => assert_eq!(word_of(if open { &plain } else { &explored }), "holds", "{text}"),
        }
        word_of(&explored)
    };
    let counts = "i = 0; while i < 20000 { i = i + 1 }; return i";
    assert_eq!((said(counts, "20000"), said(counts, "20001")), ("holds", "violated"));
    let chooses = "s = 1; for i in 0..ROUNDS { choose { s = s + 1 } or { s = s * 2 } }; return s";
    let (few, many) = (chooses.replace("ROUNDS", "6"), chooses.replace("ROUNDS", "12"));
    assert_eq!((said(&few, "7"), said(&few, "6")), ("holds", "violated"));
    // Thousands of outcomes, of which some are left out.
    assert_eq!((said(&many, "13"), said(&many, "12")), ("holds", "open"));
    let too_long = "i = 0; while i < 2000000 { i = i + 1 }; return i";
    assert_eq!(said(too_long, "2000000"), "open");
    let too_many = "x = choose 0..150; y = choose 0..150; return x * 150 + y";
    // What was returned may be among those that are kept.
    assert_ne!(said(too_many, "11325"), "violated");
    // It allows nothing, as it never ends.
    assert_eq!(said("x = 1; loop { x = 1 }", "1"), "violated");
}

/// Where nothing returns there is nothing to judge.
#[test]
fn nothing_returns() {
    let text = "object P {
      shared go: bool = false
      op a() -> int { assume go; return 1 }
      spec { op a() -> int { return 2 } }
      client nobody { thread { } }
    }";
    let program = program(text);
    let bounds = Bounds { deadlocks: false, ..Bounds::default() };
    for workload in [Workload::of(&program.clients[0]), Workload::general(&program, 2, 1)] {
        let verdict = explore(&program, &workload, Mode::Anywhere, &bounds).verdict;
        assert!(matches!(verdict, Verdict::Unknown(Limit::Nothing)), "{verdict:?}");
    }
}

/// Without a specification it is errors that are looked for; where nothing can be called, or everything
/// waits, there are none to find.
#[test]
fn nothing_can_happen() {
    let bounds = Bounds { deadlocks: false, ..Bounds::default() };
    let said = |text: &str, bounds: &Bounds| {
        let object = program(text);
        let workload = Workload::general(&object, 2, 2);
        explore(&object, &workload, Mode::Anywhere, bounds).verdict
    };
    let waits = "object S { shared a: int; op f() { assume a == 1 } }";
    let verdict = said(waits, &bounds);
    assert!(matches!(verdict, Verdict::Unknown(Limit::Nothing)), "{verdict:?}");
    // Nothing returns, and an assert says something all the same.
    let asserts = "object S { shared a: int; op f() { x = a; assert x == 0; assume a == 1 } }";
    let verdict = said(asserts, &bounds);
    assert!(matches!(verdict, Verdict::Holds(_)), "{verdict:?}");
    // No thread has anything to call, and so nobody waits.
    for spec in ["", " : set"] {
        let empty = format!(
            "object S{spec} {{ size K = 0; shared b: bool; op contains(k: 0..K) -> bool {{ return false }} }}"
        );
        let verdict = said(&empty, &Bounds::default());
        assert!(matches!(verdict, Verdict::Unknown(Limit::Nothing)), "{verdict:?}");
        let object = program(&empty);
        let workload = Workload::general(&object, 2, 2);
        let plainly = explore_plainly(&object, &workload, &Plainly::default()).verdict;
        assert!(matches!(plainly, Verdict::Holds(_)), "{plainly:?}");
    }
}

/// Choices and quantifiers multiply within one step: that is a limit, in time.
#[test]
fn too_much_in_one_step() {
    let of = |body: &str| {
        let program = program(&format!("object P {{ shared n: int; op a() {{ {body} }} }}"));
        explore(&program, &Workload::usual(&program, 2, 1), Mode::Anywhere, &Bounds::default()).verdict
    };
    let choices =
        of("atomic { x = choose 0..1000; y = choose 0..1000; z = choose 0..1000; assume x + y + z == n }");
    assert!(matches!(choices, Verdict::Unknown(Limit::Ways)), "{choices:?}");
    let values = of("assert all i in 0..3000: all j in 0..3000: i + j >= n");
    assert!(matches!(values, Verdict::Unknown(Limit::Rounds)), "{values:?}");
}

/// A choice of too many values is a limit at once.
#[test]
fn a_choice_of_too_many_values_is_a_limit() {
    let of = |range: &str| {
        let text = format!(
            "object Count : counter {{
      shared n: int
      op increment() {{
        x = choose {range}
        if x == 1 {{ fetch_add(n, 1) }} else {{ n = n + 1 }}
      }}
      op read() -> int {{ return n }}
    }}"
        );
        let program = program(&text);
        let workload = Workload::usual(&program, 2, 1);
        let plainly = explore_plainly(&program, &workload, &Plainly::default()).verdict;
        assert!(!matches!(plainly, Verdict::Violated(_)), "{plainly:?}");
        explore(&program, &workload, Mode::Anywhere, &Bounds::default()).verdict
    };
    assert!(matches!(of("0..3"), Verdict::Holds(_)));
    assert!(matches!(of("0..1000000000"), Verdict::Unknown(Limit::Ways)));
    assert!(matches!(of("-1073741823..1073741823"), Verdict::Unknown(Limit::Ways)));
}

/// More records than there is room for are a limit, not a mistake of the program.
#[test]
fn a_full_heap_is_a_limit() {
    let text = "object Count : counter {
      struct Node { next: *Node }
      shared n: int
      shared all: *Node
      op increment() {
        fetch_add(n, 1)
        atomic { x = new Node { next: all }
          all = x }
        loop {
          y = all
          x = new Node { next: y }
          all = x
        }
      }
      op read() -> int { return n }
      client c { thread { increment() } }
    }";
    let program = program(text);
    let explored = explore(&program, &Workload::of(&program.clients[0]), Mode::Anywhere, &Bounds::default());
    assert!(matches!(explored.verdict, Verdict::Unknown(Limit::Memory)), "{:?}", explored.verdict);
}

/// Equal data can make a claim false that asks for a difference; where it asks for equality, distinct data is
/// the worst.
#[test]
fn claims_that_ask_for_different_data() {
    let text = "object Cell {
      shared x: data
      op put(v: data) {
        x = v
        tressa first(x, wr, others) != v
        y = x
      }
      client c { threads 2
        ops 1 }
    }";
    let of = |text: &str| {
        let program = program(text);
        explore(&program, &Workload::of(&program.clients[0]), Mode::Anywhere, &Bounds::default())
    };
    let explored = of(text);
    let Verdict::Violated(violation) = &explored.verdict else { panic!("{:?}", explored.verdict) };
    assert!(matches!(violation.wrong, Wrong::Claim(_)));
    assert!(!explored.distinct_data);
    for same in ["first(x, wr, others) == v", "first(x, wr, others) != v ==> v == v"] {
        let explored = of(&text.replace("first(x, wr, others) != v", same));
        assert!(explored.distinct_data, "{same}");
    }
    for different in ["!(first(x, wr, others) == v)", "first(x, wr, others) == v ==> false"] {
        let explored = of(&text.replace("first(x, wr, others) != v", different));
        assert!(matches!(explored.verdict, Verdict::Violated(_)), "{different}");
    }
}

/// Ranges of arguments that are too large to be listed are a limit, found before anything is listed.
#[test]
fn large_ranges_of_arguments() {
    let text = "object R {
      shared v: int
      op write(x: 0..1000000, y: 0..1000000) { v = x + y }
    }";
    let program = program(text);
    let explored = explore(&program, &Workload::general(&program, 2, 1), Mode::Anywhere, &Bounds::default());
    assert!(matches!(explored.verdict, Verdict::Unknown(Limit::CannotStart(_))), "{:?}", explored.verdict);
}
