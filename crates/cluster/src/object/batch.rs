//! Rows that go to the batch checker: what has no explanation, and what no engine could follow.
//!
//! The batch checker begins with the initial state, so it is given the way to the start first ([`crate::lead`]); what it says is told without it.

use std::time::Instant;

use linpoint_check::{Options, Partition, check_rows};
use linpoint_history::{Basis, Counterexample, Operation, Spec, Start, Unknown, Verdict};

use super::World;
use super::busy::{Busy, bare, unknown};
use crate::lead;

impl Busy {
    /// The first `to` rows have no explanation: few of them, and a sentence.
    pub(super) fn violated(&mut self, to: usize, world: &mut World) {
        let rows = self.rows[..to].to_vec();
        let verdict = match self.batch(&rows, world, world.deadline) {
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
        // The stamps ask for too much; widened, for too little.
        let widened: Vec<Operation> = rows.iter().map(|row| world.clocks.widened(row)).collect();
        match self.batch_stamps(&widened, world, deadline) {
            Ok(Verdict::Violated(mut example)) => {
                for row in example.core.iter_mut().chain(&mut example.prefix) {
                    let original = rows.iter().find(|other| world.clocks.widened(other) == *row);
                    *row = original.copied().unwrap_or(*row);
                }
                Verdict::Violated(example)
            }
            Ok(Verdict::Holds(_)) => unknown(
                "the clocks of the sources are not exact enough: the stamps as they are have no explanation, widened by their error bounds they have one",
            ),
            Ok(other) => other,
            Err(why) => unknown(why),
        }
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
                let begun = (forgotten > 0).then(|| Start {
                    state: spec.show_named(&self.start.state(&world.symbols), &world.symbols),
                    operations: forgotten,
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
        (None, Some(Start { state, .. })) if core.len() == 1 => {
            format!("an operation is impossible in the state {state}, in which everything before it ends")
        }
        (None, Some(Start { state, .. })) => {
            let many = core.len();
            format!(
                "{many} operations have no order from the state {state}, in which everything before them ends"
            )
        }
        _ => example.reason.clone(),
    };
    Counterexample {
        reason,
        start: example.start.or(begun),
        prefix: example.prefix.iter().map(source).collect(),
        impossible: example.impossible.as_ref().and_then(place),
        explained: example.explained.iter().filter_map(place).collect(),
        core,
        ..example
    }
}
