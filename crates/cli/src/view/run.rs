//! A run of a program of the algorithm language as view data: its steps with memory, its operations as a
//! history, and how far that history can be explained.

use std::path::Path;

use linpoint_history::{Operation, Spec, Symbols};
use linpoint_lang::Program;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::SpecSource;
use linpoint_lang::span::line_column;
use linpoint_model::{Happened, TraceStep, argument_value, result_value};
use linpoint_report::view::{Bar, History, Run, Source, Step, StepKind, View};

use super::memory::memory;
use crate::explore::columns::what;
use linpoint_explain::orders;

/// What is known of a run.
pub struct Shown<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its text.
    pub text: &'a str,
    /// Its file.
    pub file: &'a Path,
    /// How many threads ran.
    pub threads: usize,
    /// The steps.
    pub steps: &'a [TraceStep],
    /// What is wrong with the run, in a sentence.
    pub reason: &'a str,
    /// Is it that no order explains it?
    pub unexplained: bool,
    /// Is anything wrong with it?
    pub wrong: bool,
    /// So many of the last steps can be repeated for ever.
    pub repeats: usize,
}

impl Shown<'_> {
    /// Adds the run, the history and the source to a view.
    pub fn add_to(&self, view: &mut View) {
        let machine = Machine::new(self.program, self.threads);
        let (mut history, core) = self.history();
        let run = self.run(&machine, &mut history);
        if self.unexplained {
            self.explain(&mut history, &core);
            view.headline.clone_from(&history.reason);
        }
        view.history = (!history.bars.is_empty()).then_some(history);
        view.run = Some(run);
        view.source = Some(Source { name: self.file.display().to_string(), text: self.text.to_owned() });
    }

    /// Why no order explains the run, in a sentence.
    pub fn why_unexplained(&self) -> String {
        let (mut history, core) = self.history();
        self.explain(&mut history, &core);
        history.reason
    }

    fn run(&self, machine: &Machine<'_>, history: &mut History) -> Run {
        let initial = machine.initial().map(|state| memory(machine, &state)).unwrap_or_default();
        let mut last = initial.clone();
        let mut steps: Vec<Step> = Vec::new();
        let mut open: Vec<Option<usize>> = vec![None; self.threads];
        let mut called = 0;
        for step in self.steps {
            let mut bar = None;
            let (kind, at) = match &step.what {
                Happened::Call { .. } => {
                    open[step.thread] = Some(called);
                    bar = Some(called);
                    called += 1;
                    (StepKind::Call, 0)
                }
                Happened::Return { .. } => {
                    bar = open[step.thread].take();
                    (StepKind::Return, 0)
                }
                Happened::Step => (StepKind::Step, line_column(self.text, step.span.start as usize).0),
            };
            let now = memory(machine, &step.state);
            let said = what(self.program, step, self.text);
            let text = match kind {
                StepKind::Step => said.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim(),
                _ => &said,
            };
            let same = |before: &Step| {
                before.thread == step.thread && before.text == text && before.line == at as u32
            };
            // Steps of one line, one after another, that change nothing are one.
            if kind == StepKind::Step && now == last && steps.last().is_some_and(same) {
                continue;
            }
            let memory = (now != last).then(|| now.clone());
            last = now;
            if let (Some(bar), place) = (bar, steps.len() as i64 + 1)
                && let Some(bar) = history.bars.get_mut(bar)
            {
                match kind {
                    StepKind::Call => bar.call = place,
                    _ => bar.ret = Some(place),
                }
            }
            steps.push(Step {
                thread: step.thread,
                kind,
                text: text.to_owned(),
                line: at as u32,
                bar,
                memory,
                ..Step::default()
            });
        }
        Run {
            threads: (0..self.threads).map(|thread| format!("thread {thread}")).collect(),
            initial,
            wrong: steps.len().checked_sub(1).filter(|_| self.wrong),
            steps,
            reason: self.reason.to_owned(),
            repeats: self.repeats,
        }
    }

    /// The operations of the run; stamps are numbers of steps as they were taken. Where the specification is
    /// a built-in one, also as rows of a history.
    fn history(&self) -> (History, Option<(Vec<Operation>, Symbols)>) {
        let mut bars: Vec<Bar> = Vec::new();
        let mut rows: Vec<Operation> = Vec::new();
        let mut symbols = Symbols::new();
        let mut open: Vec<Option<usize>> = vec![None; self.threads];
        let builtin = match &self.program.spec {
            SpecSource::Builtin(spec) => Some(spec),
            _ => None,
        };
        let mut whole = builtin.is_some();
        for (time, step) in self.steps.iter().enumerate() {
            match &step.what {
                Happened::Call { op, args } => {
                    let operation = self.program.operation(*op);
                    let arg = argument_value(self.program, *op, args);
                    let shown = if args.is_empty() { String::new() } else { arg.to_string() };
                    open[step.thread] = Some(bars.len());
                    bars.push(Bar {
                        lane: step.thread,
                        name: operation.name.clone(),
                        arg: shown,
                        result: if operation.result.parts.is_empty() { "" } else { "?" }.to_owned(),
                        call: time as i64,
                        core: true,
                        ..Bar::default()
                    });
                    let code = builtin.and_then(|spec| spec.signature().find(&operation.name));
                    whole &= code.is_some();
                    if let Some(code) = code {
                        let process = symbols.process_number(step.thread as i64);
                        let mut row = Operation::new(process, code);
                        (row.call, row.ret) = (time as i64, Operation::NEVER);
                        row.arg = symbols.intern(&arg);
                        rows.push(row);
                    }
                }
                Happened::Return { op, result } => {
                    let Some(index) = open[step.thread].take() else { continue };
                    let kind = &self.program.operation(*op).result;
                    let value = result_value(self.program, kind, result);
                    bars[index].ret = Some(time as i64);
                    bars[index].result = match kind.parts.is_empty() {
                        true => String::new(),
                        false if value.is_null() => "none".to_owned(),
                        false => value.to_string(),
                    };
                    if let Some(row) = rows.get_mut(index) {
                        row.ret = time as i64;
                        row.result = symbols.intern(&value);
                    }
                }
                Happened::Step => {}
            }
        }
        let lanes = (0..self.threads).map(|thread| format!("thread {thread}")).collect();
        (History { lanes, bars, ..History::default() }, whole.then_some((rows, symbols)))
    }

    /// The last return is the one that finds no place.
    fn explain(&self, history: &mut History, core: &Option<(Vec<Operation>, Symbols)>) {
        let last = history.bars.iter().map(|bar| bar.ret).max().flatten();
        history.impossible = history.bars.iter().position(|bar| bar.ret.is_some() && bar.ret == last);
        history.reason = self.reason.to_owned();
        let (SpecSource::Builtin(spec), Some((rows, symbols))) = (&self.program.spec, core) else { return };
        let attempts = orders::longest(spec, symbols, rows, spec.initial());
        history.orders = attempts.orders;
        let Some(bar) = history.impossible else { return };
        if let Some(answers) = attempts.answers.get(bar).filter(|answers| !answers.is_empty()) {
            let label = history.bars[bar].label();
            let answers = answers.join(" or ");
            history.reason = format!(
                "{label} is impossible: wherever it may take effect in an order of these operations, it would answer {answers}"
            );
        }
    }
}
