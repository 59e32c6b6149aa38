//! Models to follow an object with: every built-in specification by its name, any specification of `linpoint_history`, and the
//! implementation's own code run one operation at a time.

mod from_spec;
mod map;
mod multiset;

use linpoint_history::specs::{self, SpecError};
use linpoint_history::{Builtin, Kind, Shape, Value};

pub use from_spec::FromSpec;
pub use map::MapModel;
pub use multiset::MultisetModel;

use crate::model::Model;

/// The model of a built-in specification, by its name and settings: `map`, `queue:capacity=64:spurious`.
pub fn by_name(name: &str) -> Result<Box<dyn Model>, SpecError> {
    specs::parse(name).map(model)
}

/// The model of a built-in specification.
pub fn model(spec: Builtin) -> Box<dyn Model> {
    match spec.kind {
        Kind::Map => Box::new(MapModel::new(spec)),
        Kind::Multiset => Box::new(MultisetModel::new(spec)),
        _ => Box::new(FromSpec::new(spec)),
    }
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
    const FEW: usize = 24;
    let count = items.len();
    let mut text = items.take(FEW).collect::<Vec<_>>().join(", ");
    if count > FEW {
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
