//! Lanes on a terminal: one a process, a bar an operation, time to the right.
//!
//! ```text
//! process 1  ├ enqueue 7 ┤ ├ enqueue 9 ┤
//!            1           2 3           4
//! process 2                              ├ dequeue → 9 ┤
//!                                        5             6
//! ```
//!
//! Distances mean nothing, order means everything: the columns of calls and returns are as close as the texts
//! allow, and two bars overlap in the drawing iff the operations do in time. The stamps of calls and returns
//! stand under the ends of the bars, or, where they do not fit there, in a legend. Where a drawing would be
//! wider than the terminal, bars carry letters, and the legend says what they are; where even that is too
//! wide, it is cut into bands, one under the other, and a bar that goes on in the next has no end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use linpoint_history::symbols::show_process;
use linpoint_history::{Operation, Signature, Symbols, Value};

use crate::columns::Columns;
use crate::label::bar;
use crate::view::{Bar, History};

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
    let mut lanes: BTreeMap<Value, usize> = BTreeMap::new();
    for op in operations {
        lanes.insert(symbols.process_name(op.process()), 0);
    }
    lanes.values_mut().enumerate().for_each(|(number, lane)| *lane = number);
    let of = |op: &Operation| Bar {
        lane: lanes[&symbols.process_name(op.process())],
        ..bar(signature, symbols, op)
    };
    let history = History {
        lanes: lanes.keys().map(|name| format!("process {}", show_process(name))).collect(),
        bars: operations.iter().map(of).collect(),
        impossible: marked,
        ..History::default()
    };
    draw_history(&history, style)
}

/// Draws the bars of a history.
pub fn draw_history(history: &History, style: Style) -> String {
    let labels: Vec<String> = history.bars.iter().map(|bar| plain(&bar.label())).collect();
    let full = Drawing::new(history, &labels);
    if full.margin + full.columns.end + 4 <= style.width {
        let mut text = full.bands(style, true);
        if !full.has_room_for_stamps() {
            text.push('\n');
            for (label, bar) in labels.iter().zip(&history.bars) {
                let _ = writeln!(text, "  {label} {}", interval(bar));
            }
        }
        return text;
    }
    let letters: Vec<String> = (0..history.bars.len()).map(letter).collect();
    let mut text = Drawing::new(history, &letters).bands(style, false);
    text.push('\n');
    for (index, bar) in history.bars.iter().enumerate() {
        let mark = if history.impossible == Some(index) { "  ✗" } else { "" };
        let line = format!("  {:>2}  {} {}{mark}", letters[index], labels[index], interval(bar));
        text += &if mark.is_empty() { line } else { red(&line, style.colour) };
        text.push('\n');
    }
    text
}

/// Bars with their texts, and where they lie.
struct Drawing<'a> {
    history: &'a History,
    labels: &'a [String],
    columns: Columns,
    /// The bars of each lane, in order of call.
    lanes: Vec<Vec<usize>>,
    names: Vec<String>,
    margin: usize,
}

impl<'a> Drawing<'a> {
    fn new(history: &'a History, labels: &'a [String]) -> Drawing<'a> {
        let widths: Vec<usize> = labels.iter().map(|label| label.chars().count() + 3).collect();
        let mut lanes = vec![Vec::new(); history.lanes.len()];
        for (index, bar) in history.bars.iter().enumerate() {
            lanes[bar.lane].push(index);
        }
        for lane in &mut lanes {
            lane.sort_by_key(|&i| (history.bars[i].call, history.bars[i].ret.unwrap_or(i64::MAX)));
        }
        let names: Vec<String> = history.lanes.iter().map(|name| plain(name)).collect();
        let margin = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) + 2;
        Drawing { history, labels, columns: Columns::new(&history.bars, &widths), lanes, names, margin }
    }

    fn has_room_for_stamps(&self) -> bool {
        self.lanes.iter().all(|lane| self.ruler(lane).is_some())
    }

    /// All lanes, cut where a line is full.
    fn bands(&self, style: Style, stamps: bool) -> String {
        let stamps = stamps && self.has_room_for_stamps();
        let lines: Vec<Vec<char>> = self.lanes.iter().map(|lane| self.line(lane)).collect();
        let rulers: Vec<Vec<char>> = match stamps {
            true => self.lanes.iter().map(|lane| self.ruler(lane).unwrap_or_default()).collect(),
            false => vec![Vec::new(); lines.len()],
        };
        let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
        // At least something is drawn of each band, however narrow the terminal.
        let room = style.width.saturating_sub(self.margin).max(20);
        let room = if longest + self.margin <= style.width { longest.max(1) } else { room };
        let mut text = String::new();
        for from in (0..longest.max(1)).step_by(room) {
            if from > 0 {
                text.push('\n');
            }
            for (lane, line) in lines.iter().enumerate() {
                let part = line.get(from..).unwrap_or_default();
                let part = &part[..part.len().min(room)];
                let marked = self.marked_in(lane, from, from + room);
                let drawn = paint(part, marked, style.colour);
                let shown = format!("{:<margin$}{drawn}", self.names[lane], margin = self.margin);
                text += shown.trim_end();
                text.push('\n');
                if stamps {
                    let part: String = rulers[lane].iter().skip(from).take(room).collect();
                    let ruler = format!("{:margin$}{part}", "", margin = self.margin);
                    text += ruler.trim_end();
                    text.push('\n');
                }
            }
        }
        text
    }

    /// One lane as characters: bars, and a cross after the impossible one.
    fn line(&self, lane: &[usize]) -> Vec<char> {
        let mut line: Vec<char> = Vec::new();
        for &index in lane {
            let (from, to) = (self.columns.call[index], self.columns.ret[index]);
            let drawn = piece(&self.labels[index], to - from + 1, self.history.bars[index].ret.is_none());
            let end = from + drawn.chars().count();
            line.resize(line.len().max(end), ' ');
            line.splice(from..end, drawn.chars());
            if self.history.impossible == Some(index) {
                line.resize(line.len().max(end), ' ');
                line.truncate(end);
                line.extend([' ', '✗']);
            }
        }
        line
    }

    /// Which characters of a band of a lane are of the impossible operation.
    fn marked_in(&self, lane: usize, from: usize, to: usize) -> Option<(usize, usize)> {
        let index = self.history.impossible.filter(|&index| self.history.bars[index].lane == lane)?;
        let (start, end) = (self.columns.call[index], self.columns.ret[index] + 3);
        (start < to && end > from).then(|| (start.saturating_sub(from), end.min(to) - from))
    }

    /// The stamps of a lane under the ends of its bars, if there is room for them.
    fn ruler(&self, lane: &[usize]) -> Option<Vec<char>> {
        let mut line: Vec<char> = Vec::new();
        let mut put = |column: usize, text: &str| {
            if column < line.len() + usize::from(!line.is_empty()) {
                return None;
            }
            line.resize(column, ' ');
            line.extend(text.chars());
            Some(())
        };
        for &index in lane {
            let bar = &self.history.bars[index];
            put(self.columns.call[index], &bar.call.to_string())?;
            if let Some(ret) = bar.ret {
                let ret = ret.to_string();
                put((self.columns.ret[index] + 1).checked_sub(ret.len())?, &ret)?;
            }
        }
        Some(line)
    }
}

/// `[3,8]`; `[3,..]` if it never returned.
fn interval(bar: &Bar) -> String {
    bar.ret.map_or_else(|| format!("[{},..]", bar.call), |ret| format!("[{},{ret}]", bar.call))
}

/// `├── enqueue 7 ──┤`, exactly `width` wide; a pending one has no end.
fn piece(label: &str, width: usize, pending: bool) -> String {
    let room = width.saturating_sub(label.chars().count() + 4);
    let (before, after) = (room / 2, room - room / 2);
    let dash = |n: usize| if pending { "┄" } else { "─" }.repeat(n);
    format!("├{} {label} {}{}", dash(before), dash(after), if pending { "▷" } else { "┤" })
}

/// The text, with the marked characters red.
fn paint(line: &[char], marked: Option<(usize, usize)>, colour: bool) -> String {
    let text = |part: &[char]| part.iter().collect::<String>();
    match marked.filter(|_| colour) {
        None => text(line),
        Some((from, to)) => {
            let (from, to) = (from.min(line.len()), to.min(line.len()));
            let middle = text(&line[from..to]);
            format!("{}{}{}", text(&line[..from]), red(&middle, true), text(&line[to..]))
        }
    }
}

fn red(text: &str, colour: bool) -> String {
    if colour { format!("\x1b[1;31m{text}\x1b[0m") } else { text.to_owned() }
}

/// Control characters would move the cursor: they are shown as pictures.
fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        c if c.is_control() => '\u{2421}',
        c => c,
    };
    text.chars().map(shown).collect()
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

    #[test]
    fn touching_operations_of_one_process_do_not_overlap() {
        check(
            "p1: enqueue 7 [1,2]; p1: enqueue 8 [2,3]",
            "
process 1  ├ enqueue 7 ┤ ├ enqueue 8 ┤
           1           2 2           3",
        );
    }
}
