//! Abstract heaps as view data.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use linpoint_lang::Program;
use linpoint_lang::span::line_column;
use linpoint_report::view::{Duo, Edge, ShapeNode, Shapes, Structure as Drawn};
use linpoint_shape::draw::{thread_line, words};
use linpoint_shape::layout::Layout;
use linpoint_shape::structure::{IDLE, PROBE, Structure, Thread};

/// Heaps on one page.
const MOST: usize = 60;

/// One heap for each place of the program and each standing of the operation there, in the order of the text:
/// the one that says most, with the fewest ways for a link to lead.
pub fn shapes(
    program: &Program,
    text: &str,
    structures: &[Structure],
    points: Vec<String>,
) -> Option<Shapes> {
    let layout = Layout::new(program).ok()?;
    let mut best: BTreeMap<_, &Structure> = BTreeMap::new();
    for s in structures {
        let place: Vec<_> =
            s.threads.iter().map(|thread| (start(program, thread.pc), thread.pc, thread.effect)).collect();
        let rank = |s: &Structure| (s.nodes.len(), Reverse(links(s)));
        let known = best.entry(place).or_insert(s);
        if rank(s) > rank(known) {
            *known = s;
        }
    }
    let structures_shown = best.values().take(MOST).map(|s| drawn(&layout, text, s)).collect();
    Some(Shapes { total: structures.len(), structures: structures_shown, points })
}

/// Where in the text a thread is.
fn start(program: &Program, pc: u16) -> u32 {
    program.nodes.get(usize::from(pc)).map_or(0, |node| node.span.start)
}

fn links(s: &Structure) -> u32 {
    s.nodes.iter().map(|node| node.row.count_ones() + node.other.count_ones()).sum()
}

fn drawn(layout: &Layout<'_>, text: &str, s: &Structure) -> Drawn {
    let threads: Vec<String> = (0..s.threads.len()).map(|thread| thread_line(layout, s, thread)).collect();
    let mut edges = Vec::new();
    let mut nodes = Vec::new();
    for (from, node) in s.nodes.iter().enumerate() {
        let (names, mut kinds) = words(layout, s, from);
        let uncorrelated = node.mask & layout.uncorrelated != 0;
        let nonuniform = node.mask & layout.nonuniform != 0;
        // Drawn, so not said.
        kinds.retain(|kind| kind != "not in the reference" && kind != "nonuniform");
        let of = if uncorrelated { Duo::Candidate } else { Duo::Both };
        nodes.push(ShapeNode { names, kinds, many: node.many, of });
        if from == 0 {
            continue;
        }
        let mut add = |row: u32, of: Duo| {
            let may = row.count_ones() > 1;
            edges.extend((0..32).filter(|to| row >> to & 1 == 1).map(|to| Edge { from, to, may, of }));
        };
        match (uncorrelated, nonuniform) {
            (true, _) => add(node.row, Duo::Candidate),
            (_, true) => {
                add(node.row, Duo::Candidate);
                add(node.other, Duo::Reference);
            }
            _ => add(node.row, Duo::Both),
        }
    }
    let at = |thread: &Thread| match thread.pc {
        IDLE => "at rest".to_owned(),
        PROBE => "anywhere".to_owned(),
        pc => {
            let line = line_column(text, start(layout.program, pc) as usize).0;
            format!("before line {line}: {}", text.lines().nth(line - 1).unwrap_or("").trim())
        }
    };
    let places: Vec<String> =
        s.threads.iter().zip(&threads).map(|(thread, what)| format!("{what}, {}", at(thread))).collect();
    let title = places.join("; ");
    Drawn { title, threads, nodes, edges }
}
