//! Ghosts never steer a program: what would is an error, and the programs of the corpus run alike without
//! theirs.

use std::path::Path;

use linpoint_lang::compile;
use linpoint_lang::erase::{check, erase};

/// What is said of an object with these members: codes and lines.
fn said(members: &str) -> Vec<(&'static str, usize)> {
    let text = format!("object G : counter {{\n{members}\n}}");
    let (_, wrong) = compile(&text);
    let line = |start: u32| text[..start as usize].matches('\n').count() + 1;
    wrong.iter().filter(|d| d.is_error()).map(|d| (d.code, line(d.span.start))).collect()
}

/// Two ghosts, a real variable and records; then an operation with this body.
fn operation(body: &str) -> String {
    format!(
        "  struct A {{ ghost mark: int, real: int }}
  struct B {{ mark: int, ghost real: int }}
  shared a: A
  shared b: B
  shared p: *A = null
  ghost shared g: int
  ghost shared q: *A = null
  ghost shared at: [*A]
  ghost shared gl: lock
  ghost shared marks: [B; 2]
  shared x: int
  op increment() {{
{body}
  }}
  op read() -> int {{ return x }}"
    )
}

#[track_caller]
fn steers(body: &str) {
    let said = said(&operation(body));
    assert!(!said.is_empty(), "nothing is said of: {body}");
    assert!(said.iter().all(|(code, _)| *code == "L043"), "{body}: {said:?}");
    let last = 13 + body.lines().count();
    assert!(said.iter().all(|(_, line)| (14..=last).contains(line)), "{body}: {said:?}");
}

#[track_caller]
fn is_fine(body: &str) {
    assert_eq!(said(&operation(body)), [], "{body}");
}

#[test]
fn a_field_is_a_ghost_by_its_own_record() {
    steers("    b.mark = g");
    steers("    a.real = g");
    steers("    t = p\n    t.real = g");
    is_fine("    a.mark = g");
    is_fine("    b.real = g");
    is_fine("    t = p\n    t.mark = g");
    is_fine("    marks[0].mark = g");
}

#[test]
fn a_ghost_pointer_leads_to_no_write() {
    steers("    atomic {\n      q.real = 1\n    }");
    steers("    atomic {\n      at[0].real = 1\n    }");
    is_fine("    atomic {\n      q.mark = 1\n    }");
}

#[test]
fn conditions_choices_locks_and_records() {
    steers("    if g == 0 { x = 1 }");
    steers("    assume g == 0");
    steers("    assert g == 0");
    steers("    lock(gl)\n    unlock(gl)");
    steers("    ghost var n: int = 0\n    n = choose 0..x");
    steers("    ghost var n: *A = null\n    n = new A");
    steers("    ghost var n: int = 0\n    n = choose 0..2\n    x = n");
    steers("    t = new A { real: g }");
    steers("    ghost var n: bool = false\n    atomic {\n      n = cas(x, g, 1)\n    }");
    steers("    ghost var n: int = 0\n    n = swap(x, g)");
    is_fine("    ghost var n: int = 0\n    n = choose 0..2");
    is_fine("    t = new A { mark: g }");
    is_fine("    ghost var n: bool = false\n    n = cas(x, 0, 1)");
}

#[test]
fn what_is_called_for_a_ghost_is_code() {
    let with = |proc: &str, call: &str| format!("{}\n  {proc}", operation(call));
    let body = "    atomic {\n      g = f()\n    }";
    let leak = "proc f() -> int {\n    x = g\n    return 0\n  }";
    assert_eq!(said(&with(leak, body)), [("L043", 20)]);
    let given = "proc f(n: int) -> int {\n    x = n\n    return 0\n  }";
    assert_eq!(said(&with(given, "    atomic {\n      g = f(g)\n    }")), [("L043", 15)]);
    let fine = "proc f() -> int {\n    x = x + 1\n    return x\n  }";
    assert_eq!(said(&with(fine, body)), []);
}

#[test]
fn one_word_stands_for_one_value() {
    let result = |ty: &str| said(&operation("    x = 1").replace("-> int", &format!("-> {ty}")));
    for ty in ["int??", "(int?)?", "lock?", "(int)", "(int)?", "()"] {
        assert!(result(ty).iter().any(|(code, _)| *code == "L020"), "{ty}: {:?}", result(ty));
    }
}

#[test]
fn programs_without_ghosts_have_none_to_be_steered_by() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut with_ghosts = 0;
    for part in ["correct", "broken"] {
        for entry in std::fs::read_dir(folder.join(part)).expect("the corpus is there") {
            let path = entry.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "lin") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            for program in compile(&text).0 {
                let erased = erase(&program);
                let count = |p: &linpoint_lang::Program| {
                    p.nodes.iter().flat_map(|n| &n.edges).map(|e| e.actions.len()).sum::<usize>()
                };
                with_ghosts += usize::from(program.globals.iter().any(|global| global.ghost));
                assert!(count(&erased) <= count(&program));
                let mut wrong = Vec::new();
                check(&erased, &mut wrong);
                assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
            }
        }
    }
    assert!(with_ghosts >= 8, "{with_ghosts}");
}
