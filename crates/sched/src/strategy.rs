//! How the schedules of a program are walked: one file a strategy.
//!
//! A strategy is asked at every scheduling point past its prefix who goes next, and after every run whether there is
//! another to make. It sees threads, announcements and accesses; it knows nothing of specifications.

use crate::clocks::Clocks;
use crate::event::ThreadId;
use crate::execution::Execution;
use crate::run::Run;

pub mod dfs;
pub mod dpor;
pub mod pct;
pub mod preemption_bound;
pub mod race_reversal;
pub mod random_walk;
pub mod replay;
pub mod shared_dfs;

/// A walk over the schedules of a program.
pub trait Strategy {
    /// The schedule to follow before [`Strategy::next`] is asked.
    fn prefix(&self) -> &[ThreadId] {
        &[]
    }

    /// Does the prefix go along the run that was made just before, by the same execution, as far as the two agree?
    /// Then it is checked that the program does there what it did before.
    fn follows(&self) -> bool {
        false
    }

    /// Who goes next, one of [`Execution::enabled`]; `None` to abandon the run: what would follow is known.
    fn next(&mut self, at: &Execution) -> Option<ThreadId>;

    /// Past the prefix, shall the running thread go on as long as it can, and then the lowest that can? Then
    /// [`Strategy::next`] is not asked there: what was done is in the record.
    fn keeps_going(&self) -> bool {
        false
    }

    /// The clocks of the run that is over, if the strategy has them anyway.
    fn clocks(&mut self, run: &Run) -> Option<&Clocks> {
        let _ = run;
        None
    }

    /// Does the walk make every order of steps itself, so that a run need speak for no order but its own? If not, a run
    /// stands for its whole trace.
    fn makes_every_order(&self) -> bool {
        false
    }

    /// From the run that is over on, steps touch more than they did before (`fair.rs`): whatever was worked out
    /// from what steps of earlier runs touched must be forgotten, and the walk begins anew with the next run.
    fn restart(&mut self) {}

    /// The run is over. Is there another to make?
    fn advance(&mut self, run: &Run) -> bool;
}
