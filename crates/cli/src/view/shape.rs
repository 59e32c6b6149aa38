//! Abstract heaps as view data.

use linpoint_lang::Program;
use linpoint_report::view::{Duo, Edge, ShapeNode, Shapes, Structure as Drawn};
use linpoint_shape::draw::{thread_line, words};
use linpoint_shape::layout::Layout;
use linpoint_shape::structure::Structure;

/// Heaps on one page.
const MOST: usize = 60;

/// The heaps, fullest first; of those that look alike in names one.
pub fn shapes(program: &Program, structures: &[Structure], points: Vec<String>) -> Option<Shapes> {
    let layout = Layout::new(program).ok()?;
    let mut order: Vec<&Structure> = structures.iter().collect();
    order.sort_by_key(|s| std::cmp::Reverse((s.nodes.len(), links(s))));
    let mut shown: Vec<Drawn> = Vec::new();
    for structure in order {
        let drawn = drawn(&layout, structure);
        if shown.len() < MOST && !shown.iter().any(|other| other.threads == drawn.threads) {
            shown.push(drawn);
        }
    }
    Some(Shapes { total: structures.len(), structures: shown, points })
}

fn links(s: &Structure) -> u32 {
    s.nodes.iter().map(|node| node.row.count_ones() + node.other.count_ones()).sum()
}

fn drawn(layout: &Layout<'_>, s: &Structure) -> Drawn {
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
    let title = threads.first().cloned().unwrap_or_else(|| "no thread".to_owned());
    Drawn { title, threads, nodes, edges }
}
