//! The monitored objects with real threads: every seeded bug is caught, nothing else is.

use std::time::Duration;

use linpoint_monitor::{Blame, Cause, Conclusion, Found, Monitor, Report, View};
use linpoint_subjects::CORRECT;
use linpoint_subjects::monitored::blink_tree::{self, BlinkTree};
use linpoint_subjects::monitored::block_cache::{self, BlockCache};
use linpoint_subjects::monitored::load::{Load, Until, run};
use linpoint_subjects::monitored::multiset::{self, Multiset};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Compared {
    Answers,
    Views,
}
use Compared::{Answers, Views};

fn multiset<const MUTATION: u8>(monitor: &Monitor, compared: Compared) -> Multiset<MUTATION> {
    Multiset::watched(monitor, 12, (compared == Views).then_some(View::Multiset)).expect("it is the first")
}

fn tree<const MUTATION: u8>(monitor: &Monitor, compared: Compared) -> BlinkTree<MUTATION> {
    BlinkTree::watched(monitor, compared == Views).expect("it is the first")
}

fn cache<const MUTATION: u8>(monitor: &Monitor, compared: Compared) -> BlockCache<MUTATION> {
    BlockCache::watched(monitor, 8, 256, compared == Views).expect("it is the first")
}

/// So many operations a thread: far more than it takes to find anything.
const MANY: u64 = 20_000_000;

/// Uses an object until something is found, or for so many operations that it is not to be found. Not for a time: on a busy machine little happens in it.
fn judge<L: Load>(make: fn(&Monitor, Compared) -> L, compared: Compared) -> Report {
    use_it(make, compared, MANY)
}

fn use_it<L: Load>(make: fn(&Monitor, Compared) -> L, compared: Compared, operations: u64) -> Report {
    let monitor = Monitor::start().expect("it starts");
    let object = make(&monitor, compared);
    run(&object, &monitor, 3, Until { time: Duration::MAX, operations });
    monitor.finish()
}

/// Runs clean.
#[track_caller]
fn clean<L: Load>(make: fn(&Monitor, Compared) -> L) {
    for compared in [Answers, Views] {
        let report = use_it(make, compared, 30_000);
        report.assert_clean();
        assert!(report.operations() > 1000 && report.lost == 0, "{report}");
    }
}

/// Is caught, by comparing `compared`. Some bugs show first as operations that would fit another order of commits; then it is tried again.
#[track_caller]
fn caught<L: Load>(make: fn(&Monitor, Compared) -> L, compared: Compared) {
    for _ in 0..1000 {
        let report = judge(make, compared);
        assert_ne!(report.conclusion(), Conclusion::Clean, "{report}");
        if report.conclusion() == Conclusion::Violated {
            return;
        }
    }
    panic!("not caught");
}

#[test]
fn correct_ones_run_clean() {
    clean(multiset::<CORRECT>);
    clean(tree::<CORRECT>);
    clean(cache::<CORRECT>);
}

#[test]
fn broken_multisets_are_caught() {
    for compared in [Answers, Views] {
        caught(multiset::<{ multiset::LOST_SECOND_COPY }>, compared);
        caught(multiset::<{ multiset::LOOK_UP_WITHOUT_LOCKS }>, compared);
        caught(multiset::<{ multiset::PUBLISH_ONE_BY_ONE }>, compared);
    }
}

#[test]
fn broken_trees_are_caught() {
    for compared in [Answers, Views] {
        caught(tree::<{ blink_tree::STAY_LEFT }>, compared);
        caught(tree::<{ blink_tree::STALE_MERGE }>, compared);
        caught(tree::<{ blink_tree::LOST_UPDATE }>, compared);
    }
}

#[test]
fn broken_caches_are_caught() {
    for compared in [Answers, Views] {
        caught(cache::<{ block_cache::EVICT_DIRTY }>, compared);
        caught(cache::<{ block_cache::MARK_CLEAN }>, compared);
    }
}

/// The example of Tasiran & Qadeer (2005), section 5: an element inserted twice is stored once. Comparing views shows it at the second insertion;
/// comparing answers only at a look-up after one removal.
#[test]
fn views_show_the_lost_second_copy_at_once() {
    let play = |compared: Compared, steps: usize| {
        let monitor = Monitor::start().expect("it starts");
        let object = multiset::<{ multiset::LOST_SECOND_COPY }>(&monitor, compared);
        let step = |number| match number {
            0 | 1 => object.insert(7),
            2 => object.insert(8),
            3 => object.remove(7),
            _ => object.look_up(7),
        };
        for number in 0..steps {
            step(number);
        }
        monitor.finish()
    };
    let report = play(Views, 2);
    let found: Vec<_> = report.findings().map(|(_, finding)| &finding.found).collect();
    let [Found::View(difference)] = &found[..] else { panic!("{report}") };
    let after = difference.after.as_ref().expect("an insertion");
    assert_eq!((after.name, after.arg.as_int()), ("add", Some(7)), "{report}");
    assert_eq!(difference.keys[0].specification.as_int(), Some(2));
    assert_eq!(difference.keys[0].implementation.as_int(), Some(1));

    // The answers fit as long as nobody looks.
    play(Answers, 4).assert_clean();
    let report = play(Answers, 5);
    let found: Vec<_> = report.findings().map(|(_, finding)| &finding.found).collect();
    let [Found::Refused(refused)] = &found[..] else { panic!("{report}") };
    assert_eq!(refused.operation.name, "contains");
    assert!(matches!(refused.blame, Blame::Object { .. }), "{report}");
}

#[test]
fn a_wrong_commit_point_is_not_a_violation() {
    for compared in [Answers, Views] {
        // Where threads are never all at rest, the views leave it open; then it is tried again.
        let reports = (0..1000).map(|_| judge(multiset::<{ multiset::EARLY_COMMIT }>, compared));
        let told = reports.map(|report| (report.conclusion(), report));
        let (conclusion, report) = told
            .into_iter()
            .find(|(conclusion, _)| *conclusion != Conclusion::Unknown)
            .expect("one of them is told");
        assert_eq!(conclusion, Conclusion::Mistaken, "{report}");
        let blames = report.findings().filter(|(_, finding)| match &finding.found {
            Found::Refused(refused) => matches!(refused.blame, Blame::Annotation { .. }),
            Found::View(difference) => matches!(difference.cause, Cause::Annotation { .. }),
            Found::Mistake(_) | Found::Unknown(_) => false,
        });
        assert_eq!(blames.count(), 1, "{report}");
    }
}
