//! A structure as text, and in the dot language of Graphviz.

use std::fmt::Write as _;

use crate::layout::{Layout, Object, Scalar, class};
use crate::structure::{Effect, IDLE, PROBE, SEEN_FIRST, SEEN_SECOND, Structure, TRACKED};

/// One line a thread, one a node.
pub fn text(layout: &Layout<'_>, s: &Structure) -> String {
    let mut out = String::new();
    for thread in 0..s.threads.len() {
        let _ = writeln!(out, "{}", thread_line(layout, s, thread));
    }
    for (index, node) in s.nodes.iter().enumerate() {
        let mut line = format!("n{index}: {}", label(layout, s, index));
        if index > 0 {
            let _ = write!(line, " → {}", targets(s, node.row));
            if node.mask & layout.nonuniform != 0 {
                let _ = write!(line, ", in the reference → {}", targets(s, node.other));
            }
        }
        let _ = writeln!(out, "{line}");
    }
    out
}

/// A graph in the dot language; solid where a link certainly leads, dashed where it may.
pub fn dot(layout: &Layout<'_>, s: &Structure, name: &str) -> String {
    let mut out = format!("digraph \"{name}\" {{\n  rankdir=LR; node [shape=box, fontname=\"monospace\"];\n");
    let threads: Vec<String> = (0..s.threads.len()).map(|thread| thread_line(layout, s, thread)).collect();
    let _ = writeln!(out, "  label=\"{}\";", escape(&threads.join("\n")));
    for (index, node) in s.nodes.iter().enumerate() {
        let border = if node.many { ", style=dotted, peripheries=2" } else { "" };
        let _ = writeln!(out, "  n{index} [label=\"{}\"{border}];", escape(&label(layout, s, index)));
    }
    for (index, node) in s.nodes.iter().enumerate() {
        for (row, colour) in [(node.row, "black"), (node.other, "blue")] {
            let style = if row.count_ones() == 1 { "solid" } else { "dashed" };
            for to in bits(row) {
                let _ = writeln!(out, "  n{index} -> n{to} [style={style}, color={colour}];");
            }
        }
    }
    out.push_str("}\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn bits(mut row: u32) -> Vec<u32> {
    let mut found = Vec::new();
    while row != 0 {
        found.push(row.trailing_zeros());
        row &= row - 1;
    }
    found
}

fn targets(s: &Structure, row: u32) -> String {
    let name = |to: u32| {
        let many = if s.nodes[to as usize].many { "*" } else { "" };
        if to == 0 { "null".to_owned() } else { format!("n{to}{many}") }
    };
    let names: Vec<String> = bits(row).into_iter().map(name).collect();
    names.join(" or ")
}

/// Where a thread is and what is known of its operation.
pub fn thread_line(layout: &Layout<'_>, s: &Structure, thread: usize) -> String {
    let shown = s.threads[thread];
    if shown.pc == IDLE {
        return format!("thread {thread}: at rest");
    }
    if shown.pc == PROBE {
        return format!("thread {thread}: anywhere");
    }
    let op = layout.op_at(shown.pc);
    let operation = &layout.program.operations[op];
    let mut line = format!("thread {thread}: {}", operation.name);
    let effect = match shown.effect {
        Effect::Open => "took no effect yet",
        Effect::Done => "took effect",
        Effect::Gave => "took effect, the reference gave a value",
        Effect::Empty => "took effect, the reference was empty",
        Effect::True => "took effect, the reference says true",
        Effect::False => "took effect, the reference says false",
    };
    let _ = write!(line, ", {effect}");
    if shown.seen & TRACKED != 0 {
        line.push_str(", on the tracked key");
    }
    let (first, second) = match layout.object {
        Object::Set => ("the key was in it", "the key was not in it"),
        _ => ("it was empty", ""),
    };
    for (bit, what) in [(SEEN_FIRST, first), (SEEN_SECOND, second)] {
        if shown.seen & bit != 0 {
            let _ = write!(line, ", since the call {what}");
        }
    }
    for (local, slot) in operation.locals.iter().enumerate() {
        let value = match layout.scalar[op][local] {
            Some((shift, Scalar::Bool)) => ["", "false", "true", ""][(shown.scalars >> shift & 3) as usize],
            Some((shift, Scalar::Key)) => class_name((shown.scalars >> shift & 7) as u8),
            Some((shift, Scalar::Version(_))) => {
                ["", "current", "stale", ""][(shown.scalars >> shift & 3) as usize]
            }
            _ => "",
        };
        if !value.is_empty() && !slot.name.is_empty() {
            let _ = write!(line, ", {} {value}", slot.name);
        }
    }
    line
}

fn class_name(class: u8) -> &'static str {
    match class {
        class::MIN => "least",
        class::LESS => "<K",
        class::SAME => "=K",
        class::MORE => ">K",
        class::MAX => "greatest",
        _ => "",
    }
}

/// Names and kinds of a node.
fn label(layout: &Layout<'_>, s: &Structure, index: usize) -> String {
    let (mut words, kinds) = words(layout, s, index);
    if index == 0 {
        words.insert(0, "null".into());
    }
    words.extend(kinds);
    if s.nodes[index].many {
        words.push("any number".into());
    }
    words.join(", ")
}

/// The names that point to a node, and what kind of node it is.
pub fn words(layout: &Layout<'_>, s: &Structure, index: usize) -> (Vec<String>, Vec<String>) {
    let mask = s.nodes[index].mask;
    let mut words: Vec<String> = Vec::new();
    for (bit, name) in layout.shared_names.iter().enumerate() {
        if mask >> bit & 1 == 1 {
            words.push(name.clone());
        }
    }
    for (thread, shown) in s.threads.iter().enumerate() {
        if shown.pc == IDLE || shown.pc == PROBE {
            continue;
        }
        let op = layout.op_at(shown.pc);
        for (local, slot) in layout.program.operations[op].locals.iter().enumerate() {
            if let Some(bit) = layout.local_bit[op][local]
                && mask & layout.bit(thread, bit) != 0
            {
                let name = if slot.name.is_empty() { "_" } else { &slot.name };
                words.push(format!("{name}@{thread}"));
            }
        }
        let mut own = vec![(layout.argument, "argument"), (layout.answer, "answer")];
        if layout.offer_kind != 0 {
            own.push((layout.offer, "offer of"));
        }
        if layout.freed != 0 {
            own.push((layout.mine, "made by"));
        }
        for (bit, name) in own {
            if mask & layout.bit(thread, bit) != 0 {
                words.push(format!("{name}@{thread}"));
            }
        }
        let record = layout.record_of(mask);
        for (number, field) in
            layout.program.records.get(record).iter().flat_map(|r| r.fields.iter().enumerate())
        {
            if layout.held_field(thread, record, number as u16).is_some_and(|bit| mask & bit != 0) {
                words.push(format!("{} held by@{thread}", field.name));
            }
        }
    }
    let kinds = [
        (layout.uncorrelated, "not in the reference"),
        (layout.nonuniform, "nonuniform"),
        (layout.private, "private"),
        (layout.freed, "freed"),
        (layout.owned, "not linked in"),
        (layout.gone, "taken"),
        (layout.listed, "listed"),
        (layout.beyond, "beyond"),
    ];
    let mut found: Vec<String> =
        kinds.iter().filter(|(kind, _)| mask & kind != 0).map(|(_, name)| (*name).to_owned()).collect();
    for (record, fields) in layout.bool_bit.iter().enumerate() {
        for (field, bit) in fields.iter().enumerate() {
            if bit.is_some_and(|bit| mask & bit != 0) {
                found.push(layout.program.records[record].fields[field].name.clone());
            }
        }
    }
    let class = class_name(layout.class_of(mask));
    if !class.is_empty() {
        found.push(class.into());
    }
    (words, found)
}
