//! What engines found, as view data; and the files that are drawn from it.
//!
//! One file an engine turns its result into a [`View`]; this one writes the page, the picture and the trace.

pub mod memory;
pub mod obligations;
pub mod refine;
pub mod run;
pub mod shape;

use std::path::{Path, PathBuf};

use clap::Args;
use linpoint_report::{View, page, svg, trace};

use crate::fault::Fault;

/// Files that show the verdict.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Pictures")]
pub struct OutputArgs {
    /// Write one page that shows everything; it needs nothing but a browser
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write a picture, for a paper or an issue
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Write a Chrome trace, which Perfetto opens
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
    /// Write the view data that pages are made from (docs/view-data.md)
    #[arg(long, value_name = "FILE.json")]
    pub view_data: Option<PathBuf>,
}

impl OutputArgs {
    /// The files asked for, with their options.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [
            ("--report", &self.report),
            ("--svg", &self.svg),
            ("--trace", &self.trace),
            ("--view-data", &self.view_data),
        ];
        files.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?)))
    }

    /// Is any file asked for?
    pub fn wanted(&self) -> bool {
        self.files().next().is_some()
    }

    /// Writes what was asked for.
    pub fn write(&self, view: impl FnOnce() -> View) -> Result<(), Fault> {
        if !self.wanted() {
            return Ok(());
        }
        let view = view();
        let put = |path: &Option<PathBuf>, draw: fn(&View) -> String| match path {
            Some(path) => write(path, &draw(&view)),
            None => Ok(()),
        };
        put(&self.report, page::page)?;
        put(&self.svg, svg::svg)?;
        put(&self.trace, trace::trace)?;
        put(&self.view_data, View::to_json)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Fault> {
    std::fs::write(path, text).map_err(|error| Fault::Output(path.to_owned(), error))
}

/// How long something took, as figures have it.
pub fn seconds(elapsed: std::time::Duration) -> String {
    format!("{:.2} s", elapsed.as_secs_f64())
}
