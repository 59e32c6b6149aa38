//! The dataflow: sources → exchange by object → one check an object → verdicts gathered.
//!
//! Times of the dataflow are stamps: a source that holds the time t has nothing left that was called before
//! t. So the frontier at a worker's checks *is* the watermark: everything called before it is there. Timely
//! (Murray et al. 2013) keeps it, across threads and hosts; nothing here counts messages.
//!
//! **Back-pressure.** A source does not read on while what it sent a while ago is not behind the frontier:
//! then a worker, or another source, lags.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use linpoint_history::{Builtin, Diagnostic, specs};
use thiserror::Error;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::{Capability, Probe, probe};
use timely::scheduling::Activator;
use timely::worker::Worker;

use crate::checker::Checker;
use crate::everyone;
use crate::homes;
use crate::hosts::{GRACE, Hosts, HostsError, Shape};
use crate::intake::{self, Intake, Live, More, Read};
use crate::progress::{Keeper, Progress};
use crate::report::{Outcome, Report};
use crate::source::{CHUNK, Feed, Outlet, Unreadable};
use crate::wire::{About, Batch};

/// How often a live source is asked that had nothing.
const NAP: Duration = Duration::from_millis(5);
/// Most sources a worker has.
const SOURCES: u32 = 1 << 12;

/// How to wake the sources of a worker that wait for the frontier.
type Held = Rc<RefCell<Option<Activator>>>;

/// What is to be done.
#[derive(Clone)]
pub struct Job {
    /// The sources of each worker of this process, made where it runs.
    pub feeds: Feeds,
    /// What the name of a specification means: the same on every host.
    pub specs: Resolve,
    /// Workers of this process.
    pub workers: usize,
    /// The other processes, if there are any.
    pub hosts: Option<Hosts>,
    /// Stop when an object is violated?
    pub stop_on_violation: bool,
    /// Is a source that cannot be read on lost, and do the others go on?
    pub keep_going: bool,
    /// Give up then.
    pub deadline: Option<Instant>,
    /// Not with more memory than this.
    pub memory_bytes: Option<usize>,
    /// Where progress is kept, so that a run that was interrupted goes on.
    pub progress: Option<Progress>,
    /// Told how it goes, now and then.
    pub status: Option<Tell>,
}

/// What the name of a specification means, or why it means nothing.
pub type Resolve = Arc<dyn Fn(&str) -> Result<Builtin, String> + Send + Sync>;

/// Hears how a worker is doing.
pub type Tell = Arc<dyn Fn(&Status) + Send + Sync>;

/// Makes the sources of the worker with this number, among the workers of this process.
pub type Feeds = Arc<dyn Fn(usize) -> Result<Vec<Named>, Diagnostic> + Send + Sync>;

/// A source and what it is.
pub struct Named {
    /// What it is.
    pub about: About,
    /// Its rows.
    pub feed: Box<dyn Feed>,
}

/// How a worker is doing.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Which worker.
    pub worker: usize,
    /// Rows checked or waiting.
    pub taken: u64,
    /// Rows that wait for a decision.
    pub held: u64,
    /// Objects.
    pub objects: u64,
    /// Objects with rows that wait for the watermark or a return.
    pub waiting: u64,
    /// Objects violated.
    pub violations: u64,
    /// The watermark; none at the end.
    pub mark: Option<i64>,
    /// The object with most operations.
    pub hottest: Option<(String, u64)>,
}

/// Why there is no outcome.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// A source is not readable.
    #[error(transparent)]
    Input(#[from] Diagnostic),
    /// The hosts do not come together.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// A host went away while the run was on.
    #[error("{0}")]
    Broken(String),
}

impl Job {
    /// A job of one worker in this process.
    pub fn new(feeds: Feeds) -> Job {
        Job {
            feeds,
            specs: Arc::new(|name| specs::parse(name).map_err(|error| error.to_string())),
            workers: 1,
            hosts: None,
            stop_on_violation: false,
            keep_going: false,
            deadline: None,
            memory_bytes: None,
            progress: None,
            status: None,
        }
    }

    /// Does it. Every host gets the outcome of all.
    pub fn run(self) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let failure: Arc<Mutex<Option<Diagnostic>>> = Arc::default();
        let workers = self.workers.max(1);
        let (builders, guard) = match &self.hosts {
            Some(hosts) => {
                hosts.connect(Shape { workers, keeps_progress: self.progress.is_some() }, self.deadline)?
            }
            None => crate::hosts::alone(workers),
        };
        let (job, failed) = (self.clone(), Arc::clone(&failure));
        let found: Arc<AtomicBool> = Arc::default();
        let work = move |worker: &mut Worker| job.work(worker, workers, &failed, &found);
        let guards = timely::execute::execute_from(builders, guard, timely::WorkerConfig::default(), work)
            .map_err(RunError::Broken)?;
        let joined = crate::hosts::joined(guards, self.hosts.as_ref());
        if let Some(diagnostic) = failure.lock().ok().and_then(|mut failure| failure.take()) {
            return Err(diagnostic.into());
        }
        let joined = joined.map_err(|why| match self.deadline {
            Some(deadline) if Instant::now() >= deadline + GRACE => {
                format!("the time limit passed, and not every host came to an end ({why})")
            }
            _ => why,
        });
        let reports: Vec<Report> = joined.map_err(RunError::Broken)?.into_iter().flatten().collect();
        Ok(Outcome::join(reports, started.elapsed()))
    }

    /// One worker: the reports of all, if it is the first of its host.
    fn work(
        &self,
        worker: &mut Worker,
        workers: usize,
        failure: &Mutex<Option<Diagnostic>>,
        found: &Arc<AtomicBool>,
    ) -> Vec<Report> {
        let index = worker.index();
        let mut troubles = Vec::new();
        let mut feeds = (self.feeds)(index % workers).unwrap_or_else(|diagnostic| {
            troubles.push(format!("{}: {}", diagnostic.file, diagnostic.message));
            // The others must hear of it: what these sources did is missing from the beginning.
            let missing = Unreadable::source(&diagnostic);
            if let Ok(mut failure) = failure.lock() {
                failure.get_or_insert(diagnostic);
            }
            vec![missing]
        });
        // Objects are known by the names of their specifications, here and on other hosts, so each has one
        // name.
        for Named { about, .. } in &mut feeds {
            if let Ok(spec) = (self.specs)(&about.spec)
                && spec.as_own().is_none()
            {
                about.spec = spec.full_name();
            }
        }
        let stop = Rc::new(Cell::new(!troubles.is_empty() && !self.keep_going));
        let mut checker = Checker::new(Arc::clone(&self.specs), self.deadline, self.memory_bytes);
        checker.found = Arc::clone(found);
        let checker = Rc::new(RefCell::new(checker));
        let mut shared = Read { troubles, ..Read::default() };
        let of = self.progress.as_ref().map_or("", |progress| &progress.of);
        let assigned = homes::assign(worker, &feeds, of);
        if let Some(progress) = &self.progress {
            let (own, peers) = (worker.index(), worker.peers());
            let keeper =
                Keeper { progress: progress.clone(), worker: own, workers: peers, homes: assigned.basis };
            shared.from = agreed(worker, &keeper.usable());
            shared.resumed = checker.borrow_mut().resume(keeper, shared.from);
            let total: u64 = feeds.iter().filter_map(|named| named.feed.total()).sum();
            // Forty in all, whoever calls for them; and not so close that the newest ones of two workers
            // could have none in common.
            let chunks: usize = feeds.iter().map(|named| intake::ahead(named.feed.as_ref())).sum();
            let ahead = (chunks * CHUNK) as u64;
            shared.every = progress.every.unwrap_or((total / 40 * peers as u64).max(ahead)).max(1);
        }
        let shared = Rc::new(RefCell::new(shared));
        let held: Held = Rc::default();
        let probe = self.dataflow(
            worker,
            feeds.into_iter().zip(assigned.homes).collect(),
            &checker,
            &stop,
            &shared,
            &held,
        );
        let (mut told, mut passed) = (Instant::now(), i64::MIN);
        while !probe.done() {
            worker.step_or_park(Some(Duration::from_millis(50)));
            let mark = probe.with_frontier(|frontier| frontier.first().copied()).unwrap_or(i64::MAX);
            if mark > passed
                && let Some(sources) = held.borrow_mut().take()
            {
                sources.activate();
            }
            passed = mark;
            if let Some(status) = &self.status
                && told.elapsed() > Duration::from_millis(200)
            {
                told = Instant::now();
                status(&status_of(index, &checker, &probe));
            }
            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                stop.set(true);
            }
        }
        let mut report = checker.borrow_mut().finish(stop.get());
        let read = shared.borrow();
        report.troubles.extend(read.troubles.iter().cloned());
        report.read = read.rows;
        report.resumed = read.resumed;
        report.stopped = stop.get();
        if let Some(status) = &self.status {
            status(&status_of(index, &checker, &probe));
        }
        gather(worker, report, workers)
    }

    fn dataflow(
        &self,
        worker: &mut Worker,
        feeds: Vec<(Named, Option<Vec<u16>>)>,
        checker: &Rc<RefCell<Checker>>,
        stop: &Rc<Cell<bool>>,
        read: &Rc<RefCell<Read>>,
        held: &Held,
    ) -> probe::Handle<i64> {
        let (index, peers, workers) = (worker.index(), worker.peers(), self.workers.max(1));
        let first = index / workers * workers;
        let host = first as u64..(first + workers) as u64;
        let handle = probe::Handle::new();
        let live = self.status.is_some();
        worker.dataflow::<i64, _, _>(|scope| {
            let (travels, held) = (peers > workers, Rc::clone(held));
            let mut intake =
                Intake::new(handle.clone(), Rc::clone(stop), self.keep_going, Rc::clone(read), travels);
            let rows = source(scope, "sources", |capability, info| {
                let activator = scope.activator_for(info.address);
                for (number, (Named { about, feed }, homes)) in feeds.into_iter().enumerate() {
                    let source = index as u32 * SOURCES + number as u32;
                    let outlet = Outlet::new(source, about, peers, host.clone(), homes);
                    if feed.touches_across() {
                        read.borrow_mut().troubles.push(format!(
                            "source {}: operations of one process on different objects touch (one is called at the stamp at which the other returns), so objects are not independent",
                            outlet.about().name
                        ));
                    }
                    intake.add(Live::new(outlet, feed, capability.clone()));
                }
                drop(capability);
                move |output| {
                    let mut batches = Vec::new();
                    let more = intake.turn(&mut batches);
                    // All in one message a worker, at the earliest of their times: each message wakes up
                    // threads here and there.
                    let times = batches.iter().map(|(capability, _)| capability);
                    if let Some(earliest) = times.min_by_key(|capability| *capability.time()).cloned() {
                        let timed = |(capability, batch): (Capability<i64>, Batch)| Batch { at: *capability.time(), ..batch };
                        output.session(&earliest).give_iterator(batches.into_iter().map(timed));
                    }
                    match more {
                        More::Now => activator.activate(),
                        More::Held => {
                            *held.borrow_mut() = Some(activator.clone());
                            activator.activate_after(NAP);
                        }
                        More::Later => activator.activate_after(NAP),
                        More::Never => {}
                    }
                }
            });
            let (checker, stop_asked) = (Rc::clone(checker), self.stop_on_violation);
            let stops = rows.container::<Vec<Batch>>().unary_frontier(
                Exchange::new(|batch: &Batch| batch.target),
                "check",
                move |_, _| {
                    let mut told = false;
                    let mut swept = Instant::now();
                    // Where to say that the run is to be stopped.
                    let mut voice = None;
                    move |(input, frontier), output| {
                        let mark = frontier.frontier().first().copied().unwrap_or(i64::MAX);
                        let mut checker = checker.borrow_mut();
                        input.for_each(|time, data| {
                            data.drain(..).for_each(|batch| checker.receive(batch));
                            if stop_asked && !told && voice.is_none() {
                                voice = Some(time.retain(0));
                            }
                        });
                        checker.reach(mark);
                        if checker.violations > 0
                            && let Some(time) = voice.take()
                            && !told
                        {
                            told = true;
                            output.session(&time).give_iterator(0..peers as u64);
                        }
                        // It may not hold up the others.
                        voice = None;
                        if live && swept.elapsed() > Duration::from_millis(100) {
                            checker.sweep(mark);
                            swept = Instant::now();
                        }
                    }
                },
            );
            let stop = Rc::clone(stop);
            let stopped = stops.container::<Vec<u64>>().unary(
                Exchange::new(|target: &u64| *target),
                "stop",
                move |_, _| {
                    move |input, output| {
                        input.for_each(|time, _| {
                            stop.set(true);
                            output.session(&time).give(());
                        });
                    }
                },
            );
            stopped.container::<Vec<()>>().probe_with(&handle);
        });
        handle
    }
}

fn status_of(worker: usize, checker: &RefCell<Checker>, probe: &probe::Handle<i64>) -> Status {
    let checker = checker.borrow();
    let mark = probe.with_frontier(|frontier| frontier.first().copied());
    Status {
        worker,
        taken: checker.taken,
        held: checker.held(),
        objects: checker.objects() as u64,
        waiting: checker.waiting() as u64,
        violations: checker.violations,
        mark,
        hottest: checker.hottest().map(|(name, count)| (name.to_string(), count)),
    }
}

/// The newest mark that all workers have.
fn agreed(worker: &mut Worker, marks: &[i64]) -> Option<i64> {
    let peers = worker.peers();
    let own = (0..peers as u64).flat_map(|target| marks.iter().map(move |&mark| (target, mark)));
    let all: Vec<i64> = everyone::exchange(worker, own);
    let has_all = |mark: &&i64| all.iter().filter(|other| other == mark).count() == peers;
    marks.iter().filter(has_all).max().copied()
}

/// Brings all reports to the first worker of every host, so that all say the same.
fn gather(worker: &mut Worker, report: Report, workers: usize) -> Vec<Report> {
    let firsts = (0..worker.peers()).step_by(workers);
    everyone::exchange(worker, firsts.map(|first| (first as u64, report.clone())))
}
