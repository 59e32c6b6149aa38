//! The specification as a table: states and results are numbered, and what a call may do in a state is worked
//! out once.

mod rename;

use std::ops::Range;

use linpoint_history::{Builtin, Call, OpCode, ProcessId, Spec, Value, specs};
use linpoint_lang::Program;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{NONE, OpId, ResultType, SpecSource, Type, Word};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::explore::Wrong;
use crate::sequential::{self, Missing};

/// A state of the specification, by number.
pub(crate) type SpecId = u32;

/// A call: who, what, with which arguments; by number.
pub(crate) type CallId = u32;

/// A result, by number.
pub(crate) type ResultId = u32;

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Made {
    pub thread: usize,
    pub op: OpId,
    pub args: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SpecState {
    Builtin(specs::State),
    Block(State),
}

enum Source<'p> {
    Builtin(Box<Builtin>, Vec<Option<OpCode>>),
    Block(Box<Machine<'p>>),
}

/// More outcomes than this of one call are not kept: a few open calls with so many each have more
/// combinations than can be told apart.
const MAX_OUTCOMES: usize = 400;

/// The specification of a program.
pub(crate) struct Reference<'p> {
    program: &'p Program,
    source: Source<'p>,
    states: Vec<SpecState>,
    state_ids: FxHashMap<SpecState, SpecId>,
    pub calls: Vec<Made>,
    call_ids: FxHashMap<Made, CallId>,
    pub results: Vec<Value>,
    result_ids: FxHashMap<Value, ResultId>,
    /// For each state and each call, where in `found` its outcomes are, once that is known.
    table: Vec<Vec<Option<(u32, u32)>>>,
    found: Vec<(ResultId, SpecId)>,
    /// Does it matter who calls?
    pub by_thread: bool,
    /// Of which calls in which states not all outcomes were worked out.
    cut: FxHashSet<(SpecId, CallId)>,
    /// Was one of them looked up since [`Reference::begin`]?
    met_cut: bool,
    renamed: rename::Memory,
}

pub(crate) use rename::{Numbered, mix};

impl<'p> Reference<'p> {
    /// The specification, if the program has one that can be run.
    pub fn new(program: &'p Program, sizes: &[Word], threads: usize) -> Option<Reference<'p>> {
        let by_thread = match &program.spec {
            SpecSource::Nothing => false,
            SpecSource::Builtin(spec) => spec.observes_process(),
            SpecSource::Block(block) => sequential::asks_who_calls(block),
        };
        Reference::with(program, sizes, threads, by_thread)
    }

    /// The same, and every call is told apart by who makes it.
    pub fn of_callers(program: &'p Program, sizes: &[Word], threads: usize) -> Option<Reference<'p>> {
        Reference::with(program, sizes, threads, true)
    }

    fn with(program: &'p Program, sizes: &[Word], threads: usize, by_thread: bool) -> Option<Reference<'p>> {
        let (source, initial) = match &program.spec {
            SpecSource::Nothing => return None,
            SpecSource::Builtin(spec) => {
                let codes = program.operations.iter().map(|op| spec.signature().find(&op.name)).collect();
                (Source::Builtin(spec.clone(), codes), SpecState::Builtin(spec.initial()))
            }
            SpecSource::Block(block) => {
                let threads = if by_thread { threads.max(1) } else { 1 };
                let machine = Machine::with_sizes(block, threads, sizes.to_vec());
                let initial = SpecState::Block(machine.initial().ok()?);
                (Source::Block(Box::new(machine)), initial)
            }
        };
        let mut reference = Reference {
            program,
            source,
            states: Vec::new(),
            state_ids: FxHashMap::default(),
            calls: Vec::new(),
            call_ids: FxHashMap::default(),
            results: Vec::new(),
            result_ids: FxHashMap::default(),
            table: Vec::new(),
            found: Vec::new(),
            by_thread,
            cut: FxHashSet::default(),
            met_cut: false,
            renamed: rename::Memory::default(),
        };
        reference.state(initial);
        Some(reference)
    }

    fn state(&mut self, state: SpecState) -> SpecId {
        if let Some(id) = self.state_ids.get(&state) {
            return *id;
        }
        let id = self.states.len() as SpecId;
        self.states.push(state.clone());
        self.state_ids.insert(state, id);
        id
    }

    /// From now on it is noted whether outcomes are asked for that were not all worked out.
    pub fn begin(&mut self) {
        self.met_cut = false;
    }

    /// Was an operation of a `spec` too long to be worked out, so that what nothing explains may be explained
    /// by an outcome that is missing?
    pub fn leaves_open(&self, wrong: &Wrong) -> bool {
        match wrong {
            Wrong::NotLinearizable => self.met_cut,
            Wrong::Points => !self.cut.is_empty(),
            Wrong::Error(_) | Wrong::Claim(_) | Wrong::Deadlock | Wrong::Endless | Wrong::Stuck => false,
            Wrong::GoesRound | Wrong::GoesRoundAlone | Wrong::Waits => false,
        }
    }

    /// About how much memory it takes.
    pub fn memory(&self) -> usize {
        let rows: usize = self.table.len() * (size_of::<Vec<u8>>() + 8 * self.calls.len());
        self.states.len() * 300
            + (self.results.len() + self.calls.len()) * 150
            + rows
            + self.found.capacity() * 8
            + self.renamed.memory()
    }

    /// The number of a call.
    pub fn call(&mut self, thread: usize, op: OpId, args: &[Word]) -> CallId {
        let made = Made { thread, op, args: args.to_vec() };
        if let Some(id) = self.call_ids.get(&made) {
            return *id;
        }
        let id = self.calls.len() as CallId;
        self.calls.push(made.clone());
        self.call_ids.insert(made, id);
        id
    }

    /// The operation that is called.
    #[inline]
    pub fn op_of(&self, call: CallId) -> OpId {
        self.calls[call as usize].op
    }

    /// The number of the result that these words stand for.
    pub fn result(&mut self, op: OpId, words: &[Word]) -> ResultId {
        let value = result_value(self.program, &self.program.operation(op).result, words);
        let value = match &self.source {
            Source::Builtin(spec, codes) => match codes[op.index()] {
                Some(code) => spec.plain_answer(code, value),
                None => value,
            },
            Source::Block(_) => value,
        };
        self.result_value(value)
    }

    fn result_value(&mut self, value: Value) -> ResultId {
        if let Some(id) = self.result_ids.get(&value) {
            return *id;
        }
        let id = self.results.len() as ResultId;
        self.results.push(value.clone());
        self.result_ids.insert(value, id);
        id
    }

    /// What a call may answer in a state, and where that leaves the object.
    pub fn outcomes(&mut self, state: SpecId, call: CallId) -> &[(ResultId, SpecId)] {
        let range = self.outcome_range(state, call);
        self.met_cut |= self.cut.contains(&(state, call));
        &self.found[range]
    }

    /// The same as numbers of outcomes, which do not hold on to the table.
    pub fn outcome_range(&mut self, state: SpecId, call: CallId) -> Range<usize> {
        let known = self.table.get(state as usize).and_then(|calls| calls.get(call as usize));
        if let Some(Some((start, end))) = known {
            return *start as usize..*end as usize;
        }
        let outcomes = self.work_out(state, call);
        let start = self.found.len();
        self.found.extend(outcomes);
        let range = start..self.found.len();
        if self.table.len() <= state as usize {
            self.table.resize_with(state as usize + 1, Vec::new);
        }
        let calls = &mut self.table[state as usize];
        if calls.len() <= call as usize {
            calls.resize(call as usize + 1, None);
        }
        calls[call as usize] = Some((range.start as u32, range.end as u32));
        range
    }

    /// An outcome by its number.
    pub fn outcome(&self, number: usize) -> (ResultId, SpecId) {
        self.found[number]
    }

    fn work_out(&mut self, state: SpecId, call: CallId) -> Vec<(ResultId, SpecId)> {
        let made = self.calls[call as usize].clone();
        let before = self.states[state as usize].clone();
        let found: Vec<(Value, SpecState)> = match (&self.source, before) {
            (Source::Builtin(spec, codes), SpecState::Builtin(before)) => {
                let Some(op) = codes[made.op.index()] else { return Vec::new() };
                let arg = argument(self.program, &made);
                let call = Call { op, process: ProcessId(made.thread as u32), arg: &arg };
                spec.outcomes(&before, call).into_iter().map(|(v, s)| (v, SpecState::Builtin(s))).collect()
            }
            (Source::Block(machine), SpecState::Block(before)) => {
                let thread = if self.by_thread { made.thread } else { 0 };
                let ends = sequential::ends(machine, before, made.op, &made.args, thread);
                // A specification that goes wrong allows nothing on that way.
                if ends.missing.as_ref().is_some_and(Missing::is_limit) {
                    self.cut.insert((state, call));
                }
                let result = &machine.program.operation(made.op).result;
                let valued = |(words, after): (Vec<Word>, State)| {
                    (result_value(machine.program, result, &words), SpecState::Block(after))
                };
                ends.ends.into_iter().map(valued).collect()
            }
            _ => Vec::new(),
        };
        let mut numbered: Vec<(ResultId, SpecId)> =
            found.into_iter().map(|(value, state)| (self.result_value(value), self.state(state))).collect();
        numbered.sort_unstable();
        numbered.dedup();
        if numbered.len() > MAX_OUTCOMES {
            numbered.truncate(MAX_OUTCOMES);
            self.cut.insert((state, call));
        }
        numbered
    }
}

fn argument(program: &Program, made: &Made) -> Value {
    argument_value(program, made.op, &made.args)
}

/// The argument of a call as histories write it.
pub fn argument_value(program: &Program, op: OpId, args: &[Word]) -> Value {
    let operation = program.operation(op);
    let values: Vec<Value> =
        args.iter().zip(&operation.locals).map(|(word, slot)| value(program, &slot.ty, *word)).collect();
    match values.len() {
        0 => Value::Null,
        1 => values.into_iter().next().unwrap_or(Value::Null),
        _ => Value::list(values),
    }
}

/// A result as histories write it.
pub fn result_value(program: &Program, result: &ResultType, words: &[Word]) -> Value {
    if result.optional && words == [NONE] {
        return Value::Null;
    }
    let mut values = result.parts.iter().zip(words).map(|(ty, word)| value(program, ty, *word));
    if result.tuple { Value::list(values) } else { values.next().unwrap_or(Value::Null) }
}

fn value(program: &Program, ty: &Type, word: Word) -> Value {
    match ty {
        _ if word == NONE => Value::Null,
        Type::Bool => Value::Bool(word != 0),
        Type::Enum(id) => {
            let variants = &program.enums[id.index()].variants;
            variants.get(word as usize).map_or(Value::Null, |name| Value::text(name))
        }
        Type::Option(inner) => value(program, inner, word),
        _ => Value::Int(i64::from(word)),
    }
}
