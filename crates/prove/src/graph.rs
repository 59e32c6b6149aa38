//! Control points and steps as the proof sees them: the program's graph, with "has it taken effect?" made
//! part of where a process is.
//!
//! An operation whose status the user gives is taken as it is. An operation with linearization points
//! (`@lin`) is doubled: each control point is there before and after the effect, and a step whose point has a
//! condition is two steps, one that assumes it and one that assumes the opposite. What is known at a point
//! can then differ before and after, without a formula that says so.

use std::collections::BTreeMap;

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Exit, MarkKind, NodeId, OpId};

/// Where a process is, by number. 0 is [`Graph::IDLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point(pub u16);

/// Does the operation still have to take effect?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// The user's status function says.
    Given,
    /// It has not taken effect.
    Before,
    /// It has, with the result in the ghost of the process.
    After,
}

/// A place of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The control point of the program.
    pub node: NodeId,
    /// Its operation.
    pub op: OpId,
    /// Whether it has taken effect.
    pub phase: Phase,
}

/// A step of a process from one place to another, or out of the operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// From where.
    pub from: Point,
    /// Where to; none for a return.
    pub to: Option<Point>,
    /// Which edge of the node.
    pub edge: usize,
    /// For each linearization point of the edge, in order, whether its condition holds.
    pub marks: Vec<bool>,
}

/// All places and steps.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Places; the first is that of a process without an operation, and has no meaning.
    pub places: Vec<Place>,
    /// Steps.
    pub steps: Vec<Step>,
    /// Where each operation starts.
    pub entries: Vec<Point>,
    /// Is the operation's status the user's?
    pub given: Vec<bool>,
}

impl Graph {
    /// A process that runs no operation.
    pub const IDLE: Point = Point(0);

    /// The places and steps of a program.
    pub fn new(program: &Program) -> Result<Graph, String> {
        let given: Vec<bool> = (0..program.operations.len())
            .map(|op| {
                let here = |node: &NodeId| program.node(*node).op.index() == op;
                program.annotations.statuses.iter().any(|status| status.at.iter().any(here))
            })
            .collect();
        let idle = Place { node: NodeId(u16::MAX), op: OpId(u16::MAX), phase: Phase::Given };
        let mut graph = Graph { places: vec![idle], steps: Vec::new(), entries: Vec::new(), given };
        let mut known: BTreeMap<(NodeId, Phase), Point> = BTreeMap::new();
        let mut open = Vec::new();
        for (index, operation) in program.operations.iter().enumerate() {
            let phase = if graph.given[index] { Phase::Given } else { Phase::Before };
            let entry = graph.point(program, operation.entry, phase, &mut known, &mut open)?;
            graph.entries.push(entry);
        }
        while let Some(from) = open.pop() {
            let place = graph.places[usize::from(from.0)];
            for (number, edge) in program.node(place.node).edges.iter().enumerate() {
                let marks: Vec<_> = edge.marks().collect();
                if marks.iter().any(|mark| mark.of.is_some()) {
                    return Err("an operation takes effect in a step of another thread (`@lin of`)".into());
                }
                if marks.len() > 8 {
                    return Err("a step with more than eight linearization points".into());
                }
                for case in 0..1_u32 << marks.len() {
                    let taken: Vec<bool> = (0..marks.len()).map(|i| case >> i & 1 == 1).collect();
                    // A point without a condition is always one; a query changes nothing.
                    let sense = |(mark, taken): (&&linpoint_lang::program::Mark, &bool)| match mark.kind {
                        MarkKind::Query => !taken,
                        MarkKind::Lin if place.phase == Phase::Given => !taken,
                        MarkKind::Lin => *taken || mark.when.is_some(),
                    };
                    if !marks.iter().zip(&taken).all(sense) {
                        continue;
                    }
                    let phase = match place.phase {
                        Phase::Before if taken.contains(&true) => Phase::After,
                        phase => phase,
                    };
                    let to = match edge.exit {
                        Exit::Goto(node) => Some(graph.point(program, node, phase, &mut known, &mut open)?),
                        Exit::Return(_) => None,
                    };
                    graph.steps.push(Step { from, to, edge: number, marks: taken });
                }
            }
        }
        let places = &graph.places;
        let order = |step: &Step| {
            (program.node(places[usize::from(step.from.0)].node).span.start, step.from, step.edge)
        };
        graph.steps.sort_by_key(order);
        Ok(graph)
    }

    fn point(
        &mut self,
        program: &Program,
        node: NodeId,
        phase: Phase,
        known: &mut BTreeMap<(NodeId, Phase), Point>,
        open: &mut Vec<Point>,
    ) -> Result<Point, String> {
        if let Some(point) = known.get(&(node, phase)) {
            return Ok(*point);
        }
        let point = u16::try_from(self.places.len()).map(Point).map_err(|_| "too many control points")?;
        self.places.push(Place { node, op: program.node(node).op, phase });
        known.insert((node, phase), point);
        open.push(point);
        Ok(point)
    }

    /// A place.
    pub fn place(&self, point: Point) -> Place {
        self.places[usize::from(point.0)]
    }

    /// All places of running processes.
    pub fn running(&self) -> impl Iterator<Item = Point> + use<> {
        (1..self.places.len() as u16).map(Point)
    }

    /// The edge behind a step.
    pub fn edge<'p>(&self, program: &'p Program, step: &Step) -> &'p linpoint_lang::program::Edge {
        &program.node(self.place(step.from).node).edges[step.edge]
    }

    /// Does the step pass a linearization point?
    pub fn takes_effect(&self, step: &Step) -> bool {
        step.marks.contains(&true)
    }
}

/// Does a step write anything shared, ghosts included?
pub fn writes_shared(edge: &linpoint_lang::program::Edge) -> bool {
    edge.actions.iter().any(|action| match action {
        Action::Assign(place, _) => place.is_shared(),
        Action::Lock(_) | Action::Unlock(_) | Action::New { .. } | Action::Free(_) => true,
        _ => false,
    })
}

/// The name of a place for people: its label, or its line; with a stroke after the effect.
pub fn label(program: &Program, text: &str, graph: &Graph, point: Point) -> String {
    if point == Graph::IDLE {
        return "idle".into();
    }
    let place = graph.place(point);
    let node = program.node(place.node);
    let stroke = if place.phase == Phase::After { "'" } else { "" };
    match &node.label {
        Some(label) => format!("{label}{stroke}"),
        None => {
            let (line, _) = linpoint_lang::span::line_column(text, node.span.start as usize);
            format!("{}:{line}{stroke}", program.operation(place.op).name)
        }
    }
}
