//! The interpreter against real code: an algorithm of the corpus and its twin in Rust have the same histories, all of them.
//!
//! Calls and returns are steps of their own on both sides. In Rust each takes a ticket from one shared counter, so that their order is part of the
//! trace and no order is left out; the explorer of real code runs every trace. On the side of the model a plain search takes every step of every thread in every order,
//! with no reduction but that a state with the same history so far is not visited twice.

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use linpoint::sync::atomic::AtomicUsize;
use linpoint::sync::atomic::Ordering::SeqCst;
use linpoint_lang::interp::{Choices, Machine, Outcome, State};
use linpoint_lang::program::{NONE, OpId, Word};
use linpoint_sched::thread;
use linpoint_subjects::michael_scott_queue::MichaelScottQueue;
use linpoint_subjects::treiber_stack::TreiberStack;

/// What an operation is given: a value to put in, or nothing, to take one out.
type Call = Option<u32>;

/// What happened, in order: a thread called, or returned with this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Event {
    Call(usize, Call),
    Return(usize, Option<u32>),
}

type Histories = BTreeSet<Vec<Event>>;

/// Every history of the real object.
fn of_code<O: Default + Sync>(threads: &[&[Call]], perform: fn(&O, Call) -> Option<u32>) -> Histories {
    let histories = Mutex::new(Histories::new());
    let explored = linpoint::exploration().time_limit(Duration::from_secs(120)).report(|| {
        let (object, clock, log) = (O::default(), AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::run_all(threads.iter().enumerate().map(|(me, calls)| {
            let (object, clock, log) = (&object, &clock, &log);
            let note = move |event: Event| {
                let time = clock.fetch_add(1, SeqCst);
                log.lock().expect("nobody panics").push((time, event));
            };
            Box::new(move || {
                for call in *calls {
                    note(Event::Call(me, *call));
                    let result = perform(object, *call);
                    note(Event::Return(me, result));
                }
            }) as Box<dyn FnOnce() + Send + '_>
        }));
        let mut log = log.into_inner().expect("nobody panics");
        log.sort_unstable();
        histories.lock().expect("nobody panics").insert(log.into_iter().map(|(_, event)| event).collect());
    });
    assert_eq!(explored.verdict(), "holds", "{explored}");
    histories.into_inner().expect("nobody panics")
}

/// Where a run of the model is.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Run {
    state: State,
    /// How many calls each thread made.
    made: Vec<usize>,
    /// The result of a thread that is about to return.
    result: Vec<Option<Option<u32>>>,
    history: Vec<Event>,
}

/// Every history of the model, whose first operation puts in and whose second takes out.
fn of_model(name: &str, threads: &[&[Call]]) -> Histories {
    let path = format!("{}/../corpus/correct/{name}.lin", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    let (programs, wrong) = linpoint_lang::compile(&text);
    assert!(wrong.iter().all(|diagnostic| !diagnostic.is_error()), "{wrong:?}");
    let machine = Machine::new(&programs[0], threads.len());
    let state = machine.initial().expect("it starts");
    let start =
        Run { state, made: vec![0; threads.len()], result: vec![None; threads.len()], history: Vec::new() };
    let (mut seen, mut open, mut histories) = (HashSet::from([start.clone()]), vec![start], Histories::new());
    while let Some(run) = open.pop() {
        let mut next = Vec::new();
        for (me, calls) in threads.iter().enumerate() {
            step(&machine, &run, me, calls, &mut next);
        }
        if next.is_empty() {
            assert!((0..threads.len()).all(|me| run.made[me] == threads[me].len()), "it ends early");
            histories.insert(run.history);
        }
        for mut run in next {
            machine.canonical(&mut run.state);
            if seen.insert(run.clone()) {
                open.push(run);
            }
        }
    }
    histories
}

/// Everything a thread may do next.
fn step(machine: &Machine<'_>, run: &Run, me: usize, calls: &[Call], next: &mut Vec<Run>) {
    if let Some(result) = run.result[me] {
        let mut run = run.clone();
        run.result[me] = None;
        run.history.push(Event::Return(me, result));
        next.push(run);
        return;
    }
    let Some(pc) = machine.pc(&run.state, me) else {
        let Some(call) = calls.get(run.made[me]) else { return };
        let mut run = run.clone();
        let (op, args) = match call {
            Some(value) => (OpId(0), vec![*value as Word]),
            None => (OpId(1), Vec::new()),
        };
        machine.call(&mut run.state, me, op, &args);
        run.made[me] += 1;
        run.history.push(Event::Call(me, *call));
        next.push(run);
        return;
    };
    for edge in 0..machine.program.node(pc).edges.len() {
        let mut run = run.clone();
        let mut choices = Choices::default();
        let outcome = machine.step(&mut run.state, me, edge, &mut choices, &mut Vec::new());
        assert!(!choices.next(), "these programs leave no choice");
        match outcome.expect("no step goes wrong") {
            Outcome::Disabled => {}
            Outcome::Moved => next.push(run),
            Outcome::Returned(words) => {
                let value = words.first().filter(|word| **word != NONE).map(|word| *word as u32);
                run.result[me] = Some(value);
                next.push(run);
            }
        }
    }
}

#[track_caller]
fn same<O: Default + Sync>(name: &str, threads: &[&[Call]], perform: fn(&O, Call) -> Option<u32>) {
    let (code, model) = (of_code(threads, perform), of_model(name, threads));
    println!("{name}: {} histories", code.len());
    let only = |a: &Histories, b: &Histories| a.difference(b).next().cloned();
    assert_eq!(
        (only(&code, &model), only(&model, &code)),
        (None, None),
        "only in the code, only in the model"
    );
    assert!(code.len() > 20, "{}", code.len());
}

#[test]
fn treiber() {
    let perform = |stack: &TreiberStack, call: Call| match call {
        Some(value) => {
            stack.push(value);
            None
        }
        None => stack.pop(),
    };
    same("treiber", &[&[Some(1), None], &[Some(2), None]], perform);
    same("treiber", &[&[Some(1)], &[Some(2)], &[None]], perform);
}

#[test]
fn michael_scott() {
    let perform = |queue: &MichaelScottQueue, call: Call| match call {
        Some(value) => {
            queue.enqueue(value);
            None
        }
        None => queue.dequeue(),
    };
    same("michael-scott", &[&[Some(1), None], &[Some(2), None]], perform);
    same("michael-scott", &[&[Some(1), Some(2)], &[None, None]], perform);
}
