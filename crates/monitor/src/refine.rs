//! The specification beside the implementation: answers compared at each commit (I/O refinement), views after
//! each commit (view refinement).
//!
//! (Tasiran & Qadeer 2005, sections 4 and 5.) The specification is usually in one state. An operation that
//! committed and never answered may leave several possible; each is a *world*, and what comes later rules
//! worlds out. The object refines the specification as long as one world is left.
//!
//! Views are compared at keys that changed since the last comparison, on either side. That is enough: two
//! views that were equal can differ only where one of them changed. It relies on models and shadows naming
//! all keys they touch; so that this is not taken on trust, the whole views are compared now and then and at
//! the end.

use linpoint_history::{Call, OpCode, ProcessId, Value};

use crate::content::Content;
use crate::event::{ThreadId, Write};
use crate::finding::{DifferentKey, PastWrite};
use crate::model::{Applied, Model};
use crate::shadow::Shadow;

/// The specification in all states it may be in, and the shadow of the implementation.
pub(crate) struct Refine {
    worlds: Vec<Box<dyn Model>>,
    view: Option<View>,
    /// Where the touched keys of an object without a view go.
    unused: Vec<Value>,
}

struct View {
    shadow: Box<dyn Shadow>,
    /// Keys that may have changed since the last comparison.
    touched: Vec<Value>,
    /// Who wrote since then, nearly always one thread.
    writers: Vec<ThreadId>,
    recent: Recent,
    /// Comparisons until everything is compared again.
    until_full: u64,
    /// Comparisons made.
    compared: u64,
}

/// Where two views differ.
#[derive(Clone, Debug)]
pub(crate) struct Differs {
    pub keys: Vec<DifferentKey>,
    pub count: usize,
    pub writes: Vec<PastWrite>,
    pub late: bool,
}

/// More possible states than this are too many.
const MAX_WORLDS: usize = 64;
/// At most so many keys are shown.
const SHOWN: usize = 16;
/// Everything is compared after so many comparisons at least.
const FULL_EVERY: u64 = 1 << 16;

impl Refine {
    pub fn new(model: Box<dyn Model>, shadow: Option<Box<dyn Shadow>>) -> Refine {
        let view = shadow.map(|shadow| {
            let touched = model.entries().into_iter().map(|(key, _)| key);
            let touched = touched.chain(shadow.contents().into_iter().map(|(key, _)| key)).collect();
            View {
                shadow,
                touched,
                writers: Vec::new(),
                recent: Recent::default(),
                until_full: FULL_EVERY,
                compared: 0,
            }
        });
        Refine { worlds: vec![model], view, unused: Vec::new() }
    }

    /// The first of the possible states; there is always one.
    pub fn model(&self) -> &dyn Model {
        &*self.worlds[0]
    }

    /// All possible states.
    pub fn worlds(&self) -> &[Box<dyn Model>] {
        &self.worlds
    }

    /// Goes on from other states.
    fn set_worlds(&mut self, worlds: Vec<Box<dyn Model>>) {
        assert!(!worlds.is_empty(), "a specification is in some state");
        self.worlds = worlds;
        if let Some(view) = &mut self.view {
            view.until_full = 1;
        }
    }

    /// Copies of all possible states, for an order that keeps its own.
    pub fn copies(&self) -> Vec<Box<dyn Model>> {
        self.worlds.iter().map(|world| world.fork()).collect()
    }

    /// Where the keys go that an operation touches.
    pub fn touched(&mut self) -> &mut Vec<Value> {
        match &mut self.view {
            Some(view) => &mut view.touched,
            None => {
                self.unused.clear();
                &mut self.unused
            }
        }
    }

    /// How often the views were compared.
    pub fn compared(&self) -> u64 {
        self.view.as_ref().map_or(0, |view| view.compared)
    }

    /// Notes a comparison that was made by [`Refine::agreeing`].
    pub fn note_comparison(&mut self) {
        if let Some(view) = &mut self.view {
            view.compared += 1;
        }
    }

    /// A comparison that said nothing is made once more.
    pub fn forget_comparison(&mut self) {
        if let Some(view) = &mut self.view {
            view.compared -= 1;
        }
    }

    /// Is there a view to compare?
    pub fn has_view(&self) -> bool {
        self.view.is_some()
    }

    /// Why what does not fit may fit all the same, if that may be.
    pub fn shortfall(&self) -> Option<String> {
        self.worlds.iter().find_map(|world| world.shortfall(self.has_view()))
    }

    /// Lets an operation take effect with its answer. What was expected, if no world allows that.
    #[inline]
    pub fn apply(&mut self, thread: ThreadId, op: u8, arg: &Value, result: &Value) -> Result<(), String> {
        let call = Call { op: OpCode(op), process: ProcessId(thread.0), arg };
        let touched = match &mut self.view {
            Some(view) => &mut view.touched,
            None => {
                self.unused.clear();
                &mut self.unused
            }
        };
        if let [only] = &mut self.worlds[..] {
            return match only.apply(call, result, touched) {
                Applied::Yes => Ok(()),
                Applied::No { expected } => Err(expected),
            };
        }
        self.apply_to_worlds(call, result)
    }

    #[cold]
    fn apply_to_worlds(&mut self, call: Call<'_>, result: &Value) -> Result<(), String> {
        let touched = self.view.as_mut().map_or(&mut self.unused, |view| &mut view.touched);
        let mut wanted: Vec<String> = Vec::new();
        let mut left = Vec::new();
        let mut refused = Vec::new();
        for mut world in std::mem::take(&mut self.worlds) {
            match world.apply(call, result, touched) {
                Applied::Yes => left.push(world),
                Applied::No { expected } => {
                    if !wanted.contains(&expected) {
                        wanted.push(expected);
                    }
                    refused.push(world);
                }
            }
        }
        let fits = !left.is_empty();
        self.worlds = if fits { distinct(left) } else { refused };
        if fits { Ok(()) } else { Err(wanted.join(" or ")) }
    }

    /// Lets an operation take effect whose answer nobody knows. False where too many states are possible.
    pub fn apply_pending(&mut self, thread: ThreadId, op: u8, arg: &Value) -> bool {
        let call = Call { op: OpCode(op), process: ProcessId(thread.0), arg };
        let next: Vec<_> = self.worlds.iter().flat_map(|world| world.apply_pending(call)).collect();
        // A specification that allows nothing at all here: the operation cannot have committed with any
        // answer. As it never gave one, nobody saw that; the state stays.
        if !next.is_empty() {
            self.set_worlds(distinct(next));
        }
        self.worlds.len() <= MAX_WORLDS
    }

    /// Replays a write.
    #[inline]
    pub fn write(&mut self, number: u64, thread: ThreadId, write: Write) {
        let Some(view) = &mut self.view else { return };
        let before = view.touched.len();
        if view.writers.last() != Some(&thread) && !view.writers.contains(&thread) {
            view.writers.push(thread);
        }
        view.shadow.write(&write, &mut view.touched);
        view.recent.note(number, thread, write, &view.touched[before..]);
    }

    /// What the implementation has at these keys.
    pub fn implementation(&self, keys: &[Value]) -> Vec<Content> {
        let view = |key| self.view.as_ref().map(|view| view.shadow.content(key)).unwrap_or_default();
        keys.iter().map(view).collect()
    }

    /// Compares the views where they may have changed.
    #[inline]
    pub fn compare(&mut self) -> Result<(), Box<Differs>> {
        let Some(view) = &mut self.view else { return Ok(()) };
        view.compared += 1;
        view.until_full -= 1;
        if view.until_full == 0 {
            return self.compare_all();
        }
        if let [only] = &self.worlds[..] {
            let same = |key: &Value| view.shadow.content(key).is_same(&only.content(key), &**only);
            if view.touched.iter().all(same) {
                view.touched.clear();
                view.writers.clear();
                return Ok(());
            }
        }
        self.compare_worlds()
    }

    /// Keeps the worlds whose views agree with the shadow at all touched keys.
    #[cold]
    fn compare_worlds(&mut self) -> Result<(), Box<Differs>> {
        let worlds = std::mem::take(&mut self.worlds);
        let agreeing = self.agreeing(&worlds.iter().map(|world| &**world).collect::<Vec<_>>());
        self.worlds = worlds;
        let agreeing = agreeing?;
        let mut index = 0;
        self.worlds.retain(|_| {
            index += 1;
            agreeing.contains(&(index - 1))
        });
        Ok(())
    }

    /// Which of these states have a view that agrees with the shadow at all touched keys? There is one.
    pub fn agreeing(&mut self, worlds: &[&dyn Model]) -> Result<Vec<usize>, Box<Differs>> {
        let Some(view) = &mut self.view else { return Ok((0..worlds.len()).collect()) };
        view.touched.sort();
        view.touched.dedup();
        let differing = |world: &dyn Model| -> Vec<DifferentKey> {
            view.touched.iter().filter_map(|key| different(key, world, &*view.shadow)).collect()
        };
        let mut least: Option<Vec<DifferentKey>> = None;
        let mut agreeing = Vec::with_capacity(worlds.len());
        for (index, world) in worlds.iter().enumerate() {
            let keys = differing(*world);
            if keys.is_empty() {
                agreeing.push(index);
            } else if least.as_ref().is_none_or(|other| keys.len() < other.len()) {
                least = Some(keys);
            }
        }
        if agreeing.is_empty() {
            let keys = least.unwrap_or_default();
            return Err(Box::new(view.describe(keys, false)));
        }
        view.touched.clear();
        view.writers.clear();
        Ok(agreeing)
    }

    /// Who wrote since the last comparison.
    pub fn writers(&self) -> &[ThreadId] {
        self.view.as_ref().map_or(&[], |view| &view.writers)
    }

    /// Compares the whole views, where it is not `quiet` but for what was touched since the last commit:
    /// nobody promised that to be equal. Was all of it equal?
    pub fn compare_settled(&mut self, worlds: &[&dyn Model], quiet: bool) -> Result<bool, Box<Differs>> {
        let Some(view) = &mut self.view else { return Ok(true) };
        let implementation = view.shadow.contents();
        let touched = std::mem::take(&mut view.touched);
        let mut least: Option<Vec<DifferentKey>> = None;
        let mut all = worlds.is_empty();
        for world in worlds {
            let mut keys = merge_entries(*world, &implementation);
            all |= keys.is_empty();
            keys.retain(|different| quiet || !touched.contains(&different.key));
            if least.as_ref().is_none_or(|other| keys.len() < other.len()) {
                least = Some(keys);
            }
        }
        match least {
            Some(keys) if !keys.is_empty() => Err(Box::new(view.describe(keys, true))),
            _ => Ok(all),
        }
    }

    /// Compares the whole views, whatever was touched.
    fn compare_all(&mut self) -> Result<(), Box<Differs>> {
        // Touched keys first: a difference there belongs to this commit.
        if let Some(view) = &mut self.view {
            view.until_full = FULL_EVERY;
        }
        self.compare_worlds()?;
        let Some(view) = &mut self.view else { return Ok(()) };
        let implementation = view.shadow.contents();
        view.until_full = FULL_EVERY.max(16 * implementation.len() as u64);
        let mut least: Option<Vec<DifferentKey>> = None;
        let count = self.worlds.len();
        let mut left = Vec::with_capacity(count);
        for world in std::mem::take(&mut self.worlds) {
            let keys = merge_entries(&*world, &implementation);
            if keys.is_empty() {
                left.push(world);
            } else if least.as_ref().is_none_or(|other| keys.len() < other.len()) {
                least = Some(keys);
                self.worlds = vec![world];
            }
        }
        if left.is_empty() {
            return Err(Box::new(view.describe(least.unwrap_or_default(), true)));
        }
        self.worlds = left;
        Ok(())
    }
}

impl View {
    fn describe(&self, mut keys: Vec<DifferentKey>, late: bool) -> Differs {
        let count = keys.len();
        keys.sort_by(|a, b| a.key.cmp(&b.key));
        keys.truncate(SHOWN);
        let writes = self.recent.about(&keys);
        Differs { keys, count, writes, late }
    }
}

fn different(key: &Value, model: &dyn Model, shadow: &dyn Shadow) -> Option<DifferentKey> {
    let (specification, implementation) = (model.content(key), shadow.content(key));
    (!implementation.is_same(&specification, model)).then(|| DifferentKey {
        key: key.clone(),
        specification,
        implementation,
    })
}

/// The keys at which two ordered lists of entries differ.
fn merge_entries(model: &dyn Model, implementation: &[(Value, Content)]) -> Vec<DifferentKey> {
    let mut keys = Vec::new();
    let mut mine = model.entries().into_iter().peekable();
    let mut theirs = implementation.iter().peekable();
    loop {
        let order = match (mine.peek(), theirs.peek()) {
            (None, None) => return keys,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let a = if order.is_le() { mine.next() } else { None };
        let b = if order.is_ge() { theirs.next() } else { None };
        let Some(key) = a.as_ref().map(|(key, _)| key).or(b.map(|(key, _)| key)) else { return keys };
        let key = key.clone();
        let specification = a.map_or(Content::Nothing, |(_, value)| Content::Value(value)).seen_by(model);
        let implementation = b.map(|(_, content)| content.clone()).unwrap_or_default();
        if !implementation.is_same(&specification, model) {
            keys.push(DifferentKey { key, specification, implementation });
        }
    }
}

/// Each state once.
pub(crate) fn distinct(worlds: Vec<Box<dyn Model>>) -> Vec<Box<dyn Model>> {
    let mut kept: Vec<(u64, Box<dyn Model>)> = Vec::with_capacity(worlds.len());
    for world in worlds {
        let digest = world.digest();
        if !kept.iter().any(|(other, model)| *other == digest && model.same(&*world)) {
            kept.push((digest, world));
        }
    }
    kept.into_iter().map(|(_, world)| world).collect()
}

/// The last writes, and the keys they touched.
#[derive(Default)]
struct Recent {
    writes: Vec<PastWrite>,
    /// Where the next write goes once the list is full, and how many were noted.
    noted: u64,
    /// A key, and the number of the note of the write that touched it.
    keys: Vec<(Value, u64)>,
    touched: u64,
}

const WRITES: u64 = 256;
const KEYS: u64 = 1024;

impl Recent {
    #[inline]
    fn note(&mut self, number: u64, thread: ThreadId, write: Write, touched: &[Value]) {
        let past = PastWrite { number, thread, location: write.location, value: write.value };
        match self.writes.get_mut((self.noted % WRITES) as usize) {
            Some(place) => *place = past,
            None => self.writes.push(past),
        }
        for key in touched {
            let entry = (key.clone(), self.noted);
            match self.keys.get_mut((self.touched % KEYS) as usize) {
                Some(place) => *place = entry,
                None => self.keys.push(entry),
            }
            self.touched += 1;
        }
        self.noted += 1;
    }

    /// The remembered writes that touched one of these keys, oldest first.
    fn about(&self, keys: &[DifferentKey]) -> Vec<PastWrite> {
        let about = |(key, _): &&(Value, u64)| keys.iter().any(|different| different.key == *key);
        let mut notes: Vec<u64> = self.keys.iter().filter(about).map(|(_, note)| *note).collect();
        notes.sort_unstable();
        notes.dedup();
        let remembered = |note: &u64| note + WRITES >= self.noted;
        let write = |note: u64| self.writes[(note % WRITES) as usize].clone();
        notes.into_iter().filter(remembered).map(write).collect()
    }
}
