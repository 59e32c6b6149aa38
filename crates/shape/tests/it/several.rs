//! Of whatever the abstraction has a slot for, a program may have several: locks, marks, links, values,
//! heads, counters. Each is told apart, or named as not modelled.

use linpoint_lang::Program;
use linpoint_shape::budget::Budget;
use linpoint_shape::exec::Points;
use linpoint_shape::initial::initial;
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{Settings, Verdict, prove};
use linpoint_shape::run::Steps;
use linpoint_shape::samples::sample;
use linpoint_shape::store::Domain;
use linpoint_shape::threads::End;
use linpoint_shape::views;

use crate::corpus::compile;

fn verdict(program: &Program) -> &'static str {
    match prove(program, &Settings::default()).verdict {
        Verdict::Holds(_) => "proved",
        Verdict::Violated(_) => "refuted",
        Verdict::Unknown(_) => "not proved",
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let program = compile(text);
    if expected == "refuted" {
        assert!(!is_closed(&program), "proved by the analysis alone: {text}");
    }
    assert_eq!(verdict(&program), expected, "{text}");
}

/// Does the analysis come to an end with the points given, without a second look at what it found?
fn is_closed(program: &Program) -> bool {
    let layout = Layout::new(program).expect("modelled");
    let steps = Steps { layout: &layout, points: &Points::Given };
    let budget = Budget::new(None, 1 << 30, &|_| {});
    let start = initial(&layout, 1).expect("it starts");
    matches!(views::analyse(&steps, start, Domain::Joined, &budget).end, End::Proved)
}

/// A stack whose top is written without comparing, under a lock of a guard that whoever comes first makes;
/// `push` and `pop` say which.
fn guarded(push: &str, pop: &str) -> String {
    format!(
        "object S : stack {{
  struct Node {{ val: data, next: *Node }}
  struct Guard {{ left: lock, right: lock }}
  shared top: *Node = null
  shared guard: *Guard = null
  proc enter() -> *Guard {{
    loop {{
      g = guard
      if g != null {{ return g }}
      n = new Guard
      done = cas(guard, null, n)
    }}
  }}
  op push(v: data) {{
    x = new Node {{ val: v }}
    g = enter()
    lock(g.{push})
    t = top
    x.next = t
    top = x @lin
    unlock(g.{push})
  }}
  op pop() -> data? {{
    g = enter()
    lock(g.{pop})
    t = top @lin if t == null
    if t == null {{
      unlock(g.{pop})
      return none
    }}
    s = t.next
    top = s @lin
    unlock(g.{pop})
    return t.val
  }}
}}"
    )
}

#[test]
fn locks_of_one_record() {
    check(&guarded("left", "left"), "proved");
    check(&guarded("right", "right"), "proved");
    check(&guarded("left", "right"), "refuted");
}

/// A thread may hold one lock of a record while it waits for another: that is not waiting for ever.
#[test]
fn two_locks_of_one_record_at_once() {
    let text = guarded("left", "left");
    let both = text
        .replace("lock(g.left)\n    t = top\n", "lock(g.left)\n    lock(g.right)\n    t = top\n")
        .replace("unlock(g.left)\n  }\n  op pop", "unlock(g.right)\n    unlock(g.left)\n  }\n  op pop");
    check(&both, "proved");
    // What comes after both locks is reached.
    let wrong = both.replace("t = top @lin if t == null\n", "lock(g.right)\n    unlock(g.right)\n    if true { unlock(g.left); return none }\n    t = top @lin if t == null\n");
    assert_ne!(both, wrong);
    check(&wrong, "refuted");
}

/// Two records in a list walk hand over hand, with the lock of one kind in one operation and of another kind
/// in the other.
fn set(add: &str, remove: &str) -> String {
    let walk = |name: &str, lock: &str| {
        format!(
            "proc {name}(k: int) -> (*Node, *Node) {{
    p = head
    lock(p.{lock})
    c = p.next
    lock(c.{lock})
    while c.key < k {{
      unlock(p.{lock})
      p = c
      c = c.next
      lock(c.{lock})
    }}
    return (p, c)
  }}"
        )
    };
    format!(
        "object Hand : set {{
  size K = 2
  struct Node {{ key: int, next: *Node, one: lock, two: lock }}
  shared head: *Node
  track list head via next sorted by key
  init {{
    t = new Node {{ key: K }}
    head = new Node {{ key: -1, next: t }}
  }}
  {}
  {}
  op add(k: 0..K) -> bool {{
    (p, c) = first(k)
    r = false
    if c.key != k {{
      x = new Node {{ key: k, next: c }}
      p.next = x
      r = true
    }}
    unlock(p.{add}) @lin(r)
    unlock(c.{add})
    return r
  }}
  op remove(k: 0..K) -> bool {{
    (p, c) = second(k)
    r = false
    if c.key == k {{
      s = c.next
      p.next = s
      r = true
    }}
    unlock(p.{remove}) @lin(r)
    unlock(c.{remove})
    return r
  }}
}}",
        walk("first", add),
        walk("second", remove)
    )
}

#[test]
fn locks_of_the_records_of_a_list() {
    check(&set("one", "one"), "proved");
    check(&set("one", "two"), "refuted");
}

/// A stack with one step an operation, with more fields and more in `pop`.
fn stack(fields: &str, shared: &str, new: &str, push: &str, pop: &str) -> String {
    format!(
        "object S : stack {{
  struct Node {{ val: data, next: *Node{fields} }}
  shared top: *Node = null
  {shared}
  op push(v: data) {{
    x = new Node {{ val: v{new} }}
    {push}
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
      {pop}
      s = t.next
      if cas(top, t, s) @lin {{ return t.val }}
    }}
  }}
}}"
    )
}

#[test]
fn marks_of_one_record() {
    let fields = ", a: bool, b: bool";
    check(&stack(fields, "", "", "x.a = true", "if t.b { return none }"), "proved");
    check(&stack(fields, "", "", "x.a = true", "if t.a { return none }"), "refuted");
    check(&stack(fields, "", ", b: true", "x.a = true", "if !t.b { return none }"), "proved");
}

#[test]
fn values_of_one_record() {
    let fields = ", other: data";
    let right = stack(fields, "", "", "", "");
    assert_ne!(verdict(&compile(&right)), "refuted");
    let wrong = stack(fields, "", "", "", "").replace("return t.val", "return t.other");
    assert_ne!(verdict(&compile(&wrong)), "proved");
}

#[test]
fn links_of_one_record() {
    // A link that nobody follows says nothing.
    check(&stack(", up: *Node", "", "", "x.up = top", ""), "proved");
    check(&stack(", up: *Node", "", "", "x.up = top", "u = t.up"), "not proved");
}

#[test]
fn shared_locks_and_heads() {
    let with = |push: &str, pop: &str| {
        format!(
            "object S : stack {{
  struct Node {{ val: data, next: *Node }}
  shared top: *Node = null
  shared spare: *Node = null
  shared l: lock
  shared m: lock
  op push(v: data) {{
    x = new Node {{ val: v }}
    lock({push})
    t = top
    x.next = t
    top = x @lin
    unlock({push})
  }}
  op pop() -> data? {{
    lock({pop})
    t = top @lin if t == null
    if t == null {{
      unlock({pop})
      return none
    }}
    s = t.next
    top = s @lin
    spare = t
    unlock({pop})
    return t.val
  }}
}}"
        )
    };
    check(&with("l", "l"), "proved");
    check(&with("l", "m"), "refuted");
    check(&with("l", "l").replace("s = t.next", "s = spare"), "refuted");
}

/// A record that waits to be linked in can be reached by old pointers, and what it leads to as well.
#[test]
fn records_of_two_kinds_where_places_are_used_again() {
    let text = "object S : stack {
  pooled struct Node { val: data, at: *Box }
  struct Box { full: bool, next: *Node }
  shared top: *Node = null
  op push(v: data) {
    b = new Box
    x = new Node { val: v, at: b }
    b.full = true
    loop {
      t = top
      b.next = t
      if cas(top, t, x) @lin { return }
    }
  }
  op pop() -> data? {
    loop {
      t = top @lin if t == null
      if t == null { return none }
      b = t.at
      if !b.full { return none }
      s = b.next
      if cas(top, t, s) @lin {
        v = t.val
        free(t)
        return v
      }
    }
  }
}";
    let program = compile(text);
    let layout = Layout::new(&program).expect("modelled");
    let steps = Steps { layout: &layout, points: &Points::Given };
    let (found, miss) = sample(&steps, 3, 40_000);
    assert!(miss.is_none() && found.looked_up > found.stopped, "{found:?} {miss:?}");
    assert_ne!(verdict(&program), "proved");
}

/// Where a key stands is known for every size or not at all.
#[test]
fn keys_near_a_size() {
    let text = set("one", "one").replace("key: -1", "key: K - 1001");
    assert_ne!(verdict(&compile(&text)), "proved");
}
