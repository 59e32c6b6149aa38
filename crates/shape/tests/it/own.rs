//! References that are programs: a `spec` block, and the object's own code run alone.

use std::time::Duration;

use linpoint_shape::layout::{Layout, Object};
use linpoint_shape::prove::{Settings, Verdict, prove};

use crate::corpus::{compile, program};

const TREIBER: &str = "
  struct Node { val: data, next: *Node }
  shared top: *Node = null
  op push(v: data) {
    x = new Node { val: v }
    loop {
      t = top
      x.next = t
      if cas(top, t, x) { return }
    }
  }
  op pop() -> data? {
    loop {
      t = top
      if t == null { return none }
      s = t.next
      if cas(top, t, s) { return t.val }
    }
  }
";

const STACK: &str = "
  spec {
    struct Cell { val: data, next: *Cell }
    shared first: *Cell = null
    op push(v: data) {
      first = new Cell { val: v, next: first }
    }
    op pop() -> data? {
      c = first
      if c == null { return none }
      first = c.next
      return c.val
    }
  }
";

const QUEUE: &str = "
  spec {
    struct Cell { val: data, next: *Cell }
    shared head: *Cell
    shared tail: *Cell
    init {
      head = new Cell {}
      tail = head
    }
    op push(v: data) {
      c = new Cell { val: v }
      t = tail
      t.next = c
      tail = c
    }
    op pop() -> data? {
      h = head
      n = h.next
      if n == null { return none }
      head = n
      return n.val
    }
  }
";

const WAITS: &str = "
  spec {
    struct Cell { val: data, next: *Cell }
    shared first: *Cell = null
    op push(v: data) {
      first = new Cell { val: v, next: first }
    }
    op pop() -> data? {
      c = first
      assume c != null
      first = c.next
      return c.val
    }
  }
";

#[track_caller]
fn check(body: &str, expected: &str) {
    let program = compile(&format!("object Own {{ {body} }}"));
    let settings = Settings { time: Some(Duration::from_secs(10)), ..Settings::default() };
    let report = prove(&program, &settings);
    let found = match &report.verdict {
        Verdict::Holds(_) => "proved",
        Verdict::Violated(_) => "refuted",
        Verdict::Unknown(_) => "not proved",
    };
    assert_eq!(found, expected, "{:?}", report.verdict);
}

#[test]
fn a_block_is_the_reference() {
    check(&format!("{TREIBER} {STACK}"), "proved");
    check(&format!("{TREIBER} {QUEUE}"), "refuted");
    // A stack that waits where it is empty answers less than a stack.
    check(&format!("{TREIBER} {WAITS}"), "refuted");
}

#[test]
fn the_own_code_run_alone_is_the_reference() {
    check(TREIBER, "proved");
    check(&TREIBER.replace("if cas(top, t, s) { return t.val }", "top = s; return t.val"), "refuted");
}

#[test]
fn what_it_is_is_proved() {
    for (body, object) in [(STACK, Object::Stack), (QUEUE, Object::Queue)] {
        let program = compile(&format!("object Own {{ {TREIBER} {body} }}"));
        assert_eq!(Layout::new(&program).expect("modelled").object, object);
    }
    let mut waits = compile(&format!("object Own {{ {TREIBER} {WAITS} }}"));
    assert!(Layout::new(&waits).is_err());
    // The code of a known object, without its name.
    waits = program("michael-scott");
    waits.spec = linpoint_lang::program::SpecSource::Nothing;
    assert_eq!(Layout::new(&waits).expect("modelled").object, Object::Queue);
}
