//! A `spec` of the algorithm language as a specification of recorded histories.
//!
//! The interpreter runs one operation at a time; a state of the specification is a state of the interpreter
//! with its heap renumbered, so equal rows are equal states. Histories have JSON values and programs have
//! words of 32 bits:
//!
//! - numbers, truth values and the variants of an enum are what they are, within the bounds that a parameter
//!   declares;
//! - `data` is any value but null. It is only copied and compared, so each value gets a word of its own. The
//!   integers from 0 up to 2^28 are their own words: a variable of type `data` starts as 0;
//! - `none` is null; a tuple is a list; no result is null.
//!
//! No two values have one word and no two words one value, so a history is explained by words exactly if it
//! is explained by values.
//!
//! What a specification does may be cut short: it may take too many steps, or go wrong. Then an outcome may
//! be missing, and a history that nothing explains is not told to be violated ([`OwnSpec::shortfall`]). An
//! `assert` that does not hold and the `unlock` of a lock that the caller does not hold are no mistakes of
//! the specification: they say that the operation cannot happen here.

mod start;
mod words;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use linpoint_history::specs::SpecError;
use linpoint_history::symbols::show_process;
use linpoint_history::{
    Builtin, Call, OpDecl, OwnSpec, OwnState, ProcessId, Shape, Signature, Symbols, Value,
};
use linpoint_lang::interp::{ErrorKind, Machine, RunError, State};
use linpoint_lang::program::{OpId, Operation, Word};
use linpoint_lang::span::line_column;
use linpoint_lang::{Program, Specification};
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use crate::sequential::{Missing, asks_who_calls, ends_until, is_deterministic, only_looks};
use words::Words;

/// Why a program cannot be a specification of histories.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unfit {
    /// A parameter or a result has a type that no value of a history stands for.
    #[error("`{operation}` {place} type `{ty}`, for which histories have no values")]
    Type {
        /// The operation.
        operation: String,
        /// Takes, or gives?
        place: &'static str,
        /// The type.
        ty: String,
    },
    /// It has no operation, or too many.
    #[error("the specification has {count} operations; it needs at least one and at most 255")]
    Operations {
        /// How many.
        count: usize,
    },
    /// It starts with the first thread somewhere, and who is first in a history is a matter of where one looks.
    #[error("line {line}: {what} the first thread, and a history has none; {instead}")]
    FirstThread {
        /// Where.
        line: usize,
        /// What is, or begins as, the first thread.
        what: String,
        /// What to write.
        instead: String,
    },
    /// It has no initial state.
    #[error("the specification cannot start: {0}")]
    Start(ErrorKind),
    /// Its name cannot name a specification.
    #[error(transparent)]
    Name(#[from] SpecError),
}

/// So many arguments need no room of their own.
const FEW_ARGUMENTS: usize = 4;

/// A `spec` of the algorithm language.
///
/// It lives as long as the program does: the names of its operations are known to histories by reference, so
/// what is made of a text is never given back.
#[derive(Debug)]
pub struct BlockSpec {
    name: String,
    text: String,
    machine: Machine<'static>,
    signature: Signature,
    only_looks: Vec<bool>,
    leaves_open: bool,
    words: RwLock<Words>,
    by_caller: bool,
    /// One machine per caller, where it matters who calls.
    callers: RwLock<FxHashMap<ProcessId, Arc<Machine<'static>>>>,
    shortfall: Mutex<Option<String>>,
}

impl BlockSpec {
    /// A specification of a text of the language, ready for every engine that checks histories.
    ///
    /// # Errors
    /// Where it cannot be one.
    pub fn builtin(name: &str, specification: Specification, text: &str) -> Result<Builtin, Unfit> {
        match specification {
            Specification::Builtin(builtin) => Ok(*builtin),
            Specification::Block(program) => {
                Ok(Builtin::own(Arc::new(BlockSpec::new(name, *program, text)?)))
            }
        }
    }

    /// The specification that a lowered `spec` is; `text` is what it was lowered from.
    ///
    /// # Errors
    /// Where it cannot be one.
    pub fn new(name: &str, program: Program, text: &str) -> Result<BlockSpec, Unfit> {
        let count = program.operations.len();
        if !(1..=255).contains(&count) {
            return Err(Unfit::Operations { count });
        }
        if let Some((span, what, instead)) = start::first_thread(&program) {
            let (line, _) = line_column(text, span.start as usize);
            return Err(Unfit::FirstThread { line, what, instead });
        }
        let program: &'static Program = Box::leak(Box::new(program));
        let machine = Machine::new(program, 1);
        machine.initial().map_err(|error| Unfit::Start(error.kind))?;
        let declared: Result<Vec<OpDecl>, Unfit> =
            program.operations.iter().map(|operation| declaration(&machine, operation)).collect();
        let looks = |op: usize| only_looks(program, OpId(op as u16));
        Ok(BlockSpec {
            name: name.to_owned(),
            text: text.to_owned(),
            signature: Signature { operations: declared? },
            only_looks: (0..count).map(looks).collect(),
            leaves_open: !is_deterministic(program),
            words: RwLock::default(),
            by_caller: asks_who_calls(program),
            callers: RwLock::default(),
            shortfall: Mutex::new(None),
            machine,
        })
    }

    fn program(&self) -> &'static Program {
        self.machine.program
    }

    /// The words of the arguments of a call, in the room given if they are few; `None` where a value does not fit.
    fn arguments<'r>(&self, call: Call<'_>, room: &'r mut [Word; FEW_ARGUMENTS]) -> Option<Cow<'r, [Word]>> {
        let operation = self.program().operation(OpId(u16::from(call.op.0)));
        let slots = &operation.locals[..operation.params];
        let one = std::slice::from_ref(call.arg);
        let values: &[Value] = match (slots.len(), call.arg) {
            (0, Value::Null) => &[],
            (1, _) => one,
            (many, Value::List(items)) if items.len() == many => items,
            _ => return None,
        };
        let word = |(slot, value): (&linpoint_lang::program::Slot, &Value)| {
            words::word(&self.words, self.program(), &slot.ty, value)
        };
        if slots.len() > FEW_ARGUMENTS {
            return slots.iter().zip(values).map(word).collect::<Option<Vec<Word>>>().map(Cow::Owned);
        }
        for (place, slot) in room.iter_mut().zip(slots.iter().zip(values)) {
            *place = word(slot)?;
        }
        Some(Cow::Borrowed(&room[..slots.len()]))
    }

    /// Every outcome of a call; `None` where the deadline came first.
    fn work_out(
        &self,
        state: &OwnState,
        call: Call<'_>,
        deadline: Option<Instant>,
    ) -> Option<Vec<(Value, OwnState)>> {
        let Some(before) = state.inside::<State>() else { return Some(Vec::new()) };
        let mut room = [0; FEW_ARGUMENTS];
        let Some(arguments) = self.arguments(call, &mut room) else { return Some(Vec::new()) };
        let op = OpId(u16::from(call.op.0));
        // Then the state after it is the one before.
        let only_looks = self.only_looks[usize::from(call.op.0)] && !self.leaves_open;
        let found = match self.by_caller {
            true => ends_until(&self.machine_of(call.process), before.clone(), op, &arguments, 0, deadline),
            false => ends_until(&self.machine, before.clone(), op, &arguments, 0, deadline),
        };
        let operation = self.program().operation(op);
        match &found.missing {
            Some(Missing::Time) => return None,
            Some(missing) => self.note(&operation.name, missing),
            None => {}
        }
        let mut ends = found.ends;
        if ends.len() > 1 {
            let mut met: FxHashSet<(Vec<Word>, State)> = FxHashSet::default();
            ends.retain(|end| met.insert(end.clone()));
        }
        let outcome = |(answer, after): (Vec<Word>, State)| {
            let answer = words::answer(&self.words, self.program(), &operation.result, &answer);
            (answer, if only_looks { state.clone() } else { OwnState::new(after) })
        };
        Some(ends.into_iter().map(outcome).collect())
    }

    /// The machine in which `process` calls.
    fn machine_of(&self, process: ProcessId) -> Arc<Machine<'static>> {
        let read = self.callers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = read.get(&process) {
            return Arc::clone(machine);
        }
        drop(read);
        let caller = Some(Word::try_from(process.0).unwrap_or(Word::MAX / 2));
        let mut machine = self.machine.clone();
        machine.caller = caller;
        let machine = Arc::new(machine);
        let mut write = self.callers.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(write.entry(process).or_insert(machine))
    }

    fn note(&self, operation: &str, missing: &Missing) {
        let what = match missing {
            // Of one check, and not of the specification.
            Missing::Time => return,
            Missing::Steps => {
                format!("`{operation}` of the specification takes too many steps to be worked out")
            }
            Missing::Error(error) if allows_nothing(error) => return,
            Missing::Error(error) => {
                let (line, _) = line_column(&self.text, error.span.start as usize);
                format!("`{operation}` of the specification goes wrong in line {line}: {}", error.kind)
            }
        };
        let mut shortfall = self.shortfall.lock().unwrap_or_else(PoisonError::into_inner);
        shortfall.get_or_insert(what);
    }
}

impl OwnSpec for BlockSpec {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn initial(&self) -> OwnState {
        OwnState::new(self.machine.initial().expect("it was tried when the specification was made"))
    }

    fn outcomes(&self, state: &OwnState, call: Call<'_>) -> Vec<(Value, OwnState)> {
        self.work_out(state, call, None).unwrap_or_default()
    }

    fn outcomes_until(
        &self,
        state: &OwnState,
        call: Call<'_>,
        until: Instant,
    ) -> Option<Vec<(Value, OwnState)>> {
        self.work_out(state, call, Some(until))
    }

    fn leaves_open(&self) -> bool {
        self.leaves_open
    }

    fn is_read_only(&self, call: Call<'_>, _: Option<&Value>) -> bool {
        self.only_looks[usize::from(call.op.0)]
    }

    fn observes_process(&self) -> bool {
        self.by_caller
    }

    fn show(&self, state: &OwnState) -> String {
        match state.inside::<State>() {
            Some(state) => words::show(&self.words, &self.machine, state, &|process| process.0.to_string()),
            None => String::new(),
        }
    }

    fn show_named(&self, state: &OwnState, names: &Symbols) -> String {
        let name = |process| show_process(&names.process_name(process));
        state
            .inside::<State>()
            .map_or_else(String::new, |state| words::show(&self.words, &self.machine, state, &name))
    }

    fn state_bytes(&self, state: &OwnState) -> usize {
        let words = state.inside::<State>().map_or(0, |state| state.words.len());
        words * size_of::<Word>() + 64
    }

    fn shortfall(&self) -> Option<String> {
        self.shortfall.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Does this error say that the operation cannot happen here, rather than that the specification is mistaken?
fn allows_nothing(error: &RunError) -> bool {
    match error.kind {
        ErrorKind::AssertFailed | ErrorKind::NotHeld => true,
        // All others, those to come as well: a history is not told to be violated because of them.
        _ => false,
    }
}

/// An operation as histories know it.
fn declaration(machine: &Machine<'_>, operation: &Operation) -> Result<OpDecl, Unfit> {
    let unfit =
        |place: &'static str| move |ty: String| Unfit::Type { operation: operation.name.clone(), place, ty };
    let parameters = &operation.locals[..operation.params];
    let arg = words::parameters(machine, parameters).map_err(unfit("takes a parameter of"))?;
    let result = words::result(machine.program, &operation.result).map_err(unfit("gives a result of"))?;
    Ok(OpDecl {
        name: String::leak(operation.name.clone()),
        aliases: &[],
        arg: arg.map_or(Shape::Unit, linpoint_history::Form::shape),
        result: result.map_or(Shape::Unit, linpoint_history::Form::shape),
    })
}
