//! Who takes part: threads with their rings, objects with their counters.
//!
//! Application threads touch this once, when they first meet the monitor, and when they make objects; never
//! while they log.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use crate::barrier::Barrier;
use crate::checker::{Commits, Setup};
use crate::event::{ObjectId, ThreadId};
use crate::file::Description;
use crate::local::{IDLE, Local, Overflow};
use crate::object::{Common, OFF, ON, WAIT, Watched};
use crate::ring;
use crate::stamp::Stamps;
use crate::unpack::Unpack;

/// What all threads of a monitor share.
pub(crate) struct Registry {
    /// Tells monitors apart.
    pub(crate) id: u64,
    pub(crate) stamps: Stamps,
    overflow: Overflow,
    ring_words: usize,
    members: Mutex<Members>,
    resumed: Condvar,
    pub(crate) barrier: Barrier,
    pub(crate) common: Arc<Common>,
    /// How many objects there are. Grows before an object can be used.
    objects: AtomicUsize,
}

/// A thread's other end.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) thread: ThreadId,
    pub(crate) name: String,
    pub(crate) ring: Unpack,
    /// See [`Local`].
    pub(crate) since: Arc<crate::primitive::AtomicU64>,
}

/// An object that takes part from now on.
pub(crate) struct Entrant {
    pub(crate) watched: Arc<Watched>,
    pub(crate) description: Description,
    pub(crate) setup: Setup,
}

#[derive(Default)]
struct Members {
    threads: u32,
    objects: u16,
    new_threads: Vec<Member>,
    new_objects: Vec<Entrant>,
    all_objects: Vec<Weak<Watched>>,
    /// What objects do that come now.
    mode: u64,
    finding: String,
    /// Nobody reads any more.
    closed: bool,
}

impl Registry {
    pub(crate) fn new(stamps: Stamps, overflow: Overflow, ring_words: usize) -> Registry {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Registry {
            id,
            stamps,
            overflow,
            ring_words,
            members: Mutex::default(),
            resumed: Condvar::new(),
            barrier: Barrier::find(),
            common: Arc::default(),
            objects: AtomicUsize::new(0),
        }
    }

    /// The calling thread takes part from now on; once more, if it has a number.
    pub(crate) fn join(&self, again: Option<ThreadId>) -> Local {
        let (producer, consumer) = ring::ring(self.ring_words);
        let ring = Unpack::new(consumer);
        let since = Arc::new(crate::primitive::AtomicU64::new(IDLE));
        // A thread that is ending has no name any more.
        let name = again.is_none().then(|| std::thread::current().name().unwrap_or_default().to_owned());
        let name = name.unwrap_or_default();
        let mut members = self.lock();
        let thread = again.unwrap_or(ThreadId(members.threads));
        members.threads += u32::from(again.is_none());
        // A ring that nobody will read is closed at once (its reader is dropped): a thread must not wait for
        // room in it.
        if !members.closed {
            members.new_threads.push(Member { thread, name, ring, since: Arc::clone(&since) });
        }
        Local::new((self.id, thread), producer, self.overflow, since)
    }

    /// A new object, watched if `chosen` says so about its number; `None` after 65,535 of them.
    pub(crate) fn add(
        &self,
        description: Description,
        setup: impl FnOnce(ObjectId) -> Setup,
        chosen: impl Fn(u64) -> bool,
    ) -> Option<Arc<Watched>> {
        let mut members = self.lock();
        let id = ObjectId(members.objects);
        members.objects = members.objects.checked_add(1)?;
        let setup = setup(id);
        let by_windows = setup.commits == Commits::Intervals;
        self.common.by_windows.fetch_or(by_windows, Ordering::SeqCst);
        let fence = self.barrier == Barrier::None;
        let name = description.name.clone();
        let watched = Arc::new(Watched::new(id, name, self.stamps, Arc::clone(&self.common), fence));
        watched.set(members.mode);
        if !chosen(u64::from(id.0)) {
            watched.turn_off();
        }
        members.all_objects.push(Arc::downgrade(&watched));
        members.new_objects.push(Entrant { watched: Arc::clone(&watched), description, setup });
        self.objects.fetch_add(1, Ordering::Release);
        Some(watched)
    }

    /// Does any object need what a barrier gives?
    pub(crate) fn needs_barrier(&self) -> bool {
        self.common.by_windows.load(Ordering::Relaxed)
    }

    /// Threads that came since the last time.
    pub(crate) fn new_threads(&self) -> Vec<Member> {
        std::mem::take(&mut self.lock().new_threads)
    }

    /// Nobody reads from now on: threads that came since the last time, or come later, are not waited for and
    /// do not wait.
    pub(crate) fn close(&self) {
        let unread = {
            let mut members = self.lock();
            members.closed = true;
            if members.mode != ON {
                // What was found is in the report: nobody panics or waits for it any more.
                members.mode = OFF;
                members.all_objects.iter().filter_map(Weak::upgrade).for_each(|watched| watched.set(OFF));
                self.resumed.notify_all();
            }
            std::mem::take(&mut members.new_threads)
        };
        // Dropped without the lock, as rings are closed by it.
        drop(unread);
    }

    /// Objects that came since the last time, if there are more than `known`.
    pub(crate) fn new_objects(&self, known: usize) -> Vec<Entrant> {
        if self.objects.load(Ordering::Acquire) == known {
            return Vec::new();
        }
        std::mem::take(&mut self.lock().new_objects)
    }

    /// From now on calls on all objects do what `mode` says, because of `finding`.
    pub(crate) fn halt(&self, mode: u64, finding: String) {
        let mut members = self.lock();
        if members.closed {
            return;
        }
        members.mode = mode;
        members.finding = finding;
        members.all_objects.iter().filter_map(Weak::upgrade).for_each(|watched| watched.set(mode));
    }

    /// Why calls panic; not after the end.
    pub(crate) fn finding(&self) -> Option<String> {
        let members = self.lock();
        (!members.closed).then(|| members.finding.clone())
    }

    /// Waits until [`Registry::resume`].
    pub(crate) fn wait(&self) {
        let mut members = self.lock();
        while members.mode == WAIT {
            members = self.resumed.wait(members).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Threads that wait go on, and log no more.
    pub(crate) fn resume(&self) {
        let mut members = self.lock();
        if members.mode == WAIT {
            members.mode = OFF;
            members.all_objects.iter().filter_map(Weak::upgrade).for_each(|watched| watched.set(OFF));
            self.resumed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("id", &self.id).finish_non_exhaustive()
    }
}
