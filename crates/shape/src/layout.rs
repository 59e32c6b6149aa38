//! What a program is made of, as the engine sees it: which bit of a node's mask says what, and what is known
//! without running it.
//!
//! Here is also where programs are refused: what the engine does not model is never ignored, it is named as
//! the reason why nothing can be said.

mod place;

use linpoint_history::{Kind, Spec as _};
use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::flow::live_locals;
use linpoint_lang::program::{Expr, OpId, SpecSource, Type, Word};

/// The canonical name of a node: which variables point to it, and of which kind it is.
pub type Mask = u128;

/// The objects that have a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// Last in, first out.
    Stack,
    /// First in, first out.
    Queue,
    /// Elements at most once, in one sorted list; one key is tracked.
    Set,
}

/// What an operation is to the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `push` and `enqueue`: takes a value.
    Insert,
    /// `pop` and `dequeue`: gives a value or "empty".
    Take,
    /// `add` of a set.
    Add,
    /// `remove` of a set.
    Remove,
    /// `contains` of a set.
    Contains,
}

/// How a scalar is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Two bits: 0 unknown, 1 false, 2 true.
    Bool,
    /// Three bits: a class, see [`Class`].
    Key,
    /// Four bits: 0 free, 15 held by a thread that is not shown, else one more than the holder.
    Lock,
    /// Two bits: 0 unknown, 1 what this version is now, 2 what it was before.
    Version(u8),
}

/// Where a key stands: 0 unknown, then below all arguments, below the tracked key, equal, above, above all
/// arguments.
pub type Class = u8;
#[allow(missing_docs)]
pub mod class {
    use super::Class;
    pub const ANY: Class = 0;
    pub const MIN: Class = 1;
    pub const LESS: Class = 2;
    pub const SAME: Class = 3;
    pub const MORE: Class = 4;
    pub const MAX: Class = 5;
}

/// A holder of a lock that is not one of the threads shown.
pub const STRANGER: u64 = 15;

/// A bit of a thread's part of the mask.
#[derive(Clone, Copy, Debug)]
pub struct LocalBit(pub u32);

/// Everything that is known about a program before the analysis.
#[derive(Debug)]
pub struct Layout<'p> {
    /// The program.
    pub program: &'p Program,
    /// What it should be.
    pub object: Object,
    /// What each operation is.
    pub roles: Vec<Role>,
    /// The names of shared bits, for drawings.
    pub shared_names: Vec<String>,
    /// The bit of each shared pointer.
    pub global_bit: Vec<Option<u32>>,
    /// The reference's pointers (stack: top, top; queue: head, tail), or the last node below the tracked key
    /// and the node with it.
    pub first: u32,
    /// The second of them.
    pub second: u32,
    /// All bits of shared names.
    pub shared: Mask,
    /// A candidate's node that the reference does not have.
    pub uncorrelated: Mask,
    /// A node whose two links may differ.
    pub nonuniform: Mask,
    /// A node that only the thread that made it can reach.
    pub private: Mask,
    /// A node of the sorted list.
    pub listed: Mask,
    /// While two views are merged: what the first cannot see.
    pub beyond: Mask,
    /// All bits of kinds.
    pub kinds: Mask,
    /// The kind of each record.
    pub record_kind: Vec<Mask>,
    /// The bit of each field that holds a truth value.
    pub bool_bit: Vec<Vec<Option<Mask>>>,
    /// Where the class of a node's key is in the mask.
    pub class_shift: u32,
    /// Where the bits of threads start, and how many each has.
    pub threads_from: u32,
    /// Bits a thread.
    pub width: u32,
    /// The bit of each local that holds a pointer or data, an operation.
    pub local_bit: Vec<Vec<Option<LocalBit>>>,
    /// The node that holds the operation's argument.
    pub argument: LocalBit,
    /// The node that the reference gave back.
    pub answer: LocalBit,
    /// The first bit of locks that the thread holds, one for each lock field of a record.
    pub locks: LocalBit,
    /// How many lock fields the record with most of them has.
    pub most_locks: u32,
    /// Which of its record's locks each field is, of fields that are locks.
    pub lock_bit: Vec<Vec<Option<u32>>>,
    /// The live offer of the thread's argument, if the program makes offers.
    pub offer: LocalBit,
    /// The kinds of records that are offers: a value and no link.
    pub offer_kind: Mask,
    /// A place that was given back; 0 if the program frees nothing, as the next two.
    pub freed: Mask,
    /// A record that its maker did not link in yet, where places are used again.
    pub owned: Mask,
    /// A record whose value the reference gave away, where places are used again.
    pub gone: Mask,
    /// The bits of all kinds of records.
    pub records: Mask,
    /// The thread made the record.
    pub mine: LocalBit,
    /// The first bit of locals that hold data, and the one after the last, where places are used again.
    pub data_locals: (u32, u32),
    /// Which shared numbers are versions.
    pub version: Vec<Option<u8>>,
    /// Locals that are kept as scalars: where, and how.
    pub scalar: Vec<Vec<Option<(u32, Scalar)>>>,
    /// Shared scalars: where, and how.
    pub global_scalar: Vec<Option<(u32, Scalar)>>,
    /// Is the tracked key in the reference's set? A bit of the shared scalars.
    pub member: u64,
    /// Locals that still matter at each node.
    pub live: Vec<Vec<bool>>,
    /// Locals that are kept although they do not: operation and local.
    pub keep: Vec<(usize, usize)>,
    /// The field that links, a record.
    pub link: Vec<Option<u16>>,
    /// Fields that are written only by `new`.
    pub constant_field: Vec<Vec<bool>>,
    /// Shared variables that no operation writes.
    pub constant_global: Vec<bool>,
    /// The key, of records of the list.
    pub key: Option<(usize, u16)>,
    /// Where the list starts.
    pub head: Option<usize>,
    /// What arguments of sets range over.
    pub range: Option<(Expr, Expr)>,
    /// Is there a node at which no step can be local, whatever the state?
    pub surely_visible: Vec<bool>,
}

type Refusal = String;

impl<'p> Layout<'p> {
    /// Looks at a program; says what is not supported.
    pub fn new(program: &'p Program) -> Result<Layout<'p>, Refusal> {
        let (object, roles) = match &program.spec {
            SpecSource::Builtin(_) => {
                let object = object(program)?;
                (object, roles(program, object)?)
            }
            _ => crate::own::reference(program, None).map(|found| (found.object, found.roles))?,
        };
        Layout::of(program, object, roles)
    }

    /// The same program once more, with nothing added to it.
    pub(crate) fn plain(&self) -> Result<Layout<'p>, Refusal> {
        Layout::of(self.program, self.object, self.roles.clone())
    }

    /// The same, for a program that is to be compared with this object.
    pub(crate) fn of(program: &'p Program, object: Object, roles: Vec<Role>) -> Result<Layout<'p>, Refusal> {
        let mut layout = Layout {
            program,
            object,
            roles,
            shared_names: Vec::new(),
            global_bit: Vec::new(),
            first: 0,
            second: 0,
            shared: 0,
            uncorrelated: 0,
            nonuniform: 0,
            private: 0,
            listed: 0,
            beyond: 0,
            kinds: 0,
            record_kind: Vec::new(),
            bool_bit: Vec::new(),
            class_shift: 0,
            threads_from: 0,
            width: 0,
            local_bit: Vec::new(),
            argument: LocalBit(0),
            answer: LocalBit(1),
            locks: LocalBit(2),
            most_locks: 0,
            lock_bit: Vec::new(),
            offer: LocalBit(2),
            offer_kind: 0,
            freed: 0,
            owned: 0,
            gone: 0,
            records: 0,
            mine: LocalBit(2),
            data_locals: (0, 0),
            version: vec![None; program.globals.len()],
            scalar: Vec::new(),
            global_scalar: Vec::new(),
            member: 1 << 63,
            live: live_locals(program),
            keep: Vec::new(),
            link: Vec::new(),
            constant_field: program.records.iter().map(|r| vec![true; r.fields.len()]).collect(),
            constant_global: vec![true; program.globals.len()],
            key: None,
            head: None,
            range: None,
            surely_visible: Vec::new(),
        };
        layout.find_constants();
        layout.find_versions();
        layout.place_globals()?;
        layout.place_kinds()?;
        layout.place_locals()?;
        layout.arguments()?;
        layout.find_visible();
        Ok(layout)
    }

    /// A thread's bit.
    pub fn bit(&self, thread: usize, bit: LocalBit) -> Mask {
        1 << (self.threads_from + thread as u32 * self.width + bit.0)
    }

    /// All bits of a thread.
    pub fn thread_bits(&self, thread: usize) -> Mask {
        ((1 << self.width) - 1) << (self.threads_from + thread as u32 * self.width)
    }

    /// Bits that name a node: pointers. Locks held only describe it.
    pub fn naming(&self, threads: usize) -> Mask {
        let mut mask = self.shared;
        for thread in 0..threads {
            mask |= self.thread_bits(thread) & !self.held(thread);
        }
        mask & !self.makers(threads)
    }

    /// The locks of a record that a thread holds: one bit for each lock field.
    pub fn held(&self, thread: usize) -> Mask {
        ((1 << self.most_locks) - 1) << (self.threads_from + thread as u32 * self.width + self.locks.0)
    }

    /// That a thread holds the lock in this field of a record.
    pub fn held_field(&self, thread: usize, record: usize, field: u16) -> Option<Mask> {
        let number = self.lock_bit[record][usize::from(field)]?;
        Some(self.bit(thread, LocalBit(self.locks.0 + number)))
    }

    /// How many threads a mask, and the word of a lock, have room for.
    pub fn most_threads(&self) -> usize {
        let room = ((Mask::BITS - self.threads_from) / self.width.max(1)) as usize;
        room.min(STRANGER as usize - 1)
    }

    /// The class of a node's key.
    pub fn class_of(&self, mask: Mask) -> Class {
        (mask >> self.class_shift & 7) as Class
    }

    /// The same mask with another class.
    pub fn with_class(&self, mask: Mask, class: Class) -> Mask {
        mask & !(7 << self.class_shift) | Mask::from(class) << self.class_shift
    }

    /// Is this field the one that links?
    pub fn is_link(&self, record: usize, field: u16) -> bool {
        self.link[record] == Some(field)
    }

    /// Is a record of this kind an offer?
    pub fn is_offer(&self, record: usize) -> bool {
        self.record_kind[record] & self.offer_kind != 0
    }

    /// The field with a record's value, if it has one.
    pub fn value_field(&self, record: usize) -> Option<u16> {
        let fields = &self.program.records[record].fields;
        let mut data = (0..fields.len()).filter(|&i| fields[i].ty == Type::Data && !fields[i].ghost);
        let first = data.next()?;
        data.next().is_none().then_some(first as u16)
    }

    /// Where a number stands that is made of constants and sizes, for whatever sizes.
    pub fn class_of_constant(&self, e: &Expr) -> Class {
        let Some((lo, hi)) = &self.range else { return class::ANY };
        if self.program.sizes.len() > 1 || !is_constant(e) || !is_constant(lo) || !is_constant(hi) {
            return class::ANY;
        }
        // Both sides are linear in the size, so one is below the other for all sizes if it is for none at
        // all, and the distance does not shrink.
        let below = |a: &Expr, b: &Expr| {
            let distance = |size| value(b, size) - value(a, size);
            distance(0) > 0 && distance(1) >= distance(0)
        };
        if below(e, lo) {
            class::MIN
        } else if below(hi, e) {
            class::MAX
        } else {
            class::ANY
        }
    }

    /// The operation that a control point belongs to.
    pub fn op_at(&self, pc: u16) -> usize {
        self.program.nodes[usize::from(pc)].op.index()
    }

    /// What a slot of an operation is called.
    pub fn local_name(&self, op: OpId, local: usize) -> &str {
        &self.program.operation(op).locals[local].name
    }
}

pub(crate) fn object(program: &Program) -> Result<Object, Refusal> {
    let spec = match &program.spec {
        SpecSource::Builtin(spec) => spec,
        _ => return Err("no built-in specification".into()),
    };
    if spec.capacity.is_some() || spec.spurious {
        return Err("bounded or spurious collections have no reference here".into());
    }
    match spec.kind {
        Kind::Stack => Ok(Object::Stack),
        Kind::Queue => Ok(Object::Queue),
        Kind::Set => Ok(Object::Set),
        other => Err(format!("`{}` has no reference here; stack, queue and set have", other.name())),
    }
}

pub(crate) fn roles(program: &Program, object: Object) -> Result<Vec<Role>, Refusal> {
    let SpecSource::Builtin(spec) = &program.spec else { return Err("no specification".into()) };
    let role = |name: &str| match (object, name) {
        (Object::Stack, "push") | (Object::Queue, "enqueue") => Some(Role::Insert),
        (Object::Stack, "pop") | (Object::Queue, "dequeue") => Some(Role::Take),
        (Object::Set, "add") => Some(Role::Add),
        (Object::Set, "remove") => Some(Role::Remove),
        (Object::Set, "contains") => Some(Role::Contains),
        _ => None,
    };
    let of = |op: &linpoint_lang::program::Operation| {
        let code = spec.signature().find(&op.name);
        let found = code.and_then(|code| role(spec.signature().decl(code).name));
        found.ok_or_else(|| format!("`{}` is no operation of the reference", op.name))
    };
    program.operations.iter().map(of).collect()
}

fn is_constant(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Size(_) => true,
        Expr::Neg(e) => is_constant(e),
        Expr::Binary(BinOp::Add | BinOp::Sub, a, b) => is_constant(a) && is_constant(b),
        _ => false,
    }
}

/// Its value where all sizes are this.
fn value(e: &Expr, size: i64) -> i64 {
    match e {
        Expr::Const(word) => i64::from(*word as Word),
        Expr::Size(_) => size,
        Expr::Neg(e) => -value(e, size),
        Expr::Binary(BinOp::Add, a, b) => value(a, size) + value(b, size),
        Expr::Binary(BinOp::Sub, a, b) => value(a, size) - value(b, size),
        _ => 0,
    }
}
