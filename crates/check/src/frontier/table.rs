//! States and steps of a specification as numbers, each asked for once.

use linpoint_history::{Call, OpCode, Operation, ProcessId, Spec, Symbols, Value, ValueId};
use rustc_hash::FxHashMap;

/// Operation, caller, argument, result (`None`: pending): operations that agree in these do the same.
type Key = (OpCode, ProcessId, ValueId, Option<ValueId>);

struct Class {
    key: Key,
    arg: Value,
    result: Option<Value>,
    only_looks: bool,
}

/// See the module's text. The state given at first is number 0.
pub(super) struct Table<'a, S: Spec> {
    spec: &'a S,
    states: Vec<S::State>,
    numbers: FxHashMap<S::State, u32>,
    classes: Vec<Class>,
    class_numbers: FxHashMap<Key, u32>,
    steps: FxHashMap<(u32, u32), Box<[u32]>>,
    due: usize,
    /// Bytes of all states.
    state_bytes: usize,
}

const ROOM: usize = 1 << 16;

impl<'a, S: Spec> Table<'a, S> {
    pub(super) fn new(spec: &'a S, first: S::State) -> Table<'a, S> {
        Table {
            spec,
            states: vec![first.clone()],
            numbers: FxHashMap::from_iter([(first, 0)]),
            classes: Vec::new(),
            class_numbers: FxHashMap::default(),
            steps: FxHashMap::default(),
            due: ROOM,
            state_bytes: 0,
        }
    }

    pub(super) fn state(&self, number: u32) -> &S::State {
        &self.states[number as usize]
    }

    pub(super) fn class(&mut self, op: &Operation, symbols: &Symbols) -> u32 {
        let key = (op.op(), op.process(), op.arg, (!op.is_pending()).then_some(op.result));
        *self.class_numbers.entry(key).or_insert_with(|| {
            let arg = symbols.value(op.arg);
            let result = key.3.map(|result| symbols.value(result));
            let call = Call { op: op.op(), process: op.process(), arg: &arg };
            let only_looks = self.spec.is_read_only(call, result.as_ref());
            self.classes.push(Class { key, arg, result, only_looks });
            (self.classes.len() - 1) as u32
        })
    }

    pub(super) fn only_looks(&self, class: u32) -> bool {
        self.classes[class as usize].only_looks
    }

    /// The states after an operation of `class` in `state`.
    pub(super) fn step(&mut self, state: u32, class: u32) -> &[u32] {
        if !self.steps.contains_key(&(state, class)) {
            let after = self.ask(state, class);
            self.steps.insert((state, class), after);
        }
        &self.steps[&(state, class)]
    }

    fn ask(&mut self, state: u32, class: u32) -> Box<[u32]> {
        let class = &self.classes[class as usize];
        let call = Call { op: class.key.0, process: class.key.1, arg: &class.arg };
        let before = &self.states[state as usize];
        let mut after = Vec::new();
        match &class.result {
            Some(result) => after.extend(self.spec.step(before, call, result)),
            None => self.spec.step_pending(before, call, &mut after),
        }
        after.into_iter().map(|state| self.number(state)).collect()
    }

    fn number(&mut self, state: S::State) -> u32 {
        if let Some(&number) = self.numbers.get(&state) {
            return number;
        }
        let number = self.states.len() as u32;
        self.state_bytes += self.spec.state_bytes(&state);
        self.states.push(state.clone());
        self.numbers.insert(state, number);
        number
    }

    /// Have the tables grown since they were last cleared?
    pub(super) fn is_due(&self) -> bool {
        self.states.len() + self.classes.len() + self.steps.len() > self.due
    }

    /// Forgets all but these states and classes, which get new numbers.
    pub(super) fn forget<'b>(
        &mut self,
        states: impl Iterator<Item = &'b mut u32>,
        classes: impl Iterator<Item = &'b mut u32>,
    ) {
        let old = std::mem::take(&mut self.states);
        self.numbers.clear();
        self.steps.clear();
        self.state_bytes = 0;
        for number in states {
            *number = self.number(old[*number as usize].clone());
        }
        let mut old: Vec<Option<Class>> = std::mem::take(&mut self.classes).into_iter().map(Some).collect();
        self.class_numbers.clear();
        let mut moved: FxHashMap<u32, u32> = FxHashMap::default();
        for number in classes {
            *number = *moved.entry(*number).or_insert_with(|| {
                if let Some(class) = old[*number as usize].take() {
                    self.class_numbers.insert(class.key, self.classes.len() as u32);
                    self.classes.push(class);
                }
                (self.classes.len() - 1) as u32
            });
        }
        self.due = 2 * (self.states.len() + self.classes.len()) + ROOM;
    }

    /// Bytes held: a state is there twice.
    pub(super) fn bytes(&self) -> usize {
        2 * self.state_bytes
            + self.numbers.capacity() * 16
            + self.classes.len() * (size_of::<Class>() + 64)
            + self.steps.capacity() * 32
            + self.steps.len() * 32
    }
}
