//! The page of each engine: it loads in silence, shows at once what is wrong, says why when asked, and can be
//! used with keys alone.

use std::path::PathBuf;

use linpoint_browser::{Key, Page};

use super::{browser, check_quiet, open};
use crate::run::{linpoint, scratch};

/// Runs the command with `--report`, and gives the page.
#[track_caller]
fn page_of(name: &str, args: &[&str], code: i32) -> PathBuf {
    let file = scratch(&format!("{name}.html"), b"");
    let path = file.display().to_string();
    let ran = linpoint(&[args, &["--report", &path]].concat(), b"");
    assert_eq!(ran.code, code, "{}", ran.err);
    let size = std::fs::metadata(&file).expect("a page").len();
    assert!(size < 300_000, "{name} has {size} bytes");
    file
}

/// Is an element in the window, all of it?
#[track_caller]
fn is_in_sight(page: &Page<'_>, selector: &str) {
    let inside = page.value(&format!(
        "(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect(); return box.width > 0 && box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth; }})()"
    ));
    assert_eq!(inside.expect("a box"), serde_json::json!(true), "{selector} is in sight without scrolling");
}

#[test]
fn a_history_shows_the_impossible_operation_and_why() {
    let browser = browser();
    let file = page_of("check", &["check", "corpus/histories/broken-queue.jsonl", "--spec", "queue"], 1);
    let page = open(&browser, &file);
    is_in_sight(&page, "#impossible-mark");
    // Another is chosen first, so that the click has something to show.
    page.value("linpoint.history.select(linpoint.history.which[0])").expect("chosen");
    assert!(
        !page.text("document.getElementById('history-detail').textContent").expect("text").contains("Why")
    );
    page.click_on("#impossible-mark").expect("a click");
    let why = page.text("document.getElementById('why').textContent").expect("the reason");
    assert!(why.contains("3 was enqueued before 4 and had not left"), "{why}");
    // The bar itself, beside its mark.
    page.value("linpoint.history.select(linpoint.history.which[0])").expect("chosen");
    let at = page
        .value("(() => { const h = linpoint.history, i = h.h.impossible, box = h.canvas.getBoundingClientRect(); return [box.left + h.margin + (h.layout.left[i] + 2 - h.x) * h.zoomed, box.top + h.rowOf[h.h.lane[i]] * 40 - h.y + 26]; })()")
        .expect("its place");
    page.click(at[0].as_f64().expect("x"), at[1].as_f64().expect("y")).expect("a click");
    assert!(page.value("!!document.getElementById('why')").expect("a look") == serde_json::json!(true));
    // As far as it can be explained, step by step.
    let shown = "document.querySelector('#orders li.now').textContent";
    let end = page.text(shown).expect("the last step");
    page.click_on("#orders .slide button").expect("one back");
    assert_ne!(page.text(shown).expect("the step before"), end);
    assert!(
        page.text("document.querySelector('#orders li.stuck').textContent")
            .expect("text")
            .contains("it would answer 3")
    );
    check_quiet(&page);
}

#[test]
fn a_run_of_a_model_moves_its_memory() {
    let browser = browser();
    let file = page_of("explore", &["explore", "corpus/broken/treiber-pop-no-cas.lin"], 1);
    let page = open(&browser, &file);
    is_in_sight(&page, "#impossible-mark");
    let drawn =
        "document.getElementById('heap').innerHTML + document.getElementById('variables').textContent";
    let mut states = std::collections::BTreeSet::new();
    for step in [0, 5, 16, 18] {
        page.value(&format!(
            "(() => {{ const range = document.getElementById('run-slider'); range.value = {step}; range.dispatchEvent(new Event('input')); }})()"
        ))
        .expect("the slider moves");
        states.insert(page.text(drawn).expect("what is drawn"));
    }
    assert_eq!(states.len(), 4, "each of these steps changes what is drawn");
    let changed =
        page.value("document.querySelectorAll('#heap .chgd, #heap .new, #variables .changed').length");
    assert!(changed.expect("a number").as_u64() > Some(0), "what changed stands out");
    assert_eq!(page.text("document.querySelectorAll('.source .at').length").expect("a number"), "1");
    check_quiet(&page);
}

#[test]
fn an_abstract_heap_is_drawn_for_each_place() {
    let browser = browser();
    let file = page_of("shape", &["prove", "corpus/correct/treiber.lin", "--engine", "shape"], 0);
    let page = open(&browser, &file);
    is_in_sight(&page, "#shape");
    let first = page.text("document.getElementById('shape').innerHTML").expect("a drawing");
    page.value("document.getElementById('shape-slider').focus()").expect("focus");
    page.press(Key::Right).expect("a key");
    assert_ne!(page.text("document.getElementById('shape').innerHTML").expect("a drawing"), first);
    check_quiet(&page);
}

#[test]
fn a_proof_shows_its_table_and_what_breaks_it() {
    let browser = browser();
    let file = page_of("obligations", &["prove", "corpus/broken/multiset-lookup-no-lock.lin"], 1);
    let page = open(&browser, &file);
    let button = page.text("document.querySelector('#proof button.no').textContent").expect("an open cell");
    assert!(button.contains('✗'));
    page.value("document.getElementById('countermodel').replaceChildren()").expect("emptied");
    page.value("document.querySelector('#proof button.no').scrollIntoView({block: 'center'})")
        .expect("scrolled");
    page.click_on("#proof button.no").expect("a click");
    let model = page.text("document.getElementById('countermodel').textContent").expect("a state");
    assert!(model.contains("Shared memory") && model.contains("effect"), "{model}");
    check_quiet(&page);
}

#[test]
fn real_code_shows_its_schedule_and_claims() {
    let browser = browser();
    use linpoint::sync::Arc;
    use linpoint::sync::atomic::{AtomicUsize, Ordering};
    let explored = linpoint::exploration().report(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&shared);
        let thread = linpoint::thread::spawn(move || {
            let seen = other.load(Ordering::SeqCst);
            other.store(seen + 1, Ordering::SeqCst);
        });
        let seen = shared.load(Ordering::SeqCst);
        shared.store(seen + 1, Ordering::SeqCst);
        thread.join().expect("it ends");
        assert_eq!(shared.load(Ordering::SeqCst), 2, "an update is lost");
    });
    assert_eq!(explored.verdict(), "violated");
    let page = open(&browser, &scratch("code.html", explored.page().as_bytes()));
    assert!(
        page.text("document.getElementById('headline').textContent")
            .expect("text")
            .contains("an update is lost")
    );
    let steps = page.value("document.querySelectorAll('.steps tbody tr').length").expect("steps");
    assert!(steps.as_u64() > Some(5), "{steps}");
    let before = page.text("document.getElementById('variables').textContent").expect("memory");
    page.value("document.querySelector('.steps').focus()").expect("focus");
    page.press(Key::Home).expect("a key");
    assert_ne!(page.text("document.getElementById('variables').textContent").expect("memory"), before);
    check_quiet(&page);
}

#[test]
fn views_that_differ_stand_side_by_side() {
    let browser = browser();
    let page = open(&browser, &super::write("views.html", &super::hostile::with_every_part("x")));
    assert!(
        page.value("document.querySelectorAll('#views tr.differs').length").expect("rows")
            == serde_json::json!(1)
    );
    assert!(page.value("document.querySelectorAll('.arcsvg path').length").expect("arcs").as_u64() > Some(0));
    check_quiet(&page);
}

#[test]
fn keys_alone_reach_everything() {
    let browser = browser();
    let page = open(&browser, &super::write("keys.html", &super::hostile::with_every_part("x")));
    page.value("document.body.focus()").expect("focus");
    let mut reached = std::collections::BTreeSet::new();
    for _ in 0..140 {
        page.press(Key::Tab).expect("a key");
        page.value("document.activeElement.dataset.reached = '1'").expect("marked");
        reached
            .insert(page.text("document.activeElement.id || document.activeElement.className").expect("who"));
    }
    let left = page
        .value("[...document.querySelectorAll('button, select, input, canvas[tabindex], summary, [tabindex=\"0\"]')].filter((e) => !e.disabled && e.checkVisibility() && !e.dataset.reached).map((e) => e.outerHTML.slice(0, 90))")
        .expect("what was not reached");
    assert_eq!(left, serde_json::json!([]), "reached: {reached:?}");
    // From operation to operation, and what each is.
    page.value("document.getElementById('history-canvas').focus()").expect("focus");
    page.press(Key::Home).expect("a key");
    assert_eq!(
        page.value("linpoint.history.selected === linpoint.history.h.impossible").expect("a look"),
        true
    );
    page.press(Key::Up).expect("a key");
    assert_eq!(
        page.value("linpoint.history.selected === linpoint.history.h.impossible").expect("a look"),
        false
    );
    let told = page.text("document.getElementById('live').textContent").expect("what is said");
    assert!(!told.is_empty(), "who listens is told");
    check_quiet(&page);
}

#[test]
fn a_log_of_the_monitor_has_a_page() {
    let browser = browser();
    let wrong = crate::refine::wrong_answer("page-wrong.linlog").display().to_string();
    let page = open(&browser, &page_of("refine", &["refine", &wrong], 1));
    is_in_sight(&page, "#impossible-mark");
    let why = page.text("document.getElementById('why').textContent").expect("the reason");
    assert!(why.contains("get(1)"), "{why}");
    check_quiet(&page);
    let view = crate::refine::wrong_view("page-view.linlog").display().to_string();
    let page = open(&browser, &page_of("refine-view", &["refine", &view, "--view"], 1));
    let row = page.text("document.querySelector('#views tr.differs').textContent").expect("a row");
    assert!(row.contains("10") && row.contains("11"), "{row}");
    check_quiet(&page);
}
