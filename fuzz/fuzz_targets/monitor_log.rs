//! A log of the runtime monitor: any bytes, and any records in frames whose sums are right.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linpoint_monitor::file::{Description, Frame, Writer};
use linpoint_monitor::replay::{Refine, refine_from};
use linpoint_monitor::{ObjectId, ThreadId};

fuzz_target!(|bytes: &[u8]| {
    let check = |log: &[u8]| {
        for view in [false, true] {
            let _ = refine_from(log, log.len() as u64, &Refine { spec: None, view }, &mut |_| {});
        }
    };
    check(bytes);
    let Some((first, rest)) = bytes.split_first() else { return };
    let spec = ["map", "multiset", "queue", "lock"][usize::from(first & 3)];
    let commits = ["marked", "intervals"][usize::from(first >> 2 & 1)];
    let description =
        Description { name: "x".into(), spec: spec.into(), view: spec.into(), commits: commits.into(), operations: Vec::new() };
    let Ok(mut writer) = Writer::new(Vec::new(), (first >> 3 & 1 == 1).then_some(1)) else { return };
    let _ = writer.frame(&Frame::Object(ObjectId(0), description));
    for (thread, part) in rest.chunks(64).enumerate() {
        let words: Vec<u64> = part
            .chunks(8)
            .map(|word| word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
            .collect();
        let _ = writer.records(ThreadId(thread as u32 & 1), &words);
    }
    check(&writer.into_inner());
});
