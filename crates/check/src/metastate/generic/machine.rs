//! The specification as a machine over small numbers: states and classes of operations are interned, and
//! every step is asked of the specification once.
//!
//! Operations of one *class* have the same name, argument and result (and process, where the specification
//! looks at it), so they can stand in for one another. A pending operation has a class of its own kind: any
//! result will do, and there may be several states after it. States and classes that no configuration and no
//! open operation needs are forgotten when the tables have doubled.

use std::sync::Arc;

use linpoint_history::{Call, OpCode, Operation, ProcessId, Spec, Symbols, Value, ValueId};
use rustc_hash::FxHashMap;

/// What a step leads to: [`REFUSED`], a state, or (with the top bit) the number of a list of states.
pub type Outcome = u32;
/// The specification does not allow the step.
pub const REFUSED: Outcome = u32::MAX;
const UNKNOWN: Outcome = u32::MAX - 1;
const MANY: u32 = 1 << 31;

/// The first classes and states have their steps in a plain table.
const DENSE_CLASSES: u32 = 64;
const DENSE_STATES: u32 = 1 << 13;

/// See the module's text.
#[derive(Debug)]
pub struct Machine<S: Spec> {
    spec: S,
    observes_process: bool,
    states: Vec<Arc<S::State>>,
    state_ids: FxHashMap<Arc<S::State>, u32>,
    classes: Vec<Class>,
    class_ids: FxHashMap<ClassKey, u32>,
    dense: Vec<Outcome>,
    sparse: FxHashMap<u64, Outcome>,
    lists: Vec<Box<[u32]>>,
    /// Bytes of all states.
    state_bytes: usize,
    kept_states: usize,
    kept_classes: usize,
}

type ClassKey = (OpCode, ProcessId, ValueId, Option<ValueId>);

#[derive(Clone, Debug)]
struct Class {
    key: ClassKey,
    arg: Value,
    /// `None`: pending, any result.
    result: Option<Value>,
    read_only: bool,
}

impl Class {
    fn call(&self) -> Call<'_> {
        Call { op: self.key.0, process: self.key.1, arg: &self.arg }
    }
}

impl<S: Spec> Machine<S> {
    /// A machine in the initial state, which is number 0.
    pub fn new(spec: S) -> Machine<S> {
        let initial = Arc::new(spec.initial());
        Machine {
            observes_process: spec.observes_process(),
            spec,
            states: vec![initial.clone()],
            state_ids: FxHashMap::from_iter([(initial, 0)]),
            classes: Vec::new(),
            class_ids: FxHashMap::default(),
            dense: Vec::new(),
            sparse: FxHashMap::default(),
            lists: Vec::new(),
            state_bytes: 0,
            kept_states: 1,
            kept_classes: 0,
        }
    }

    /// The specification.
    pub fn spec(&self) -> &S {
        &self.spec
    }

    /// The state behind a number.
    pub fn state(&self, state: u32) -> &S::State {
        &self.states[state as usize]
    }

    /// The class of an operation.
    pub fn class(&mut self, op: &Operation, symbols: &Symbols) -> u32 {
        let process = if self.observes_process { op.process() } else { ProcessId(0) };
        let key = (op.op(), process, op.arg, (!op.is_pending()).then_some(op.result));
        if let Some(&class) = self.class_ids.get(&key) {
            return class;
        }
        let class = self.classes.len() as u32;
        let mut new = Class {
            key,
            arg: symbols.value(op.arg),
            result: key.3.map(|result| symbols.value(result)),
            read_only: false,
        };
        new.read_only = self.spec.is_read_only(new.call(), new.result.as_ref());
        self.classes.push(new);
        self.class_ids.insert(key, class);
        class
    }

    /// Can operations of this class never change the state?
    pub fn is_read_only(&self, class: u32) -> bool {
        self.classes[class as usize].read_only
    }

    /// What an operation of `class` leads to from `state`.
    #[inline]
    pub fn step(&mut self, state: u32, class: u32) -> Outcome {
        if class < DENSE_CLASSES && state < DENSE_STATES {
            let cell = (state * DENSE_CLASSES + class) as usize;
            match self.dense.get(cell) {
                Some(&known) if known != UNKNOWN => return known,
                _ => {}
            }
            let found = self.ask(state, class);
            if cell >= self.dense.len() {
                self.dense.resize((state as usize + 1) * DENSE_CLASSES as usize, UNKNOWN);
            }
            self.dense[cell] = found;
            return found;
        }
        let cell = u64::from(state) << 32 | u64::from(class);
        if let Some(&known) = self.sparse.get(&cell) {
            return known;
        }
        let found = self.ask(state, class);
        self.sparse.insert(cell, found);
        found
    }

    /// The states of an outcome.
    #[inline]
    pub fn states_of(&self, outcome: Outcome) -> Successors<'_> {
        match outcome {
            REFUSED => Successors::One(None),
            list if list & MANY != 0 => Successors::Many(self.lists[(list & !MANY) as usize].iter()),
            state => Successors::One(Some(state)),
        }
    }

    /// The state at `index` of an outcome, if there are so many.
    #[inline]
    pub fn nth_state(&self, outcome: Outcome, index: usize) -> Option<u32> {
        match outcome {
            REFUSED => None,
            list if list & MANY != 0 => self.lists[(list & !MANY) as usize].get(index).copied(),
            state => (index == 0).then_some(state),
        }
    }

    fn ask(&mut self, state: u32, class: u32) -> Outcome {
        let from = self.states[state as usize].clone();
        let class = &self.classes[class as usize];
        if let Some(result) = &class.result {
            return match self.spec.step(&from, class.call(), result) {
                Some(next) => self.intern(next),
                None => REFUSED,
            };
        }
        let mut next = Vec::new();
        self.spec.step_pending(&from, class.call(), &mut next);
        let mut ids: Vec<u32> = next.into_iter().map(|state| self.intern(state)).collect();
        ids.retain(|&id| id != state);
        ids.sort_unstable();
        ids.dedup();
        match ids[..] {
            [] => REFUSED,
            [only] => only,
            _ => {
                self.lists.push(ids.into());
                MANY | (self.lists.len() - 1) as u32
            }
        }
    }

    fn intern(&mut self, state: S::State) -> u32 {
        if let Some(&id) = self.state_ids.get(&state) {
            return id;
        }
        let id = self.states.len() as u32;
        assert!(id < MANY - 2, "less than 2^31 states are known at once");
        self.state_bytes += self.spec.state_bytes(&state);
        let state = Arc::new(state);
        self.states.push(state.clone());
        self.state_ids.insert(state, id);
        id
    }

    /// Is it time to forget? The tables have doubled since the last time.
    pub fn is_due(&self) -> bool {
        self.states.len() > 2 * self.kept_states + 4096
            || self.classes.len() > 2 * self.kept_classes + 1024
            || self.sparse.len() > 1 << 21
    }

    /// Forgets all steps, and all states and classes but those named, which get new numbers in place of the
    /// old.
    pub fn forget<'a>(
        &mut self,
        live_states: impl Iterator<Item = &'a mut u32>,
        live_classes: impl Iterator<Item = &'a mut u32>,
    ) {
        let old_states = std::mem::take(&mut self.states);
        let old_classes = std::mem::take(&mut self.classes);
        self.state_ids.clear();
        self.class_ids.clear();
        self.dense.clear();
        self.sparse = FxHashMap::default();
        self.lists.clear();
        self.state_bytes = 0;
        for id in live_states {
            let state = &old_states[*id as usize];
            *id = match self.state_ids.get(state) {
                Some(&new) => new,
                None => {
                    self.state_bytes += self.spec.state_bytes(state);
                    self.states.push(state.clone());
                    self.state_ids.insert(state.clone(), self.states.len() as u32 - 1);
                    self.states.len() as u32 - 1
                }
            };
        }
        for id in live_classes {
            let class = &old_classes[*id as usize];
            *id = *self.class_ids.entry(class.key).or_insert_with(|| {
                self.classes.push(class.clone());
                self.classes.len() as u32 - 1
            });
        }
        self.kept_states = self.states.len();
        self.kept_classes = self.classes.len();
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        // A table has room for more than it holds: two thirds of it are in use, on the average.
        let state = size_of::<Arc<S::State>>() + 16 + 16;
        self.state_bytes
            + self.states.capacity() * size_of::<Arc<S::State>>()
            + self.state_ids.capacity() * state
            + self.classes.len() * (size_of::<Class>() + 64)
            + self.dense.capacity() * 4
            + self.sparse.capacity() * 20
            + self.lists.len() * 48
    }
}

/// See [`Machine::states_of`].
#[derive(Clone, Debug)]
pub enum Successors<'a> {
    /// None or one.
    One(Option<u32>),
    /// Several.
    Many(std::slice::Iter<'a, u32>),
}

impl Iterator for Successors<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        match self {
            Successors::One(state) => state.take(),
            Successors::Many(states) => states.next().copied(),
        }
    }
}
