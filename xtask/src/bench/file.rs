//! Generated histories as files, each made once.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use linpoint_history::formats::{self, Format};
use linpoint_history::generate::{self, Plan, Spoil, Values};
use linpoint_history::{Builtin, History, Kind, Operation, Spec, Symbols, ValueId};

/// A history to check, and how.
#[derive(Clone, Debug)]
pub struct Case {
    /// What the history looks like.
    pub plan: Plan,
    /// Is it spoiled?
    pub spoil: Option<Spoil>,
    /// JSON lines or the binary form.
    pub format: Format,
    /// The engine to ask for; `None`: the checker's own choice.
    pub engine: Option<&'static str>,
    /// The memory limit to set, in MiB; `None`: the checker's own.
    pub memory_mib: Option<u32>,
}

/// What an operation is called in the text for other checkers.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name, unless
    pub yes: &'static str,
    /// it answered false.
    pub no: &'static str,
}

impl Case {
    /// A history with the usual plan.
    pub fn new(kind: Kind, processes: u32, operations: u64, values: Values) -> Case {
        let plan = Plan { processes, operations, values, ..Plan::new(Builtin::new(kind)) };
        Case { plan, spoil: None, format: Format::JsonLines, engine: None, memory_mib: None }
    }

    /// The specification as the command line knows it.
    pub fn spec_name(&self) -> String {
        self.plan.spec.kind.name().to_owned()
    }

    /// The values as a table has them.
    pub fn values(&self) -> String {
        match self.plan.values {
            Values::Distinct => "distinct".into(),
            Values::Repeated(n) => n.to_string(),
        }
    }

    /// Writes the file unless it is there; its path.
    pub fn write(&self) -> Result<PathBuf, String> {
        let ending = if self.format == Format::Binary { "lin" } else { "jsonl" };
        self.file(ending, |plan, out| self.write_rows(plan, out))
    }

    fn write_rows(&self, plan: &Plan, out: &mut dyn Write) -> Result<(), String> {
        let said = |error: std::io::Error| error.to_string();
        if self.format == Format::JsonLines {
            let signature = plan.spec.signature().clone();
            let mut trouble = None;
            generate::generate(plan, self.spoil, &mut Symbols::new(), |symbols, op| {
                if let Err(error) = formats::write_row(symbols, &signature, &op, out) {
                    trouble = Some(error);
                }
            })
            .map_err(|error| error.to_string())?;
            return trouble.map_or(Ok(()), |error| Err(said(error)));
        }
        let (history, _): (History, _) =
            generate::history(plan, self.spoil).map_err(|error| error.to_string())?;
        formats::write(self.format, &history, plan.spec.signature(), out).map_err(said)
    }

    /// Writes the plain text that other checkers are given: a line `# type`, then `method [key] value call return process` a
    /// line, with −1 for null. Priorities are turned round where the least leaves first.
    pub fn write_text(&self, kind: &str, methods: &[Method]) -> Result<PathBuf, String> {
        self.file("txt", |plan, out| {
            let mut trouble = writeln!(out, "# {kind}").err();
            let turned = plan.spec.kind == Kind::PriorityQueue;
            let number = |id: ValueId| match id.small().map(i64::from) {
                Some(n) if turned => (1 << 31) - n,
                Some(n) => n,
                None => -1,
            };
            let mut line = |op: Operation| {
                let value = if op.arg.is_null() { op.result } else { op.arg };
                let key = if plan.keys > 0 { format!("{} ", op.key.0) } else { String::new() };
                let Method { yes, no } = methods[usize::from(op.op().0)];
                let method = if op.result == ValueId::FALSE { no } else { yes };
                let (value, process) = (number(value), op.process().0);
                writeln!(out, "{method} {key}{value} {} {} {process}", op.call, op.ret)
            };
            generate::generate(plan, self.spoil, &mut Symbols::new(), |_, op| {
                if let Err(error) = line(op) {
                    trouble = Some(error);
                }
            })
            .map_err(|error| error.to_string())?;
            trouble.map_or(Ok(()), |error| Err(error.to_string()))
        })
    }

    fn file(
        &self,
        ending: &str,
        fill: impl FnOnce(&Plan, &mut dyn Write) -> Result<(), String>,
    ) -> Result<PathBuf, String> {
        let folder = super::target().join("bench");
        let path = folder.join(format!("{}.{ending}", self.name()));
        if path.exists() {
            return Ok(path);
        }
        let said = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(&folder).map_err(said)?;
        // Under another name until it is whole.
        let part = path.with_extension("part");
        let mut out = BufWriter::with_capacity(1 << 18, File::create(&part).map_err(said)?);
        fill(&self.plan, &mut out)?;
        out.flush().map_err(said)?;
        fs::rename(&part, &path).map_err(said)?;
        Ok(path)
    }

    /// Names everything that makes this file differ from others.
    fn name(&self) -> String {
        let plan = &self.plan;
        let mut name = format!(
            "{}-{}-p{}-{}",
            self.spec_name(),
            super::short(plan.operations),
            plan.processes,
            self.values()
        );
        let mut add = |set: bool, text: String| {
            if set {
                name.push('-');
                name.push_str(&text);
            }
        };
        add(plan.add_share > 0.5, format!("adds{}", (plan.add_share * 100.0).round()));
        add(plan.bursts, "bursts".into());
        add(plan.long_open > 0, format!("open{}", plan.long_open));
        add(plan.trailing_pending > 0, format!("timeouts{}", plan.trailing_pending));
        add(plan.keys > 0, format!("keys{}", plan.keys));
        add(self.spoil.is_some(), "spoiled".into());
        name
    }
}
