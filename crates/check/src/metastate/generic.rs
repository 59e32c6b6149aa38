//! Metastates for any specification, kept lazily.
//!
//! A configuration is a state and the set of open operations that took effect in it, nothing else: whatever
//! returned took effect in all of them. Nothing happens at a call. At a return, configurations that lack the
//! operation let open operations take effect until it can (`search.rs`). States are numbers and steps are
//! remembered (`machine.rs`); a configuration stands for a whole cube of sets where operations may be hidden
//! behind others (`pool.rs`); the order found is a tree of steps (`paths.rs`).
//!
//! The starting point is Dragicevic 2011, chapters 4 and 5 (implemented to the letter in [`super::seed`]);
//! what differs is that effects wait until a return forces them. `docs/soundness.md` has the argument.

pub(crate) mod machine;
mod mask;
mod paths;
mod pool;
mod search;

use linpoint_history::{Operation, Spec};

pub use search::Width;

use crate::engine::{Context, Engine, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};
use mask::Wide;
use search::Search;

/// The engine for any specification. See the module's text.
#[derive(Debug)]
pub struct Generic<S: Spec> {
    search: Either<S>,
    explained: u32,
    pending_seen: usize,
    /// Pending operations not yet called, the next one last: gap and number.
    pending: Vec<(u32, u32)>,
}

#[derive(Debug)]
enum Either<S: Spec> {
    Narrow(Search<S, u64>),
    Wide(Search<S, Wide>),
    /// For the moment between the two.
    Neither,
}

macro_rules! either {
    ($on:expr, $search:ident => $body:expr) => {
        match $on {
            Either::Narrow($search) => $body,
            Either::Wide($search) => $body,
            Either::Neither => unreachable!("a search is narrow or wide"),
        }
    };
}

impl<S: Spec> Generic<S> {
    /// An engine for `spec`.
    pub fn new(spec: S) -> Generic<S> {
        Generic {
            search: Either::Narrow(Search::new(spec)),
            explained: 0,
            pending_seen: 0,
            pending: Vec::new(),
        }
    }

    /// How many configurations it took.
    pub fn width(&self) -> Width {
        either!(&self.search, search => search.width)
    }

    fn call(&mut self, cx: &Context<'_>, id: OpId, row: &Operation) {
        if let Either::Narrow(search) = &self.search
            && !search.has_room()
            && let Either::Narrow(search) = std::mem::replace(&mut self.search, Either::Neither)
        {
            self.search = Either::Wide(search.widen());
        }
        either!(&mut self.search, search => search.call(id, row, cx.symbols));
    }

    fn note_pending(&mut self, timeline: &Timeline) {
        if timeline.pending().len() > self.pending_seen {
            let new = self.pending_seen..timeline.pending().len();
            self.pending.extend(new.map(|i| (timeline.earliest(OpId::pending(i as u32)), i as u32)));
            self.pending.sort_unstable_by(|a, b| b.cmp(a));
            self.pending_seen = timeline.pending().len();
        }
    }

    /// Everything called before the return of number `gap`.
    fn calls(&mut self, cx: &Context<'_>, timeline: &Timeline, gap: u32) {
        for id in timeline.called_in(gap) {
            self.call(cx, id, timeline.op(id));
        }
        while let Some(&(earliest, index)) = self.pending.last()
            && earliest <= gap
        {
            self.pending.pop();
            self.call(cx, OpId::pending(index), &timeline.pending()[index as usize]);
        }
    }

    fn violation(&self, cx: &Context<'_>, timeline: &Timeline, at: OpId) -> Violation {
        let row = timeline.op(at);
        let (mut shown, count) = either!(&self.search, search => {
            let states = search.states_met();
            let machine = &search.machine;
            let show = |&state: &u32| machine.spec().show_named(machine.state(state), cx.symbols);
            (states.iter().take(4).map(show).collect::<Vec<_>>(), states.len())
        });
        if count > shown.len() {
            shown.push(format!("one of {} others", count - shown.len()));
        }
        let what = either!(&self.search, search => describe(search.machine.spec(), row, cx));
        let reason = format!("{what} finds no place: the state could only be {}", shown.join(" or "));
        Violation { at, core: Vec::new(), reason }
    }
}

/// An operation as the notation writes it.
fn describe<S: Spec>(spec: &S, row: &Operation, cx: &Context<'_>) -> String {
    let name = spec.signature().operations.get(usize::from(row.op().0)).map_or("?", |decl| decl.name);
    let arg = match row.arg.is_null() {
        true => String::new(),
        false => format!(" {}", cx.symbols.value(row.arg)),
    };
    let result = cx.symbols.value(row.result);
    let result = if result.is_null() && row.arg.is_null() || !result.is_null() {
        format!(" -> {result}")
    } else {
        String::new()
    };
    format!("{name}{arg}{result} [{},{}]", row.call, row.ret)
}

impl<S: Spec> Engine for Generic<S> {
    fn name(&self) -> &'static str {
        "metastates"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        self.note_pending(timeline);
        while self.explained < upto {
            let gap = self.explained;
            self.calls(cx, timeline, gap);
            let id = OpId::completed(gap);
            if !either!(&mut self.search, search => search.explain(id, cx.budget)?) {
                return Err(Stop::Violated(self.violation(cx, timeline, id)));
            }
            self.explained += 1;
            // What is kept is put in order after each return, which takes as long as there is much of it.
            if gap & 1023 == 1023 || either!(&self.search, search => search.is_crowded()) {
                cx.budget.check(self.memory())?;
            }
            either!(&mut self.search, search => search.collect(&mut witness.order));
        }
        Ok(())
    }

    fn finish(&mut self, _cx: &Context<'_>, _timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        either!(&mut self.search, search => search.finish(&mut witness.order));
        Ok(())
    }

    fn memory(&self) -> usize {
        either!(&self.search, search => search.bytes())
    }

    fn explained(&self) -> Option<u32> {
        Some(self.explained)
    }
}
