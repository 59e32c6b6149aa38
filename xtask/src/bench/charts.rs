//! Charts of what the benchmarks measured, as SVG files in `docs/charts`.
//!
//! `cargo xtask bench charts` draws the three ways in which Dragicevic 2011, chapter 6, lets histories grow, for our engines: *horizontally* (longer, the processes stay), *vertically*
//! (more processes, the length stays) and *diagonally* (both). The suites `shape`, `monitor` and `explore` draw their own figures when they are run: time and structures a program, cost an event,
//! executions until an error is found.

use std::path::PathBuf;

use linpoint_history::Kind;
use linpoint_history::generate::Values;

use super::file::Case;
use super::{Options, short};
use crate::plot::{self, Frame, Scale, Series};

/// Seconds after which a run is given up; longer ones of its line are not tried.
const LIMIT_S: u32 = 20;

/// Processes and operations.
type Size = (u32, u64);

/// The lines: an object and its values. Distinct values go to the monitors, repeated ones to the metastates.
const LINES: [(Kind, Values); 6] = [
    (Kind::Queue, Values::Distinct),
    (Kind::Stack, Values::Distinct),
    (Kind::PriorityQueue, Values::Distinct),
    (Kind::Queue, Values::Repeated(16)),
    (Kind::Stack, Values::Repeated(16)),
    (Kind::Register, Values::Repeated(16)),
];

/// Where charts go.
pub fn folder() -> PathBuf {
    crate::root().join("docs").join("charts")
}

/// Measures and draws the three charts of growing histories.
pub fn run(options: &Options) -> Result<(), String> {
    let binary = super::binary()?;
    let longest: u64 = if options.quick { 10_000 } else { 1_000_000 };
    let horizontal: Vec<Size> =
        [1_000, 10_000, 100_000, 1_000_000].into_iter().map(|operations| (4, operations)).collect();
    let wide = longest.min(100_000);
    let vertical: Vec<Size> = [2, 4, 8, 16, 32].into_iter().map(|processes| (processes, wide)).collect();
    let diagonal: Vec<Size> = vec![(2, 1_000), (4, 10_000), (8, 100_000), (16, 1_000_000)];
    let charts = [
        ("horizontal", "Longer histories, 4 processes", "operations", horizontal),
        ("vertical", "More processes", "processes", vertical),
        ("diagonal", "Longer histories of more processes (2, 4, 8, 16)", "operations", diagonal),
    ];
    for (name, title, x, sizes) in charts {
        let sizes: Vec<Size> = sizes.into_iter().filter(|(_, operations)| *operations <= longest).collect();
        let of = if name == "vertical" { format!(", {} operations", short(wide)) } else { String::new() };
        let mut lines = Vec::new();
        for (kind, values) in LINES {
            lines.push(line(&binary, kind, values, &sizes, name == "vertical")?);
        }
        let title = format!("{title}{of}");
        let frame =
            Frame { title: &title, x, y: "CPU seconds, one core", x_scale: Scale::Log, y_scale: Scale::Log };
        plot::lines(&folder().join(format!("{name}.svg")), &frame, &lines)?;
        eprintln!("docs/charts/{name}.svg");
    }
    Ok(())
}

/// One line: the time each size takes, as far as it stays within the limit.
fn line(
    binary: &PathBuf,
    kind: Kind,
    values: Values,
    sizes: &[Size],
    by_processes: bool,
) -> Result<Series, String> {
    let named = match values {
        Values::Distinct => "distinct values".to_owned(),
        Values::Repeated(n) => format!("{n} values"),
    };
    let mut series = Series { name: format!("{}, {named}", kind.name()), points: Vec::new() };
    for &(processes, operations) in sizes {
        let run = super::check(binary, &Case::new(kind, processes, operations, values), 3, LIMIT_S)?;
        if run.verdict() != "holds" {
            break;
        }
        let at = if by_processes { f64::from(processes) } else { operations as f64 };
        println!("{} {processes} × {}: {:.4} s", series.name, short(operations), run.usage.cpu_s);
        series.points.push((at, run.usage.cpu_s));
    }
    Ok(series)
}

/// Bars of what was measured; a chart that cannot be written is said and nothing more.
pub fn bars(file: &str, title: &str, unit: &str, names: &[&str], rows: &[(String, Vec<Option<f64>>)]) {
    let frame = Frame { title, x: unit, y: "", x_scale: Scale::Log, y_scale: Scale::Linear };
    match plot::bars(&folder().join(file), &frame, names, rows) {
        Ok(()) => eprintln!("docs/charts/{file}"),
        Err(why) => eprintln!("no chart: {why}"),
    }
}

/// The rows of Markdown tables whose cells are figures: `| name | 17.2 ns | 21.1 ns |`.
pub fn figures(text: &str, unit: &str) -> Vec<(String, Vec<Option<f64>>)> {
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Some((name, values)) = cells.split_first() else { continue };
        let values: Vec<Option<f64>> =
            values.iter().map(|cell| cell.strip_suffix(unit)?.trim().parse().ok()).collect();
        if !values.is_empty() && values.iter().all(Option::is_some) {
            rows.push(((*name).replace('`', ""), values));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::figures;

    #[test]
    fn figures_are_read_from_a_table() {
        let text = "| a | one | two |\n|---|---|---|\n| `Linpoint` | 17.2 ns | 21.1 ns |\n| rate | 14.3M |\n";
        assert_eq!(figures(text, "ns"), [("Linpoint".to_owned(), vec![Some(17.2), Some(21.1)])]);
    }
}
