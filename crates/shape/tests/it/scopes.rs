//! A verdict is about the threads that were asked for, whoever comes to it; and limits are kept.

use std::time::{Duration, Instant};

use linpoint_shape::prove::{Ends, Scope, Settings, Verdict, prove};

use crate::corpus::{compile, program};

fn verdict(text: &str, scope: Scope) -> &'static str {
    let settings = Settings { scope, time: Some(Duration::from_secs(20)), ..Settings::default() };
    match prove(&compile(text), &settings).verdict {
        Verdict::Holds(_) => "proved",
        Verdict::Violated(_) => "refuted",
        Verdict::Unknown(_) => "not proved",
    }
}

/// A queue for one that enqueues and one that dequeues; `fields` and `more` are added.
fn handover(fields: &str, more: &str) -> String {
    format!(
        "object One : queue {{
  struct Node {{ val: data, next: *Node{fields} }}
  shared head: *Node
  shared tail: *Node
  init {{
    d = new Node
    head = d
    tail = d
  }}
  op enqueue(v: data) {{
    x = new Node {{ val: v }}
    t = tail
    {more}
    t.next = x
    tail = x
  }}
  op dequeue() -> data? {{
    h = head
    s = h.next
    if s == null {{ return none }}
    head = s
    return s.val
  }}
}}"
    )
}

#[test]
fn one_that_inserts_and_one_that_takes() {
    let plain = handover("", "");
    let linked = handover(", prev: *Node", "x.prev = t");
    for text in [&plain, &linked] {
        assert_eq!(verdict(text, Scope::Roles(1, 1)), "proved");
        assert_eq!(verdict(text, Scope::Threads(1)), "proved");
        assert_eq!(verdict(text, Scope::Any), "refuted");
        assert_eq!(verdict(text, Scope::Roles(2, 1)), "refuted");
    }
    // What is not modelled is not refuted by threads that were not asked for.
    let unknown = handover(", prev: *Node", "p = t.prev\n    x.prev = p");
    assert_eq!(verdict(&unknown, Scope::Roles(1, 1)), "not proved");
    assert_eq!(verdict(&unknown, Scope::Threads(1)), "not proved");
    assert_eq!(verdict(&unknown, Scope::Threads(2)), "refuted");
}

/// Treiber's stack beside a specification whose `pop` has this loop for an empty stack.
fn specified(empty: &str, more: &str) -> String {
    format!(
        "object T {{
  struct Node {{ val: data, next: *Node }}
  shared top: *Node = null
  op push(v: data) {{
    x = new Node {{ val: v }}
    loop {{
      t = top
      x.next = t
      if cas(top, t, x) @lin {{ return }}
    }}
  }}
  op pop() -> data? {{
    loop {{
      t = top @lin if t == null
      if t == null {{ return none }}
      s = t.next
      if cas(top, t, s) @lin {{ return t.val }}
    }}
  }}
  spec {{
    shared s: *Node = null
    {more}
    op pop() -> data? {{
      t = s
      {empty}
      s = t.next
      return t.val
    }}
    op push(v: data) {{
      x = new Node {{ val: v }}
      t = s
      x.next = t
      s = x
    }}
  }}
}}"
    )
}

#[test]
fn a_specification_that_does_not_end() {
    let ends = specified("if t == null { return none }", "");
    assert_eq!(verdict(&ends, Scope::Any), "proved");
    let waits = specified("loop { if t != null { break }; t = s }", "");
    assert_eq!(verdict(&waits, Scope::Any), "refuted");
    // A loop that walks through the list goes round in the abstraction only.
    let walks = specified(
        "if t == null { return none }\n      w = t\n      loop { w = w.next; if w == null { break } }",
        "",
    );
    let Verdict::Holds(proof) = prove(&compile(&walks), &Settings::default()).verdict else {
        panic!("it is proved")
    };
    assert_eq!(proof.ends, Ends::Tested);
}

#[test]
fn a_specification_with_more_operations() {
    for more in ["op other() -> data? { return none }", "op size(a: int, b: int) -> int { return a }"] {
        assert_eq!(verdict(&specified("if t == null { return none }", more), Scope::Any), "proved");
    }
}

/// Orders of eight threads are too many to list. The bound is ten times what was asked for: other work may go
/// on.
#[test]
fn many_threads_within_the_limit() {
    for (name, scope) in [
        ("treiber", Scope::Threads(8)),
        ("two-lock", Scope::Roles(8, 8)),
        ("michael-scott", Scope::Threads(6)),
    ] {
        let limit = Duration::from_secs(1);
        let start = Instant::now();
        let settings = Settings { scope, time: Some(limit), ..Settings::default() };
        let report = prove(&program(name), &settings);
        assert!(!matches!(report.verdict, Verdict::Violated(_)), "{name}");
        assert!(start.elapsed() < 10 * limit, "{name}: {:?}", start.elapsed());
    }
}
