//! Labels for proposals: an `inv` stands at a label, so a place without one gets a label first.

use linpoint_lang::program::NodeId;
use linpoint_lang::span::line_column;
use linpoint_lang::{Program, compile};

/// A place as an annotation names it.
pub(super) struct Named {
    /// Its label.
    pub label: String,
    /// Everywhere else that the label names, too.
    pub nodes: Vec<NodeId>,
    /// If it is not there yet: the line of the statement that is to have it.
    pub new_in_line: Option<usize>,
}

impl Named {
    /// The label and the line of its statement, if it has to be put there first.
    pub(super) fn new_label(&self) -> Option<(String, usize)> {
        Some((self.label.clone(), self.new_in_line?))
    }
}

/// The label of a place, or one that its statement could have. There is none in the middle of a statement:
/// where one is put in tells.
pub(super) fn of(program: &Program, text: &str, node: NodeId) -> Option<Named> {
    if let Some(label) = &program.node(node).label {
        return Some(Named { label: label.clone(), nodes: nodes(program, label), new_in_line: None });
    }
    let start = program.node(node).span.start as usize;
    let (line, _) = line_column(text, start);
    let label = (0..).map(|more| match more {
        0 => format!("L{line}"),
        more => format!("L{line}_{more}"),
    });
    let label = label.take(100).find(|label| !text.contains(label.as_str()))?;
    let (before, after) = text.split_at_checked(start)?;
    let with = format!("{before}{label}: {after}");
    let (programs, _) = compile(&with);
    let found = programs.iter().find(|found| found.name == program.name)?;
    let nodes = nodes(found, &label);
    if found.nodes.len() != program.nodes.len() || !nodes.contains(&node) {
        return None;
    }
    Some(Named { label, nodes, new_in_line: Some(line) })
}

fn nodes(program: &Program, label: &str) -> Vec<NodeId> {
    let here = |number: &usize| program.nodes[*number].label.as_deref() == Some(label);
    (0..program.nodes.len()).filter(here).map(|number| NodeId(number as u16)).collect()
}
