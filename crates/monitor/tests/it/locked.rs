//! Random runs of a map whose places have a lock each: single writes under locks, blocks between them, locks
//! handed on hand over hand, an end in the middle of it all.
//!
//! The simulation keeps the whole log of writes. What a place holds is the write with the largest number of
//! those that show; the views must be equal after each commit; nothing else is known about sections.

use std::collections::BTreeMap;

use linpoint_history::rng::Rng;
use linpoint_history::{Signature, Value};
use linpoint_monitor::shadows::Entries;
use linpoint_monitor::{
    Checker, Commits, Conclusion, End, Event, Location, ObjectId, Setup, ThreadId, What, Write, models,
};

const PLACES: u64 = 3;

/// A write, and whether it shows.
struct Past {
    number: u64,
    thread: u32,
    place: u64,
    value: Option<i64>,
    shows: bool,
}

/// What a thread is about to do, step by step; the last is done first.
#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire(u64),
    Release(u64),
    /// Writes what the place holds now, or what it will hold, or anything.
    Write(u64, Content),
    Block(u64, Content),
    /// An insertion or a removal takes effect, with a block or not.
    Commit(u64, Option<i64>, bool),
    Internal,
    Return,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Now,
    New,
    Any,
}

#[derive(Default)]
struct Actor {
    steps: Vec<Step>,
    held: Vec<u64>,
    /// What its operation will leave.
    new: Option<i64>,
    answer: Value,
}

struct Run {
    events: Vec<Event>,
    next: u64,
    past: Vec<Past>,
    /// The specification.
    map: BTreeMap<u64, i64>,
    /// The first commit after which the views differ.
    differs: Option<u64>,
    commits: u64,
}

impl Run {
    fn log(&mut self, thread: u32, what: What) -> u64 {
        let stamp = self.next;
        self.next += u64::from(what.takes_number());
        self.events.push(Event { thread: ThreadId(thread), object: ObjectId(0), stamp, what });
        stamp
    }

    fn note(&mut self, number: u64, thread: u32, (place, value): (u64, Option<i64>), shows: bool) {
        self.past.push(Past { number, thread, place, value, shows });
    }

    fn show(&mut self, thread: u32) {
        self.past.iter_mut().filter(|past| past.thread == thread).for_each(|past| past.shows = true);
    }

    fn compare(&mut self, number: u64) {
        self.commits += 1;
        if self.differs.is_none() && !self.agrees() {
            self.differs = Some(number);
        }
    }

    /// Are the views equal now?
    fn agrees(&self) -> bool {
        let holds = |place: u64| {
            let shown = self.past.iter().filter(|past| past.shows && past.place == place);
            shown.max_by_key(|past| past.number).and_then(|past| past.value)
        };
        (0..PLACES).all(|place| holds(place) == self.map.get(&place).copied())
    }
}

fn entry(place: u64, value: Option<i64>) -> Write {
    let value = value.map(|value| Value::list([Value::Int(place as i64), Value::Int(value)]));
    Write { location: Location(place), value: value.unwrap_or_default() }
}

/// What an operation on a place does, with its call: a lock, writes that nobody sees, the commit, more of
/// them, and the lock given up; perhaps the next lock in between.
fn operation(rng: &mut Rng, place: u64, new: Option<i64>, spoil: f64) -> Vec<Step> {
    let mut steps = vec![Step::Acquire(place)];
    let mut later = vec![Step::Release(place)];
    if place + 1 < PLACES && rng.chance(0.3) {
        // Hand over hand: the first lock goes before the second, and perhaps before the commit.
        steps.push(Step::Acquire(place + 1));
        later.push(Step::Release(place + 1));
    }
    for _ in 0..rng.below(3) {
        steps.push(match rng.below(3) {
            0 => Step::Block(place, Content::Now),
            _ => Step::Write(place, if rng.chance(0.5) { Content::New } else { Content::Any }),
        });
    }
    let at_once = rng.chance(0.3);
    if !at_once && !rng.chance(spoil) {
        steps.push(Step::Write(place, Content::New));
    }
    if !at_once && rng.chance(spoil) {
        steps.push(Step::Block(place, Content::Now));
    }
    steps.push(Step::Commit(place, new, at_once));
    if rng.chance(0.3) {
        steps.push(Step::Block(place, Content::New));
    }
    if rng.chance(0.3) {
        steps.push(Step::Write(place, Content::Any));
        steps.push(Step::Write(place, if rng.chance(spoil) { Content::Any } else { Content::New }));
    }
    steps.extend(later);
    steps.push(Step::Return);
    steps
}

/// A thread of the object's own walks over the places, touches each, and holds two locks at most.
fn walk() -> Vec<Step> {
    let mut steps = vec![Step::Acquire(0), Step::Write(0, Content::Now)];
    for place in 1..PLACES {
        steps.extend([Step::Acquire(place), Step::Release(place - 1), Step::Write(place, Content::Now)]);
    }
    steps.extend([Step::Release(PLACES - 1), Step::Internal]);
    steps
}

fn run(rng: &mut Rng, signature: &Signature) -> (Run, Vec<Actor>) {
    let code = |name: &str| signature.find(name).expect("a map has it").0;
    let (insert, remove) = (code("insert"), code("remove"));
    let spoil = if rng.chance(0.4) { 0.3 } else { 0.0 };
    let mut run = Run {
        events: Vec::new(),
        next: 0,
        past: Vec::new(),
        map: BTreeMap::new(),
        differs: None,
        commits: 0,
    };
    let mut actors: Vec<Actor> = (0..2 + rng.below(2)).map(|_| Actor::default()).collect();
    let mut left = 3 + rng.below(5);
    // Now and then the end comes in the middle.
    let mut until = if rng.chance(0.3) { rng.below(60) } else { 10_000 };
    while until > 0 && (left > 0 || actors.iter().any(|actor| !actor.steps.is_empty())) {
        until -= 1;
        let id = rng.below(actors.len() as u64) as u32;
        let taken: Vec<u64> = (0..actors.len())
            .filter(|at| *at != id as usize)
            .flat_map(|at| actors[at].held.iter().copied())
            .collect();
        let actor = &mut actors[id as usize];
        let Some(step) = actor.steps.last().copied() else {
            if left > 0 {
                left -= 1;
                let place = rng.below(PLACES);
                actor.new = rng.chance(0.7).then(|| rng.below(5) as i64);
                let key = Value::Int(place as i64);
                actor.steps = match actor.new {
                    _ if rng.chance(0.3) => walk(),
                    Some(value) => {
                        let arg = Value::list([key, Value::Int(value)]);
                        run.log(id, What::Call { op: insert, arg });
                        operation(rng, place, actor.new, spoil)
                    }
                    None => {
                        run.log(id, What::Call { op: remove, arg: key });
                        operation(rng, place, None, spoil)
                    }
                };
                actor.steps.reverse();
            }
            continue;
        };
        if matches!(step, Step::Acquire(lock) if taken.contains(&lock)) {
            continue;
        }
        actor.steps.pop();
        let any = rng.below(5) as i64;
        let value = |run: &Run, place: u64, content: Content| match content {
            Content::Now => run.map.get(&place).copied(),
            Content::New => actor.new,
            Content::Any => Some(any),
        };
        match step {
            Step::Acquire(lock) => {
                run.log(id, What::Acquire(lock));
                actor.held.push(lock);
            }
            Step::Release(lock) => {
                run.log(id, What::Release(lock));
                actor.held.retain(|held| *held != lock);
                if actor.held.is_empty() {
                    run.show(id);
                }
            }
            Step::Write(place, content) => {
                let value = value(&run, place, content);
                let number = run.log(id, What::Write(entry(place, value)));
                run.note(number, id, (place, value), actor.held.is_empty());
            }
            Step::Block(place, content) => {
                let value = value(&run, place, content);
                let number = run.log(id, What::Block(vec![entry(place, value)]));
                run.note(number, id, (place, value), true);
            }
            Step::Commit(place, new, at_once) => {
                let old = match new {
                    Some(new) => run.map.insert(place, new),
                    None => run.map.remove(&place),
                };
                actor.answer = old.map_or(Value::Null, Value::Int);
                let number = if at_once {
                    let number = run.log(id, What::CommitBlock(vec![entry(place, new)]));
                    run.note(number, id, (place, new), true);
                    number
                } else {
                    run.log(id, What::Commit)
                };
                run.show(id);
                run.compare(number);
            }
            Step::Internal => {
                let number = run.log(id, What::Internal);
                run.show(id);
                run.compare(number);
            }
            Step::Return => {
                run.log(id, What::Return(actor.answer.clone()));
            }
        }
    }
    (run, actors)
}

/// Compares the checker with the simulation on one run; the message says how they differ.
pub fn compare(seed: u64) -> Result<Conclusion, String> {
    let mut rng = Rng::new(seed);
    let model = models::by_name("map").expect("it is built in");
    let (run, actors) = run(&mut rng, &model.signature().clone());
    for commits in [Commits::Marked, Commits::Windows] {
        let model = models::by_name("map").expect("it is built in");
        let setup = Setup::new(ObjectId(0), model).with_view(Box::new(Entries::map())).with_commits(commits);
        let mut checker = Checker::new(setup);
        let (mut findings, mut numbers) = (Vec::new(), 0);
        for event in &run.events {
            checker.push(event.clone());
            numbers += u64::from(event.what.takes_number());
            if rng.chance(0.3) {
                checker.seal(numbers);
                findings.extend(checker.advance().findings);
            }
        }
        let holds = |actor: &(usize, &Actor)| !actor.1.held.is_empty();
        actors.iter().enumerate().filter(holds).for_each(|(id, _)| checker.goes_on(ThreadId(id as u32)));
        let mut summary = checker.finish(End::Complete);
        findings.append(&mut summary.findings);
        let at = findings.first().map(|finding| finding.at);
        let clean = summary.conclusion == Conclusion::Clean;
        let exact = commits == Commits::Marked;
        let over = actors.iter().all(|actor| actor.steps.is_empty() && actor.held.is_empty());
        let right = match run.differs {
            // What was written after the last commit shows at the end, if nobody is in the middle of
            // something.
            None if !run.agrees() => !clean && at == Some(run.next) || !over && clean,
            None => clean && at.is_none() && (!exact || summary.views == run.commits),
            // With windows views are compared where none is open, so a difference may pass.
            Some(number) => !exact || !clean && at == Some(number),
        };
        if !right {
            let events: Vec<String> = run.events.iter().map(|event| format!("{event:?}")).collect();
            return Err(format!(
                "seed {seed}, {commits:?}: {:?} at {at:?}, and the views differ first at {:?}, after {} commits: {summary:?} {findings:?}\n{}",
                summary.conclusion,
                run.differs,
                run.commits,
                events.join("\n")
            ));
        }
        if exact && run.differs.is_some() {
            return Ok(summary.conclusion);
        }
    }
    Ok(Conclusion::Clean)
}
