//! A published crate: its sources, and how its loom tests are built.
//!
//! Most crates say it themselves: their manifest names a cfg in which loom is a dependency, a feature `loom` where there is
//! one, and the features without which a test is not built. What they cannot say is which other features their tests
//! need; that is in [`HABITS`], as it is in their own CI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_linpoint::patch::Allocator;
use serde_json::Value;

/// What a crate's own CI does beyond the cfg and the feature `loom`.
struct Habit {
    name: &'static str,
    features: &'static [&'static str],
    cfgs: &'static [&'static str],
    /// For both sides.
    preemptions: Option<u32>,
}

const HABITS: &[Habit] = &[
    Habit {
        name: "tokio",
        features: &["full", "test-util"],
        cfgs: &["tokio_unstable"],
        preemptions: Some(2),
    },
    Habit { name: "tokio-util", features: &["full"], cfgs: &["tokio_unstable"], preemptions: Some(2) },
    Habit { name: "maitake-sync", features: &["alloc"], cfgs: &[], preemptions: Some(2) },
    Habit { name: "thingbuf", features: &[], cfgs: &[], preemptions: Some(2) },
    Habit { name: "sharded-slab", features: &[], cfgs: &[], preemptions: Some(2) },
    Habit { name: "oneshot", features: &["std", "async"], cfgs: &[], preemptions: None },
    Habit { name: "moka", features: &["sync"], cfgs: &[], preemptions: None },
    Habit { name: "concurrent-queue", features: &[], cfgs: &[], preemptions: Some(2) },
    Habit { name: "event-listener", features: &[], cfgs: &[], preemptions: Some(2) },
    Habit { name: "async-lock", features: &[], cfgs: &[], preemptions: Some(2) },
];

/// A crate, unpacked.
pub struct Crate {
    pub name: String,
    pub version: String,
    pub folder: PathBuf,
    pub cfgs: Vec<String>,
    /// Options of cargo: features, and the targets that mention loom.
    pub options: Vec<String>,
    pub preemptions: Option<u32>,
    /// For the side of the explorer.
    pub allocator: Allocator,
}

impl Crate {
    /// Takes a crate, `NAME` or `NAME@VERSION`, from the registry.
    pub fn fetch(folder: &Path, name: &str) -> Result<Crate, String> {
        let (name, asked) =
            name.split_once('@').map_or((name, None), |(name, version)| (name, Some(version)));
        let (version, archive) = download(folder, name, asked)?;
        let to = folder.join(format!("{name}-{version}"));
        // Always anew: nothing of an earlier run is to be left.
        _ = fs::remove_dir_all(&to);
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(&archive).arg("-C").arg(folder);
        if !unpack.status().is_ok_and(|status| status.success()) {
            return Err(format!("{} cannot be unpacked", archive.display()));
        }
        let manifest = Manifest::of(&to)?;
        let habit = HABITS.iter().find(|habit| habit.name == name);
        let mut features: Vec<String> =
            habit.map_or(&[][..], |habit| habit.features).iter().map(|&one| one.to_owned()).collect();
        let mut options = Vec::new();
        for target in manifest.targets() {
            options.extend(target.options);
            features.extend(target.features);
        }
        if manifest.has_feature() {
            features.push("loom".to_owned());
        }
        features.sort();
        features.dedup();
        if !features.is_empty() {
            options.extend(["--features".to_owned(), features.join(",")]);
        }
        let mut cfgs = manifest.cfgs(&to);
        cfgs.extend(habit.map_or(&[][..], |habit| habit.cfgs).iter().map(|&cfg| cfg.to_owned()));
        let preemptions = habit.and_then(|habit| habit.preemptions);
        Ok(Crate {
            name: name.to_owned(),
            version,
            folder: to,
            cfgs,
            options,
            preemptions,
            allocator: Allocator::Own,
        })
    }
}

/// Has cargo download a crate; its version, and the archive in cargo's own folder.
fn download(folder: &Path, name: &str, asked: Option<&str>) -> Result<(String, PathBuf), String> {
    let package = folder.join("fetch").join(name);
    let write = |file: &str, text: &str| {
        fs::write(package.join(file), text).map_err(|error| format!("{}: {error}", package.display()))
    };
    fs::create_dir_all(package.join("src")).map_err(|error| error.to_string())?;
    _ = fs::remove_file(package.join("Cargo.lock"));
    let requirement = asked.map_or("*".to_owned(), |version| format!("={version}"));
    write("src/lib.rs", "")?;
    write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"fetch\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n{name} = \
             \"{requirement}\"\n\n[workspace]\n"
        ),
    )?;
    let out = Command::new("cargo").arg("fetch").current_dir(&package).output();
    let out = out.map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !out.status.success() {
        let told = String::from_utf8_lossy(&out.stderr);
        return Err(told
            .lines()
            .find(|line| line.starts_with("error"))
            .unwrap_or("no such crate")
            .to_owned());
    }
    let lock = fs::read_to_string(package.join("Cargo.lock")).map_err(|error| error.to_string())?;
    let versions = lock
        .split("[[package]]")
        .filter(|entry| entry.contains(&format!("name = \"{name}\"\n")))
        .filter_map(|entry| entry.split("version = \"").nth(1)?.split('"').next());
    let version = versions.last().ok_or(format!("{name} is not in the lock file"))?.to_owned();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let caches = home.ok_or("where cargo keeps its downloads is not known")?.join("registry/cache");
    let file = format!("{name}-{version}.crate");
    let caches = fs::read_dir(&caches).map_err(|error| format!("{}: {error}", caches.display()))?;
    let archive = caches.flatten().map(|cache| cache.path().join(&file)).find(|path| path.exists());
    Ok((version, archive.ok_or(format!("cargo did not keep {file}"))?))
}

/// What cargo says of a crate's manifest.
struct Manifest(Value);

/// A target whose sources mention loom.
struct Target {
    options: Vec<String>,
    /// Without which it is not built.
    features: Vec<String>,
}

impl Manifest {
    fn of(folder: &Path) -> Result<Manifest, String> {
        let mut command = Command::new("cargo");
        command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(folder);
        let out = command.output().map_err(|error| format!("cargo cannot be run: {error}"))?;
        let told: Option<Value> = serde_json::from_slice(&out.stdout).ok();
        let package = told.and_then(|told| told.pointer("/packages/0").cloned());
        package.map(Manifest).ok_or_else(|| {
            let told = String::from_utf8_lossy(&out.stderr);
            told.lines().find(|line| line.starts_with("error")).unwrap_or("no manifest").to_owned()
        })
    }

    fn list(&self, name: &str) -> &[Value] {
        self.0.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Its dependencies on loom.
    fn loom(&self) -> impl Iterator<Item = &Value> {
        self.list("dependencies").iter().filter(|one| one["name"] == "loom")
    }

    /// The cfgs in which loom is a dependency. Where it is one without a cfg, `loom` if the sources ask for that.
    fn cfgs(&self, folder: &Path) -> Vec<String> {
        let mut cfgs: Vec<String> = Vec::new();
        for target in self.loom().filter_map(|one| one["target"].as_str()) {
            let words = target.split(|c: char| !c.is_alphanumeric() && c != '_');
            cfgs.extend(words.filter(|word| word.contains("loom")).map(str::to_owned));
        }
        let asks = ["(loom)", "(loom,", " loom)", " loom,"];
        if cfgs.is_empty() && asks.iter().any(|asks| mentions(&folder.join("src"), &[asks])) {
            cfgs.push("loom".to_owned());
        }
        cfgs.sort();
        cfgs.dedup();
        cfgs
    }

    /// Is there a feature `loom`, said or by an optional dependency?
    fn has_feature(&self) -> bool {
        self.0.pointer("/features/loom").is_some()
    }

    /// The library and the tests that mention loom.
    fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        for target in self.list("targets") {
            let Some(path) = target["src_path"].as_str().map(Path::new) else { continue };
            let kind = target.pointer("/kind/0").and_then(Value::as_str).unwrap_or("");
            let name = target["name"].as_str().unwrap_or("").to_owned();
            let options = match kind {
                "test" if mentions(whole(path), &["loom"]) => vec!["--test".to_owned(), name],
                "lib" | "rlib"
                    if path.parent().is_some_and(|folder| mentions(folder, &["loom", "model"])) =>
                {
                    vec!["--lib".to_owned()]
                }
                _ => continue,
            };
            let features = target["required-features"].as_array().map_or(&[][..], Vec::as_slice);
            let features = features.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect();
            targets.push(Target { options, features });
        }
        targets
    }
}

/// The folder of a test that has one of its own.
fn whole(path: &Path) -> &Path {
    let own = |folder: &&Path| {
        path.file_name().is_some_and(|name| name == "main.rs")
            && folder.file_name().is_some_and(|name| name != "tests")
    };
    path.parent().filter(own).unwrap_or(path)
}

/// Is there a source with all these words?
fn mentions(path: &Path, words: &[&str]) -> bool {
    if path.is_dir() {
        return fs::read_dir(path)
            .is_ok_and(|mut all| all.any(|one| one.is_ok_and(|one| mentions(&one.path(), words))));
    }
    path.extension().is_some_and(|extension| extension == "rs")
        && fs::read_to_string(path).is_ok_and(|text| words.iter().all(|word| text.contains(word)))
}
