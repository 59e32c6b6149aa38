//! Views: the incremental comparison against one that computes everything anew, on random logs; layers; the
//! lost second copy.

use std::collections::BTreeMap;

use linpoint_history::Value;
use linpoint_history::rng::Rng;
use linpoint_monitor::shadows::{Entries, Layers};
use linpoint_monitor::{
    Checker, Commits, Conclusion, End, Event, Found, Location, ObjectId, Shadow, ThreadId, What, Write,
};

use crate::play::{only, run, setup};

/// A log of a map whose entries lie in slots, and the first event after which the views differ, with the
/// keys.
struct Log {
    events: Vec<Event>,
    differs: Option<(u64, Vec<Value>)>,
}

struct Maker {
    events: Vec<Event>,
    next: u64,
    /// What the implementation has, slot by slot, and the specification.
    slots: BTreeMap<u64, (i64, i64)>,
    map: BTreeMap<i64, i64>,
    differs: Option<(u64, Vec<Value>)>,
}

impl Maker {
    fn event(&mut self, thread: u32, what: What) -> u64 {
        let stamp = self.next;
        self.next += u64::from(what.takes_number());
        self.events.push(Event { thread: ThreadId(thread), object: ObjectId(0), stamp, what });
        stamp
    }

    fn write(slot: u64, entry: Option<(i64, i64)>) -> Write {
        let value = entry.map(|(key, value)| Value::list([Value::Int(key), Value::Int(value)]));
        Write { location: Location(slot), value: value.unwrap_or_default() }
    }

    fn put(&mut self, slot: u64, entry: Option<(i64, i64)>) {
        match entry {
            Some(entry) => self.slots.insert(slot, entry),
            None => self.slots.remove(&slot),
        };
    }

    /// Compares everything.
    fn compare(&mut self, number: u64) {
        if self.differs.is_some() {
            return;
        }
        let mut view: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for (key, value) in self.slots.values() {
            let values = view.entry(*key).or_default();
            if !values.contains(value) {
                values.push(*value);
            }
        }
        let differs = |key: &i64| match (self.map.get(key), view.get(key)) {
            (None, None) => false,
            (Some(value), Some(values)) => values != &[*value],
            _ => true,
        };
        let keys: Vec<Value> = (0..4).filter(differs).map(Value::Int).collect();
        if !keys.is_empty() {
            self.differs = Some((number, keys));
        }
    }
}

fn log(seed: u64) -> Log {
    let mut rng = Rng::new(seed);
    let bug = if rng.chance(0.5) { 0.1 } else { 0.0 };
    let (slots, map) = (BTreeMap::new(), BTreeMap::new());
    let mut maker = Maker { events: Vec::new(), next: 0, slots, map, differs: None };
    for _ in 0..2 + rng.below(12) {
        let thread = rng.below(2) as u32;
        if rng.chance(0.2) {
            relocate(&mut rng, &mut maker, bug);
            continue;
        }
        let (key, value) = (rng.below(4) as i64, rng.below(100) as i64);
        let insert = rng.chance(0.6);
        let arg = if insert { Value::list([Value::Int(key), Value::Int(value)]) } else { Value::Int(key) };
        maker.event(thread, What::Call { op: if insert { 0 } else { 2 }, arg });
        let old = if insert { maker.map.insert(key, value) } else { maker.map.remove(&key) };
        // Where the implementation puts it: over the old one, or into any free slot.
        let place = maker.slots.iter().find(|(_, entry)| entry.0 == key).map(|(slot, _)| *slot);
        let mut free = 0;
        while maker.slots.contains_key(&free) {
            free += 1;
        }
        let slot = place.unwrap_or(free);
        let entry = insert.then_some((key, value));
        let lost = rng.chance(bug);
        let number = if rng.chance(0.5) {
            let writes = if lost { Vec::new() } else { vec![Maker::write(slot, entry)] };
            maker.event(thread, What::CommitBlock(writes))
        } else {
            maker.event(thread, What::Acquire(slot));
            if !lost {
                maker.event(thread, What::Write(Maker::write(slot, entry)));
            }
            maker.event(thread, What::Commit)
        };
        if !lost {
            maker.put(slot, entry);
        }
        maker.compare(number);
        if !matches!(maker.events.last(), Some(Event { what: What::CommitBlock(_), .. })) {
            maker.event(thread, What::Release(slot));
        }
        maker.event(thread, What::Return(old.map_or(Value::Null, Value::Int)));
    }
    Log { events: maker.events, differs: maker.differs }
}

/// A thread of the object's own moves an entry to another slot.
fn relocate(rng: &mut Rng, maker: &mut Maker, bug: f64) {
    let Some((&from, &entry)) = maker.slots.iter().next() else { return };
    let mut to = from;
    while maker.slots.contains_key(&to) {
        to += 1;
    }
    let mut writes = vec![Maker::write(from, None), Maker::write(to, Some(entry))];
    maker.put(from, None);
    if rng.chance(bug) {
        writes.pop();
    } else {
        maker.put(to, Some(entry));
    }
    maker.event(9, What::Block(writes));
    let number = maker.event(9, What::Internal);
    maker.compare(number);
}

fn check(log: &Log, commits: Commits, seed: u64) {
    let setup = setup("map").with_view(Box::new(Entries::map())).with_commits(commits);
    let mut checker = Checker::new(setup);
    let mut rng = Rng::new(seed);
    let mut findings = Vec::new();
    for event in &log.events {
        checker.push(event.clone());
        if rng.chance(0.3) {
            checker.seal(event.stamp);
            findings.extend(checker.advance().findings);
        }
    }
    let summary = checker.finish(End::Complete);
    findings.extend(summary.findings);
    let found = findings.first().map(|finding| match &finding.found {
        Found::View(difference) => {
            let keys: Vec<Value> = difference.keys.iter().map(|key| key.key.clone()).collect();
            assert!(!difference.late, "seed {seed}: {finding:?}");
            (finding.at, keys)
        }
        other => panic!("seed {seed}: {other:?}"),
    });
    assert_eq!(found, log.differs, "seed {seed}, {commits:?}: {:#?}", log.events);
    let expected = if found.is_some() { Conclusion::Violated } else { Conclusion::Clean };
    assert_eq!(summary.conclusion, expected);
}

#[test]
fn the_first_difference_is_found_at_its_commit() {
    let mut differ = 0;
    for seed in 0..4000 {
        let log = log(seed);
        differ += usize::from(log.differs.is_some());
        check(&log, Commits::Marked, seed);
        // Operations of one thread after another do not overlap, so windows are compared at every commit,
        // too.
        check(&log, Commits::Windows, seed);
    }
    assert!(differ > 500, "{differ}");
}

#[test]
fn the_lost_second_copy_is_caught_at_that_insert() {
    let log = |view: bool| {
        let second = if view { "1 commit" } else { "1 commit 101=5" };
        format!(
            "1 call add 5\n 1 commit 100=5\n 1 return\n 1 call add 5\n {second}\n 1 return
             1 call contains 5\n 1 commit\n 1 return true"
        )
    };
    let with_view =
        |log: &str| run(setup("multiset").with_view(Box::new(Entries::multiset())), log, End::Complete);
    assert_eq!(with_view(&log(false)).conclusion, Conclusion::Clean);
    let summary = with_view(&log(true));
    let found = only(&summary).to_string();
    assert!(found.contains("after add(5)"), "{found}");
    assert!(found.contains("at 5 the specification has 2, the implementation 1"), "{found}");
    let Found::View(difference) = &only(&summary).found else { panic!("{summary:?}") };
    assert_eq!(difference.writes.len(), 1, "the write of the first copy");
    // Answers alone do not show it yet.
    assert_eq!(run(setup("multiset"), &log(true), End::Complete).conclusion, Conclusion::Clean);
}

#[test]
fn a_dirty_page_evicted_without_being_written() {
    let layers = || Box::new(Layers::new(2, |location| usize::from(location.0 >= 100)));
    let log = |written: bool| {
        let write_back = if written { "9 block 100=[1,11]" } else { "9 block" };
        format!(
            "9 block 100=[1,10]
             1 call insert [1,10]\n 1 commit 0=[1,10]\n 1 return null
             1 call insert [1,11]\n 1 commit 0=[1,11]\n 1 return 10
             {write_back}
             9 block 0=null
             9 internal"
        )
    };
    let view = |log: &str| run(setup("map").with_view(layers()), log, End::Complete);
    assert_eq!(view(&log(true)).conclusion, Conclusion::Clean, "{:?}", view(&log(true)));
    let found = only(&view(&log(false))).to_string();
    assert!(
        found.contains(
            "after an internal commit of thread 9: at 1 the specification has 11, the implementation 10"
        ),
        "{found}"
    );
}

#[test]
fn a_removal_in_the_cache_hides_what_is_below() {
    let mut layers = Layers::new(2, |location| usize::from(location.0 >= 100));
    let mut write = |location: u64, value: Option<Value>| {
        let pair = |value| Value::list([Value::Int(1), value]);
        let value = value.map(pair).unwrap_or_default();
        layers.write(&Write { location: Location(location), value }, &mut Vec::new());
        layers.view(&Value::Int(1))
    };
    assert_eq!(write(100, Some(Value::Int(10))), Value::Int(10));
    assert_eq!(write(0, Some(Value::Null)), Value::Null);
    assert_eq!(write(0, None), Value::Int(10));
}

/// With versions views are compared where nothing is open, and at no commit of anybody.
#[test]
fn a_difference_where_nothing_is_open_names_no_thread() {
    let log = "1 call insert [1,1]\n 1 at 1\n 1 return null\n 1 call insert [2,2]\n 1 at 2\n 1 return null";
    let summary = run(setup("map").with_view(Box::new(Entries::map())), log, End::Complete);
    assert_eq!(summary.conclusion, Conclusion::Violated, "{summary:?}");
    let found = only(&summary).to_string();
    assert!(found.contains("where nothing is open") && !found.contains("internal commit"), "{found}");
}

#[track_caller]
fn map_log(log: &str) -> linpoint_monitor::Summary {
    run(setup("map").with_view(Box::new(Entries::map())), log, End::Complete)
}

/// A key that holds null is not a key that is not there.
#[test]
fn null_at_a_key_is_something() {
    let insert = |writes: &str| format!("1 call insert [1,null]\n 1 commit {writes}\n 1 return null");
    assert_eq!(map_log(&insert("7=[1,null]")).conclusion, Conclusion::Clean);
    let missing = map_log(&insert(""));
    assert_eq!(missing.conclusion, Conclusion::Violated, "{missing:?}");
    let found = only(&missing).to_string();
    assert!(found.contains("at 1 the specification has null, the implementation nothing"), "{found}");
    let reverse = map_log("1 call get 1\n 1 commit 7=[1,null]\n 1 return null");
    assert_eq!(reverse.conclusion, Conclusion::Violated, "{reverse:?}");
    let found = only(&reverse).to_string();
    assert!(found.contains("the specification has nothing, the implementation null"), "{found}");
    // Where everything is compared, too.
    let settled = map_log(
        "1 call insert [1,null]\n 1 commit 7=[1,null]\n 1 return null\n 1 call get 2\n 1 commit 7=null\n 1 return null",
    );
    assert_eq!(settled.conclusion, Conclusion::Violated, "{settled:?}");
    // A register that holds null has nothing.
    let log = "1 call write null\n 1 commit 7=[null,null]\n 1 return null";
    let register = run(setup("register").with_view(Box::new(Entries::map())), log, End::Complete);
    assert_eq!(register.conclusion, Conclusion::Clean, "{register:?}");
}

/// Two places that disagree hold no list of their values, and a place that holds no pair no pair of twice the
/// same.
#[test]
fn a_conflict_is_no_value() {
    let conflict = map_log("1 call insert [1,[2,3]]\n 1 commit 7=[1,2] 8=[1,3]\n 1 return null");
    assert_eq!(conflict.conclusion, Conclusion::Violated, "{conflict:?}");
    let found = only(&conflict).to_string();
    assert!(
        found.contains("the specification has [2,3], the implementation several values in conflict: 2, 3"),
        "{found}"
    );
    assert_eq!(
        map_log("1 call insert [1,[2,3]]\n 1 commit 7=[1,[2,3]]\n 1 return null").conclusion,
        Conclusion::Clean
    );
    let bare = map_log("1 call insert [7,7]\n 1 commit 7=7\n 1 return null");
    assert_eq!(bare.conclusion, Conclusion::Violated, "{bare:?}");
    assert!(only(&bare).to_string().contains("no pair"), "{bare:?}");
}

/// What is written after the last commit shows at the end, where nothing is open; where something is, nobody
/// knows.
#[test]
fn writes_after_the_last_commit_are_compared() {
    let insert = "1 call insert [1,1]\n 1 commit 7=[1,1]\n 1 return null";
    let trailing = map_log(&format!("{insert}\n 1 write 7=[1,9]"));
    assert_eq!(trailing.conclusion, Conclusion::Violated, "{trailing:?}");
    assert!(only(&trailing).to_string().contains("at 1 the specification has 1, the implementation 9"));
    assert_eq!(map_log(&format!("{insert}\n 1 write 7=[1,1]")).conclusion, Conclusion::Clean);
    let open = map_log(&format!("{insert}\n 2 call get 1\n 1 write 7=[1,9]"));
    assert!(open.uncompared && open.conclusion == Conclusion::Clean, "{open:?}");
    let fine = map_log(&format!("{insert}\n 2 call get 1\n 1 write 7=[1,1]"));
    assert!(!fine.uncompared && fine.conclusion == Conclusion::Clean, "{fine:?}");
    // A lock that somebody holds who goes on.
    let mut checker = Checker::new(setup("map").with_view(Box::new(Entries::map())));
    let model = setup("map").model;
    checker.goes_on(ThreadId(1));
    let log = format!("{insert}\n 1 write 7=[1,9]");
    crate::play::events(&log, model.signature()).into_iter().for_each(|event| checker.push(event));
    let goes_on = checker.finish(End::Complete);
    assert!(goes_on.uncompared && goes_on.conclusion == Conclusion::Clean, "{goes_on:?}");
}
