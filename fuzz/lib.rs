//! What the fuzz targets do: read bytes as one format; what could be read can be written as JSON lines, read again, and is
//! then written the same.

#![forbid(unsafe_code)]

use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::{Builtin, History, Spec, specs};

/// Reads `bytes`; a panic is a finding.
pub fn read(format: Option<Format>, spec: &str, bytes: &[u8]) {
    let spec = specs::parse(spec).expect("a built-in specification");
    let options = ReadOptions { format, ..ReadOptions::default() };
    if let Ok(history) = formats::read_all(&Input::Bytes(bytes.to_vec()), &spec, &options) {
        let written = write(&history, &spec);
        let options = ReadOptions { format: Some(Format::JsonLines), ..ReadOptions::default() };
        let again = formats::read_all(&Input::Bytes(written.clone()), &spec, &options);
        assert_eq!(write(&again.expect("what was written can be read"), &spec), written);
    }
}

fn write(history: &History, spec: &Builtin) -> Vec<u8> {
    let mut bytes = Vec::new();
    formats::write(Format::JsonLines, history, spec.signature(), &mut bytes).expect("memory takes all");
    bytes
}

/// Compiles `bytes` as a program of the algorithm language; what has no mistakes is explored a little, by compiled steps and by the interpreter.
pub fn program(bytes: &[u8]) {
    use linpoint_model::{Bounds, Mode, Stepper, Workload, explore};
    let text = String::from_utf8_lossy(bytes);
    let (programs, wrong) = linpoint_lang::compile(&text);
    if wrong.iter().any(|diagnostic| diagnostic.is_error()) {
        return;
    }
    for program in &programs {
        let workload = Workload::general(program, 2, 1);
        let run = |stepper: Stepper| {
            let time = Some(std::time::Duration::from_secs(5));
            let bounds = Bounds { states: Some(200), time, stepper, ..Bounds::default() };
            let explored = explore(program, &workload, Mode::Anywhere, &bounds);
            (explored.states, explored.transitions, explored.digest)
        };
        assert_eq!(run(Stepper::Compiled), run(Stepper::Interpreted), "steps differ");
    }
}
