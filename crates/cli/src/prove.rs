//! `linpoint prove`: is an algorithm correct in every run, for any number of threads?
//!
//! The engines are each in a file of their own; here they are chosen.

pub mod obligations;
mod shape;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use linpoint_lang::Program;

use crate::fault::{Exit, Fault};
use crate::program;

/// What `prove` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint prove corpus/correct/michael-scott.lin
  linpoint prove corpus/correct/treiber.lin --engine shape --threads 3
  linpoint prove corpus/broken/treiber-pop-no-cas.lin --json
  linpoint prove corpus/correct/multiset.lin --confirm")]
pub struct ProveArgs {
    /// The program; `-` is standard input
    #[arg(value_name = "ALGO.lin")]
    pub file: PathBuf,
    /// Which object of the file, where it has several
    #[arg(long, value_name = "NAME")]
    pub object: Option<String>,
    /// Which engine proves
    #[arg(long, value_enum, default_value_t = EngineArg::Auto)]
    pub engine: EngineArg,
    /// Give up after this long, such as `60s`
    #[arg(long, value_name = "TIME", value_parser = crate::args::duration)]
    pub time_limit: Option<Duration>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// What to draw.
    #[command(flatten)]
    pub output: crate::view::OutputArgs,
    /// What the shape analysis takes besides.
    #[command(flatten)]
    pub shape: shape::ShapeArgs,
    /// What the proof by obligations takes besides.
    #[command(flatten)]
    pub obligations: obligations::ObligationArgs,
}

/// The engines a user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The one that suits what the program uses
    Auto,
    /// Local proof obligations, with a solver: arrays of any size, any number of threads
    Obligations,
    /// Shape analysis: linked structures of any length
    Shape,
}

/// Proves an object of the file.
pub fn run(args: &ProveArgs) -> Result<Exit, Fault> {
    let start = Instant::now();
    crate::input::not_over([&args.file], args.output.files())?;
    let Some((text, program)) = program::load(&args.file, args.object.as_deref())? else {
        return Ok(Exit::Bad);
    };
    let program = &program;
    let by_obligations = match args.engine {
        EngineArg::Auto => suits_obligations(program),
        EngineArg::Obligations => true,
        EngineArg::Shape => false,
    };
    match by_obligations {
        true => obligations::run(args, program, &text, start),
        false => shape::run(args, program, &text),
    }
}

/// An abstraction is what obligations need, and what the shape analysis does not use.
fn suits_obligations(program: &Program) -> bool {
    program.annotations.abs.is_some() || program.records.is_empty()
}
