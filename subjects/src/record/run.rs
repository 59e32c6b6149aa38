//! The threads of a recording: what each does, how they begin together, and how a run ends that has got stuck.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Instant;

use linpoint_history::rng::Rng;
use linpoint_history::{OpCode, Operation, ValueId};
use linpoint_monitor::Monitor;
use linpoint_sched::pace::{self, Summons};

use super::{Call, Load, Pinning, Row, Target};
use crate::stall::{self, Floor, Sights};

/// Where operations go when they are not logged.
pub(super) struct Online<'a> {
    pub(super) through: &'a (dyn Fn(Call) -> ValueId + Sync),
    pub(super) monitor: &'a Monitor,
}

/// The logs, that of the prefix first, and what was seen.
pub(super) fn run(target: &Target, load: &Load, online: Option<Online<'_>>) -> (Vec<Vec<Row>>, Sights) {
    let floor = Floor::new(load.threads);
    let stop = AtomicBool::new(false);
    // Without a monitor: the call is noted, done, and logged.
    let called = || floor.clock.load(Ordering::SeqCst);
    let done = |call: Call| match &online {
        Some(online) => (online.through)(call),
        None => target.perform(call),
    };
    let logged = |mut row: Row, log: &mut Vec<Row>| {
        if online.is_none() {
            row.returned = floor.clock.fetch_add(1, Ordering::SeqCst);
            log.push(row);
        }
    };
    let room = |operations| if online.is_some() { Vec::new() } else { touched(operations) };
    let mut prefix = room(load.prefix);
    let mut rng = Rng::new(load.seed ^ 0x5eed);
    let full = Load { adds: 1.0, others: 0.0, ..load.clone() };
    for index in 0..load.prefix {
        let call = target.choose(&full, &mut rng, index as u32);
        let called = called();
        logged(Row { client: 0, call, result: done(call), called, returned: 0 }, &mut prefix);
    }
    let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let owner = std::thread::current();
    let user = |thread: usize, mut log: Vec<Row>| {
        let _end = End { ended: &ended, owner: &owner };
        pin(load.pinning, thread);
        let mut rng = Rng::new(load.seed.wrapping_mul(1 << 8).wrapping_add(thread as u64));
        started.fetch_add(1, Ordering::Relaxed);
        while started.load(Ordering::Relaxed) < load.threads {
            std::thread::yield_now();
        }
        // What each client waits for: its call to be done, or, where there is a result, its answer.
        let mut clients: Vec<Option<(Call, u64, Option<ValueId>)>> = vec![None; load.clients.max(1)];
        let (mut index, all) = (0, share(load, thread));
        let mut open = 0;
        while index < all || open > 0 {
            let client = if clients.len() > 1 { rng.below(clients.len() as u64) as usize } else { 0 };
            match clients[client] {
                None if index == all => continue,
                None => {
                    let fresh = load.prefix + index * load.threads + thread;
                    let call = target.choose(load, &mut rng, fresh as u32);
                    clients[client] = Some((call, called(), None));
                    (index, open) = (index + 1, open + 1);
                    continue;
                }
                Some((call, called, None)) => {
                    let Some(result) = floor.attempt(|| done(call)) else { break };
                    clients[client] = Some((call, called, Some(result)));
                    continue;
                }
                Some((call, called, Some(result))) => {
                    logged(Row { client: client as u32, call, result, called, returned: 0 }, &mut log);
                    clients[client] = None;
                    open -= 1;
                }
            }
            for _ in 0..load.work {
                std::hint::spin_loop();
            }
            if load.pauses > 0.0 && rng.chance(load.pauses) {
                std::thread::yield_now();
            }
            if index % 64 == 0 {
                if online.is_some() {
                    // Something moves.
                    floor.clock.fetch_add(1, Ordering::Relaxed);
                }
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            if let Some(online) = &online
                && thread == 0
                && index % 1024 == 0
                && online.monitor.status().findings > 0
            {
                stop.store(true, Ordering::Relaxed);
            }
        }
        if floor.is_given_up() && online.is_none() {
            for (client, open) in clients.into_iter().enumerate() {
                let pending = |(call, called, _)| Row {
                    client: client as u32,
                    call,
                    result: ValueId::NULL,
                    called,
                    returned: Operation::NEVER as u64,
                };
                log.extend(open.map(pending));
            }
        }
        log
    };
    let held_up = |thread: usize, log: Vec<Row>| match load.stall {
        Some(stall) => stall::stalled(&floor, thread, stall, load.seed ^ thread as u64, || user(thread, log)),
        None => {
            let floor = Arc::clone(&floor);
            (pace::on_call(move |_| floor.leave_if_given_up(), || user(thread, log)), Sights::default())
        }
    };
    let held_up = &held_up;
    let logs: Vec<_> = (0..load.threads).map(|thread| room(share(load, thread))).collect();
    let (mut all, mut sights) = (vec![prefix], Sights::default());
    std::thread::scope(|scope| {
        let threads: Vec<_> = logs
            .into_iter()
            .enumerate()
            .map(|(thread, log)| scope.spawn(move || held_up(thread, log)))
            .collect();
        let _summons = wait(&floor, &ended, load);
        for thread in threads {
            let (log, seen) = thread.join().expect("the object does not panic");
            all.push(log);
            sights.add(seen);
        }
    });
    (all, sights)
}

/// Waits until all threads have ended. Where nothing returns for too long, the run is given up.
fn wait(floor: &Floor, ended: &AtomicUsize, load: &Load) -> Option<Summons> {
    let mut summons = None;
    let now = || (floor.clock.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
    let (mut last, mut since) = (now(), Instant::now());
    while ended.load(Ordering::Relaxed) < load.threads {
        std::thread::park_timeout(load.patience);
        let seen = now();
        if seen != last {
            (last, since) = (seen, Instant::now());
        } else if since.elapsed() >= load.patience {
            if summons.is_some() {
                eprintln!(
                    "{} of {} threads are blocked inside an operation (in a lock?) and cannot be ended: the run is lost",
                    load.threads - last.1,
                    load.threads
                );
                std::process::exit(3);
            }
            floor.give_up();
            summons = Some(Summons::new());
            since = Instant::now();
        }
    }
    summons
}

/// A thread's end, whatever brings it about: whoever waits is told.
struct End<'a> {
    ended: &'a AtomicUsize,
    owner: &'a Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.owner.unpark();
    }
}

/// How many of the operations are this thread's.
fn share(load: &Load, thread: usize) -> usize {
    load.operations / load.threads + usize::from(thread < load.operations % load.threads)
}

/// Room for a log whose pages are there already.
fn touched(rows: usize) -> Vec<Row> {
    let empty = Row {
        client: 0,
        call: Call { op: OpCode(0), arg: 0, to: 0 },
        result: ValueId::NULL,
        called: 0,
        returned: 0,
    };
    let mut log = vec![empty; rows];
    log.clear();
    log
}

/// Puts the calling thread where it should run; where the system refuses, it stays free.
fn pin(pinning: Pinning, thread: usize) {
    let core = match pinning {
        Pinning::Free => return,
        Pinning::Spread => thread % std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        Pinning::Together => 0,
    };
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a set of cores is plain bits, and the kernel only reads it; zero is this thread.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = core;
}
