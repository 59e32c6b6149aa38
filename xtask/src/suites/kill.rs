//! Runs the models of a crate on its mutants ([`super::mutants`]): who kills which.
//!
//! The models that count are those that pass on both sides without a change, each within the time limit of a mutant's model.
//! Each mutant is built on both sides; one that is not built is left out, and the next one takes its place. The sources are
//! put back after each.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::crates::Crate;
use super::execute::{self, Profile, Test, Under};
use super::mutants::{self, KINDS, Kind, Mutant};
use super::table::{End, Side};

/// What became of a mutant.
#[derive(Clone, Debug)]
pub struct Trial {
    pub kind: Kind,
    /// Where, and what was changed.
    pub words: String,
    /// The model that fails here, and under loom.
    pub ours: Option<String>,
    pub loom: Option<String>,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match (&self.ours, &self.loom) {
            (Some(_), Some(_)) => "killed by both",
            (Some(_), None) => "killed here only",
            (None, Some(_)) => "killed by loom only",
            (None, None) => "killed by nobody",
        };
        write!(f, "{who}: {}", self.words)?;
        let model = self.ours.as_ref().or(self.loom.as_ref());
        model.map_or(Ok(()), |model| write!(f, " ({model})"))
    }
}

/// The mutants of a crate.
#[derive(Clone, Debug)]
pub struct Trials {
    pub name: String,
    pub version: String,
    pub models: usize,
    pub trials: Vec<Trial>,
}

impl Trials {
    /// The mutants, orderings aside, that loom alone kills.
    pub fn missed(&self) -> impl Iterator<Item = &Trial> {
        self.trials
            .iter()
            .filter(|trial| trial.kind != Kind::Ordering && trial.loom.is_some() && trial.ours.is_none())
    }

    /// Its row in the table.
    pub fn row(&self) -> String {
        let mut row = format!("| {} {} | {} ", self.name, self.version, self.models);
        for orderings in [false, true] {
            let of = || self.trials.iter().filter(|trial| (trial.kind == Kind::Ordering) == orderings);
            let count = |ours: bool, loom: bool| {
                of().filter(|trial| trial.ours.is_some() == ours && trial.loom.is_some() == loom).count()
            };
            row.push_str(&format!(
                "| {} | {} | {} | {} | {} ",
                of().count(),
                count(true, true),
                count(true, false),
                count(false, true),
                count(false, false)
            ));
        }
        row + "|"
    }

    /// Writes them down for the table.
    pub fn keep(&self, folder: &Path) -> Result<(), String> {
        let folder = folder.join("mutants");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let mut text = format!("{}\t{}\n", self.version, self.models);
        for trial in &self.trials {
            let model = |side: &Option<String>| side.clone().unwrap_or_default();
            text.push_str(&format!(
                "{}\t{}\t{}\t{}\n",
                trial.kind.name(),
                model(&trial.ours),
                model(&trial.loom),
                trial.words
            ));
        }
        fs::write(folder.join(&self.name), text).map_err(|error| error.to_string())
    }

    pub fn read(name: &str, text: &str) -> Option<Trials> {
        let mut lines = text.lines();
        let (version, models) = lines.next()?.split_once('\t')?;
        let trial = |line: &str| {
            let mut fields = line.splitn(4, '\t');
            let kind = fields.next()?;
            let kind = KINDS.into_iter().find(|one| one.name() == kind)?;
            let mut model = || Some(fields.next()?.to_owned()).map(|name| (!name.is_empty()).then_some(name));
            let (ours, loom) = (model()?, model()?);
            Some(Trial { kind, ours, loom, words: fields.next()?.to_owned() })
        };
        let trials = lines.filter_map(trial).collect();
        Some(Trials {
            name: name.to_owned(),
            version: version.to_owned(),
            models: models.parse().ok()?,
            trials,
        })
    }
}

/// Makes `count` mutants of a crate and runs its models on them, each for at most so long.
pub fn run(folder: &Path, one: &Crate, count: usize, limit: Duration) -> Result<Trials, String> {
    let (profile, ours) = execute::build_ours(folder, one)?;
    let theirs = execute::build_tests(folder, one, Under::Loom, profile)?;
    let models = baseline(folder, one, (&ours, &theirs), limit);
    eprintln!("  {} models pass on both sides within the limit", models.len());
    let mut trials = Trials {
        name: one.name.clone(),
        version: one.version.clone(),
        models: models.len(),
        trials: Vec::new(),
    };
    if models.is_empty() {
        return Ok(trials);
    }
    for mutant in mutants::find(&one.folder) {
        if trials.trials.len() >= count {
            break;
        }
        let file = one.folder.join(&mutant.file);
        let source = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let put = |text: &str| fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()));
        put(&mutant.text(&source))?;
        let trial = trial(folder, one, &mutant, (&models, profile, limit));
        put(&source)?;
        match trial {
            Ok(trial) => {
                eprintln!("  {trial}");
                trials.trials.push(trial);
            }
            Err(_) => eprintln!("  not built: {mutant}"),
        }
    }
    Ok(trials)
}

/// The names of the models that pass on both sides, the quickest first.
fn baseline(folder: &Path, one: &Crate, (ours, theirs): (&[Test], &[Test]), limit: Duration) -> Vec<String> {
    let passes = |side: &Side| matches!(side.end, End::Passed | End::Cut);
    let mut models = Vec::new();
    for test in ours {
        let Some(side) = execute::ours_of(folder, one, test, limit).filter(passes) else { continue };
        let Some(same) = theirs.iter().find(|other| other.name == test.name) else { continue };
        if execute::end_under_loom(one, same, limit) == End::Passed {
            models.push((side.time, test.name.clone()));
        }
    }
    models.sort();
    models.into_iter().map(|(_, name)| name).collect()
}

/// Runs the models on a mutant that is in its place.
fn trial(
    folder: &Path,
    one: &Crate,
    mutant: &Mutant,
    (models, profile, limit): (&[String], Profile, Duration),
) -> Result<Trial, String> {
    let ours = execute::build_tests(folder, one, Under::Ours, profile)?;
    let theirs = execute::build_tests(folder, one, Under::Loom, profile)?;
    let first = |tests: &[Test], fails: &dyn Fn(&Test) -> bool| {
        let mut tests = models.iter().filter_map(|name| tests.iter().find(|test| &test.name == name));
        tests.find(|test| fails(test)).map(|test| test.name.clone())
    };
    let fails_here =
        |test: &Test| execute::ours_of(folder, one, test, limit).is_some_and(|side| side.end == End::Failed);
    let fails_there = |test: &Test| execute::end_under_loom(one, test, limit) == End::Failed;
    Ok(Trial {
        kind: mutant.kind,
        words: mutant.to_string(),
        ours: first(&ours, &fails_here),
        loom: first(&theirs, &fails_there),
    })
}
