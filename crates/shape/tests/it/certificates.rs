//! Damaged certificates: each is refused with a reason, or is a proof all the same. None makes the recheck
//! panic, or takes it long.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_shape::certificate;
use linpoint_shape::concrete::Dice;
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{Invariant, Settings, Verdict, prove};

use crate::corpus::{compile, program};

fn written(program: &Program) -> String {
    let proof = match prove(program, &Settings::default()).verdict {
        Verdict::Holds(proof) => proof,
        other => panic!("{} is proved: {other:?}", program.name),
    };
    let Invariant::Views(found) = &proof.invariant else { panic!("of any number of threads") };
    let layout = Layout::new(program).expect("modelled");
    certificate::write(&layout, &proof.points, &proof.precision, found)
}

/// The structures alone: what is damaged is not looked at a second time, which would only hide a mistake of
/// the first.
fn is_accepted(program: &Program, text: &str) -> bool {
    certificate::closed(program, text, Some(Instant::now() + Duration::from_secs(20))).is_ok()
}

/// One random damage: a byte, a word, a line, a cut, a number that is too large.
fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let at = dice.below(bytes.len());
    match dice.below(8) {
        0 => bytes[at] = b"0123456789abcdef/: vrp\n"[dice.below(23)],
        1 => {
            bytes.remove(at);
        }
        2 => bytes.insert(at, b"0123456789abcdef/: \n"[dice.below(20)]),
        3 => bytes.truncate(at),
        4 => bytes[at] ^= 1 << dice.below(7),
        kind => {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let line = dice.below(lines.len());
            match kind {
                5 => {
                    lines.remove(line);
                }
                6 => {
                    let other = dice.below(lines.len());
                    lines.swap(line, other);
                }
                _ => {
                    let mut words: Vec<String> = lines[line].split(' ').map(str::to_owned).collect();
                    let word = dice.below(words.len());
                    let odd =
                        ["ffffffff", "0", "1/ffffffff/ffffffff", "ffff", "ffffffffffffffff", "3/1/0", "fffe"];
                    match dice.below(3) {
                        0 => words[word] = odd[dice.below(odd.len())].to_owned(),
                        1 => words.insert(word, words[word].clone()),
                        _ => {
                            words.remove(word);
                        }
                    }
                    lines[line] = words.join(" ");
                }
            }
            bytes = lines.join("\n").into_bytes();
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whatever becomes of a certificate, the recheck ends and says something.
#[test]
fn damage_is_no_panic() {
    let mut dice = Dice::new(11);
    for name in ["treiber", "two-lock", "treiber-counted", "elimination-stack", "coarse-set"] {
        let program = program(name);
        let text = written(&program);
        let lines = text.lines().count();
        let mut refused = 0;
        for _ in 0..120 {
            let mut spoiled = damaged(&text, &mut dice);
            while dice.below(3) == 0 && !spoiled.is_empty() {
                spoiled = damaged(&spoiled, &mut dice);
            }
            refused += usize::from(!is_accepted(&program, &spoiled));
        }
        assert!(refused > 60, "{name}, {lines} lines: {refused}");
    }
}

/// A certificate of a program is none of a wrong one, whatever is changed in it.
#[test]
fn no_damage_proves_a_wrong_program() {
    let mut dice = Dice::new(5);
    let right = program("treiber");
    let text = written(&right);
    let mut wrong = program("treiber-push-no-cas");
    wrong.name = right.name.clone();
    assert!(!is_accepted(&wrong, &text));
    for _ in 0..400 {
        assert!(!is_accepted(&wrong, &damaged(&text, &mut dice)));
    }
    assert!(is_accepted(&right, &text));
}

/// A certificate without a single line but its head is none.
#[test]
fn nothing_proves_nothing() {
    let program = compile(
        "object S : stack {
  struct Node { val: data, next: *Node }
  shared top: *Node = null
  op push(v: data) { }
  op pop() -> data? { return none }
}",
    );
    for text in
        ["", "linpoint shape certificate 2 S", "linpoint shape certificate 2 S\nprecision 0\npoints given\n"]
    {
        assert!(certificate::recheck(&program, text, None).is_err(), "{text}");
    }
}

/// Odd programs whose proofs are right: their states are looked up like any others'.
#[test]
fn proofs_of_odd_programs_are_rechecked() {
    // Records without a value, besides the dummy; more records than a structure has nodes; a set that no call
    // has a key for.
    let without_value = "object Q : queue {
  struct Node { val: data, next: *Node }
  shared head: *Node
  shared tail: *Node
  shared l: lock
  init {
    d = new Node
    head = d
    tail = d
  }
  op enqueue(v: data) {
    x = new Node { val: v }
    y = new Node { next: x }
    lock(l)
    t = tail
    t.next = x @lin
    tail = x
    unlock(l)
    z = y
  }
  op dequeue() -> data? {
    lock(l)
    t = head
    s = t.next @lin if s == null
    if s == null {
      unlock(l)
      return none
    }
    head = s @lin
    unlock(l)
    return s.val
  }
}";
    let junk = "j = new Junk\n    f = true\n    ".repeat(6);
    let many = format!(
        "object S : stack {{
  struct Node {{ val: data, next: *Node }}
  struct Junk {{ a: bool }}
  shared top: *Node = null
  shared f: bool
  op push(v: data) {{
    x = new Node {{ val: v }}
    {junk}
    loop {{
      t = top
      x.next = t
      if cas(top, t, x) @lin {{ return }}
    }}
  }}
  op pop() -> data? {{
    {junk}
    loop {{
      t = top @lin if t == null
      if t == null {{ return none }}
      s = t.next
      if cas(top, t, s) @lin {{ return t.val }}
    }}
  }}
}}"
    );
    let no_key = "object S : set {
  size K = 0
  struct Node { key: int, next: *Node }
  shared head: *Node
  shared l: lock
  track list head via next sorted by key
  init {
    t = new Node { key: K }
    head = new Node { key: -1, next: t }
  }
  op contains(k: 0..K) -> bool {
    lock(l)
    unlock(l)
    return false
  }
}";
    for text in [without_value, &many, no_key] {
        let program = compile(text);
        let text = written(&program);
        assert!(certificate::recheck(&program, &text, None).is_ok(), "{text}");
    }
}
