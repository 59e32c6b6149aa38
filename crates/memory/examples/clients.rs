//! `clients COUNT SEED`: random objects, each graph decided by the search for a client that sees it is not
//! linearizable, and by trying every client. Exit code 1 if they differ.
//!
//! ```text
//! cargo run --release -p linpoint-memory --example clients -- 1000 0
//! ```

use std::ops::ControlFlow;
use std::process::ExitCode;

use linpoint_memory::linearize::{Clients, Object, Verdict, operations};
use linpoint_memory::{Model, Options, explore, oracle, random};

#[derive(Default)]
struct Tally {
    graphs: u64,
    with_pending: u64,
    with_seq_cst: u64,
    violations: u64,
    only_with_clients: u64,
    skipped: u64,
    different: u64,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let &[count, seed] = numbers.as_slice() else {
        eprintln!("usage: clients COUNT SEED");
        return ExitCode::from(2);
    };
    let mut different = 0;
    for model in [Model::Rc11, Model::Sc] {
        let mut tally = Tally::default();
        let (mut sets, mut largest) = (0, 0);
        for seed in seed..seed.saturating_add(count) {
            let mut clients = Clients::new(Object::Register, model);
            compare(seed, model, &mut clients, &mut tally);
            sets += clients.counts.sets;
            largest = largest.max(clients.counts.largest);
        }
        different += tally.different;
        println!(
            "{}: {count} objects, {} graphs ({} with pending operations, {} with SeqCst in several threads), \
             {} violations ({} seen only with a client's synchronisation), {} different, {} skipped; {sets} sets, \
             at most {largest} pairs",
            model.name(),
            tally.graphs,
            tally.with_pending,
            tally.with_seq_cst,
            tally.violations,
            tally.only_with_clients,
            tally.different,
            tally.skipped,
        );
    }
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn compare(seed: u64, model: Model, clients: &mut Clients<Object>, tally: &mut Tally) {
    let mut program = random::objects::register(seed);
    let _ = explore(&mut program, &Options::of(model), |graph, _| {
        let key = graph.key();
        let Some(expected) = oracle::linearizable(&key, model, &Object::Register, 10) else {
            tally.skipped += 1;
            return ControlFlow::Continue(());
        };
        let verdict = clients.check(graph);
        tally.graphs += 1;
        tally.with_seq_cst += u64::from(graph.has_contended_seq_cst());
        tally.with_pending += u64::from(operations(graph).iter().any(|placed| placed.end.is_none()));
        if let Verdict::Violated(pairs) = &verdict {
            tally.violations += 1;
            tally.only_with_clients += u64::from(!pairs.is_empty());
        }
        if verdict.holds() != expected {
            tally.different += 1;
            println!("seed {seed}, {}: {verdict:?}, should be {expected}: {key:?}", model.name());
        }
        ControlFlow::Continue(())
    });
}
