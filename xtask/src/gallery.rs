//! `cargo xtask gallery`: pictures of six pages, light and dark, into `docs/gallery`.
//!
//! The pages are made by the commands that users give, so that the gallery shows what they get.

use std::path::{Path, PathBuf};
use std::process::Command;

use linpoint_browser::{Browser, BrowserError, Scheme};

/// A page: its name, the command, where to scroll to, and what to do before the picture is taken.
struct Picture {
    name: &'static str,
    command: &'static [&'static str],
    script: &'static str,
}

const SLIDE: &str = "document.getElementById('run').scrollIntoView(); (() => { const range = document.getElementById('run-slider'); range.value = 16; range.dispatchEvent(new Event('input')); })()";

const PICTURES: [Picture; 5] = [
    Picture {
        name: "history",
        command: &["check", "corpus/histories/broken-queue.jsonl", "--spec", "queue"],
        script: "",
    },
    Picture { name: "run", command: &["explore", "corpus/broken/treiber-pop-no-cas.lin"], script: SLIDE },
    Picture {
        name: "heaps",
        command: &["prove", "corpus/correct/michael-scott.lin", "--engine", "shape"],
        script: "(() => { const range = document.getElementById('shape-slider'); range.value = 9; range.dispatchEvent(new Event('input')); })()",
    },
    Picture {
        name: "proof",
        command: &["prove", "corpus/broken/multiset-lookup-no-lock.lin"],
        script: "document.querySelector('#proof button.no').click(); document.getElementById('proof').scrollIntoView(); document.querySelector('#proof .tall').scrollTop = 380",
    },
    Picture { name: "views", command: &["refine", LOG, "--view"], script: "" },
];

/// The log that the tour leaves behind, from the root.
const LOG: &str = "target/gallery/counts.linlog";

/// Wide enough for two columns, small enough for a README.
const SIZE: (u32, u32) = (1180, 760);

/// Makes all pictures.
pub fn run() -> Result<(), String> {
    if !crate::browser::set_up() {
        return Err("there is no browser to take pictures with".into());
    }
    let work = crate::root().join("target").join("gallery");
    let out = crate::root().join("docs").join("gallery");
    for folder in [&work, &out] {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    // The tour leaves a log of a monitored program behind.
    let to = work.display().to_string();
    cargo(&["run", "--quiet", "--package", "linpoint-cli", "--", "tour", "--no-pause", "--to", &to])?;
    let browser = Browser::start().map_err(|error| error.to_string())?;
    for picture in &PICTURES {
        let page = work.join(format!("{}.html", picture.name));
        let path = page.display().to_string();
        let log = work.join("counts.linlog").display().to_string();
        let words =
            picture.command.iter().map(|word| if *word == "counts.linlog" { log.as_str() } else { word });
        let words: Vec<&str> = words.chain(["--report", &path]).collect();
        let _ = std::fs::remove_file(&page);
        // A violation is what is wanted, and an exit code other than zero.
        let _ = cargo(&[&["run", "--quiet", "--package", "linpoint-cli", "--"][..], &words].concat());
        take(&browser, &page, picture.name, picture.script, &out)?;
    }
    let code = work.join("code.html");
    let path = code.display().to_string();
    cargo(&["run", "--quiet", "--package", "linpoint", "--example", "page", "--", &path])?;
    take(&browser, &code, "claim", "document.getElementById('run').scrollIntoView()", &out)
}

fn take(browser: &Browser, page: &Path, name: &str, script: &str, out: &Path) -> Result<(), String> {
    for (scheme, suffix) in [(Scheme::Light, "light"), (Scheme::Dark, "dark")] {
        let file = out.join(format!("{name}-{suffix}.png"));
        let bytes = shot(browser, page, scheme, script).map_err(|error| format!("{name}: {error}"))?;
        std::fs::write(&file, &bytes).map_err(|error| format!("{}: {error}", file.display()))?;
        println!("{} {} kB", relative(&file).display(), bytes.len() / 1000);
    }
    Ok(())
}

fn shot(browser: &Browser, page: &Path, scheme: Scheme, script: &str) -> Result<Vec<u8>, BrowserError> {
    let tab = browser.page(SIZE.0, SIZE.1, scheme)?;
    tab.open(page)?;
    tab.wait("performance.getEntriesByName('linpoint-ready').length")?;
    if !script.is_empty() {
        tab.value(&format!("{script}; 1"))?;
    }
    // Two frames: one to lay out, one to paint.
    tab.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")?;
    tab.picture()
}

fn relative(path: &Path) -> PathBuf {
    path.strip_prefix(crate::root()).map_or_else(|_| path.to_owned(), Path::to_path_buf)
}

fn cargo(args: &[&str]) -> Result<(), String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // As tests are built, so that nothing is built twice.
    let (verb, rest) = args.split_first().ok_or("nothing to run")?;
    command
        .args([verb, "--profile", "test"])
        .args(rest)
        .current_dir(crate::root())
        .stdout(std::process::Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {}: {status}", args.join(" "))),
        Err(error) => Err(format!("cargo does not start: {error}")),
    }
}
