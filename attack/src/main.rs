//! The command behind `cargo xtask attack`.

use std::process::ExitCode;
use std::time::Duration;

use linpoint_attack::{Campaign, Pack, find};

const USAGE: &str =
    "usage: cargo xtask attack [ENGINE or PACK ...] [--minutes N] [--rounds N] [--seed N] [--debug] [--list]";

fn main() -> ExitCode {
    match read(std::env::args().skip(1)) {
        Ok((packs, campaign)) => run(&packs, campaign),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// Reads the command line: which packs, for how long.
fn read(mut words: impl Iterator<Item = String>) -> Result<(Vec<&'static Pack>, Campaign), String> {
    let mut campaign = Campaign { seed: 1, rounds: u64::MAX, time: Duration::from_secs(60), enough: 5 };
    let mut packs = Vec::new();
    let mut list = false;
    while let Some(word) = words.next() {
        let mut number = || {
            let text = words.next().ok_or_else(|| format!("{word} needs a number\n{USAGE}"))?;
            text.parse::<u64>().map_err(|_| format!("{word} needs a number, not {text:?}\n{USAGE}"))
        };
        match word.as_str() {
            "--minutes" => campaign.time = Duration::from_secs(60 * number()?),
            "--rounds" => campaign.rounds = number()?,
            "--seed" => campaign.seed = number()?,
            "--list" => list = true,
            name => match find(name) {
                found if found.is_empty() => {
                    return Err(format!(
                        "no engine and no pack is called {name:?}; --list shows them\n{USAGE}"
                    ));
                }
                found => packs.extend(found),
            },
        }
    }
    if packs.is_empty() {
        packs = find("all");
    }
    if list {
        campaign.rounds = 0;
    }
    Ok((packs, campaign))
}

fn run(packs: &[&Pack], campaign: Campaign) -> ExitCode {
    let share = campaign.time / u32::try_from(packs.len().max(1)).unwrap_or(u32::MAX);
    let mut wrong = 0;
    for pack in packs {
        if campaign.rounds == 0 {
            println!("{:<12} {:<24} {}", pack.engine, pack.name, pack.about);
            continue;
        }
        let findings = campaign.run(pack, share);
        println!(
            "{:<12} {:<24} {:>9} rounds {:>11} cases {:>3} wrong",
            pack.engine,
            pack.name,
            findings.rounds,
            findings.cases,
            findings.disagreements.len()
        );
        for (seed, disagreement) in &findings.disagreements {
            println!(
                "  seed {seed}: said {}; but {}\n  {}\n{}",
                disagreement.said, disagreement.judge, disagreement.command, disagreement.input
            );
        }
        wrong += findings.disagreements.len();
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
