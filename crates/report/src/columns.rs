//! Where bars lie by order: as close as their texts allow, and overlapping iff the operations do in time.

use std::collections::{BTreeMap, HashSet};

use crate::view::Bar;

/// The columns of calls and returns.
pub(crate) struct Columns {
    pub call: Vec<usize>,
    pub ret: Vec<usize>,
    pub end: usize,
}

impl Columns {
    /// Events in order of time, calls before returns at equal stamps, except that an operation's process has
    /// returned from its last; each as far left as the widths of the bars allow.
    pub fn new(bars: &[Bar], widths: &[usize]) -> Columns {
        let returns: HashSet<(usize, i64)> =
            bars.iter().filter_map(|bar| Some((bar.lane, bar.ret?))).collect();
        let mut events: Vec<(i64, u8, usize)> = Vec::new();
        for (index, bar) in bars.iter().enumerate() {
            // A call at the stamp of its process's last return comes after the other calls there: these
            // overlap both.
            events.push((bar.call, u8::from(returns.contains(&(bar.lane, bar.call))), index));
            if let Some(ret) = bar.ret {
                events.push((ret, RETURN, index));
            }
        }
        events.sort_unstable();
        let columns = Columns { call: vec![0; bars.len()], ret: vec![usize::MAX; bars.len()], end: 0 };
        let mut walk = Walk { bars, widths, columns, column: 0, last: None, open: BTreeMap::new() };
        for (_, kind, index) in events {
            match kind {
                RETURN => walk.ret(index),
                _ => walk.call(index),
            }
        }
        let Walk { mut columns, column, .. } = walk;
        for (index, bar) in bars.iter().enumerate() {
            if bar.ret.is_none() {
                columns.ret[index] = (column + 2).max(columns.call[index] + widths[index]);
            }
        }
        columns.end = columns.ret.iter().copied().max().unwrap_or(0);
        columns
    }
}

/// Returns come last at a stamp.
const RETURN: u8 = 2;

struct Walk<'a> {
    bars: &'a [Bar],
    widths: &'a [usize],
    columns: Columns,
    column: usize,
    last: Option<(i64, u8)>,
    /// The last bar of each lane.
    open: BTreeMap<usize, usize>,
}

impl Walk<'_> {
    /// Events of one kind at one stamp share a column: none of them orders anything.
    fn on(&mut self, stamp: i64, kind: u8) {
        self.column += usize::from(self.last.is_some() && self.last != Some((stamp, kind)));
        self.last = Some((stamp, kind));
    }

    fn call(&mut self, index: usize) {
        let bar = &self.bars[index];
        let before = self.open.insert(bar.lane, index);
        if let Some(before) = before {
            if self.bars[before].ret.is_some() {
                self.ret(before);
            }
            let end = match self.columns.ret[before] {
                usize::MAX => self.columns.call[before] + self.widths[before],
                end => end,
            };
            self.on(bar.call, 0);
            self.column = self.column.max(end + 2);
        } else {
            self.on(bar.call, 0);
        }
        self.columns.call[index] = self.column;
    }

    fn ret(&mut self, index: usize) {
        if self.columns.ret[index] != usize::MAX {
            return;
        }
        if let Some(stamp) = self.bars[index].ret {
            self.on(stamp, 1);
            self.column = self.column.max(self.columns.call[index] + self.widths[index]);
            self.columns.ret[index] = self.column;
        }
    }
}
