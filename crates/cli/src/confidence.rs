//! `linpoint confidence`: what so many clean operations are worth, and how many it takes.

use linpoint_history::confidence::{Percent, Rate, USUAL, Worth, detection, grouped, operations_needed};
use serde_json::json;

use crate::args::ConfidenceArgs;
use crate::fault::{Exit, Fault};

/// The rates of Dragicevic 2011, figure 6.13, as one error in so many operations.
const RATES: [f64; 5] = [1e6, 3e6, 1e7, 3e7, 1e8];

/// Runs the command.
pub fn run(args: &ConfidenceArgs) -> Result<Exit, Fault> {
    let worth = Worth { rate: args.error_rate.unwrap_or(1.0 / RATES[0]), ..Worth::of(args.operations) };
    let text = if args.json { object(worth) } else { lines(worth, args.error_rate) };
    // A closed pipe is not an error.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
    Ok(Exit::Holds)
}

fn lines(worth: Worth, asked: Option<f64>) -> String {
    let mut text = format!("{} clean operations: {worth}\n", grouped(worth.operations));
    let rates = asked.map_or(RATES.map(|inverse| 1.0 / inverse).to_vec(), |rate| vec![rate]);
    for rate in rates {
        let needed = |confidence| grouped(operations_needed(rate, confidence));
        text += &format!(
            "  rate {}: shown with probability {}; {} clean operations exclude it at 95 %, {} at 99 %\n",
            Rate(rate),
            Percent(detection(rate, worth.operations)),
            needed(USUAL),
            needed(0.99),
        );
    }
    text + "  for operations like these, if errors are independent of each other\n"
}

fn object(worth: Worth) -> String {
    let excluded = linpoint_history::confidence::error_rate(worth.operations, USUAL);
    json!({
        "operations": worth.operations,
        "error_rate": worth.rate,
        "detection": detection(worth.rate, worth.operations),
        "excluded_rate_95": excluded,
        "operations_needed_95": operations_needed(worth.rate, USUAL),
        "operations_needed_99": operations_needed(worth.rate, 0.99),
    })
    .to_string()
        + "\n"
}
