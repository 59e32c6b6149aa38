//! A hundred thousand operations: small enough a page, drawn at once, moved smoothly.

use linpoint_browser::Page;
use linpoint_report::View;
use linpoint_report::view::{Bar, History, VerdictKind};
use serde_json::json;

use super::{browser, check_quiet, open, write};

const OPERATIONS: usize = 100_000;

/// A queue of 16 processes with an operation in the middle that finds no place.
fn large() -> View {
    let bars: Vec<Bar> = (0..OPERATIONS)
        .map(|i| {
            let call = 1_700_000_000_000_000_000 + i as i64 * 1_000;
            Bar {
                lane: i % 16,
                name: if i % 2 == 0 { "enqueue" } else { "dequeue" }.to_owned(),
                arg: if i % 2 == 0 { (i / 2).to_string() } else { String::new() },
                result: if i % 2 == 0 { String::new() } else { (i / 2).to_string() },
                call,
                ret: Some(call + 1_000 * (3 + (i as i64 * 7) % 11)),
                core: i.abs_diff(75_001) < 2,
                ..Bar::default()
            }
        })
        .collect();
    let mut view = View::new(VerdictKind::Violated, "not linearizable", "a large history");
    view.history = Some(History {
        lanes: (0..16).map(|process| format!("process {process}")).collect(),
        bars,
        impossible: Some(75_001),
        reason: "it was never enqueued".to_owned(),
        ..History::default()
    });
    view
}

/// The most calls of the canvas that one frame makes while something moves. Time depends on what else the
/// machine does; how much is drawn does not.
fn calls_a_frame(page: &Page<'_>, step: &str) -> f64 {
    let script = format!(
        "(() => {{ const h = linpoint.history; const kind = CanvasRenderingContext2D.prototype; const kept = new Map(); let calls = 0; let most = 0; \
         for (const name of Object.getOwnPropertyNames(kind)) {{ const of = Object.getOwnPropertyDescriptor(kind, name); \
         if (typeof of.value === 'function' && name !== 'constructor') {{ kept.set(name, of.value); kind[name] = function (...args) {{ calls++; return of.value.apply(this, args); }}; }} }} \
         for (let n = 0; n < 30; n++) {{ calls = 0; {step}; h.draw(); most = Math.max(most, calls); }} \
         for (const [name, of] of kept) kind[name] = of; return most; }})()"
    );
    page.value(&script).expect("frames").as_f64().expect("a number")
}

#[test]
fn a_hundred_thousand_operations_stay_smooth() {
    let browser = browser();
    let file = write("large.html", &large());
    let size = std::fs::metadata(&file).expect("a page").len();
    assert!(size < 5_000_000, "the page has {size} bytes");
    let page = open(&browser, &file);
    page.click_on("[data-key=all]").expect("the whole history");
    assert!(page.value("!document.getElementById('impossible-mark').hidden").expect("a look") == json!(true));
    // Near, where bars have texts; and far out, where all are in sight.
    let near = calls_a_frame(&page, "h.x += 40; h.clamp()");
    page.value("linpoint.history.fit()").expect("all of it");
    let far = calls_a_frame(&page, "h.zoom(n % 2 ? 1.02 : 1 / 1.02, 300)");
    eprintln!("100,000 operations: {size} bytes, {near} and {far} calls of the canvas in a frame");
    // What is drawn depends on the screen, not on the hundred thousand: thirty such frames a second are far
    // below what a canvas can do.
    for calls in [near, far] {
        assert!((50.0..12_000.0).contains(&calls), "{near} and {far} calls of the canvas in a frame");
    }
    check_quiet(&page);
}

#[test]
fn a_drag_moves_the_history() {
    let browser = browser();
    let page = open(&browser, &write("drag.html", &large()));
    page.click_on("[data-key=all]").expect("the whole history");
    let before = page.value("linpoint.history.x").expect("a place").as_f64().expect("a number");
    let box_ = page.value("(() => { const b = document.getElementById('history-canvas').getBoundingClientRect(); return [b.left + 600, b.top + 30]; })()").expect("a place");
    let (x, y) = (box_[0].as_f64().expect("x"), box_[1].as_f64().expect("y"));
    page.mouse("mousePressed", x, y).expect("pressed");
    for step in 1..=10 {
        page.mouse("mouseMoved", x - f64::from(step) * 20.0, y).expect("moved");
    }
    page.mouse("mouseReleased", x - 200.0, y).expect("released");
    let after = page.value("linpoint.history.x").expect("a place").as_f64().expect("a number");
    assert!(after > before + 10.0, "{before} → {after}");
    check_quiet(&page);
}
