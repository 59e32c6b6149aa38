//! The arguments that plain runs are called with.

use linpoint_lang::interp::Machine;
use linpoint_lang::program::{Expr, NONE, Type, Word};

/// Where the values of arguments without a range come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// Data; `None` gives every call a value that no other had. 0 is what data starts with.
    pub data: Option<Vec<Word>>,
    /// Numbers.
    pub numbers: Vec<Word>,
}

impl Values {
    /// Each piece of data is new; numbers are 0 and 1.
    #[must_use]
    pub fn distinct() -> Values {
        Values { data: None, numbers: vec![0, 1] }
    }

    /// Data and numbers from 0 up to this many, without it.
    #[must_use]
    pub fn few(count: Word) -> Values {
        Values { data: Some((0..count).collect()), numbers: (0..count).collect() }
    }
}

/// Stands for a value that no call had.
pub(super) const NEW: Word = Word::MAX;

/// More lists of arguments than this of one operation are not tried.
const MOST_ARGUMENT_LISTS: usize = 400;

/// The lists of arguments of one operation, and whether these are all.
pub(super) struct Lists {
    pub lists: Vec<Vec<Word>>,
    pub complete: bool,
}

/// Every list of arguments of each operation, or the first of them and the last.
pub(super) fn lists(machine: &Machine<'_>, values: &Values) -> Vec<Lists> {
    let of = |op: &linpoint_lang::program::Operation| {
        let mut all = Lists { lists: vec![Vec::new()], complete: true };
        for slot in &op.locals[..op.params] {
            let mut domain = domain(machine, &slot.ty, slot.bounds.as_ref(), values);
            if domain.values.len() * all.lists.len() > MOST_ARGUMENT_LISTS {
                domain.cut();
            }
            all.complete &= domain.complete;
            let with = |list: &Vec<Word>| -> Vec<Vec<Word>> {
                domain.values.iter().map(|word| [list.as_slice(), &[*word]].concat()).collect()
            };
            all.lists = all.lists.iter().flat_map(with).collect();
            all.lists.truncate(MOST_ARGUMENT_LISTS);
        }
        all
    };
    machine.program.operations.iter().map(of).collect()
}

struct Domain {
    values: Vec<Word>,
    complete: bool,
}

impl Domain {
    /// The first two and the last.
    fn cut(&mut self) {
        if let [first, second, .., last] = *self.values {
            self.values = vec![first, second, last];
            self.complete = false;
        }
    }
}

fn domain(machine: &Machine<'_>, ty: &Type, bounds: Option<&(Expr, Expr)>, values: &Values) -> Domain {
    if let Some((lo, hi)) = bounds {
        let (lo, hi) = (machine.constant(lo), machine.constant(hi));
        let count = i64::from(hi) - i64::from(lo) + 1;
        return match count {
            ..=0 => Domain { values: Vec::new(), complete: true },
            1..=64 => Domain { values: (lo..=hi).collect(), complete: true },
            _ => Domain { values: vec![lo, lo + 1, hi], complete: false },
        };
    }
    let found = match ty {
        Type::Data => values.data.clone().unwrap_or_else(|| vec![NEW]),
        Type::Int => values.numbers.clone(),
        Type::Bool => vec![0, 1],
        Type::Enum(id) => (0..machine.program.enums[id.index()].variants.len() as Word).collect(),
        Type::Thread => (0..machine.threads as Word).collect(),
        Type::Option(inner) => {
            let mut with_none = domain(machine, inner, None, values);
            with_none.values.insert(0, NONE);
            return with_none;
        }
        Type::Pointer(_) => vec![0],
        Type::Lock => vec![NONE],
    };
    Domain { values: found, complete: true }
}
