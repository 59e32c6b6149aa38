//! A monitor: started beside a program, told of objects, asked at the end.
//!
//! ```text
//! application threads ── rings ──► drain ──► checkers (one an object) ──► findings ──► reaction
//!                                    └──► log file                          └──► status, report
//! ```

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use linpoint_history::Spec as _;
use linpoint_history::specs::{self, SpecError};
use thiserror::Error;

use crate::checker::{Commits, Setup};
use crate::file::{Description, Writer};
use crate::finding::Finding;
use crate::http::Page;
use crate::local::Overflow;
use crate::model::Model;
use crate::models;
use crate::object::Object;
use crate::registry::Registry;
use crate::report::{Report, Shortfall};
use crate::shadow::Shadow;
use crate::shadows::{Entries, Layers};
use crate::stamp::Stamps;
use crate::status::{Gauges, Status};
use crate::verifier::{self, Log, Verifier};

/// What happens when something is found, beside its being reported in the end.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Reaction {
    /// Nothing more.
    #[default]
    Report,
    /// The next call on any monitored object panics with the finding.
    Panic,
    /// The next call of each thread waits until [`Monitor::resume`]; what is known is written to a file.
    Stop {
        /// Where to.
        dump: PathBuf,
    },
}

/// The shape of a view: what its locations hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Pairs of a key and a value.
    Map,
    /// Keys, which are there or are not.
    Set,
    /// Keys, and copies count.
    Multiset,
    /// A cache over a store: locations with the highest bit set are the cache's, and hide the others
    /// ([`Layers`]).
    Layers,
}

impl View {
    const ALL: [View; 4] = [View::Map, View::Set, View::Multiset, View::Layers];

    /// Its name in a log.
    pub fn name(self) -> &'static str {
        match self {
            View::Map => "map",
            View::Set => "set",
            View::Multiset => "multiset",
            View::Layers => "layers",
        }
    }

    /// The view with that name.
    pub fn named(name: &str) -> Option<View> {
        View::ALL.into_iter().find(|view| view.name() == name)
    }

    /// A shadow of this shape, empty.
    pub fn shadow(self) -> Box<dyn Shadow> {
        match self {
            View::Map => Box::new(Entries::map()),
            View::Set => Box::new(Entries::set()),
            View::Multiset => Box::new(Entries::multiset()),
            View::Layers => Box::new(Layers::new(2, |location| usize::from(location.0 >> 63 == 0))),
        }
    }
}

/// What is to be called at each finding.
pub(crate) type Callback = Box<dyn Fn(&str, &Finding) + Send + Sync>;

/// Why a monitor does not start, or an object is not taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MonitorError {
    /// The log file.
    #[error("cannot write the log file `{0}`")]
    LogFile(PathBuf, #[source] std::io::Error),
    /// The status page.
    #[error("cannot serve the status page")]
    Page(#[source] std::io::Error),
    /// A thread.
    #[error("cannot start a verification thread")]
    Thread(#[source] std::io::Error),
    /// A specification that is not built in.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Too many.
    #[error("a monitor takes at most 65,535 objects")]
    TooMany,
    /// Locks know their owners.
    #[error("`{0}` cares who calls, and with ticks the operations of one thread may overlap; use numbers")]
    NeedsThreads(String),
    /// A record has a byte for the operation.
    #[error("the specification of `{0}` has {1} operations; a log tells 256 apart")]
    TooManyOperations(String, usize),
    /// A state is of one moment, and with ticks nothing has an exact place.
    #[error(
        "`{0}` asks for its view, and with ticks none can be compared; use numbers, or leave the view out"
    )]
    ViewOfTicks(String),
    /// Streams need exact stamps.
    #[error("`stream` needs numbers for stamps: those of ticks are widened when they are checked")]
    StreamOfTicks,
    /// Spilling needs a file.
    #[error("`spill` needs `log_file`: that is where records go")]
    SpillWithoutFile,
}

/// A monitor's settings.
pub struct Builder {
    pub(crate) stamps: Stamps,
    pub(crate) overflow: Overflow,
    pub(crate) ring_words: usize,
    pub(crate) look_ahead: u64,
    pub(crate) file: Option<PathBuf>,
    pub(crate) spill: bool,
    pub(crate) verifiers: usize,
    pub(crate) reaction: Reaction,
    pub(crate) callback: Option<Callback>,
    pub(crate) page: Option<Vec<SocketAddr>>,
    pub(crate) sample: u64,
    pub(crate) budget: Option<f64>,
    pub(crate) status_line: bool,
    pub(crate) stream: Option<crate::stream::Listener>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            stamps: Stamps::Numbers,
            overflow: Overflow::Block,
            ring_words: 1 << 16,
            look_ahead: 1 << 16,
            file: None,
            spill: false,
            verifiers: 1,
            reaction: Reaction::Report,
            callback: None,
            page: None,
            sample: 1,
            budget: None,
            status_line: false,
            stream: None,
        }
    }
}

impl Builder {
    /// Which stamps: exact numbers unless set.
    pub fn stamps(mut self, stamps: Stamps) -> Builder {
        self.stamps = stamps;
        self
    }

    /// What a thread does whose ring is full: it waits unless set.
    pub fn overflow(mut self, overflow: Overflow) -> Builder {
        self.overflow = overflow;
        self
    }

    /// How many words of eight bytes a thread's ring has: 65,536 unless set. An operation with a number as
    /// its argument takes four or five.
    pub fn ring_words(mut self, words: usize) -> Builder {
        self.ring_words = words.clamp(64, 1 << 24);
        self
    }

    /// How far ahead of what was judged records are taken from the rings, in numbers of an object: 65,536
    /// unless set. When an operation takes long to answer, what is further ahead stays in the rings, and
    /// threads whose rings are full wait: so memory has a bound. When nothing moves for 100 ms, as much again
    /// is taken, and so on, each time after a longer wait, up to a second. With [`Overflow::Gap`] and
    /// [`Builder::spill`] the program does not wait, and this has no meaning.
    pub fn look_ahead(mut self, numbers: u64) -> Builder {
        self.look_ahead = numbers.max(64);
        self
    }

    /// Writes the log to a file as well, for `linpoint refine`. A file that is there is kept: it gets the
    /// first free name of `path.1`, `path.2`, … ([`Monitor::moved_log`]).
    pub fn log_file(mut self, path: impl AsRef<Path>) -> Builder {
        self.file = Some(path.as_ref().to_owned());
        self
    }

    /// A thread of its own moves records from the rings to the log file, and the verification follows the
    /// file: the program never waits for the verification, only for the disk.
    pub fn spill(mut self) -> Builder {
        self.spill = true;
        self
    }

    /// How many verification threads share the objects: one unless set.
    pub fn verifiers(mut self, threads: usize) -> Builder {
        self.verifiers = threads.clamp(1, 64);
        self
    }

    /// What happens when something is found.
    pub fn reaction(mut self, reaction: Reaction) -> Builder {
        self.reaction = reaction;
        self
    }

    /// Is called at each finding, on a verification thread, with the object's name. Where it panics the
    /// report says so, and the verdict is `unknown` at best.
    pub fn on_finding(mut self, callback: impl Fn(&str, &Finding) + Send + Sync + 'static) -> Builder {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Serves a status page, `/` and `/metrics`, at this address.
    ///
    /// # Errors
    /// Where the address is none.
    pub fn status_page(mut self, address: impl ToSocketAddrs) -> Result<Builder, MonitorError> {
        self.page = Some(address.to_socket_addrs().map_err(MonitorError::Page)?.collect());
        Ok(self)
    }

    /// Shows a line on the terminal, once a second, if standard error is one.
    pub fn status_line(mut self) -> Builder {
        self.status_line = true;
        self
    }

    /// Watches one object in `every`. That is sound, because linearizability is a matter of each object
    /// alone; the others are not judged, and the report says so.
    pub fn sample(mut self, every: u64) -> Builder {
        self.sample = every.max(1);
        self
    }

    /// Spends at most this share of the program's time on logging (0.05: five percent), by no longer watching
    /// the busiest objects. Their verdict is about what was seen until then.
    pub fn budget(mut self, share: f64) -> Builder {
        self.budget = Some(share.clamp(0.0, 1.0));
        self
    }

    /// Tells `listener` of every operation of the objects without commit points, as it is complete: so that
    /// someone else can check them together with those of other processes (`linpoint watch`, with the sender
    /// of `linpoint-cluster`). It is called by the thread that empties the rings, which waits for it. After a
    /// panic it is not called again, and the verdict is `unknown` at best.
    pub fn stream(mut self, listener: impl FnMut(crate::stream::Streamed<'_>) + Send + 'static) -> Builder {
        self.stream = Some(Box::new(listener));
        self
    }

    /// Starts.
    ///
    /// # Errors
    /// Where the log file, the page or a thread cannot be had.
    pub fn start(self) -> Result<Monitor, MonitorError> {
        if self.stream.is_some() && self.stamps != Stamps::Numbers {
            return Err(MonitorError::StreamOfTicks);
        }
        let (writer, moved, back) = match &self.file {
            Some(path) => {
                let created = Writer::create(path, verifier::error_bound(self.stamps));
                let (writer, moved, back) =
                    created.map_err(|error| MonitorError::LogFile(path.clone(), error))?;
                (Some(writer), moved, back)
            }
            None if self.spill => return Err(MonitorError::SpillWithoutFile),
            None => (None, None, None),
        };
        let registry = Arc::new(Registry::new(self.stamps, self.overflow, self.ring_words));
        let shared = Arc::new(Shared::default());
        let page = match &self.page {
            Some(addresses) => {
                let source = Arc::clone(&shared);
                let source = Arc::new(move || (source.gauges.read(), source.findings_shown()));
                Some(Page::serve(&addresses[..], source).map_err(MonitorError::Page)?)
            }
            None => None,
        };
        let sample = self.sample;
        let log = Log { writer, moved: moved.clone(), back };
        let verifier = Verifier::new(self, Arc::clone(&registry), Arc::clone(&shared), log);
        let thread = verifier.spawn().map_err(MonitorError::Thread)?;
        Ok(Monitor { registry, shared, thread: Some(thread), page, sample, moved })
    }
}

/// What the verification threads and everyone else share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) gauges: Gauges,
    /// The program wants to know the end.
    pub(crate) stop: AtomicBool,
    /// Stopped threads may go on.
    pub(crate) resume: AtomicBool,
    findings: Mutex<Vec<(String, Finding)>>,
    /// What panicked.
    panicked: Mutex<Vec<Shortfall>>,
}

impl Shared {
    pub(crate) fn found(&self, object: &str, finding: &Finding) {
        self.gauges.findings.fetch_add(1, Ordering::Relaxed);
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings.push((object.to_owned(), finding.clone()));
    }

    /// Code of the program's own panicked; said once.
    pub(crate) fn panicked(&self, what: &str, message: String) {
        let mut panicked = self.panicked.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            |short: &Shortfall| matches!(short, Shortfall::Panicked { what: other, .. } if other == what);
        if !panicked.iter().any(known) {
            panicked.push(Shortfall::Panicked { what: what.to_owned(), message });
        }
    }

    /// All that panicked.
    pub(crate) fn all_panicked(&self) -> Vec<Shortfall> {
        self.panicked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn findings(&self) -> Vec<(String, Finding)> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn findings_shown(&self) -> Vec<String> {
        self.findings().iter().map(|(object, finding)| format!("{object}: {}", finding.found)).collect()
    }
}

/// Checks objects while the program runs.
#[derive(Debug)]
pub struct Monitor {
    registry: Arc<Registry>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Report>>,
    page: Option<Page>,
    sample: u64,
    moved: Option<PathBuf>,
}

impl Monitor {
    /// A monitor with the usual settings.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn start() -> Result<Monitor, MonitorError> {
        Builder::default().start()
    }

    /// Settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// An object, which behaves as a built-in specification says: `map`, `queue:capacity=64`, …
    ///
    /// # Errors
    /// Where there is no such specification.
    pub fn object(&self, name: &str, spec: &str) -> Result<Registration<'_>, MonitorError> {
        let builtin = specs::parse(spec)?;
        if self.registry.stamps != Stamps::Numbers && builtin.observes_process() {
            return Err(MonitorError::NeedsThreads(spec.to_owned()));
        }
        Ok(self.registration(name, spec, models::model(builtin)))
    }

    /// An object with a model of your own.
    pub fn object_with(&self, name: &str, model: Box<dyn Model>) -> Registration<'_> {
        self.registration(name, "custom", model)
    }

    fn registration(&self, name: &str, spec: &str, model: Box<dyn Model>) -> Registration<'_> {
        let description = Description {
            name: name.to_owned(),
            spec: spec.to_owned(),
            view: "none".to_owned(),
            commits: "marked".to_owned(),
            operations: model.signature().operations.iter().map(|op| op.name.to_owned()).collect(),
        };
        Registration { monitor: self, description, model, view: None, commits: Commits::Marked }
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        self.shared.gauges.read()
    }

    /// What was found so far, with the names of the objects.
    pub fn findings(&self) -> Vec<(String, Finding)> {
        self.shared.findings()
    }

    /// Where the status page is.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page.as_ref().map(Page::address)
    }

    /// Where the file went that was in the log file's place: perhaps the log of a run that was killed. The
    /// report says so, too.
    pub fn moved_log(&self) -> Option<&Path> {
        self.moved.as_deref()
    }

    /// Lets threads go on that [`Reaction::Stop`] stopped.
    pub fn resume(&self) {
        self.shared.resume.store(true, Ordering::Release);
        self.registry.resume();
    }

    /// Waits until everything logged so far is judged, and ends. Operations that are open are pending. What
    /// threads log from now on is left out.
    pub fn finish(mut self) -> Report {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Report> {
        self.shared.stop.store(true, Ordering::Release);
        self.resume();
        let thread = self.thread.take()?;
        match thread.join() {
            Ok(report) => Some(report),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            self.end();
        } else {
            self.shared.stop.store(true, Ordering::Release);
            self.registry.resume();
        }
    }
}

/// An object about to be watched.
#[must_use = "nothing is watched until `watch`"]
pub struct Registration<'a> {
    monitor: &'a Monitor,
    description: Description,
    model: Box<dyn Model>,
    view: Option<Box<dyn Shadow>>,
    commits: Commits,
}

impl Registration<'_> {
    /// Compares the state too: what the logged writes add up to.
    pub fn view(mut self, view: View) -> Self {
        self.description.view = view.name().to_owned();
        self.view = Some(view.shadow());
        self
    }

    /// Compares the state too, with a shadow of your own.
    pub fn view_with(mut self, shadow: Box<dyn Shadow>) -> Self {
        self.description.view = "custom".to_owned();
        self.view = Some(shadow);
        self
    }

    /// The object logs no commits: every order that fits the intervals will do.
    pub fn without_commits(mut self) -> Self {
        self.description.commits = "intervals".to_owned();
        self.commits = Commits::Intervals;
        self
    }

    /// Watches it from now on, from its initial state.
    ///
    /// # Errors
    /// Where there are too many objects, or operations of this one, and where a view is asked for that cannot
    /// be compared.
    pub fn watch(self) -> Result<Object, MonitorError> {
        let Registration { monitor, description, model, view, commits } = self;
        let signature = Arc::new(model.signature().clone());
        let registry = &monitor.registry;
        let operations = signature.operations.len();
        if operations > 1 << u8::BITS {
            return Err(MonitorError::TooManyOperations(description.name, operations));
        }
        if registry.stamps != Stamps::Numbers && view.is_some() {
            return Err(MonitorError::ViewOfTicks(description.name));
        }
        let setup = |object| {
            let setup = Setup::new(object, model).with_commits(commits);
            match view {
                Some(view) => setup.with_view(view),
                None => setup,
            }
        };
        let watched = registry
            .add(description, setup, |number| number % monitor.sample == 0)
            .ok_or(MonitorError::TooMany)?;
        Ok(Object::new(watched, Arc::clone(registry), signature))
    }
}
