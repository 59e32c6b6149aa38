//! The monitor against the slow evaluator on random runs.

use linpoint_claim::{Kind, Monitor, ThreadId, ThreadSet};

use crate::reference::evaluate;
use crate::run::{Environment, Event, Term, feed};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

const NAMES: [char; 4] = ['x', 'y', 'c', 'd'];

pub fn random_run(random: &mut Random) -> Vec<Event> {
    let length = 4 + random.below(40);
    let mut state = Environment::default();
    let mut run = Vec::new();
    let (mut depth, mut block_of) = (0, ThreadId(1));
    for _ in 0..length {
        let thread = if depth > 0 { block_of } else { ThreadId(1 + random.below(3) as u32) };
        let procedure = random.pick(&['p', 'q']);
        let name = random.pick(&NAMES);
        let (old, new) = (state.get(name), u128::from(random.below(3)));
        let event = match random.below(24) {
            0..=3 => Event::Access(thread, name, Kind::Rd, old),
            4..=8 => Event::Access(thread, name, Kind::Wr, new),
            9..=11 => Event::Access(thread, name, Kind::RW, new),
            12..=14 => Event::Enter(thread, procedure),
            15..=17 => Event::Exit(thread, procedure),
            18 => Event::Unwind(thread, procedure),
            19 => {
                (depth, block_of) = (depth + 1, thread);
                Event::Begin
            }
            20 if depth > 0 => {
                depth -= 1;
                Event::End
            }
            _ => {
                let terms = (0..random.below(4)).map(|_| random_term(random)).collect();
                Event::Claim(thread, terms)
            }
        };
        state.step(&event);
        run.push(event);
    }
    run
}

fn random_term(random: &mut Random) -> Term {
    let name = random.pick(&NAMES);
    let kind = random.pick(&[Kind::Rd, Kind::Wr, Kind::RW]);
    let thread = ThreadId(1 + random.below(3) as u32);
    let threads = match random.below(3) {
        0 => ThreadSet::all(),
        1 => ThreadSet::only(thread),
        _ => ThreadSet::except(thread),
    };
    match random.below(3) {
        0 => Term::First(name, kind, threads),
        1 => {
            let all = |random: &mut Random| (0..1 + random.below(2)).map(|_| random.pick(&NAMES)).collect();
            let condition = (0..1 + random.below(2)).map(|_| all(random)).collect();
            Term::Last(name, kind, threads, condition)
        }
        _ => Term::Exit(name),
    }
}

fn compare(run: &[Event], monitor: Monitor) -> (Monitor, [u64; 2]) {
    let found = feed(run, monitor);
    let claims = run.iter().enumerate().filter_map(|(place, event)| match event {
        Event::Claim(thread, terms) => Some((place, *thread, terms)),
        _ => None,
    });
    let counts = found.monitor.counts();
    let mut expected = [0, 0];
    let mut undecided = found.undecided.clone();
    for (number, (place, thread, terms)) in claims.enumerate() {
        let values: Vec<_> = terms.iter().map(|term| evaluate(run, place, term)).collect();
        let failure = found.decided.iter().find(|(of, _)| *of == number).map(|(_, failure)| failure);
        if let Ok(values) = values.iter().cloned().collect::<Result<Vec<_>, _>>() {
            expected[0] += 1;
            let failure = failure.unwrap_or_else(|| panic!("claim {number} is ready: {values:?}\n{run:#?}"));
            let shown: Vec<_> = failure
                .terms
                .iter()
                .map(|term| (term.value.parse().unwrap(), term.seen_at, term.fixed_at))
                .collect();
            assert_eq!(shown, values, "claim {number}\n{run:#?}");
            assert_eq!(failure.thread, thread);
        } else {
            expected[1] += 1;
            assert!(failure.is_none(), "claim {number} is not ready: {values:?}\n{run:#?}");
            let made_at =
                run[..=place].iter().filter(|event| !matches!(event, Event::Begin | Event::End)).count()
                    as u64;
            let place = undecided.iter().position(|other| other.made_at == made_at).expect("it is listed");
            let listed = undecided.swap_remove(place);
            assert_eq!(values[listed.term as usize], Err(listed.bottom), "claim {number}\n{run:#?}");
        }
    }
    assert!(undecided.is_empty(), "listed but not made: {undecided:?}");
    assert_eq!([counts.violated, counts.undecided, counts.held], [expected[0], expected[1], 0]);
    assert_eq!(counts.made, expected[0] + expected[1]);
    assert!(!found.monitor.is_watching(), "watches are left over");
    assert_eq!(found.monitor.alive(), 0);
    (found.monitor, expected)
}

#[test]
fn monitor_agrees_with_the_slow_evaluator() {
    let totals = compare_many(0..20_000);
    assert!(
        totals[0] > 20_000 && totals[1] > 20_000,
        "the runs decide too little to show anything: {totals:?}"
    );
}

/// Every claim of many runs, with one monitor that is reset in between; returns how many claims were ready
/// and how many not.
pub fn compare_many(seeds: std::ops::Range<u64>) -> [u64; 2] {
    let mut monitor = Monitor::new();
    let mut totals = [0, 0];
    for seed in seeds {
        let run = random_run(&mut Random(seed));
        monitor.reset();
        let (used, expected) = compare(&run, monitor);
        monitor = used;
        totals = [totals[0] + expected[0], totals[1] + expected[1]];
    }
    totals
}
