//! Sets up the browser that tests of pages need: Debian's Chromium.
//!
//! One on the path is left alone. Otherwise the package is installed, where that is allowed; a browser has more libraries than can be had by taking packages apart. What cannot be had is said, by name;
//! nothing else fails, and every test that needs it says that it was skipped.

use std::process::{Command, Stdio};

/// Sets it up; an error if there is none in the end.
pub fn run() -> Result<(), String> {
    if set_up() { Ok(()) } else { Err("there is no browser: pages cannot be tested".into()) }
}

/// Sets it up, and tells on standard error. Says whether there is one.
pub fn set_up() -> bool {
    if linpoint_browser::find().is_none() {
        install();
    }
    match linpoint_browser::find() {
        Some(path) => {
            eprintln!("   chromium: {}", path.display());
            true
        }
        None => {
            eprintln!(
                "   chromium: MISSING (apt-get cannot install it); every test that needs it is skipped and says so"
            );
            false
        }
    }
}

fn install() {
    let install = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"];
    for words in [&[][..], &["sudo", "--non-interactive"][..]] {
        let run = |more: &[&str]| {
            let all = [words, more].concat();
            let mut command = Command::new(all[0]);
            command.args(&all[1..]).env("DEBIAN_FRONTEND", "noninteractive");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        // Lists that are missing or old are fetched once.
        if run(&install) || (run(&["apt-get", "update"]) && run(&install)) {
            return;
        }
    }
}
