//! Small random programs, and what all their schedules together do.
#![allow(dead_code)]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use linpoint_claim::{Var, procedure, tressa};
use linpoint_sched::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint_sched::clocks::Clocks;
use linpoint_sched::random::Random;
use linpoint_sched::semaphore::Semaphore;
use linpoint_sched::strategy::Strategy;
use linpoint_sched::{Ending, Execution, Failure, Limits, Run, atomically, hint, sync, thread};

/// One instruction. Locations, semaphores and registers are numbers; a register keeps what was read last.
#[derive(Clone, Debug)]
pub enum Op {
    Load(usize),
    Store(usize, u32),
    /// Writes what was read last.
    Copy(usize),
    Add(usize, u32),
    Swap(usize, u32),
    Cas(usize, u32, u32),
    /// Adds by compare-and-swap, again and again until it succeeds.
    Retry(usize, u32),
    /// Skips the next instructions unless the last value read is this one.
    Unless(u32, usize),
    Acquire(usize),
    TryAcquire(usize),
    Release(usize),
    /// Waits in a loop until the location holds this value or more.
    Spin(usize, u32),
    /// Waits in a loop until one of two locations is not zero.
    SpinEither(usize, usize),
    /// Adds to the second location in every turn until the first is not zero.
    Count(usize, usize),
    /// Sets the location until it was not set, and takes that back.
    TestAndSet(usize),
    /// Adds and takes back until somebody has set the location.
    AddAndTakeBack(usize),
    /// Looks behind the first lock until there is something, and may yield.
    Poll(bool),
    /// Stores 1 up to this number, and yields after each.
    Turns(usize, u32),
    /// Reads one location and adds to another, as one step.
    Block(usize, usize),
    /// Reads one location; if it holds zero adds to the second, otherwise reads the third, as one step.
    Either([usize; 3]),
    /// Holds a lock over these.
    Locked(usize, Vec<Op>),
    /// The same, if the lock is free.
    IfFree(usize, Vec<Op>),
    /// Holds a lock together with others who read, over these.
    Reading(Vec<Op>),
    /// Holds the same lock alone.
    Writing(Vec<Op>),
    /// Takes the first lock, waits to be notified, and releases it.
    Wait,
    /// The same until the value behind the lock is not zero.
    WaitWhile,
    /// Makes the value behind the first lock one more and notifies one.
    NotifyOne,
    /// Notifies all, without the lock.
    NotifyAll,
    /// Starts a thread with these instructions and does not wait for it.
    Spawn(Vec<Op>),
    /// The same, and waits for its end.
    SpawnJoin(Vec<Op>),
    /// Makes a claim of this shape about these locations.
    Claim(usize, [usize; 3]),
    /// Writes a local variable that conditions of claims may watch.
    Done(bool),
    /// Runs instructions in a procedure.
    Procedure(Vec<Op>),
}

/// Threads over a few locations and semaphores.
#[derive(Clone, Debug)]
pub struct Program {
    pub threads: Vec<Vec<Op>>,
    pub permits: Vec<usize>,
}

/// What is drawn into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Atomics and branches.
    Plain,
    /// Semaphores too.
    Waiting,
    /// Spin loops too.
    Spinning,
    /// Locks and a condition variable.
    Locking,
    /// Atomics, locks, and loops that do more than read.
    Turning,
    /// Everything but claims: atomic blocks, threads that start threads.
    All,
    /// Atomics, branches and claims.
    Claims,
    /// The same, where most claims only look.
    Looking,
    /// Everything but locks, with claims.
    AllClaims,
    /// Locks, a condition variable and claims.
    LockingClaims,
}

impl Kind {
    /// Are claims drawn?
    pub fn claims(self) -> bool {
        matches!(self, Kind::Claims | Kind::Looking | Kind::AllClaims | Kind::LockingClaims)
    }
}

const LOCATIONS: usize = 3;

/// What the threads share.
struct World {
    cells: [AtomicU32; LOCATIONS],
    semaphores: Vec<Semaphore>,
    locks: [sync::Mutex<u32>; 2],
    shared: sync::RwLock<()>,
    notified: sync::Condvar,
    seen: Mutex<Vec<(String, u32)>>,
}

thread_local! {
    /// The claims that were decided, with the values of their terms.
    static DECIDED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// Names of claims, kept for ever.
    static NAMES: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Notes the values of a claim's terms.
fn note(name: &'static str, values: impl std::fmt::Debug) -> bool {
    DECIDED.with_borrow_mut(|decided| decided.push(format!("{name}: {values:?}")));
    true
}

/// The deferred part of a claim must not borrow.
fn forever(name: String) -> &'static str {
    NAMES.with_borrow_mut(|names| {
        if let Some(known) = names.get(name.as_str()) {
            return *known;
        }
        let name: &'static str = name.leak();
        names.insert(name);
        name
    })
}

impl Program {
    /// A random program of at most `accesses` accesses.
    pub fn random(random: &mut Random, kind: Kind, accesses: usize) -> Program {
        let threads = 2 + random.below(3);
        let permits = (0..2).map(|_| random.below(2)).collect();
        let mut left = accesses;
        let threads = (0..threads)
            .map(|index| {
                let most = (left / (threads - index)).max(1);
                let len = 1 + random.below(most.min(5));
                left = left.saturating_sub(len);
                (0..len).map(|_| Program::op(random, kind, true)).collect()
            })
            .collect();
        Program { threads, permits }
    }

    fn op(random: &mut Random, kind: Kind, outer: bool) -> Op {
        let loc = random.below(LOCATIONS);
        let value = 1 + random.below(2) as u32;
        if kind.claims() && random.below(5) < 2 {
            let mut any = || random.below(LOCATIONS);
            let places = [any(), any(), any()];
            return match random.below(8) {
                0 => Op::Done(random.below(4) > 0),
                1 if outer => Op::Procedure(
                    (0..1 + random.below(2)).map(|_| Program::op(random, kind, false)).collect(),
                ),
                _ if kind == Kind::Looking => Op::Claim(LOOKING + random.below(SHAPES - LOOKING), places),
                _ => Op::Claim(random.below(SHAPES), places),
            };
        }
        let kinds = match kind {
            Kind::Plain | Kind::Claims | Kind::Looking => 9,
            Kind::Waiting => 14,
            Kind::Spinning => 16,
            Kind::Turning => 9,
            Kind::All | Kind::Locking | Kind::AllClaims | Kind::LockingClaims => 20,
        };
        let inside = if kind == Kind::LockingClaims { Kind::Claims } else { Kind::Plain };
        if kind == Kind::Turning && outer {
            let inner = (0..random.below(2)).map(|_| Program::op(random, Kind::Plain, false)).collect();
            match random.below(12) {
                0 => return Op::Count(loc, random.below(LOCATIONS)),
                1 => return Op::TestAndSet(loc),
                2 => return Op::AddAndTakeBack(loc),
                3 => return Op::Poll(random.below(2) == 0),
                4 => return Op::Turns(loc, 1 + random.below(4) as u32),
                5 => return Op::IfFree(0, inner),
                6 => return Op::Locked(0, inner),
                7 => return Op::NotifyOne,
                _ => {}
            }
        }
        let mut inner = || (0..random.below(3)).map(|_| Program::op(random, inside, false)).collect();
        if matches!(kind, Kind::Locking | Kind::LockingClaims) && outer {
            let inner = inner();
            match random.below(11) {
                0 | 1 => return Op::Locked(random.below(2), inner),
                2 => return Op::IfFree(random.below(2), inner),
                3 => return Op::Reading(inner),
                4 => return Op::Writing(inner),
                5 => return Op::Wait,
                6 => return Op::WaitWhile,
                7 => return Op::NotifyOne,
                8 => return Op::NotifyAll,
                9 => return Op::Locked(0, vec![Op::Locked(1, inner)]),
                _ => return Op::Locked(1, vec![Op::Load(loc)]),
            }
        }
        match random.below(kinds) {
            0 | 1 => Op::Load(loc),
            2 => Op::Store(loc, value),
            3 => Op::Copy(loc),
            4 => Op::Add(loc, value),
            5 => Op::Swap(loc, value),
            6 | 7 => Op::Cas(loc, random.below(2) as u32, value),
            8 => Op::Unless(random.below(2) as u32, 1 + random.below(2)),
            9 | 10 => Op::Acquire(random.below(2)),
            11 | 12 => Op::Release(random.below(2)),
            13 => Op::TryAcquire(random.below(2)),
            14 if random.below(2) == 0 => Op::Retry(loc, random.below(2) as u32),
            14 => Op::Spin(loc, 1),
            15 => Op::SpinEither(loc, (loc + 1) % LOCATIONS),
            16 => Op::Block(loc, random.below(LOCATIONS)),
            17 => Op::Either([loc, random.below(LOCATIONS), random.below(LOCATIONS)]),
            18 if outer => {
                Op::Spawn((0..1 + random.below(2)).map(|_| Program::op(random, kind, false)).collect())
            }
            19 if outer => {
                Op::SpawnJoin((0..1 + random.below(2)).map(|_| Program::op(random, kind, false)).collect())
            }
            _ => Op::Load(loc),
        }
    }

    fn start(&self) -> Arc<World> {
        Arc::new(World {
            cells: [const { AtomicU32::new(0) }; LOCATIONS],
            semaphores: self.permits.iter().map(|&permits| Semaphore::new(permits)).collect(),
            locks: Default::default(),
            shared: sync::RwLock::new(()),
            notified: sync::Condvar::new(),
            seen: Mutex::new(Vec::new()),
        })
    }
}

fn interpret(world: &Arc<World>, name: &str, ops: &[Op]) {
    interpret_from(world, name, ops, &mut 0, &mut 0, &Var::new(false));
}

/// The last of them only look.
const SHAPES: usize = 16;

const LOOKING: usize = 10;

#[rustfmt::skip]
fn claim(world: &World, name: &str, shape: usize, places: [usize; 3], done: &Var<bool>) {
    let [a, b, c] = places.map(|place| &world.cells[place]);
    let name = forever(format!("{name} {shape}"));
    match shape {
        0 => tressa!(note(name, First(a, Wr, {all}))),
        1 => tressa!(note(name, (First(a, Rd, {others}), b.load(SeqCst)))),
        2 => tressa!(note(name, (First(a, RW, {me}), First(b, Wr, {others})))),
        3 => tressa!(note(name, Last(a, Wr, {others}, done))),
        4 => tressa!(note(name, Last(a, RW, {all}, b.load(SeqCst) != 0))),
        5 => tressa!(note(name, Last(a, Wr, {me}, b.load(SeqCst) != 0 && c.load(SeqCst) == 0))),
        6 => tressa!(note(name, (Exit(a), Exit(done), b.load(SeqCst)))),
        7 => tressa!(note(name, (Last(a, Rd, {all}, b.load(SeqCst) == 1), Last(b, Wr, {all}, c.load(SeqCst) == 1)))),
        8 => tressa!(c.load(SeqCst) == 0 ==> note(name, (First(a, RW, {others}), Last(a, Wr, {all}, done.get() || b.load(SeqCst) != 0)))),
        9 => tressa!(note(name, (First(a, RW, {all}), Exit(b)))),
        10 => tressa!(note(name, (Exit(done), a.load(SeqCst), b.load(SeqCst)))),
        11 => tressa!(note(name, (Exit(done), a.load(SeqCst) == 0 && b.load(SeqCst) == 0 || c.load(SeqCst) == 0))),
        12 => tressa!(note(name, (First(a, RW, {me}), b.load(SeqCst)))),
        13 => tressa!(note(name, a.load(SeqCst) + 10 * b.load(SeqCst) + 100 * c.load(SeqCst))),
        14 => tressa!(a.load(SeqCst) == 0 ==> note(name, (Exit(done), b.load(SeqCst)))),
        _ => tressa!(a.load(SeqCst) == 0 || b.load(SeqCst) == 1 || note(name, (First(a, Wr, {others}), c.load(SeqCst)))),
    }
}

fn interpret_from(
    world: &Arc<World>,
    name: &str,
    ops: &[Op],
    register: &mut u32,
    born: &mut u32,
    done: &Var<bool>,
) {
    let mut at = 0;
    while let Some(op) = ops.get(at) {
        at += 1;
        let mut last = *register;
        match op {
            Op::Locked(index, inner) => {
                let _guard = world.locks[*index].lock().unwrap();
                interpret_from(world, name, inner, &mut last, born, done);
            }
            Op::IfFree(index, inner) => {
                if let Ok(_guard) = world.locks[*index].try_lock() {
                    interpret_from(world, name, inner, &mut last, born, done);
                }
            }
            Op::Reading(inner) => {
                let _guard = world.shared.read().unwrap();
                interpret_from(world, name, inner, &mut last, born, done);
            }
            Op::Writing(inner) => {
                let _guard = world.shared.write().unwrap();
                interpret_from(world, name, inner, &mut last, born, done);
            }
            Op::Wait => {
                let guard = world.locks[0].lock().unwrap();
                last = *world.notified.wait(guard).unwrap();
            }
            Op::WaitWhile => {
                let guard = world.locks[0].lock().unwrap();
                last = *world.notified.wait_while(guard, |value| *value == 0).unwrap();
            }
            Op::NotifyOne => {
                *world.locks[0].lock().unwrap() += 1;
                world.notified.notify_one();
            }
            Op::NotifyAll => world.notified.notify_all(),
            Op::Load(loc) => last = world.cells[*loc].load(SeqCst),
            Op::Store(loc, value) => world.cells[*loc].store(*value, SeqCst),
            Op::Copy(loc) => world.cells[*loc].store(last, SeqCst),
            Op::Add(loc, value) => last = world.cells[*loc].fetch_add(*value, SeqCst),
            Op::Swap(loc, value) => last = world.cells[*loc].swap(*value, SeqCst),
            Op::Cas(loc, expected, new) => {
                last = world.cells[*loc]
                    .compare_exchange(*expected, *new, SeqCst, SeqCst)
                    .unwrap_or_else(|was| was);
            }
            Op::Retry(loc, value) => loop {
                last = world.cells[*loc].load(SeqCst);
                if world.cells[*loc].compare_exchange(last, last + value, SeqCst, SeqCst).is_ok() {
                    break;
                }
            },
            Op::Unless(value, skip) => {
                if last != *value {
                    at += skip;
                }
            }
            Op::Acquire(index) => world.semaphores[*index].acquire(),
            Op::TryAcquire(index) => last = u32::from(world.semaphores[*index].try_acquire()),
            Op::Release(index) => world.semaphores[*index].release(),
            Op::Spin(loc, value) => while world.cells[*loc].load(SeqCst) < *value {},
            Op::SpinEither(a, b) => {
                while world.cells[*a].load(SeqCst) == 0 && world.cells[*b].load(SeqCst) == 0 {}
            }
            Op::Count(until, counter) => {
                while world.cells[*until].load(SeqCst) == 0 {
                    world.cells[*counter].fetch_add(4, SeqCst);
                    thread::yield_now();
                }
            }
            Op::TestAndSet(loc) => {
                while world.cells[*loc].swap(1, SeqCst) == 1 {
                    thread::yield_now();
                }
                world.cells[*loc].store(0, SeqCst);
            }
            Op::AddAndTakeBack(loc) => {
                while world.cells[*loc].fetch_add(4, SeqCst) & 3 == 0 {
                    world.cells[*loc].fetch_sub(4, SeqCst);
                    hint::spin_loop();
                }
            }
            Op::Poll(yields) => {
                while *world.locks[0].lock().unwrap() == 0 {
                    if *yields {
                        thread::yield_now();
                    }
                }
            }
            Op::Turns(loc, turns) => {
                for turn in 0..*turns {
                    world.cells[*loc].store(turn + 1, SeqCst);
                    thread::yield_now();
                }
            }
            Op::Block(from, to) => atomically(|| {
                last = world.cells[*from].load(SeqCst);
                world.cells[*to].fetch_add(last + 1, SeqCst);
            }),
            Op::Either([asked, to, from]) => atomically(|| {
                last = world.cells[*asked].load(SeqCst);
                if last == 0 {
                    world.cells[*to].fetch_add(1, SeqCst);
                } else {
                    last = 10 + world.cells[*from].load(SeqCst);
                }
            }),
            Op::Spawn(inner) | Op::SpawnJoin(inner) => {
                let child = format!("{name}.{born}");
                *born += 1;
                let (shared, ops) = (Arc::clone(world), inner.clone());
                let handle = thread::spawn(move || interpret(&shared, &child, &ops));
                if matches!(op, Op::SpawnJoin(_)) {
                    handle.join().unwrap();
                }
            }
            Op::Claim(shape, places) => claim(world, &format!("{name} {at}"), *shape, *places, done),
            Op::Done(value) => done.set(*value),
            Op::Procedure(inner) => {
                let _procedure = procedure();
                interpret_from(world, &format!("{name}.p{at}"), inner, &mut 0, &mut 0, done);
            }
        }
        *register = last;
        world.seen.lock().unwrap().push((name.to_string(), last));
    }
}

/// What all runs of a strategy showed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub traces: BTreeSet<u64>,
    /// What each thread saw, the final memory, and how the run ended.
    pub outcomes: BTreeSet<String>,
    /// The same without claims.
    pub plain_outcomes: BTreeSet<String>,
    /// What became of each claim, by itself.
    pub claims: BTreeSet<String>,
    pub runs: usize,
    pub abandoned: usize,
    /// How many claims were made, and how many of them decided.
    pub made: u64,
    pub decided: usize,
}

/// Runs `program` under `strategy` until it is done; `None` if that takes more than `most` runs, or one without an end.
pub fn explore(program: &Program, strategy: &mut dyn Strategy, most: usize) -> Option<Found> {
    let slot: Mutex<Option<Arc<World>>> = Mutex::new(None);
    let body = || {
        DECIDED.take();
        let world = program.start();
        *slot.lock().unwrap() = Some(Arc::clone(&world));
        thread::run_all(program.threads.iter().enumerate().map(|(index, ops)| {
            let world = Arc::clone(&world);
            Box::new(move || interpret(&world, &index.to_string(), ops)) as Box<dyn FnOnce() + Send>
        }));
    };
    let mut found = Found::default();
    let mut execution = Execution::new(Limits { steps: 500, ..Limits::default() });
    let mut clocks = Clocks::new();
    loop {
        found.runs += 1;
        if found.runs > most {
            return None;
        }
        let run = execution.run(&body, strategy);
        let world = slot.lock().unwrap().take().unwrap();
        match &run.ending {
            Ending::Abandoned => found.abandoned += 1,
            Ending::Failed(Failure::Livelock { .. } | Failure::TooLong { .. }) => {
                // Not a program to be compared: its executions are too long.
                if most < usize::MAX {
                    return None;
                }
                found.outcomes.insert("for ever".to_owned());
            }
            Ending::Failed(failure) => panic!("{failure}: {program:?} {:?}", run.schedule()),
            Ending::Complete | Ending::Stuck(_) => {
                clocks.update(run, 0);
                found.traces.insert(clocks.trace_fingerprint());
                let counts = execution.claims().counts();
                let mut decided = DECIDED.take();
                decided.sort();
                let claims =
                    if counts.made == 0 { String::new() } else { format!(" {decided:?} {counts:?}") };
                found.made += counts.made;
                found.decided += decided.len();
                for undecided in execution.claims().undecided() {
                    // Not by its thread: threads have other numbers where they are started in another order.
                    let linpoint_claim::Undecided { site, term, bottom, .. } = undecided;
                    found.claims.insert(format!("{} {term} {bottom:?}", site.line));
                }
                found.claims.extend(decided);
                let outcome = outcome(execution.record(), &world);
                found.outcomes.insert(outcome.clone() + &claims);
                found.plain_outcomes.insert(outcome);
            }
        }
        if execution.newly_fair() {
            found = Found::default();
            strategy.restart();
        } else if !strategy.advance(execution.record()) {
            return Some(found);
        }
    }
}

fn outcome(run: &Run, world: &World) -> String {
    let mut seen = world.seen.lock().unwrap().clone();
    // Stable: the order within a thread stays.
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    let memory: Vec<u32> = world.cells.iter().map(|cell| cell.load(SeqCst)).collect();
    let ending = match &run.ending {
        Ending::Stuck(failure) => failure.name(),
        _ => "complete",
    };
    let mut text = String::new();
    for (name, value) in seen {
        text += &format!("{name}={value} ");
    }
    format!("{text}{memory:?} {ending}")
}
