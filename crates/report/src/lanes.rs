//! Lanes: one a process, a bar an operation, time to the right.
//!
//! ```text
//! process 1  ├ enqueue 7 ┤ ├ enqueue 9 ┤
//!            1           2 3           4
//! process 2                              ├ dequeue → 9 ┤
//!                                        5             6
//! ```
//!
//! Distances mean nothing, order means everything: the columns of calls and returns are as close as the texts allow, and two bars
//! overlap in the drawing iff the operations do in time. The stamps of calls and returns stand under the ends of the bars, or, where they do not fit
//! there, in a legend. Where a drawing would be wider than the page, bars carry letters, and the legend says what they are.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use linpoint_history::{Operation, Signature, Symbols, Value};

use crate::label::label;

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The widest line allowed before labels become letters.
    pub width: usize,
    /// Colours, for a terminal.
    pub colour: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 110, colour: false }
    }
}

/// Draws `operations`; the one at index `marked` is the impossible one.
pub fn draw(
    signature: &Signature,
    symbols: &Symbols,
    operations: &[Operation],
    marked: Option<usize>,
    style: Style,
) -> String {
    let labels: Vec<String> = operations.iter().map(|op| label(signature, symbols, op)).collect();
    let lanes = lanes(operations, symbols);
    let names: Vec<String> = lanes.keys().map(|name| format!("process {name}")).collect();
    let margin = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) + 2;
    let full = Columns::new(operations, &labels);
    if margin + full.end + 4 <= style.width {
        let rulers: Option<Vec<String>> = lanes.values().map(|lane| ruler(&full, lane, operations)).collect();
        let mut text =
            canvas(&full, &lanes, &names, margin, operations, &labels, rulers.as_deref(), marked, style);
        if rulers.is_none() {
            text.push('\n');
            for (label, op) in labels.iter().zip(operations) {
                let _ = writeln!(text, "  {label} {}", interval(op));
            }
        }
        return text;
    }
    let letters: Vec<String> = (0..operations.len()).map(letter).collect();
    let narrow = Columns::new(operations, &letters);
    let mut text = canvas(&narrow, &lanes, &names, margin, operations, &letters, None, marked, style);
    text.push('\n');
    for (index, op) in operations.iter().enumerate() {
        let mark = if marked == Some(index) { "  ✗" } else { "" };
        let _ = writeln!(text, "  {:>2}  {} {}{mark}", letters[index], labels[index], interval(op));
    }
    text
}

/// `[3,8]`; `[3,..]` if it never returned.
fn interval(op: &Operation) -> String {
    if op.is_pending() { format!("[{},..]", op.call) } else { format!("[{},{}]", op.call, op.ret) }
}

/// The stamps of a lane under the ends of its bars, if there is room for them.
fn ruler(columns: &Columns, lane: &[usize], operations: &[Operation]) -> Option<String> {
    let mut line = String::new();
    let mut put = |column: usize, text: &str| {
        let at = line.chars().count();
        if column < at + usize::from(at > 0) {
            return None;
        }
        line.extend(std::iter::repeat_n(' ', column - at));
        line += text;
        Some(())
    };
    for &index in lane {
        let op = &operations[index];
        put(columns.call[index], &op.call.to_string())?;
        if !op.is_pending() {
            let ret = op.ret.to_string();
            put((columns.ret[index] + 1).checked_sub(ret.len())?, &ret)?;
        }
    }
    Some(line)
}

/// Operations by process, processes by name, each in order of call.
fn lanes(operations: &[Operation], symbols: &Symbols) -> BTreeMap<Value, Vec<usize>> {
    let mut lanes: BTreeMap<Value, Vec<usize>> = BTreeMap::new();
    for (index, op) in operations.iter().enumerate() {
        lanes.entry(symbols.process_name(op.process())).or_default().push(index);
    }
    lanes.values_mut().for_each(|lane| lane.sort_by_key(|&i| (operations[i].call, operations[i].ret)));
    lanes
}

/// The columns of calls and returns.
struct Columns {
    call: Vec<usize>,
    ret: Vec<usize>,
    end: usize,
}

impl Columns {
    /// Events in order of time, calls before returns at equal stamps, except that an operation's process has returned from
    /// its last; each as far left as the labels allow.
    fn new(operations: &[Operation], labels: &[String]) -> Columns {
        let mut events: Vec<(i64, u8, usize)> = Vec::new();
        for (index, op) in operations.iter().enumerate() {
            events.push((op.call, 0, index));
            if !op.is_pending() {
                events.push((op.ret, 1, index));
            }
        }
        events.sort();
        let mut columns = Columns { call: vec![0; operations.len()], ret: vec![0; operations.len()], end: 0 };
        let mut column = 0;
        let mut last = None;
        let mut lane_end: BTreeMap<u32, usize> = BTreeMap::new();
        for (stamp, kind, index) in events {
            // Events of one kind at one stamp share a column: none of them orders anything.
            column += usize::from(last.is_some() && last != Some((stamp, kind)));
            last = Some((stamp, kind));
            let width = labels[index].chars().count() + 3;
            let process = operations[index].process().0;
            if kind == 0 {
                column = column.max(lane_end.get(&process).map_or(0, |end| end + 2));
                columns.call[index] = column;
                lane_end.insert(process, column + width);
            } else {
                column = column.max(columns.call[index] + width);
                columns.ret[index] = column;
                lane_end.insert(process, column);
            }
        }
        for (index, op) in operations.iter().enumerate() {
            if op.is_pending() {
                columns.ret[index] =
                    (column + 2).max(columns.call[index] + labels[index].chars().count() + 3);
            }
        }
        columns.end = columns.ret.iter().copied().max().unwrap_or(0);
        columns
    }
}

#[allow(clippy::too_many_arguments)]
fn canvas(
    columns: &Columns,
    lanes: &BTreeMap<Value, Vec<usize>>,
    names: &[String],
    margin: usize,
    operations: &[Operation],
    labels: &[String],
    rulers: Option<&[String]>,
    marked: Option<usize>,
    style: Style,
) -> String {
    let mut text = String::new();
    for (number, (lane, name)) in lanes.values().zip(names).enumerate() {
        let mut line = format!("{name:<margin$}");
        let mut at = 0;
        for &index in lane {
            let (from, to) = (columns.call[index], columns.ret[index]);
            line.extend(std::iter::repeat_n(' ', from.saturating_sub(at)));
            let bar = bar(&labels[index], to - from + 1, operations[index].is_pending());
            if marked == Some(index) {
                line += &mark(&bar, style.colour);
                at = to + 1 + 3;
            } else {
                line += &bar;
                at = to + 1;
            }
        }
        text += line.trim_end();
        text.push('\n');
        if let Some(ruler) = rulers.and_then(|rulers| rulers.get(number)) {
            let _ = writeln!(text, "{:margin$}{ruler}", "");
        }
    }
    text
}

/// `├── enqueue 7 ──┤`, exactly `width` wide; a pending one has no end.
fn bar(label: &str, width: usize, pending: bool) -> String {
    let room = width.saturating_sub(label.chars().count() + 4);
    let (before, after) = (room / 2, room - room / 2);
    let dash = |n: usize| if pending { "┄" } else { "─" }.repeat(n);
    format!("├{} {label} {}{}", dash(before), dash(after), if pending { "▷" } else { "┤" })
}

fn mark(bar: &str, colour: bool) -> String {
    if colour { format!("\x1b[1;31m{bar} ✗\x1b[0m ") } else { format!("{bar} ✗ ") }
}

/// a, b, …, z, aa, ab, …
fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    if index < 26 { last.to_string() } else { letter(index / 26 - 1) + &last.to_string() }
}

#[cfg(test)]
mod tests {
    use linpoint_history::{Builtin, Kind, Spec, notation};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let spec = Builtin::new(Kind::Queue);
        let history = notation::parse(spec.signature(), text).expect("the notation");
        let drawn = draw(spec.signature(), &history.symbols, &history.operations, None, Style::default());
        assert_eq!(drawn.trim_end(), expected.trim_matches('\n'));
    }

    #[test]
    fn stamps_stand_under_the_ends() {
        check(
            "p1: enqueue 7 [1,20]; p1: enqueue 9 [30,40]; p2: dequeue -> 9 [35,..]",
            "
process 1  ├ enqueue 7 ┤ ├ enqueue 9 ┤
           1          20 30         40
process 2                 ├ dequeue → ? ▷
                          35",
        );
    }

    #[test]
    fn long_stamps_stand_in_a_legend() {
        check(
            "p1: enqueue 7 [1700000000000000001,1700000000000000020]",
            "
process 1  ├ enqueue 7 ┤

  enqueue 7 [1700000000000000001,1700000000000000020]",
        );
    }
}
