//! A `spec` may ask who calls: it is told.

use linpoint_model::{Bounds, Mode, Verdict, Workload, explore};

fn verdict(text: &str) -> Verdict {
    let (programs, wrong) = linpoint_lang::compile(text);
    assert!(!wrong.iter().any(linpoint_lang::Diagnostic::is_error), "{wrong:?}");
    let program = &programs[0];
    explore(program, &Workload::general(program, 2, 2), Mode::Anywhere, &Bounds::default()).verdict
}

#[test]
fn each_caller_is_itself() {
    let own = "object C { op mine() -> thread { return me } spec { op mine() -> thread { return me } } }";
    assert!(matches!(verdict(own), Verdict::Holds(_)));
}

#[test]
fn another_caller_is_another() {
    let text = "object C {
        shared a: thread?
        op put() { a = me }
        op mine() -> bool {
            r = a
            return r != none
        }
        spec {
            shared x: thread?
            op put() { x = me }
            op mine() -> bool { return x == me }
        }
    }";
    assert!(matches!(verdict(text), Verdict::Violated(_)));
}
