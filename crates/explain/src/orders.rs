//! The longest orders of a counterexample, and the order that explains a history, as view data.

use linpoint_check::attempts::{self, Attempt};
use linpoint_history::specs::State;
use linpoint_history::{Builtin, Operation, Spec, Symbols, Value};
use linpoint_report::view::{Next, Order};

/// What came of trying.
#[derive(Debug, Default)]
pub struct Attempts {
    /// The longest orders, longest first.
    pub orders: Vec<Order>,
    /// What each operation that was placed nowhere would have answered where it could have been, in any
    /// order; empty for those that were placed.
    pub answers: Vec<Vec<String>>,
}

/// Tries every order of `core` from `start`. Nothing where there are too many.
pub fn longest(spec: &Builtin, symbols: &Symbols, core: &[Operation], start: State) -> Attempts {
    let found = attempts::longest(spec, symbols, core, start);
    let in_words = |answers: &Vec<Value>| {
        let mut words: Vec<String> = answers.iter().map(shown).collect();
        words.sort();
        words.dedup();
        words
    };
    Attempts {
        orders: found.orders.iter().map(|attempt| tell(spec, symbols, core, attempt)).collect(),
        answers: found.answers.iter().map(in_words).collect(),
    }
}

/// The states that `order` passes through, or none where it cannot be replayed.
pub fn states<'o>(
    spec: &Builtin,
    symbols: &Symbols,
    order: impl Iterator<Item = &'o Operation>,
    start: State,
) -> Option<Vec<String>> {
    let passed = attempts::states(spec, symbols, order, start)?;
    Some(passed.iter().map(|state| spec.show_named(state, symbols)).collect())
}

fn tell(spec: &Builtin, symbols: &Symbols, core: &[Operation], attempt: &Attempt) -> Order {
    let why = |(bar, answers): &(usize, Vec<Value>)| {
        let got = shown(&symbols.value(core[*bar].result));
        let why = match answers.as_slice() {
            [] => "it is not possible here".to_owned(),
            answers => {
                let answers: Vec<String> = answers.iter().map(shown).collect();
                format!("here it would answer {}, and it answered {got}", answers.join(" or "))
            }
        };
        Next { bar: *bar, why }
    };
    Order {
        title: format!("{} of {} operations", attempt.order.len(), core.len()),
        bars: attempt.order.clone(),
        states: attempt.states.iter().map(|state| spec.show_named(state, symbols)).collect(),
        next: attempt.next.iter().map(why).collect(),
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() { "nothing".to_owned() } else { value.to_string() }
}
