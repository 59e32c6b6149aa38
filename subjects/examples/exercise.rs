//! Lets four real threads use an object for a while and checks what they saw: short, for tools that watch every access.
//!
//! `cargo xtask valgrind` runs it under Memcheck and Helgrind, an object at a time: `exercise OBJECT [OPERATIONS]`. Without an object it prints the names: the correct ones, then those with a data race, marked by `!`.

use linpoint_check::{Options, check_rows};
use linpoint_history::Verdict;
use linpoint_subjects::catalogue;
use linpoint_subjects::record::{Load, record};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let Some(name) = words.next() else {
        for entry in catalogue::ALL.iter().chain(catalogue::RACING).filter(|entry| entry.is_correct()) {
            println!("{}", entry.name);
        }
        for entry in catalogue::RACING.iter().filter(|entry| !entry.is_correct()) {
            println!("!{}", entry.name);
        }
        return Ok(());
    };
    let entry = catalogue::find(&name).ok_or_else(|| format!("there is no {name}"))?;
    let operations = words.next().map_or(Ok(4000), |word| word.parse())?;
    let load = Load {
        threads: 4,
        operations,
        adds: 0.4,
        others: if entry.changes_keys || (entry.make)().spec_name() == "set" { 0.2 } else { 0.0 },
        values: Some(64),
        prefix: 50,
        // Giving way often, since Valgrind lets one thread run at a time, and for long.
        pauses: 0.5,
        ..Load::default()
    };
    let target = (entry.make)();
    let mut history = record(&target, &load);
    let rows = std::mem::take(&mut history.operations);
    let options = Options { threads: 1, ..Options::default() };
    let answer = check_rows(rows, &target.spec(), &mut history.symbols, &options)?;
    match answer.verdict {
        Verdict::Holds(_) => println!("{name}: {} operations, linearizable", answer.operations),
        verdict => return Err(format!("{name}: not shown to be linearizable: {verdict:?}").into()),
    }
    Ok(())
}
