//! Additive views: each location holds some entries, and the view is all of them together.
//!
//! A location's value is null (nothing), one item, or a list of items. (In a map, a list of two that are not
//! both pairs is one item.) What an item is depends on the view:
//!
//! - [`Entries::map`]: an item is a list of a key and a value, which may be null. The view at a key is its
//!   value. Two locations that hold different values for one key are a conflict ([`Content::Conflict`]), and
//!   an item that is no pair is none ([`Content::NoPair`]): no specification has either. The same value in
//!   two places is no conflict (a copy on its way).
//! - [`Entries::set`]: an item is a key. The view at a key is `true`; a copy in a second place is no
//!   conflict.
//! - [`Entries::multiset`]: an item is a key. The view at a key is how often it is there.

use linpoint_history::Value;
use rustc_hash::FxHashMap;

use crate::content::Content;
use crate::event::{Location, Write};
use crate::shadow::Shadow;

/// The union of what the locations hold.
#[derive(Clone, Debug)]
pub struct Entries {
    shape: Shape,
    locations: FxHashMap<Location, Value>,
    /// Map: each key with the values it has, and in how many locations each. Otherwise: how often each key is
    /// there.
    keys: FxHashMap<Value, Held>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Map,
    Set,
    Multiset,
}

/// What the locations hold for one key: nearly always one value.
#[derive(Clone, Debug)]
enum Held {
    One(Content, u32),
    /// Distinct contents, in order, with counts.
    Several(Vec<(Content, u32)>),
}

impl Entries {
    /// Locations hold pairs of a key and a value.
    pub fn map() -> Entries {
        Entries::of(Shape::Map)
    }

    /// Locations hold keys; a key is there or is not.
    pub fn set() -> Entries {
        Entries::of(Shape::Set)
    }

    /// Locations hold keys, and copies count.
    pub fn multiset() -> Entries {
        Entries::of(Shape::Multiset)
    }

    fn of(shape: Shape) -> Entries {
        Entries { shape, locations: FxHashMap::default(), keys: FxHashMap::default() }
    }

    /// What is held at a key; none where nothing is.
    pub(super) fn held(&self, key: &Value) -> Option<Content> {
        self.keys.get(key).map(|held| self.shown(held))
    }

    /// The keys that something is held at.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Value> {
        self.keys.keys()
    }

    fn key_and_content(&self, item: &Value) -> (Value, Content) {
        match (self.shape, item.as_pair()) {
            (Shape::Map, Some((key, value))) => (key.clone(), Content::Value(value.clone())),
            (Shape::Map, None) => (item.clone(), Content::NoPair(item.clone())),
            _ => (item.clone(), Content::Nothing),
        }
    }

    fn count(&mut self, item: &Value, sign: i32, touched: &mut Vec<Value>) {
        let (key, value) = self.key_and_content(item);
        match self.keys.get_mut(&key) {
            Some(held) => {
                if held.change(value, sign) {
                    self.keys.remove(&key);
                }
            }
            None => {
                self.keys.insert(key.clone(), Held::One(value, 1));
            }
        }
        touched.push(key);
    }

    /// The usual case in a map, done at once: a slot's value is replaced, the key stays, and no other slot
    /// holds the key.
    fn replaced(&mut self, before: Option<&Value>, after: &Value, touched: &mut Vec<Value>) -> bool {
        let (Shape::Map, Some(before)) = (self.shape, before) else { return false };
        let bare = |value: &Value| matches!(value, Value::List(items) if !is_list_of_pairs(items));
        let (Some((key, _)), Some((same, value))) = (before.as_pair(), after.as_pair()) else { return false };
        if key != same || !bare(before) || !bare(after) {
            return false;
        }
        match self.keys.get_mut(key) {
            Some(Held::One(held, 1)) => *held = Content::Value(value.clone()),
            _ => return false,
        }
        touched.push(key.clone());
        true
    }

    fn shown(&self, held: &Held) -> Content {
        let value = |content: &Content| match content {
            Content::Value(value) | Content::NoPair(value) => Some(value.clone()),
            _ => None,
        };
        match (self.shape, held) {
            (Shape::Set, _) => Content::Value(Value::Bool(true)),
            (Shape::Multiset, Held::One(_, count)) => Content::Value(Value::Int(i64::from(*count))),
            (Shape::Multiset, Held::Several(_)) => Content::Nothing,
            (Shape::Map, Held::One(content, _)) => content.clone(),
            (Shape::Map, Held::Several(all)) => {
                Content::Conflict(all.iter().filter_map(|(content, _)| value(content)).collect())
            }
        }
    }
}

/// `[[1,2],[3,4]]`, or the empty list.
fn is_list_of_pairs(items: &[Value]) -> bool {
    items.iter().all(|item| item.as_pair().is_some())
}

impl Held {
    /// One location more or less holds `value`. Does none hold anything any more?
    fn change(&mut self, value: Content, sign: i32) -> bool {
        match self {
            Held::One(only, count) if *only == value => {
                *count = count.saturating_add_signed(sign);
                *count == 0
            }
            Held::One(only, count) => {
                let mut values = vec![(std::mem::take(only), *count), (value, 1)];
                values.sort();
                *self = Held::Several(values);
                false
            }
            Held::Several(values) => {
                match values.binary_search_by(|(other, _)| other.cmp(&value)) {
                    Ok(place) => {
                        values[place].1 = values[place].1.saturating_add_signed(sign);
                        if values[place].1 == 0 {
                            values.remove(place);
                        }
                    }
                    Err(place) => values.insert(place, (value, 1)),
                }
                if let [(value, count)] = &mut values[..] {
                    *self = Held::One(std::mem::take(value), *count);
                }
                false
            }
        }
    }
}

impl Shadow for Entries {
    fn write(&mut self, write: &Write, touched: &mut Vec<Value>) {
        let before = if write.value.is_null() {
            self.locations.remove(&write.location)
        } else {
            self.locations.insert(write.location, write.value.clone())
        };
        if self.replaced(before.as_ref(), &write.value, touched) {
            return;
        }
        for (value, sign) in [(before.as_ref(), -1), (Some(&write.value), 1)] {
            match value {
                None | Some(Value::Null) => {}
                Some(Value::List(items)) if self.shape != Shape::Map || is_list_of_pairs(items) => {
                    items.iter().for_each(|item| self.count(item, sign, touched));
                }
                Some(item) => self.count(item, sign, touched),
            }
        }
    }

    fn view(&self, key: &Value) -> Value {
        self.content(key).value().cloned().unwrap_or_default()
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        let entry = |(key, content)| match content {
            Content::Value(value) if !value.is_null() => Some((key, value)),
            _ => None,
        };
        self.contents().into_iter().filter_map(entry).collect()
    }

    fn content(&self, key: &Value) -> Content {
        self.held(key).unwrap_or_default()
    }

    fn contents(&self) -> Vec<(Value, Content)> {
        let shown = self.keys.iter().map(|(key, held)| (key.clone(), self.shown(held)));
        let mut contents: Vec<_> = shown.filter(|(_, content)| *content != Content::Nothing).collect();
        contents.sort();
        contents
    }
}
