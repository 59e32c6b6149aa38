//! A log file read back: while it grows (spilling), or later (`linpoint refine`).

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use linpoint_history::Builtin;
use linpoint_history::Spec as _;
use linpoint_history::specs::{self, SpecError};
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use crate::checker::{Commits, End, Setup};
use crate::drain::{EVERY, Sink};
use crate::event::ObjectId;
use crate::file::{Counts, Description, Frame, LogError, Reader};
use crate::models;
use crate::monitor::{Reaction, Shared, View};
use crate::object::Watched;
use crate::record;
use crate::registry::{Entrant, Registry};
use crate::report::{Report, Shortfall};
use crate::stamp::Stamps;
use crate::ticks::Widen;
use crate::verifier::{Checkers, React};

mod renamed;

use renamed::Renamed;

/// Frames on their way to a sink.
pub(crate) struct Follower<R> {
    reader: Reader<R>,
    widen: Option<Widen>,
    /// The log was closed.
    pub(crate) ended: bool,
    /// A frame was whole, and its records made no sense.
    pub(crate) garbled: bool,
    /// What was read, object by object.
    read: FxHashMap<ObjectId, Counts>,
    /// What the objects are called.
    names: FxHashMap<ObjectId, String>,
    /// Those of which the log says how much was written.
    counted: FxHashSet<ObjectId>,
    /// What the log says against it.
    pub(crate) short: Vec<Shortfall>,
}

impl<R: Read> Follower<R> {
    pub(crate) fn new(reader: Reader<R>) -> Follower<R> {
        let widen = reader.error.map(Widen::new);
        let (read, names, counted) = (FxHashMap::default(), FxHashMap::default(), FxHashSet::default());
        Follower { reader, widen, ended: false, garbled: false, read, names, counted, short: Vec::new() }
    }

    /// Tells `sink` of what stands in the first `bytes` bytes and was not told before. `false` where there
    /// was nothing.
    pub(crate) fn follow(
        &mut self,
        bytes: u64,
        sink: &mut impl Sink,
        entrant: &mut impl FnMut(ObjectId, &Description) -> Option<Entrant>,
    ) -> Result<bool, LogError> {
        let mut went = false;
        while self.reader.good_bytes() < bytes && !self.ended && !self.garbled {
            let Some(frame) = self.reader.next_frame()? else { break };
            went = true;
            match frame {
                Frame::Object(object, description) if self.names.contains_key(&object) => {
                    let known = self.names[&object].clone();
                    self.short.push(Shortfall::Twice { object: known, again: description.name });
                }
                Frame::Object(object, description) => {
                    self.read.entry(object).or_default();
                    self.names.insert(object, description.name.clone());
                    if let Some(entrant) = entrant(object, &description) {
                        sink.object(entrant);
                    }
                }
                Frame::Thread(..) => {}
                Frame::Records(thread, words) => {
                    let whole = record::tell(thread, &words, &mut |event| {
                        if let Some(read) = self.read.get_mut(&event.object) {
                            read.count(&event);
                        }
                        match &mut self.widen {
                            Some(widen) => widen.push(event),
                            None => sink.event(event),
                        }
                    });
                    self.garbled |= !whole;
                }
                Frame::Seal(EVERY, until) => {
                    if let Some(widen) = &mut self.widen {
                        widen.advance(until, sink);
                    }
                }
                Frame::Seal(object, number) => sink.seal(object, number),
                Frame::Lost(object, count) => sink.lost(object, count),
                Frame::Counts(object, counts) => {
                    let read = self.read.get(&object).copied().unwrap_or_default();
                    let name = || match self.names.get(&object) {
                        Some(name) => name.clone(),
                        None => format!("object {}", object.0),
                    };
                    let (of_read, of_written) = ((read.numbers, read.top), (counts.numbers, counts.top));
                    if read.records != counts.records {
                        let (read, written) = (read.records, counts.records);
                        self.short.push(Shortfall::Records { object: name(), read, written });
                    } else if of_read != of_written {
                        let (read, written) = (of_read, of_written);
                        self.short.push(Shortfall::Numbers { object: name(), read, written });
                    }
                    self.counted.insert(object);
                    sink.counted(object, counts);
                }
                Frame::Running(thread) => sink.running(thread),
                Frame::End(objects) => {
                    self.ended = true;
                    let uncounted = self.read.keys().filter(|object| !self.counted.contains(object));
                    let mut uncounted: Vec<ObjectId> = uncounted.copied().collect();
                    uncounted.sort_by_key(|object| object.0);
                    for object in uncounted {
                        let object = self.names.get(&object).cloned().unwrap_or_default();
                        self.short.push(Shortfall::Uncounted { object });
                    }
                    let read = self.read.len() as u64;
                    if read != objects {
                        self.short.push(Shortfall::Objects { read, written: objects });
                    }
                }
            }
        }
        Ok(went)
    }
}

/// Why a log cannot be checked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RefineError {
    /// The file.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The specification.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The object has a model of the program's own.
    #[error(
        "object `{0}` was logged with a specification of the program's own; name a built-in one with --spec"
    )]
    Custom(String),
    /// Records know operations by their positions in a specification, and nobody knows which that was.
    #[error(
        "the log does not say what the operations of `{0}` are called, so it cannot be checked with another specification"
    )]
    Nameless(String),
    /// The specification has no such operation.
    #[error("object `{object}` did `{operation}`, which `{spec}` does not have")]
    NoOperation {
        /// The object.
        object: String,
        /// What it did.
        operation: String,
        /// The specification that was asked for.
        spec: String,
    },
    /// Ticks give nothing an exact place.
    #[error("object `{0}` was logged with ticks, so no views can be compared")]
    ViewOfTicks(String),
    /// No view can be compared.
    #[error("object `{0}` was logged without a built-in view, so there is none to compare")]
    NoView(String),
}

/// How to check a log.
#[derive(Clone, Debug, Default)]
pub struct Refine {
    /// The specification of all objects; `None`: what each was logged with.
    pub spec: Option<Builtin>,
    /// Compare views too.
    pub view: bool,
}

/// What a log came to.
#[derive(Clone, Debug)]
pub struct Refined {
    /// The verdicts.
    pub report: Report,
    /// Bytes that make sense.
    pub good_bytes: u64,
    /// Bytes at the end that do not.
    pub torn_bytes: u64,
    /// Was the log closed by the program?
    pub closed: bool,
}

/// Checks a log file. `progress` is told bytes read, now and then.
///
/// # Errors
/// Where the file cannot be read, is no log, or names a specification that is not built in.
pub fn refine(path: &Path, how: &Refine, progress: &mut dyn FnMut(u64)) -> Result<Refined, RefineError> {
    let file = File::open(path).map_err(LogError::Io)?;
    let length = file.metadata().map_err(LogError::Io)?.len();
    refine_from(BufReader::with_capacity(1 << 20, file), length, how, progress)
}

/// Checks a log of `length` bytes. As [`refine`].
///
/// # Errors
/// As [`refine`].
pub fn refine_from(
    from: impl Read,
    length: u64,
    how: &Refine,
    progress: &mut dyn FnMut(u64),
) -> Result<Refined, RefineError> {
    let reader = Reader::new(from)?;
    let error = reader.error;
    let stamps = error.map_or(Stamps::Numbers, |error| Stamps::Ticks { error });
    let react = React {
        registry: Arc::new(Registry::new(stamps, crate::local::Overflow::Block, 64)),
        shared: Arc::new(Shared::default()),
        reaction: Reaction::Report,
        callback: None,
        strays: Arc::default(),
    };
    let (strays, shared) = (Arc::clone(&react.strays), Arc::clone(&react.shared));
    let mut checkers = Renamed::new(Checkers::new(Arc::new(react)), how);
    let mut follower = Follower::new(reader);
    let mut trouble = None;
    let mut entrant =
        |object: ObjectId, description: &Description| match enter(object, description, how, stamps) {
            Ok(entrant) => Some(entrant),
            Err(error) => {
                trouble.get_or_insert(error);
                None
            }
        };
    let mut upto = 0;
    loop {
        // In pieces, so that judging keeps step with reading.
        upto += 1 << 20;
        let went = follower.follow(upto, &mut checkers, &mut entrant)?;
        checkers.pause();
        progress(follower.reader.good_bytes());
        if !went && (upto >= length || follower.ended || follower.garbled || follower.reader.is_torn()) {
            break;
        }
    }
    if let Some(trouble) = trouble.or(checkers.trouble) {
        return Err(trouble);
    }
    let (ended, good_bytes) = (follower.ended, follower.reader.good_bytes());
    let objects = checkers.checkers.finish(if ended { End::Complete } else { End::Torn });
    let torn_bytes = length.saturating_sub(good_bytes);
    let mut short = crate::verifier::strays(&strays);
    short.extend(shared.all_panicked());
    short.extend(follower.short);
    if !ended {
        short.push(Shortfall::NotClosed);
    }
    match torn_bytes {
        0 => {}
        bytes if ended => short.push(Shortfall::After { bytes }),
        bytes => short.push(Shortfall::Torn { bytes }),
    }
    let report = Report { objects, stamps: stamps.to_string(), short, ..Report::default() };
    Ok(Refined { report, good_bytes, torn_bytes, closed: ended })
}

fn enter(
    object: ObjectId,
    description: &Description,
    how: &Refine,
    stamps: Stamps,
) -> Result<Entrant, RefineError> {
    let name = || description.name.clone();
    let spec = match &how.spec {
        Some(spec) => spec.clone(),
        None if description.spec == "custom" => return Err(RefineError::Custom(name())),
        None => specs::parse(&description.spec)?,
    };
    let mut setup = Setup::new(object, models::model(spec));
    if how.view && stamps != Stamps::Numbers {
        return Err(RefineError::ViewOfTicks(name()));
    }
    if how.view {
        let view = View::named(&description.view).ok_or_else(|| RefineError::NoView(name()))?;
        setup = setup.with_view(view.shadow());
    }
    if description.commits == "intervals" {
        setup = setup.with_commits(Commits::Intervals);
    }
    let mut description = description.clone();
    if description.operations.is_empty() {
        // An older log: what it was logged with says what the operations are called.
        let logged = specs::parse(&description.spec).map_err(|_| RefineError::Nameless(name()))?;
        description.operations = renamed::names(logged.signature());
    }
    if !how.view {
        description.view = "none".to_owned();
    }
    let watched = Arc::new(Watched::new(object, name(), stamps, Arc::default(), false));
    Ok(Entrant { watched, description, setup })
}
