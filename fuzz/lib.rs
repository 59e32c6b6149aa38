//! What all fuzz targets do: read bytes as one format; what could be read can be written as JSON lines, read again, and is
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
