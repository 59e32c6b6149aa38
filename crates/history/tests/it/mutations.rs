//! Random damage to good files: every reader answers with a history or a diagnostic, and never panics. What
//! it does read, it can write and read again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use linpoint_history::formats::Format;
use linpoint_history::rng::Rng;

use crate::samples::{Taste, history, read, spec, write};

#[track_caller]
fn check(format: Format, spec_name: &str, taste: Taste, rounds: u64) {
    let spec = spec(spec_name);
    let mut rng = Rng::new(42);
    let words: &[&[u8]] = &[
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b"null",
        b"nil",
        b"-",
        b"9999999999",
        b"\n",
        b",",
        b":",
        b"\xff",
        b"\t",
    ];
    let good: Vec<Vec<u8>> =
        (0..20).map(|n| write(format, &history(&spec, 3 + n, taste, &mut rng), &spec)).collect();
    for _ in 0..rounds {
        let mut bytes = rng.pick(&good).clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u64 + 1) as usize;
            match rng.below(5) {
                0 => bytes.truncate(at),
                1 => drop(bytes.splice(at..at, rng.pick(words).iter().copied())),
                2 if at < bytes.len() => bytes[at] = rng.bits() as u8,
                3 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
                _ => {
                    let end = (at + rng.below(20) as usize).min(bytes.len());
                    let part: Vec<u8> = bytes[at..end].to_vec();
                    if rng.chance(0.5) {
                        bytes.drain(at..end);
                    } else {
                        bytes.splice(at..at, part);
                    }
                }
            }
        }
        let asked = rng.chance(0.5).then_some(format);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if let Ok(history) = read(&spec, asked, &bytes) {
                let again = write(Format::JsonLines, &history, &spec);
                read(&spec, Some(Format::JsonLines), &again).expect("what was written can be read");
            }
        }));
        assert!(outcome.is_ok(), "a panic on {:?}", String::from_utf8_lossy(&bytes));
    }
}

const ROWS: Taste = Taste { odd_values: true, odd_processes: false, keys: true, event_stamps: false };
const EVENTS: Taste = Taste { event_stamps: true, ..ROWS };

#[test]
fn damaged_json_lines() {
    check(Format::JsonLines, "queue", ROWS, 5_000);
    check(Format::JsonLines, "cas-register", Taste { odd_values: false, ..ROWS }, 5_000);
}

#[test]
fn damaged_json_events() {
    check(Format::JsonEvents, "map", EVENTS, 5_000);
}

#[test]
fn damaged_jepsen_edn() {
    check(Format::JepsenEdn, "cas-register", EVENTS, 5_000);
    check(Format::KvLog, "kv", EVENTS, 3_000);
}

#[test]
fn damaged_etcd_logs() {
    check(Format::EtcdLog, "cas-register", Taste { keys: false, ..EVENTS }, 5_000);
}

#[test]
fn damaged_csv() {
    check(Format::Csv, "map", ROWS, 5_000);
}

#[test]
fn damaged_binary() {
    check(Format::Binary, "map", ROWS, 5_000);
}

#[cfg(feature = "parquet")]
#[test]
fn damaged_parquet() {
    check(Format::Parquet, "map", ROWS, 2_000);
}
