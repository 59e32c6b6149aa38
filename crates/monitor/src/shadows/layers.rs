//! Views in layers: a cache in front of a store.
//!
//! Each layer is a map made of locations ([`Entries::map`]). The view at a key is that of the uppermost layer
//! that has the key, as a read through the cache would find it. A pair of a key and null in an upper layer
//! hides the key below (removed, and not written back yet): in layers no key holds null.

use linpoint_history::Value;

use crate::content::Content;
use crate::event::{Location, Write};
use crate::shadow::Shadow;
use crate::shadows::Entries;

/// Layers, the uppermost first.
pub struct Layers {
    layers: Vec<Entries>,
    layer_of: Box<dyn Fn(Location) -> usize + Send>,
}

impl Layers {
    /// So many layers; `layer_of` says to which one a location belongs, 0 being the uppermost. What it puts
    /// beyond the last is taken for the last.
    pub fn new(count: usize, layer_of: impl Fn(Location) -> usize + Send + 'static) -> Layers {
        let layers = (0..count.max(1)).map(|_| Entries::map()).collect();
        Layers { layers, layer_of: Box::new(layer_of) }
    }
}

impl Shadow for Layers {
    fn write(&mut self, write: &Write, touched: &mut Vec<Value>) {
        let layer = (self.layer_of)(write.location).min(self.layers.len() - 1);
        self.layers[layer].write(write, touched);
    }

    fn view(&self, key: &Value) -> Value {
        self.content(key).value().cloned().unwrap_or_default()
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        let entry = |(key, content): (Value, Content)| Some((key, content.value()?.clone()));
        self.contents().into_iter().filter_map(entry).collect()
    }

    fn content(&self, key: &Value) -> Content {
        match self.layers.iter().find_map(|layer| layer.held(key)) {
            None | Some(Content::Value(Value::Null)) => Content::Nothing,
            Some(content) => content,
        }
    }

    fn contents(&self) -> Vec<(Value, Content)> {
        let mut keys: Vec<Value> = self.layers.iter().flat_map(|layer| layer.keys().cloned()).collect();
        keys.sort();
        keys.dedup();
        let contents = keys.into_iter().map(|key| {
            let content = self.content(&key);
            (key, content)
        });
        contents.filter(|(_, content)| *content != Content::Nothing).collect()
    }
}
