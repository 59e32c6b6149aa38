//! Drives a headless Chromium: opens pages, clicks, types, looks, takes pictures.
//!
//! The protocol is that of the developer tools, spoken over a pair of pipes (`--remote-debugging-pipe`):
//! messages are JSON with a zero byte at the end, so that neither a port nor a library is needed. A shell
//! puts the pipes where the browser wants them, at the numbers 3 and 4.
//!
//! Only tests and the gallery use this crate; nothing of the product does.

mod page;
mod pipe;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};
use thiserror::Error;

pub use page::{Key, Page, Scheme, Seen};
use pipe::Pipe;

/// Why the browser did not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BrowserError {
    /// There is no browser on this machine.
    #[error("no Chromium was found on the path; `cargo xtask browser` sets one up")]
    Missing,
    /// It could not be started.
    #[error("the browser does not start")]
    Start(#[from] std::io::Error),
    /// It answered with an error.
    #[error("{method}: {message}")]
    Refused {
        /// What was asked.
        method: String,
        /// What it said.
        message: String,
    },
    /// It said nothing for a long time, or went away.
    #[error("{method}: no answer")]
    Silent {
        /// What was asked.
        method: String,
    },
    /// A script threw an exception.
    #[error("the script failed: {0}")]
    Script(String),
}

/// The names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Where a browser is, if there is one.
pub fn find() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&paths).collect();
    NAMES.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()))
}

/// A running browser; it ends when this is dropped.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    pipe: Pipe,
    profile: PathBuf,
}

impl Browser {
    /// Starts the browser that is on the path, with a profile of its own.
    ///
    /// # Errors
    /// Where there is none, or it does not start.
    pub fn start() -> Result<Browser, BrowserError> {
        let program = find().ok_or(BrowserError::Missing)?;
        let profile = std::env::temp_dir().join(format!(
            "linpoint-browser-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let _ = std::fs::remove_dir_all(&profile);
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null", "sh"])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                // Pages of tests are our own; containers have no user namespaces.
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--no-default-browser-check",
                "--disable-background-networking",
                "--disable-component-update",
                "--force-color-profile=srgb",
                "--lang=en",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(BrowserError::Silent { method: "start".into() });
        };
        let browser = Browser { child, pipe: Pipe::new(to, from), profile };
        browser.pipe.ask("Browser.getVersion", json!({}), None)?;
        Ok(browser)
    }

    /// An empty page of so many pixels.
    ///
    /// # Errors
    /// Where the browser refuses.
    pub fn page(&self, width: u32, height: u32, scheme: Scheme) -> Result<Page<'_>, BrowserError> {
        let made = self.pipe.ask("Target.createTarget", json!({"url": "about:blank"}), None)?;
        let attach = json!({"targetId": made["targetId"], "flatten": true});
        let attached = self.pipe.ask("Target.attachToTarget", attach, None)?;
        let session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        let target = made["targetId"].as_str().unwrap_or_default().to_owned();
        let page = Page::new(&self.pipe, session, target);
        page.prepare(width, height, scheme)?;
        Ok(page)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _: Result<Json, _> = self.pipe.ask("Browser.close", json!({}), None);
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
