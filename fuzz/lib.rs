//! What all fuzz targets do: read bytes as one format; what could be read can be written as JSON lines and read again.

#![forbid(unsafe_code)]

use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::{Spec, specs};

/// Reads `bytes`; a panic is a finding.
pub fn read(format: Option<Format>, spec: &str, bytes: &[u8]) {
    let spec = specs::parse(spec).expect("a built-in specification");
    let options = ReadOptions { format, ..ReadOptions::default() };
    if let Ok(history) = formats::read_all(&Input::Bytes(bytes.to_vec()), &spec, &options) {
        let mut again = Vec::new();
        formats::write(Format::JsonLines, &history, spec.signature(), &mut again).expect("memory takes all");
        let options = ReadOptions { format: Some(Format::JsonLines), ..ReadOptions::default() };
        formats::read_all(&Input::Bytes(again), &spec, &options).expect("what was written can be read");
    }
}
