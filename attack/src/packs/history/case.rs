//! Small random histories, in a form of their own: a row is a few plain fields, and what the checker reads is text.

use linpoint_history::rng::Rng;
use linpoint_history::specs::SpecError;
use linpoint_history::{Kind, Shape, Spec, Value, specs};

use super::referee;

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    pub process: i64,
    pub name: String,
    pub arg: Value,
    /// What it answered; `None`: it never did.
    pub ret: Option<Value>,
    pub call: i64,
    pub end: i64,
}

impl Op {
    pub fn is_pending(&self) -> bool {
        self.ret.is_none()
    }
}

/// A history of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// With its settings: `queue:capacity=2:spurious`.
    pub spec: String,
    pub initial: Option<Value>,
    pub ops: Vec<Op>,
}

impl Case {
    /// The specification without its settings.
    pub fn kind(&self) -> &str {
        self.spec.split(':').next().unwrap_or_default()
    }

    pub fn capacity(&self) -> Option<usize> {
        self.spec.split(':').find_map(|setting| setting.strip_prefix("capacity=")?.parse().ok())
    }

    pub fn is_spurious(&self) -> bool {
        self.spec.split(':').any(|setting| setting == "spurious")
    }

    /// As the checker reads it.
    pub fn text(&self) -> String {
        self.ops.iter().map(|op| line(op, None) + "\n").collect()
    }

    /// How the checker is called on it.
    pub fn command(&self) -> String {
        let initial = self.initial.as_ref().map(|value| format!(" --initial '{value}'")).unwrap_or_default();
        format!("linpoint check FILE --spec {}{initial}", self.spec)
    }

    /// The same without one operation.
    pub fn without(&self, index: usize) -> Case {
        let mut less = self.clone();
        less.ops.remove(index);
        less
    }
}

/// An operation as a JSON line, of the object `key` if there are several.
pub fn line(op: &Op, key: Option<&str>) -> String {
    let key = key.map(|key| format!(",\"key\":\"{key}\"")).unwrap_or_default();
    let ends = match &op.ret {
        Some(ret) => format!(",\"ret\":{ret},\"return\":{}", op.end),
        None => String::new(),
    };
    let name = &op.name;
    format!(
        "{{\"process\":{},\"op\":\"{name}\",\"arg\":{},\"call\":{}{ends}{key}}}",
        op.process, op.arg, op.call
    )
}

/// Values of every type, in their order.
pub fn values() -> Vec<Value> {
    let text = |text: &str| Value::text(text);
    let mut values = vec![Value::Bool(false), Value::Bool(true)];
    values.extend([i64::MIN, -2, -1, 0, 1, 0xBFFF_FFFF, 0xC000_0000, i64::MAX].map(Value::Int));
    values.extend(["", "a", "b", "ab", "null"].map(text));
    let nested = Value::list([text("a"), Value::list([Value::Int(-1)])]);
    values.extend([Value::list([]), Value::list([Value::Null]), nested]);
    values
}

/// A specification with a variant, at random.
pub fn spec(rng: &mut Rng) -> String {
    let kinds: Vec<Kind> = Kind::all().collect();
    let kind = *rng.pick(&kinds);
    let variants: &[&str] = match kind {
        Kind::Semaphore => &["", ":capacity=2"],
        kind if kind.is_collection() => {
            &["", "", ":spurious", ":capacity=1", ":capacity=2", ":capacity=2:spurious"]
        }
        _ => &[""],
    };
    let name = format!("{}{}", kind.name(), rng.pick(variants));
    // Where no answer is "empty" and none is "full", there is nothing to be spurious about.
    if let Err(SpecError::Pointless { name }) = specs::parse(&name) { name } else { name }
}

/// A history of at most `most` operations; its results are those of a run, and often one of them is changed.
pub fn random(rng: &mut Rng, most: u64) -> Case {
    let spec = spec(rng);
    let builtin = specs::parse(&spec).unwrap_or_else(|error| panic!("{error}"));
    // Few values, so that they repeat; order is kept where it matters, since they are a part of an ordered list.
    let mut pool = values();
    while pool.len() as u64 > 2 + rng.below(4) {
        let out = rng.below(pool.len() as u64) as usize;
        pool.remove(out);
    }
    let mut case = Case { spec, initial: None, ops: Vec::new() };
    if rng.chance(0.5) {
        case.initial = initial(&case, &pool, rng);
    }
    let lanes = 1 + rng.below(4) as i64;
    let stamps = 2 + rng.below(20) as i64;
    let count = 1 + rng.below(most);
    for lane in 0..lanes {
        let mut at: Vec<i64> =
            (0..2 * (count / lanes as u64 + 1)).map(|_| rng.below(stamps as u64) as i64).collect();
        at.sort_unstable();
        let mut process = lane;
        for span in at.chunks(2) {
            let decl = rng.pick(&builtin.signature().operations);
            let arg = argument(decl.name, decl.arg, &pool, rng);
            let ret = (!rng.chance(0.12)).then_some(Value::Null);
            let is_pending = ret.is_none();
            let (call, end) = (span[0], if is_pending { i64::MAX } else { span[1] });
            case.ops.push(Op { process, name: decl.name.to_owned(), arg, ret, call, end });
            // Whoever never answers calls nothing more.
            process += if is_pending { 100 } else { 0 };
        }
    }
    case.ops.truncate(most as usize);
    answer(&mut case, rng);
    if rng.chance(0.5) {
        spoil(&mut case, &pool, rng);
    }
    case
}

/// A value or contents to start with, in any of their forms.
fn initial(case: &Case, pool: &[Value], rng: &mut Rng) -> Option<Value> {
    let list = |rng: &mut Rng, item: &dyn Fn(&mut Rng) -> Value| {
        let count = rng.below(4);
        Value::list((0..count).map(|_| item(rng)).collect::<Vec<_>>())
    };
    let one = |rng: &mut Rng| rng.pick(pool).clone();
    match case.kind() {
        "register" | "cas-register" | "kv" => Some(one(rng)),
        "rmw-register" | "counter" => Some(Value::Int(*rng.pick(&[-1, 0, 1, i64::MAX, i64::MIN]))),
        "snapshot" => Some(list(rng, &|rng| if rng.chance(0.4) { Value::Null } else { one(rng) })),
        "map" => Some(list(rng, &|rng| Value::list([one(rng), one(rng)]))),
        "lock" | "rw-lock" | "semaphore" => None,
        // Not more than there is room for.
        _ => match list(rng, &one) {
            Value::List(items) => {
                let room = case.capacity().unwrap_or(usize::MAX);
                Some(Value::list(items.iter().take(room).cloned()))
            }
            other => Some(other),
        },
    }
}

fn argument(name: &str, shape: Shape, pool: &[Value], rng: &mut Rng) -> Value {
    let one = |rng: &mut Rng| rng.pick(pool).clone();
    match shape {
        Shape::Unit => Value::Null,
        Shape::Int | Shape::OptionalInt => Value::Int(*rng.pick(&[-1, 1, 2, i64::MAX])),
        Shape::Bool | Shape::Done => Value::Bool(rng.chance(0.5)),
        Shape::Text => Value::text(rng.pick::<&str>(&["", "a", "b"])),
        Shape::Cell => Value::list([Value::Int(rng.below(3) as i64), one(rng)]),
        Shape::Pair | Shape::Entry => Value::list([one(rng), one(rng)]),
        Shape::List => Value::list([one(rng)]),
        Shape::Any if name == "append" => Value::text(rng.pick::<&str>(&["", "a", "b"])),
        Shape::Item | Shape::Any => one(rng),
        Shape::Own(_) => unreachable!("cases are of built-in specifications"),
    }
}

/// Lets the operations take effect, each at a moment between its call and its end, and notes what they answer.
fn answer(case: &mut Case, rng: &mut Rng) {
    let mut moments: Vec<(f64, usize)> = Vec::new();
    for (index, op) in case.ops.iter().enumerate() {
        let end = if op.is_pending() { op.call + 5 } else { op.end };
        moments.push((op.call as f64 + rng.unit() * (end - op.call) as f64, index));
    }
    moments.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut state = None;
    let mut senseless = Vec::new();
    for (_, index) in moments {
        let outcomes = referee::run(case, state.as_ref(), &case.ops[index]);
        // What has no answer is not in a log: an addition to a text, say.
        if outcomes.is_empty() {
            senseless.push(index);
        }
        if outcomes.is_empty() || case.ops[index].is_pending() && rng.chance(0.5) {
            continue;
        }
        let (result, next) = rng.pick(&outcomes).clone();
        if case.ops[index].ret.is_some() {
            case.ops[index].ret = Some(result);
        }
        state = Some(next);
    }
    senseless.sort_unstable();
    for index in
        senseless.into_iter().rev().filter(|&index| !case.ops[index].is_pending()).collect::<Vec<_>>()
    {
        case.ops.remove(index);
    }
}

/// Changes one answer to another that its operation might give.
fn spoil(case: &mut Case, pool: &[Value], rng: &mut Rng) {
    let Ok(builtin) = specs::parse(&case.spec) else { return };
    if case.ops.is_empty() {
        return;
    }
    let at = rng.below(case.ops.len() as u64) as usize;
    let Some(code) = builtin.signature().find(&case.ops[at].name) else { return };
    let wrong = match builtin.signature().decl(code).result {
        Shape::Unit => return,
        Shape::Bool => Value::Bool(rng.chance(0.5)),
        Shape::Done => rng.pick(&[Value::Null, Value::Bool(false)]).clone(),
        Shape::Int | Shape::OptionalInt => Value::Int(*rng.pick(&[-1, 0, 1, 2, i64::MIN])),
        Shape::List => Value::list([rng.pick(pool).clone(), Value::Null]),
        Shape::Text => Value::text("a"),
        Shape::Pair | Shape::Entry | Shape::Cell | Shape::Own(_) => return,
        Shape::Item | Shape::Any => {
            if rng.chance(0.3) {
                Value::Null
            } else {
                rng.pick(pool).clone()
            }
        }
    };
    if case.ops[at].ret.is_some() {
        case.ops[at].ret = Some(wrong);
    }
}
