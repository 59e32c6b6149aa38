//! Different values are different in formulas: results of every type, and values of built-in specifications.

use linpoint_lang::program::{EnumId, NONE, RecordId, ResultType, Type, Word};
use linpoint_lang::{Program, compile};
use linpoint_model::result_value;
use linpoint_prove::prove;
use linpoint_prove::term::Node;
use linpoint_prove::world::World;

use crate::solvers::options;

/// An object with an enum and a record; its types are numbered 0.
const OBJECT: &str = "object E {
  enum Colour { red, green, blue }
  struct Node { val: int }
  shared p: *Node = null
  op get() -> int { return 0 }
}";

fn plain_types() -> Vec<Type> {
    vec![Type::Data, Type::Int, Type::Bool, Type::Thread, Type::Enum(EnumId(0)), Type::Pointer(RecordId(0))]
}

/// Every type of a part: plain, and an option of it.
fn part_types() -> Vec<Type> {
    let options = plain_types().into_iter().map(|ty| Type::Option(Box::new(ty)));
    plain_types().into_iter().chain(options).collect()
}

/// Some words of a type.
fn words(ty: &Type) -> Vec<Word> {
    match ty {
        Type::Bool => vec![0, 1],
        Type::Data | Type::Int => vec![0, 1, 2],
        Type::Thread | Type::Lock => vec![0, 1],
        Type::Enum(_) => vec![0, 1, 2],
        Type::Pointer(_) => vec![0, 1],
        Type::Option(inner) => words(inner).into_iter().chain([NONE]).collect(),
    }
}

/// Every type of a result that the language has, with one part or two.
fn result_types() -> Vec<ResultType> {
    let mut list = Vec::new();
    for part in part_types() {
        list.push(ResultType { parts: vec![part], optional: false, tuple: false });
    }
    for part in plain_types() {
        list.push(ResultType { parts: vec![part], optional: true, tuple: false });
    }
    for (one, two) in
        part_types().into_iter().flat_map(|a| part_types().into_iter().map(move |b| (a.clone(), b)))
    {
        for optional in [false, true] {
            list.push(ResultType { parts: vec![one.clone(), two.clone()], optional, tuple: true });
        }
    }
    list
}

/// The words that a return of such a result may have.
fn returns(ty: &ResultType) -> Vec<Vec<Word>> {
    let mut all: Vec<Vec<Word>> = vec![Vec::new()];
    for part in &ty.parts {
        all = all
            .iter()
            .flat_map(|list| words(part).into_iter().map(move |word| [list.as_slice(), &[word]].concat()))
            .collect();
    }
    if ty.optional {
        all.push(vec![NONE]);
    }
    all
}

#[test]
fn results_are_equal_only_if_they_are() {
    let program: &Program = &compile(OBJECT).0[0];
    let mut compared = 0;
    for ty in result_types() {
        let mut world = World::new(program);
        let lists: Vec<_> = returns(&ty)
            .into_iter()
            .map(|words| {
                let terms = words.iter().map(|word| world.terms.int(i64::from(*word))).collect();
                (result_value(program, &ty, &words), words, world.result(&ty, terms))
            })
            .collect();
        for (value, words, one) in &lists {
            for (other_value, other_words, two) in &lists {
                let same = world.all_same(one, two);
                let Node::Bool(same) = *world.terms.node(same) else { panic!("{ty:?}: not decided") };
                assert_eq!(same, value == other_value, "{ty:?}: {words:?} and {other_words:?}");
                compared += 1;
            }
        }
        assert_eq!(world.unsupported, None, "{ty:?}");
    }
    assert!(compared > 25_000, "{compared}");
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
fn none_is_not_some_of_none() {
    let text = |program: &str, spec: &str| {
        format!(
            "object N {{
  shared x: int
  op get() -> (int?, int)? {{
    v = x
    return {program}
  }}
  spec {{
    shared c: int
    op get() -> (int?, int)? {{ return {spec} }}
  }}
  abs x
}}"
        )
    };
    let values = ["none", "(none, 0)", "(0, 0)", "(none, 1)"];
    for program in values {
        for spec in values {
            check(&text(program, spec), program == spec);
        }
    }
}

/// A register that takes values of one type and gives them back as another.
fn register(param: &str, result: &str, stored: &str, put: &str, got: &str) -> String {
    format!(
        "object R : register {{
  enum Colour {{ red, green }}
  shared x: {stored}
  op write(v: {param}) {{
    var w: {stored} = none
    {put}
    x = w @lin
  }}
  op read() -> {result} {{
    v = x @lin({got})
    return {got}
  }}
  abs x
}}"
    )
}

#[test]
fn a_truth_value_is_not_a_number() {
    check(&register("int", "int?", "int?", "w = v", "v"), true);
    check(&register("bool", "bool?", "bool?", "w = v", "v"), true);
    check(&register("Colour", "Colour?", "Colour?", "w = v", "v"), true);
    check(&register("bool", "int?", "int?", "if v { w = 1 } else { w = 0 }", "v"), false);
    check(&register("Colour", "int?", "int?", "if v == green { w = 1 } else { w = 0 }", "v"), false);
    let taken = "if v == green { w = true } else { w = false }";
    check(&register("Colour", "bool?", "bool?", taken, "v"), false);
}

#[test]
fn a_queue_of_truth_values_does_not_stop_the_prover() {
    let text = "object Q : queue {
  size N = 2
  shared item: [bool; N]
  shared n: int
  shared lk: lock
  op enqueue(v: bool) {
    lock(lk)
    assume n == 0 && N > 0
    item[0] = v
    n = 1 @lin
    unlock(lk)
  }
  op dequeue() -> bool {
    lock(lk)
    assume n == 1
    n = 0 @lin(item[0])
    r = item[0]
    unlock(lk)
    return r
  }
  abs item[i] for i in 0..n
}";
    let options = options();
    let (programs, wrong) = compile(text);
    assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
    let _ = prove(&programs[0], &options, &|_, _| {});
}
