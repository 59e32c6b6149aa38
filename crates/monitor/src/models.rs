//! Models to follow an object with: every built-in specification by its name, any specification of
//! `linpoint_history`, and the implementation's own code run one operation at a time.

mod atomised;
mod bag;
mod from_spec;
mod map;
mod priority_queue;
mod sequence;
mod state;
mod table;

use std::fmt::Display;

use linpoint_history::specs::{self, SpecError};
use linpoint_history::{Builtin, Kind, Shape, Value};

pub use atomised::Atomised;
pub use bag::BagModel;
pub use from_spec::FromSpec;
pub use map::MapModel;
pub use priority_queue::PriorityQueueModel;
pub use sequence::SequenceModel;
pub use state::StateModel;

use crate::model::{Applied, Model};

/// The model of a built-in specification, by its name and settings: `map`, `queue:capacity=64:spurious`.
pub fn by_name(name: &str) -> Result<Box<dyn Model>, SpecError> {
    specs::parse(name).map(model)
}

/// The model of a built-in specification.
pub fn model(spec: Builtin) -> Box<dyn Model> {
    match spec.kind {
        Kind::Map => Box::new(MapModel::new(spec)),
        Kind::Set | Kind::Multiset | Kind::List => Box::new(BagModel::new(spec)),
        Kind::Queue | Kind::Stack | Kind::Deque => Box::new(SequenceModel::new(spec)),
        Kind::PriorityQueue | Kind::PriorityQueueMax => Box::new(PriorityQueueModel::new(spec)),
        Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Kv | Kind::Counter => {
            Box::new(StateModel::new(spec))
        }
        Kind::Lock | Kind::RwLock | Kind::Semaphore | Kind::Snapshot => Box::new(StateModel::new(spec)),
        Kind::Own => Box::new(StateModel::new(spec)),
    }
}

/// Refused: what would have been allowed.
#[cold]
pub(crate) fn no(expected: impl Display) -> Applied {
    Applied::No { expected: expected.to_string() }
}

/// Allowed if the observed result is the expected one.
#[inline]
pub(crate) fn yes_if(expected: &Value, result: &Value) -> Applied {
    if expected == result { Applied::Yes } else { no(expected) }
}

/// A result as specifications write it: where `true` says no more than "done", it is null.
#[inline]
pub(crate) fn normalised(shape: Shape, result: &Value) -> &Value {
    match (shape, result) {
        (Shape::Unit | Shape::Done, Value::Bool(true)) => &Value::Null,
        _ => result,
    }
}

/// Items between brackets, the first few of them where there are many.
pub(crate) fn shown(open: &str, items: impl ExactSizeIterator<Item = String>, close: &str) -> String {
    const ITEMS_SHOWN: usize = 24;
    let count = items.len();
    let mut text = items.take(ITEMS_SHOWN).collect::<Vec<_>>().join(", ");
    if count > ITEMS_SHOWN {
        text += &format!(", … {count} in all");
    }
    format!("{open}{text}{close}")
}

/// The beginning of a long text.
pub(crate) fn shortened(text: String) -> String {
    const LONG: usize = 400;
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Keys at which two ordered lists of entries differ.
pub(crate) fn touch(before: &[(Value, Value)], after: &[(Value, Value)], touched: &mut Vec<Value>) {
    let (mut a, mut b) = (before.iter().peekable(), after.iter().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (None, None) => return,
            (Some(x), Some(y)) if x.0 == y.0 => {
                if x.1 != y.1 {
                    touched.push(x.0.clone());
                }
                a.next();
                b.next();
            }
            (Some(x), other) if other.is_none_or(|y| x.0 < y.0) => {
                touched.push(x.0.clone());
                a.next();
            }
            (_, Some(y)) => {
                touched.push(y.0.clone());
                b.next();
            }
            (Some(_), None) => return,
        }
    }
}
