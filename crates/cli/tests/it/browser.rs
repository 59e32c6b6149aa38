//! Pages in a real browser: each engine's, large ones, and hostile ones.
//!
//! They need Chromium, which `cargo xtask browser` sets up, as CI does first; `cargo xtask ci --without
//! browser` leaves them out by name.

mod engines;
mod hostile;
mod large;

use std::path::{Path, PathBuf};

use linpoint_browser::{Browser, Page, Scheme};
use linpoint_report::View;

use crate::run::scratch;

/// A browser. Without one nothing here can be tested, so a test without one fails.
#[track_caller]
fn browser() -> Browser {
    let found = linpoint_browser::find();
    assert!(found.is_some(), "this test needs Chromium: `cargo xtask browser` sets it up");
    Browser::start().expect("the browser starts")
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
