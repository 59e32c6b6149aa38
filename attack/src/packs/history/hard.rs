//! Several objects, some hard, one violated: whatever order they come in, the violation is the answer.

use std::time::Duration;

use linpoint_check::{Options, check_rows};
use linpoint_history::formats::{self, Input, ReadOptions};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Kind, Value, Verdict};

use super::case::{Case, Op, line};
use super::referee;
use crate::pack::Round;

/// A few hard objects, many easy ones, and one that the referee says is wrong.
pub fn round(rng: &mut Rng) -> Round {
    let wrong = loop {
        let case = stale(rng);
        if !referee::is_linearizable(&case) {
            break case;
        }
    };
    let mut objects: Vec<Vec<Op>> = (0..1 + rng.below(2)).map(|_| crowd(12 + rng.below(8) as i64)).collect();
    objects.extend((0..rng.below(5)).map(|n| vec![write(0, n as i64 + 1, 1), read(0, n as i64 + 1, 3)]));
    let place = rng.below(objects.len() as u64 + 1) as usize;
    objects.insert(place, wrong.ops);
    let mut text = String::new();
    for (index, ops) in objects.iter().enumerate() {
        for op in ops {
            let op = Op { process: op.process + 100 * index as i64, ..op.clone() };
            text += &line(&op, Some(&format!("k{index}")));
            text += "\n";
        }
    }
    let spec = Builtin::new(Kind::Kv);
    let input = Input::Bytes(text.clone().into_bytes());
    let command = "linpoint check FILE --spec kv --time-limit 60s";
    let mut history = match formats::read_all(&input, &spec, &ReadOptions::default()) {
        Ok(history) => history,
        Err(why) => return Round::disagreed(why.to_string(), "the lines are well formed", text, command),
    };
    let threads = 1 + rng.below(3) as usize;
    let options = Options { threads, time_limit: Some(Duration::from_secs(60)), ..Options::default() };
    match check_rows(history.operations, &spec, &mut history.symbols, &options) {
        Ok(answer) if matches!(answer.verdict, Verdict::Violated(_)) => Round::Agreed(1),
        Ok(answer) => Round::disagreed(format!("{:?}", answer.verdict), "violated", text, command),
        Err(error) => Round::disagreed(error.to_string(), "violated", text, command),
    }
}

fn write(process: i64, value: i64, call: i64) -> Op {
    let (name, arg) = ("put".to_owned(), Value::Int(value));
    Op { process, name, arg, ret: Some(Value::Null), call, end: call + 1 }
}

fn read(process: i64, value: i64, call: i64) -> Op {
    let name = "get".to_owned();
    Op { process, name, arg: Value::Null, ret: Some(Value::Int(value)), call, end: call + 1 }
}

/// Values that repeat, written and read; often an old one is read.
fn stale(rng: &mut Rng) -> Case {
    let mut ops = Vec::new();
    for process in 0..3 {
        let mut at = rng.below(4) as i64;
        for _ in 0..2 {
            let value = 1 + rng.below(2) as i64;
            let mut op = if rng.chance(0.5) { write(process, value, at) } else { read(process, value, at) };
            op.end = at + 1 + rng.below(6) as i64;
            at = op.end + 1 + rng.below(3) as i64;
            ops.push(op);
        }
    }
    Case { spec: "kv".to_owned(), initial: None, ops }
}

/// Many appends at once, and then two reads that do not agree.
fn crowd(count: i64) -> Vec<Op> {
    let letters: String = (0..count).map(|n| char::from(b'a' + n as u8)).collect();
    let append = |(process, letter): (i64, char)| Op {
        process,
        name: "append".to_owned(),
        arg: Value::text(&letter.to_string()),
        ret: Some(Value::Null),
        call: process,
        end: 100 + process,
    };
    let mut ops: Vec<Op> = (0..).zip(letters.chars()).map(append).collect();
    let backwards: String = letters.chars().rev().collect();
    for (call, text) in [(200, letters), (300, backwards)] {
        ops.push(Op { ret: Some(Value::text(&text)), ..read(0, 0, call) });
    }
    ops
}
