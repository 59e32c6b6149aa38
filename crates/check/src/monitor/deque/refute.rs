//! A few values around the place where no order is found: chosen by placing them, decided by the frontier.

use std::time::{Duration, Instant};

use linpoint_history::{Operation, Spec};

use super::build::Stuck;
use super::place::{Placed, place};
use super::plan::{NONE, Plan, What};
use crate::engine::{Budget, Context, Stop, Violation};
use crate::frontier::{self, Decision};
use crate::timeline::Timeline;

/// So many returns around the place are looked at; so many where the frontier has to do it all.
const MOST_RETURNS: u32 = 1 << 15;
const MOST_RETURNS_BY_FRONTIER: u32 = 128;
/// How long a set of values may take.
const REFUTE_TIME: Duration = Duration::from_secs(3);

/// What to say of a history for which building got stuck.
pub(super) fn refute(
    cx: &Context<'_>,
    plan: &Plan,
    rows: &[Operation],
    timeline: &Timeline,
    stuck: &Stuck,
) -> Stop {
    let gap = stuck.gap;
    let refuter = Refuter { cx, plan, rows, timeline };
    if let Some(op) = plan.covered
        && let Some(violation) = refuter.covered(op)
    {
        return Stop::Violated(violation);
    }
    let mut reach = 8;
    loop {
        if let Err(stop) = cx.budget.check(0) {
            return stop;
        }
        let near = gap.saturating_sub(reach)..(gap.saturating_add(reach / 2 + 1)).min(plan.completed);
        let mut values: Vec<u32> = plan.initial.clone();
        values.extend(&stuck.ends);
        values.extend(near.clone().filter_map(|op| match plan.ops[op as usize].what {
            What::Push(value) | What::Pop(value) => Some(value),
            What::Empty => None,
        }));
        values.sort_unstable();
        values.dedup();
        let is_all = near.len() == plan.completed as usize;
        let empties: Vec<u32> = near.filter(|op| plan.ops[*op as usize].what == What::Empty).collect();
        let unit = |value: u32| {
            let item = &plan.items[value as usize];
            [item.push, item.pop].into_iter().filter(|op| *op != NONE).collect::<Vec<u32>>()
        };
        let fixed = plan.initial.len();
        let mut units: Vec<Vec<u32>> =
            values.iter().filter(|v| **v as usize >= fixed).map(|v| unit(*v)).collect();
        units.extend(empties.into_iter().map(|op| vec![op]));
        // What is there at first cannot be left out: its operations always stay.
        let always: Vec<u32> = plan.initial.iter().flat_map(|value| unit(*value)).collect();
        if let Some(core) = refuter.core(units, &always) {
            let at = plan.id(gap);
            return Stop::Violated(Violation { at, core, reason: String::new() });
        }
        let most = if always.is_empty() { MOST_RETURNS } else { MOST_RETURNS_BY_FRONTIER };
        if is_all || reach >= most {
            return Stop::Unsupported(format!("no order was found from return {gap} on"));
        }
        reach *= 4;
    }
}

struct Refuter<'a> {
    cx: &'a Context<'a>,
    plan: &'a Plan,
    rows: &'a [Operation],
    timeline: &'a Timeline,
}

impl Refuter<'_> {
    /// A pop that found nothing while something was inside all the time: the fewest values that cover its
    /// window.
    fn covered(&self, op: u32) -> Option<Violation> {
        let plan = self.plan;
        let (mut gap, last) = (plan.ops[op as usize].earliest, plan.ops[op as usize].latest);
        let mut units = vec![vec![op]];
        let mut names = Vec::new();
        while gap <= last {
            let covers = (0..plan.items.len() as u32).filter(|v| plan.cover(*v).0 <= gap);
            let value = covers.max_by_key(|v| plan.cover(*v).1)?;
            if plan.cover(value).1 <= gap {
                return None;
            }
            gap = plan.cover(value).1;
            let item = &plan.items[value as usize];
            units.push([item.push, item.pop].into_iter().filter(|op| *op != NONE).collect());
            let known = if item.push != NONE { item.push } else { item.pop };
            if known != NONE {
                let row = plan.row(known, self.rows, self.timeline);
                let value = if row.arg.is_null() { row.result } else { row.arg };
                names.push(self.cx.symbols.value(value).to_string());
            }
        }
        let row = plan.row(op, self.rows, self.timeline);
        let name = self.cx.spec.signature().decl(row.op()).name;
        let were = if names.len() == 1 { "was" } else { "were" };
        let what = match names.len() {
            1 => "all the time",
            _ => "one after another, all the time",
        };
        let reason = format!("{name} -> empty is impossible: {} {were} inside {what}", names.join(", "));
        let initial: Vec<u32> = plan.initial.clone();
        let always: Vec<u32> = initial
            .iter()
            .flat_map(|v| [plan.items[*v as usize].push, plan.items[*v as usize].pop])
            .filter(|op| *op != NONE && !units.iter().flatten().any(|known| known == op))
            .collect();
        self.is_wrong(&units, &always).then(|| Violation {
            at: plan.id(op),
            core: self.operations(&units, &always),
            reason,
        })
    }

    /// Operations of some units that have no order, if there are such.
    ///
    /// Placing says at once of most sets whether they have one, so it makes them small; the frontier has the
    /// last word.
    fn core(&self, units: Vec<Vec<u32>>, always: &[u32]) -> Option<Vec<Operation>> {
        let frontier = |units: &[Vec<u32>]| self.is_wrong(units, always);
        if !always.is_empty() {
            return Some(self.operations(&least(units, frontier)?, always));
        }
        let least = least(units, |units| self.is_misplaced(units))?;
        frontier(&least).then(|| self.operations(&least, always))
    }

    /// Is there no order of these, as far as placing goes?
    fn is_misplaced(&self, units: &[Vec<u32>]) -> bool {
        matches!(place(&self.plan.part(units.concat()), self.cx.budget, &mut 0), Ok(Placed::Stuck(_)))
    }

    fn operations(&self, units: &[Vec<u32>], always: &[u32]) -> Vec<Operation> {
        let ops = units.iter().flatten().chain(always);
        ops.map(|op| self.plan.row(*op, self.rows, self.timeline)).collect()
    }

    fn is_wrong(&self, units: &[Vec<u32>], always: &[u32]) -> bool {
        let rows = self.operations(units, always);
        let patience = Instant::now() + REFUTE_TIME;
        let budget = Budget {
            deadline: Some(self.cx.budget.deadline.map_or(patience, |limit| limit.min(patience))),
            ..self.cx.budget.clone()
        };
        let from = self.cx.spec.initial();
        let decision = frontier::decide(self.cx.spec, &from, &rows, self.cx.symbols, &budget);
        matches!(decision, Ok(Decision::NotLinearizable(_)))
    }
}

/// As few of these as are still wrong, if all together are.
fn least(mut units: Vec<Vec<u32>>, is_wrong: impl Fn(&[Vec<u32>]) -> bool) -> Option<Vec<Vec<u32>>> {
    if !is_wrong(&units) {
        return None;
    }
    let mut size = units.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < units.len() {
            let mut rest = units.clone();
            rest.drain(from..(from + size).min(units.len()));
            if is_wrong(&rest) {
                units = rest;
            } else {
                from += size;
            }
        }
        size /= 2;
    }
    Some(units)
}
