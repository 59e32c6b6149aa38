//! `linpoint generate`: makes histories.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use linpoint_history::formats::{self, Format};
use linpoint_history::generate::{self, Plan, Spoil, Values};
use linpoint_history::{History, Spec, Symbols};

use crate::args::GenerateArgs;
use crate::fault::{Exit, Fault};
use crate::input;

/// Runs the command.
pub fn run(args: &GenerateArgs) -> Result<Exit, Fault> {
    let plan = plan(args)?;
    let spoil = args.spoil.then_some(Spoil { at: args.spoil_at, flaw: None });
    let format = match input::format(args.format.as_deref())? {
        Some(format) => format,
        None => args.output.as_deref().map_or(Format::JsonLines, from_ending),
    };
    let name = args.output.clone().unwrap_or_else(|| PathBuf::from("standard output"));
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(File::create(path).map_err(|error| Fault::Output(path.clone(), error))?),
        None => Box::new(std::io::stdout().lock()),
    };
    match write(&plan, spoil, format, &mut BufWriter::with_capacity(1 << 18, &mut out)) {
        Ok(Some(reason)) => crate::fault::say!("spoiled: {reason}"),
        Ok(None) => {}
        Err(Trouble::Plan(why)) => return Err(Fault::usage(why, "see `linpoint generate --help`")),
        // Whoever reads has had enough.
        Err(Trouble::Io(error)) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(Trouble::Io(error)) => return Err(Fault::Output(name, error)),
    }
    Ok(Exit::Holds)
}

enum Trouble {
    Plan(String),
    Io(std::io::Error),
}

/// Writes the history; the reason it is wrong, if it was spoiled.
fn write(
    plan: &Plan,
    spoil: Option<Spoil>,
    format: Format,
    out: &mut impl Write,
) -> Result<Option<String>, Trouble> {
    let plan_trouble = |error: generate::PlanError| Trouble::Plan(error.to_string());
    if format != Format::JsonLines {
        let (history, spoiled): (History, _) = generate::history(plan, spoil).map_err(plan_trouble)?;
        formats::write(format, &history, plan.spec.signature(), out).map_err(Trouble::Io)?;
        out.flush().map_err(Trouble::Io)?;
        return Ok(spoiled.map(|spoiled| spoiled.reason));
    }
    let mut failed = None;
    let signature = plan.spec.signature().clone();
    let mut symbols = Symbols::new();
    let spoiled = generate::generate(plan, spoil, &mut symbols, |symbols, op| {
        if failed.is_none() {
            failed = formats::write_row(symbols, &signature, &op, out).err();
        }
    });
    let spoiled = spoiled.map_err(plan_trouble)?;
    match failed.or(out.flush().err()) {
        Some(error) => Err(Trouble::Io(error)),
        None => Ok(spoiled.map(|spoiled| spoiled.reason)),
    }
}

fn plan(args: &GenerateArgs) -> Result<Plan, Fault> {
    let mut plan = Plan::new(input::spec(&args.spec, args.initial.as_deref())?);
    plan.processes = args.processes;
    plan.operations = args.ops;
    plan.seed = args.seed;
    plan.values = args.values.map_or(Values::Distinct, Values::Repeated);
    plan.overlap = args.overlap.unwrap_or(plan.overlap);
    plan.add_share = args.add_share.unwrap_or(plan.add_share);
    plan.empties = args.empties.unwrap_or(plan.empties);
    plan.rare = args.rare.unwrap_or(plan.rare);
    plan.pending = args.pending.unwrap_or(plan.pending);
    plan.trailing_pending = args.trailing_pending.unwrap_or(plan.trailing_pending);
    plan.bursts = args.bursts;
    plan.long_open = args.long_open.unwrap_or(plan.long_open);
    plan.keys = args.keys.unwrap_or(plan.keys);
    Ok(plan)
}

fn from_ending(path: &Path) -> Format {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.and_then(Format::find).unwrap_or(Format::JsonLines)
}
