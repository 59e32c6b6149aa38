//! Debian packages, where installing is allowed: as the user is, or through `sudo` without a question.

use std::process::{Command, Stdio};

/// Installs packages; what cannot be installed is for the caller to notice.
pub fn install(packages: &[&str]) {
    let install = [&["apt-get", "install", "--yes", "--no-install-recommends"], packages].concat();
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
