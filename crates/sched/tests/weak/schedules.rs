//! Under sequential consistency graphs and schedules show the same outcomes: random programs with locks, condition variables,
//! channels and parking, explored in both ways.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use linpoint_sched::Ending;
use linpoint_sched::atomic::{AtomicUsize, Ordering::SeqCst};
use linpoint_sched::explore::{self, Covered, Search};
use linpoint_sched::random::Random;
use linpoint_sched::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use linpoint_sched::sync::{Arc, Condvar, Mutex, RwLock};
use linpoint_sched::thread::{self, Thread};
use linpoint_sched::weak::{self, Model, Plan};

/// Programs with more schedules, or more graphs, are left out.
const MOST: u64 = 600;

/// What a thread does, one thing after another.
#[derive(Clone, Copy, Debug)]
enum Op {
    Load,
    Add,
    Store,
    Lock,
    TryLock,
    Read,
    Write,
    TryWrite,
    Send,
    Receive,
    TryReceive,
    Park,
    ParkTimeout,
    Unpark,
    Wait,
    WaitTimeout,
    Notify,
    NotifyAll,
    Offer,
    TryOffer,
    Accept,
    TryAccept,
    Clone,
}

const OPS: [Op; 23] = [
    Op::Load,
    Op::Add,
    Op::Store,
    Op::Lock,
    Op::TryLock,
    Op::Read,
    Op::Write,
    Op::TryWrite,
    Op::Send,
    Op::Receive,
    Op::TryReceive,
    Op::Park,
    Op::ParkTimeout,
    Op::Unpark,
    Op::Wait,
    Op::WaitTimeout,
    Op::Notify,
    Op::NotifyAll,
    Op::Offer,
    Op::TryOffer,
    Op::Accept,
    Op::TryAccept,
    Op::Clone,
];

struct Shared {
    number: AtomicUsize,
    lock: Mutex<usize>,
    several: RwLock<usize>,
    sender: Sender<usize>,
    receiver: Mutex<Receiver<usize>>,
    main: Thread,
    condvar: Condvar,
    flag: Mutex<usize>,
    offers: SyncSender<usize>,
    accepts: Mutex<Receiver<usize>>,
    counted: Arc<()>,
}

impl Shared {
    fn perform(&self, op: Op, me: usize) -> usize {
        match op {
            Op::Load => self.number.load(SeqCst),
            Op::Add => self.number.fetch_add(1, SeqCst),
            Op::Store => {
                self.number.store(me + 10, SeqCst);
                0
            }
            Op::Lock => {
                let mut held = self.lock.lock().expect("nobody panics");
                *held = *held * 3 + me;
                *held + self.number.load(SeqCst)
            }
            Op::TryLock => match self.lock.try_lock() {
                Ok(held) => *held,
                Err(_) => 99,
            },
            Op::Read => *self.several.read().expect("nobody panics"),
            Op::Write => {
                let mut held = self.several.write().expect("nobody panics");
                *held = *held * 3 + me;
                *held
            }
            Op::TryWrite => match self.several.try_write() {
                Ok(mut held) => {
                    *held += 1;
                    *held
                }
                Err(_) => 99,
            },
            Op::Send => usize::from(self.sender.send(me).is_ok()),
            Op::Receive => self.receiver.lock().expect("nobody panics").recv().unwrap_or(98),
            Op::TryReceive => self.receiver.lock().expect("nobody panics").try_recv().unwrap_or(98),
            Op::Park if me == 0 => {
                thread::park();
                1
            }
            Op::ParkTimeout if me == 0 => {
                thread::park_timeout(Duration::from_millis(1));
                1
            }
            Op::Park | Op::ParkTimeout | Op::Unpark => {
                self.main.unpark();
                2
            }
            Op::Wait => {
                let held = self.flag.lock().expect("nobody panics");
                *self.condvar.wait(held).expect("nobody panics")
            }
            Op::WaitTimeout => {
                let held = self.flag.lock().expect("nobody panics");
                let (held, result) =
                    self.condvar.wait_timeout(held, Duration::from_millis(1)).expect("nobody panics");
                *held * 2 + usize::from(result.timed_out())
            }
            Op::Notify => {
                *self.flag.lock().expect("nobody panics") += 1;
                self.condvar.notify_one();
                3
            }
            Op::NotifyAll => {
                self.condvar.notify_all();
                4
            }
            Op::Offer => usize::from(self.offers.send(me).is_ok()),
            Op::TryOffer => usize::from(self.offers.try_send(me).is_ok()),
            Op::Accept => self.accepts.lock().expect("nobody panics").recv().unwrap_or(98),
            Op::TryAccept => self.accepts.lock().expect("nobody panics").try_recv().unwrap_or(98),
            Op::Clone => {
                let one = Arc::clone(&self.counted);
                Arc::strong_count(&one)
            }
        }
    }
}

/// Two or three threads, the first of them the program itself.
fn program(seed: u64) -> Vec<Vec<Op>> {
    let mut random = Random::new(seed);
    let threads = 2 + random.below(2);
    let most = if threads == 2 { 3 } else { 2 };
    // Few kinds in one program, so that they meet.
    let kinds: Vec<Op> = (0..4).map(|_| OPS[random.below(OPS.len())]).collect();
    (0..threads)
        .map(|_| (0..=random.below(most)).map(|_| kinds[random.below(kinds.len())]).collect())
        .collect()
}

fn run(threads: &[Vec<Op>], bound: usize) -> Vec<Vec<usize>> {
    let (sender, receiver) = channel();
    let (offers, accepts) = sync_channel(bound);
    let shared = Shared {
        number: AtomicUsize::new(0),
        lock: Mutex::new(0),
        several: RwLock::new(0),
        sender,
        receiver: Mutex::new(receiver),
        main: thread::current(),
        condvar: Condvar::new(),
        flag: Mutex::new(0),
        offers,
        accepts: Mutex::new(accepts),
        counted: Arc::new(()),
    };
    let perform = |me: usize| threads[me].iter().map(|&op| shared.perform(op, me)).collect::<Vec<_>>();
    thread::scope(|scope| {
        let perform = &perform;
        let others: Vec<_> = (1..threads.len()).map(|me| scope.spawn(move || perform(me))).collect();
        let mut all = vec![perform(0)];
        all.extend(others.into_iter().map(|other| other.join().expect("nobody panics")));
        all
    })
}

/// What complete executions answer, and whether threads wait for ever in some execution. Nothing if there are too many.
type Shown = Option<(BTreeSet<Vec<Vec<usize>>>, bool)>;

fn by_schedules(threads: &[Vec<Op>], bound: usize) -> Shown {
    let last = StdMutex::new(None);
    let program = || *last.lock().expect("nobody panics") = Some(run(threads, bound));
    let plan = explore::Plan {
        search: Search::Dfs,
        runs: Some(MOST),
        time: None,
        stop_at_failure: false,
        stuck_fails: false,
        ..explore::Plan::default()
    };
    let (mut outcomes, mut stuck) = (BTreeSet::new(), false);
    let walked = explore::explore(&program, &plan, &mut |seen| {
        match &seen.run.ending {
            Ending::Complete => outcomes.extend(last.lock().expect("nobody panics").take()),
            Ending::Stuck(_) => stuck = true,
            Ending::Abandoned => {}
            Ending::Failed(failure) => panic!("{failure}"),
        }
        ControlFlow::Continue(())
    });
    (walked.covered == Covered::Every).then_some((outcomes, stuck))
}

fn by_graphs(threads: &[Vec<Op>], bound: usize, model: Model) -> Shown {
    let last = StdMutex::new(None);
    let program = || *last.lock().expect("nobody panics") = Some(run(threads, bound));
    let plan = Plan { stop_at_failure: false, stuck_fails: false, graphs: Some(MOST), ..Plan::of(model) };
    let mut outcomes = BTreeSet::new();
    let explored = weak::explore(&program, &plan, &mut |seen| {
        assert!(seen.failure.is_none(), "{:?}", seen.failure);
        outcomes.extend(last.lock().expect("nobody panics").take());
        ControlFlow::Continue(())
    });
    assert_eq!(explored.refused, None);
    explored.is_complete().then_some((outcomes, explored.stuck > 0))
}

#[test]
fn graphs_and_schedules_show_the_same() {
    let mut compared = 0;
    for seed in 0..600 {
        let threads = program(seed);
        let bound = (seed % 2) as usize;
        let Some(schedules) = by_schedules(&threads, bound) else { continue };
        let Some(graphs) = by_graphs(&threads, bound, Model::Sc) else { continue };
        assert_eq!(graphs, schedules, "seed {seed}: {threads:?}");
        compared += 1;
    }
    assert!(compared > 150, "only {compared} were compared");
}
