//! Who runs the program, and how events reach the monitor.
//!
//! A claim may stand anywhere in the user's code, so the monitor is not passed around: whoever runs the
//! program installs itself as the host of the OS thread. Without a host a claim does nothing, at the cost of
//! reading one thread-local flag.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

use crate::guard::is_deciding;
use crate::{Kind, Monitor, ThreadId, VarId};

/// Whoever runs the program on this OS thread: an explorer, or a test.
pub trait Host {
    /// The thread of the program that is running now.
    fn thread(&self) -> ThreadId;

    /// The monitor of the run. Borrowed for one event at a time, never while code of the program runs.
    fn monitor(&self) -> &RefCell<Monitor>;

    /// Is the run one whose claims count? If not, nothing is reported and claims do nothing.
    fn is_listening(&self) -> bool {
        true
    }

    /// Tells the monitor of an event of the running thread.
    fn tell(&self, event: &mut dyn FnMut(&mut Monitor, ThreadId)) {
        event(&mut self.monitor().borrow_mut(), self.thread());
    }

    /// Runs `step` once, as one step of the running thread at `site`: no other thread runs meanwhile. It
    /// makes a claim, whose plain terms are read inside; an explorer counts these reads as accesses of this
    /// step. Or it is an event that claims wait for and that is no access of something shared: an explorer
    /// lets others go before it, so that none of its places among their accesses is left out.
    fn atomically(&self, site: &'static Location<'static>, step: &mut dyn FnMut()) {
        let _ = site;
        step();
    }
}

thread_local! {
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    static HOST: RefCell<Option<Rc<dyn Host>>> = const { RefCell::new(None) };
}

/// Makes this the host of the OS thread, until the result is dropped; then the host before it is back.
#[must_use = "the host is removed when this is dropped"]
pub fn install(host: Rc<dyn Host>) -> Installed {
    let before = HOST.replace(Some(host));
    ACTIVE.set(true);
    Installed { before }
}

/// While this lives, a host is installed.
pub struct Installed {
    before: Option<Rc<dyn Host>>,
}

impl Drop for Installed {
    fn drop(&mut self) {
        ACTIVE.set(self.before.is_some());
        // If the OS thread is ending, there is nothing to restore.
        let _ = HOST.try_with(|host| host.replace(self.before.take()));
    }
}

/// Is a host installed? Then claims are checked.
#[inline]
pub fn is_active() -> bool {
    ACTIVE.get()
}

/// The host, unless there is none, or it does not listen, or a claim is being decided at this moment.
pub(crate) fn current() -> Option<Rc<dyn Host>> {
    if !is_active() || is_deciding() {
        return None;
    }
    HOST.try_with(|host| host.borrow().clone()).ok().flatten().filter(|host| host.is_listening())
}

/// Tells the monitor of an access by the running thread, after which the variable has the value `bits`.
#[inline]
pub fn report(variable: VarId, access: Kind, bits: u128) {
    if is_active() {
        tell(|monitor, thread| monitor.access(thread, variable, access, bits));
    }
}

/// Tells the monitor something about the running thread.
pub(crate) fn tell(event: impl FnOnce(&mut Monitor, ThreadId)) {
    if let Some(host) = current() {
        let mut event = Some(event);
        host.tell(&mut |monitor, thread| {
            if let Some(event) = event.take() {
                event(monitor, thread);
            }
        });
    }
}

/// Runs `step` as a step of the running thread.
pub(crate) fn as_step(site: &'static Location<'static>, step: impl FnOnce()) {
    let Some(host) = current() else { return step() };
    let mut step = Some(step);
    host.atomically(site, &mut || {
        if let Some(step) = step.take() {
            step();
        }
    });
}

/// The running thread; thread 0 without a host.
pub fn me() -> ThreadId {
    current().map_or(ThreadId::default(), |host| host.thread())
}

/// A host that runs nothing by itself: one OS thread plays all threads of a program in turn. For tests, and
/// for programs that report their events themselves.
///
/// ```
/// use std::rc::Rc;
/// use linpoint_claim::{Host, PlainHost, ThreadId, Var, install, procedure, tressa};
///
/// let host = Rc::new(PlainHost::default());
/// let _installed = install(host.clone());
/// let success = Var::new(true);
/// {
///     let _procedure = procedure();
///     tressa!(Exit(success) ==> 2 + 2 == 5);
/// }
/// let monitor = host.monitor().borrow();
/// assert_eq!(monitor.failures().len(), 1);
/// println!("{}", monitor.failures()[0]);
/// ```
#[derive(Default)]
pub struct PlainHost {
    thread: Cell<ThreadId>,
    monitor: RefCell<Monitor>,
}

impl PlainHost {
    /// From now on, another thread runs.
    pub fn switch_to(&self, thread: ThreadId) {
        self.thread.set(thread);
    }
}

impl Host for PlainHost {
    fn thread(&self) -> ThreadId {
        self.thread.get()
    }

    fn monitor(&self) -> &RefCell<Monitor> {
        &self.monitor
    }
}
