#![no_main]

use linpoint_history::formats::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| linpoint_fuzz::read(Some(Format::JsonLines), "queue", bytes));
