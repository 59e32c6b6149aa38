//! Pictures and traces of a view.

use linpoint_report::view::{Bar, History, Memory, Run, Step, StepKind, Variable, VerdictKind};
use linpoint_report::{View, svg, trace};

fn view() -> View {
    let mut view = View::new(VerdictKind::Violated, "violated", "a < b & \"c\"");
    let bar = |lane, call, ret| Bar {
        lane,
        name: "read<".into(),
        result: "7".into(),
        call,
        ret,
        core: true,
        ..Bar::default()
    };
    view.history = Some(History {
        lanes: vec!["p".into(), "q".into()],
        bars: vec![bar(0, 10, Some(20)), bar(1, 15, None)],
        impossible: Some(0),
        reason: "never written".into(),
        ..History::default()
    });
    let memory = Memory {
        variables: vec![Variable { name: "top".into(), value: "null".into(), to: None }],
        nodes: Vec::new(),
    };
    let step = |thread, kind| Step {
        thread,
        kind,
        text: "x = 1".into(),
        line: 3,
        memory: Some(memory.clone()),
        ..Step::default()
    };
    view.run = Some(Run {
        threads: vec!["t0".into(), "t1".into()],
        steps: vec![step(0, StepKind::Call), step(1, StepKind::Step)],
        wrong: Some(1),
        reason: "wrong".into(),
        ..Run::default()
    });
    view
}

#[test]
fn a_picture_is_well_formed_and_marks_what_is_wrong() {
    let picture = svg::svg(&view());
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    for word in ["a &lt; b &amp; &quot;c&quot;", "read&lt; → 7", "url(#hatch)", "✗", "t1", "stroke-dasharray"]
    {
        assert!(picture.contains(word), "{word}\n{picture}");
    }
    assert_eq!(picture.matches("<text").count(), picture.matches("</text>").count());
    assert!(!picture.replace("http://www.w3.org/2000/svg", "").contains("http"), "nothing is fetched");
}

#[test]
fn a_trace_has_a_slice_an_operation_and_a_slice_a_step() {
    let trace: serde_json::Value = serde_json::from_str(&trace::trace(&view())).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let slices: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(slices.len(), 4);
    assert_eq!((&slices[0]["ts"], &slices[0]["dur"]), (&0.0.into(), &10.0.into()));
    assert_eq!(slices[0]["args"]["impossible"], "never written");
    assert_eq!(slices[1]["dur"], 6.0, "a pending one goes on to the end");
    assert_eq!(events.iter().filter(|event| event["ph"] == "i").count(), 2);
}

#[test]
fn a_view_there_and_back_is_the_same() {
    let view = view();
    assert_eq!(View::from_json(&view.to_json()).expect("a view"), view);
    let other = view.to_json().replace("\"version\":1", "\"version\":2");
    assert!(View::from_json(&other).is_err_and(|bad| bad.to_string().contains("version 2")));
}
