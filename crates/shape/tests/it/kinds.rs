//! Kinds of nodes are exact: two views of one state agree on them, whatever each knows about links.

use linpoint_shape::exec::Points;
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{Scope, Settings, Verdict, prove};
use linpoint_shape::run::Steps;
use linpoint_shape::samples::{sample, without_queries};

use crate::corpus::compile;

/// A stack that one operation takes apart and puts together again, under a lock, with a record of its own
/// that remembers the link. It is as it was; but that it is takes looking at two records. Others may look at
/// it meanwhile without the lock, and `answer` is what they say then.
fn taken_apart(answer: &str) -> String {
    format!(
        "object S : stack {{
  struct Node {{ val: data, next: *Node }}
  shared top: *Node = null
  shared big: lock
  shared begun: bool
  shared done: bool
  op push(v: data) {{
    x = new Node {{ val: v }}
    lock(big)
    t = top
    x.next = t
    top = x @lin
    unlock(big)
  }}
  op pop() -> data? {{
    choose {{
      lock(big)
      t = top @lin if t == null
      if t == null {{
        unlock(big)
        return none
      }}
      s = t.next
      top = s @lin
      unlock(big)
      return t.val
    }} or {{
      lock(big)
      begun = true
      a = top
      if a == null {{ assume false }}
      n = a.next
      if n == null {{ assume false }}
      b = new Node {{ next: n }}
      a.next = null
      same = top
      m = b.next
      a.next = m
      done = true
      assume false
      unlock(big)
      return none
    }} or {{
      c = top
      if c == null {{ assume false }}
      q = c.next
      if q == null {{ assume false }}
      if begun {{ assume false }}
      assume done
      if top == c {{
        if c.next == q {{ {answer} }}
      }}
      assume false
      return none
    }}
  }}
}}"
    )
}

fn verdict(text: &str, scope: Scope) -> &'static str {
    match prove(&compile(text), &Settings { scope, ..Settings::default() }).verdict {
        Verdict::Holds(_) => "proved",
        Verdict::Violated(_) => "refuted",
        Verdict::Unknown(_) => "not proved",
    }
}

#[test]
fn a_record_that_is_uniform_again() {
    for scope in [Scope::Any, Scope::Threads(3)] {
        assert_eq!(verdict(&taken_apart("return none"), scope), "refuted", "{scope:?}");
        assert_eq!(verdict(&taken_apart("assume false"), scope), "proved", "{scope:?}");
    }
}

/// The analysis alone, without the second look at its proofs, does not prove it.
#[test]
fn interference_is_not_lost() {
    let program = compile(&taken_apart("return none"));
    let layout = Layout::new(&program).expect("modelled");
    let steps = Steps { layout: &layout, points: &Points::Given };
    let start = linpoint_shape::initial::initial(&layout, 1).expect("it starts");
    let budget = linpoint_shape::budget::Budget::new(None, 1 << 30, &|_| {});
    let found = linpoint_shape::views::analyse(&steps, start, linpoint_shape::store::Domain::Joined, &budget);
    assert!(!matches!(found.end, linpoint_shape::threads::End::Proved));
}

/// Steps against the interpreter: what every thread, and every other thread, sees is exact in kinds.
#[test]
fn steps_agree_with_the_interpreter() {
    let program = without_queries(&compile(&taken_apart("return none")));
    let layout = Layout::new(&program).expect("modelled");
    let steps = Steps { layout: &layout, points: &Points::Given };
    let (found, miss) = sample(&steps, 5, 40_000);
    assert!(miss.is_none(), "{found:?} {miss:?}");
}
