//! Programs whose threads wait: locks, tries, condition variables, parking, a channel, loops that take locks, swap, or
//! add and take back, and panics that unwind through locks and destructors.
//!
//! The judge is a model of its own (`model.rs`): it walks all states of the program, with no reduction and no fairness, and
//! says in which ways the program can end, in which it can get stuck, and whether it can get where it never ends. The loops
//! are such that going round changes nothing for good, so that fair schedules reach whatever any schedule does.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc as StdArc, Mutex as StdMutex, PoisonError, TryLockError};

use linpoint_history::rng::Rng;
use linpoint_sched::explore::{Covered, Plan, Search, explore};
use linpoint_sched::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint_sched::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use linpoint_sched::sync::{Condvar, Mutex, MutexGuard};
use linpoint_sched::{Ending, Failure, Limits, hint, thread};

use super::model;
use crate::pack::{Pack, Round};

/// The packs of this file.
pub const PACK: Pack = Pack {
    engine: "rust",
    name: "waiting",
    about: "threads that wait and spin, against a model that walks all states without any reduction",
    round,
};

/// One instruction of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Load(usize),
    Store(usize, u32),
    Add(usize, u32),
    Cas(usize, u32, u32),
    /// Yields, where that should mean nothing.
    Yield,
    /// Holds a lock over these.
    Locked(usize, Vec<Op>),
    /// The same if it is free, and notes whether it was.
    Try(usize, Vec<Op>),
    /// Panics with a lock held: a destructor runs the second list before the lock is given back, another one the third after it. The panic is caught.
    Unwind(usize, [Vec<Op>; 3]),
    /// Notes whether a lock is poisoned.
    Poisoned(usize),
    /// Adds one to what is behind a lock.
    Fill(usize),
    /// Looks behind a lock until there is something.
    Poll(usize, Hint),
    /// The same, trying.
    PollTry(usize, Hint),
    /// Looks at a location until it is not zero.
    Spin(usize, Hint),
    /// Swaps until it was free, then frees it.
    TestAndSet(Hint),
    /// Adds four and takes that back, until somebody has added something else.
    AddAndTakeBack(usize, Hint),
    /// Waits on the condition variable of a lock while there is nothing behind it.
    Wait(usize),
    NotifyOne(usize),
    NotifyAll(usize),
    Park,
    Unpark(usize),
    Send(u32),
    /// By the first thread only.
    Receive,
    TryReceive,
}

/// What a loop says in every turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    Yield,
    Spin,
    Nothing,
}

/// A program: what each thread does.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) threads: Vec<Vec<Op>>,
}

/// Locations that programs name; one more belongs to [`Op::TestAndSet`].
pub(super) const CELLS: usize = 2;
/// Locks, each with a value and a condition variable.
pub(super) const LOCKS: usize = 2;

/// What a program can come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    /// What threads saw and what memory holds where it ended, or got stuck.
    pub(super) ends: BTreeSet<String>,
    /// Can it get where it goes round for ever?
    pub(super) for_ever: bool,
}

fn round(rng: &mut Rng) -> Round {
    let program = random(rng);
    let search = *rng.pick(&[Search::RaceReversal, Search::Dpor, Search::Auto, Search::Dfs]);
    let Some(differ) = differs(&program, search) else { return Round::Agreed(0) };
    if differ.is_none() {
        return Round::Agreed(1);
    }
    let program = shrink(program, search);
    let (said, judge) = differs(&program, search).flatten().unwrap_or_default();
    Round::disagreed(said, judge, format!("{program:?}"), format!("{search:?}"))
}

/// What the two say, if they differ; nothing if the program is too large for one of them.
fn differs(program: &Program, search: Search) -> Option<Option<(String, String)>> {
    let mut judged = model::outcomes(program)?;
    let mut said = explored(program, search, judged.for_ever)?;
    if judged.for_ever && said.for_ever {
        // The rest was not looked for: executions without an end are long.
        judged.ends.clear();
        said.ends.clear();
    }
    let words = |one: &Outcomes, other: &Outcomes| {
        let mut text = format!("{} ends, for ever: {}", one.ends.len(), one.for_ever);
        for end in one.ends.difference(&other.ends) {
            let _ = write!(text, "; only here: {end}");
        }
        text
    };
    Some((said != judged).then(|| (words(&said, &judged), words(&judged, &said))))
}

/// Leaves out instructions as long as the two still differ.
fn shrink(mut program: Program, search: Search) -> Program {
    let mut at = (0, 0);
    while at.0 < program.threads.len() {
        if at.1 >= program.threads[at.0].len() {
            at = (at.0 + 1, 0);
            continue;
        }
        let mut smaller = program.clone();
        smaller.threads[at.0].remove(at.1);
        if differs(&smaller, search).flatten().is_some() {
            program = smaller;
        } else {
            at.1 += 1;
        }
    }
    program
}

fn random(rng: &mut Rng) -> Program {
    let count = 2 + rng.below(2) as usize;
    let most = if count == 2 { 4 } else { 3 };
    let threads = (0..count)
        .map(|thread| (0..1 + rng.below(most)).map(|_| op(rng, count, thread, true)).collect())
        .collect();
    Program { threads }
}

fn op(rng: &mut Rng, threads: usize, thread: usize, outer: bool) -> Op {
    let cell = rng.below(CELLS as u64) as usize;
    let lock = rng.below(LOCKS as u64) as usize;
    let value = 1 + rng.below(2) as u32;
    let hint = *rng.pick(&[Hint::Yield, Hint::Spin, Hint::Nothing]);
    match rng.below(if outer { 29 } else { 6 }) {
        0 | 1 => Op::Load(cell),
        2 => Op::Store(cell, value),
        3 => Op::Add(cell, value),
        4 => Op::Cas(cell, rng.below(2) as u32, value),
        5 => Op::Yield,
        6 => Op::Locked(lock, inner(rng, threads, thread)),
        7 | 8 => Op::Try(lock, inner(rng, threads, thread)),
        9 | 10 => Op::Fill(lock),
        11 | 12 => Op::Poll(lock, hint),
        13 => Op::PollTry(lock, hint),
        14 => Op::Spin(cell, hint),
        15 => Op::TestAndSet(*rng.pick(&[Hint::Yield, Hint::Spin])),
        16 => Op::AddAndTakeBack(cell, *rng.pick(&[Hint::Yield, Hint::Spin])),
        17 => Op::Wait(lock),
        18 => Op::NotifyOne(lock),
        19 => Op::NotifyAll(lock),
        20 => Op::Park,
        21 | 22 => Op::Unpark(rng.below(threads as u64) as usize),
        23 if thread == 0 => Op::Receive,
        24 if thread == 0 => Op::TryReceive,
        25 => Op::Poisoned(lock),
        26 | 27 => Op::Unwind(lock, [(); 3].map(|()| inner(rng, threads, thread))),
        _ => Op::Send(value),
    }
}

fn inner(rng: &mut Rng, threads: usize, thread: usize) -> Vec<Op> {
    (0..rng.below(2)).map(|_| op(rng, threads, thread, false)).collect()
}

/// What the threads share.
struct World {
    cells: [AtomicU32; CELLS],
    set: AtomicU32,
    nothing: AtomicU32,
    locks: [(Mutex<u32>, Condvar); LOCKS],
    threads: StdMutex<Vec<Option<thread::Thread>>>,
    seen: StdMutex<Vec<Vec<u32>>>,
}

/// What one thread has of the channel.
enum End {
    Receiver(Receiver<u32>),
    Sender(Sender<u32>),
}

/// Executions longer than this go round for ever.
const STEPS: usize = 600;

/// Programs with more executions than this are left alone.
const RUNS: u64 = 6_000;

/// What the explorer finds, up to the first execution without an end if that is enough; nothing if that is too much.
fn explored(program: &Program, search: Search, enough: bool) -> Option<Outcomes> {
    let slot: RefCell<Option<StdArc<World>>> = RefCell::new(None);
    let body = || {
        let world = StdArc::new(World {
            cells: Default::default(),
            set: AtomicU32::new(0),
            nothing: AtomicU32::new(0),
            locks: Default::default(),
            threads: StdMutex::new(vec![None; program.threads.len()]),
            seen: StdMutex::new(vec![Vec::new(); program.threads.len()]),
        });
        *slot.borrow_mut() = Some(StdArc::clone(&world));
        let (sender, receiver) = channel();
        let mut ends: Vec<_> = program.threads.iter().skip(1).map(|_| End::Sender(sender.clone())).collect();
        drop(sender);
        ends.insert(0, End::Receiver(receiver));
        let threads = program.threads.iter().zip(ends).enumerate().map(|(number, (ops, end))| {
            let world = StdArc::clone(&world);
            Box::new(move || {
                lock(&world.threads)[number] = Some(thread::current());
                run(&world, number, &end, ops);
            }) as Box<dyn FnOnce() + Send>
        });
        thread::run_all(threads);
    };
    let plan = Plan {
        search,
        time: None,
        runs: Some(RUNS),
        stop_at_failure: false,
        stuck_fails: false,
        limits: Limits { steps: STEPS, panics_fail: false, ..Limits::default() },
        ..Plan::default()
    };
    let mut found = Outcomes::default();
    let mut odd = None;
    let coverage = explore(&body, &plan, &mut |seen| {
        let world = slot.borrow().clone();
        let end = match &seen.run.ending {
            Ending::Complete => "ends",
            Ending::Stuck(Failure::Deadlock { .. }) => "stuck",
            Ending::Stuck(Failure::Livelock { .. })
            | Ending::Failed(Failure::Livelock { .. } | Failure::TooLong { .. }) => {
                found.for_ever = true;
                return if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            }
            Ending::Stuck(failure) | Ending::Failed(failure) => {
                odd = Some(failure.to_string());
                return ControlFlow::Break(());
            }
            Ending::Abandoned => return ControlFlow::Continue(()),
        };
        if let Some(world) = world {
            let cells: Vec<u32> = world.cells.iter().map(|cell| cell.load(SeqCst)).collect();
            found.ends.insert(format!("{end} {:?} {cells:?}", lock(&world.seen)));
        }
        ControlFlow::Continue(())
    });
    if let Some(odd) = odd {
        found.ends.insert(odd);
        return Some(found);
    }
    (coverage.covered == Covered::Every || enough && found.for_ever).then_some(found)
}

fn lock<T>(mutex: &StdMutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn turn(hint: Hint) {
    match hint {
        Hint::Yield => thread::yield_now(),
        Hint::Spin => hint::spin_loop(),
        Hint::Nothing => {}
    }
}

/// Runs instructions when it is dropped.
struct OnDrop<'a>(&'a World, usize, &'a End, &'a [Op]);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        run(self.0, self.1, self.2, self.3);
    }
}

fn run(world: &World, number: usize, end: &End, ops: &[Op]) {
    let see = |value: u32| lock(&world.seen)[number].push(value);
    let of = |index: usize| world.locks[index].0.lock().unwrap_or_else(PoisonError::into_inner);
    let tried = |index: usize| -> Option<MutexGuard<'_, u32>> {
        match world.locks[index].0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    };
    for op in ops {
        match op {
            Op::Load(cell) => see(world.cells[*cell].load(SeqCst)),
            Op::Store(cell, value) => world.cells[*cell].store(*value, SeqCst),
            Op::Add(cell, value) => see(world.cells[*cell].fetch_add(*value, SeqCst)),
            Op::Cas(cell, old, new) => {
                see(world.cells[*cell].compare_exchange(*old, *new, SeqCst, SeqCst).unwrap_or_else(|was| was))
            }
            Op::Yield => thread::yield_now(),
            Op::Locked(index, inner) => {
                let _guard = of(*index);
                run(world, number, end, inner);
            }
            Op::Try(index, inner) => {
                let guard = tried(*index);
                see(u32::from(guard.is_some()));
                if guard.is_some() {
                    run(world, number, end, inner);
                }
            }
            Op::Unwind(index, [inner, held, after]) => {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let _after = OnDrop(world, number, end, after);
                    let _guard = of(*index);
                    let _held = OnDrop(world, number, end, held);
                    run(world, number, end, inner);
                    panic!("on purpose");
                }));
            }
            Op::Poisoned(index) => see(u32::from(world.locks[*index].0.is_poisoned())),
            Op::Fill(index) => *of(*index) += 1,
            Op::Poll(index, hint) => {
                while *of(*index) == 0 {
                    turn(*hint);
                }
            }
            Op::PollTry(index, hint) => {
                while tried(*index).is_none_or(|guard| *guard == 0) {
                    turn(*hint);
                }
            }
            Op::Spin(cell, hint) => {
                while world.cells[*cell].load(SeqCst) == 0 {
                    turn(*hint);
                }
            }
            Op::TestAndSet(hint) => {
                while world.set.swap(1, SeqCst) == 1 {
                    turn(*hint);
                }
                world.set.store(0, SeqCst);
            }
            Op::AddAndTakeBack(cell, hint) => {
                while world.cells[*cell].fetch_add(4, SeqCst) & 3 == 0 {
                    world.cells[*cell].fetch_sub(4, SeqCst);
                    turn(*hint);
                }
                world.cells[*cell].fetch_sub(4, SeqCst);
            }
            Op::Wait(index) => {
                let mut guard = of(*index);
                while *guard == 0 {
                    guard = world.locks[*index].1.wait(guard).unwrap_or_else(PoisonError::into_inner);
                }
            }
            Op::NotifyOne(index) => world.locks[*index].1.notify_one(),
            Op::NotifyAll(index) => world.locks[*index].1.notify_all(),
            Op::Park => thread::park(),
            Op::Unpark(other) => {
                // A step before it: by then every thread has said who it is.
                world.nothing.load(SeqCst);
                let thread = lock(&world.threads)[*other].clone();
                if let Some(thread) = thread {
                    thread.unpark();
                }
            }
            Op::Send(value) => {
                if let End::Sender(sender) = end {
                    // The receiver may have ended.
                    let _ = sender.send(*value);
                }
            }
            Op::Receive => {
                if let End::Receiver(receiver) = end {
                    see(receiver.recv().map_or(99, |value| value));
                }
            }
            Op::TryReceive => {
                if let End::Receiver(receiver) = end {
                    see(match receiver.try_recv() {
                        Ok(value) => value,
                        Err(TryRecvError::Empty) => 98,
                        Err(TryRecvError::Disconnected) => 99,
                    });
                }
            }
        }
    }
}
