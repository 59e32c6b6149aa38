//! What an execution knows of a thread of the program.

use crate::event::{Action, Intent, Loc};
use crate::fair::Turns;
use crate::local::Locals;
use crate::run::Mark;
use crate::spin::Spin;

/// A thread of the program. Kept from run to run, for the room that its lists have.
pub(super) struct Thread {
    /// What it announced, while it stands there. While it runs, this may be an older announcement.
    pub(super) intent: Option<Intent>,
    /// Of that, what every step asks for.
    pub(super) action: Action,
    pub(super) waits: bool,
    /// What it announced last touches; [`Loc::UNKNOWN`] where that is not known beforehand.
    pub(super) loc: Loc,
    /// The address of that, if the access to it can be noted in the short way ([`super::Handle::access`]); otherwise 0. It is
    /// taken back where that changes while the thread stands there.
    pub(super) address: usize,
    /// Where in the source it was announced, as a number.
    pub(super) site: usize,
    /// The bit of that place ([`Spin::bit`]).
    pub(super) place: u64,
    /// Ran up to its first announcement yet?
    pub(super) started: bool,
    pub(super) steps: u32,
    /// Where its program's part of the stack begins.
    pub(super) top: usize,
    /// A fingerprint of its local state at its announcement, if states are compared.
    pub(super) local: u128,
    /// How many operations it began.
    pub(super) operations: u32,
    /// How many steps it had taken when its latest operation began; [`Mark::NEVER`] once that has made a step.
    pub(super) called_at: u32,
    /// The mark of that call, as an index into the run's marks.
    pub(super) call: u32,
    /// Is it in an operation?
    pub(super) operating: bool,
    /// Does the monitor of claims know of that operation?
    pub(super) entered: bool,
    /// What it read since it last wrote.
    pub(super) spin: Spin,
    /// Whom it lets go first.
    pub(super) turns: Turns,
    /// Its thread-local values.
    pub(super) locals: Locals,
    /// How often it was unwound because its run is over.
    pub(super) unwound: u32,
}

impl Default for Thread {
    fn default() -> Thread {
        Thread {
            intent: None,
            action: Action::Block,
            waits: false,
            loc: Loc::UNKNOWN,
            address: 0,
            site: 0,
            place: 0,
            started: false,
            steps: 0,
            top: 0,
            local: 0,
            operations: 0,
            called_at: Mark::NEVER,
            call: 0,
            operating: false,
            entered: false,
            spin: Spin::default(),
            turns: Turns::default(),
            locals: Locals::default(),
            unwound: 0,
        }
    }
}

impl Thread {
    /// It stands before its start. What an announcement sets needs no beginning but for what says that there was none.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.intent = None;
        self.loc = Loc::UNKNOWN;
        self.address = 0;
        self.started = false;
        self.steps = 0;
        self.local = 0;
        self.operations = 0;
        self.called_at = Mark::NEVER;
        self.operating = false;
        self.entered = false;
        self.spin.clear();
        self.turns.clear();
        self.locals.forget();
        self.unwound = 0;
    }

    /// It calls an operation, with that number of marks before it.
    #[inline]
    pub(super) fn begin_operation(&mut self, marks: usize) {
        self.operating = true;
        // No loop goes on from one operation to the next.
        self.turns.clear();
        self.operations += 1;
        self.called_at = self.steps;
        self.call = marks as u32;
    }
}
