//! The order in which the parts of an expression are evaluated, and how many of them: the same in an atomic
//! step as outside.

use linpoint_lang::compile;
use linpoint_lang::interp::{Choices, Machine, Outcome};
use linpoint_lang::program::Word;

const MEMBERS: &str = "
  struct Node { v: int, w: int }
  shared a: int = 4
  shared c: int
  shared i: int
  shared l: lock
  shared m: [int; 2]
  shared n: *Node = null
  proc num() -> int { r = fetch_add(c, 1)
    return r }
  proc both() -> (int, int) { return (a, swap(a, 10)) }
  atomic proc at_once() -> bool { return c < 0 && fetch_add(c, 1) == 0 }";

/// Runs the operation alone: what it gives back.
#[track_caller]
fn result(body: &str) -> Vec<Word> {
    let text = format!("object T {{{MEMBERS}\n op f(k: int) -> (int, int) {{\n{body}\n}}\n}}");
    let (programs, wrong) = compile(&text);
    let shown: String = wrong.iter().filter(|d| d.is_error()).map(|d| d.render("test", &text)).collect();
    assert!(shown.is_empty(), "{shown}");
    let machine = Machine::new(&programs[0], 1);
    let mut state = machine.initial().expect("it starts");
    machine.call(&mut state, 0, machine.program.find("f").expect("it is there"), &[1]);
    loop {
        let node = machine.program.node(machine.pc(&state, 0).expect("it runs"));
        let mut moved = None;
        for edge in 0..node.edges.len() {
            let mut after = state.clone();
            match machine.step(&mut after, 0, edge, &mut Choices::default(), &mut Vec::new()) {
                Err(error) => panic!("{:?}: {body}", error.kind),
                Ok(Outcome::Disabled) => {}
                Ok(Outcome::Moved) => moved = Some(after),
                Ok(Outcome::Returned(result)) => return result,
            }
        }
        state = moved.expect("it goes on");
    }
}

/// What the first statement of the body does, inside an atomic step and outside.
#[track_caller]
fn check(statement: &str, rest: &str, expected: [Word; 2]) {
    assert_eq!(result(&format!("{statement}\n{rest}")), expected, "outside: {statement}");
    assert_eq!(result(&format!("atomic {{ {statement} }}\n{rest}")), expected, "inside: {statement}");
}

#[test]
fn no_further_than_needed() {
    check("x = c < 0 && fetch_add(c, 1) == 0", "if x { c = 9 }\n return (c, 0)", [0, 0]);
    check("x = c == 0 || cas(c, 0, 5)", "if !x { c = 9 }\n return (c, 0)", [0, 0]);
    check("x = c == 5 ==> cas(c, 0, 5)", "if !x { c = 9 }\n return (c, 0)", [0, 0]);
    check("x = !(c == 5) || num() == 7", "if !x { c = 9 }\n return (c, 0)", [0, 0]);
    check("x = c == 5 && try_lock(l)", "y = try_lock(l)\n if x || !y { c = 9 }\n return (c, 0)", [0, 0]);
    check("x = n != null && fetch_add(n.v, 1) == 1", "if x { c = 9 }\n return (c, 0)", [0, 0]);
    check("x = (c == 5) == (c < 0 && num() == 0)", "if !x { c = 9 }\n return (c, 0)", [0, 0]);
    check("m[0] = 3\n x = m[num()] == 2 && num() == 1", "if x { c = 9 }\n return (c, 0)", [1, 0]);
    check("x = at_once()", "if x { c = 9 }\n return (c, 0)", [0, 0]);
    // Nothing is chosen or made where it is not looked at, either.
    check("x = c == 5 && (choose 1..c) == 1", "if x { c = 9 }\n return (c, 0)", [0, 0]);
}

#[test]
fn from_left_to_right() {
    check("x = a + swap(a, 10)", "return (x, a)", [8, 10]);
    check("x = c * 100 + num() + c * 1000", "return (x, c)", [1000, 1]);
    check("(x, y) = both()", "return (x, y)", [4, 4]);
    check("p = new Node { v: a, w: swap(a, 10) }", "return (p.v, p.w)", [4, 4]);
    check("m[swap(i, 1)] = i", "return (m[0], i)", [0, 1]);
    check("x = cas(m[i], swap(i, 1), a)", "if !x { c = 9 }\n return (m[0], c)", [4, 0]);
    check("x = swap(m[i], num() + swap(i, 1))", "return (m[0], i)", [0, 1]);
    check("x = cas(a, a, swap(a, 4) + 1)", "if !x { c = 9 }\n return (a, c)", [5, 0]);
    check("x = dcas(i, m[i], 0, 0, 1, i + 7)", "if !x { c = 9 }\n return (m[0], m[1])", [7, 0]);
    check("x = choose a..fetch_add(a, 1) + 1", "return (x, a)", [4, 5]);
    assert_eq!(result("atomic { return (a, swap(a, 10)) }"), [4, 4]);
}

/// A variable that gets the old value is used for what it was before.
#[test]
fn the_old_value_comes_last() {
    check("x = 1\n x = fetch_add(a, x)", "return (x, a)", [4, 5]);
    check("m[0] = 1\n x = 0\n x = swap(m[x], 7)", "return (x, m[0])", [1, 7]);
    check("m[0] = 1\n x = 0\n x = fetch_add(m[x], 1)", "return (x, m[0])", [1, 2]);
    check("x = 5\n x = swap(a, x)", "return (x, a)", [4, 5]);
    check("x = 1\n x = fetch_add(a, m[x] + x)", "return (x, a)", [4, 5]);
}

#[test]
fn a_quantifier_only_looks() {
    for body in ["fetch_add(c, 1) == j", "j == 0 && cas(c, 0, 1)", "m[num()] == j", "num() == j"] {
        let text = format!("object T {{{MEMBERS}\n op f() {{ atomic {{ x = any j in 0..2: {body} }} }}\n}}");
        let (programs, wrong) = compile(&text);
        assert!(programs.is_empty() && wrong.iter().any(|d| d.code == "L035"), "{body}: {wrong:?}");
    }
}
