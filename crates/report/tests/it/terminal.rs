//! The drawing for a terminal at 60, 80 and 120 columns, with and without colour, as files in `terminal/`.
//!
//! `LINPOINT_BLESS=1 cargo test -p linpoint-report` writes them anew; what changed is then looked at.

use std::path::PathBuf;

use linpoint_report::lanes::{Style, draw_history};
use linpoint_report::view::{Bar, History};

fn bar(lane: usize, name: &str, arg: &str, result: &str, call: i64, ret: Option<i64>) -> Bar {
    Bar { lane, name: name.into(), arg: arg.into(), result: result.into(), call, ret, ..Bar::default() }
}

/// A queue that hands out 4 before 3: few operations.
fn few() -> History {
    History {
        lanes: vec!["process 0".into(), "process 1".into()],
        bars: vec![
            bar(0, "enqueue", "3", "", 7, Some(10)),
            bar(1, "enqueue", "4", "", 12, Some(15)),
            bar(1, "dequeue", "", "4", 18, Some(24)),
        ],
        impossible: Some(2),
        ..History::default()
    }
}

/// More operations than fit a line, one of them pending, one with control characters.
fn many() -> History {
    let mut bars: Vec<Bar> = (0..14_i64)
        .map(|i| {
            let lane = (i % 3) as usize;
            bar(lane, "compare_and_set", &format!("[{i},{}]", i + 1), "true", i * 4, Some(i * 4 + 6))
        })
        .collect();
    bars.push(bar(0, "read", "", "\"a\u{1b}[31mb\u{7}\"", 60, Some(70)));
    bars.push(bar(1, "read", "", "?", 61, None));
    let lanes = vec!["process 0".into(), "process 1".into(), "process 2".into()];
    History { lanes, bars, impossible: Some(14), ..History::default() }
}

#[track_caller]
fn check(name: &str, history: &History) {
    for width in [60, 80, 120] {
        for colour in [false, true] {
            let drawn = draw_history(history, Style { width, colour });
            let suffix = if colour { "colour" } else { "plain" };
            let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join(format!("tests/it/terminal/{name}-{width}-{suffix}.txt"));
            if std::env::var_os("LINPOINT_BLESS").is_some() {
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                std::fs::write(&file, &drawn).expect("a file");
            }
            let expected = std::fs::read_to_string(&file).expect("a snapshot");
            assert_eq!(drawn, expected, "{}", file.display());
            let bare = drawn.replace("\x1b[1;31m", "").replace("\x1b[0m", "");
            assert!(!bare.contains('\x1b'), "values send nothing to the terminal");
            let bars = bare.split("\n\n  ").next().unwrap_or_default();
            let widest = bars.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width, "{widest} columns of {width}");
        }
    }
}

#[test]
fn few_operations() {
    check("few", &few());
}

#[test]
fn many_operations() {
    check("many", &many());
}
