//! Rows that go to the batch checker: what has no explanation, and what no engine could follow.
//!
//! The batch checker begins with the initial state, so it is given the way to the start first
//! ([`crate::lead`]); what it says is told without it.

use std::time::Instant;

use linpoint_check::{Options, Partition, check_rows};
use linpoint_history::symbols::later;
use linpoint_history::{
    Basis, Counterexample, KeyId, Operation, ProcessId, Spec, Start, Unexplained, Unknown, Verdict,
};

use super::World;
use super::busy::{Busy, bare, unknown};
use crate::lead;

/// So many sources are taken as the exact one.
const MOST_WAYS: usize = 16;

impl Busy {
    /// The first `to` rows have no explanation: few of them, and a sentence. That they have none was decided
    /// with what the clocks surely say, so stamps as they are, which ask for more, have none either.
    pub(super) fn violated(&mut self, to: usize, world: &mut World) {
        let rows = self.rows[..to].to_vec();
        let verdict = match self.batch_stamps(&rows, world, world.deadline).unwrap_or_else(unknown) {
            Verdict::Violated(example) if !world.clocks.are_exact() => {
                match self.relaxed(&rows, world, world.deadline) {
                    Ok(Some(example)) => Verdict::Violated(example),
                    _ => Verdict::Violated(example),
                }
            }
            Verdict::Holds(_) => unknown("two decisions of the same rows disagree: a mistake of ours"),
            verdict => verdict,
        };
        self.decide(verdict, "segments");
    }

    /// Operations that lead to the start.
    pub(super) fn lead(&self, world: &mut World) -> Result<Vec<Operation>, String> {
        let spec = world.specs[usize::from(self.spec)].clone();
        let start = self.start.state(&world.symbols);
        let found = lead::lead(&spec, &start, &mut world.symbols, self.since.saturating_add(1));
        found.ok_or_else(|| format!("no way back to the state {} is known", spec.show(&start)))
    }

    /// What the batch checker says of `rows`, from the start.
    pub(super) fn batch(&self, rows: &[Operation], world: &mut World, deadline: Option<Instant>) -> Verdict {
        let exact = self.batch_stamps(rows, world, deadline);
        if world.clocks.are_exact() || !matches!(&exact, Ok(Verdict::Violated(_))) {
            return exact.unwrap_or_else(unknown);
        }
        // All of one source: its stamps are exact.
        if rows.iter().all(|row| row.key == rows[0].key) {
            return exact.unwrap_or_else(unknown);
        }
        // The stamps ask for too much; widened, for too little.
        match self.relaxed(rows, world, deadline) {
            Ok(Some(example)) => Verdict::Violated(example),
            Ok(None) => unknown(
                "the clocks of the sources are not exact enough: the stamps as they are have no explanation, widened by their error bounds they have one",
            ),
            Err(other) => *other,
        }
    }

    /// Have `rows` no explanation even where their stamps are widened, in one of the ways that keep no more
    /// than what the clocks surely say? None: they have one in every way.
    ///
    /// All intervals may be widened by the bound of their own source; or those of one source stay, and all
    /// others are widened by both bounds.
    fn relaxed(
        &self,
        rows: &[Operation],
        world: &mut World,
        deadline: Option<Instant>,
    ) -> Result<Option<Counterexample>, Box<Verdict>> {
        let mut sources: Vec<KeyId> = rows.iter().map(|row| row.key).collect();
        sources.sort();
        sources.dedup();
        let ways = std::iter::once(None).chain(sources.into_iter().take(MOST_WAYS).map(Some));
        let (mut explained, mut other) = (0, None);
        for exact in ways {
            let clocks = &world.clocks;
            let widened = rows.iter().map(|row| match exact {
                None => clocks.widened(row),
                Some(exact) => clocks.widened_beside(row, exact),
            });
            let widened = widened.collect();
            let Some(widened) = self.alone(widened, world) else { continue };
            match self.batch_stamps(&widened, world, deadline) {
                Ok(Verdict::Violated(mut example)) => {
                    let found = &mut example.evidence;
                    for row in found.core.iter_mut().chain(&mut found.prefix) {
                        let place = widened.iter().position(|other| other == row);
                        *row = place.map_or(*row, |place| rows[place]);
                    }
                    return Ok(Some(example));
                }
                Ok(Verdict::Holds(_)) => explained += 1,
                Ok(open) => other = Some(open),
                Err(why) => other = Some(unknown(why)),
            }
        }
        match other {
            Some(other) if explained == 0 => Err(Box::new(other)),
            _ => Ok(None),
        }
    }

    /// Rows with widened intervals, of which no two of a process overlap: those that would are given
    /// processes of their own, which says less. None where the specification looks at who calls.
    fn alone(&self, mut rows: Vec<Operation>, world: &mut World) -> Option<Vec<Operation>> {
        let observes = world.specs[usize::from(self.spec)].observes_process();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&i| (rows[i].process().0, rows[i].call, rows[i].ret));
        // The last row of each lane of the process that is looked at.
        let mut lanes: Vec<usize> = Vec::new();
        let mut of: Option<ProcessId> = None;
        for i in order {
            let process = rows[i].process();
            if of != Some(process) {
                (of, lanes) = (Some(process), Vec::new());
            }
            let is_after = |last: &Operation| {
                last.ret < rows[i].call || last.ret == rows[i].call && last.key == rows[i].key
            };
            match lanes.iter().position(|&last| is_after(&rows[last])) {
                Some(lane) => lanes[lane] = i,
                None if observes && !lanes.is_empty() => return None,
                None => lanes.push(i),
            }
            let lane = lanes.iter().position(|&last| last == i).unwrap_or(0);
            if lane > 0 {
                // No process that comes in has such a number.
                let name = later(&world.symbols.process_name(process), u32::MAX - lane as u32);
                let mut renamed = Operation::new(world.symbols.process(&name), rows[i].op());
                (renamed.call, renamed.ret, renamed.key) = (rows[i].call, rows[i].ret, rows[i].key);
                (renamed.arg, renamed.result) = (rows[i].arg, rows[i].result);
                rows[i] = renamed;
            }
        }
        Some(rows)
    }

    pub(super) fn batch_stamps(
        &self,
        rows: &[Operation],
        world: &mut World,
        deadline: Option<Instant>,
    ) -> Result<Verdict, String> {
        let lead = self.lead(world)?;
        let spec = world.specs[usize::from(self.spec)].clone();
        let options = Options {
            partition: Partition::None,
            threads: 1,
            time_limit: deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
            memory_limit_bytes: world.memory_bytes,
            ..Options::default()
        };
        let all = lead.iter().copied().chain(rows.iter().map(bare)).collect();
        let answer =
            check_rows(all, &spec, &mut world.symbols, &options).map_err(|error| error.to_string())?;
        Ok(match answer.verdict {
            Verdict::Violated(example) => {
                let forgotten = self.operations - self.pending() - self.rows.len() as u64;
                let begun = (forgotten > 0).then(|| {
                    let state = self.start.state(&world.symbols);
                    let shown = spec.show_named(&state, &world.symbols);
                    Start { state: Some(state), shown, operations: forgotten }
                });
                Verdict::Violated(without_lead(example, &lead, begun, rows))
            }
            // Of this object; others may have operations that returned.
            Verdict::Unknown(Unknown::Nothing { .. }) => Verdict::Holds(Basis::Witness { operations: 0 }),
            other => other,
        })
    }
}

/// A counterexample without the operations that lead to its start; rows get their sources back.
fn without_lead(
    example: Counterexample,
    lead: &[Operation],
    begun: Option<Start>,
    rows: &[Operation],
) -> Counterexample {
    let is_lead = |op: &Operation| lead.contains(op);
    let source = |op: &Operation| {
        let same = rows.iter().find(|row| bare(row) == *op);
        same.copied().unwrap_or(*op)
    };
    let mut places = Vec::with_capacity(example.core.len());
    let mut core = Vec::new();
    for op in &example.core {
        places.push((!is_lead(op)).then_some(core.len()));
        if !is_lead(op) {
            core.push(source(op));
        }
    }
    let place = |index: &usize| places.get(*index).copied().flatten();
    // What the batch checker says of the past does not know what was forgotten.
    let reason = match (&example.start, &begun) {
        (None, Some(Start { shown, .. })) if core.len() == 1 => {
            format!("an operation is impossible in the state {shown}, in which everything before it ends")
        }
        (None, Some(Start { shown, .. })) => {
            let many = core.len();
            format!(
                "{many} operations have no order from the state {shown}, in which everything before them ends"
            )
        }
        _ => example.reason.clone(),
    };
    example.map(|whole| Unexplained {
        reason,
        start: whole.start.or(begun),
        prefix: whole.prefix.iter().map(source).collect(),
        impossible: whole.impossible.as_ref().and_then(place),
        explained: whole.explained.iter().filter_map(place).collect(),
        core,
    })
}
