//! A history as view data: bars in lanes, and orders that explain some or all of them.
//!
//! In Rust a bar is a row. As JSON a history is columns, with texts by number and stamps as differences: a
//! hundred thousand operations are then a few megabytes, and a page reads them at once. Bars are in order of
//! call.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Bars in lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Columns", into = "Columns")]
pub struct History {
    /// The names of lanes: processes or threads.
    pub lanes: Vec<String>,
    /// The operations, in order of call.
    pub bars: Vec<Bar>,
    /// The operation that finds no place.
    pub impossible: Option<usize>,
    /// Why it finds none.
    pub reason: String,
    /// Operations that were left out of the bars, because there are too many to show.
    pub left_out: u64,
    /// What the core starts from, where that is not the initial state.
    pub start: String,
    /// Orders that explain all operations, or as many as can be.
    pub orders: Vec<Order>,
}

/// One operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// Its lane, by number.
    pub lane: usize,
    /// Its name.
    pub name: String,
    /// Its argument; empty where there is none.
    pub arg: String,
    /// Its answer; empty where there is none; `?` where one was awaited and never came.
    pub result: String,
    /// Its object, where there are several.
    pub key: String,
    /// The stamp of the call.
    pub call: i64,
    /// The stamp of the return; `None` while pending.
    pub ret: Option<i64>,
    /// Where it took effect, if that is known: the stamp of a commit.
    pub point: Option<i64>,
    /// Is it one of the few that cannot be explained together?
    pub core: bool,
}

/// Operations one after another, and the states between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What is special about it.
    pub title: String,
    /// Bars by number, in the order in which they take effect.
    pub bars: Vec<usize>,
    /// The state before the first and after each, as far as it was worked out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
    /// Why it goes no further: what each of the operations that could be next would have to answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Next>,
}

/// An operation that cannot be next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// The bar.
    pub bar: usize,
    /// Why not.
    pub why: String,
}

/// The same in columns. A text is its number in `texts`, whose first is empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Columns {
    lanes: Vec<String>,
    texts: Vec<String>,
    /// The smallest stamp, as text: it may have more digits than a number of a page has. Empty: `call` and
    /// `length` count events, and the stamps themselves, too far apart for that, are left out.
    base: String,
    lane: Vec<usize>,
    name: Vec<usize>,
    arg: Vec<usize>,
    result: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    key: Vec<usize>,
    /// Since the call before.
    call: Vec<i64>,
    /// From call to return; -1 while pending.
    length: Vec<i64>,
    /// From call to the point; -1 where none is known. Empty: none is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    point: Vec<i64>,
    core: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    impossible: Option<usize>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(default)]
    left_out: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    start: String,
    orders: Vec<Order>,
}

/// Whole numbers that a page keeps exactly.
const EXACT: i128 = 1 << 53;

/// Numbers for texts.
#[derive(Default)]
struct Texts<'a> {
    list: Vec<String>,
    known: HashMap<&'a str, usize>,
}

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a str) -> usize {
        let next = self.list.len();
        let number = *self.known.entry(text).or_insert(next);
        if number == next {
            self.list.push(text.to_owned());
        }
        number
    }
}

impl From<History> for Columns {
    fn from(history: History) -> Columns {
        let History { lanes, bars, impossible, reason, left_out, start, orders } = history;
        let (calls, ends, points, base) = stamps(&bars);
        let mut texts = Texts::default();
        texts.number("");
        let mut column = |of: fn(&Bar) -> &str| bars.iter().map(|bar| texts.number(of(bar))).collect();
        let name = column(|bar| &bar.name);
        let arg = column(|bar| &bar.arg);
        let result = column(|bar| &bar.result);
        let mut key: Vec<usize> = column(|bar| &bar.key);
        if key.iter().all(|key| *key == 0) {
            key.clear();
        }
        let mut last = 0;
        let call = calls.iter().map(|call| call - std::mem::replace(&mut last, *call)).collect();
        let length = calls.iter().zip(&ends).map(|(call, end)| end.map_or(-1, |end| end - call)).collect();
        let known = points.iter().any(Option::is_some);
        let point = calls.iter().zip(&points).filter(|_| known);
        Columns {
            lane: bars.iter().map(|bar| bar.lane).collect(),
            point: point.map(|(call, point)| point.map_or(-1, |point| (point - call).max(0))).collect(),
            core: (0..bars.len()).filter(|&bar| bars[bar].core).collect(),
            texts: texts.list,
            lanes,
            base,
            name,
            arg,
            result,
            key,
            call,
            length,
            impossible,
            reason,
            left_out,
            start,
            orders,
        }
    }
}

/// Calls, returns, points.
type Stamps = (Vec<i64>, Vec<Option<i64>>, Vec<Option<i64>>, String);

/// Stamps as offsets from the smallest; where these are too far apart to be exact, as places in the order of
/// all stamps.
fn stamps(bars: &[Bar]) -> Stamps {
    let all = || bars.iter().flat_map(|bar| [Some(bar.call), bar.ret, bar.point]).flatten();
    let (Some(least), Some(most)) = (all().min(), all().max()) else {
        return (Vec::new(), Vec::new(), Vec::new(), "0".to_owned());
    };
    let exact = i128::from(most) - i128::from(least) < EXACT;
    let mut sorted: Vec<i64> = if exact { Vec::new() } else { all().collect() };
    sorted.sort_unstable();
    sorted.dedup();
    let place = |stamp: i64| match exact {
        true => stamp - least,
        false => sorted.partition_point(|other| *other < stamp) as i64,
    };
    (
        bars.iter().map(|bar| place(bar.call)).collect(),
        bars.iter().map(|bar| bar.ret.map(place)).collect(),
        bars.iter().map(|bar| bar.point.map(place)).collect(),
        if exact { least.to_string() } else { String::new() },
    )
}

impl From<Columns> for History {
    fn from(columns: Columns) -> History {
        let base: i64 = columns.base.parse().unwrap_or(0);
        let text = |column: &[usize], bar: usize| {
            column.get(bar).and_then(|number| columns.texts.get(*number)).cloned().unwrap_or_default()
        };
        let mut call = base;
        let mut bars: Vec<Bar> = (0..columns.lane.len())
            .map(|bar| {
                call = call.saturating_add(columns.call.get(bar).copied().unwrap_or(0));
                let after = |column: &[i64]| {
                    column.get(bar).copied().filter(|n| *n >= 0).map(|n| call.saturating_add(n))
                };
                Bar {
                    lane: columns.lane[bar].min(columns.lanes.len().saturating_sub(1)),
                    name: text(&columns.name, bar),
                    arg: text(&columns.arg, bar),
                    result: text(&columns.result, bar),
                    key: text(&columns.key, bar),
                    call,
                    ret: after(&columns.length),
                    point: after(&columns.point),
                    core: false,
                }
            })
            .collect();
        for bar in columns.core {
            if let Some(bar) = bars.get_mut(bar) {
                bar.core = true;
            }
        }
        History {
            impossible: columns.impossible.filter(|bar| *bar < bars.len()),
            lanes: columns.lanes,
            bars,
            reason: columns.reason,
            left_out: columns.left_out,
            start: columns.start,
            orders: columns.orders,
        }
    }
}

impl Bar {
    /// `enqueue 7`, `dequeue → 7`, `dequeue → ?` while pending.
    pub fn label(&self) -> String {
        let mut text = self.name.clone();
        if !self.arg.is_empty() {
            text = format!("{text} {}", self.arg);
        }
        if !self.result.is_empty() {
            text = format!("{text} → {}", self.result);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(call: i64, ret: Option<i64>) -> Bar {
        Bar { name: "read".into(), call, ret, point: ret, core: call == 7, ..Bar::default() }
    }

    #[test]
    fn columns_there_and_back_are_the_same() {
        let bars = vec![bar(-5, Some(3)), bar(7, None), bar(7, Some(1 << 40))];
        let orders = vec![Order { title: "one".into(), bars: vec![2, 0], ..Order::default() }];
        let lanes = vec!["p".to_owned()];
        let history = History { lanes, bars, impossible: Some(1), orders, ..History::default() };
        let text = serde_json::to_string(&history).expect("JSON");
        assert_eq!(serde_json::from_str::<History>(&text).expect("a history"), history);
    }

    #[test]
    fn stamps_too_far_apart_become_places() {
        let bars = vec![bar(i64::MIN, Some(0)), bar(1, Some(i64::MAX))];
        let columns = Columns::from(History { bars, ..History::default() });
        assert_eq!((columns.base.as_str(), columns.call, columns.length), ("", vec![0, 2], vec![1, 1]));
    }
}
