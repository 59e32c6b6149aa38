//! Coarse clocks: few stamps, so that operations of one process touch and those of different ones meet.

use linpoint_check::brute::several;
use linpoint_check::{Options, check_rows};
use linpoint_history::generate::{self, Plan};
use linpoint_history::history::{return_order, sort_as_logged};
use linpoint_history::rng::Rng;
use linpoint_history::{
    Builtin, Call, History, KeyId, Kind, OpCode, Operation, Shape, Spec, Symbols, Value, Verdict,
};

use crate::pack::{Pack, Round};

/// Small histories with one to five stamps, of one object or three.
pub const SMALL: Pack = Pack {
    engine: "history",
    name: "coarse",
    about: "small histories with few stamps, one object or three, rows in any order; judged by every order there is",
    round: small,
};

/// Long histories with fine stamps, divided.
pub const DIVIDED: Pack = Pack {
    engine: "history",
    name: "divided",
    about: "linearizable histories whose stamps are divided, rows as they returned; judged by the generator",
    round: divided,
};

const CASES: u64 = 40;

fn small(rng: &mut Rng) -> Round {
    for _ in 0..CASES {
        let kind = *rng.pick(&Kind::all().collect::<Vec<_>>());
        let spec = Builtin::new(kind);
        let keys = *rng.pick(&[0, 0, 2, 3]);
        let mut history = history(&spec, keys, rng);
        match rng.below(3) {
            0 => {}
            1 => history.operations.sort_by_key(return_order),
            _ => sort_as_logged(&mut history.operations),
        }
        if let Some((mut said, mut judge)) = differ(&spec, &history.operations, &history.symbols) {
            let mut rows = history.operations.clone();
            let mut index = 0;
            while index < rows.len() {
                let mut fewer = rows.clone();
                fewer.remove(index);
                match differ(&spec, &fewer, &history.symbols) {
                    Some(found) => (rows, said, judge) = (fewer, found.0, found.1),
                    None => index += 1,
                }
            }
            return Round::disagreed(said, judge, written(&spec, &rows, &history.symbols), command(&spec));
        }
    }
    Round::Agreed(CASES)
}

/// What the engines say and what the definition says, where these are not the same.
fn differ(spec: &Builtin, rows: &[Operation], symbols: &Symbols) -> Option<(String, String)> {
    // Where nothing returned there is nothing to say.
    if rows.iter().all(Operation::is_pending) {
        return None;
    }
    let object = |row: &Operation| if row.key == KeyId::NONE { 0 } else { row.key.0 };
    let objects: Vec<u32> = rows.iter().map(object).collect();
    let truth = several::search(spec, rows, &objects, symbols, 2_000_000)?;
    let options = Options { threads: 1, ..Options::default() };
    let said = match check_rows(rows.to_vec(), spec, &mut symbols.clone(), &options) {
        Ok(answer) => match answer.verdict {
            Verdict::Holds(_) if truth => return None,
            Verdict::Violated(_) if !truth => return None,
            Verdict::Holds(_) => "linearizable".to_owned(),
            Verdict::Violated(_) => "not linearizable".to_owned(),
            Verdict::Unknown(why) => format!("unknown: {why:?}"),
        },
        Err(error) => error.to_string(),
    };
    let judge = if truth { "there is an order" } else { "there is none" };
    Some((said, judge.to_owned()))
}

fn divided(rng: &mut Rng) -> Round {
    const KINDS: [Kind; 10] = [
        Kind::Queue,
        Kind::Stack,
        Kind::Deque,
        Kind::PriorityQueue,
        Kind::Set,
        Kind::Multiset,
        Kind::List,
        Kind::Map,
        Kind::Register,
        Kind::Kv,
    ];
    let spec = Builtin::new(*rng.pick(&KINDS));
    let plan = Plan {
        processes: 2 + rng.below(31) as u32,
        operations: 500 + rng.below(4000),
        keys: *rng.pick(&[0, 7, 100]),
        seed: rng.bits(),
        ..Plan::new(spec.clone())
    };
    let Ok((mut history, _)) = generate::history(&plan, None) else { return Round::Agreed(0) };
    let by = *rng.pick(&[2, 10, 100, 1000]);
    for row in history.operations.iter_mut().filter(|row| !row.is_pending()) {
        (row.call, row.ret) = (row.call / by, row.ret / by);
    }
    let answer = check_rows(history.operations.clone(), &spec, &mut history.symbols, &Options::default());
    let said = match answer.map(|answer| answer.verdict) {
        Ok(Verdict::Holds(_)) => return Round::Agreed(1),
        Ok(Verdict::Violated(_)) => "not linearizable".to_owned(),
        Ok(Verdict::Unknown(why)) => format!("unknown: {why:?}"),
        Err(error) => error.to_string(),
    };
    let input = written(&spec, &history.operations, &history.symbols);
    Round::disagreed(
        said,
        format!("linearizable by construction ({plan:?}, divided by {by})"),
        input,
        command(&spec),
    )
}

fn command(spec: &Builtin) -> String {
    format!("linpoint check --spec {} HISTORY", spec.kind.name())
}

/// Rows as JSON lines.
fn written(spec: &Builtin, rows: &[Operation], symbols: &Symbols) -> String {
    let line = |row: &Operation| {
        let ret = if row.is_pending() { "null".to_owned() } else { row.ret.to_string() };
        let key = if row.key == KeyId::NONE {
            String::new()
        } else {
            format!(",\"key\":{}", symbols.key_name(row.key))
        };
        format!(
            "{{\"process\":{},\"op\":\"{}\",\"arg\":{},\"ret\":{},\"call\":{},\"return\":{ret}{key}}}\n",
            symbols.process_name(row.process()),
            spec.signature().decl(row.op()).name,
            symbols.value(row.arg),
            symbols.value(row.result),
            row.call,
        )
    };
    rows.iter().map(line).collect()
}

/// A history of a few processes: results come from an order that keeps to stamps and processes; more than half of them have one changed.
fn history(spec: &Builtin, keys: u64, rng: &mut Rng) -> History {
    let mut history = History::new();
    let (lanes, stamps) = (1 + rng.below(4), 1 + rng.below(5));
    let pending = *rng.pick(&[0.0, 0.0, 0.2]);
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for lane in 0..lanes {
        let share = 1 + rng.below(if lanes > 2 { 3 } else { 4 });
        let mut times: Vec<i64> = (0..2 * share).map(|_| rng.below(stamps) as i64).collect();
        times.sort_unstable();
        let process = history.symbols.process(&Value::Int(lane as i64));
        let mut way = Vec::new();
        for pair in times.chunks(2) {
            let code = OpCode(rng.below(spec.signature().operations.len() as u64) as u8);
            let mut row = Operation::new(process, code);
            (row.call, row.ret) = (pair[0], pair[1]);
            if keys > 0 {
                row.key = history.symbols.key(&Value::Int(rng.below(keys) as i64));
            }
            way.push(history.operations.len());
            history.operations.push(row);
        }
        if let Some(&last) = way.last()
            && rng.chance(pending)
        {
            history.operations[last].ret = Operation::NEVER;
        }
        ways.push(way);
    }
    let is_distinct = rng.chance(0.5);
    play(spec, is_distinct, rng, &mut history, ways);
    if rng.chance(0.6) {
        spoil(spec, rng, &mut history);
    }
    history
}

fn play(spec: &Builtin, is_distinct: bool, rng: &mut Rng, history: &mut History, mut ways: Vec<Vec<usize>>) {
    let mut states = vec![spec.initial(); 4];
    let mut fresh = 0;
    ways.iter_mut().for_each(|way| way.reverse());
    loop {
        let limit = ways.iter().flatten().map(|&row| history.operations[row].ret).min().unwrap_or(i64::MAX);
        let may = |way: &Vec<usize>| way.last().is_some_and(|&row| history.operations[row].call <= limit);
        let open: Vec<usize> = (0..ways.len()).filter(|&lane| may(&ways[lane])).collect();
        let Some(index) = (!open.is_empty()).then(|| *rng.pick(&open)).and_then(|lane| ways[lane].pop())
        else {
            return;
        };
        let op = history.operations[index].op();
        fresh += 1;
        let number = if is_distinct && rng.chance(0.7) { fresh } else { rng.below(3) as i64 };
        let arg = argument(spec, op, rng, number);
        let row = &mut history.operations[index];
        row.arg = history.symbols.intern(&arg);
        let state = &mut states[if row.key == KeyId::NONE { 0 } else { row.key.0 as usize }];
        let outcomes = spec.outcomes(state, Call { op, process: row.process(), arg: &arg });
        if outcomes.is_empty() || row.is_pending() && rng.chance(0.5) {
            continue;
        }
        let (result, next) = rng.pick(&outcomes).clone();
        if !row.is_pending() {
            row.result = history.symbols.intern(&result);
        }
        *state = next;
    }
}

fn argument(spec: &Builtin, op: OpCode, rng: &mut Rng, number: i64) -> Value {
    match spec.signature().decl(op).arg {
        Shape::Unit => Value::Null,
        Shape::Pair | Shape::Entry | Shape::Cell => {
            Value::list([Value::Int(rng.below(2) as i64), Value::Int(number)])
        }
        _ if spec.kind == Kind::Map => Value::Int(rng.below(3) as i64),
        _ => Value::Int(number),
    }
}

/// Changes one result.
fn spoil(spec: &Builtin, rng: &mut Rng, history: &mut History) {
    let index = rng.below(history.operations.len() as u64) as usize;
    let donor = rng.below(history.operations.len() as u64) as usize;
    let result = match spec.signature().decl(history.operations[index].op()).result {
        Shape::Unit => return,
        Shape::Bool => Value::Bool(rng.chance(0.5)),
        Shape::Done => rng.pick(&[Value::Null, Value::Bool(false)]).clone(),
        Shape::Int => Value::Int(rng.below(3) as i64),
        Shape::List => Value::list([Value::Int(rng.below(3) as i64), Value::Null]),
        _ if rng.chance(0.2) => Value::Null,
        _ => match history.symbols.value(history.operations[donor].arg) {
            value @ Value::Int(_) => value,
            _ => Value::Int(rng.below(3) as i64),
        },
    };
    if !history.operations[index].is_pending() {
        history.operations[index].result = history.symbols.intern(&result);
    }
}
