//! What came of the suites: one file each in `target/suites/results`, and the table of all of them.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::kill::Trials;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Passed,
    /// Nothing wrong, in the part that there was time for.
    Cut,
    Failed,
    /// It was still running when its time was up.
    NotFinished,
    NotRun,
}

const ENDS: [(End, &str); 5] = [
    (End::Passed, "passed"),
    (End::Cut, "passed in part"),
    (End::Failed, "failed"),
    (End::NotFinished, "not finished"),
    (End::NotRun, "not run"),
];

impl End {
    fn name(self) -> &'static str {
        ENDS.iter().find(|end| end.0 == self).map_or("", |end| end.1)
    }
}

/// A model on one side.
#[derive(Clone, Debug)]
pub struct Side {
    pub end: End,
    pub time: Duration,
    pub executions: Option<u64>,
    /// Why it is not as it should be.
    pub words: String,
}

impl Side {
    pub fn not_run() -> Side {
        Side { end: End::NotRun, time: Duration::ZERO, executions: None, words: String::new() }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {:.2} s", self.end.name(), self.time.as_secs_f64())?;
        self.executions.map_or(Ok(()), |executions| write!(f, ", {executions} executions"))
    }
}

/// A model on both sides.
#[derive(Clone, Debug)]
pub struct Model {
    pub name: String,
    pub ours: Side,
    pub loom: Side,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Model { name, ours, loom } = self;
        write!(f, "{name}: {ours}; loom {loom}")?;
        let words = if ours.end == End::Failed { &ours.words } else { &loom.words };
        if words.is_empty() { Ok(()) } else { write!(f, "; {words}") }
    }
}

impl Model {
    /// Does it pass under loom, and not under the explorer?
    fn is_worse(&self) -> bool {
        self.loom.end == End::Passed && !matches!(self.ours.end, End::Passed | End::Cut)
    }
}

/// The models of a crate.
#[derive(Clone, Debug)]
pub struct Suite {
    pub name: String,
    pub version: String,
    pub models: Vec<Model>,
    pub not_built: Option<String>,
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.row())
    }
}

impl Suite {
    pub fn not_built(name: &str, version: &str, why: &str) -> Suite {
        let (name, version) = (name.to_owned(), version.to_owned());
        Suite { name, version, models: Vec::new(), not_built: Some(why.to_owned()) }
    }

    /// The models that pass under loom, and not under the explorer.
    pub fn worse(&self) -> impl Iterator<Item = &Model> {
        self.models.iter().filter(|model| model.is_worse())
    }

    /// Writes it down for the table.
    pub fn keep(&self, folder: &Path) -> Result<(), String> {
        let results = folder.join("results");
        fs::create_dir_all(&results).map_err(|error| error.to_string())?;
        let mut text = format!("{}\t{}\n", self.version, self.not_built.as_deref().unwrap_or(""));
        for model in &self.models {
            text.push_str(&model.name);
            for side in [&model.ours, &model.loom] {
                let executions = side.executions.map_or(String::new(), |number| number.to_string());
                let words = side.words.replace(['\t', '\n'], " ");
                text.push_str(&format!(
                    "\t{}\t{}\t{executions}\t{words}",
                    side.end.name(),
                    side.time.as_millis()
                ));
            }
            text.push('\n');
        }
        fs::write(results.join(&self.name), text).map_err(|error| error.to_string())
    }

    fn read(name: &str, text: &str) -> Option<Suite> {
        let mut lines = text.lines();
        let (version, why) = lines.next()?.split_once('\t')?;
        let models = lines.filter_map(|line| {
            let fields: Vec<_> = line.split('\t').collect();
            let side = |at: usize| {
                Some(Side {
                    end: ENDS.iter().find(|end| Some(&end.1) == fields.get(at))?.0,
                    time: Duration::from_millis(fields.get(at + 1)?.parse().ok()?),
                    executions: fields.get(at + 2)?.parse().ok(),
                    words: (*fields.get(at + 3)?).to_owned(),
                })
            };
            Some(Model { name: fields[0].to_owned(), ours: side(1)?, loom: side(5)? })
        });
        let not_built = (!why.is_empty()).then(|| why.to_owned());
        Some(Suite {
            name: name.to_owned(),
            version: version.to_owned(),
            models: models.collect(),
            not_built,
        })
    }

    /// The models that were run on both sides and covered here.
    fn compared(&self) -> impl Iterator<Item = &Model> {
        let ran = |model: &&Model| model.loom.end != End::NotRun && model.ours.end == End::Passed;
        self.models.iter().filter(ran)
    }

    /// The time of loom by the time here, over the models that compare; it is at least that, where loom did not finish one.
    fn factor(&self) -> Option<(f64, bool)> {
        let sum = |side: fn(&Model) -> &Side| {
            self.compared().map(|model| side(model).time).sum::<Duration>().as_secs_f64()
        };
        let (ours, loom) = (sum(|model| &model.ours), sum(|model| &model.loom));
        let is_least = self.compared().any(|model| model.loom.end == End::NotFinished);
        (ours + loom > 0.0).then(|| (loom / ours.max(1e-3), is_least))
    }

    /// Its row in the table.
    fn row(&self) -> String {
        let title = format!("{} {}", self.name, self.version);
        if let Some(why) = &self.not_built {
            return format!("| {title} | not built | | | | | | {} |", why.replace('|', "\\|"));
        }
        let sum = |side: fn(&Model) -> &Side| {
            let sides: Vec<_> = self.models.iter().map(side).collect();
            let count = |end: End| sides.iter().filter(|side| side.end == end).count();
            let mut words = format!("{}", count(End::Passed));
            for (end, name) in ENDS.iter().skip(1) {
                if count(*end) > 0 {
                    words.push_str(&format!(", {} {name}", count(*end)));
                }
            }
            let executions = sides.iter().filter_map(|side| side.executions).sum::<u64>();
            let time = sides.iter().map(|side| side.time).sum::<Duration>();
            (words, executions, time.as_secs_f64())
        };
        let (ours, loom) = (sum(|model| &model.ours), sum(|model| &model.loom));
        let ratio = self.factor().map_or(String::new(), |(factor, is_least)| {
            format!("{}{factor:.1}×", if is_least { "> " } else { "" })
        });
        format!(
            "| {title} | {} | {} | {} | {:.1} s | {:.1} s | {ratio} | {} / {} |",
            self.models.len(),
            loom.0,
            ours.0,
            loom.2,
            ours.2,
            loom.1,
            ours.1
        )
    }
}

const HEAD: &str = "\
# Suites written for loom

What `cargo xtask suites` found: the loom tests of published crates, built as they are, under loom and under the explorer
(`linpoint-loom` in loom's place). Each test is run by itself, on both sides within the same time limit; crates whose CI sets
a bound on preemptions have it on both sides. *Passed* is: everything that was asked for was covered; *passed in part*: nothing wrong
in what there was time for. *Not run*: the time for the suite was used up. Memory was
sequentially consistent under the explorer. Times are those of the processor, starting the process included. The factor is the time of
loom by the time here, over the models that were run on both sides and covered here (where loom was not finished, its time limit, and
the factor is at least that). Executions of loom are counted where a model takes it less than ten seconds.

| crate | models | passed under loom | passed here | time of loom | time here | factor | executions of loom / here |
|---|---|---|---|---|---|---|---|
";

/// A model that takes loom less than this is over before its time can be compared.
const LONG: Duration = Duration::from_millis(100);

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}

/// How much faster the explorer is, over all suites.
fn factors(suites: &[Suite]) -> String {
    let of_suites: Vec<f64> =
        suites.iter().filter_map(|suite| suite.factor()).map(|(factor, _)| factor).collect();
    let long = suites.iter().flat_map(Suite::compared).filter(|model| model.loom.time >= LONG);
    let of_models: Vec<f64> =
        long.map(|model| model.loom.time.as_secs_f64() / model.ours.time.as_secs_f64().max(1e-3)).collect();
    let (suites, models) = (of_suites.len(), of_models.len());
    let (Some(by_suite), Some(by_model)) = (median(of_suites), median(of_models)) else {
        return String::new();
    };
    format!(
        "\nMedian of the factors of {suites} suites: {by_suite:.1}×. Median over the {models} models that take loom {} ms or \
         more: {by_model:.1}×.\n",
        LONG.as_millis()
    )
}

const MUTANTS: &str = "
## Mutants

What `cargo xtask suites --mutants N CRATE` found: one atomic step of the crate's own sources left out, split into a load and a store, or
exchanged with its neighbour; a mutant is killed where a model fails that passes without it. Orderings that are weakened to
`Relaxed`, and fences left out, are counted apart: under sequential consistency they show in data races and leaks only.

| crate | models | mutants | killed by both | here only | by loom only | by nobody | orderings | by both | here only | by loom only | by nobody |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// What was found of mutants.
fn mutants(folder: &Path) -> String {
    let mut files: Vec<_> = fs::read_dir(folder.join("mutants")).into_iter().flatten().flatten().collect();
    files.sort_by_key(fs::DirEntry::file_name);
    let mut all = Vec::new();
    for file in files {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        all.extend(Trials::read(&file.file_name().to_string_lossy(), &text));
    }
    if all.is_empty() {
        return String::new();
    }
    let mut text = MUTANTS.to_owned();
    for trials in &all {
        text.push_str(&format!("{}\n", trials.row()));
    }
    for (title, wanted) in [("here only", (true, false)), ("by loom only", (false, true))] {
        let mut list = String::new();
        for trials in &all {
            let which = |trial: &&super::kill::Trial| (trial.ours.is_some(), trial.loom.is_some()) == wanted;
            for trial in trials.trials.iter().filter(which) {
                list.push_str(&format!("- {}: {trial}\n", trials.name));
            }
        }
        if !list.is_empty() {
            text.push_str(&format!("\nKilled {title}:\n\n{list}"));
        }
    }
    text
}

/// Writes the table of everything that was run so far.
pub fn write(folder: &Path) -> Result<(), String> {
    let mut suites = Vec::new();
    for file in fs::read_dir(folder.join("results")).map_err(|error| error.to_string())?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(file.path()).map_err(|error| error.to_string())?;
        suites.extend(Suite::read(&name, &text));
    }
    suites.sort_by(|a, b| a.name.cmp(&b.name));
    let mut text = HEAD.to_owned();
    for suite in &suites {
        text.push_str(&format!("{suite}\n"));
    }
    text.push_str(&factors(&suites));
    let agrees = |ours: End, loom: End| match ours {
        End::NotRun => true,
        End::Passed | End::Cut => matches!(loom, End::NotRun | End::Passed | End::NotFinished),
        End::Failed => matches!(loom, End::NotRun | End::Failed),
        End::NotFinished => matches!(loom, End::NotRun),
    };
    let differs = |model: &Model| !agrees(model.ours.end, model.loom.end);
    let list = |title: &str, which: &dyn Fn(&Model) -> bool| {
        let mut list = String::new();
        for suite in &suites {
            for model in suite.models.iter().filter(|model| which(model)) {
                list.push_str(&format!(
                    "- {} `{}`: here {}, under loom {}",
                    suite.name, model.name, model.ours, model.loom
                ));
                for words in [&model.ours.words, &model.loom.words] {
                    if !words.is_empty() {
                        list.push_str(&format!("; {words}"));
                    }
                }
                list.push('\n');
            }
        }
        if list.is_empty() { list } else { format!("\n## {title}\n\n{list}") }
    };
    text.push_str(&list("Models on which the two differ", &differs));
    text.push_str(&list("Models that are not covered here", &|model| {
        !differs(model) && !matches!(model.ours.end, End::Passed | End::Failed)
    }));
    text.push_str(&mutants(folder));
    fs::write(crate::root().join("docs/suites.md"), text).map_err(|error| error.to_string())
}
