//! Guesses hide no run: what would let one is an error.

use linpoint_lang::compile;
use linpoint_lang::erase::erase;
use linpoint_lang::prophecy;

/// A counter whose `read` has this body, and what is said of it: codes.
fn said(body: &str) -> Vec<&'static str> {
    with("", body)
}

fn with(members: &str, body: &str) -> Vec<&'static str> {
    let text = format!(
        "object C : counter {{
  shared n: int = 0
  ghost shared gn: int = 0
  {members}
  op increment() {{ n = n + 1 }}
  op read() -> int {{
    {body}
  }}
}}"
    );
    let (_, wrong) = compile(&text);
    wrong.iter().filter(|d| d.is_error()).map(|d| d.code).collect()
}

#[track_caller]
fn refused(body: &str) {
    let said = said(body);
    assert!(!said.is_empty() && said.iter().all(|code| *code == "L044"), "{body}: {said:?}");
}

#[track_caller]
fn taken(body: &str) {
    assert_eq!(said(body), [""; 0], "{body}");
}

#[test]
fn a_guess_that_is_resolved_at_most_once() {
    taken("prophecy g: int\n x = n @resolve g = x\n return x");
    taken("prophecy g: bool\n x = n @resolve g = x == 0\n return x");
    // Never on some ways, or on all of them.
    taken("prophecy g: int\n return n");
    taken("prophecy g: int\n x = n\n if x == 0 { x = n @resolve g = x }\n return x");
    // Anew in every turn, and once more after the loop.
    taken("x = 1\n while x > 0 {\n prophecy g: int\n x = n @resolve g = x\n }\n return x");
    taken("loop {\n prophecy g: int\n x = n @resolve g = x\n if x == 0 { return x }\n }");
    taken("prophecy g: int\n prophecy h: int\n x = n @resolve g = x @resolve h = x + 1\n return x");
    // Ghosts may look at it.
    taken(
        "prophecy g: int\n ghost var low: bool = false\n x = n @ghost { low = g < 3 }\n y = n @resolve g = y\n return y",
    );
}

#[test]
fn a_guess_that_should_have_been_two_things() {
    refused("prophecy g: int\n x = n @resolve g = x\n y = n @resolve g = y\n return y");
    refused("prophecy g: int\n x = n @resolve g = x @resolve g = x + 1\n return x");
    refused("prophecy g: int\n x = 1\n while x > 0 {\n x = n @resolve g = x\n }\n return x");
    refused("prophecy g: int\n x = n\n if x == 0 { x = n @resolve g = x }\n y = n @resolve g = y\n return y");
    refused(
        "prophecy g: int\n choose { x = n @resolve g = 1 } or { x = n }\n y = n @resolve g = 2\n return y",
    );
}

#[test]
fn a_guess_that_was_not_made() {
    refused("x = 0\n if n == 0 { prophecy g: int }\n x = n @resolve g = x\n return x");
    assert!(!said("x = n @resolve g = x\n prophecy g: int\n return x").is_empty());
    assert!(!said("x = n @resolve g = x\n return x").is_empty());
    assert!(!said("var g: int = 0\n x = n @resolve g = x\n return x").is_empty());
    assert!(!said("ghost var g: int = 0\n x = n @resolve g = x\n return x").is_empty());
    assert!(!said("x = n @resolve n = x\n return x").is_empty());
    assert!(!said("x = n @resolve gn = x\n return x").is_empty());
}

/// With a guess from a range, or of what may be anything, some runs would have no right one.
#[test]
fn a_guess_that_is_never_right() {
    refused("prophecy g: 0..3\n x = n @resolve g = x\n return x");
    assert!(!said("prophecy g: lock\n return n").is_empty());
    refused("prophecy g: thread\n x = n\n return x");
    refused("prophecy g: data\n x = n\n return x");
    // It is guessed as one thing, and is another.
    assert!(!said("prophecy g: bool\n x = n @resolve g = x\n return x").is_empty());
}

/// `g` should have been `g + 1`: no guess is right.
#[test]
fn what_should_have_been_guessed_depends_on_no_guess() {
    refused("prophecy g: int\n x = n @resolve g = g + 1\n return x");
    refused(
        "prophecy g: int\n ghost var h: int = 0\n x = n @ghost { h = g + 1 }\n y = n @resolve g = h\n return y",
    );
    refused("prophecy g: int\n x = n @ghost { gn = g + 1 }\n y = n @resolve g = gn\n return y");
    refused("prophecy g: int\n prophecy h: int\n x = n @resolve g = h\n y = n @resolve h = g + 1\n return y");
}

#[test]
fn a_guess_is_given_no_value() {
    refused("prophecy g: int\n x = n @ghost { g = x }\n return x");
    refused("ghost var g: int = 0\n prophecy h: int\n x = n @ghost { h = 1 }\n return x");
    assert!(!said("prophecy g: int\n g = 3\n return n").is_empty());
    assert!(!said("prophecy g: int\n (g, x) = (1, 2)\n return n").is_empty());
    assert!(!said("prophecy g: int\n prophecy g: bool\n return n").is_empty());
    assert!(!said("for g in 0..3 { prophecy g: int }\n return n").is_empty());
}

#[test]
fn a_guess_steers_nothing() {
    for body in [
        "prophecy g: int\n return g",
        "prophecy g: int\n x = g\n return x",
        "prophecy g: int\n n = g\n return 0",
        "prophecy g: int\n assume g == n\n return 0",
        "prophecy g: int\n if g == 0 { n = 1 }\n return 0",
    ] {
        assert!(!said(body).is_empty(), "{body}");
    }
}

/// A run may have a wrong guess in it, which a claim must not see.
#[test]
fn a_claim_sees_no_guess() {
    refused("prophecy g: int\n tressa gn == 0\n x = n @resolve g = x\n return x");
    refused("prophecy g: int\n tressa last(n, wr, all, g == 0) == 0\n x = n @resolve g = x\n return x");
}

#[test]
fn nothing_is_guessed_elsewhere() {
    assert_eq!(with("init { prophecy g: int\n n = 0 }", "return n"), ["L044"]);
    let spec = "object S {
  shared n: int = 0
  op read() -> int { return n }
  spec {
    shared m: int = 0
    op read() -> int {
      prophecy g: int
      x = m @resolve g = x
      return x
    }
  }
}";
    let (_, wrong) = compile(spec);
    assert!(wrong.iter().any(|d| d.code == "L044"), "{wrong:?}");
}

/// `prophecy` is a name where nothing is guessed.
#[test]
fn a_variable_of_that_name() {
    taken("prophecy = n\n return prophecy");
    taken("var resolve: int = n\n prophecy = resolve\n return prophecy");
}

#[test]
fn it_is_erased() {
    let text = include_str!("../../../../corpus/correct/sharded-counter.lin");
    let (programs, wrong) = compile(text);
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(prophecy::is_in(&programs[0]));
    assert!(!prophecy::is_in(&erase(&programs[0])));
}
