//! A published crate: its sources, and how its loom tests are built.
//!
//! Most crates say it themselves: their manifest names a cfg in which loom is a dependency, and a feature `loom` where there
//! is one. What they cannot say is which other features their tests need; that is in [`HABITS`], as it is in their own CI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a crate's own CI does beyond the cfg and the feature `loom`.
struct Habit {
    name: &'static str,
    features: &'static [&'static str],
    cfgs: &'static [&'static str],
    /// For both sides.
    preemptions: Option<u32>,
}

const HABITS: &[Habit] = &[
    Habit { name: "tokio", features: &["full"], cfgs: &["tokio_unstable"], preemptions: Some(2) },
    Habit { name: "tokio-util", features: &["full"], cfgs: &["tokio_unstable"], preemptions: Some(2) },
    Habit { name: "maitake-sync", features: &["alloc"], cfgs: &[], preemptions: Some(2) },
    Habit { name: "thingbuf", features: &[], cfgs: &[], preemptions: Some(2) },
    Habit { name: "sharded-slab", features: &[], cfgs: &[], preemptions: Some(2) },
    Habit { name: "state", features: &["tls"], cfgs: &[], preemptions: None },
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
        let manifest = fs::read_to_string(to.join("Cargo.toml")).map_err(|error| error.to_string())?;
        let mut options = Vec::new();
        let habit = HABITS.iter().find(|habit| habit.name == name);
        let mut features: Vec<&str> = habit.map_or(&[][..], |habit| habit.features).to_vec();
        if has_feature(&manifest) {
            features.push("loom");
        }
        if !features.is_empty() {
            options.extend(["--features".to_owned(), features.join(",")]);
        }
        options.extend(targets(&to));
        let mut cfgs = cfgs_of(&manifest);
        cfgs.extend(habit.map_or(&[][..], |habit| habit.cfgs).iter().map(|&cfg| cfg.to_owned()));
        let preemptions = habit.and_then(|habit| habit.preemptions);
        Ok(Crate { name: name.to_owned(), version, folder: to, cfgs, options, preemptions })
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

/// The cfgs in which the manifest has dependencies for loom; `loom` if it names none.
fn cfgs_of(manifest: &str) -> Vec<String> {
    let mut cfgs = Vec::new();
    let headers = manifest.lines().filter(|line| line.starts_with("[target.") && line.contains("cfg("));
    for word in headers.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')) {
        if word.ends_with("loom") && word != "loom" && !cfgs.iter().any(|cfg| cfg == word) {
            cfgs.push(word.to_owned());
        }
    }
    if cfgs.is_empty() {
        cfgs.push("loom".to_owned());
    }
    cfgs
}

/// Is there a feature `loom`, said or by an optional dependency?
fn has_feature(manifest: &str) -> bool {
    let section = |name: &str| {
        let from = manifest.split_once(&format!("\n[{name}]\n")).map_or("", |(_, rest)| rest);
        from.split("\n[").next().unwrap_or("").to_owned()
    };
    if section("features").lines().any(|line| line.starts_with("loom =")) {
        return true;
    }
    let named = manifest.contains("\"dep:loom\"");
    let entries = manifest.split("\n[").filter(|entry| {
        let header = entry.lines().next().unwrap_or("");
        header.ends_with("dependencies.loom]") && !header.contains("dev-dependencies")
    });
    !named && entries.into_iter().any(|entry| entry.contains("optional = true"))
}

/// The targets whose sources mention loom: the library, and tests.
fn targets(folder: &Path) -> Vec<String> {
    fn mentions(path: &Path, words: &[&str]) -> bool {
        if path.is_dir() {
            return fs::read_dir(path)
                .is_ok_and(|mut all| all.any(|one| one.is_ok_and(|one| mentions(&one.path(), words))));
        }
        path.extension().is_some_and(|extension| extension == "rs")
            && fs::read_to_string(path).is_ok_and(|text| words.iter().all(|word| text.contains(word)))
    }
    let mut targets = Vec::new();
    if mentions(&folder.join("src"), &["loom", "model"]) {
        targets.push("--lib".to_owned());
    }
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    if manifest.contains("\nautotests = false\n") {
        for entry in manifest.split("\n[[test]]\n").skip(1) {
            let value = |key: &str| {
                let line = entry
                    .lines()
                    .take_while(|line| !line.starts_with('['))
                    .find(|line| line.starts_with(key))?;
                line.split('"').nth(1)
            };
            if let (Some(name), Some(path)) = (value("name ="), value("path ="))
                && mentions(&folder.join(path), &["loom"])
            {
                targets.extend(["--test".to_owned(), name.to_owned()]);
            }
        }
        return targets;
    }
    for test in fs::read_dir(folder.join("tests")).into_iter().flatten().flatten() {
        let path = test.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|_| path.extension().is_some() && mentions(&path, &["loom"])) {
            targets.extend(["--test".to_owned(), name.to_owned()]);
        }
    }
    targets
}
