//! `cargo linpoint test`: the loom or shuttle tests of a crate under Linpoint's explorer, without an edit.
//!
//! Sets `--cfg loom`, puts `linpoint-loom` in loom's place by a patch on the command line, runs `cargo test`,
//! and prints what became of each model. The build has a folder of its own in the target folder, and the lock
//! file is left as it was.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_linpoint::{patch, record};

const USAGE: &str = "\
Runs the loom or shuttle tests of a crate under Linpoint's explorer, without an edit.

usage: cargo linpoint test [OPTIONS] [options of cargo test] [-- FILTER]
       cargo linpoint replay TOKEN [OPTIONS] [options of cargo test] [-- FILTER]

options:
  --time-limit SECONDS   for each model (60 unless set)
  --preemptions N        at most so many in an execution
  --cfg NAME             to be set beside, or in place of, `loom`: crates that call theirs otherwise
  --no-release           build without optimisation
  --watch-freed          look for uses of freed memory, in tests that have no global allocator of their own";

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    // Cargo passes the name of the command.
    if words.first().is_some_and(|word| word == "linpoint") {
        words.remove(0);
    }
    let asked = match words.first().map(String::as_str) {
        Some("test") => Asked::read(&words[1..], None),
        Some("replay") => match words.get(1).filter(|word| word.starts_with("lp1-")) {
            Some(token) => Asked::read(&words[2..], Some(token.clone())),
            None => Err("replay needs the token that a failure printed: lp1-…".to_owned()),
        },
        Some("--help" | "-h" | "help") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some(other) => Err(format!("there is no command `{other}`: test or replay")),
        None => Err("test or replay?".to_owned()),
    };
    match asked.and_then(|asked| run(&asked)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("cargo linpoint: {why}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// What is asked for.
#[derive(Debug, Default)]
struct Asked {
    token: Option<String>,
    seconds: Option<u64>,
    preemptions: Option<u64>,
    cfgs: Vec<String>,
    debug: bool,
    allocator: patch::Allocator,
    manifest: Option<PathBuf>,
    /// What is for `cargo test`.
    rest: Vec<String>,
}

impl Asked {
    fn read(words: &[String], token: Option<String>) -> Result<Asked, String> {
        let mut asked = Asked { token, ..Asked::default() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, mut value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let mut value = |what: &str| {
                value.take().or_else(|| words.next().cloned()).ok_or(format!("{name} needs {what}"))
            };
            let mut number = || {
                let text = value("a number")?;
                text.parse().map_err(|_| format!("{name} needs a whole number, not `{text}`"))
            };
            match name {
                "--time-limit" => asked.seconds = Some(number()?),
                "--preemptions" => asked.preemptions = Some(number()?),
                "--cfg" => asked.cfgs.push(value("a name")?),
                "--no-release" => asked.debug = true,
                "--watch-freed" => asked.allocator = patch::Allocator::Explorers,
                "--release" => {}
                "--target-dir" => {
                    return Err(
                        "the build has a folder of its own in the target folder; set CARGO_TARGET_DIR".into(),
                    );
                }
                "--manifest-path" => {
                    let path = value("a file")?;
                    asked.manifest = Some(PathBuf::from(&path));
                    asked.rest.extend([name.to_owned(), path]);
                }
                "--" => {
                    asked.rest.push(word.clone());
                    asked.rest.extend(words.by_ref().cloned());
                }
                _ => asked.rest.push(word.clone()),
            }
        }
        Ok(asked)
    }

    /// The flags for the compiler: what the environment says, and the cfgs; `loom` where none is named, unless the tests are
    /// written for shuttle.
    fn flags(&self, for_shuttle: bool) -> String {
        let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        let loom = ["loom".to_owned()];
        for cfg in if self.cfgs.is_empty() && !for_shuttle { &loom[..] } else { &self.cfgs[..] } {
            flags.push_str(&format!(" --cfg {cfg}"));
        }
        flags.trim_start().to_owned()
    }
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The folder of the workspace.
fn root(asked: &Asked) -> Result<PathBuf, String> {
    let mut command = Command::new(cargo());
    command.args(["locate-project", "--workspace", "--message-format", "plain"]);
    if let Some(manifest) = &asked.manifest {
        command.arg("--manifest-path").arg(manifest);
    }
    let out = command.output().map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).trim().to_owned());
    }
    let manifest = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim());
    manifest.parent().map(Path::to_owned).ok_or_else(|| "the manifest is in no folder".to_owned())
}

/// A lock file, put back as it was when this is dropped.
struct Lock {
    file: PathBuf,
    before: Option<String>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Nothing can be done about a file that cannot be written; cargo says so the next time.
        _ = match &self.before {
            Some(text) => fs::write(&self.file, text),
            None => fs::remove_file(&self.file),
        };
    }
}

fn run(asked: &Asked) -> Result<bool, String> {
    let root = root(asked)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = std::path::absolute(target.join("linpoint")).map_err(|error| error.to_string())?;
    let file = root.join("Cargo.lock");
    let lock = Lock { before: fs::read_to_string(&file).ok(), file };
    let before = lock.before.as_deref().unwrap_or("");
    let names = |package: &str| !patch::locked(before, package).is_empty();
    let for_shuttle = names("shuttle") && !names("loom");
    let options = patch::write(&folder, before, &patch::facades(), asked.allocator)
        .map_err(|error| error.to_string())?;
    if let Some((loose, names)) = lock.before.as_deref().and_then(patch::loosen) {
        eprintln!(
            "cargo linpoint: {} too old for linpoint-loom in {}: newer versions are taken for this run",
            names.join(", "),
            lock.file.display()
        );
        fs::write(&lock.file, loose).map_err(|error| format!("{}: {error}", lock.file.display()))?;
    }
    let records = folder.join("models.tsv");
    _ = fs::remove_file(&records);

    let mut command = Command::new(cargo());
    command.arg("test").args(&options).arg("--target-dir").arg(folder.join("target"));
    if !asked.debug {
        command.arg("--release");
    }
    command.args(&asked.rest).env("RUSTFLAGS", asked.flags(for_shuttle)).env("LINPOINT_RECORD", &records);
    for (name, value) in [("LOOM_MAX_DURATION", asked.seconds), ("LOOM_MAX_PREEMPTIONS", asked.preemptions)] {
        if let Some(value) = value {
            command.env(name, value.to_string());
        }
    }
    if let Some(token) = &asked.token {
        command.env("LINPOINT_REPLAY", token);
    }
    let status = command.status().map_err(|error| format!("cargo cannot be run: {error}"))?;
    drop(lock);
    let mut models = record::read(&fs::read_to_string(&records).unwrap_or_default());
    if asked.token.is_some() {
        models.retain(|model| model.outcome != "skipped");
    }
    if !models.is_empty() {
        println!("\n{}", record::Table(&models));
    } else if status.success() && !for_shuttle {
        println!("\nno model was run: are there tests behind `cfg(loom)`, and does the filter name one?");
    }
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Asked, String> {
        Asked::read(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), None)
    }

    #[test]
    fn what_is_not_ours_goes_to_cargo_test() {
        let asked =
            read(&["--time-limit", "5", "-p", "one", "--preemptions=2", "--", "--time-limit", "x"]).unwrap();
        assert_eq!((asked.seconds, asked.preemptions), (Some(5), Some(2)));
        assert_eq!(asked.rest, ["-p", "one", "--", "--time-limit", "x"]);
        assert!(asked.flags(false).ends_with("--cfg loom"));
        assert!(!asked.flags(true).contains("--cfg loom"));
        assert!(read(&["--cfg", "other"]).unwrap().flags(true).ends_with("--cfg other"));
    }

    #[test]
    fn bad_use_gets_a_sentence() {
        assert_eq!(read(&["--time-limit"]).unwrap_err(), "--time-limit needs a number");
        assert_eq!(
            read(&["--time-limit", "long"]).unwrap_err(),
            "--time-limit needs a whole number, not `long`"
        );
        assert!(read(&["--target-dir", "x"]).unwrap_err().contains("folder of its own"));
    }
}
