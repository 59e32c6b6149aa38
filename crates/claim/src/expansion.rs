//! What `tressa!` expands to. Not for use by hand.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::panic::Location;
use std::rc::Rc;

pub use crate::condition::{Condition, ConditionDraft};
pub use crate::explanation::Explanation;
use crate::host::{self, Host};
use crate::monitor::ClaimId;
use crate::{Kind, Monitor, Site, ThreadId, ThreadSet, Threads, Value, Variable};

/// Makes a claim: runs `read`, which reads the plain terms and adds the others, as one step.
#[track_caller]
pub fn make(site: &'static Site, read: impl FnOnce(&mut Draft)) {
    let Some(host) = host::current() else { return };
    let mut read = Some(read);
    host.atomically(Location::caller(), &mut || {
        let Some(read) = read.take() else { return };
        let reading = Reading::begin(&host);
        let mut draft = Draft { host: &host, thread: host.thread(), site, id: None };
        read(&mut draft);
        drop(reading);
    });
}

/// While it lives, accesses are those of a claim.
struct Reading<'a>(&'a Rc<dyn Host>);

impl Reading<'_> {
    fn begin(host: &Rc<dyn Host>) -> Reading<'_> {
        host.tell(&mut |monitor, _| monitor.begin_reading());
        Reading(host)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.tell(&mut |monitor, _| monitor.end_reading());
    }
}

/// A claim being made.
pub struct Draft<'a> {
    host: &'a Rc<dyn Host>,
    thread: ThreadId,
    site: &'static Site,
    id: Option<ClaimId>,
}

impl Draft<'_> {
    /// The thread that makes the claim.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// The claim is true whatever its terms will be.
    pub fn held(&mut self) {
        self.tell(Monitor::claim_held);
    }

    /// `First`.
    pub fn first<V: Variable + ?Sized>(
        &mut self,
        variable: &V,
        kind: Kind,
        threads: ThreadSet,
    ) -> Slot<V::Value> {
        let (id, variable) = (self.id(), variable.id());
        Slot::new(self.tell(|monitor| monitor.add_first(id, variable, kind, threads)))
    }

    /// `Last`.
    pub fn last<V: Variable + ?Sized>(
        &mut self,
        variable: &V,
        kind: Kind,
        threads: ThreadSet,
        condition: Condition,
    ) -> Slot<V::Value> {
        let (id, variable) = (self.id(), variable.id());
        Slot::new(self.tell(|monitor| monitor.add_last(id, variable, kind, threads, condition)))
    }

    /// `Exit`.
    pub fn exit<V: Variable + ?Sized>(&mut self, variable: &V) -> Slot<V::Value> {
        let (id, bits) = (self.id(), variable.peek().to_bits());
        Slot::new(self.tell(|monitor| monitor.add_exit(id, variable.id(), bits)))
    }

    /// All terms are there.
    pub fn close(&mut self, predicate: impl Fn(&[u128], Option<&mut Explanation<'_>>) -> bool + 'static) {
        let id = self.id();
        self.tell(|monitor| monitor.close_claim(id, Box::new(predicate)));
    }

    fn id(&mut self) -> ClaimId {
        if let Some(id) = self.id {
            return id;
        }
        let (thread, site) = (self.thread, self.site);
        let id = self.tell(|monitor| monitor.open_claim(thread, site));
        self.id = Some(id);
        id
    }

    fn tell<T: Default>(&self, event: impl FnOnce(&mut Monitor) -> T) -> T {
        let (mut event, mut result) = (Some(event), T::default());
        self.host.tell(&mut |monitor, _| {
            if let Some(event) = event.take() {
                result = event(monitor);
            }
        });
        result
    }
}

/// The place of a term's value, with its type.
pub struct Slot<T> {
    index: u32,
    value: PhantomData<fn() -> T>,
}

impl<T: Value> Slot<T> {
    fn new(index: u32) -> Slot<T> {
        Slot { index, value: PhantomData }
    }

    /// The value, once it is there.
    pub fn get(&self, values: &[u128]) -> T {
        T::from_bits(values[self.index as usize])
    }
}

/// The threads in the braces of a term.
pub fn threads(of: &[&dyn Threads]) -> ThreadSet {
    let mut set = ThreadSet::none();
    of.iter().for_each(|threads| threads.add_to(&mut set));
    set
}

/// `a && b` where either may not be known yet.
pub fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    if a == Some(false) || b == Some(false) { Some(false) } else { a.and(b) }
}

/// `a || b` where either may not be known yet.
pub fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    if a == Some(true) || b == Some(true) { Some(true) } else { a.and(b) }
}

/// `!a` where it may not be known yet.
pub fn not(a: Option<bool>) -> Option<bool> {
    a.map(|a| !a)
}

// Below, the method that fits the type is found by how often the receiver must be dereferenced:
// `(&&Wrapper(&x)).method()` takes the impl for `&Wrapper` where its bounds hold and the one for `Wrapper`
// elsewhere.

/// One side of a comparison of plain terms.
pub struct Operand<'a, T: ?Sized>(pub &'a T);

/// Sides that can be shown if the claim fails: small values, kept as they are.
pub trait NoteValue<'a, T> {
    /// Keeps the value; hands on the reference.
    fn note(&self, slot: &mut Option<T>) -> &'a T;
}

impl<'a, T: Value> NoteValue<'a, T> for &Operand<'a, T> {
    fn note(&self, slot: &mut Option<T>) -> &'a T {
        *slot = Some(*self.0);
        self.0
    }
}

/// Stands for a value that is not shown.
#[derive(Clone, Copy)]
pub struct NotShown;

/// All others.
pub trait NoteNothing<'a, T: ?Sized> {
    /// Hands on the reference.
    fn note(&self, slot: &mut Option<NotShown>) -> &'a T;
}

impl<'a, T: ?Sized> NoteNothing<'a, T> for Operand<'a, T> {
    fn note(&self, slot: &mut Option<NotShown>) -> &'a T {
        *slot = Some(NotShown);
        self.0
    }
}

/// Keeps the result of a comparison, or any other plain truth value.
pub fn note_truth(slot: &mut Option<bool>, truth: bool) -> bool {
    *slot = Some(truth);
    truth
}

/// A value to be shown.
pub struct Show<'a, T: ?Sized>(pub &'a T);

/// Values that `Debug` shows.
pub trait ShowDebug {
    /// The text.
    fn show(&self) -> Option<String>;
}

impl<T: Debug + ?Sized> ShowDebug for &Show<'_, T> {
    fn show(&self) -> Option<String> {
        Some(format!("{:?}", self.0))
    }
}

/// Others.
pub trait ShowNothing {
    /// Nothing.
    fn show(&self) -> Option<String>;
}

impl<T: ?Sized> ShowNothing for Show<'_, T> {
    fn show(&self) -> Option<String> {
        None
    }
}

/// Tells an explanation of a comparison between plain terms: both sides if they can be shown, its result if
/// neither can.
pub fn explain_comparison(
    out: &mut Explanation<'_>,
    sides: [(&'static str, Option<String>); 2],
    text: &'static str,
    truth: Option<bool>,
) {
    let Some(truth) = truth else { return };
    let mut shown = false;
    for (text, value) in sides {
        if let Some(value) = value {
            out.plain(text, value);
            shown = true;
        }
    }
    if !shown {
        out.plain(text, truth.to_string());
    }
}

/// Tells an explanation of a plain term.
pub fn explain_plain(out: &mut Explanation<'_>, text: &'static str, value: Option<String>) {
    out.plain(text, value.unwrap_or_else(|| String::from("(cannot be shown)")));
}

/// A place in a condition: a variable, or a value.
pub struct Leaf<'a, T: ?Sized>(pub &'a T);

/// Places that are variables.
pub trait LeafVariable<V> {
    /// Watches it.
    fn leaf(&self, draft: &mut ConditionDraft) -> Watched<V>;
}

impl<V: Variable + ?Sized> LeafVariable<V::Value> for &Leaf<'_, V> {
    fn leaf(&self, draft: &mut ConditionDraft) -> Watched<V::Value> {
        watch(self.0, draft)
    }
}

/// Places that hold a value.
pub trait LeafValue<T> {
    /// Takes it as it is now.
    fn leaf(&self, draft: &mut ConditionDraft) -> Held<T>;
}

impl<T: Clone> LeafValue<T> for Leaf<'_, T> {
    fn leaf(&self, _: &mut ConditionDraft) -> Held<T> {
        Held(self.0.clone())
    }
}

/// Watches a variable of a condition.
pub fn watch<V: Variable + ?Sized>(variable: &V, draft: &mut ConditionDraft) -> Watched<V::Value> {
    Watched { index: draft.watch(variable), value: PhantomData }
}

/// A variable in a condition.
pub struct Watched<T> {
    index: usize,
    value: PhantomData<fn() -> T>,
}

impl<T: Value> Watched<T> {
    /// Its latest value.
    pub fn get(&self, values: &[u128]) -> T {
        T::from_bits(values[self.index])
    }
}

/// A value in a condition.
pub struct Held<T>(T);

impl<T: Clone> Held<T> {
    /// The value.
    pub fn get(&self, _: &[u128]) -> T {
        self.0.clone()
    }
}

/// The places of a condition, as nested pairs.
pub trait Leaves {
    /// How many are variables.
    const WATCHED: usize;
}

impl Leaves for () {
    const WATCHED: usize = 0;
}

impl<T, L: Leaves> Leaves for (&Watched<T>, L) {
    const WATCHED: usize = L::WATCHED + 1;
}

impl<T, L: Leaves> Leaves for (&Held<T>, L) {
    const WATCHED: usize = L::WATCHED;
}

/// A condition without a variable can never become true: that is a mistake, and is found when the program is
/// built.
pub fn must_watch<L: Leaves>(_: &L) {
    const { assert!(L::WATCHED > 0, "the condition of `Last` watches no variable, so it can never become true") }
}
