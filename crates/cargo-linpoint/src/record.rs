//! What models write of themselves when they are over, read again: one line each, fields separated by tabs.

use std::fmt;

/// A model that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The test it is in.
    pub name: String,
    /// Where in the source.
    pub site: String,
    /// `covered`, `cut`, `failed`, `refused` or `skipped`.
    pub outcome: String,
    /// How many executions were made.
    pub executions: u64,
    /// How long they took.
    pub milliseconds: u64,
    /// What was covered, or what is wrong, in words.
    pub coverage: String,
}

/// The models that a file tells of; lines that tell of none are left out.
pub fn read(text: &str) -> Vec<Model> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Model> {
    let mut fields = line.splitn(6, '\t');
    let mut next = || fields.next().map(str::to_owned);
    Some(Model {
        name: next()?,
        site: next()?,
        outcome: next()?,
        executions: next()?.parse().ok()?,
        milliseconds: next()?.parse().ok()?,
        coverage: next()?,
    })
}

/// Models as a table, and one line that sums them up.
pub struct Table<'a>(pub &'a [Model]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models = self.0;
        let width = models.iter().map(|model| model.name.chars().count()).max().unwrap_or(0).max(5);
        writeln!(f, "{:width$}  {:>10}  {:>8}  coverage", "model", "executions", "time")?;
        for Model { name, executions, milliseconds, coverage, .. } in models {
            let seconds = *milliseconds as f64 / 1e3;
            writeln!(f, "{name:width$}  {executions:>10}  {seconds:>6.2} s  {coverage}")?;
        }
        let count = |outcome: &str| models.iter().filter(|model| model.outcome == outcome).count();
        write!(f, "{} models: {} covered", models.len(), count("covered"))?;
        for (outcome, words) in [
            ("cut", "with nothing wrong in a part"),
            ("failed", "failed"),
            ("refused", "that cannot be explored"),
            ("skipped", "not run"),
        ] {
            if count(outcome) > 0 {
                write!(f, ", {} {words}", count(outcome))?;
            }
        }
        f.write_str("; memory sequentially consistent")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_model() {
        let text = "tests::one\tsrc/lib.rs:3:5\tcovered\t12\t1500\tevery schedule (12 runs)\nnonsense\n\
                    two\ta.rs:1:1\tcut\t7\t9\t7 schedules\n";
        let models = read(text);
        assert_eq!(models.len(), 2);
        assert_eq!(models[0].executions, 12);
        let table = Table(&models).to_string();
        assert!(table.contains("tests::one          12    1.50 s  every schedule (12 runs)"), "{table}");
        assert!(table.ends_with(
            "2 models: 1 covered, 1 with nothing wrong in a part; memory sequentially consistent"
        ));
    }
}
