//! Data in calls, results and states of a specification: which values occur there, and the same with other
//! values.

use std::hash::{Hash, Hasher as _};

use linpoint_history::{Value, specs};
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{OpId, Word};

use rustc_hash::{FxHashMap, FxHasher};

use super::{CallId, Made, Reference, ResultId, Source, SpecId, SpecState};
use crate::data::{Renaming, is_data, places_of_data};

/// What was worked out about data: looked up again and again.
#[derive(Default)]
pub(super) struct Memory {
    /// What results of operations are but for names; the first is nobody's.
    of_results: Vec<Shape>,
    /// For each operation and each result, which of these it has; the first, as long as that is not known.
    places: Vec<Vec<u32>>,
    /// What each state is but for names.
    shapes: Vec<Shape>,
    states: FxHashMap<(SpecId, u64), SpecId>,
    results: FxHashMap<(OpId, ResultId, u64), ResultId>,
    calls: FxHashMap<(CallId, u64), CallId>,
}

impl Memory {
    /// About how much memory it takes.
    pub fn memory(&self) -> usize {
        self.shapes.len() * 100
            + self.states.capacity() * 24
            + (self.results.capacity() + self.calls.capacity()) * 32
            + self.of_results.len() * 64
            + self.places.iter().map(|results| results.len() * 4).sum::<usize>()
    }
}

/// A renaming, and a number that no other has: four bits a value.
pub(crate) struct Numbered<'r> {
    map: &'r Renaming,
    number: u64,
}

/// The number of the renaming that changes nothing.
const SAME: u64 = 0xfedc_ba98_7654_3210;

impl Numbered<'_> {
    pub fn new(map: &Renaming) -> Numbered<'_> {
        Numbered { map, number: map.iter().rev().fold(0, |number, new| number << 4 | u64::from(*new)) }
    }

    /// What it does to what has these values only; nothing, if it changes none of them.
    #[inline]
    fn on(&self, shape: &Shape) -> Option<u64> {
        let number = self.number & shape.mask;
        (number != SAME & shape.mask).then_some(number)
    }
}

/// What a state or a result is but for names, and which values are where in it.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// The same for what differs in names only.
    pub hash: u64,
    /// Places, and the values there.
    pub values: Vec<(u64, u8)>,
    /// Fifteen at each of the values, four bits a value.
    mask: u64,
}

impl Shape {
    fn new(hash: u64, values: Vec<(u64, u8)>) -> Shape {
        let mask = values.iter().fold(0, |mask, (_, value)| mask | 15 << (4 * value));
        Shape { hash, values, mask }
    }
}

impl Reference<'_> {
    /// The call with other values.
    pub fn rename_call(&mut self, call: CallId, by: &Numbered<'_>) -> CallId {
        let key = (call, by.number);
        if let Some(found) = self.renamed.calls.get(&key) {
            return *found;
        }
        let Made { thread, op, mut args } = self.calls[call as usize].clone();
        for (word, slot) in args.iter_mut().zip(&self.program.operation(op).locals) {
            if is_data(&slot.ty) {
                *word = renamed(by.map, i64::from(*word)) as Word;
            }
        }
        let found = self.call(thread, op, &args);
        self.renamed.calls.insert(key, found);
        found
    }

    /// The result of an operation with other values.
    pub fn rename_result(&mut self, op: OpId, result: ResultId, by: &Numbered<'_>) -> ResultId {
        let Some(number) = by.on(self.shape_of_result(op, result)) else { return result };
        let key = (op, result, number);
        if let Some(found) = self.renamed.results.get(&key) {
            return *found;
        }
        let value = self.renamed_result(op, &self.results[result as usize], &mut |n| renamed(by.map, n));
        let found = self.result_value(value);
        self.renamed.results.insert(key, found);
        found
    }

    /// The state with other values.
    pub fn rename_state(&mut self, state: SpecId, by: &Numbered<'_>) -> SpecId {
        let Some(number) = by.on(self.shape_of_state(state)) else { return state };
        let key = (state, number);
        if let Some(found) = self.renamed.states.get(&key) {
            return *found;
        }
        let after = self.renamed_state(&self.states[state as usize], &mut |n| renamed(by.map, n));
        let found = self.state(after);
        self.renamed.states.insert(key, found);
        found
    }

    fn renamed_result(&self, op: OpId, value: &Value, rename: &mut dyn FnMut(i64) -> i64) -> Value {
        let result = &self.program.operation(op).result;
        match value {
            Value::List(items) if result.tuple => {
                Value::list(items.iter().enumerate().map(|(part, item)| match result.parts.get(part) {
                    Some(ty) if is_data(ty) => in_value(item, rename),
                    _ => item.clone(),
                }))
            }
            value if result.parts.first().is_some_and(is_data) => in_value(value, rename),
            value => value.clone(),
        }
    }

    fn renamed_state(&self, state: &SpecState, rename: &mut dyn FnMut(i64) -> i64) -> SpecState {
        match (state, &self.source) {
            (SpecState::Builtin(state), _) => SpecState::Builtin(in_builtin(state, rename)),
            (SpecState::Block(state), Source::Block(machine)) => {
                let mut after = state.clone();
                in_words(machine, &mut after, rename);
                SpecState::Block(after)
            }
            (SpecState::Block(state), Source::Builtin(..)) => SpecState::Block(state.clone()),
        }
    }
}

/// Finds out what a state is but for names.
struct Look<'s> {
    /// The same for what differs in names only.
    hash: u64,
    /// Called with a place and the value there.
    see: &'s mut dyn FnMut(u64, i64),
}

impl Reference<'_> {
    /// What a state is but for names, and which values are where in it.
    #[inline]
    pub fn shape_of_state(&mut self, state: SpecId) -> &Shape {
        if self.renamed.shapes.len() <= state as usize {
            self.look_at_states(state);
        }
        &self.renamed.shapes[state as usize]
    }

    /// Looks at every state up to one.
    #[cold]
    fn look_at_states(&mut self, state: SpecId) {
        while self.renamed.shapes.len() <= state as usize {
            let mut seen = Vec::new();
            let mut see = |place: u64, value: i64| {
                if (1..16).contains(&value) {
                    seen.push((place, value as u8));
                }
            };
            let mut shape = Look { hash: 2, see: &mut see };
            self.look_at_state(self.renamed.shapes.len() as SpecId, &mut shape);
            let hash = shape.hash;
            self.renamed.shapes.push(Shape::new(hash, seen));
        }
    }

    fn look_at_state(&self, state: SpecId, shape: &mut Look<'_>) {
        match (&self.states[state as usize], &self.source) {
            (SpecState::Builtin(state), _) => shape.builtin(state),
            (SpecState::Block(state), Source::Block(machine)) => {
                let mut masked = state.clone();
                let (mut place, mut seen) = (0, Vec::new());
                in_words(machine, &mut masked, &mut |n| {
                    place += 1;
                    seen.push((place, n));
                    1
                });
                seen.into_iter().for_each(|(place, n)| (shape.see)(place, n));
                shape.add(hash_of(&masked.words));
            }
            (SpecState::Block(_), Source::Builtin(..)) => {}
        }
    }

    /// What a result of an operation is but for names, and the values in it.
    #[inline]
    pub fn shape_of_result(&mut self, op: OpId, result: ResultId) -> &Shape {
        let places = self.renamed.places.get(op.index());
        let place = match places.and_then(|places| places.get(result as usize)) {
            Some(place) if *place != 0 => *place as usize,
            _ => self.look_at_result(op, result),
        };
        &self.renamed.of_results[place]
    }

    #[cold]
    fn look_at_result(&mut self, op: OpId, result: ResultId) -> usize {
        let mut seen = Vec::new();
        let masked = self.renamed_result(op, &self.results[result as usize], &mut |n| {
            if (1..16).contains(&n) {
                seen.push((seen.len() as u64, n as u8));
            }
            n.min(1)
        });
        let Memory { of_results, places, .. } = &mut self.renamed;
        if of_results.is_empty() {
            of_results.push(Shape::default());
        }
        let place = of_results.len();
        of_results.push(Shape::new(hash_of(&masked), seen));
        if places.len() <= op.index() {
            places.resize_with(op.index() + 1, Vec::new);
        }
        let places = &mut places[op.index()];
        if places.len() <= result as usize {
            places.resize(result as usize + 1, 0);
        }
        places[result as usize] = place as u32;
        place
    }

    /// The data among the arguments of a call, by place.
    pub fn data_of_call(&self, call: CallId, see: &mut dyn FnMut(u64, i64)) {
        let made = &self.calls[call as usize];
        let slots = &self.program.operation(made.op).locals;
        for (place, (word, _)) in
            made.args.iter().zip(slots).enumerate().filter(|(_, (_, slot))| is_data(&slot.ty))
        {
            see(place as u64, i64::from(*word));
        }
    }
}

impl Look<'_> {
    fn add(&mut self, part: u64) {
        self.hash = mix(self.hash, part);
    }

    fn builtin(&mut self, state: &specs::State) {
        use specs::State;
        match state {
            State::Value(value) => {
                let part = self.value(0, value);
                self.add(part);
            }
            State::Sequence(items) => {
                for (place, item) in items.iter().enumerate() {
                    let part = self.value(place as u64, item);
                    self.add(part);
                }
            }
            // What has no order must not get one from names.
            State::Bag(bag) => {
                let parts = bag.iter().map(|(item, n)| mix(self.value(u64::from(*n), item), u64::from(*n)));
                let sum = parts.fold(0, u64::wrapping_add);
                self.add(sum);
            }
            State::Map(map) => {
                let parts = map.iter().map(|(k, v)| mix(self.value(1, k), self.value(2, v)));
                let sum = parts.fold(0, u64::wrapping_add);
                self.add(sum);
            }
            State::Holders(..) | State::Own(_) => self.add(hash_of(state)),
        }
    }

    fn value(&mut self, place: u64, value: &Value) -> u64 {
        match value {
            Value::Int(n) if *n > 0 => {
                (self.see)(place, *n);
                1
            }
            Value::List(items) => {
                let part = |(index, item): (usize, &Value)| self.value(mix(place, index as u64), item);
                items.iter().enumerate().map(part).fold(items.len() as u64, mix)
            }
            value => hash_of(value),
        }
    }
}

/// Two numbers as one.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mixed = (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

fn renamed(map: &Renaming, value: i64) -> i64 {
    let new = usize::try_from(value).ok().and_then(|value| map.get(value));
    new.map_or(value, |new| i64::from(*new))
}

fn in_value(value: &Value, rename: &mut dyn FnMut(i64) -> i64) -> Value {
    match value {
        Value::Int(n) => Value::Int(rename(*n)),
        Value::List(items) => Value::list(items.iter().map(|item| in_value(item, rename))),
        value => value.clone(),
    }
}

/// Every number in these states is data: that is a condition of renaming.
fn in_builtin(state: &specs::State, rename: &mut dyn FnMut(i64) -> i64) -> specs::State {
    use specs::State;
    match state {
        State::Value(value) => State::Value(in_value(value, rename)),
        State::Sequence(items) => State::Sequence(items.iter().map(|item| in_value(item, rename)).collect()),
        State::Bag(bag) => State::Bag(bag.iter().map(|(item, n)| (in_value(item, rename), *n)).collect()),
        State::Map(map) => {
            State::Map(map.iter().map(|(k, v)| (in_value(k, rename), in_value(v, rename))).collect())
        }
        // No program of the language names a specification that is not built in.
        State::Holders(..) | State::Own(_) => state.clone(),
    }
}

/// Between operations a `spec` has shared variables and records only.
fn in_words(machine: &Machine<'_>, state: &mut State, rename: &mut dyn FnMut(i64) -> i64) {
    let mut change = |word: &mut Word| {
        if *word > 0 {
            *word = rename(i64::from(*word)) as Word;
        }
    };
    places_of_data(machine).into_iter().for_each(|at| change(&mut state.words[at]));
    for cell in state.words[machine.heap_start()..].chunks_exact_mut(machine.cell_width()) {
        let record = &machine.program.records[cell[0].unsigned_abs() as usize - 1];
        for (word, _) in cell[1..].iter_mut().zip(&record.fields).filter(|(_, slot)| is_data(&slot.ty)) {
            change(word);
        }
    }
}
