//! Random bodies, each written twice: as it is, and as the specification has it.

use linpoint_history::rng::Rng;

use super::Wish;
use super::names::Names;

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    Number,
    Data,
    Truth,
    Maybe,
    Pointer,
}

/// A statement or several: as it is in the object, and in the specification.
#[derive(Clone, Debug, Default)]
struct Twice {
    here: String,
    spec: String,
}

impl Twice {
    fn same(text: String) -> Twice {
        Twice { spec: text.clone(), here: text }
    }

    fn add(&mut self, other: &Twice) {
        self.here.push_str(&other.here);
        self.spec.push_str(&other.spec);
    }

    /// In braces, behind something.
    fn within(&self, head: &str) -> Twice {
        Twice { here: format!("{head} {{\n{}}}\n", self.here), spec: format!("{head} {{\n{}}}\n", self.spec) }
    }
}

/// Shared things of an object.
#[derive(Default)]
struct Shared {
    numbers: Vec<String>,
    data: Option<String>,
    flag: Option<String>,
    maybe: Option<String>,
    locks: Vec<String>,
    array: Option<String>,
    /// An array of records, the record, its number and its two locks.
    slots: Option<[String; 5]>,
    /// A pointer, its record, and the record's number, pointer and two locks.
    heap: Option<[String; 6]>,
    pooled: bool,
    ghost: Option<String>,
    ghost_field: Option<String>,
    procedure: Option<String>,
}

pub(super) struct Writer<'r> {
    rng: &'r mut Rng,
    wish: Wish,
    names: Names,
    shared: Shared,
    /// Locals that have values here.
    locals: Vec<(String, Ty)>,
    next_local: usize,
    /// How many statements are left for the body.
    left: usize,
    /// Inside an atomic block there are no loops and no locks.
    in_atomic: bool,
    procedure: Twice,
}

impl<'r> Writer<'r> {
    pub fn new(rng: &'r mut Rng, wish: Wish, mut names: Names) -> Writer<'r> {
        let mut maybe = |wished: bool| wished && rng.chance(0.7);
        let mut shared = Shared { numbers: vec![names.of("n")], ..Shared::default() };
        if maybe(true) {
            shared.numbers.push(names.of("k"));
        }
        shared.data = maybe(true).then(|| names.of("d"));
        shared.flag = maybe(true).then(|| names.of("flag"));
        shared.maybe = maybe(wish.tuples).then(|| names.of("m"));
        if wish.locks {
            shared.locks = vec![names.of("la"), names.of("lb")];
        }
        shared.array = maybe(wish.arrays).then(|| names.of("arr"));
        shared.slots =
            maybe(wish.arrays).then(|| ["slots", "Slot", "s", "h", "w"].map(|name| names.of(name)));
        shared.heap =
            wish.heap.then(|| ["head", "Node", "val", "link", "la", "lb"].map(|name| names.of(name)));
        shared.pooled = maybe(wish.free);
        shared.ghost = maybe(wish.ghosts).then(|| names.of("gh"));
        shared.ghost_field = maybe(wish.ghosts && wish.heap).then(|| names.of("gf"));
        shared.procedure = maybe(wish.procedures).then(|| names.of("helper"));
        let (locals, procedure) = (Vec::new(), Twice::default());
        Writer { rng, wish, names, shared, locals, next_local: 0, left: 0, in_atomic: false, procedure }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound.max(1) as u64) as usize
    }

    /// The declarations of the object, and those of its specification.
    pub fn declarations(&self) -> (String, String) {
        let mut both = Twice::default();
        let Shared { numbers, data, flag, maybe, locks, array, slots, heap, .. } = &self.shared;
        if let Some([array, record, number, one, other]) = slots {
            let locks = if self.wish.locks { format!(", {one}: lock, {other}: lock") } else { String::new() };
            both.here.push_str(&format!("struct {record} {{ {number}: int{locks} }}\n"));
            // The specification sees the records of the object.
            both.add(&Twice::same(format!("shared {array}: [{record}; 2]\n")));
        }
        if let Some([head, record, number, link, one, other]) = heap {
            let pooled = if self.shared.pooled { "pooled " } else { "" };
            let mut more =
                if self.wish.locks { format!(", {one}: lock, {other}: lock") } else { String::new() };
            if let Some(ghost) = &self.shared.ghost_field {
                more.push_str(&format!(", ghost {ghost}: int"));
            }
            both.here
                .push_str(&format!("{pooled}struct {record} {{ {number}: int, {link}: *{record}{more} }}\n"));
            both.add(&Twice::same(format!("shared {head}: *{record} = null\n")));
        }
        let plain = numbers.iter().map(|name| (name, "int"));
        let plain = plain.chain(data.iter().map(|name| (name, "data")));
        let plain = plain.chain(flag.iter().map(|name| (name, "bool")));
        let plain = plain.chain(maybe.iter().map(|name| (name, "int?")));
        for (name, ty) in plain.chain(array.iter().map(|name| (name, "[int; 2]"))) {
            both.add(&Twice::same(format!("shared {name}: {ty}\n")));
        }
        for lock in locks {
            both.here.push_str(&format!("shared {lock}: lock\n"));
        }
        if let Some(ghost) = &self.shared.ghost {
            both.here.push_str(&format!("ghost shared {ghost}: int\n"));
        }
        both.add(&self.procedure);
        (both.here, both.spec)
    }

    /// What a proof needs, where it is wished: the abstract object is the shared memory.
    pub fn annotations(&self) -> String {
        if !self.wish.proof || self.shared.heap.is_some() {
            return String::new();
        }
        let Shared { numbers, data, flag, maybe, array, slots, .. } = &self.shared;
        let mut items: Vec<String> = Vec::new();
        if let Some([array, _, number, ..]) = slots {
            items.extend([0, 1].map(|at| format!("{array}[{at}].{number}")));
        }
        items.extend(numbers.iter().chain(data).chain(flag).chain(maybe).cloned());
        if let Some(array) = array {
            items.extend([0, 1].map(|at| format!("{array}[{at}]")));
        }
        format!("abs {}\n", items.join(", "))
    }

    /// Every operation, twice.
    pub fn operations(&mut self) -> Vec<(String, String)> {
        if let Some(name) = self.shared.procedure.take() {
            self.procedure = self.helper(&name);
            self.shared.procedure = Some(name);
        }
        let count = 2 + self.below(2);
        (0..count).map(|at| self.operation(at)).collect()
    }

    fn helper(&mut self, name: &str) -> Twice {
        (self.locals, self.next_local, self.left) = (Vec::new(), 0, 2);
        let param = self.new_local(Ty::Number);
        let body = self.statements();
        let end = Twice::same(format!("return {}\n", self.expr(Ty::Number, 1)));
        let mut all = body;
        all.add(&end);
        all.within(&format!("proc {name}({param}: int) -> int"))
    }

    fn operation(&mut self, at: usize) -> (String, String) {
        let name = self.names.of(["f", "g", "h"][at % 3]);
        (self.locals, self.next_local, self.left) = (Vec::new(), 0, 2 + self.below(4));
        let mut params = Vec::new();
        for (ty, text) in [(Ty::Data, "data"), (Ty::Number, "0..2"), (Ty::Maybe, "int?")] {
            if self.rng.chance(0.3) && (ty != Ty::Maybe || self.wish.tuples) {
                params.push(format!("{}: {text}", self.new_local(ty)));
            }
        }
        let whole = self.below(10);
        // One step, so that it can be proved; under a lock; or as it comes.
        let atomic = self.wish.proof || whole < 2 && self.wish.atomic;
        let locked = !atomic && whole < 5 && self.wish.locks;
        self.in_atomic = atomic;
        let body = self.statements();
        self.in_atomic = false;
        let (result, value) = self.result();
        let mut all = match () {
            () if atomic => {
                let point = match (self.wish.proof, &value) {
                    (true, Some(value)) => format!(" @lin({value})"),
                    (true, None) => " @lin".to_owned(),
                    (false, _) => String::new(),
                };
                Twice { here: format!("atomic {{\n{}}}{point}\n", body.here), spec: body.spec }
            }
            () if locked => self.under_lock(&body, 0),
            () => body,
        };
        if let Some(value) = &value {
            all.add(&Twice::same(format!("return {value}\n")));
        }
        let result = result.map(|result| format!(" -> {result}")).unwrap_or_default();
        let all = all.within(&format!("op {name}({}){result}", params.join(", ")));
        (all.here, all.spec)
    }

    /// A type of results and a result.
    fn result(&mut self) -> (Option<&'static str>, Option<String>) {
        let locals = |ty: Ty, locals: &[(String, Ty)]| {
            locals.iter().rev().find(|(_, other)| *other == ty).map(|(name, _)| name.clone())
        };
        // Only locals: in a proof the result is said at the point.
        let number = locals(Ty::Number, &self.locals).unwrap_or_else(|| "1".into());
        let maybe = locals(Ty::Maybe, &self.locals).unwrap_or_else(|| "none".into());
        let data = locals(Ty::Data, &self.locals);
        let truth = locals(Ty::Truth, &self.locals).unwrap_or_else(|| "true".into());
        match self.below(if self.wish.tuples { 8 } else { 4 }) {
            0 => (None, None),
            1 => (Some("int"), Some(number)),
            2 => (Some("bool"), Some(truth)),
            3 => match data {
                Some(data) => (Some("data"), Some(data)),
                None => (None, None),
            },
            4 => (Some("(int, bool)"), Some(format!("({number}, {truth})"))),
            5 => (Some("int?"), Some(maybe)),
            6 => {
                let values = ["none".to_owned(), format!("({number}, {maybe})")];
                (Some("(int, int?)?"), Some(self.rng.pick(&values).clone()))
            }
            _ => {
                let values = ["none".to_owned(), format!("({maybe}, {number})")];
                (Some("(int?, int)?"), Some(self.rng.pick(&values).clone()))
            }
        }
    }

    fn new_local(&mut self, ty: Ty) -> String {
        let name = self.names.local(self.next_local);
        self.next_local += 1;
        self.locals.push((name.clone(), ty));
        name
    }

    /// Statements until there are enough.
    fn statements(&mut self) -> Twice {
        let mut all = Twice::default();
        while self.left > 0 {
            self.left -= 1;
            let next = self.statement();
            all.add(&next);
            if self.rng.chance(0.15) {
                break;
            }
        }
        all
    }

    /// A block of its own: what gets a value in it has none after it.
    fn block(&mut self) -> Twice {
        let known = self.locals.clone();
        let block = self.statements();
        self.locals = known;
        block
    }

    fn statement(&mut self) -> Twice {
        if self.shared.heap.is_some() && self.rng.chance(0.4) {
            return self.on_the_heap();
        }
        match self.below(16) {
            0..4 => self.assign_local(),
            4..7 => self.assign_shared(),
            7 => {
                let cond = self.expr(Ty::Truth, 2);
                let mut all = self.block().within(&format!("if {cond}"));
                if self.rng.chance(0.3) {
                    let otherwise = self.block().within("else");
                    (all.here, all.spec) = (
                        format!("{} {}", all.here.trim_end(), otherwise.here),
                        format!("{} {}", all.spec.trim_end(), otherwise.spec),
                    );
                }
                all
            }
            8 => self.compare_and_swap(),
            11 if self.wish.locks && !self.in_atomic => {
                let lock = self.below(2);
                let body = self.statements();
                self.under_lock(&body, lock)
            }
            12 if self.wish.atomic && !self.in_atomic => {
                self.in_atomic = true;
                let body = self.statements();
                self.in_atomic = false;
                Twice { here: format!("atomic {{\n{}}}{}\n", body.here, self.note()), spec: body.spec }
            }
            13 if self.wish.choices => self.choose(),
            14 if !self.in_atomic => self.block().within("for it in 0..2"),
            15 if self.shared.procedure.is_some() && !self.procedure.here.is_empty() && !self.in_atomic => {
                let argument = self.expr(Ty::Number, 1);
                let name = self.shared.procedure.clone().unwrap_or_default();
                let local = self.new_local(Ty::Number);
                Twice::same(format!("{local} = {name}({argument})\n"))
            }
            _ => self.assign_shared(),
        }
    }

    fn under_lock(&mut self, body: &Twice, lock: usize) -> Twice {
        let lock = self.shared.locks[lock].clone();
        Twice { here: format!("lock({lock})\n{}unlock({lock})\n", body.here), spec: body.spec.clone() }
    }

    /// Annotations of a step, perhaps.
    fn note(&mut self) -> String {
        let mut note = String::new();
        if self.wish.points && !self.wish.proof && self.rng.chance(0.2) {
            note.push_str(" @lin");
        }
        if let Some(ghost) = &self.shared.ghost
            && self.rng.chance(0.3)
        {
            note.push_str(&format!(" @ghost {{ {ghost} = {ghost} + 1 }}"));
        }
        note
    }

    fn noted(&mut self, text: String) -> Twice {
        let note = if self.in_atomic { String::new() } else { self.note() };
        Twice { here: format!("{text}{note}\n"), spec: format!("{text}\n") }
    }

    fn assign_local(&mut self) -> Twice {
        let types = [Ty::Number, Ty::Number, Ty::Data, Ty::Truth, Ty::Maybe];
        let mut ty = *self.rng.pick(&types);
        if ty == Ty::Data && self.shared.data.is_none() || ty == Ty::Maybe && !self.wish.tuples {
            ty = Ty::Number;
        }
        if ty == Ty::Number && self.rng.chance(0.2) {
            let number = self.rng.pick(&self.shared.numbers).clone();
            let local = self.new_local(Ty::Number);
            return self.noted(format!("{local} = fetch_add({number}, 1)"));
        }
        let value = match self.expr(ty, 2) {
            // A new variable cannot start with it.
            none if none == "none" => "some(0)".to_owned(),
            value => value,
        };
        // A local that has a value gets another, or a new one gets its first.
        let known = self.locals.iter().rev().find(|(_, other)| *other == ty).map(|(name, _)| name.clone());
        let declared = match ty {
            Ty::Maybe => "var NAME: int? = ",
            Ty::Number | Ty::Data | Ty::Truth | Ty::Pointer => "NAME = ",
        };
        let text = match known {
            Some(name) if self.rng.chance(0.3) => format!("{name} = {value}"),
            _ => format!("{}{value}", declared.replace("NAME", &self.new_local(ty))),
        };
        self.noted(text)
    }

    fn assign_shared(&mut self) -> Twice {
        let mut places: Vec<(String, Ty)> = Vec::new();
        places.extend(self.shared.numbers.iter().map(|name| (name.clone(), Ty::Number)));
        places.extend(self.shared.data.iter().map(|name| (name.clone(), Ty::Data)));
        places.extend(self.shared.flag.iter().map(|name| (name.clone(), Ty::Truth)));
        places.extend(self.shared.maybe.iter().map(|name| (name.clone(), Ty::Maybe)));
        let at = self.below(2);
        places.extend(self.shared.array.iter().map(|name| (format!("{name}[{at}]"), Ty::Number)));
        if let Some([array, _, number, ..]) = &self.shared.slots {
            places.push((format!("{array}[{at}].{number}"), Ty::Number));
        }
        let (place, ty) = self.rng.pick(&places).clone();
        let value = self.expr(ty, 2);
        self.noted(format!("{place} = {value}"))
    }

    fn compare_and_swap(&mut self) -> Twice {
        let number = self.rng.pick(&self.shared.numbers).clone();
        let (old, new) = (self.expr(Ty::Number, 1), self.expr(Ty::Number, 1));
        if self.in_atomic || self.rng.chance(0.5) {
            return self.block().within(&format!("if cas({number}, {old}, {new})"));
        }
        // A loop that tries again, as they are written by hand.
        let local = self.new_local(Ty::Number);
        Twice::same(format!(
            "loop {{\n{local} = {number}\nif cas({number}, {local}, ({local} + 1) % 3) {{ break }}\n}}\n"
        ))
    }

    fn choose(&mut self) -> Twice {
        let (one, other) = (self.block(), self.block());
        let both = |one: &str, other: &str| format!("choose {{\n{one}}} or {{\n{other}}}\n");
        Twice { here: both(&one.here, &other.here), spec: both(&one.spec, &other.spec) }
    }

    /// Something with records: one is put in front, read, changed, locked, or taken away.
    fn on_the_heap(&mut self) -> Twice {
        let Some([head, record, number, link, one, other]) = self.shared.heap.clone() else {
            return Twice::default();
        };
        let value = self.expr(Ty::Number, 1);
        if self.rng.chance(0.4) {
            let pointer = self.new_local(Ty::Pointer);
            return match self.below(3) {
                0 => Twice::same(format!(
                    "{pointer} = new {record} {{ {number}: {value}, {link}: {head} }}\n{head} = {pointer}\n"
                )),
                1 => Twice::same(format!(
                    "{pointer} = new {record} {{ {number}: {value} }}\n{pointer}.{link} = {head}\n\
                     {pointer}.{number} = ({pointer}.{number} + 1) % 3\n{head} = {pointer}\n"
                )),
                _ => Twice::same(format!("{pointer} = new {record}\n{pointer}.{number} = {value}\n")),
            };
        }
        let (pointer, local) = (self.new_local(Ty::Pointer), self.names.local(self.next_local));
        self.next_local += 1;
        let locked = self.wish.locks && !self.in_atomic;
        let mut inside = match self.below(4) {
            0 => Twice::same(format!("{local} = {pointer}.{number}\n{} = {local}\n", self.shared.numbers[0])),
            1 => Twice::same(format!("{pointer}.{number} = {value}\n")),
            2 if self.wish.free => {
                let spec = format!("{head} = {pointer}.{link}\n");
                Twice { here: format!("{spec}free({pointer})\n"), spec }
            }
            _ => Twice::same(format!("{local} = {pointer}.{link}\n{head} = {local}\n")),
        };
        if locked && self.rng.chance(0.5) {
            let second = if self.rng.chance(0.5) { &one } else { &other };
            inside.here = match self.below(2) {
                0 => format!("lock({pointer}.{one})\n{}unlock({pointer}.{one})\n", inside.here),
                _ => format!(
                    "lock({pointer}.{second})\nif {pointer}.{number} == 1 {{ {pointer}.{number} = 2 }}\n\
                     unlock({pointer}.{second})\n{}",
                    inside.here
                ),
            };
        }
        let mut all = Twice::same(format!("{pointer} = {head}\n"));
        all.add(&inside.within(&format!("if {pointer} != null")));
        all
    }

    fn expr(&mut self, ty: Ty, depth: usize) -> String {
        let mut known: Vec<String> =
            self.locals.iter().filter(|(_, other)| *other == ty).map(|(name, _)| name.clone()).collect();
        let at = self.below(2);
        match ty {
            Ty::Number => {
                known.extend(["0", "1", "2"].map(str::to_owned));
                known.extend(self.shared.numbers.iter().cloned());
                known.extend(self.shared.array.iter().map(|name| format!("{name}[{at}]")));
                if let Some([array, _, number, ..]) = &self.shared.slots {
                    known.push(format!("{array}[{at}].{number}"));
                }
                if depth > 0 && self.rng.chance(0.3) {
                    let (a, b) = (self.expr(ty, depth - 1), self.expr(ty, depth - 1));
                    return format!("({a} + {b}) % 3");
                }
            }
            Ty::Data => known.extend(self.shared.data.iter().cloned()),
            Ty::Truth => {
                known.extend(["true", "false"].map(str::to_owned));
                known.extend(self.shared.flag.iter().cloned());
                if depth > 0 {
                    return self.truth(depth - 1);
                }
            }
            Ty::Maybe => {
                known.push("none".into());
                known.extend(self.shared.maybe.iter().cloned());
                if depth > 0 && self.rng.chance(0.5) {
                    return format!("some({})", self.expr(Ty::Number, 0));
                }
            }
            Ty::Pointer => known.push("null".into()),
        }
        match known.is_empty() {
            true => "0".into(),
            false => self.rng.pick(&known).clone(),
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        match self.below(6) {
            0 => format!("{} == {}", self.expr(Ty::Number, depth), self.expr(Ty::Number, depth)),
            1 => format!("{} < {}", self.expr(Ty::Number, depth), self.expr(Ty::Number, depth)),
            2 if self.shared.data.is_some() => {
                format!("{} == {}", self.expr(Ty::Data, 0), self.expr(Ty::Data, 0))
            }
            3 if self.wish.tuples => format!("{} != none", self.maybe_place()),
            4 => format!("!{}", self.expr(Ty::Truth, 0)),
            _ => self.expr(Ty::Truth, 0),
        }
    }

    /// Something that may be `none`, but is not written so.
    fn maybe_place(&mut self) -> String {
        let local = self.locals.iter().rev().find(|(_, ty)| *ty == Ty::Maybe).map(|(name, _)| name.clone());
        local.or_else(|| self.shared.maybe.clone()).unwrap_or_else(|| "some(1)".into())
    }
}
