//! The monitored objects with real threads: every seeded bug is caught, nothing else is.

use std::time::{Duration, Instant};

use linpoint_monitor::{Blame, Conclusion, Found, Monitor, Report, View};
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

fn judge<L: Load>(make: fn(&Monitor, Compared) -> L, compared: Compared, seconds: f64) -> Report {
    let monitor = Monitor::start().expect("it starts");
    let object = make(&monitor, compared);
    let until = Until { time: Duration::from_secs_f64(seconds), operations: u64::MAX };
    run(&object, &monitor, 3, until);
    monitor.finish()
}

/// Runs clean.
#[track_caller]
fn clean<L: Load>(make: fn(&Monitor, Compared) -> L) {
    for compared in [Answers, Views] {
        let report = judge(make, compared, 0.7);
        report.assert_clean();
        assert!(report.operations() > 1000 && report.lost == 0, "{report}");
    }
}

/// Is caught, by comparing `compared`. Some bugs show first as operations that would fit another order of commits; then it is tried again.
#[track_caller]
fn caught<L: Load>(make: fn(&Monitor, Compared) -> L, compared: Compared) {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(10) {
        let report = judge(make, compared, 10.0);
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
    let report = judge(multiset::<{ multiset::EARLY_COMMIT }>, Answers, 10.0);
    assert_eq!(report.conclusion(), Conclusion::Mistaken, "{report}");
    let blames = report.findings().filter(|(_, finding)| {
        matches!(&finding.found, Found::Refused(refused) if matches!(refused.blame, Blame::Annotation { .. }))
    });
    assert_eq!(blames.count(), 1, "{report}");
}
