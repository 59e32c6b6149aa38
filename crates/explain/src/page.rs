//! The verdict about a history as view data.
//!
//! The page shows the whole history where it can: the rows are read once more, up to [`MOST_BARS`] of them
//! around the operation that finds no place. The core is among them, marked.

use std::collections::{BTreeMap, HashMap};

use linpoint_history::specs::State;
use linpoint_history::symbols::show_process;
use linpoint_history::{Builtin, Counterexample, Operation, Spec, Value, Verdict};
use linpoint_report::label::bar;
use linpoint_report::view::{self, Bar, History, Order, Summary, View};

use crate::{Shown, orders, text};

/// Operations on one page.
pub const MOST_BARS: usize = 100_000;
/// Orders whose states are worked out are not longer than this.
const MOST_STATES: usize = 500;

/// What was read for the page.
#[derive(Debug, Default)]
pub struct Rows {
    /// Every operation, if there was room.
    pub all: Vec<Operation>,
    /// The order that explains them.
    pub witness: Vec<Operation>,
    /// Operations that were not kept.
    pub left_out: u64,
}

/// The view.
pub fn view(shown: &Shown<'_>, name: &str, rows: &Rows) -> View {
    let answer = shown.answer;
    let line = text::first_line(shown);
    let (word, headline) = line.split_once(": ").unwrap_or((&line, ""));
    let (verdict, rests_on) = match &answer.verdict {
        Verdict::Holds(_) => (
            view::VerdictKind::Holds,
            "An order of all operations that explains every answer. It was replayed through the specification and against real time by a routine that shares no code with the engines.".to_owned(),
        ),
        Verdict::Violated(example) => (view::VerdictKind::Violated, rests_on(example, answer.operations)),
        Verdict::Unknown(_) => (view::VerdictKind::Unknown, "Nothing: the search ended before it had an answer.".to_owned()),
    };
    let mut view = View::new(verdict, word, headline);
    let objects = if answer.objects > 1 { format!(", {} objects", answer.objects) } else { String::new() };
    let pending =
        if answer.pending > 0 { format!(", {} of them pending", answer.pending) } else { String::new() };
    view.summary = Summary {
        checked: format!(
            "The {} operations of {name}{pending}{objects}, against the sequential object `{}`: is there one order that respects real time and that the object allows?",
            answer.operations, shown.spec_name
        ),
        rests_on,
        not_covered: match verdict {
            view::VerdictKind::Violated => "Which line of the program is wrong, and what else is wrong with this history or with other runs.".to_owned(),
            _ => "Other runs of the same program: this is about what was recorded.".to_owned(),
        },
        facts: vec![
            ("engine".to_owned(), answer.engine.clone()),
            ("time".to_owned(), format!("{:.2} s", answer.elapsed.as_secs_f64())),
        ],
        again: shown.again.clone(),
    };
    view.history = history(shown, rows);
    view.text = text::render(shown, linpoint_report::Style { width: 110, colour: false });
    view
}

fn rests_on(example: &Counterexample, operations: u64) -> String {
    let core = example.core.len();
    let these = if core == 1 { "One operation".to_owned() } else { format!("{core} operations") };
    let how = match (example.rechecked, example.start.is_some()) {
        (true, true) => "a second, plain search of all operations agrees",
        (true, false) => "brute force tried every order of them and agrees",
        (false, _) => "they are too many for brute force, so that only the engine says so",
    };
    format!("{these} of {operations} that no order explains; {how}.")
}

fn history(shown: &Shown<'_>, rows: &Rows) -> Option<History> {
    let example = match &shown.answer.verdict {
        Verdict::Violated(example) => Some(example),
        _ => None,
    };
    let core: &[Operation] = example.map_or(&[], |example| &example.core);
    let mut all: Vec<Operation> = if rows.all.is_empty() { core.to_vec() } else { rows.all.clone() };
    if all.is_empty() {
        return None;
    }
    all.sort_by_key(|op| (op.call, op.ret));
    let impossible = example.and_then(|example| example.impossible);
    let mut left_out = rows.left_out;
    if rows.all.is_empty() {
        left_out += shown.answer.operations.saturating_sub(core.len() as u64);
    }
    left_out += window(&mut all, core, impossible.map(|index| core[index]));
    let signature = shown.spec.signature();
    let mut names: BTreeMap<Value, usize> =
        all.iter().map(|op| (shown.symbols.process_name(op.process()), 0)).collect();
    names.values_mut().enumerate().for_each(|(number, lane)| *lane = number);
    let mut lane_of: HashMap<u32, usize> = HashMap::new();
    let mut bars: Vec<Bar> = Vec::with_capacity(all.len());
    for op in &all {
        let lane = *lane_of
            .entry(op.process().0)
            .or_insert_with(|| names[&shown.symbols.process_name(op.process())]);
        bars.push(Bar { lane, ..bar(signature, shown.symbols, op) });
    }
    let place = places(&all);
    let of_core: Vec<Option<usize>> = core.iter().map(|op| place.get(&identity(op)).copied()).collect();
    for bar in of_core.iter().flatten() {
        bars[*bar].core = true;
    }
    let mut history = History {
        lanes: names.keys().map(|name| format!("process {}", show_process(name))).collect(),
        bars,
        impossible: impossible.and_then(|index| of_core[index]),
        reason: example.map_or_else(String::new, |example| example.reason.clone()),
        left_out,
        start: example
            .and_then(|example| example.start.as_ref())
            .map_or_else(String::new, |start| start.shown.clone()),
        orders: Vec::new(),
    };
    history.orders = match example {
        Some(example) => attempts(shown, example, &of_core),
        None => witness(shown, rows, &place).into_iter().collect(),
    };
    Some(history)
}

/// What tells an operation from all others of its history. A core's operation may have been made pending, so
/// its return says nothing.
type Identity = (u32, i64, u8, u32);

fn identity(op: &Operation) -> Identity {
    (op.process().0, op.call, op.op().0, op.arg.0)
}

fn places(all: &[Operation]) -> HashMap<Identity, usize> {
    // Of two that look the same, the later one is found: they are of one process, at one stamp.
    all.iter().enumerate().map(|(index, op)| (identity(op), index)).collect()
}

/// Keeps the operations around the impossible one, and the core; says how many were dropped.
fn window(all: &mut Vec<Operation>, core: &[Operation], impossible: Option<Operation>) -> u64 {
    if all.len() <= MOST_BARS {
        return 0;
    }
    let middle = impossible.map_or(0, |op| all.partition_point(|other| other.call < op.call));
    let room = MOST_BARS - core.len().min(MOST_BARS / 2);
    let from = middle.saturating_sub(room / 2).min(all.len() - room);
    let kept: std::collections::HashSet<Identity> = core.iter().map(identity).collect();
    let before = all.len();
    let mut index = 0;
    all.retain(|op| {
        index += 1;
        (from..from + room).contains(&(index - 1)) || kept.contains(&identity(op))
    });
    (before - all.len()) as u64
}

/// How far the core can be explained.
fn attempts(shown: &Shown<'_>, example: &Counterexample, of_core: &[Option<usize>]) -> Vec<Order> {
    let Some(start) = start(shown.spec, example) else { return Vec::new() };
    let mut found = orders::longest(shown.spec, shown.symbols, &example.core, start.clone()).orders;
    if found.is_empty() && !example.explained.is_empty() {
        let order = example.explained.iter().map(|&index| &example.core[index]);
        let states = orders::states(shown.spec, shown.symbols, order, start).unwrap_or_default();
        let title = format!("{} of {} operations", example.explained.len(), example.core.len());
        found.push(Order { title, bars: example.explained.clone(), states, next: Vec::new() });
    }
    // From numbers in the core to numbers of bars.
    found.retain(|order| order.bars.iter().all(|&index| of_core[index].is_some()));
    for order in &mut found {
        order.bars.iter_mut().for_each(|index| *index = of_core[*index].unwrap_or(0));
        order.next.retain(|next| of_core[next.bar].is_some());
        order.next.iter_mut().for_each(|next| next.bar = of_core[next.bar].unwrap_or(0));
    }
    found
}

/// The state that the core starts from, where it is at hand.
fn start(spec: &Builtin, example: &Counterexample) -> Option<State> {
    match &example.start {
        Some(start) => start.state.clone(),
        None => Some(spec.initial()),
    }
}

/// The order that explains the history, as numbers of bars; with states where it is short and of one object.
fn witness(shown: &Shown<'_>, rows: &Rows, place: &HashMap<Identity, usize>) -> Option<Order> {
    if rows.witness.is_empty() {
        return None;
    }
    let kept: Vec<(&Operation, usize)> =
        rows.witness.iter().filter_map(|op| Some((op, *place.get(&identity(op))?))).collect();
    let whole = kept.len() == rows.witness.len() && shown.answer.objects <= 1;
    let states = (whole && kept.len() <= MOST_STATES)
        .then(|| {
            let order = rows.witness.iter();
            orders::states(shown.spec, shown.symbols, order, shown.spec.initial())
        })
        .flatten();
    Some(Order {
        title: match rows.witness.len() < MOST_BARS {
            true => "every operation takes effect once, between its call and its return".to_owned(),
            false => format!("the first {} operations of the order that explains all", kept.len()),
        },
        bars: kept.iter().map(|(_, bar)| *bar).collect(),
        states: states.unwrap_or_default(),
        next: Vec::new(),
    })
}
