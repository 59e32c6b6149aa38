//! Names of the program mean nothing to the prover: a wrong program stays unproved, and a right one proved,
//! whatever its variables are called.

use linpoint_lang::compile;
use linpoint_prove::prove;
use linpoint_prove::symbol::{Key, Owner, Role, Space};
use linpoint_prove::term::{Family, Sort, Terms};

use crate::solvers::options;

/// Names that the prover uses, has used, or might use in formulas; and those that people give to results.
const NAMES: [&str; 14] =
    ["result", "said", "returns", "p", "q", "r", "k", "k1", "s0", "t0", "b0", "new1", "choice1", "size"];

/// A read that says one value and returns another: the local has this name.
fn says_one_returns_another(name: &str) -> String {
    format!(
        "object C : counter {{
  shared n: int
  op increment() {{ u = fetch_add(n, 1) @lin }}
  op read() -> int {{
    {name} = n @lin({name})
    {name} = {name} + 1
    return {name}
  }}
  abs n
}}"
    )
}

#[track_caller]
fn check(text: &str, proved: bool) {
    let options = options();
    let (programs, wrong) = compile(text);
    assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
    let report = prove(&programs[0], &options, &|_, _| {});
    assert_eq!(report.verdict.holds(), proved, "{text}\n{:?}", report.verdict);
}

#[test]
fn a_local_is_not_the_result_that_was_said() {
    for name in NAMES {
        let wrong = says_one_returns_another(name);
        check(&wrong, false);
        check(&wrong.replace(&format!("    {name} = {name} + 1\n"), ""), true);
    }
}

#[test]
fn a_parameter_is_not_what_the_operation_was_called_with() {
    let text = |name: &str| {
        format!(
            "object R : register {{
  shared x: int?
  op write({name}: int) {{
    {name} = {name} + 1
    x = {name} @lin
  }}
  op read() -> int? {{
    v = x @lin(v)
    return v
  }}
  abs x
}}"
        )
    };
    for name in NAMES {
        check(&text(name), false);
        check(&text(name).replace(&format!("    {name} = {name} + 1\n"), ""), true);
    }
}

/// Two locals of one name come from a procedure that is inlined twice.
#[test]
fn locals_of_procedures_that_are_inlined_twice() {
    let text = |second: &str| {
        format!(
            "object C : counter {{
  shared n: int
  proc look() -> int {{
    result = n
    return result
  }}
  op increment() {{ u = fetch_add(n, 1) @lin }}
  op read() -> int {{
    a = look()
    b = look()
    return {second}
  }}
  abs n
}}"
        )
    };
    check(&text("b"), false);
    check(&text("a - b"), false);
}

/// Locals of the `spec` have names of their own, and so have its variables.
#[test]
fn the_specification_has_names_of_its_own() {
    let text = |answer: &str| {
        format!(
            "object P {{
  shared n: int
  op next() -> int {{
    t = fetch_add(n, 1) @lin({answer})
    return {answer}
  }}
  spec {{
    shared n: int
    op next() -> int {{
      t = n
      n = t + 1
      return t
    }}
  }}
  abs n
}}"
        )
    };
    check(&text("t"), true);
    check(&text("t + 1"), false);
    check(&text("n"), false);
}

#[test]
fn what_stands_for_different_things_is_different() {
    use linpoint_lang::program::{GlobalId, LocalId, OpId, RecordId, SizeId};
    let (op, local, global, record) = (OpId(0), LocalId(0), GlobalId(0), RecordId(0));
    let mut keys = vec![Key::Place, Key::Size(SizeId(0)), Key::Choice(0), Key::Made(0), Key::Counts(0)];
    keys.extend([Key::Counted(0), Key::Witness(0), Key::Named("x", 0)]);
    keys.extend([Role::Actor, Role::Other, Role::Third].map(Key::Process));
    for space in [Space::Program, Space::Spec(0), Space::Spec(1)] {
        keys.extend([Key::Shared(space, global, 0), Key::Shared(space, global, 1)]);
        keys.extend([Key::Field(space, record, 0), Key::InUse(space, record)]);
    }
    for owner in [Owner::Program, Owner::Spec] {
        keys.extend([Key::Local(owner, op, local), Key::Input(owner, op, local), Key::Said(owner, op, 0)]);
    }
    let mut terms = Terms::new();
    let mut symbols: Vec<_> =
        keys.iter().map(|key| terms.symbol(*key, "result", &[Family(0)], Sort::Int)).collect();
    let again: Vec<_> =
        keys.iter().map(|key| terms.symbol(*key, "another name", &[Family(0)], Sort::Int)).collect();
    assert_eq!(symbols, again);
    symbols.sort_unstable();
    symbols.dedup();
    assert_eq!(symbols.len(), keys.len());
}
