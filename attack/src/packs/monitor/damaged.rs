//! Logs of right and wrong runs, damaged. What is left may be judged, but never taken for the whole.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use linpoint_history::rng::Rng;
use linpoint_monitor::replay::{Refine, refine_from};
use linpoint_monitor::{Conclusion, Monitor, View};

use crate::pack::Round;

/// So many damages to each log.
const DAMAGES: usize = 100;

/// One log, damaged in many ways.
pub fn round(rng: &mut Rng) -> Round {
    let violated = rng.chance(0.5);
    let Some(whole) = log(rng, violated) else { return Round::Agreed(0) };
    let how = Refine { spec: None, view: rng.chance(0.5) };
    let conclude = |bytes: &[u8]| {
        let refined = refine_from(bytes, bytes.len() as u64, &how, &mut |_| {});
        refined.ok().map(|refined| (refined.report.conclusion(), refined.report.to_string()))
    };
    let expected = if violated { Conclusion::Violated } else { Conclusion::Clean };
    if let Some((said, text)) = conclude(&whole).filter(|(said, _)| *said != expected) {
        return Round::disagreed(
            format!("{said:?}: {text}"),
            format!("{expected:?}"),
            hex(&whole),
            "the whole log",
        );
    }
    for _ in 0..DAMAGES {
        let (damaged, what) = damage(rng, &whole);
        let allowed = |said: Conclusion| match said {
            Conclusion::Unknown => true,
            Conclusion::Violated => violated,
            Conclusion::Clean | Conclusion::Mistaken => false,
        };
        if damaged == whole {
            continue;
        }
        if let Some((said, text)) = conclude(&damaged).filter(|(said, _)| !allowed(*said)) {
            let judge = format!("unknown, or what the whole log shows ({expected:?})");
            return Round::disagreed(format!("{said:?}: {text}"), judge, hex(&damaged), what);
        }
    }
    Round::Agreed(DAMAGES as u64)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The log of a map that one thread uses, in several rounds of the monitor.
fn log(rng: &mut Rng, violated: bool) -> Option<Vec<u8>> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path: PathBuf =
        std::env::temp_dir().join(format!("linpoint-attack-{}-{number}.linlog", std::process::id()));
    let monitor = Monitor::builder().log_file(&path).ring_words(64).start().ok()?;
    let object = monitor.object("map", "map").ok()?.view(View::Map).watch().ok()?;
    let count = 1 + rng.below(60);
    let wrong = rng.below(count);
    for key in 0..count {
        let op = object.call(object.op("insert"), (key, key));
        op.commit_block(|block| block.write(key, (key, key)));
        let answer = (violated && key == wrong).then_some(7u64);
        op.returns(answer);
    }
    drop(object);
    monitor.finish();
    let bytes = std::fs::read(&path).ok();
    // Left behind it harms nobody.
    let _ = std::fs::remove_file(&path);
    bytes
}

/// Something that happens to files. Early and late bytes are as likely as all others together.
fn damage(rng: &mut Rng, whole: &[u8]) -> (Vec<u8>, &'static str) {
    let length = whole.len();
    let place = |rng: &mut Rng| -> usize {
        let far = rng.below(length as u64) as usize;
        match rng.below(3) {
            0 => far.min(rng.below(64) as usize),
            1 => length - 1 - (length - 1 - far).min(rng.below(64) as usize),
            _ => far,
        }
    };
    let (a, b) = (place(rng), place(rng));
    let (from, to) = (a.min(b), a.max(b));
    let mut bytes = whole.to_vec();
    let what = match rng.below(8) {
        0 => {
            bytes[a] ^= 1 << rng.below(8);
            "a bit flipped"
        }
        1 => {
            bytes[a] = rng.below(256) as u8;
            bytes[b] = rng.below(256) as u8;
            "two bytes changed"
        }
        2 => {
            bytes.truncate(a);
            "cut"
        }
        3 => {
            bytes.drain(from..to);
            "a stretch missing"
        }
        4 => {
            bytes.splice(to..to, whole[from..to].iter().copied());
            "a stretch doubled"
        }
        5 => {
            bytes.extend_from_slice(&whole[from..]);
            "the end doubled"
        }
        6 => {
            let half = (to - from) / 2;
            let (left, right) = bytes[from..from + 2 * half].split_at_mut(half);
            left.swap_with_slice(right);
            "two stretches swapped"
        }
        _ => {
            bytes[from..to].fill(0);
            "a stretch of zeros"
        }
    };
    (bytes, what)
}
