//! What was found besides invariants, in words: linearization points, and what the abstraction must not see
//! yet.

use linpoint_lang::Program;
use linpoint_lang::program::{NONE, NodeId};
use linpoint_lang::span::line_column;
use linpoint_prove::hide::Hidden;
use linpoint_prove::points::{Found, WithPoints};
use linpoint_prove::show::show;

/// A line for each.
pub fn lines(proved: &WithPoints, hidden: Option<&Hidden>, text: &str) -> Vec<String> {
    let program = &proved.program;
    let mut lines: Vec<String> = proved.found.iter().map(|found| point(program, text, found)).collect();
    if let Some(hidden) = hidden {
        let op = program.node(hidden.from.0).op;
        lines.push(format!(
            "hidden: slot {} from {} to {}",
            show(program, Some(op), &hidden.index),
            place(program, text, hidden.from.0),
            place(program, text, hidden.until.0)
        ));
    }
    lines
}

fn point(program: &Program, text: &str, found: &Found) -> String {
    let op = program.node(found.node).op;
    let result = match found.result.as_deref() {
        None | Some([]) => String::new(),
        Some(values) => {
            let truth = program.operation(op).result.parts == [linpoint_lang::program::Type::Bool];
            let value = |value: &linpoint_lang::program::Expr| match value {
                linpoint_lang::program::Expr::Const(NONE) => "none".to_owned(),
                linpoint_lang::program::Expr::Const(word) if truth => (*word != 0).to_string(),
                value => show(program, Some(op), value),
            };
            let values: Vec<String> = values.iter().map(value).collect();
            format!("({})", values.join(", "))
        }
    };
    let when =
        found.when.as_ref().map_or_else(String::new, |when| format!(" if {}", show(program, Some(op), when)));
    let name = &program.operation(op).name;
    format!("point found: {name} at {}: @lin{result}{when}", place(program, text, found.node))
}

/// The label of a place, or its line.
fn place(program: &Program, text: &str, node: NodeId) -> String {
    let of = program.node(node);
    let line = line_column(text, of.span.start as usize).0;
    of.label.as_ref().map_or_else(|| format!("line {line}"), |label| format!("{label} (line {line})"))
}
