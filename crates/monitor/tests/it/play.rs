//! A small notation for logs, so that tests are data.
//!
//! One event a line: thread, what, details. Numbers are given out from top to bottom; a call looks at the
//! numbers given so far.
//!
//! ```text
//! 1 call insert [1,10]
//! 1 commit
//! 1 return null
//! ```

use linpoint_history::{Signature, Value};
use linpoint_monitor::{
    Checker, End, Event, Finding, Location, ObjectId, Setup, Summary, ThreadId, What, Write, models,
};

/// The events of a log.
#[track_caller]
pub fn events(text: &str, signature: &Signature) -> Vec<Event> {
    let mut next = 0;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| event(line, signature, &mut next)).collect()
}

fn event(line: &str, signature: &Signature, next: &mut u64) -> Event {
    let mut words = line.split_whitespace();
    let thread = ThreadId(words.next().and_then(|word| word.parse().ok()).expect("a thread"));
    let what = words.next().expect("an event");
    let rest: Vec<&str> = words.collect();
    let number = |index: usize| rest[index].parse::<u64>().expect("a number");
    let writes = || -> Vec<Write> {
        rest.iter()
            .map(|word| {
                let (location, text) = word.split_once('=').expect("location=value");
                Write { location: Location(location.parse().expect("a location")), value: value(text) }
            })
            .collect()
    };
    let what = match what {
        "call" => What::Call {
            op: signature.find(rest[0]).expect("an operation").0,
            arg: rest.get(1).map(|text| value(text)).unwrap_or_default(),
        },
        "commit" if rest.is_empty() => What::Commit,
        "commit" => What::CommitBlock(writes()),
        "window" => What::Window { from: number(0) },
        "at" => What::CommitAt { version: number(0) },
        "after" => What::CommitAfter { version: number(0) },
        "return" => What::Return(rest.first().map(|text| value(text)).unwrap_or_default()),
        "abandon" => What::Abandon,
        "block" => What::Block(writes()),
        "write" => What::Write(writes().remove(0)),
        "acquire" => What::Acquire(number(0)),
        "release" => What::Release(number(0)),
        "internal" => What::Internal,
        "lost" => {
            *next += 1;
            return Event { thread, object: ObjectId(0), stamp: u64::MAX, what: What::Internal };
        }
        other => panic!("no event `{other}`"),
    };
    let stamp = *next;
    *next += u64::from(what.takes_number());
    Event { thread, object: ObjectId(0), stamp, what }
}

/// A value in JSON's notation, without spaces.
fn value(text: &str) -> Value {
    fn parse(text: &mut &str) -> Value {
        if let Some(rest) = text.strip_prefix('[') {
            *text = rest;
            let mut items = Vec::new();
            while !text.starts_with(']') {
                items.push(parse(text));
                *text = text.strip_prefix(',').unwrap_or(text);
            }
            *text = &text[1..];
            return Value::list(items);
        }
        let end = text.find([',', ']']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        *text = rest;
        match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            word => word.parse().map_or_else(|_| Value::text(word), Value::Int),
        }
    }
    parse(&mut &*text)
}

/// Runs a log through a checker, all at once.
#[track_caller]
pub fn run(setup: Setup, text: &str, end: End) -> Summary {
    let events = events(text, setup.model.signature());
    let mut checker = Checker::new(setup);
    events.into_iter().filter(|event| event.stamp != u64::MAX).for_each(|event| checker.push(event));
    checker.finish(end)
}

/// A setup by the specification's name.
pub fn setup(spec: &str) -> Setup {
    Setup::new(ObjectId(0), models::by_name(spec).expect("a specification"))
}

/// The only finding.
#[track_caller]
pub fn only(summary: &Summary) -> &Finding {
    assert_eq!(summary.findings.len(), 1, "{summary:?}");
    &summary.findings[0]
}
