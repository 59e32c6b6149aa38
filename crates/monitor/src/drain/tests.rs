//! Rounds in which things happen at the worst moment: what other threads would do, done by whoever is told.

use super::*;
use crate::checker::Setup;
use crate::file::Description;
use crate::local::{Local, Overflow};
use crate::models;

/// Does something at the first events, and remembers what it was told.
struct Meddler<'a> {
    meddle: Box<dyn FnMut() + 'a>,
    times: u32,
    objects: Vec<ObjectId>,
    events: Vec<Event>,
    counts: Vec<Counts>,
}

impl<'a> Meddler<'a> {
    fn new(times: u32, meddle: impl FnMut() + 'a) -> Meddler<'a> {
        let (objects, events, counts) = (Vec::new(), Vec::new(), Vec::new());
        Meddler { meddle: Box::new(meddle), times, objects, events, counts }
    }
}

impl Sink for Meddler<'_> {
    fn object(&mut self, entrant: Entrant) {
        self.objects.push(entrant.watched.id);
    }

    fn event(&mut self, event: Event) {
        assert!(
            self.objects.contains(&event.object),
            "an event of an object that nobody was told of: {event:?}"
        );
        self.events.push(event);
        if self.times > 0 {
            self.times -= 1;
            (self.meddle)();
        }
    }

    fn seal(&mut self, _object: ObjectId, _number: u64) {}

    fn lost(&mut self, _object: ObjectId, _count: u64) {}

    fn counted(&mut self, _object: ObjectId, counts: Counts) {
        self.counts.push(counts);
    }

    fn running(&mut self, _thread: ThreadId) {}

    fn pause(&mut self) {}
}

fn registry(words: usize) -> Arc<Registry> {
    Arc::new(Registry::new(Stamps::Numbers, Overflow::Block, words))
}

fn object(registry: &Registry) -> Arc<Watched> {
    let text = |text: &str| text.to_owned();
    let description = Description {
        name: text("x"),
        spec: text("counter"),
        view: text("none"),
        commits: text("marked"),
        operations: Vec::new(),
    };
    let setup = |id| Setup::new(id, models::by_name("counter").expect("built in"));
    registry.add(description, setup, |_| true).expect("few objects")
}

fn operate(local: &Local, on: &Watched) {
    assert!(local.call(on, 0, &()), "there is room");
    local.plain(on, record::Kind::Commit);
    local.answer(on, record::Kind::Return, &());
}

/// An object is made, used and dropped after a round has begun, while the first ring is told; the second ring
/// is taken later in that round.
#[test]
fn objects_that_come_during_a_round() {
    let registry = registry(1 << 12);
    let known = object(&registry);
    let (first, second) = (registry.join(None), registry.join(None));
    operate(&first, &known);
    let mut drain = Drain::new(Arc::clone(&registry), None, None);
    let mut sink = Meddler::new(3, || {
        let late = object(&registry);
        operate(&second, &late);
    });
    drain.round(&mut sink);
    assert_eq!((sink.objects.len(), sink.events.len()), (4, 12));
    drain.mark_the_end(&mut sink);
    drain.round(&mut sink);
    assert!(drain.is_over());
    drain.close(&mut sink);
    let whole = |counts: &Counts| (counts.records, counts.numbers, counts.top) == (3, 2, 2);
    assert!(sink.counts.len() == 4 && sink.counts.iter().all(whole), "{:?}", sink.counts);
}

/// Somebody logs at every event that is told, for ever: one round after the mark it is over, and nothing that
/// came later was told.
#[test]
fn an_end_that_is_marked_comes() {
    let registry = registry(1 << 12);
    let on = object(&registry);
    let local = registry.join(None);
    (0..10).for_each(|_| operate(&local, &on));
    let mut drain = Drain::new(Arc::clone(&registry), None, None);
    let mut sink = Meddler::new(u32::MAX, || operate(&local, &on));
    drain.round(&mut sink);
    drain.round(&mut sink);
    assert!(!drain.is_over());
    let told = on.counter.look();
    drain.mark_the_end(&mut sink);
    drain.round(&mut sink);
    assert!(drain.is_over());
    drain.close(&mut sink);
    let [counts] = sink.counts[..] else { panic!("{:?}", sink.counts) };
    assert_eq!((counts.numbers, counts.top), (told, told));
    assert!(sink.events.iter().all(|event| event.stamp < told), "{:?}", sink.events.last());
}

/// An object is no longer logged while an operation is open. What the operation says later may rest on what
/// nobody logged: it is left out.
#[test]
fn what_comes_after_an_object_is_turned_off() {
    let registry = registry(1 << 12);
    let on = object(&registry);
    let local = registry.join(None);
    operate(&local, &on);
    assert!(local.call(&on, 0, &()), "there is room");
    let mut drain = Drain::new(Arc::clone(&registry), None, None);
    let mut sink = Meddler::new(0, || ());
    drain.round(&mut sink);
    on.turn_off();
    local.plain(&on, record::Kind::Commit);
    local.answer(&on, record::Kind::Return, &());
    drain.round(&mut sink);
    assert_eq!(sink.events.len(), 4);
    drain.mark_the_end(&mut sink);
    drain.round(&mut sink);
    assert!(drain.is_over());
    drain.close(&mut sink);
    assert_eq!(sink.counts, [Counts { records: 4, numbers: 2, top: 2, left_out: 2 }]);
}

/// A thread that ends has two rings; the second is not read before the first was read to its end.
#[test]
fn rings_of_one_thread_are_read_in_order() {
    let registry = registry(1 << 12);
    let on = object(&registry);
    let mut drain = Drain::new(Arc::clone(&registry), None, Some(4));
    let mut sink = Meddler::new(0, || ());
    drain.round(&mut sink);
    let first = registry.join(None);
    (0..6).for_each(|_| operate(&first, &on));
    drop(first);
    let second = registry.join(Some(ThreadId(0)));
    operate(&second, &on);
    drop(second);
    // Nothing is judged here, so the gate holds the first ring back.
    assert!(drain.round(&mut sink).held);
    assert!(sink.events.len() < 18, "{:?}", sink.events);
    drain.mark_the_end(&mut sink);
    let round = drain.round(&mut sink);
    assert_eq!((round.threads, sink.events.len()), (0, 21));
    let numbers: Vec<u64> =
        sink.events.iter().filter(|event| event.what.takes_number()).map(|event| event.stamp).collect();
    assert!(numbers.is_sorted() && numbers.len() == 14, "{numbers:?}");
}
