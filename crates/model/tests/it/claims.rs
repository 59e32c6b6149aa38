//! Claims in models: the verdicts of the corpus, which are those of the Rust subjects, and each kind of term
//! by itself.

use linpoint_lang::program::SpecSource;
use linpoint_lang::{Program, compile};
use linpoint_model::{Bounds, Mode, Reductions, Verdict, Workload, Wrong, explore};

use crate::corpus::{expected, programs, workload};

/// What becomes of the claims alone: `hold`, or where the false one stands.
fn decided(program: &Program, workload: &Workload, fusion: bool) -> String {
    // Without a specification only claims and errors are left to find.
    let program = Program { spec: SpecSource::Nothing, ..program.clone() };
    let bounds = Bounds {
        reductions: Reductions { fusion, fixed: true, symmetry: true, data: true },
        memory: 1 << 30,
        ..Bounds::default()
    };
    match explore(&program, workload, Mode::Anywhere, &bounds).verdict {
        Verdict::Holds(_) => "hold".into(),
        Verdict::Violated(violation) => match violation.evidence.wrong {
            Wrong::Claim(claim) => {
                assert!(violation.rechecked && !violation.steps.is_empty());
                format!("{} is false", claim.index())
            }
            wrong => format!("{wrong:?}"),
        },
        Verdict::Unknown(limit) => format!("unknown: {limit:?}"),
    }
}

/// Snapshot, elimination stack and transactional memory, as `subjects/tests/it/claims.rs` has them in Rust.
#[test]
fn the_corpus() {
    let mut seen = 0;
    for (path, text, program) in programs() {
        let Some(wanted) = expected(&text, "claims") else {
            assert!(program.claims.is_empty(), "{}: what becomes of its claims?", path.display());
            continue;
        };
        let found = decided(&program, &workload(&program), true);
        let found = if found.ends_with("is false") { "violated" } else { found.as_str() };
        assert_eq!(found, wanted, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
}

/// The claim of the elimination stack with what it forgot.
#[test]
fn a_push_that_is_not_eliminated_writes_its_node() {
    let (_, text, _) = programs()
        .into_iter()
        .find(|(path, ..)| path.ends_with("elimination-stack-push-claim.lin"))
        .expect("it is there");
    let right = text
        .replace(
            "tressa first(top, wr, me) == x",
            "var gone = false\n    tressa !exit(gone) ==> first(top, wr, me) == x",
        )
        .replace("if !cas(slot, o, null) { return }", "if !cas(slot, o, null) {\n gone = true\n return\n }");
    assert!(right.contains("gone = true") && right.contains("exit(gone)"));
    let of = |text: &str| {
        let programs = compile(text).0;
        decided(&programs[0], &Workload::of(&programs[0].clients[0]), true)
    };
    assert_eq!(of(&text), "0 is false");
    assert_eq!(of(&right), "hold");
}

/// A transaction that writes an object twice and undoes it: newest first, or oldest first.
#[test]
fn undo_in_order() {
    let text = |undo: &str| {
        format!(
            "object Undo {{
               shared d: int
               op overwrite() {{
                 b0 = d
                 d = 10
                 b1 = d
                 d = 11
                 var done = false
                 tressa last(d, wr, me, done) == b0
                 {undo}
                 done = true
               }}
               client c {{ thread {{ overwrite() overwrite() }} }}
             }}"
        )
    };
    says(&text("d = b1\n d = b0"), "hold");
    says(&text("d = b0\n d = b1"), "0 is false");
}

/// With and without fusion.
#[track_caller]
fn says(text: &str, wanted: &str) {
    let (programs, wrong) = compile(text);
    assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
    let workload = Workload::of(&programs[0].clients[0]);
    for fusion in [true, false] {
        assert_eq!(decided(&programs[0], &workload, fusion), wanted, "fusion: {fusion}");
    }
}

/// One operation `f` with a claim, run beside `g`.
#[track_caller]
fn beside(f: &str, g: &str, wanted: &str) {
    says(
        &format!(
            "object T {{ shared x: int\n shared y: int\n op f() {{\n {f}\n }}\n op g() {{\n {g}\n }}
             client c {{ thread {{ f() }} thread {{ g() }} }} }}"
        ),
        wanted,
    );
}

#[test]
fn first() {
    beside("tressa first(x, wr, me) == 1\n x = 1\n x = 2", "y = 1", "hold");
    beside("tressa first(x, wr, me) == 2\n x = 1\n x = 2", "y = 1", "0 is false");
    // Another may come in between, unless the write is one's own.
    beside("tressa first(x, wr, all) == 1\n x = 1", "x = 5", "0 is false");
    beside("tressa first(x, wr, me) == 1\n x = 1", "x = 5", "hold");
    beside("tressa first(x, wr, others) == 5\n x = 1", "x = 5", "hold");
    // Nobody reads: never ready.
    beside("tressa first(x, rd, all) == 9\n x = 1", "x = 5", "hold");
    beside("tressa first(x, rd, all) == 9\n x = 1", "z = x", "0 is false");
    // A failed compare-and-swap reads and does not write.
    beside("tressa first(x, wr, me) == 3\n cas(x, 7, 8)\n x = 3", "y = 1", "hold");
    beside("tressa first(x, rd, me) == 3\n cas(x, 7, 8)\n x = 3", "y = 1", "0 is false");
}

#[test]
fn last_and_exit() {
    let done = "var done = false\n tressa last(x, wr, me, done) == 2";
    beside(&format!("{done}\n x = 1\n x = 2\n done = true\n x = 3"), "y = 1", "hold");
    beside(&format!("{done}\n x = 1\n done = true\n x = 2"), "y = 1", "0 is false");
    // Nothing before the condition, or the condition never: never ready.
    beside(&format!("{done}\n done = true\n x = 3"), "y = 1", "hold");
    beside(&format!("{done}\n x = 3"), "y = 1", "hold");
    // The condition is another's to make true; the write that makes it so does not count.
    beside("tressa last(x, wr, all, y == 1) == 4\n x = 4", "y = 1", "hold");
    beside("tressa last(x, wr, all, x == 1) == 4\n x = 4", "x = 1", "hold");
    beside("tressa last(x, wr, all, y == 1) == 4\n x = 4", "x = 5\n y = 1", "0 is false");
    // Of all: another's write may come after one's own local step, and counts if it comes before `done`.
    let all = "var done = false\n tressa last(x, wr, all, done) == 2";
    beside(&format!("{all}\n x = 2\n done = true"), "x = 5", "0 is false");

    beside("var s = 0\n tressa exit(s) == 1\n x = 1\n s = 1", "y = 1", "hold");
    beside("var s = 0\n tressa exit(s) == 1\n x = 1", "y = 1", "0 is false");
    beside("tressa exit(x) == 1\n x = 1", "y = 1", "hold");
    beside("tressa exit(x) == 1\n x = 1", "x = 2", "0 is false");
}

#[test]
fn plain_parts() {
    // Read when the claim is made; true whatever happens, and false only once ready.
    beside("x = 1\n var s = 0\n tressa x == 1 || exit(s) == 0\n x = 2\n s = 1", "y = 1", "hold");
    beside("tressa 1 == 2 && first(x, wr, me) == 1", "y = 1", "hold");
    beside("tressa 1 == 2 && first(x, wr, me) == 1\n x = 1", "y = 1", "0 is false");
    beside("tressa x == 0", "x = 1", "0 is false");
    beside("tressa y == 0", "x = 1", "hold");
}
