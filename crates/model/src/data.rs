//! Data values are interchangeable: what a program only copies and compares for equality may be called by any
//! other name.
//!
//! # Why nothing is lost
//!
//! A program of the language can do nothing with `data` but copy it and ask whether two pieces are equal; the
//! only piece it knows by name is the one that variables start with, 0. A specification that is given here
//! does no more either (that is looked at, not believed: [`Data::new`]). So a one-to-one renaming of all
//! values but 0, in the program's state and in the monitor's set of configurations alike, leads from a state
//! to one with the same futures, renamed: the same steps are enabled, the same returns are explained. States
//! that can be renamed into one another are looked at once. Values that occur neither in the program's state
//! nor in a configuration can play no part any more: whoever calls next with such a value might as well call
//! with one that was never seen, so their names are used again.
//!
//! Names are 1, 2, 3… The monitor names first: it tells values apart by the part they play in its set
//! ([`Classes`]), and what a set is called then depends on the set alone, so it is worked out once. Values
//! that it cannot tell apart, because swapping them changes nothing, get their names in the order in which a
//! walk through the program's state meets them: shared variables, locals thread by thread, records. So do
//! values that the monitor does not know. Two states that could be renamed into one another may still get
//! different names: threads are sorted first, and parts are told apart by a number that is made of what is
//! plain to see. That costs states, not soundness: whatever names are given, the renaming is one-to-one.
//!
//! Where the program never compares data, a state is kept in two parts: the program's state with values
//! numbered in the order of the walk, and the names of these. The two say the same as the state with the
//! names in it, and the first part is the same for all explanations, so steps are taken once for all of them
//! (`ways.rs`).
//!
//! A call then takes one of the values in use, or 0, or the next one that is not in use; where the program
//! never compares data, always the latter. A run that is shown gets its values back ([`Real`]).
//!
//! A thread whose calls are written down names values itself: where such a call has data, nothing is renamed.
//! Nor is it where a claim is decided (claims look at places), or where there are more values than [`MOST`].

use linpoint_history::{Kind, Value};
use linpoint_lang::Program;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{ClientThread, Expr, NONE, Slot, SpecSource, Type, Word};

use crate::client::{FRESH, Workload};
use crate::pack::Full;
use crate::trace::Happened;

/// Where more values are in use than this, they keep their names.
pub(crate) const MOST: u8 = 15;

/// The new name of each value; 0 for those that occur nowhere, and for 0.
pub(crate) type Renaming = [u8; 16];

/// Where data is.
pub(crate) struct Data {
    /// Is every piece that is handed out a new one?
    pub distinct: bool,
    /// Which parameters of each operation are data.
    params: Vec<Vec<bool>>,
    /// Shared words, locals of each operation, fields of each kind of record.
    shared: Vec<usize>,
    locals: Vec<Vec<usize>>,
    fields: Vec<Vec<usize>>,
}

impl Data {
    /// Where data is, if it may be renamed.
    pub fn new(machine: &Machine<'_>, workload: &Workload, distinct: bool) -> Option<Data> {
        let program = machine.program;
        let params: Vec<Vec<bool>> = program
            .operations
            .iter()
            .map(|op| op.locals[..op.params].iter().map(|slot| is_data(&slot.ty)).collect())
            .collect();
        let named = workload.threads.iter().any(|thread| match thread {
            ClientThread::Any(..) => false,
            ClientThread::Calls(calls) => calls.iter().any(|(op, _)| params[op.index()].contains(&true)),
        });
        if named || !params.iter().flatten().any(|data| *data) || names_data(program) || !spec_allows(program)
        {
            return None;
        }
        let data_in = |slots: &[Slot]| (0..slots.len()).filter(|&i| is_data(&slots[i].ty)).collect();
        Some(Data {
            distinct,
            params,
            shared: places_of_data(machine),
            locals: program.operations.iter().map(|op| data_in(&op.locals)).collect(),
            fields: program.records.iter().map(|record| data_in(&record.fields)).collect(),
        })
    }

    /// May an operation be called with these arguments, with so many values in use? How many there are then.
    /// A new value is always the next.
    pub fn admits(&self, op: usize, args: &[Word], in_use: u8) -> Option<u8> {
        let mut most = in_use;
        for (word, data) in args.iter().zip(&self.params[op]) {
            if *data && *word != FRESH && *word > Word::from(most) {
                most += 1;
                if *word != Word::from(most) {
                    return None;
                }
            }
        }
        Some(most)
    }

    /// Every piece of data that is handed over in a call or a return.
    pub fn each_in(&self, machine: &Machine<'_>, what: &mut Happened, see: &mut dyn FnMut(&mut Word)) {
        match what {
            Happened::Step => {}
            Happened::Call { op, args } => {
                let data = args.iter_mut().zip(&self.params[op.index()]).filter(|(_, data)| **data);
                data.for_each(|(word, _)| see(word));
            }
            Happened::Return { op, result } => {
                let parts = &machine.program.operation(*op).result.parts;
                result.iter_mut().zip(parts).filter(|(_, ty)| is_data(ty)).for_each(|(word, _)| see(word));
            }
        }
    }

    /// Every piece of data of a state, in the order of the walk.
    pub fn each(&self, machine: &Machine<'_>, state: &mut State, see: &mut dyn FnMut(&mut Word)) {
        let words = &mut state.words;
        self.shared.iter().for_each(|at| see(&mut words[*at]));
        for thread in 0..machine.threads {
            let frame = machine.frame_range(thread).start;
            let pc = words[frame];
            if pc >= 0 {
                let op = machine.program.nodes[pc as usize].op.index();
                self.locals[op].iter().for_each(|local| see(&mut words[frame + 1 + local]));
            }
        }
        for cell in words[machine.heap_start()..].chunks_exact_mut(machine.cell_width()) {
            let record = cell[0].unsigned_abs() as usize - 1;
            self.fields[record].iter().for_each(|field| see(&mut cell[1 + field]));
        }
    }

    /// Gives the values in use their names, in the program's state; `classes` is what the monitor says of
    /// them.
    pub fn rename(&self, machine: &Machine<'_>, classes: Classes, full: &mut Full) -> Renaming {
        let mut naming = Naming::new(classes);
        self.each(machine, &mut full.state, &mut |word| {
            if *word > 0 {
                *word = naming.name(*word as u8).into();
            }
        });
        let names = naming.finish(full.fresh);
        full.fresh = naming.count();
        names
    }

    /// Gives values their numbers in the order of the walk; the names they had, in this order.
    pub fn by_walk(&self, machine: &Machine<'_>, full: &mut Full) -> Vec<u8> {
        let mut met = Vec::new();
        self.each(machine, &mut full.state, &mut |word| {
            if *word > 0 {
                let name = *word as u8;
                let known = met.iter().position(|other| *other == name);
                let at = known.unwrap_or_else(|| {
                    met.push(name);
                    met.len() - 1
                });
                *word = at as Word + 1;
            }
        });
        met
    }

    /// Gives values with numbers in the order of the walk their names back.
    pub fn with_names(&self, machine: &Machine<'_>, names: &[u8], full: &mut Full) {
        self.each(machine, &mut full.state, &mut |word| {
            let name = usize::try_from(*word).ok().and_then(|word| names.get(word.checked_sub(1)?));
            if let Some(name) = name {
                *word = Word::from(*name);
            }
        });
    }
}

/// Sixteen numbers below sixteen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Nibbles(pub u64);

impl Nibbles {
    #[inline]
    pub fn get(self, at: u8) -> u8 {
        (self.0 >> (4 * (at & 15)) & 15) as u8
    }

    /// Adds to a number; it stays below sixteen.
    #[inline]
    pub fn add(&mut self, at: u8, more: u8) {
        self.0 += u64::from(more) << (4 * (at & 15));
    }

    /// One after the other.
    pub fn all(self) -> [u8; 16] {
        std::array::from_fn(|at| self.get(at as u8))
    }
}

/// The names that the monitor gives to data: values of a class play the same part in all that explains the
/// history, and have names in a row. Which of them has which name is left to the program's state. For each
/// value the first name of its class, 0 if the monitor does not know the value; for 0, which is no such
/// value, how many it knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Classes(Nibbles);

impl Classes {
    /// One more value, with this first name of its class.
    pub fn add(&mut self, value: u8, first: u8) {
        self.0.add(value, first);
        self.0.add(0, 1);
    }

    /// How many values the monitor knows.
    #[inline]
    pub fn count(self) -> u8 {
        self.0.get(0)
    }

    /// The first name of the class of a value that is not 0; 0 if the monitor does not know it.
    #[inline]
    pub fn first(self, value: u8) -> u8 {
        self.0.get(value)
    }
}

/// Names that are being given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Naming {
    names: Nibbles,
    classes: Classes,
    /// How many names of a class are given, at its first name.
    given: Nibbles,
    count: u8,
}

impl Naming {
    #[inline]
    pub fn new(classes: Classes) -> Naming {
        let none = Nibbles::default();
        Naming { names: none, classes, given: none, count: classes.count() }
    }

    /// The name of a value that is met.
    #[inline]
    pub fn name(&mut self, value: u8) -> u8 {
        match self.names.get(value) {
            0 => self.give(value),
            name => name,
        }
    }

    /// The name of a value that was not met before.
    #[inline]
    pub fn give(&mut self, value: u8) -> u8 {
        let name = match self.classes.first(value) {
            0 => {
                self.count += 1;
                self.count
            }
            first => {
                self.given.add(first, 1);
                first + self.given.get(first) - 1
            }
        };
        self.names.add(value, name);
        name
    }

    /// How many names there are, with those of values that only the monitor knows.
    #[inline]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// The names of values up to one, also of those that only the monitor knows.
    pub fn finish(mut self, most: u8) -> Renaming {
        for value in 1..=most.min(MOST) {
            if self.classes.first(value) != 0 {
                self.name(value);
            }
        }
        self.names.all()
    }
}

/// What the values of renamed states are really.
pub(crate) struct Real {
    /// The real value of each.
    values: Vec<Word>,
    /// How many were handed out, where each is new.
    handed_out: Word,
    distinct: bool,
}

impl Real {
    pub fn new(distinct: bool) -> Real {
        Real { values: vec![0], handed_out: 0, distinct }
    }

    /// So many values are in use now. A new one is one that was never there, or at least is not now.
    pub fn hand_out(&mut self, in_use: u8) {
        while self.values.len() <= usize::from(in_use) {
            self.handed_out += 1;
            let value = match self.distinct {
                true => self.handed_out,
                false => (1..).find(|value| !self.values.contains(value)).unwrap_or(self.handed_out),
            };
            self.values.push(value);
        }
    }

    /// The real value.
    pub fn value(&self, word: Word) -> Word {
        let real = usize::try_from(word).ok().and_then(|value| self.values.get(value));
        real.copied().unwrap_or(word)
    }

    /// Values got new names.
    pub fn renamed(&mut self, map: &Renaming) {
        let count = map.iter().copied().max().unwrap_or(0);
        let mut values = vec![0; usize::from(count) + 1];
        for (old, new) in map.iter().enumerate().filter(|(_, new)| **new > 0) {
            values[usize::from(*new)] = self.value(old as Word);
        }
        self.values = values;
    }
}

/// Shared words that hold data.
pub(crate) fn places_of_data(machine: &Machine<'_>) -> Vec<usize> {
    machine.shared_slots().into_iter().filter(|(_, slot)| is_data(&slot.ty)).map(|(at, _)| at).collect()
}

pub(crate) fn is_data(ty: &Type) -> bool {
    match ty {
        Type::Data => true,
        Type::Option(inner) => is_data(inner),
        _ => false,
    }
}

/// Does the program say which value some data has, other than 0? Only where a variable starts with it can it.
fn names_data(program: &Program) -> bool {
    let globals = program.globals.iter().flat_map(|global| &global.slots);
    let mut slots = globals.chain(program.records.iter().flat_map(|record| &record.fields));
    slots.any(|slot| is_data(&slot.ty) && !matches!(slot.init, Expr::Const(0 | NONE)))
}

/// Does the specification compare values for equality at most, and are all values in its states data?
fn spec_allows(program: &Program) -> bool {
    let spec = match &program.spec {
        SpecSource::Nothing => return true,
        SpecSource::Block(block) => return !names_data(block),
        SpecSource::Builtin(spec) => spec,
    };
    let starts_empty = match &spec.initial {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        _ => false,
    };
    // A cell of a snapshot has a number, which is no part of its state.
    let skipped = usize::from(spec.kind == Kind::Snapshot);
    let keeps_data_only = program.operations.iter().all(|op| {
        let from = skipped.min(op.params);
        op.locals[from..op.params].iter().all(|slot| is_data(&slot.ty))
    });
    let by_equality = matches!(
        spec.kind,
        Kind::Queue
            | Kind::Stack
            | Kind::Deque
            | Kind::Register
            | Kind::CasRegister
            | Kind::Set
            | Kind::Multiset
            | Kind::List
            | Kind::Map
            | Kind::Snapshot
    );
    starts_empty && keeps_data_only && by_equality
}
