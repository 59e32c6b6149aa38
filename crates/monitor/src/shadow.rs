//! The implementation's side of a view: what the logged writes add up to.
//!
//! A view is a canonical value of the object's state, a map from keys to values (Tasiran & Qadeer 2005,
//! section 5). The writes to its supporting locations are replayed into a shadow, which knows the view at
//! each key and which keys a write may have changed. So a comparison looks at the changed keys only.

use linpoint_history::Value;

use crate::content::Content;
use crate::event::Write;

/// The shadow of the locations behind a view.
pub trait Shadow: Send {
    /// A location holds another value. Adds to `touched` every key of the view that may have changed.
    fn write(&mut self, write: &Write, touched: &mut Vec<Value>);

    /// The view at `key`; null where there is nothing, and where there is no one value.
    fn view(&self, key: &Value) -> Value;

    /// The whole view, without nulls, in the order of keys.
    fn entries(&self) -> Vec<(Value, Value)>;

    /// What is at `key`. To be given by shadows that may hold nulls, or conflicts.
    fn content(&self, key: &Value) -> Content {
        Content::unless_null(self.view(key))
    }

    /// All that is there, in the order of keys, with what [`Shadow::content`] says of each.
    fn contents(&self) -> Vec<(Value, Content)> {
        self.entries().into_iter().map(|(key, value)| (key, Content::Value(value))).collect()
    }
}
