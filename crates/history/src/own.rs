//! A specification that is not built in: a Rust type of the user's own, or a `spec` block of the algorithm
//! language.
//!
//! Engines do not know its states. It has names for its operations, a state to start in, and says for a call
//! in a state what it may answer and where that leaves the object; [`Builtin::own`](crate::Builtin::own)
//! makes of it what every engine takes. Whoever implements [`OwnSpec`] for a type of states keeps them behind
//! an [`OwnState`].
//!
//! Code that somebody else wrote may panic, or be too long to be worked out. Then outcomes are missing, and a
//! history that nothing explains might be explained by one of these: [`OwnSpec::shortfall`] says so, and such
//! a history is not told to be violated.

pub(crate) mod several;

use std::any::Any;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub use several::Undetermined;

use crate::signature::Signature;
use crate::spec::Call;
use crate::symbols::Symbols;
use crate::value::Value;

/// A sequential object that somebody wrote.
pub trait OwnSpec: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// What it is called.
    fn name(&self) -> &str;

    /// The operations it has.
    fn signature(&self) -> &Signature;

    /// Where it starts.
    fn initial(&self) -> OwnState;

    /// Everything `call` may answer in `state`, with the state after it. Nothing: the operation has to wait.
    /// More than one: a choice. Answers may repeat: then what an operation answered leaves open where it led.
    fn outcomes(&self, state: &OwnState, call: Call<'_>) -> Vec<(Value, OwnState)>;

    /// The same, if it is known by `until`; `None` where the time is up first. Whoever can stop in the middle of
    /// a call should; this asks before it.
    fn outcomes_until(
        &self,
        state: &OwnState,
        call: Call<'_>,
        until: Instant,
    ) -> Option<Vec<(Value, OwnState)>> {
        (Instant::now() <= until).then(|| self.outcomes(state, call))
    }

    /// May an operation lead to several states with one answer? Then no operation only looks: an answer that says
    /// which of the states it was rules out the others. Saying `true` is always right.
    fn leaves_open(&self) -> bool {
        true
    }

    /// As [`Spec::is_read_only`](crate::Spec::is_read_only), where nothing is left open.
    fn is_read_only(&self, call: Call<'_>, result: Option<&Value>) -> bool {
        let _ = (call, result);
        false
    }

    /// Does it matter who calls?
    fn observes_process(&self) -> bool {
        false
    }

    /// A state as a person reads it.
    fn show(&self, state: &OwnState) -> String {
        format!("{state:?}")
    }

    /// The same, with processes by their names.
    fn show_named(&self, state: &OwnState, names: &Symbols) -> String {
        let _ = names;
        self.show(state)
    }

    /// About how many bytes a state takes.
    fn state_bytes(&self, state: &OwnState) -> usize {
        let _ = state;
        256
    }

    /// What the object holds, as entries in the order of their keys and without nulls; `None` where it has no
    /// view.
    fn view(&self, state: &OwnState) -> Option<Vec<(Value, Value)>> {
        let _ = state;
        None
    }

    /// Why outcomes may be missing from what [`OwnSpec::outcomes`] said until now, if they may.
    fn shortfall(&self) -> Option<String> {
        None
    }
}

/// What an [`OwnSpec`] keeps in a state: any type of its own.
trait Inside: Any + Debug + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn digest(&self, hasher: &mut dyn Hasher);
    fn as_any(&self) -> &dyn Any;
}

impl<T: Any + Debug + Eq + Hash + Send + Sync> Inside for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }

    fn digest(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A state of an [`OwnSpec`]. Copies share what is inside.
#[derive(Clone)]
pub struct OwnState(Arc<dyn Inside>);

impl OwnState {
    /// A state with `inside`.
    pub fn new<T: Any + Debug + Eq + Hash + Send + Sync>(inside: T) -> OwnState {
        OwnState(Arc::new(inside))
    }

    /// What is inside, if it is of that type.
    #[must_use]
    pub fn inside<T: Any>(&self) -> Option<&T> {
        (*self.0).as_any().downcast_ref()
    }
}

impl PartialEq for OwnState {
    fn eq(&self, other: &OwnState) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.equals((*other.0).as_any())
    }
}

impl Eq for OwnState {}

impl Hash for OwnState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.digest(state);
    }
}

impl Debug for OwnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A specification of one's own among the settings of a [`Builtin`](crate::Builtin): the same one if it is
/// the same place in memory.
#[derive(Clone)]
pub(crate) struct Shared {
    pub spec: Arc<dyn OwnSpec>,
    until: Option<Until>,
}

/// When a check is over, and whether its specification was asked for more after that.
#[derive(Clone)]
struct Until {
    moment: Instant,
    was_missed: Arc<AtomicBool>,
}

impl Shared {
    pub fn new(spec: Arc<dyn OwnSpec>) -> Shared {
        Shared { spec, until: None }
    }

    /// The same, for one check that is over at `deadline`, if it ever is.
    pub fn until(&self, deadline: Option<Instant>) -> Shared {
        let until = deadline.map(|moment| Until { moment, was_missed: Arc::default() });
        Shared { spec: Arc::clone(&self.spec), until }
    }

    /// What a call may answer in one state of the specification; nothing after the deadline.
    pub fn outcomes(&self, state: &OwnState, call: Call<'_>) -> Vec<(Value, OwnState)> {
        let Some(until) = &self.until else { return self.spec.outcomes(state, call) };
        self.spec.outcomes_until(state, call, until.moment).unwrap_or_else(|| {
            until.was_missed.store(true, Ordering::Relaxed);
            Vec::new()
        })
    }

    /// Was anything asked for after the deadline?
    pub fn ran_out_of_time(&self) -> bool {
        self.until.as_ref().is_some_and(|until| until.was_missed.load(Ordering::Relaxed))
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.spec, &other.spec)
    }
}

impl Eq for Shared {}

impl Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.fmt(f)
    }
}
