//! The names of the built-in specifications and their operations, and the reading of `queue:capacity=64`.

use std::fmt::Write as _;

use thiserror::Error;

use super::{Builtin, Kind};
use crate::signature::{OpDecl, Shape, Signature};
use crate::spec::Spec;
use crate::value::Value;

const ALL: &[(Kind, &str, &str)] = &[
    (
        Kind::Register,
        "register",
        "one value; starts as null, or as --initial says; append adds text to text, an item to a list, to a missing key either, to anything else nothing",
    ),
    (Kind::CasRegister, "cas-register", "a register with compare-and-set"),
    (
        Kind::RmwRegister,
        "rmw-register",
        "a register with compare-and-set, swap and fetch-and-add; starts as 0",
    ),
    (Kind::Kv, "kv", "a store of registers, one a key; a missing key reads null, or as --initial says"),
    (Kind::Queue, "queue", "first in, first out"),
    (Kind::Stack, "stack", "last in, first out"),
    (Kind::Deque, "deque", "a sequence open at both ends"),
    (Kind::PriorityQueue, "priority-queue", "the least element leaves first"),
    (Kind::PriorityQueueMax, "priority-queue-max", "the greatest element leaves first"),
    (Kind::Set, "set", "each element at most once"),
    (
        Kind::Multiset,
        "multiset",
        "elements any number of times; insert_pair may fail, and with a bound must where two do not fit",
    ),
    (Kind::List, "list", "elements any number of times"),
    (Kind::Map, "map", "keys with values"),
    (Kind::Counter, "counter", "a number; starts as 0"),
    (Kind::Lock, "lock", "held by one process at a time"),
    (Kind::RwLock, "rw-lock", "held by one writer, or by readers"),
    (
        Kind::Semaphore,
        "semaphore",
        "capacity=N permits, one unless said; given back by the process that took one",
    ),
    (
        Kind::Snapshot,
        "snapshot",
        "cells 0, 1, … 65535 written one at a time, as [cell, value], and read all at once; null until written",
    ),
];

/// Why a specification's name was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No such specification.
    #[error("unknown spec `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest that exists.
        nearest: Option<&'static str>,
    },
    /// No such setting, or not with this specification.
    #[error("spec `{name}` has no setting `{setting}`")]
    Setting {
        /// The specification.
        name: String,
        /// The setting.
        setting: String,
    },
    /// The starting value does not fit.
    #[error("spec `{name}` cannot start from {value}; expected {expected}")]
    Initial {
        /// The specification.
        name: String,
        /// What was given.
        value: String,
        /// What would do.
        expected: &'static str,
    },
    /// The contents it would start with do not fit into it.
    #[error("spec `{name}` with room for {capacity} cannot start with {count} elements")]
    Room {
        /// The specification.
        name: String,
        /// What it has room for.
        capacity: usize,
        /// What was given.
        count: usize,
    },
    /// A specification of one's own needs a name that no other has.
    #[error("`{name}` cannot be the name of a specification: it is empty, has a colon in it, or is taken")]
    Name {
        /// The name.
        name: String,
    },
    /// The setting would change nothing.
    #[error(
        "`spurious` changes nothing for the spec `{name}` without `capacity=N`: none of its answers is \"empty\" or \"full\""
    )]
    Pointless {
        /// The specification.
        name: String,
    },
    /// A setting twice.
    #[error("spec `{name}` is given the setting `{setting}` twice")]
    Twice {
        /// The specification.
        name: String,
        /// The setting.
        setting: &'static str,
    },
}

impl Kind {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// Every built-in specification.
    pub fn all() -> impl Iterator<Item = Kind> {
        ALL.iter().map(|(kind, ..)| *kind)
    }

    /// What it is, in a line.
    pub fn summary(self) -> &'static str {
        ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(.., summary)| summary)
    }

    /// Does `:capacity=N` make sense?
    pub fn has_capacity(self) -> bool {
        self.is_collection() || self == Kind::Semaphore
    }

    /// Does it hold elements that are put in and taken out?
    pub fn is_collection(self) -> bool {
        use Kind::*;
        matches!(self, Queue | Stack | Deque | PriorityQueue | PriorityQueueMax | Set | Multiset | List)
    }
}

/// Reads `name[:setting]…`, such as `queue:capacity=64:spurious`.
pub fn parse(text: &str) -> Result<Builtin, SpecError> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let plain = name.to_ascii_lowercase().replace('_', "-");
    let Some((kind, ..)) = ALL.iter().find(|(_, known, _)| *known == plain) else {
        return Err(SpecError::Unknown { name: name.into(), nearest: nearest(&plain) });
    };
    let mut spec = Builtin::new(*kind);
    for setting in parts {
        let unknown = || SpecError::Setting { name: kind.name().into(), setting: setting.into() };
        match setting.split_once('=') {
            Some(("capacity", n)) if kind.has_capacity() => {
                if spec.capacity.is_some() {
                    return Err(SpecError::Twice { name: kind.name().into(), setting: "capacity" });
                }
                spec = spec.with_capacity(n.parse().map_err(|_| unknown())?);
            }
            None if setting == "spurious" && spec.spurious => {
                return Err(SpecError::Twice { name: kind.name().into(), setting: "spurious" });
            }
            None if setting == "spurious" && kind.is_collection() => spec = spec.with_spurious(),
            _ => return Err(unknown()),
        }
    }
    // Nothing is taken out of these without being named, so that none is ever empty to those who ask.
    if spec.spurious && spec.capacity.is_none() && matches!(kind, Kind::Set | Kind::Multiset | Kind::List) {
        return Err(SpecError::Pointless { name: kind.name().into() });
    }
    Ok(spec)
}

impl Builtin {
    /// The specification starting from `initial`, if that makes sense.
    pub fn starting_from(self, initial: Value) -> Result<Builtin, SpecError> {
        let fits = match self.kind {
            Kind::Register | Kind::CasRegister | Kind::Kv => true,
            Kind::RmwRegister | Kind::Counter => initial.as_int().is_some(),
            Kind::Map => {
                matches!(&initial, Value::List(items) if items.iter().all(|item| Shape::Entry.admits(item)))
            }
            Kind::Snapshot => matches!(initial, Value::List(_)),
            // Null is what a removal answers when there is nothing.
            kind if kind.is_collection() => {
                matches!(&initial, Value::List(items) if !items.contains(&Value::Null))
            }
            _ => false,
        };
        let expected = match self.kind {
            Kind::RmwRegister | Kind::Counter => "an integer",
            Kind::Map => "a list of [key, value], no key null",
            Kind::Snapshot => "a list of its contents",
            kind if kind.is_collection() => "a list of its contents, none of them null",
            Kind::Own => "nothing: it says itself where it starts",
            _ => "nothing: it always starts free",
        };
        if fits {
            let spec = self.with_initial(initial);
            let count = match &spec.initial {
                Value::List(items) if spec.kind.is_collection() => items.len(),
                _ => 0,
            };
            return match spec.capacity {
                Some(capacity) if count > capacity => {
                    Err(SpecError::Room { name: spec.kind.name().into(), capacity, count })
                }
                _ => Ok(spec),
            };
        }
        Err(SpecError::Initial { name: self.name().into(), value: initial.to_string(), expected })
    }
}

/// One specification as `linpoint specs` lists it.
pub fn describe(kind: Kind) -> String {
    let spec = Builtin::new(kind);
    let settings = match kind {
        Kind::Semaphore => "; settings: capacity=N",
        Kind::Set | Kind::Multiset | Kind::List => {
            "; settings: capacity=N (insertions answer true or false), and with it spurious (may answer full at any time)"
        }
        kind if kind.is_collection() => {
            "; settings: capacity=N (insertions answer true or false), spurious (may answer empty or full at any time)"
        }
        _ => "",
    };
    let mut text = format!("{:<20} {}{settings}\n", kind.name(), kind.summary());
    for op in &spec.signature().operations {
        let arg = match op.arg {
            Shape::Unit => "",
            Shape::Pair => "([a, b])",
            Shape::Entry => "([k, v])",
            Shape::Cell => "([cell, v])",
            Shape::Int => "(n)",
            Shape::OptionalInt => "([n])",
            _ => "(v)",
        };
        let also =
            if op.aliases.is_empty() { String::new() } else { format!("  also: {}", op.aliases.join(", ")) };
        let _ = writeln!(text, "    {:<18} -> {}{also}", format!("{}{arg}", op.name), op.result.expected());
    }
    text
}

/// The specification whose name is nearest, if any is near.
fn nearest(name: &str) -> Option<&'static str> {
    let distance = |known: &str| edit_distance(name, known);
    ALL.iter()
        .map(|(_, known, _)| *known)
        .min_by_key(|known| distance(known))
        .filter(|known| distance(known) <= 1 + known.len() / 3)
}

/// Levenshtein's distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The operations of a specification; `bounded` insertions answer true or false.
pub(super) fn signature(kind: Kind, bounded: bool) -> Signature {
    let op = |name, aliases, arg, result| OpDecl { name, aliases, arg, result };
    let inserted = if bounded { Shape::Bool } else { Shape::Unit };
    let write = op("write", &["put", "set", "store"][..], Shape::Any, Shape::Unit);
    let read = op("read", &["get", "load"][..], Shape::Unit, Shape::Any);
    let cas = op("cas", &["compare_and_set", "compare_and_swap"][..], Shape::Pair, Shape::Bool);
    let operations = match kind {
        Kind::Register => vec![write, read],
        Kind::CasRegister => vec![write, read, cas],
        Kind::RmwRegister => vec![
            write,
            read,
            cas,
            op("swap", &["exchange", "get_and_set"], Shape::Any, Shape::Any),
            op("fetch_add", &["fetch_and_add", "get_and_add"], Shape::Int, Shape::Int),
        ],
        Kind::Kv => vec![
            op("get", &["read"], Shape::Unit, Shape::Any),
            op("put", &["write", "set"], Shape::Any, Shape::Unit),
            op("append", &[], Shape::Item, Shape::Unit),
            op("delete", &["del", "remove"], Shape::Unit, Shape::Unit),
            cas,
        ],
        Kind::Queue => vec![
            op("enqueue", &["enq", "push", "offer", "send"], Shape::Item, inserted),
            op("dequeue", &["deq", "pop", "poll", "recv"], Shape::Unit, Shape::Any),
        ],
        Kind::Stack => vec![op("push", &[], Shape::Item, inserted), op("pop", &[], Shape::Unit, Shape::Any)],
        Kind::Deque => vec![
            op("push_front", &["add_first", "push_left"], Shape::Item, inserted),
            op("push_back", &["add_last", "push_right"], Shape::Item, inserted),
            op("pop_front", &["poll_first", "pop_left"], Shape::Unit, Shape::Any),
            op("pop_back", &["poll_last", "pop_right"], Shape::Unit, Shape::Any),
        ],
        Kind::PriorityQueue => vec![
            op("insert", &["add", "push", "enqueue"], Shape::Item, inserted),
            op("remove_min", &["delmin", "delete_min", "poll", "remove", "pop"], Shape::Unit, Shape::Any),
            op("change_key", &["changekey", "decrease_key"], Shape::Pair, Shape::Bool),
        ],
        Kind::PriorityQueueMax => vec![
            op("insert", &["add", "push", "enqueue"], Shape::Item, inserted),
            op("remove_max", &["delmax", "delete_max", "poll", "remove", "pop"], Shape::Unit, Shape::Any),
            op("change_key", &["changekey", "increase_key"], Shape::Pair, Shape::Bool),
        ],
        Kind::Set | Kind::Multiset | Kind::List => {
            let (add, added) = match kind {
                Kind::Set => (op("add", &["insert"], Shape::Item, Shape::Bool), Shape::Bool),
                Kind::Multiset => (op("add", &["insert"], Shape::Item, inserted), Shape::Bool),
                _ => (op("insert", &["add"], Shape::Item, inserted), Shape::Bool),
            };
            let mut operations = vec![
                add,
                op("remove", &["delete"], Shape::Item, added),
                op("contains", &["lookup", "member"], Shape::Item, Shape::Bool),
            ];
            if kind == Kind::Multiset {
                operations.push(op("insert_pair", &["insertpair"], Shape::Pair, Shape::Bool));
            }
            operations
        }
        Kind::Map => vec![
            op("insert", &["put"], Shape::Entry, Shape::Any),
            op("get", &["lookup"], Shape::Item, Shape::Any),
            op("remove", &["delete"], Shape::Item, Shape::Any),
            op("len", &["size"], Shape::Unit, Shape::Int),
            op("is_empty", &["empty"], Shape::Unit, Shape::Bool),
        ],
        Kind::Counter => vec![
            op("increment", &["inc", "incr"], Shape::Unit, Shape::Unit),
            op("add", &[], Shape::Int, Shape::Unit),
            op("read", &["get", "value"], Shape::Unit, Shape::Int),
        ],
        Kind::Lock | Kind::Semaphore => vec![
            op("acquire", &["lock", "try_lock"], Shape::Unit, Shape::Done),
            op("release", &["unlock"], Shape::Unit, Shape::Done),
        ],
        Kind::RwLock => vec![
            op("read_lock", &["acquire_read", "rlock"], Shape::Unit, Shape::Done),
            op("read_unlock", &["release_read", "runlock"], Shape::Unit, Shape::Done),
            op("write_lock", &["acquire_write", "wlock"], Shape::Unit, Shape::Done),
            op("write_unlock", &["release_write", "wunlock"], Shape::Unit, Shape::Done),
        ],
        Kind::Snapshot => {
            vec![
                op("write", &["update"], Shape::Cell, Shape::Unit),
                op("scan", &["read"], Shape::Unit, Shape::List),
            ]
        }
        Kind::Own => Vec::new(),
    };
    Signature { operations }
}
