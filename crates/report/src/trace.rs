//! View data as a Chrome trace: a JSON file that Perfetto and `chrome://tracing` open.
//!
//! An operation is a slice from call to return on its process's track; a pending one goes on to the end. A
//! step of a run is a slice of one unit, and one that is wrong, or impossible, has a mark of its own. Trace
//! viewers count microseconds; here they are whatever the stamps were, counted from the first.

use serde_json::{Value as Json, json};

use crate::view::{History, Run, View};

/// The trace of the history and the run.
pub fn trace(view: &View) -> String {
    let mut events: Vec<Json> = Vec::new();
    if let Some(history) = &view.history {
        operations(history, &mut events);
    }
    if let Some(run) = &view.run {
        steps(run, &mut events);
    }
    let about = json!({"verdict": view.word, "headline": view.headline, "checked": view.summary.checked});
    json!({"traceEvents": events, "otherData": about}).to_string()
}

fn name(events: &mut Vec<Json>, kind: &str, pid: usize, tid: usize, name: &str) {
    events.push(json!({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}));
}

fn operations(history: &History, events: &mut Vec<Json>) {
    name(events, "process_name", 1, 0, "history");
    for (lane, title) in history.lanes.iter().enumerate() {
        name(events, "thread_name", 1, lane + 1, title);
    }
    let stamps = || history.bars.iter().flat_map(|bar| [Some(bar.call), bar.ret]).flatten();
    let (first, last) = (stamps().min().unwrap_or(0), stamps().max().unwrap_or(0));
    let since = |stamp: i64| (i128::from(stamp) - i128::from(first)) as f64;
    for (number, bar) in history.bars.iter().enumerate() {
        let impossible = history.impossible == Some(number);
        let end = bar.ret.map_or_else(|| since(last) + 1.0, since);
        let mut args =
            json!({"argument": bar.arg, "result": bar.result, "call": bar.call, "return": bar.ret});
        if !bar.key.is_empty() {
            args["key"] = json!(bar.key);
        }
        if impossible {
            args["impossible"] = json!(history.reason);
        }
        let colour = if impossible {
            "terrible"
        } else if bar.core {
            "bad"
        } else {
            "good"
        };
        events.push(json!({
            "ph": "X", "name": bar.label(), "cat": if bar.core { "core" } else { "operation" }, "pid": 1, "tid": bar.lane + 1,
            "ts": since(bar.call), "dur": end - since(bar.call), "cname": colour, "args": args,
        }));
        if impossible {
            let at = since(bar.call);
            events.push(
                json!({"ph": "i", "s": "p", "name": history.reason, "pid": 1, "tid": bar.lane + 1, "ts": at}),
            );
        }
    }
}

fn steps(run: &Run, events: &mut Vec<Json>) {
    name(events, "process_name", 2, 0, "run");
    for (thread, title) in run.threads.iter().enumerate() {
        name(events, "thread_name", 2, thread + 1, title);
    }
    for (number, step) in run.steps.iter().enumerate() {
        let mut args = json!({"step": number + 1, "line": step.line});
        for variable in step.memory.iter().flat_map(|memory| &memory.variables) {
            args[&variable.name] = json!(variable.value);
        }
        events.push(json!({
            "ph": "X", "name": step.text, "cat": "step", "pid": 2, "tid": step.thread + 1, "ts": number, "dur": 1, "args": args,
        }));
        if run.wrong == Some(number) {
            events.push(json!({"ph": "i", "s": "p", "name": run.reason, "pid": 2, "tid": step.thread + 1, "ts": number}));
        }
    }
}
