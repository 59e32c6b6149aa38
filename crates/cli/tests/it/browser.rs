//! Pages in a real browser: each engine's, large ones, and hostile ones.
//!
//! Where there is no Chromium every test says by name that it was skipped; `cargo xtask browser` sets one up, and CI does so first.

mod engines;
mod hostile;
mod large;

use std::path::{Path, PathBuf};

use linpoint_browser::{Browser, Page, Scheme};
use linpoint_report::View;

use crate::run::scratch;

/// A browser, unless there is none.
fn browser(test: &str) -> Option<Browser> {
    if linpoint_browser::find().is_none() {
        eprintln!("SKIPPED {test}: no Chromium on this machine; `cargo xtask browser` sets one up");
        return None;
    }
    Some(Browser::start().expect("the browser starts"))
}

/// Opens a page of a usual screen's size.
#[track_caller]
fn open<'b>(browser: &'b Browser, file: &Path) -> Page<'b> {
    let page = browser.page(1280, 800, Scheme::Light).expect("a page");
    page.open(file).expect("it loads");
    page.wait("performance.getEntriesByName('linpoint-ready').length").expect("it is ready");
    page
}

/// The page must have complained about nothing and asked for nothing.
#[track_caller]
fn check_quiet(page: &Page<'_>) {
    assert_eq!(page.seen(), linpoint_browser::Seen::default());
}

/// Writes the page of a view.
fn write(name: &str, view: &View) -> PathBuf {
    scratch(name, linpoint_report::page::page(view).as_bytes())
}
