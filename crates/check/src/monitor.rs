//! Monitors: engines for one kind of object each, fast because they know it and because no value is inserted
//! twice.
//!
//! Where no value is inserted twice, an answer names the insertion it rests on, and linearizability of a
//! collection becomes a question about intervals (Lee & Mathur 2025; Abdulla et al. 2025; for queues already
//! Henzinger, Sezgin & Vafeiadis 2013). Each monitor is one forward pass over the
//! [`Timeline`](crate::Timeline), holds what is inside the collection and what is open, and writes the
//! explaining order as it goes. What it cannot decide, above all a value that is inserted twice, it says
//! (`Stop::Unsupported`), and another engine takes over. `docs/soundness.md` has the arguments.

pub mod deque;
pub mod map;
pub mod priority_queue;
pub mod queue;
pub mod register;
pub mod seen;
pub mod set;
pub mod stack;

mod cover;
mod kept;
mod notes;
mod ring;
mod slab;
mod table;
mod values;

pub use priority_queue::PriorityQueueMonitor;
pub use queue::QueueMonitor;

use linpoint_history::{Builtin, Symbols, Value, ValueId};

use crate::engine::Stop;

/// The values a collection starts with, or why its settings are more than a monitor can decide.
fn initial_contents(spec: &Builtin, symbols: &Symbols) -> Result<Vec<Option<ValueId>>, Stop> {
    if spec.capacity.is_some() {
        return Err(Stop::Unsupported("the collection is bounded".into()));
    }
    if spec.spurious {
        return Err(Stop::Unsupported("\"empty\" may be reported at any time".into()));
    }
    let Value::List(items) = &spec.initial else { return Ok(Vec::new()) };
    if let Some(index) = (0..items.len()).find(|&i| items[..i].contains(&items[i])) {
        return Err(Stop::Unsupported(format!("the collection starts with {} twice", items[index])));
    }
    // A value without an id occurs in no row.
    Ok(items.iter().map(|item| symbols.find(item)).collect())
}

fn inserted_twice(symbols: &Symbols, value: ValueId) -> Stop {
    Stop::Unsupported(format!("value {} is inserted twice", symbols.value(value)))
}
