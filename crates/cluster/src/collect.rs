//! Clients that use a real store and record what they did, so that anyone can check theirs.
//!
//! Each client is a process of the history: it calls, waits, and stamps both ends with one clock of this
//! machine. An answer that does not come (a timeout, a connection that breaks after the request was sent)
//! makes the operation *pending*: it may have happened, now or later; the client goes on as a new process. A
//! request that surely was not sent is left out.
//!
//! Rows are handed over in order of return with a floor: the oldest call still open, or now.

pub mod etcd;
pub mod postgres;
pub mod redis;

use std::io;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linpoint_history::rng::Rng;
use linpoint_history::specs::codes;
use linpoint_history::{History, Operation, Symbols, Value, ValueId};

/// A connection to a store, as a key–value store of integers.
pub trait Store: Send {
    /// Writes.
    fn put(&mut self, key: &str, value: u32) -> Result<(), Trouble>;
    /// Reads; none if the key is missing.
    fn get(&mut self, key: &str) -> Result<Option<u32>, Trouble>;
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Trouble {
    /// Nothing was sent: it did not happen.
    NotSent(io::Error),
    /// It was sent, and nobody knows.
    Unanswered(io::Error),
    /// The store says no, and did nothing.
    Refused(String),
}

/// Opens connections.
pub type Dial = Arc<dyn Fn() -> io::Result<Box<dyn Store>> + Send + Sync>;

/// What to record.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Clients at the same time.
    pub clients: u32,
    /// Operations in all.
    pub operations: u64,
    /// Keys they use.
    pub keys: u32,
    /// The share of writes.
    pub writes: f64,
    /// Which operations, in which order: named by a seed.
    pub seed: u64,
    /// What all names of processes begin with, where several record.
    pub name: String,
    /// What all keys begin with. Those who use the same keys at the same time have the same here, and seeds
    /// of their own.
    pub prefix: String,
    /// At most so many operations a second; none: as fast as they go.
    pub rate: Option<u64>,
}

/// Rows as they come.
#[derive(Debug)]
pub struct Recorded {
    /// Complete, in order of return; pending ones among them.
    pub rows: Vec<Operation>,
    /// Nothing that comes later was called before this.
    pub floor: i64,
    /// Is this the end?
    pub last: bool,
}

/// A recording under way.
pub struct Recording {
    rows: Receiver<Operation>,
    shared: Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
    clock: Clock,
    /// What the numbers of rows stand for.
    pub symbols: Arc<Mutex<Symbols>>,
    held: Vec<Operation>,
}

struct Shared {
    /// The call each client has open; `i64::MAX`: it has none and may call at any moment.
    open: Vec<AtomicI64>,
    left: AtomicI64,
    done: AtomicU64,
    /// Clients that are not finished.
    at_work: AtomicU64,
    value: AtomicU64,
}

/// Nanoseconds of one clock that does not jump, counted from the epoch.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    epoch: i64,
}

impl Clock {
    /// Begins now.
    pub fn new() -> Clock {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
        Clock { started: Instant::now(), epoch }
    }

    /// Now.
    pub fn now(&self) -> i64 {
        self.epoch + self.started.elapsed().as_nanos() as i64
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

impl Recording {
    /// Starts the clients.
    pub fn start(plan: &Plan, dial: &Dial) -> Recording {
        let clock = Clock::new();
        let shared = Arc::new(Shared {
            open: (0..plan.clients).map(|_| AtomicI64::new(clock.now())).collect(),
            left: AtomicI64::new(plan.operations as i64),
            done: AtomicU64::new(0),
            at_work: AtomicU64::new(u64::from(plan.clients)),
            // Seeds have values of their own.
            value: AtomicU64::new(plan.seed % 64 * 48_000_000),
        });
        let symbols: Arc<Mutex<Symbols>> = Arc::default();
        let (sender, rows) = channel();
        let threads = (0..plan.clients)
            .map(|number| {
                let client = Client {
                    number,
                    plan: plan.clone(),
                    dial: Arc::clone(dial),
                    shared: Arc::clone(&shared),
                    symbols: Arc::clone(&symbols),
                    sender: sender.clone(),
                    clock,
                };
                std::thread::spawn(move || client.run())
            })
            .collect();
        Recording { rows, shared, threads, clock, symbols, held: Vec::new() }
    }

    /// Operations done.
    pub fn done(&self) -> u64 {
        self.shared.done.load(Ordering::Relaxed)
    }

    /// What was recorded since the last time.
    pub fn take(&mut self) -> Recorded {
        let last = self.shared.at_work.load(Ordering::Acquire) == 0;
        // Before the rows are taken: what is called later is called after this.
        let now = self.clock.now();
        fence(Ordering::SeqCst);
        let open = self.shared.open.iter().map(|open| open.load(Ordering::Acquire)).min();
        let floor = open.unwrap_or(i64::MAX).min(now);
        self.held.extend(self.rows.try_iter());
        if last {
            self.threads.drain(..).for_each(|thread| {
                let _ = thread.join();
            });
            self.held.extend(self.rows.try_iter());
        }
        // Only what returned before the floor is in order for certain.
        let (mut rows, held): (Vec<Operation>, Vec<Operation>) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|row| last || row.is_pending() || row.ret < floor);
        self.held = held;
        // A row that waits keeps the floor down.
        let floor = self.held.iter().map(|row| row.call).fold(floor, i64::min);
        rows.sort_by_key(|row| (row.ret, row.call));
        Recorded { rows, floor: if last { i64::MAX } else { floor }, last }
    }

    /// All of it as one history.
    pub fn history(rows: Vec<Operation>, symbols: Symbols) -> History {
        let mut history = History { operations: rows, symbols };
        history.sort_by_return();
        history
    }
}

struct Client {
    number: u32,
    plan: Plan,
    dial: Dial,
    shared: Arc<Shared>,
    symbols: Arc<Mutex<Symbols>>,
    sender: Sender<Operation>,
    clock: Clock,
}

impl Client {
    fn run(self) {
        let mut rng = Rng::new(self.plan.seed ^ u64::from(self.number) << 32);
        let (mut life, mut store) = (0, None);
        let mut process = self.process(life);
        let started = Instant::now();
        let mut own = 0u64;
        while self.shared.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            if let Some(rate) = self.plan.rate {
                own += 1;
                let due = Duration::from_secs_f64(own as f64 * f64::from(self.plan.clients) / rate as f64);
                std::thread::sleep(due.saturating_sub(started.elapsed()));
            }
            while store.is_none() {
                // It calls nothing meanwhile, and holds nobody up.
                self.shared.open[self.number as usize].store(i64::MAX, Ordering::Release);
                match (self.dial)() {
                    Ok(opened) => store = Some(opened),
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            }
            let Some(connection) = &mut store else { continue };
            let key = format!("{}{}", self.plan.prefix, rng.below(u64::from(self.plan.keys.max(1))));
            let writes = rng.chance(self.plan.writes);
            let value = if writes { 1 + self.shared.value.fetch_add(1, Ordering::Relaxed) as u32 } else { 0 };
            let code = if writes { codes::kv::PUT } else { codes::kv::GET };
            let mut row = Operation::new(process, code);
            row.key = self.key(&key);
            row.call = self.clock.now();
            self.shared.open[self.number as usize].store(row.call, Ordering::Release);
            // Who did not see it open looked at the clock before this.
            fence(Ordering::SeqCst);
            row.call = row.call.max(self.clock.now());
            let answer = if writes {
                row.arg = ValueId(value);
                connection.put(&key, value).map(|()| None)
            } else {
                connection.get(&key)
            };
            row.ret = self.clock.now();
            let mut happened = true;
            match answer {
                Ok(found) if !writes => row.result = found.map_or(ValueId::NULL, ValueId),
                Ok(_) => {}
                Err(Trouble::Unanswered(_)) => {
                    row.ret = Operation::NEVER;
                    life += 1;
                    process = self.process(life);
                    store = None;
                }
                Err(Trouble::NotSent(_)) => {
                    happened = false;
                    store = None;
                }
                Err(Trouble::Refused(_)) => {
                    happened = false;
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            if happened {
                let _ = self.sender.send(row);
                self.shared.done.fetch_add(1, Ordering::Relaxed);
            } else {
                // It is owed.
                self.shared.left.fetch_add(1, Ordering::Relaxed);
            }
            // The row is on its way before the floor may pass it.
            self.shared.open[self.number as usize].store(self.clock.now(), Ordering::Release);
        }
        self.shared.open[self.number as usize].store(i64::MAX, Ordering::Release);
        self.shared.at_work.fetch_sub(1, Ordering::Release);
    }

    fn process(&self, life: u32) -> linpoint_history::ProcessId {
        let name = format!("{}{}.{life}", self.plan.name, self.number);
        let mut symbols = self.symbols.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        symbols.process(&Value::text(&name))
    }

    fn key(&self, key: &str) -> linpoint_history::KeyId {
        let mut symbols = self.symbols.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        symbols.key(&Value::text(key))
    }
}
