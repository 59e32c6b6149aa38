//! A `spec` of the algorithm language, run one operation at a time.

use std::time::Instant;

use linpoint_lang::Program;
use linpoint_lang::interp::{Choices, Machine, Outcome, RunError, State};
use linpoint_lang::program::{Action, Edge, Exit, Expr, OpId, Place, Word};
use rustc_hash::FxHashSet;

/// More steps than this of one operation are not tried.
const MAX_STEPS: usize = 200_000;

/// So many steps are taken before the clock is looked at again.
const STEPS_BETWEEN_LOOKS: usize = 256;

/// So many steps are taken before states are noted.
const UNNOTED_STEPS: usize = 16;

/// Every way in which an operation can end.
#[derive(Debug)]
pub(crate) struct Ends {
    /// What it returns, with the state after it.
    pub ends: Vec<(Vec<Word>, State)>,
    /// Why there may be more, if there may.
    pub missing: Option<Missing>,
}

/// Why ends of an operation may be missing.
#[derive(Debug)]
pub(crate) enum Missing {
    /// It takes more steps than are tried.
    Steps,
    /// The time is up.
    Time,
    /// A step that cannot be taken.
    Error(RunError),
}

impl Missing {
    /// Is it a limit of ours, and nothing that the specification does wrong?
    pub fn is_limit(&self) -> bool {
        match self {
            Missing::Steps | Missing::Time => true,
            Missing::Error(error) => error.kind.is_limit(),
        }
    }
}

/// Every way in which an operation can end that is called in a state.
pub(crate) fn ends(machine: &Machine<'_>, before: State, op: OpId, args: &[Word], thread: usize) -> Ends {
    ends_until(machine, before, op, args, thread, None)
}

/// The same, as far as it is known at a deadline.
pub(crate) fn ends_until(
    machine: &Machine<'_>,
    mut before: State,
    op: OpId,
    args: &[Word],
    thread: usize,
    deadline: Option<Instant>,
) -> Ends {
    machine.call(&mut before, thread, op, args);
    let mut found = Ends { ends: Vec::new(), missing: None };
    // Ways meet again, and a loop may come back to where it was. The first few steps are not noted: most
    // operations have no more, and taking one of them twice does no harm.
    let mut met: FxHashSet<State> = FxHashSet::default();
    let (mut open, mut steps) = (vec![before], 0usize);
    while let Some(mut state) = open.pop() {
        let Some(pc) = machine.pc(&state, thread) else { continue };
        let edges = &machine.program.node(pc).edges;
        for (edge, actions) in edges.iter().map(|edge| &edge.actions).enumerate() {
            // The last way from here needs the state no more.
            let is_last = edge + 1 == edges.len() && has_one_way(actions);
            let mut choices = Choices::default();
            loop {
                if steps.is_multiple_of(STEPS_BETWEEN_LOOKS)
                    && deadline.is_some_and(|end| Instant::now() > end)
                {
                    found.missing = Some(Missing::Time);
                    return found;
                }
                steps += 1;
                if steps > MAX_STEPS {
                    found.missing = Some(Missing::Steps);
                    return found;
                }
                let mut after = if is_last { std::mem::take(&mut state) } else { state.clone() };
                match machine.step(&mut after, thread, edge, &mut choices, &mut Vec::new()) {
                    Ok(Outcome::Moved) => {
                        if steps <= UNNOTED_STEPS || met.insert(after.clone()) {
                            open.push(after);
                        }
                    }
                    Ok(Outcome::Returned(words)) => {
                        machine.canonical(&mut after);
                        found.ends.push((words, after));
                    }
                    Ok(Outcome::Disabled) => {}
                    // What is only too much for us is told before what the specification does wrong.
                    Err(error) => {
                        if found.missing.as_ref().is_none_or(|missing| !missing.is_limit()) {
                            found.missing = Some(Missing::Error(error));
                        }
                    }
                }
                if !choices.next() {
                    break;
                }
                assert!(!is_last, "a step with one way leaves no choice");
            }
        }
    }
    found
}

/// Is nothing chosen in a step, and no record made, which may be any that is free?
fn has_one_way(actions: &[Action]) -> bool {
    actions.iter().all(|action| match action {
        Action::Choose(..) | Action::New { .. } => false,
        Action::Assign(..) | Action::Assume(_) | Action::Assert(..) | Action::Free(_) => true,
        Action::Lock(_) | Action::Unlock(_) => true,
        Action::Prophecy(..) | Action::Mark(_) | Action::Claim(_) => true,
    })
}

/// Does every call lead to one state at the most? `false` where that is not plain: where a value or a block is
/// chosen. Of the edges of a condition only one can be taken; which record is made makes no difference.
pub(crate) fn is_deterministic(block: &Program) -> bool {
    let guarded = |actions: &[Action]| matches!(actions.first(), Some(Action::Assume(_)));
    block.nodes.iter().all(|node| {
        let chosen = node.edges.iter().flat_map(|edge| &edge.actions);
        let picks = chosen.into_iter().any(|action| matches!(action, Action::Choose(..)));
        let one_way = match &node.edges[..] {
            [] | [_] => true,
            [a, b] => guarded(&a.actions) && guarded(&b.actions) && are_opposite(&a.actions, &b.actions),
            _ => false,
        };
        !picks && one_way
    })
}

/// Does one begin by asking for what the other denies?
fn are_opposite(a: &[Action], b: &[Action]) -> bool {
    let denies = |a: &Expr, b: &Expr| matches!(a, Expr::Not(inner) if **inner == *b);
    match (a.first(), b.first()) {
        (Some(Action::Assume(a)), Some(Action::Assume(b))) => denies(a, b) || denies(b, a),
        _ => false,
    }
}

/// Can no call of the operation change a shared variable, or make or free a record? `false` where that is not
/// plain.
pub(crate) fn only_looks(block: &Program, op: OpId) -> bool {
    let edges = block.nodes.iter().filter(|node| node.op == op).flat_map(|node| &node.edges);
    edges.flat_map(|edge| &edge.actions).all(|action| match action {
        Action::Assign(Place::Local(_), _) | Action::Choose(..) | Action::Assume(_) | Action::Assert(..) => {
            true
        }
        Action::Assign(..) | Action::New { .. } | Action::Free(_) | Action::Lock(_) | Action::Unlock(_) => {
            false
        }
        Action::Prophecy(..) | Action::Mark(_) | Action::Claim(_) => false,
    })
}

/// Does a `spec` say `me`, or take locks, so that it matters who calls? Then it is no function of the calls
/// alone.
#[must_use]
pub fn asks_who_calls(block: &Program) -> bool {
    block.nodes.iter().flat_map(|node| &node.edges).any(edge_asks_who_calls)
}

/// The same of one step.
pub(crate) fn edge_asks_who_calls(edge: &Edge) -> bool {
    let returned = match &edge.exit {
        Exit::Return(values) => values.iter().any(says_me),
        Exit::Goto(_) => false,
    };
    returned
        || edge.actions.iter().any(|action| match action {
            Action::Assume(e) | Action::Assert(e, _) | Action::Free(e) => says_me(e),
            Action::Assign(place, e) => says_me(e) || found_by_me(place),
            Action::Choose(_, lo, hi) => says_me(lo) || says_me(hi),
            Action::Prophecy(_, resolved) => resolved.iter().any(says_me),
            Action::New { fields, .. } => fields.iter().any(|(_, e)| says_me(e)),
            Action::Lock(_) | Action::Unlock(_) => true,
            Action::Mark(_) | Action::Claim(_) => false,
        })
}

fn says_me(e: &Expr) -> bool {
    match e {
        Expr::Me => true,
        Expr::Const(_) | Expr::Size(_) | Expr::Term(_) => false,
        Expr::Read(place) => found_by_me(place),
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => says_me(e),
        Expr::Binary(_, a, b) => says_me(a) || says_me(b),
        Expr::Quantified { lo, hi, body, .. } => says_me(lo) || says_me(hi) || says_me(body),
    }
}

fn found_by_me(place: &Place) -> bool {
    match place {
        Place::Local(_) | Place::Global(..) => false,
        Place::Element(_, e, _) | Place::Field(e, ..) => says_me(e),
    }
}

#[cfg(test)]
mod tests {
    use linpoint_lang::{Specification, compile_specifications};

    use super::is_deterministic;

    #[track_caller]
    fn check(body: &str, expected: bool) {
        let text =
            format!("spec X {{\n  shared n: int\n  op f(a: int) -> int {{\n{body}\n    return n\n  }}\n}}\n");
        let (mut found, wrong) = compile_specifications(&text);
        assert!(wrong.is_empty(), "{wrong:?}");
        let Some((_, Specification::Block(program))) = found.pop() else { panic!("a block") };
        assert_eq!(is_deterministic(&program), expected, "{body}");
    }

    #[test]
    fn what_chooses_is_noticed() {
        check("    n = a", true);
        check("    if n == a { n = 0 } else { n = n + 1 }", true);
        check("    if n == a && n > 3 || a < 2 { n = 0 }", true);
        check("    while n < a { n = n + 1 }", true);
        check("    m = choose 0..3\n    n = m", false);
        check("    choose { n = 1 } or { n = 2 }", false);
        check("    choose { assume n > 0\n n = 1 } or { assume n > 1\n n = 2 }", false);
    }
}
