//! Graphs per CPU second, on data structures: `cargo run --release -p linpoint-memory --example speed`.

use std::ops::ControlFlow;

use linpoint_memory::linearize::{Clients, Object};
use linpoint_memory::structures::Operation::{self, Put, Take};
use linpoint_memory::structures::{Failed, Marks, Structure};
use linpoint_memory::{Model, Options, Report, explore};

fn main() {
    println!(
        "| client | model | complete | blocked | failed | graphs per CPU second | with linearizability |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (structure, threads, repeats) in [
        (Structure::Treiber, 2, 1),
        (Structure::MichaelScott, 2, 1),
        (Structure::Treiber, 3, 1),
        (Structure::MichaelScott, 2, 2),
    ] {
        for failed in [Failed::Again, Failed::Blocks] {
            for model in [Model::Rc11, Model::Sc] {
                measure(structure, threads, repeats, failed, model);
            }
        }
    }
}

/// So many threads, each `put; take` so many times.
fn clients(threads: usize, repeats: usize) -> Vec<Vec<Operation>> {
    let thread = |t: usize| (0..repeats).flat_map(move |k| [Put((10 * t + k + 1) as i64), Take]).collect();
    (0..threads).map(thread).collect()
}

fn measure(structure: Structure, threads: usize, repeats: usize, failed: Failed, model: Model) {
    let mut program =
        structure.client(&structure.orderings(), &clients(threads, repeats), failed, Marks::Hidden);
    let mut options = Options::of(model);
    options.limits.graphs = 300_000;
    let start = cpu_seconds();
    let (mut graphs, mut last) = (0, Report::default());
    while cpu_seconds() - start < 1.0 {
        last = explore(&mut program, &options, |_, _| ControlFlow::Continue(()));
        graphs += last.graphs();
    }
    let speed = graphs as f64 / (cpu_seconds() - start);
    let checked = measure_checked(structure, threads, repeats, failed, &options);
    let cut = if last.coverage() == linpoint_memory::Coverage::Everything { "" } else { " (cut)" };
    println!(
        "| {structure:?} {threads} x {repeats} x (put; take), {failed:?} | {} | {}{cut} | {} | {} | {speed:.0} | {checked:.0} |",
        model.name(),
        last.complete,
        last.blocked,
        last.failed
    );
}

/// Graphs per CPU second, each decided for every client.
fn measure_checked(
    structure: Structure,
    threads: usize,
    repeats: usize,
    failed: Failed,
    options: &Options,
) -> f64 {
    let mut program =
        structure.client(&structure.orderings(), &clients(threads, repeats), failed, Marks::Shown);
    let object = if structure == Structure::Treiber { Object::Stack } else { Object::Queue };
    let start = cpu_seconds();
    let mut graphs = 0;
    while cpu_seconds() - start < 1.0 {
        // Nothing is remembered from one exploration to the next.
        let mut clients = Clients::new(object, options.model);
        let report = explore(&mut program, options, |graph, _| {
            assert!(clients.check(graph).holds(), "the structures are correct");
            ControlFlow::Continue(())
        });
        graphs += report.graphs();
    }
    graphs as f64 / (cpu_seconds() - start)
}

/// CPU time of this process, where the system tells it; else 0 seconds and more with each call.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
    match (ticks(11), ticks(12)) {
        (Some(user), Some(system)) => (user + system) / 100.0,
        _ => std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64()),
    }
}
