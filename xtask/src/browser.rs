//! Sets up the browser that tests of pages need: Debian's Chromium.
//!
//! One on the path is left alone. Otherwise the package is installed, where that is allowed; a browser has more libraries than can be had by taking packages apart. What cannot be had is said, by name;
//! tests that need it fail without it, and `cargo xtask ci --without browser` leaves them out.

/// Sets it up; an error if there is none in the end.
pub fn run() -> Result<(), String> {
    if set_up() { Ok(()) } else { Err("there is no browser: pages cannot be tested".into()) }
}

/// Sets it up, and tells on standard error. Says whether there is one.
pub fn set_up() -> bool {
    if linpoint_browser::find().is_none() {
        crate::packages::install(&["chromium", "fonts-dejavu-core"]);
    }
    match linpoint_browser::find() {
        Some(path) => {
            eprintln!("   chromium: {}", path.display());
            true
        }
        None => {
            eprintln!("   chromium: MISSING (apt-get cannot install it)");
            false
        }
    }
}
