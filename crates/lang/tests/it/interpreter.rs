//! Runs, step by step: what programs do, and how they go wrong.

use linpoint_lang::compile;
use linpoint_lang::interp::{Choices, ErrorKind, Event, Machine, Outcome, State};
use linpoint_lang::program::{NONE, OpId, Program, Word};

#[track_caller]
fn program(text: &str) -> Program {
    let (mut programs, wrong) = compile(text);
    let shown: String = wrong.iter().filter(|d| d.is_error()).map(|d| d.render("test", text)).collect();
    assert!(shown.is_empty(), "{shown}");
    programs.remove(0)
}

/// Every way an operation can end if one thread runs it alone: results and states, or the error.
fn outcomes(
    machine: &Machine<'_>,
    state: &State,
    thread: usize,
    op: &str,
    args: &[Word],
) -> Vec<Result<(Vec<Word>, State), ErrorKind>> {
    let mut start = state.clone();
    machine.call(&mut start, thread, machine.program.find(op).expect("an operation"), args);
    let (mut open, mut ends) = (vec![(start, 0)], Vec::new());
    while let Some((state, depth)) = open.pop() {
        assert!(depth < 1000, "it does not end");
        let node = machine.program.node(machine.pc(&state, thread).expect("it runs"));
        for edge in 0..node.edges.len() {
            let mut choices = Choices::default();
            loop {
                let mut after = state.clone();
                match machine.step(&mut after, thread, edge, &mut choices, &mut Vec::new()) {
                    Err(error) => ends.push(Err(error.kind)),
                    Ok(Outcome::Disabled) => {}
                    Ok(Outcome::Moved) => open.push((after, depth + 1)),
                    Ok(Outcome::Returned(result)) => {
                        machine.canonical(&mut after);
                        ends.push(Ok((result, after)));
                    }
                }
                if !choices.next() {
                    break;
                }
            }
        }
    }
    ends
}

#[track_caller]
fn only(mut ends: Vec<Result<(Vec<Word>, State), ErrorKind>>) -> (Vec<Word>, State) {
    assert_eq!(ends.len(), 1, "{ends:?}");
    ends.remove(0).expect("no error")
}

fn corpus(name: &str) -> Program {
    let path = format!("{}/../../corpus/{name}.lin", env!("CARGO_MANIFEST_DIR"));
    program(&std::fs::read_to_string(path).expect("it is there"))
}

#[test]
fn a_stack_and_a_queue_in_sequence() {
    for (name, put, take, expected) in [
        ("correct/treiber", "push", "pop", [2, 1]),
        ("correct/michael-scott", "enqueue", "dequeue", [1, 2]),
        ("correct/dglm", "enqueue", "dequeue", [1, 2]),
    ] {
        let program = corpus(name);
        let machine = Machine::new(&program, 2);
        let empty = machine.initial().expect("it starts");
        let (_, one) = only(outcomes(&machine, &empty, 0, put, &[1]));
        let (_, two) = only(outcomes(&machine, &one, 1, put, &[2]));
        let (first, rest) = only(outcomes(&machine, &two, 0, take, &[]));
        let (second, rest) = only(outcomes(&machine, &rest, 1, take, &[]));
        assert_eq!([first[0], second[0]], expected, "{name}");
        assert_eq!(only(outcomes(&machine, &rest, 0, take, &[])).0, [NONE], "{name}");
    }
}

/// Equal contents are equal states, wherever the records lie.
#[test]
fn states_are_canonical() {
    let program = corpus("correct/treiber");
    let machine = Machine::new(&program, 1);
    let empty = machine.initial().expect("it starts");
    let (_, once) = only(outcomes(&machine, &empty, 0, "push", &[7]));
    let (_, more) = only(outcomes(&machine, &once, 0, "push", &[8]));
    let (_, back) = only(outcomes(&machine, &more, 0, "pop", &[]));
    assert_eq!(once, back);
    assert_eq!(only(outcomes(&machine, &back, 0, "pop", &[])).1, empty);
}

#[track_caller]
fn fails(members: &str, op: &str, args: &[Word], kind: ErrorKind) {
    let program = program(&format!("object T {{\n{members}\n}}"));
    let machine = Machine::new(&program, 2);
    let state = machine.initial().expect("it starts");
    let ends = outcomes(&machine, &state, 0, op, args);
    assert!(ends.contains(&Err(kind)), "{ends:?}");
}

#[test]
fn every_error_has_its_name() {
    let node = "struct Node { val: int, next: *Node }\nshared top: *Node = null\n";
    fails(
        &format!("{node} op f() -> int {{ t = top\n return t.val }}"),
        "f",
        &[],
        ErrorKind::NullDereference,
    );
    fails(
        &format!("{node} op f() -> int {{ t = new Node\n free(t)\n return t.val }}"),
        "f",
        &[],
        ErrorKind::UseAfterFree,
    );
    fails(&format!("{node} op f() {{ t = new Node\n free(t)\n free(t) }}"), "f", &[], ErrorKind::DoubleFree);
    fails(&format!("{node} op f() {{ t = top\n free(t) }}"), "f", &[], ErrorKind::NullDereference);
    let array = "shared a: [int; 3]\n";
    let beyond = ErrorKind::OutOfBounds { index: 3, length: 3 };
    fails(&format!("{array} op f(i: int) {{ a[i] = 1 }}"), "f", &[3], beyond);
    let before = ErrorKind::OutOfBounds { index: -1, length: 3 };
    fails(&format!("{array} op f(i: int) -> int {{ return a[i] }}"), "f", &[-1], before);
    fails("shared l: lock\n op f() { unlock(l) }", "f", &[], ErrorKind::NotHeld);
    fails("shared x: int\n op f() { assert x == 1 }", "f", &[], ErrorKind::AssertFailed);
    fails("shared o: data?\n op f() -> data { x = o\n return unwrap(x) }", "f", &[], ErrorKind::UnwrapNone);
    let range = ErrorKind::OutOfRange { value: 4, least: 0, greatest: 3 };
    fails("shared x: 0..4\n op f(i: int) { x = i }", "f", &[4], range);
    fails("shared x: int = 1\n op f() { loop { y = x\n x = y * 1000 } }", "f", &[], ErrorKind::Arithmetic);
}

/// A pool hands a freed record out again while somebody still points to it, or makes a new one: both are
/// ways.
#[test]
fn a_pool_reuses() {
    let text = "object T {
      pooled struct Node { val: int }
      op f() -> bool {
        a = new Node { val: 1 }
        free(a)
        b = new Node { val: 2 }
        return a == b
      }
    }";
    let program = program(text);
    let machine = Machine::new(&program, 1);
    let state = machine.initial().expect("it starts");
    let results: Vec<Word> =
        outcomes(&machine, &state, 0, "f", &[]).into_iter().map(|end| end.expect("no error").0[0]).collect();
    assert_eq!(results.len(), 2);
    assert!(results.contains(&0) && results.contains(&1));
}

#[test]
fn locks_block_and_attempts_fail() {
    let text = "object T {
      shared l: lock
      op hold() { lock(l) }
      op try() -> bool { return try_lock(l) }
    }";
    let (programs, wrong) = compile(text);
    // Holding a lock beyond the return is what this test wants.
    assert!(programs.is_empty() && wrong.iter().all(|d| d.code == "L036"), "{wrong:?}");
    let program = program(
        &text
            .replace("object T {", "object T : lock {")
            .replace("hold", "acquire")
            .replace("try()", "release()"),
    );
    let machine = Machine::new(&program, 2);
    let free = machine.initial().expect("it starts");
    let (_, held) = only(outcomes(&machine, &free, 0, "acquire", &[]));
    assert!(outcomes(&machine, &held, 1, "acquire", &[]).is_empty(), "it blocks");
    assert_eq!(only(outcomes(&machine, &held, 1, "release", &[])).0, [0]);
    assert_eq!(only(outcomes(&machine, &free, 1, "release", &[])).0, [1]);
}

#[test]
fn points_are_reported() {
    let program = corpus("correct/treiber");
    let machine = Machine::new(&program, 1);
    let mut state = machine.initial().expect("it starts");
    machine.call(&mut state, 0, OpId(1), &[]);
    let mut events = Vec::new();
    while machine.pc(&state, 0).is_some() {
        let node = machine.program.node(machine.pc(&state, 0).expect("it runs"));
        let taken = (0..node.edges.len()).any(|edge| {
            let mut after = state.clone();
            let outcome =
                machine.step(&mut after, 0, edge, &mut Choices::default(), &mut events).expect("no error");
            let taken = outcome != Outcome::Disabled;
            if taken {
                state = after;
            }
            taken
        });
        assert!(taken);
    }
    assert!(
        matches!(events.as_slice(), [Event::Point(point)] if point.thread == 0 && point.result.is_none()),
        "{events:?}"
    );
}

#[test]
fn choices_and_quantifiers() {
    let text = "object T {
      size N = 3
      shared a: [int; N]
      op pick() -> int {
        x = choose 1..=N
        atomic { y = choose 0..N; assume a[y] == 0; a[y] = x }
        return x
      }
      op full() -> bool { atomic { r = all i in 0..N: a[i] != 0 } return r }
    }";
    let program = program(&text.replace("} return r", "}\n return r"));
    let machine = Machine::new(&program, 1);
    let start = machine.initial().expect("it starts");
    assert_eq!(outcomes(&machine, &start, 0, "pick", &[]).len(), 9);
    assert_eq!(only(outcomes(&machine, &start, 0, "full", &[])).0, [0]);
    let mut state = start;
    for ways in [9, 6, 3] {
        let ends = outcomes(&machine, &state, 0, "pick", &[]);
        assert_eq!(ends.len(), ways);
        state = ends.into_iter().next().expect("a way").expect("no error").1;
    }
    assert_eq!(only(outcomes(&machine, &state, 0, "full", &[])).0, [1]);
}
