//! Builds a crate's tests on both sides, and runs them one by one.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cargo_linpoint::{patch, record};

use super::Options;
use super::crates::Crate;
use super::table::{End, Model, Side, Suite};

/// Under which of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Under {
    Loom,
    Ours,
}

/// With which checks the code is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Release,
    /// For crates whose tests are not built, or not right, without the assertions of a debug build.
    ReleaseWithAssertions,
}

/// A test of a binary.
pub struct Test {
    binary: PathBuf,
    pub name: String,
}

/// What a process came to.
struct Ran {
    end: End,
    /// Of the processor: others may be busy on the machine.
    time: Duration,
    text: String,
}

/// Runs a crate on both sides.
pub fn run(folder: &Path, one: &Crate, options: &Options) -> Suite {
    let (profile, ours) = match build_ours(folder, one) {
        Ok(built) => built,
        Err(why) => return Suite::not_built(&one.name, &one.version, &format!("under linpoint-loom: {why}")),
    };
    let theirs =
        if options.ours_only { Ok(Vec::new()) } else { build_tests(folder, one, Under::Loom, profile) };
    let theirs = match theirs {
        Ok(tests) => tests,
        Err(why) => return Suite::not_built(&one.name, &one.version, &format!("under loom: {why}")),
    };
    let mut models = Vec::new();
    let (mut spent, mut spent_loom) = (Duration::ZERO, Duration::ZERO);
    for test in &ours {
        let Some(left) = options.suite.checked_sub(spent) else {
            models.push(Model { name: test.name.clone(), ours: Side::not_run(), loom: Side::not_run() });
            continue;
        };
        let Some(ours) = ours_of(folder, one, test, options.test.min(left)) else { continue };
        spent += ours.time;
        let left = options.suite.checked_sub(spent_loom);
        let loom = theirs.iter().find(|other| other.name == test.name).zip(left);
        let loom = loom.map_or_else(Side::not_run, |(test, left)| loom_of(one, test, options.test.min(left)));
        spent_loom += loom.time;
        let model = Model { name: test.name.clone(), ours, loom };
        eprintln!("  {model}");
        models.push(model);
    }
    Suite { name: one.name.clone(), version: one.version.clone(), models, not_built: None }
}

/// Builds the tests with the explorer, with the assertions of a debug build where they are not built otherwise.
pub fn build_ours(folder: &Path, one: &Crate) -> Result<(Profile, Vec<Test>), String> {
    let build = |profile| build_tests(folder, one, Under::Ours, profile).map(|tests| (profile, tests));
    build(Profile::Release).or_else(|why| build(Profile::ReleaseWithAssertions).map_err(|_| why))
}

/// Builds the tests on one side.
pub fn build_tests(folder: &Path, one: &Crate, under: Under, profile: Profile) -> Result<Vec<Test>, String> {
    build(folder, one, under, profile).and_then(|binaries| tests(one, &binaries))
}

/// A test under the explorer; nothing if it makes no model.
pub fn ours_of(folder: &Path, one: &Crate, test: &Test, limit: Duration) -> Option<Side> {
    let file = folder.join("record.tsv");
    _ = fs::remove_file(&file);
    let mut command = command(one, test);
    let seconds = limit.as_secs().max(1);
    command.env("LINPOINT_RECORD", &file).env("LOOM_MAX_DURATION", seconds.to_string());
    // A test may have several models, each with the limit.
    let ran = timed(command, limit * 3 + Duration::from_secs(30));
    let models = record::read(&fs::read_to_string(&file).unwrap_or_default());
    if models.is_empty() && ran.end == End::Passed {
        return None;
    }
    let whole = models.iter().all(|model| model.outcome == "covered");
    let end = match ran.end {
        End::Passed if !whole => End::Cut,
        end => end,
    };
    let executions = models.iter().map(|model| model.executions).sum();
    let words = match end {
        End::Passed => String::new(),
        End::Cut => models
            .iter()
            .find(|model| model.outcome == "cut")
            .map_or(String::new(), |one| one.coverage.clone()),
        _ => keep_text(folder, one, test, &ran.text),
    };
    Some(Side { end, time: ran.time, executions: Some(executions), words })
}

/// Keeps what a failing test said, and returns the first line of why.
fn keep_text(folder: &Path, one: &Crate, test: &Test, text: &str) -> String {
    let file = folder.join("failures").join(&one.name).join(format!("{}.txt", test.name.replace("::", ".")));
    if let Some(parent) = file.parent() {
        _ = fs::create_dir_all(parent);
    }
    _ = fs::write(file, text);
    let told = text.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
    let told =
        told.or_else(|| text.lines().find(|line| line.starts_with("error") || line.contains("linpoint")));
    told.unwrap_or("it ended without a word").chars().take(300).collect()
}

/// How a test ends under loom.
pub fn end_under_loom(one: &Crate, test: &Test, limit: Duration) -> End {
    timed(command(one, test), limit).end
}

/// A test under loom. Its executions are counted by a second run, where the first was short: counting takes time.
fn loom_of(one: &Crate, test: &Test, limit: Duration) -> Side {
    let ran = timed(command(one, test), limit);
    let mut executions = None;
    if ran.end == End::Passed && ran.time < Duration::from_secs(10) {
        let mut command = command(one, test);
        command.env("LOOM_LOG", "loom::model=info");
        executions = completed(&timed(command, limit).text);
    }
    let words = match ran.end {
        End::Failed => {
            ran.text.lines().skip_while(|line| !line.contains("panicked at")).nth(1).unwrap_or("").to_owned()
        }
        _ => String::new(),
    };
    Side { end: ran.end, time: ran.time, executions, words }
}

/// The sum of the executions that loom says it completed in.
fn completed(text: &str) -> Option<u64> {
    let counts = text.split("Completed in ").skip(1);
    let counts = counts.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    counts.reduce(|a, b| a + b)
}

fn command(one: &Crate, test: &Test) -> Command {
    let mut command = Command::new(&test.binary);
    command
        .args(["--exact", &test.name, "--nocapture", "--include-ignored", "--test-threads", "1"])
        .current_dir(&one.folder);
    command.env("CARGO_MANIFEST_DIR", &one.folder);
    if let Some(bound) = one.preemptions {
        command.env("LOOM_MAX_PREEMPTIONS", bound.to_string());
    }
    command
}

/// Runs a process for at most so long, by the time of the processor; a shell counts it.
fn timed(command: Command, limit: Duration) -> Ran {
    let started = Instant::now();
    let times = std::env::temp_dir().join(format!("linpoint-suite-times-{}", std::process::id()));
    let script = format!(
        "ulimit -t {}; TIMEFORMAT='%U %S'; {{ time \"$0\" \"$@\" 2>&3; }} 3>&2 2>{}",
        limit.as_secs().max(1),
        times.display()
    );
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).process_group(0);
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    let mut command = shell;
    let lost =
        |error: std::io::Error| Ran { end: End::Failed, time: Duration::ZERO, text: error.to_string() };
    let file = std::env::temp_dir().join(format!("linpoint-suite-{}", std::process::id()));
    let out = match fs::File::create(&file).and_then(|out| Ok((out.try_clone()?, out))) {
        Ok((out, err)) => command.stdin(Stdio::null()).stdout(out).stderr(err).spawn(),
        Err(error) => return lost(error),
    };
    let mut child = match out {
        Ok(child) => child,
        Err(error) => return lost(error),
    };
    let end = loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break End::Passed,
            // The signal by which the limit ends a process, as the shell says it.
            Ok(Some(status)) if matches!(status.code(), Some(137 | 152)) => break End::NotFinished,
            Ok(Some(_)) | Err(_) => break End::Failed,
            Ok(None) if started.elapsed() > limit * 10 => {
                // It may have ended meanwhile.
                _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
                _ = child.wait();
                break End::NotFinished;
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(if started.elapsed().as_millis() < 500 {
                1
            } else {
                20
            })),
        }
    };
    let spent = fs::read_to_string(&times).unwrap_or_default();
    let seconds: Vec<f64> = spent.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let time = match (end, seconds.as_slice()) {
        (End::NotFinished, _) => limit,
        (_, [.., user, system]) => Duration::from_secs_f64(user + system),
        _ => started.elapsed(),
    };
    _ = fs::remove_file(&times);
    let text = fs::read(&file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    _ = fs::remove_file(&file);
    Ran { end, time, text }
}

/// Tools for benchmarks and the like, which crates have among the dependencies of their tests: to optimise them takes longer
/// than everything else.
const TOOLS: &[&str] = &[
    "aho-corasick",
    "ciborium",
    "clap",
    "clap_builder",
    "clap_lex",
    "criterion",
    "criterion-plot",
    "half",
    "itertools",
    "plotters",
    "plotters-svg",
    "rayon",
    "rayon-core",
    "regex",
    "regex-automata",
    "regex-syntax",
    "serde",
    "serde_core",
    "serde_json",
    "zerocopy",
    "proptest",
    "rand",
    "rand_chacha",
    "syn",
    "futures-util",
    "nix",
    "memchr",
    "walkdir",
    "tempfile",
    "rustix",
];

/// Builds the tests, and returns the binaries.
fn build(folder: &Path, one: &Crate, under: Under, profile: Profile) -> Result<Vec<PathBuf>, String> {
    let file = one.folder.join("Cargo.lock");
    let lock = fs::read_to_string(&file).ok();
    let mut command = Command::new("cargo");
    command.args(["test", "--no-run", "--release", "--message-format", "json"]).args(&one.options);
    for tool in TOOLS {
        command.args(["--config", &format!("profile.release.package.{tool:?}.opt-level=0")]);
    }
    if profile == Profile::ReleaseWithAssertions {
        command.args(["--config", &format!("profile.release.package.{:?}.debug-assertions=true", one.name)]);
    }
    let target = match under {
        Under::Loom => folder.join("with-loom"),
        Under::Ours => folder.join("with-linpoint"),
    };
    if under == Under::Ours {
        let text = lock.as_deref().unwrap_or("");
        let options = patch::write(&folder.join("patch"), text, &patch::facades(), one.allocator);
        command.args(options.map_err(|error| error.to_string())?);
        if let Some((loose, _)) = patch::loosen(text) {
            fs::write(&file, loose).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    let flags: Vec<_> = one.cfgs.iter().map(|cfg| format!("--cfg {cfg}")).collect();
    command.arg("--target-dir").arg(target).current_dir(&one.folder).env("RUSTFLAGS", flags.join(" "));
    let out = command.output().map_err(|error| format!("cargo cannot be run: {error}"))?;
    if under == Under::Ours {
        let restored = match lock {
            Some(text) => fs::write(&file, text),
            None => fs::remove_file(&file),
        };
        restored.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if !out.status.success() {
        let told = [&out.stderr[..], &rendered(&out.stdout)].concat();
        let told = String::from_utf8_lossy(&told);
        let log = folder.join(format!(
            "{}-{}.log",
            one.name,
            if under == Under::Ours { "linpoint" } else { "loom" }
        ));
        _ = fs::write(&log, told.as_bytes());
        let first = told.lines().find(|line| line.starts_with("error"));
        return Err(first.unwrap_or("the build failed").to_owned());
    }
    let messages = String::from_utf8_lossy(&out.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let binary = |message: serde_json::Value| {
        let tests = message.pointer("/profile/test")?.as_bool()?;
        message.get("executable")?.as_str().filter(|_| tests).map(PathBuf::from)
    };
    Ok(messages.filter_map(binary).collect())
}

/// What the compiler said.
fn rendered(messages: &[u8]) -> Vec<u8> {
    let messages = String::from_utf8_lossy(messages);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    messages
        .filter_map(|message| Some(message.pointer("/message/rendered")?.as_str()?.to_owned()))
        .collect::<String>()
        .into_bytes()
}

/// The tests of some binaries.
fn tests(one: &Crate, binaries: &[PathBuf]) -> Result<Vec<Test>, String> {
    let mut tests = Vec::new();
    for binary in binaries {
        let out = Command::new(binary).arg("--list").current_dir(&one.folder).output();
        let out = out.map_err(|error| format!("{}: {error}", binary.display()))?;
        let list = String::from_utf8_lossy(&out.stdout);
        let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
        tests.extend(names.map(|name| Test { binary: binary.clone(), name: name.to_owned() }));
    }
    Ok(tests)
}
