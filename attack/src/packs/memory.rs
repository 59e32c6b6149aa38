//! The engine for weak memory: random programs, and random objects.

use std::ops::ControlFlow;

use linpoint_history::rng::Rng;
use linpoint_memory::linearize::{Clients, Object};
use linpoint_memory::{Model, Options, Schedule, WorkOrder, explore, litmus, oracle, random};

use crate::pack::{Pack, Round};

pub(super) const PACKS: &[Pack] = &[
    Pack {
        engine: "memory",
        name: "graphs",
        about: "random programs: the graphs that the exploration meets, and those of a plain enumerator",
        round: graphs,
    },
    Pack {
        engine: "memory",
        name: "clients",
        about: "random objects: linearizability for every client, and every client tried",
        round: clients,
    },
];

fn model(rng: &mut Rng) -> Model {
    Model::ALL[(rng.bits() % 3) as usize]
}

fn graphs(rng: &mut Rng) -> Round {
    let seed = rng.bits();
    let text = random::program(seed);
    let mut program = match litmus::read_program(&text) {
        Ok(program) => program,
        Err(error) => return Round::disagreed(error.to_string(), "the generator's notation", text, "litmus"),
    };
    let mut options = Options::of(model(rng));
    options.schedule = match rng.bits() % 3 {
        0 => Schedule::LeftToRight,
        1 => Schedule::RightToLeft,
        _ => Schedule::Random(seed),
    };
    options.order = [WorkOrder::LastIn, WorkOrder::FirstIn, WorkOrder::Random][(rng.bits() % 3) as usize];
    match oracle::agrees(&mut program, &options) {
        None => Round::Agreed(0),
        Some(Ok(count)) => Round::Agreed(count as u64),
        Some(Err(disagreement)) => Round::disagreed(
            format!("{} more, {} met again", disagreement.extra.len(), disagreement.repeated),
            format!("{} missing", disagreement.missing.len()),
            format!("name|0|0|{text}"),
            format!("cargo xtask litmus --enumerate FILE, with {options:?}"),
        ),
    }
}

fn clients(rng: &mut Rng) -> Round {
    let seed = rng.bits();
    let model = model(rng);
    let mut program = random::objects::register(seed);
    let mut options = Options::of(model);
    options.limits.graphs = 60;
    let mut clients = Clients::new(Object::Register, model);
    let (mut compared, mut wrong) = (0, None);
    let _ = explore(&mut program, &options, |graph, _| {
        let key = graph.key();
        let Some(expected) = oracle::linearizable(&key, model, &Object::Register, 10) else {
            return ControlFlow::Continue(());
        };
        compared += 1;
        let verdict = clients.check(graph);
        if verdict.holds() == expected {
            return ControlFlow::Continue(());
        }
        wrong = Some(Round::disagreed(
            format!("{verdict:?}"),
            format!("linearizable for every client: {expected}"),
            format!("{key:?}"),
            format!("cargo run --release -p linpoint-memory --example clients -- 1 {seed}"),
        ));
        ControlFlow::Break(())
    });
    wrong.unwrap_or(Round::Agreed(compared))
}
