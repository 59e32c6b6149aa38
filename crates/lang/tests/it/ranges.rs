//! Ranges are kept everywhere: results, arguments of clients, parameters of a specification.

use linpoint_lang::compile;
use linpoint_lang::interp::{Choices, ErrorKind, Machine, Outcome};
use linpoint_lang::program::{SpecSource, Word};

/// The codes of what is wrong.
#[track_caller]
fn codes(text: &str) -> Vec<&'static str> {
    compile(text).1.iter().filter(|d| d.is_error()).map(|d| d.code).collect()
}

const COUNTER: &str = "size N = 3
  shared c: int
  op add(i: 0..4) { x = fetch_add(c, i) }
  op more(i: 0..N) { x = fetch_add(c, i) }
  op read() -> int { return c }";

#[test]
fn arguments_of_clients() {
    let with =
        |calls: &str| codes(&format!("object C {{ {COUNTER}\n client k {{ thread {{ {calls} }} }} }}"));
    for good in ["add(0); add(3)", "more(2)"] {
        assert_eq!(with(good), Vec::<&str>::new(), "{good}");
    }
    for bad in ["add(4)", "add(7)", "add(-1)", "more(3)", "read(); add(3); add(4)"] {
        assert_eq!(with(bad), ["L060"], "{bad}");
    }
}

#[test]
fn parameters_of_a_specification() {
    let with = |add: &str, more: &str| {
        codes(&format!(
            "object C {{ {COUNTER}\n spec {{ shared d: int\n op add({add}) {{ d = d + i }}
             op more({more}) {{ d = d + i }}\n op read() -> int {{ return d }} }} }}"
        ))
    };
    for (add, more) in [("i: 0..4", "i: 0..N"), ("i: int", "i: int"), ("i: -1..9", "i: 0..N")] {
        assert_eq!(with(add, more), Vec::<&str>::new(), "{add} {more}");
    }
    for (add, more) in
        [("i: 0..2", "i: int"), ("i: 1..4", "i: int"), ("i: int", "i: 0..N - 1"), ("i: 0..N", "i: int")]
    {
        assert_eq!(with(add, more), ["L051"], "{add} {more}");
    }
}

#[test]
fn claims_in_a_specification() {
    let spec = "spec { shared d: int\n op f() { d = 1\n tressa exit(d) == 2 } }";
    assert_eq!(codes(&format!("object C {{ shared c: int\n op f() {{ c = 1 }}\n {spec} }}")), ["L050"]);
    let (_, wrong) = linpoint_lang::compile_specifications(
        "spec S { shared d: int\n op f() { d = 1\n tressa exit(d) == 2 } }",
    );
    assert_eq!(wrong.iter().map(|d| d.code).collect::<Vec<_>>(), ["L050"]);
}

/// How the only run of the operation ends.
fn run(program: &linpoint_lang::Program) -> Result<Vec<Word>, ErrorKind> {
    let machine = Machine::new(program, 1);
    let mut state = machine.initial().expect("it starts");
    machine.call(&mut state, 0, machine.program.find("f").expect("it is there"), &[]);
    loop {
        let node = machine.program.node(machine.pc(&state, 0).expect("it runs"));
        let mut moved = None;
        for edge in 0..node.edges.len() {
            let mut after = state.clone();
            match machine.step(&mut after, 0, edge, &mut Choices::default(), &mut Vec::new()) {
                Err(error) => return Err(error.kind),
                Ok(Outcome::Disabled) => {}
                Ok(Outcome::Moved) => moved = Some(after),
                Ok(Outcome::Returned(result)) => return Ok(result),
            }
        }
        state = moved.expect("it goes on");
    }
}

#[track_caller]
fn results(members: &str) -> Result<Vec<Word>, ErrorKind> {
    let text = format!("object C {{ shared c: int = 5\n {members} }}");
    let (programs, wrong) = compile(&text);
    assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
    run(&programs[0])
}

#[test]
fn results_of_operations_and_procedures() {
    let range = |value| Err(ErrorKind::OutOfRange { value, least: 0, greatest: 1 });
    assert_eq!(results("op f() -> 0..6 { return c }"), Ok(vec![5]));
    assert_eq!(results("op f() -> 0..2 { return c }"), range(5));
    assert_eq!(results("op f() -> 0..2 { return 2 }"), range(2));
    assert_eq!(results("op f() -> (int, 0..2) { return (7, c) }"), range(5));
    assert_eq!(results("op f() -> (0..2, int) { return (1, c) }"), Ok(vec![1, 5]));
    assert_eq!(results("op f() -> 0..2? { return some(c) }"), Err(ErrorKind::AssertFailed));
    assert_eq!(results("op f() -> 0..6? { return some(c) }"), Ok(vec![5]));
    assert_eq!(results("op f() -> 0..2? { return none }"), Ok(vec![Word::MIN]));
    assert_eq!(results("op f() -> (0..2, int)? { return none }"), Ok(vec![Word::MIN]));
    assert_eq!(results("op f() -> (0..2, int)? { return (c, 1) }"), range(5));
    assert_eq!(results("proc p() -> 0..2 { return c }\n op f() -> int { x = p()\n return x }"), range(5));
    assert_eq!(results("op f() -> 0..2 { atomic { return c } }"), range(5));
}

#[test]
fn results_of_a_specification() {
    let text = "object C { op f() -> int { return 5 }\n spec { op f() -> int { return 5 } } }";
    for (text, expected) in [
        (text.to_owned(), Ok(vec![5])),
        (text.replace("-> int", "-> 0..2"), Err(ErrorKind::OutOfRange { value: 5, least: 0, greatest: 1 })),
    ] {
        let program = compile(&text).0.remove(0);
        let SpecSource::Block(spec) = &program.spec else { panic!("it has a block") };
        assert_eq!(run(spec), expected);
    }
}
