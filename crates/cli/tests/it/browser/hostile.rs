//! Values that would be code, that would break a layout, or that are simply too many: they neither inject nor
//! break anything.

use linpoint_report::View;
use linpoint_report::view::{
    Bar, Cell, Claim, Comparison, Countermodel, Duo, Edge, Entry, History, Memory, Next, Node, Order,
    Outcome, Process, Proof, Row, Run, ShapeNode, Shapes, Slot, Source, Step, StepKind, Structure, Summary,
    Term, Variable, VerdictKind, Write,
};
use serde_json::json;

use super::{browser, check_quiet, open, write};

/// A view with every part, each of its texts being this one.
pub fn with_every_part(text: &str) -> View {
    let t = || text.to_owned();
    let mut view = View::new(VerdictKind::Violated, text, text);
    view.summary =
        Summary { checked: t(), rests_on: t(), not_covered: t(), facts: vec![(t(), t())], again: t() };
    let bar = |lane: usize, call: i64| Bar {
        lane,
        name: t(),
        arg: t(),
        result: t(),
        key: t(),
        call,
        ret: (call < 4).then_some(call + 3),
        point: Some(call + 1),
        core: call != 2,
    };
    view.history = Some(History {
        lanes: vec![t(), t()],
        bars: vec![bar(0, 1), bar(1, 2), bar(0, 6)],
        impossible: Some(1),
        reason: t(),
        left_out: 3,
        start: t(),
        orders: vec![
            Order {
                title: t(),
                bars: vec![0, 2],
                states: vec![t(), t(), t()],
                next: vec![Next { bar: 1, why: t() }],
            },
            Order { title: t(), bars: vec![2], states: vec![t(), t()], next: Vec::new() },
        ],
    });
    let memory = |value: usize| Memory {
        variables: vec![
            Variable { name: t(), value: value.to_string(), to: None },
            Variable { name: "p".into(), value: t(), to: Some(1) },
        ],
        nodes: vec![Node {
            id: 1,
            kind: t(),
            fields: vec![
                Variable { name: t(), value: value.to_string(), to: None },
                Variable { name: t(), value: t(), to: Some(1) },
            ],
            freed: value == 2,
        }],
    };
    let step = |thread, kind, value| Step {
        thread,
        kind,
        text: t(),
        line: 1,
        place: t(),
        bar: None,
        memory: Some(memory(value)),
        aside: value == 3,
    };
    view.run = Some(Run {
        threads: vec![t(), t()],
        initial: memory(0),
        steps: vec![
            step(0, StepKind::Call, 1),
            step(1, StepKind::Step, 3),
            step(0, StepKind::Step, 2),
            step(0, StepKind::Return, 4),
        ],
        wrong: Some(3),
        reason: t(),
        repeats: 2,
    });
    let term = Term { text: t(), value: t(), seen: 2, fixed: 3 };
    view.claims = vec![Claim {
        text: t(),
        place: t(),
        thread: t(),
        made: 0,
        decided: 3,
        terms: vec![term],
        outcome: t(),
    }];
    view.comparison = Some(Comparison {
        object: t(),
        left: t(),
        right: t(),
        entries: vec![
            Entry { key: t(), left: t(), right: String::new() },
            Entry { key: t(), left: t(), right: t() },
        ],
        different: 1,
        after: t(),
        writes: vec![Write { number: 7, thread: t(), location: t(), value: t() }],
    });
    let slot = || Slot { name: t(), before: t(), after: format!("{text}!") };
    view.proof = Some(Proof {
        kinds: vec![(t(), t()), (t(), t())],
        rows: vec![Row {
            step: t(),
            line: 1,
            cells: vec![
                Cell { outcome: Outcome::Open, of: 2, open: 1, countermodels: vec![0], note: t() },
                Cell { outcome: Outcome::Proved, of: 1, ..Cell::default() },
            ],
            took_ms: 4,
        }],
        countermodels: vec![Countermodel {
            title: t(),
            sizes: vec![(t(), t())],
            processes: vec![Process { name: t(), at: t(), locals: vec![slot()] }],
            slots: vec![slot()],
        }],
        facts: vec![t()],
    });
    let node = |many, of| ShapeNode { names: vec![t()], kinds: vec![t()], many, of };
    let structure = || Structure {
        title: t(),
        threads: vec![t(), t()],
        nodes: vec![ShapeNode::default(), node(false, Duo::Both), node(true, Duo::Candidate)],
        edges: vec![
            Edge { from: 1, to: 2, may: true, of: Duo::Candidate },
            Edge { from: 1, to: 0, may: false, of: Duo::Reference },
            Edge { from: 2, to: 2, may: true, of: Duo::Candidate },
        ],
    };
    view.shapes = Some(Shapes { total: 9, structures: vec![structure(), structure()], points: vec![t()] });
    view.source = Some(Source { name: t(), text: format!("{text}\n{text}") });
    view.text = t();
    view
}

#[test]
fn values_are_never_code() {
    let browser = browser();
    let evil = [
        "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>",
        "\"><svg onload=window.hurt=1>' onmouseover='window.hurt=1' {{script}} ${window.hurt=1} `",
        "\u{0}\u{1}\u{7}\u{1b}[31m\u{7f}\u{85}\u{2028}\u{2029}\u{feff}\u{fffe}\r\n\t<!-- ]]>",
        "\u{202e}שלום عالم \u{2066}abc\u{200f} 12\u{202d}",
        "constructor",
        "__proto__",
        "",
    ];
    for (number, text) in evil.iter().enumerate() {
        let page = open(&browser, &write(&format!("evil{number}.html"), &with_every_part(text)));
        for selector in ["#impossible-mark", "#run-slider", "#shape-slider", "#proof button.no"] {
            page.value(&format!("document.querySelector('{selector}').scrollIntoView({{block: 'center'}})"))
                .expect("there");
            page.click_on(selector).expect("a click");
        }
        let found = page.value("[window.hurt === undefined, document.querySelectorAll('script, img, iframe').length, document.querySelectorAll('section').length]");
        // The page's own script, and every part.
        assert_eq!(found.expect("a look"), json!([true, 1, 5]), "{text:?}");
        check_quiet(&page);
    }
}

#[test]
fn a_value_of_a_megabyte_does_not_break_the_page() {
    let browser = browser();
    let page = open(&browser, &write("long.html", &with_every_part(&"long".repeat(5_000))));
    let wide = page.value("document.documentElement.scrollWidth <= innerWidth + 1").expect("a look");
    assert_eq!(wide, json!(true), "nothing is wider than the window");
    let parts = page.value("document.querySelectorAll('section').length").expect("a look");
    assert_eq!(parts, json!(5));
    check_quiet(&page);
}

#[test]
fn ten_thousand_processes_are_drawn_a_few_at_a_time() {
    let browser = browser();
    let mut view = View::new(VerdictKind::Violated, "not linearizable", "many processes");
    let bar = |i: i64| Bar {
        lane: i as usize,
        name: "read".into(),
        result: i.to_string(),
        call: i,
        ret: Some(i + 20_000),
        ..Bar::default()
    };
    view.history = Some(History {
        lanes: (0..10_000).map(|i| format!("process {i}")).collect(),
        bars: (0..10_000).map(bar).collect(),
        impossible: Some(9_000),
        reason: "never written".into(),
        ..History::default()
    });
    let page = open(&browser, &write("many.html", &view));
    let seen = page.value("(() => { const box = document.getElementById('impossible-mark').getBoundingClientRect(); return !document.getElementById('impossible-mark').hidden && box.bottom < innerHeight && box.width > 0; })()");
    assert_eq!(seen.expect("a look"), json!(true), "the impossible one is in sight");
    assert!(
        page.value("document.getElementById('history-canvas').clientHeight < innerHeight").expect("a look")
            == json!(true)
    );
    check_quiet(&page);
}
