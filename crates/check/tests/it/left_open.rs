//! Specifications that leave open where an operation leads, although its answer is known: every engine against a plain
//! search that goes from state to state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use linpoint_check::decide::Options;
use linpoint_check::engine::Budget;
use linpoint_check::frontier::{self, Decision};
use linpoint_check::{brute, check_rows};
use linpoint_history::rng::Rng;
use linpoint_history::{
    Builtin, Call, History, OpCode, OpDecl, Operation, OwnSpec, OwnState, Shape, Signature, Spec, Unknown,
    Value, Verdict,
};

/// A number below 4 that is shaken, moved on and read.
#[derive(Debug)]
struct Cup(Signature);

const SHAKE: u8 = 0;
const ROLL: u8 = 1;
const NEXT: u8 = 2;
const READ: u8 = 3;

impl Cup {
    fn new() -> Cup {
        let op = |name, result| OpDecl { name, aliases: &[], arg: Shape::Unit, result };
        let operations = vec![
            op("shake", Shape::Unit),
            op("roll", Shape::Bool),
            op("next", Shape::Unit),
            op("read", Shape::Int),
        ];
        Cup(Signature { operations })
    }

    /// Every answer, with the number after it.
    fn ways(number: u8, op: u8) -> Vec<(Value, u8)> {
        match op {
            SHAKE => (0..3).map(|after| (Value::Null, after)).collect(),
            ROLL => [number, (number + 2) % 4].map(|after| (Value::Bool(number > 1), after)).into(),
            NEXT => vec![(Value::Null, (number + 1) % 4)],
            _ => vec![(Value::Int(i64::from(number)), number)],
        }
    }
}

impl OwnSpec for Cup {
    fn name(&self) -> &str {
        "cup"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn initial(&self) -> OwnState {
        OwnState::new(0u8)
    }

    fn is_read_only(&self, call: Call<'_>, _: Option<&Value>) -> bool {
        call.op.0 == READ
    }

    fn outcomes(&self, state: &OwnState, call: Call<'_>) -> Vec<(Value, OwnState)> {
        let number = *state.inside::<u8>().expect("a number");
        Cup::ways(number, call.op.0)
            .into_iter()
            .map(|(answer, after)| (answer, OwnState::new(after)))
            .collect()
    }
}

/// Can these rows be explained, from this number on? Every order, every way.
fn explained(rows: &[Operation], history: &History, number: u8) -> bool {
    let Some(limit) = rows.iter().filter(|op| !op.is_pending()).map(|op| op.ret).min() else { return true };
    (0..rows.len()).any(|index| {
        let op = &rows[index];
        let earlier = |other: &Operation| other.process() == op.process() && other.call < op.call;
        if op.call > limit || rows.iter().any(earlier) {
            return false;
        }
        let rest = [&rows[..index], &rows[index + 1..]].concat();
        Cup::ways(number, op.op().0).iter().any(|(answer, after)| {
            let fits = op.is_pending() || history.symbols.value(op.result) == *answer;
            fits && explained(&rest, history, *after)
        })
    })
}

fn random(rng: &mut Rng) -> History {
    let mut history = History::new();
    for lane in 0..1 + rng.below(3) {
        let process = history.symbols.process(&Value::Int(lane as i64));
        let mut now = rng.below(4) as i64;
        for _ in 0..1 + rng.below(3) {
            let op = rng.below(4) as u8;
            let mut row = Operation::new(process, OpCode(op));
            row.call = now + 1 + rng.below(5) as i64;
            row.ret = row.call + 1 + rng.below(9) as i64;
            now = row.ret;
            let answers =
                [Value::Null, Value::Bool(rng.chance(0.5)), Value::Null, Value::Int(rng.below(4) as i64)];
            row.result = history.symbols.intern(&answers[usize::from(op)]);
            if rng.chance(0.1) {
                (row.ret, row.result) = (Operation::NEVER, history.symbols.intern(&Value::Null));
            }
            history.operations.push(row);
            if row.is_pending() {
                break;
            }
        }
    }
    history
}

#[test]
fn engines_agree_with_a_search_from_state_to_state() {
    let spec = Builtin::own(Arc::new(Cup::new()));
    let (mut rng, mut held, mut judged) = (Rng::new(23), 0, 0);
    while judged < 1500 {
        let history = random(&mut rng);
        let rows = &history.operations;
        if rows.iter().all(Operation::is_pending) {
            continue;
        }
        judged += 1;
        let truth = explained(rows, &history, 0);
        held += u32::from(truth);
        let budget = Budget::unlimited();
        let by_force = brute::search(&spec, rows, &history.symbols, &budget).expect("no limit").holds();
        assert_eq!(by_force, truth, "brute force: {rows:#?}");
        let decision = frontier::decide(&spec, &spec.initial(), rows, &history.symbols, &budget);
        assert_eq!(matches!(decision, Ok(Decision::Linearizable)), truth, "frontier: {rows:#?}");
        let mut symbols = history.symbols.clone();
        let answer = check_rows(rows.clone(), &spec, &mut symbols, &Options::default()).expect("no bug");
        match answer.verdict {
            Verdict::Holds(_) => assert!(truth, "{} says that it holds: {rows:#?}", answer.engine),
            Verdict::Violated(found) => {
                assert!(!truth && found.rechecked, "{} finds {found:?}: {rows:#?}", answer.engine);
            }
            Verdict::Unknown(unknown) => panic!("{unknown:?}"),
        }
    }
    assert!(held > 150 && held < 1350, "{held} of {judged} hold");
}

/// A number that takes its time: each answer comes after [`Slow::PAUSE`].
#[derive(Debug)]
struct Slow {
    cup: Cup,
    asked: AtomicU64,
}

impl Slow {
    /// Longer than the limit below: after one answer the time is up, on any machine.
    const PAUSE: Duration = Duration::from_millis(60);
    const LIMIT: Duration = Duration::from_millis(50);

    fn new() -> Arc<Slow> {
        Arc::new(Slow { cup: Cup::new(), asked: AtomicU64::new(0) })
    }
}

impl OwnSpec for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn signature(&self) -> &Signature {
        self.cup.signature()
    }

    fn initial(&self) -> OwnState {
        self.cup.initial()
    }

    fn outcomes(&self, state: &OwnState, call: Call<'_>) -> Vec<(Value, OwnState)> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Slow::PAUSE);
        self.cup.outcomes(state, call)
    }
}

/// So many operations, one after another, with the answers of a cup that is only moved on.
fn moved_on(history: &mut History, count: u8, last: i64) {
    let process = history.symbols.process(&Value::Int(1));
    for number in 0..count {
        let mut row = Operation::new(process, OpCode(NEXT));
        row.call = i64::from(number) * 2;
        row.ret = row.call + 1;
        row.result = history.symbols.intern(&Value::Null);
        history.operations.push(row);
    }
    let mut row = Operation::new(process, OpCode(READ));
    (row.call, row.ret) = (1000, 1001);
    row.result = history.symbols.intern(&Value::Int(last));
    history.operations.push(row);
}

/// After the time limit a specification is not asked any more, by any engine, and what was not answered is no
/// violation.
#[test]
fn a_slow_specification_is_not_asked_after_the_time_limit() {
    use linpoint_check::portfolio::Choice;
    let choices = [Choice::Auto, Choice::Metastate, Choice::Search, Choice::Brute];
    for (choice, last) in choices.into_iter().flat_map(|choice| [(choice, 0), (choice, 3)]) {
        let (slow, mut history) = (Slow::new(), History::new());
        moved_on(&mut history, 40, last);
        let spec = Builtin::own(slow.clone());
        let options = Options { choice, threads: 1, time_limit: Some(Slow::LIMIT), ..Options::default() };
        let answer =
            check_rows(history.operations, &spec, &mut history.symbols, &options).expect("an answer");
        assert!(
            matches!(answer.verdict, Verdict::Unknown(Unknown::Time { .. })),
            "{choice:?}: {:?}",
            answer.verdict
        );
        // An answer that was on its way when the time was up still comes.
        assert!(slow.asked.load(Ordering::Relaxed) <= 2, "{choice:?}: {:?}", slow.asked);
        // The next check has time of its own.
        let fresh = spec.until(None);
        assert!(!fresh.ran_out_of_time());
    }
    let (slow, mut history) = (Slow::new(), History::new());
    moved_on(&mut history, 2, 2);
    let options = Options { threads: 1, ..Options::default() };
    let spec = Builtin::own(slow);
    let answer = check_rows(history.operations, &spec, &mut history.symbols, &options).expect("an answer");
    assert!(matches!(answer.verdict, Verdict::Holds(_)), "{:?}", answer.verdict);
}
