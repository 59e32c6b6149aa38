//! A counterexample is a schedule: taken again, it ends in the same way.

use linpoint_model::{Bounds, Mode, Moved, Schedule, Session, Verdict, Wrong, explore, schedule_of};

use crate::corpus::{programs, workload};

#[test]
fn every_counterexample_can_be_taken_again() {
    let mut taken = 0;
    for (path, _, program) in programs() {
        for mode in [Mode::Anywhere, Mode::AtPoints] {
            let (workload, bounds) =
                (workload(&program), Bounds { states: Some(30_000), ..Bounds::default() });
            let Verdict::Violated(violation) = explore(&program, &workload, mode, &bounds).verdict else {
                continue;
            };
            let name = path.display();
            let schedule = schedule_of(&program, &workload, mode, &bounds, &violation)
                .unwrap_or_else(|| panic!("{name} {mode:?}: {:?}", violation.wrong));
            let schedule: Schedule = schedule.to_string().parse().expect("it can be read again");
            let mut session = Session::new(&program, &workload, mode, &bounds).expect("it starts");
            let mut end = None;
            for one in &schedule.0 {
                assert_eq!(end, None, "{name}: it goes on after the end");
                match session.take(one) {
                    Moved::Fine(_) => {}
                    Moved::Wrong(_, wrong) => end = Some(wrong),
                    Moved::Impossible => panic!("{name}: {one:?} cannot be taken"),
                }
            }
            if end.is_none() && session.moves().is_empty() && !session.is_finished() {
                end = Some(Wrong::Deadlock);
            }
            assert_eq!(end, Some(violation.evidence.wrong), "{name} {mode:?}");
            taken += 1;
        }
    }
    assert!(taken >= 26, "{taken}");
}

/// Every run of a session is one that the search knows: whatever moves are taken, a correct program never
/// goes wrong.
#[test]
fn random_walks_of_correct_programs_are_right() {
    let mut seed = 1_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for (path, _, program) in programs() {
        if path.components().any(|part| part.as_os_str() == "broken") {
            continue;
        }
        let workload = workload(&program);
        for _ in 0..20 {
            let mut session =
                Session::new(&program, &workload, Mode::Anywhere, &Bounds::default()).expect("it starts");
            for _ in 0..400 {
                let moves = session.moves();
                if moves.is_empty() {
                    break;
                }
                let one = moves[next(moves.len())].clone();
                let moved = session.take(&one);
                assert!(matches!(moved, Moved::Fine(_)), "{}: {moved:?}", path.display());
            }
            while session.back() {}
            assert_eq!(session.schedule(), Schedule::default());
        }
    }
}
