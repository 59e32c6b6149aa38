//! What is not modelled is named, never passed over.

use linpoint_shape::prove::{Settings, Verdict, prove};

use crate::corpus::compile;

#[track_caller]
fn check(text: &str, reason: &str) {
    let settings = Settings { refute: false, ..Settings::default() };
    match prove(&compile(text), &settings).verdict {
        Verdict::Unknown(gap) => assert!(gap.reason.contains(reason), "{}", gap.reason),
        other => panic!("{other:?}"),
    }
}

/// A stack whose operations are one step each; `extra` stands in `push`, `pop` in `pop`.
fn stack(fields: &str, shared: &str, push: &str, pop: &str) -> String {
    format!(
        "object S : stack {{
  struct Node {{ val: data, next: *Node{fields} }}
  shared top: *Node = null
  {shared}
  op push(v: data) {{
    x = new Node {{ val: v }}
    atomic {{
      x.next = top
      top = x
    }} @lin
    {push}
  }}
  op pop() -> data? {{
    var t: *Node = null
    atomic {{
      t = top
      if t != null {{ top = t.next }}
    }} @lin
    {pop}
    if t == null {{ return none }}
    return t.val
  }}
}}
"
    )
}

#[test]
fn plain() {
    let report = prove(&compile(&stack("", "", "", "")), &Settings::default());
    assert!(matches!(report.verdict, Verdict::Holds(_)), "{:?}", report.verdict);
}

#[test]
fn data_written_after_publication() {
    check(&stack("", "", "x.val = v", ""), "data is written");
}

#[test]
fn arithmetic_and_arrays() {
    check(&stack("", "shared n: int", "n = n + 1", ""), "arithmetic");
    check(&stack("", "shared a: [bool; 2]", "a[0] = true", ""), "array");
    check(&stack("", "shared n: 0..3", "n = 1", ""), "bounded");
}

#[test]
fn two_links() {
    check(&stack(", prev: *Node", "", "y = x.prev", ""), "two links");
}

#[test]
fn other_objects() {
    let text = "object R : register {
  shared x: data? = none
  op write(v: data) {
    x = v
  }
  op read() -> data? {
    return x
  }
}
";
    check(text, "register");
}

#[test]
fn a_queue_without_dummy() {
    let text = "object Q : queue {
  struct Node { val: data, next: *Node }
  shared head: *Node = null
  op enqueue(v: data) {
    x = new Node { val: v }
    atomic {
      x.next = head
      head = x
    }
  }
}
";
    check(text, "dummy");
}
