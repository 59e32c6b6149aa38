//! The verification threads: drain, check, react.
//!
//! Usually one thread does it all. With several, one drains and hands events over in batches, each object to
//! the thread that has it. With spilling, one drains into the log file and another follows the file.

mod pace;

use std::collections::VecDeque;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::checker::{Checker, Conclusion, End, Progress, Summary};
use crate::drain::{Drain, Round, Sink};
use crate::event::{Event, ObjectId, ThreadId};
use crate::file::{Back, Counts, Description, LogError, Reader, Writer};
use crate::guard::guarded;
use crate::local::Overflow;
use crate::monitor::{Builder, Reaction, Shared};
use crate::object::{PANIC, WAIT, Watched};
use crate::registry::{Entrant, Registry};
use crate::replay::Follower;
use crate::report::{Judged, Report, Shortfall};
use crate::stamp::Stamps;
use crate::stream::{Stream, Tee};
use pace::Pace;

/// The error bound that a log file notes; none for numbers.
pub(crate) fn error_bound(stamps: Stamps) -> Option<u64> {
    match stamps {
        Stamps::Numbers => None,
        Stamps::Ticks { error } => Some(error),
    }
}

/// Everything the verification threads need.
pub(crate) struct Verifier {
    settings: Builder,
    registry: Arc<Registry>,
    shared: Arc<Shared>,
    drain: Drain,
    moved: Option<PathBuf>,
    back: Option<Back>,
    /// Records about objects that nobody registered.
    strays: Arc<AtomicU64>,
    /// What the file that was spilled to says against what was judged.
    short: Vec<Shortfall>,
}

/// The log file.
pub(crate) struct Log {
    pub(crate) writer: Option<Writer>,
    /// Where the file went that was in its place.
    pub(crate) moved: Option<PathBuf>,
    /// Another way to it, to read it back.
    pub(crate) back: Option<Back>,
}

impl Verifier {
    pub(crate) fn new(
        settings: Builder,
        registry: Arc<Registry>,
        shared: Arc<Shared>,
        Log { writer: file, moved, back }: Log,
    ) -> Verifier {
        // Where the program is not to wait for the verification, everything is taken, and what waits grows up
        // to the checkers' limit.
        let waits = settings.overflow == Overflow::Block && !settings.spill;
        let drain = Drain::new(Arc::clone(&registry), file, waits.then_some(settings.look_ahead));
        let (strays, short) = (Arc::default(), Vec::new());
        Verifier { settings, registry, shared, drain, moved, back, strays, short }
    }

    /// Starts the threads; the one that is returned has the report in the end.
    pub(crate) fn spawn(self) -> std::io::Result<JoinHandle<Report>> {
        std::thread::Builder::new().name("linpoint-verify".to_owned()).spawn(move || self.run())
    }

    fn run(mut self) -> Report {
        let react = Arc::new(React {
            registry: Arc::clone(&self.registry),
            shared: Arc::clone(&self.shared),
            reaction: self.settings.reaction.clone(),
            callback: self.settings.callback.take(),
            strays: Arc::clone(&self.strays),
        });
        let judged = match (self.settings.spill, self.settings.verifiers) {
            (true, _) => self.spill(&react),
            (false, 1) => {
                let mut checkers = Checkers::new(react);
                self.rounds(&mut checkers);
                checkers.finish(End::Complete)
            }
            (false, threads) => self.share_out(threads, &react),
        };
        Report {
            lost: self.drain.watched().map(|watched| watched.lost()).sum(),
            stamps: self.registry.stamps.to_string(),
            log_trouble: self.drain.trouble.as_ref().map(ToString::to_string),
            log_moved: self.moved,
            short: strays(&self.strays)
                .into_iter()
                .chain(self.short)
                .chain(self.shared.all_panicked())
                .collect(),
            objects: judged,
        }
    }

    /// Round after round, until the program wants to know and nothing more comes.
    fn rounds(&mut self, sink: &mut impl Sink) {
        let mut pace = Pace::new(self.settings.ring_words, self.settings.status_line, self.settings.budget);
        let sink = &mut Tee { stream: self.settings.stream.take().map(Stream::new), sink };
        let mut stopping = false;
        while !self.drain.is_over() {
            if !stopping && self.shared.stop.load(Ordering::Acquire) {
                stopping = true;
                self.drain.mark_the_end(sink);
            }
            let round = self.drain.round(sink);
            sink.pause();
            self.gauge(round);
            if !self.drain.is_over() {
                pace.round(round, &self.shared, &self.drain);
            }
        }
        self.drain.close(sink);
        sink.pause();
        sink.close();
        if let Some(message) = sink.trouble() {
            self.shared.panicked("the stream's listener", message);
        }
    }

    fn gauge(&self, round: Round) {
        let gauges = &self.shared.gauges;
        gauges.threads.store(round.threads as u64, Ordering::Relaxed);
        gauges.log_bytes.store(self.drain.bytes(), Ordering::Relaxed);
        let (mut objects, mut off, mut lost) = (0, 0, 0);
        for watched in self.drain.watched() {
            objects += 1;
            off += u64::from(!watched.is_on());
            lost += watched.lost();
        }
        gauges.objects.store(objects, Ordering::Relaxed);
        gauges.unwatched.store(off, Ordering::Relaxed);
        gauges.lost.store(lost, Ordering::Relaxed);
    }

    /// One thread drains, the others check.
    fn share_out(&mut self, threads: usize, react: &Arc<React>) -> Vec<Judged> {
        let mut senders = Vec::new();
        let mut workers = Vec::new();
        for _ in 0..threads {
            let (sender, receiver) = mpsc::sync_channel(64);
            let react = Arc::clone(react);
            let worker = move || work(&receiver, Checkers::new(react));
            match std::thread::Builder::new().name("linpoint-check".to_owned()).spawn(worker) {
                Ok(worker) => {
                    senders.push((sender, Vec::new()));
                    workers.push(worker);
                }
                // Fewer, then; the first one must be had.
                Err(_) if !senders.is_empty() => break,
                Err(error) => panic!("cannot start a verification thread: {error}"),
            }
        }
        self.rounds(&mut Router { workers: senders });
        let mut judged: Vec<Judged> = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(part) => judged.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        judged.sort_by_key(|judged| judged.object);
        judged
    }

    /// One thread drains into the file, this one follows it.
    fn spill(&mut self, react: &Arc<React>) -> Vec<Judged> {
        let back = self.back.take();
        let entrants = Arc::new(Mutex::new(VecDeque::new()));
        let progress = self.drain.written();
        let mut hand_over = HandOver { entrants: Arc::clone(&entrants) };
        let end = std::thread::scope(|scope| {
            let draining = scope.spawn(|| self.rounds(&mut hand_over));
            let mut checkers = Checkers::new(Arc::clone(react));
            let reader = loop {
                let Some(back) = &back else { break None };
                let head = back.again().map_err(LogError::Io);
                match head.and_then(|back| Reader::new(BufReader::with_capacity(1 << 20, back))) {
                    Ok(reader) => break Some(reader),
                    Err(_) if !draining.is_finished() => std::thread::sleep(Duration::from_millis(1)),
                    Err(_) => break None,
                }
            };
            let mut followed = None;
            if let Some(reader) = reader {
                let mut follower = Follower::new(reader);
                loop {
                    let over = draining.is_finished();
                    let written = progress.load(Ordering::Acquire);
                    let mut next = |_: ObjectId, _: &Description| {
                        entrants.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
                    };
                    // A file that cannot be read back ends here, as one that could not be written.
                    let went = follower.follow(written, &mut checkers, &mut next).unwrap_or(false);
                    checkers.pause();
                    if !went && over {
                        break;
                    }
                    if !went {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
                followed = Some((follower.ended, follower.short));
            }
            if let Err(panic) = draining.join() {
                std::panic::resume_unwind(panic);
            }
            (checkers, followed)
        });
        let (checkers, followed) = end;
        let (ended, short) = followed.unwrap_or_default();
        self.short = short;
        if ended && self.drain.trouble.is_none() {
            return checkers.finish(End::Complete);
        }
        // A file that could not be written to its end breaks off, and what came later was never judged: that
        // is no pass.
        let mut judged = checkers.finish(End::Torn);
        for judged in judged.iter_mut().filter(|judged| judged.summary.conclusion == Conclusion::Clean) {
            judged.summary.conclusion = Conclusion::Unknown;
        }
        let unmet = std::mem::take(&mut *entrants.lock().unwrap_or_else(PoisonError::into_inner));
        judged.extend(unmet.into_iter().map(|entrant| {
            let summary = Checker::new(entrant.setup).finish(End::Torn);
            Judged {
                object: entrant.watched.id,
                description: entrant.description,
                summary: Summary { conclusion: Conclusion::Unknown, ..summary },
                findings: Vec::new(),
                watched: entrant.watched.is_on(),
                written: None,
            }
        }));
        judged
    }
}

/// What happens at a finding.
pub(crate) struct React {
    pub(crate) registry: Arc<Registry>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) reaction: Reaction,
    pub(crate) callback: Option<crate::monitor::Callback>,
    /// Records about objects that nobody registered.
    pub(crate) strays: Arc<AtomicU64>,
}

/// Records about nobody, if there were any.
pub(crate) fn strays(count: &AtomicU64) -> Vec<Shortfall> {
    match count.load(Ordering::Relaxed) {
        0 => Vec::new(),
        records => vec![Shortfall::Strays { records }],
    }
}

impl React {
    fn to(&self, name: &str, finding: &crate::finding::Finding) {
        self.shared.found(name, finding);
        match &self.reaction {
            Reaction::Report => {}
            Reaction::Panic => self.registry.halt(PANIC, format!("{name}: {}", finding.found)),
            Reaction::Stop { dump } => {
                if !self.shared.resume.load(Ordering::Acquire) {
                    self.registry.halt(WAIT, format!("{name}: {}", finding.found));
                }
                // Nowhere to say it but in the report.
                let _ = std::fs::write(dump, self.shared.findings_shown().join("\n") + "\n");
            }
        }
        if let Some(callback) = &self.callback
            && let Err(message) = guarded(|| callback(name, finding))
        {
            self.shared.panicked("`on_finding`", message);
        }
    }
}

/// Checkers, one an object.
pub(crate) struct Checkers {
    react: Arc<React>,
    objects: Vec<Option<Followed>>,
    /// Threads that had not ended in the end.
    running: Vec<ThreadId>,
    /// Events judged, operations judged, events waiting, room, since last told.
    told: [u64; 4],
}

struct Followed {
    checker: Checker,
    watched: Arc<Watched>,
    description: Description,
    progress: Progress,
    findings: Vec<crate::finding::Finding>,
    /// Was anything told since the last look?
    fresh: bool,
    /// Records that found no room, told and not yet passed on.
    lost: u64,
    /// What the log says was written.
    written: Option<Counts>,
}

impl Checkers {
    pub(crate) fn new(react: Arc<React>) -> Checkers {
        Checkers { react, objects: Vec::new(), running: Vec::new(), told: [0; 4] }
    }

    fn of(&mut self, object: ObjectId) -> Option<&mut Followed> {
        self.objects.get_mut(usize::from(object.0))?.as_mut()
    }

    /// The end of it.
    pub(crate) fn finish(self, end: End) -> Vec<Judged> {
        let mut all = Vec::new();
        for (at, followed) in self.objects.into_iter().enumerate() {
            let Some(Followed { mut checker, watched, description, mut findings, written, .. }) = followed
            else {
                continue;
            };
            if written.is_some_and(|counts| counts.left_out > 0) {
                checker.leave_out();
            }
            self.running.iter().for_each(|thread| checker.goes_on(*thread));
            let summary = guarded(|| checker.end(end)).unwrap_or_else(|message| {
                checker.give_up(panicked(&message));
                checker.end(end)
            });
            for finding in &summary.findings {
                self.react.to(&description.name, finding);
            }
            findings.extend(summary.findings.iter().cloned());
            let object = ObjectId(at as u16);
            // Ticks become numbers on the way, and not every record goes on.
            let written = written.filter(|_| watched.stamps == Stamps::Numbers);
            all.push(Judged { object, description, summary, findings, watched: watched.is_on(), written });
        }
        all
    }
}

impl Sink for Checkers {
    fn object(&mut self, entrant: Entrant) {
        let Entrant { watched, description, setup } = entrant;
        let at = usize::from(watched.id.0);
        if self.objects.len() <= at {
            self.objects.resize_with(at + 1, || None);
        }
        let (progress, findings) = (Progress::default(), Vec::new());
        let checker = match guarded(|| Checker::new(setup)) {
            Ok(checker) => checker,
            Err(message) => {
                let what = format!("the model or the shadow of {}", description.name);
                return self.react.shared.panicked(&what, message);
            }
        };
        self.objects[at] = Some(Followed {
            checker,
            watched,
            description,
            progress,
            findings,
            fresh: false,
            lost: 0,
            written: None,
        });
    }

    #[inline]
    fn event(&mut self, event: Event) {
        if let Some(followed) = self.of(event.object) {
            followed.fresh = true;
            followed.checker.push(event);
        } else {
            self.react.strays.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn seal(&mut self, object: ObjectId, number: u64) {
        if let Some(followed) = self.of(object) {
            followed.fresh = true;
            followed.checker.seal(number);
        }
    }

    fn lost(&mut self, object: ObjectId, count: u64) {
        if let Some(followed) = self.of(object) {
            followed.fresh = true;
            followed.lost = count;
        }
    }

    fn running(&mut self, thread: ThreadId) {
        self.running.push(thread);
    }

    fn counted(&mut self, object: ObjectId, counts: Counts) {
        if let Some(followed) = self.of(object) {
            followed.written = Some(counts);
        }
    }

    fn pause(&mut self) {
        for followed in self.objects.iter_mut().flatten().filter(|followed| followed.fresh) {
            followed.fresh = false;
            let before = counts(&followed.progress);
            followed.progress = guarded(|| followed.checker.advance()).unwrap_or_else(|message| {
                followed.checker.give_up(panicked(&message));
                followed.checker.advance()
            });
            followed.watched.set_judged(followed.checker.judged_up_to());
            if followed.lost > 0 {
                // What came before is judged; nothing after it is.
                followed.checker.lose(std::mem::take(&mut followed.lost));
                followed.fresh = true;
            }
            let now = counts(&followed.progress);
            for (told, (now, before)) in self.told.iter_mut().zip(now.into_iter().zip(before)) {
                // A difference, which may be below zero; the sum is not.
                *told = told.wrapping_add(now).wrapping_sub(before);
            }
            for finding in followed.progress.findings.drain(..) {
                self.react.to(&followed.description.name, &finding);
                followed.findings.push(finding);
            }
        }
        let gauges = &self.react.shared.gauges;
        let all = [&gauges.events, &gauges.operations, &gauges.waiting, &gauges.room];
        for (gauge, told) in all.into_iter().zip(std::mem::take(&mut self.told)) {
            gauge.fetch_add(told, Ordering::Relaxed);
        }
    }
}

/// Why an object cannot be judged any further.
fn panicked(message: &str) -> String {
    format!("its model or its shadow panicked: {message}")
}

/// What the gauges show of a checker.
fn counts(progress: &Progress) -> [u64; 4] {
    [progress.events, progress.operations, progress.lag, progress.room]
}

/// What is handed from the draining thread to a checking one.
enum Message {
    Object(Box<Entrant>),
    Event(Event),
    Seal(ObjectId, u64),
    Lost(ObjectId, u64),
    Counted(ObjectId, Counts),
    Running(ThreadId),
}

/// Hands events to threads in batches.
struct Router {
    workers: Vec<(SyncSender<Vec<Message>>, Vec<Message>)>,
}

const BATCH: usize = 1024;

impl Router {
    fn send(&mut self, object: ObjectId, message: Message) {
        let at = usize::from(object.0) % self.workers.len();
        let (sender, batch) = &mut self.workers[at];
        batch.push(message);
        if batch.len() >= BATCH {
            // A worker that is gone has panicked, and says so when it is joined.
            let _ = sender.send(std::mem::replace(batch, Vec::with_capacity(BATCH)));
        }
    }
}

impl Sink for Router {
    fn object(&mut self, entrant: Entrant) {
        self.send(entrant.watched.id, Message::Object(Box::new(entrant)));
    }

    fn event(&mut self, event: Event) {
        self.send(event.object, Message::Event(event));
    }

    fn seal(&mut self, object: ObjectId, number: u64) {
        self.send(object, Message::Seal(object, number));
    }

    fn lost(&mut self, object: ObjectId, count: u64) {
        self.send(object, Message::Lost(object, count));
    }

    fn running(&mut self, thread: ThreadId) {
        self.workers.iter_mut().for_each(|(_, batch)| batch.push(Message::Running(thread)));
    }

    fn counted(&mut self, object: ObjectId, counts: Counts) {
        self.send(object, Message::Counted(object, counts));
    }

    fn pause(&mut self) {
        for (sender, batch) in &mut self.workers {
            if !batch.is_empty() {
                let _ = sender.send(std::mem::take(batch));
            }
        }
    }
}

fn work(receiver: &Receiver<Vec<Message>>, mut checkers: Checkers) -> Vec<Judged> {
    while let Ok(batch) = receiver.recv() {
        for message in batch {
            match message {
                Message::Object(entrant) => checkers.object(*entrant),
                Message::Event(event) => checkers.event(event),
                Message::Seal(object, number) => checkers.seal(object, number),
                Message::Lost(object, count) => checkers.lost(object, count),
                Message::Counted(object, counts) => checkers.counted(object, counts),
                Message::Running(thread) => checkers.running(thread),
            }
        }
        checkers.pause();
    }
    checkers.finish(End::Complete)
}

/// While spilling, only newcomers go by memory: models cannot be written to a file.
struct HandOver {
    entrants: Arc<Mutex<VecDeque<Entrant>>>,
}

impl Sink for HandOver {
    fn object(&mut self, entrant: Entrant) {
        self.entrants.lock().unwrap_or_else(PoisonError::into_inner).push_back(entrant);
    }

    fn event(&mut self, _event: Event) {}

    fn seal(&mut self, _object: ObjectId, _number: u64) {}

    fn lost(&mut self, _object: ObjectId, _count: u64) {}

    fn counted(&mut self, _object: ObjectId, _counts: Counts) {}

    fn running(&mut self, _thread: ThreadId) {}

    fn pause(&mut self) {}
}
