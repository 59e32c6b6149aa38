//! The built-in specifications: registers, collections, maps, counters, locks, snapshots.
//!
//! Each is small enough to be read and believed: [`Builtin::outcomes`] lists what an operation may answer in
//! a state, and where that leaves the object. Everything else (engines, rechecks, generators) is compared
//! with it. A history whose operations carry a key is of several objects, one a key, each with its own state.

mod bag;
mod catalog;
mod counter;
mod lock;
mod map;
mod names;
mod register;
mod sequence;
mod snapshot;
mod start;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashSet;

use crate::operation::{OpCode, ProcessId};
use crate::own::{OwnSpec, OwnState, Shared, Undetermined, several};
use crate::signature::{Shape, Signature};
use crate::spec::{Call, Spec};
use crate::symbols::{Symbols, show_process};
use crate::value::Value;

pub use catalog::Catalog;
pub use names::{SpecError, describe, parse};

/// Which built-in specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Register,
    CasRegister,
    RmwRegister,
    Kv,
    Queue,
    Stack,
    Deque,
    PriorityQueue,
    PriorityQueueMax,
    Set,
    Multiset,
    List,
    Map,
    Counter,
    Lock,
    RwLock,
    Semaphore,
    Snapshot,
    /// Not built in: see [`Builtin::own`].
    Own,
}

/// The codes of operations, a module a family: `codes::queue::ENQUEUE`.
#[allow(missing_docs)]
pub mod codes {
    macro_rules! codes {
        ($($module:ident: $($name:ident = $code:literal),*;)*) => {
            $(pub mod $module {
                use crate::operation::OpCode;
                $(pub const $name: OpCode = OpCode($code);)*
            })*
        };
    }
    codes! {
        register: WRITE = 0, READ = 1, CAS = 2, SWAP = 3, FETCH_ADD = 4;
        kv: GET = 0, PUT = 1, APPEND = 2, DELETE = 3, CAS = 4;
        queue: ENQUEUE = 0, DEQUEUE = 1;
        stack: PUSH = 0, POP = 1;
        deque: PUSH_FRONT = 0, PUSH_BACK = 1, POP_FRONT = 2, POP_BACK = 3;
        priority_queue: INSERT = 0, REMOVE = 1, CHANGE_KEY = 2;
        set: ADD = 0, REMOVE = 1, CONTAINS = 2, INSERT_PAIR = 3;
        map: INSERT = 0, GET = 1, REMOVE = 2, LEN = 3, IS_EMPTY = 4;
        counter: INCREMENT = 0, ADD = 1, READ = 2;
        lock: ACQUIRE = 0, RELEASE = 1;
        rw_lock: READ_LOCK = 0, READ_UNLOCK = 1, WRITE_LOCK = 2, WRITE_UNLOCK = 3;
        snapshot: WRITE = 0, SCAN = 1;
    }
}

/// A built-in specification with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Which.
    pub kind: Kind,
    /// Room for this many elements (collections) or this many permits (semaphore); `None`: no bound.
    pub capacity: Option<usize>,
    /// May "empty" or "full" be reported at any time?
    pub spurious: bool,
    /// What it starts with: a value for registers and counters, a list of contents for collections, in the
    /// form that [`Builtin::with_initial`] gives it.
    pub initial: Value,
    signature: Signature,
    /// The specification that is not built in, if it is one.
    own: Option<Shared>,
}

/// A state of a built-in specification.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Registers and counters.
    Value(Value),
    /// Queue (front first), stack (bottom first), deque (front first), snapshot (by index).
    Sequence(VecDeque<Value>),
    /// Priority queue, set, multiset, list: how often each element is in it.
    Bag(BTreeMap<Value, u32>),
    /// Map.
    Map(BTreeMap<Value, Value>),
    /// Locks: who holds how many shares, and who holds it alone.
    Holders(BTreeMap<ProcessId, u32>, Option<ProcessId>),
    /// Of a specification that is not built in.
    Own(OwnState),
}

/// So many states are compared one by one; more are hashed.
const FEW: usize = 16;

/// What an operation may answer, and the state after it. A result of `None` stands for any.
pub(crate) type Outcomes = Vec<(Value, State)>;

impl Builtin {
    /// The specification with its usual settings.
    pub fn new(kind: Kind) -> Builtin {
        let initial = match kind {
            Kind::RmwRegister | Kind::Counter => Value::Int(0),
            _ => Value::Null,
        };
        let signature = names::signature(kind, false);
        Builtin { kind, capacity: None, spurious: false, initial, signature, own: None }
    }

    /// A specification that is not built in.
    pub fn own(spec: Arc<dyn OwnSpec>) -> Builtin {
        let signature = spec.signature().clone();
        let own = Some(Shared::new(spec));
        Builtin { kind: Kind::Own, capacity: None, spurious: false, initial: Value::Null, signature, own }
    }

    /// The specification that is not built in, if it is one.
    pub fn as_own(&self) -> Option<&dyn OwnSpec> {
        self.own.as_ref().map(|own| &*own.spec)
    }

    /// The same specification for one check that is over at `deadline`. One that is not built in may take any
    /// time to say what an operation may answer: after the deadline it says nothing, and then
    /// [`Builtin::ran_out_of_time`].
    #[must_use]
    pub fn until(&self, deadline: Option<Instant>) -> Builtin {
        Builtin { own: self.own.as_ref().map(|own| own.until(deadline)), ..self.clone() }
    }

    /// Was it asked after the deadline of [`Builtin::until`]? Then outcomes are missing: what nothing explains
    /// may have an explanation.
    pub fn ran_out_of_time(&self) -> bool {
        self.own.as_ref().is_some_and(Shared::ran_out_of_time)
    }

    /// What the object holds in a state, as the specification's own view says; `None` where it says nothing.
    ///
    /// # Errors
    /// Where the specification leaves open what that is.
    pub fn own_view(&self, state: &State) -> Result<Option<Vec<(Value, Value)>>, Undetermined> {
        match (self.as_own(), state) {
            (Some(own), State::Own(state)) => several::view(own, state),
            _ => Ok(None),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        self.as_own().map_or(self.kind.name(), OwnSpec::name)
    }

    /// Its one name with its settings, which [`parse`] reads: the same for all that are the same, however
    /// they were written.
    pub fn full_name(&self) -> String {
        let mut name = self.name().to_owned();
        match self.capacity {
            // One permit is what a semaphore has unless more is said.
            None => {}
            Some(1) if self.kind == Kind::Semaphore => {}
            Some(capacity) => name += &format!(":capacity={capacity}"),
        }
        if self.spurious {
            name += ":spurious";
        }
        name
    }

    /// The one form of answers that mean the same, which the steps of the specification give: `true` that
    /// says no more than "done" is null, and a scan shows no cells after the last that was written.
    pub fn plain_answer(&self, op: OpCode, answer: Value) -> Value {
        match answer {
            Value::Bool(true) if matches!(self.signature.decl(op).result, Shape::Unit | Shape::Done) => {
                Value::Null
            }
            Value::List(cells) if self.kind == Kind::Snapshot => {
                let written = cells.iter().rposition(|cell| !cell.is_null()).map_or(0, |last| last + 1);
                Value::list(cells.iter().take(written).cloned())
            }
            answer => answer,
        }
    }

    /// With room for `capacity` elements; insertions then answer true or false.
    pub fn with_capacity(mut self, capacity: usize) -> Builtin {
        self.capacity = Some(capacity);
        self.signature = names::signature(self.kind, self.answers_insertions());
        self
    }

    /// With "empty" and "full" possible at any time.
    pub fn with_spurious(mut self) -> Builtin {
        self.spurious = true;
        self
    }

    /// Starting from `initial`, kept in the one form of all that mean the same.
    pub fn with_initial(mut self, initial: Value) -> Builtin {
        self.initial = start::canonical(self.kind, initial);
        self
    }

    /// Do insertions answer true or false (a bounded collection)?
    pub fn answers_insertions(&self) -> bool {
        self.capacity.is_some() && self.kind != Kind::Semaphore
    }

    /// Every result the operation may give in `state`, with the state after it.
    pub fn outcomes(&self, state: &State, call: Call<'_>) -> Vec<(Value, State)> {
        if let (Some(own), State::Own(state)) = (&self.own, state) {
            let told = several::outcomes(own, state, call).into_iter();
            return told.map(|(answer, after)| (answer, State::Own(after))).collect();
        }
        match (self.kind, state) {
            (Kind::Register | Kind::CasRegister | Kind::RmwRegister, State::Value(v)) => {
                register::register(v, call)
            }
            (Kind::Kv, State::Value(v)) => register::kv(&self.initial, v, call),
            (Kind::Queue, State::Sequence(s)) => sequence::queue(self, s, call),
            (Kind::Stack, State::Sequence(s)) => sequence::stack(self, s, call),
            (Kind::Deque, State::Sequence(s)) => sequence::deque(self, s, call),
            (Kind::PriorityQueue | Kind::PriorityQueueMax, State::Bag(b)) => {
                bag::priority_queue(self, b, call)
            }
            (Kind::Set, State::Bag(b)) => bag::set(self, b, call),
            (Kind::Multiset | Kind::List, State::Bag(b)) => bag::multiset(self, b, call),
            (Kind::Map, State::Map(m)) => map::map(m, call),
            (Kind::Counter, State::Value(v)) => counter::counter(v, call),
            (Kind::Lock, State::Holders(_, owner)) => lock::lock(*owner, call),
            (Kind::RwLock, State::Holders(readers, writer)) => lock::rw_lock(readers, *writer, call),
            (Kind::Semaphore, State::Holders(held, _)) => {
                lock::semaphore(self.capacity.unwrap_or(1), held, call)
            }
            (Kind::Snapshot, State::Sequence(cells)) => snapshot::snapshot(cells, call),
            (kind, state) => unreachable!("a {kind:?} never has the state {state:?}"),
        }
    }
}

impl Spec for Builtin {
    type State = State;

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn initial(&self) -> State {
        let contents = || match start::canonical(self.kind, self.initial.clone()) {
            Value::List(items) => items.to_vec(),
            _ => Vec::new(),
        };
        match self.kind {
            Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Kv | Kind::Counter => {
                State::Value(self.initial.clone())
            }
            Kind::Queue | Kind::Stack | Kind::Deque | Kind::Snapshot => State::Sequence(contents().into()),
            Kind::PriorityQueue | Kind::PriorityQueueMax | Kind::Multiset | Kind::List => {
                let mut bag = BTreeMap::new();
                contents().into_iter().for_each(|item| *bag.entry(item).or_insert(0) += 1);
                State::Bag(bag)
            }
            Kind::Set => State::Bag(contents().into_iter().map(|item| (item, 1)).collect()),
            Kind::Map => {
                let pair = |item: Value| item.as_pair().map(|(k, v)| (k.clone(), v.clone()));
                State::Map(contents().into_iter().filter_map(pair).collect())
            }
            Kind::Lock | Kind::RwLock | Kind::Semaphore => State::Holders(BTreeMap::new(), None),
            Kind::Own => State::Own(self.as_own().expect("it is one of these").initial()),
        }
    }

    fn step(&self, state: &State, call: Call<'_>, result: &Value) -> Option<State> {
        if let (Kind::Snapshot, codes::snapshot::SCAN, State::Sequence(cells)) = (self.kind, call.op, state) {
            return snapshot::scan_fits(cells, result).then(|| state.clone());
        }
        if let (Some(own), State::Own(state)) = (&self.own, state) {
            return several::step(own, state, call, result).map(State::Own);
        }
        self.outcomes(state, call).into_iter().find(|(answer, _)| answer == result).map(|(_, next)| next)
    }

    fn step_pending(&self, state: &State, call: Call<'_>, next: &mut Vec<State>) {
        let outcomes = self.outcomes(state, call);
        if next.len() + outcomes.len() > FEW {
            let mut met: FxHashSet<State> = next.iter().cloned().collect();
            next.extend(
                outcomes
                    .into_iter()
                    .map(|(_, after)| after)
                    .filter(|after| after != state && met.insert(after.clone())),
            );
            return;
        }
        for (_, after) in outcomes {
            if after != *state && !next.contains(&after) {
                next.push(after);
            }
        }
    }

    fn is_read_only(&self, call: Call<'_>, result: Option<&Value>) -> bool {
        match self.as_own() {
            Some(own) => !own.leaves_open() && own.is_read_only(call, result),
            None => read_only(self.kind, call.op, result),
        }
    }

    fn commutes(&self, a: (Call<'_>, &Value), b: (Call<'_>, &Value)) -> bool {
        let looks = |x: &(Call<'_>, &Value)| self.is_read_only(x.0, Some(x.1));
        looks(&a) && looks(&b) || changes_commute(self, a, b)
    }

    fn observes_process(&self) -> bool {
        match self.as_own() {
            Some(own) => own.observes_process(),
            None => matches!(self.kind, Kind::Lock | Kind::RwLock | Kind::Semaphore),
        }
    }

    fn state_bytes(&self, state: &State) -> usize {
        let behind = match state {
            State::Value(value) => value.heap_bytes(),
            State::Sequence(items) => items.iter().map(Value::bytes).sum(),
            // A node of the tree is shared by a few entries.
            State::Bag(bag) => bag.keys().map(|item| item.bytes() + 16).sum(),
            State::Map(map) => map.iter().map(|(key, value)| key.bytes() + value.bytes() + 16).sum(),
            State::Holders(shares, _) => shares.len() * 24,
            State::Own(state) => self.as_own().map_or(0, |own| several::bytes(own, state)),
        };
        size_of::<State>() + behind
    }

    fn show(&self, state: &State) -> String {
        match state {
            State::Value(v) => v.to_string(),
            State::Sequence(cells) if self.kind == Kind::Snapshot => snapshot::show(cells),
            State::Sequence(items) => Value::list(items.iter().cloned()).to_string(),
            State::Bag(bag) => {
                let item = |(v, &n): (&Value, &u32)| std::iter::repeat_n(v.to_string(), n as usize);
                format!("{{{}}}", bag.iter().flat_map(item).collect::<Vec<_>>().join(", "))
            }
            State::Map(map) => {
                let entries: Vec<_> = map.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                format!("{{{}}}", entries.join(", "))
            }
            State::Holders(shares, owner) => holders(shares, *owner, |process| process.0.to_string()),
            State::Own(state) => {
                self.as_own().map_or_else(String::new, |own| several::show(own, state, None))
            }
        }
    }

    fn show_named(&self, state: &State, names: &Symbols) -> String {
        match state {
            State::Holders(shares, owner) => {
                holders(shares, *owner, |process| show_process(&names.process_name(process)))
            }
            State::Own(state) => {
                self.as_own().map_or_else(String::new, |own| several::show(own, state, Some(names)))
            }
            other => self.show(other),
        }
    }
}

/// Who holds a lock: `held by process 3`, `shared by processes 1, 2 and 2`.
fn holders(
    shares: &BTreeMap<ProcessId, u32>,
    owner: Option<ProcessId>,
    name: impl Fn(ProcessId) -> String,
) -> String {
    if let Some(owner) = owner {
        return format!("held by process {}", name(owner));
    }
    let mut names: Vec<String> =
        shares.iter().flat_map(|(p, &n)| std::iter::repeat_n(name(*p), n as usize)).collect();
    names.sort();
    match &names[..] {
        [] => "free".into(),
        [only] => format!("shared by process {only}"),
        [first @ .., last] => format!("shared by processes {} and {last}", first.join(", ")),
    }
}

/// Can this operation with this result never change the state?
fn read_only(kind: Kind, op: OpCode, result: Option<&Value>) -> bool {
    use codes::*;
    let is = |v: Value| result == Some(&v);
    match kind {
        Kind::Register | Kind::CasRegister | Kind::RmwRegister => {
            op == register::READ || op == register::CAS && is(Value::Bool(false))
        }
        Kind::Kv => op == kv::GET || op == kv::CAS && is(Value::Bool(false)),
        Kind::Queue => {
            is(Value::Bool(false)) && op == queue::ENQUEUE || is(Value::Null) && op == queue::DEQUEUE
        }
        Kind::Stack => is(Value::Bool(false)) && op == stack::PUSH || is(Value::Null) && op == stack::POP,
        Kind::Deque => {
            let pop = op == deque::POP_FRONT || op == deque::POP_BACK;
            is(Value::Bool(false)) && !pop || is(Value::Null) && pop
        }
        Kind::PriorityQueue | Kind::PriorityQueueMax => {
            let refused = if op == priority_queue::REMOVE { Value::Null } else { Value::Bool(false) };
            is(refused)
        }
        Kind::Set | Kind::Multiset | Kind::List => op == set::CONTAINS || is(Value::Bool(false)),
        // Not a removal that answers null: it may have taken an entry whose value is null.
        Kind::Map => op == map::GET || op == map::LEN || op == map::IS_EMPTY,
        Kind::Counter => op == counter::READ,
        Kind::Lock | Kind::RwLock | Kind::Semaphore => is(Value::Bool(false)),
        Kind::Snapshot => op == snapshot::SCAN,
        Kind::Own => false,
    }
}

/// Do two operations, one of which at least may change the state, commute in every state?
fn changes_commute(spec: &Builtin, a: (Call<'_>, &Value), b: (Call<'_>, &Value)) -> bool {
    use codes::*;
    let unbounded = spec.capacity.is_none();
    match spec.kind {
        // Insertions into a bag do, whatever their values.
        Kind::PriorityQueue | Kind::PriorityQueueMax => {
            unbounded && a.0.op == priority_queue::INSERT && b.0.op == priority_queue::INSERT
        }
        // What concerns different elements does; `insert_pair` concerns two.
        Kind::Set | Kind::Multiset | Kind::List => {
            let single = a.0.op != set::INSERT_PAIR && b.0.op != set::INSERT_PAIR;
            let insertions = spec.kind != Kind::Set && a.0.op == set::ADD && b.0.op == set::ADD;
            unbounded && single && (insertions || a.0.arg != b.0.arg)
        }
        Kind::Counter => a.0.op != counter::READ && b.0.op != counter::READ,
        _ => false,
    }
}

/// What a successful insertion answers.
fn done(spec: &Builtin) -> Value {
    if spec.answers_insertions() { Value::Bool(true) } else { Value::Null }
}
