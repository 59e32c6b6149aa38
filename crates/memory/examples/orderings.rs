//! Each ordering of each data structure, weakened alone: what small clients see.
//! `cargo run --release -p linpoint-memory --example orderings`

use linpoint_memory::structures::{Structure, Tally, weaker};
use linpoint_memory::{Model, Ordering};

fn main() {
    println!(
        "| structure | site | ordering | finding | graphs | failed | races | not linearizable (without race) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for structure in [
        Structure::Treiber,
        Structure::MichaelScott,
        Structure::Ticket,
        Structure::Seqlock,
        Structure::Ring(1),
        Structure::ChaseLev,
        Structure::Register,
    ] {
        show(structure, "as given", "", &structure.orderings());
        for (site, &(name, ordering)) in structure.sites().iter().enumerate() {
            for &weak in weaker(ordering) {
                let change = format!("{ordering:?} → {weak:?}");
                show(structure, name, &change, &structure.with_site(site, weak));
            }
        }
    }
}

fn show(structure: Structure, site: &str, change: &str, orderings: &[Ordering]) {
    let tally = structure.tally(orderings, Model::Rc11);
    let Tally { complete, failed, races, violations, clean_violations, is_whole } = tally;
    let finding = match tally {
        _ if !is_whole => "not decided",
        Tally { races: 1.., violations: 1.., .. } => "data race, not linearizable",
        Tally { races: 1.., .. } => "data race",
        Tally { violations: 1.., .. } => "not linearizable",
        Tally { failed: 1.., .. } => "assertion fails",
        _ => "harmless for these clients",
    };
    println!(
        "| {structure:?} | {site} | {change} | {finding} | {complete} | {failed} | {races} | {violations} \
         ({clean_violations}) |"
    );
}
