//! A counterexample for the person at the terminal: the history as bars, the schedule as columns of threads.

use std::collections::HashMap;
use std::fmt::Write as _;

use linpoint_sched::{Cycle, ThreadId, Trace};

use crate::linearize::Moment;

/// An operation of a history, in words.
pub(crate) struct Bar {
    pub(crate) lane: String,
    /// Its name with its arguments.
    pub(crate) name: String,
    pub(crate) answer: Answer,
}

/// What an operation answered.
pub(crate) enum Answer {
    /// It has not returned.
    Open,
    /// It returned, with nothing to say.
    Nothing,
    /// It returned this.
    Value(String),
}

impl Bar {
    /// The operation and its answer in one line.
    pub(crate) fn label(&self) -> String {
        match &self.answer {
            Answer::Open => format!("{} …", self.name),
            Answer::Nothing => self.name.clone(),
            Answer::Value(value) => format!("{} → {value}", self.name),
        }
    }
}

/// The history as bars: one lane a thread, time to the right.
pub(crate) fn history(bars: &[Bar], moments: &[Moment]) -> String {
    let position = |wanted: Moment| moments.iter().position(|&moment| moment == wanted);
    let labels: Vec<String> = bars.iter().map(Bar::label).collect();
    let mut at = vec![0usize; moments.len() + 1];
    for index in 0..moments.len() {
        let least = if index == 0 { 0 } else { at[index - 1] + 2 };
        at[index] = match moments[index] {
            Moment::Call(_) => least,
            Moment::Return(op) => {
                let call = position(Moment::Call(op)).map_or(0, |call| at[call]);
                least.max(call + labels[op].chars().count() + 3)
            }
        };
    }
    let end = at.get(moments.len().saturating_sub(1)).map_or(0, |last| last + 4);
    let mut lanes: Vec<(&str, Vec<char>)> = Vec::new();
    for (op, bar) in bars.iter().enumerate() {
        let Some(call) = position(Moment::Call(op)) else { continue };
        let from = at[call];
        let (to, closed) = match position(Moment::Return(op)) {
            Some(ret) => (at[ret], true),
            None => ((from + labels[op].chars().count() + 3).max(end), false),
        };
        let lane = match lanes.iter().position(|lane| lane.0 == bar.lane) {
            Some(lane) => lane,
            None => {
                lanes.push((&bar.lane, Vec::new()));
                lanes.len() - 1
            }
        };
        let row = &mut lanes[lane].1;
        if row.len() <= to {
            row.resize(to + 1, ' ');
        }
        row[from..=to].fill('─');
        row[from] = '├';
        row[to] = if closed { '┤' } else { '…' };
        for (offset, letter) in labels[op].chars().enumerate() {
            row[from + 2 + offset] = letter;
        }
    }
    let margin = lanes.iter().map(|lane| lane.0.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, row) in lanes {
        let row: String = row.into_iter().collect();
        let _ = writeln!(text, "  {name:margin$}  {}", row.trim_end());
    }
    text
}

/// The schedule, step by step: a column a thread, and the line of the source. Steps that are not `relevant` are only
/// counted.
pub(crate) fn schedule(trace: &Trace, relevant: &[bool], name: &dyn Fn(ThreadId) -> String) -> String {
    let matters = |index: usize| relevant.get(index).copied().unwrap_or(true);
    let mut names = Names::default();
    let mut threads: Vec<ThreadId> = Vec::new();
    for (_, line) in trace.lines.iter().enumerate().filter(|(index, _)| matters(*index)) {
        if !threads.contains(&line.thread) {
            threads.push(line.thread);
        }
    }
    threads.sort();
    let rows: Vec<(usize, String, String)> = trace
        .lines
        .iter()
        .map(|line| {
            let column = threads.iter().position(|&thread| thread == line.thread).unwrap_or(0);
            let place =
                if line.address == 0 { String::new() } else { format!(" {}", names.place(line.address)) };
            let details: Vec<String> = line.details.iter().map(|detail| names.rename(detail)).collect();
            let what = format!("{}{place} {}", line.action.name(), details.join(", "));
            (column, what.trim_end().to_owned(), source(line.site))
        })
        .collect();
    let mut widths: Vec<usize> = threads.iter().map(|&thread| name(thread).chars().count()).collect();
    for (_, (column, what, _)) in rows.iter().enumerate().filter(|(index, _)| matters(*index)) {
        // Wider than any terminal; formatting takes no more than 65,535.
        widths[*column] = widths[*column].max(what.chars().count().min(1_000));
    }
    let mut text = String::from("  step  ");
    for (column, &thread) in threads.iter().enumerate() {
        let _ = write!(text, "{:width$}  ", name(thread), width = widths[column]);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    let mut left_out = Vec::new();
    for (index, (column, what, source)) in rows.iter().enumerate() {
        if !matters(index) {
            left_out.push(trace.lines[index].thread);
            if matters(index + 1) || index + 1 == rows.len() {
                let words = match trace.cycle {
                    Some(Cycle { from, length: 1 }) => format!("step {} again and again", from + 1),
                    Some(Cycle { from, length }) => {
                        format!("steps {} to {} again and again", from + 1, from + length)
                    }
                    None => left_out_in_words(&left_out, name),
                };
                let _ = writeln!(text, "     …  {words}");
                left_out.clear();
            }
            continue;
        }
        let _ = write!(text, "  {:4}  ", index + 1);
        for (other, &width) in widths.iter().enumerate() {
            let cell = if other == *column { what.as_str() } else { "" };
            let _ = write!(text, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{source}");
    }
    text
}

/// Of a run with so many steps only the ends are shown, whatever depends on what.
const MANY: usize = 10_000;

/// How many steps of whom are not shown.
fn left_out_in_words(threads: &[ThreadId], name: &dyn Fn(ThreadId) -> String) -> String {
    let mut names: Vec<String> = threads.iter().map(|&thread| name(thread)).collect();
    names.sort();
    names.dedup();
    let steps = if threads.len() == 1 { "step" } else { "steps" };
    let why = if threads.len() < MANY { ": nothing here depends on them" } else { "" };
    format!("{} {steps} of {} left out{why}", threads.len(), names.join(", "))
}

/// One line about a claim that is false.
pub(crate) fn claim_headline(failure: &linpoint_claim::Failure) -> String {
    format!("a claim is false: {} ({})", failure.site.source, failure.site)
}

/// A claim that is false: where and by whom it was made, each term, its value, and the step that fixed it.
pub(crate) fn claim(
    failure: &linpoint_claim::Failure,
    trace: &Trace,
    name: &dyn Fn(ThreadId) -> String,
) -> String {
    let thread = name(ThreadId(failure.thread.0 as u8));
    let mut text = format!(
        "the claim, made by {thread} in step {} and decided in step {}:\n  {}\n",
        failure.made_at, failure.decided_at, failure.site.source
    );
    // Pointers have the names that they have in the schedule.
    let mut names = Names::default();
    for detail in trace.lines.iter().flat_map(|line| &line.details) {
        names.rename(detail);
    }
    let rows: Vec<(&str, String, String)> = failure
        .terms
        .iter()
        .map(|term| {
            let when = if term.fixed_at == failure.made_at {
                "then".to_owned()
            } else if term.seen_at == term.fixed_at {
                format!("step {}", term.fixed_at)
            } else {
                format!("of step {}, final in step {}", term.seen_at, term.fixed_at)
            };
            (term.text, names.rename(&term.value), when)
        })
        .collect();
    let width = |of: &dyn Fn(&(&str, String, String)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (texts, values) = (width(&|row| row.0.chars().count()), width(&|row| row.1.chars().count()));
    for (term, value, when) in &rows {
        let _ = writeln!(text, "    {term:texts$} = {value:values$}  {when}");
    }
    match &failure.panic {
        Some(message) => text.push_str(&format!("  deciding it panicked: {message}\n")),
        None => text.push_str("  so it is false\n"),
    }
    text
}

/// The place in the source, with its line where the file can be read.
pub(crate) fn source(site: &std::panic::Location<'static>) -> String {
    let place = format!("{}:{}", short(site.file()), site.line());
    let line = read_source(site.file())
        .and_then(|text| text.lines().nth(site.line() as usize - 1).map(|line| line.trim().to_owned()));
    match line {
        Some(line) => format!("{place}  {line}"),
        None => place,
    }
}

/// A file of the source; its path may be meant from the workspace's root, above where tests run.
fn read_source(file: &str) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().take(4).find_map(|folder| std::fs::read_to_string(folder.join(file)).ok())
}

/// The last two parts of a path.
fn short(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/');
    slashes.next();
    slashes.next().map_or(path, |(at, _)| &path[at + 1..])
}

/// Names for addresses, which mean nothing to a reader: locations are letters, pointers are numbered.
#[derive(Default)]
pub(crate) struct Names {
    places: HashMap<usize, String>,
    pointers: HashMap<String, String>,
}

impl Names {
    pub(crate) fn place(&mut self, address: usize) -> String {
        if address > usize::MAX - 64 {
            return format!("of thread {}", usize::MAX - address);
        }
        let next = self.places.len();
        self.places
            .entry(address)
            .or_insert_with(|| {
                let letter = char::from(b'a' + (next % 26) as u8);
                if next < 26 { letter.to_string() } else { format!("{letter}{}", next / 26) }
            })
            .clone()
    }

    /// `0x5581…` becomes `&1`, `0x0` becomes `null`.
    pub(crate) fn rename(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("0x") {
            out.push_str(&rest[..at]);
            let digits = rest[at + 2..].find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len() - at - 2);
            let word = &rest[at..at + 2 + digits];
            if word.trim_start_matches("0x").trim_start_matches('0').is_empty() {
                out.push_str("null");
            } else {
                let next = self.pointers.len() + 1;
                out.push_str(self.pointers.entry(word.to_owned()).or_insert_with(|| format!("&{next}")));
            }
            rest = &rest[at + 2 + digits..];
        }
        out.push_str(rest);
        out
    }
}
