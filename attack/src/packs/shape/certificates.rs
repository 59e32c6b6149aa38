//! Damaged certificates: the recheck ends and says something, and none is a proof of a wrong program.

use std::time::{Duration, Instant};

use linpoint_history::rng::Rng;
use linpoint_lang::Program;
use linpoint_shape::certificate;
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{Choice, Invariant};

use super::{compiled, proof};
use crate::pack::Round;

/// Programs and wrong ones of the same shape.
const PAIRS: &[(&str, &str)] = &[
    (
        include_str!("../../../../corpus/correct/treiber.lin"),
        include_str!("../../../../corpus/broken/treiber-push-no-cas.lin"),
    ),
    (
        include_str!("../../../../corpus/correct/treiber.lin"),
        include_str!("../../../../corpus/broken/treiber-pop-no-cas.lin"),
    ),
    (
        include_str!("../../../../corpus/correct/two-lock.lin"),
        include_str!("../../../../corpus/broken/two-lock-enqueue-gap.lin"),
    ),
    (
        include_str!("../../../../corpus/correct/elimination-stack.lin"),
        include_str!("../../../../corpus/broken/elimination-stack-offer-stays.lin"),
    ),
    (
        include_str!("../../../../corpus/correct/treiber-counted.lin"),
        include_str!("../../../../corpus/broken/treiber-free-aba.lin"),
    ),
];

/// Damages a certificate a few times over.
pub(super) fn round(rng: &mut Rng) -> Round {
    let (right, wrong) = *rng.pick(PAIRS);
    let (Some(right), Some(mut wrong)) = (compiled(right), compiled(wrong)) else { return Round::Agreed(0) };
    wrong.name.clone_from(&right.name);
    let Some(text) = written(&right) else {
        return Round::disagreed("not proved", "proved", right.name.clone(), "linpoint prove");
    };
    let mut cases = 0;
    for _ in 0..8 {
        let mut spoiled = damaged(&text, rng);
        while rng.chance(0.3) && !spoiled.is_empty() {
            spoiled = damaged(&spoiled, rng);
        }
        let until = || Some(Instant::now() + Duration::from_secs(20));
        cases += 1;
        if certificate::closed(&wrong, &spoiled, until()).is_ok() {
            return Round::disagreed("proved", "the program is wrong", spoiled, "linpoint prove --recheck");
        }
        // What is still closed is a proof all the same, and says nothing that the whole recheck does not find true.
        if certificate::closed(&right, &spoiled, until()).is_ok()
            && rng.chance(0.1)
            && let Err(why) = certificate::recheck(&right, &spoiled, until())
        {
            return Round::disagreed("closed", why, spoiled, "linpoint prove --recheck");
        }
    }
    Round::Agreed(cases)
}

fn written(program: &Program) -> Option<String> {
    let proof = proof(program, Choice::Auto)?;
    let Invariant::Views(found) = &proof.invariant else { return None };
    let layout = Layout::new(program).ok()?;
    Some(certificate::write(&layout, &proof.points, &proof.precision, found))
}

/// A byte, a word or a line is changed, left out or doubled, or the rest is cut off.
fn damaged(text: &str, rng: &mut Rng) -> String {
    let at = |rng: &mut Rng, count: usize| rng.below(count.max(1) as u64) as usize;
    if rng.chance(0.3) {
        let mut bytes = text.as_bytes().to_vec();
        let place = at(rng, bytes.len());
        match rng.below(4) {
            0 => bytes[place] = *rng.pick(b"0123456789abcdef/: vr\n"),
            1 => bytes[place] ^= 1 << rng.below(8),
            2 => bytes.truncate(place),
            _ => bytes.insert(place, *rng.pick(b"0123456789abcdef/: \n")),
        }
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // The first three lines say what all others mean.
    let line = if rng.chance(0.3) { at(rng, 3.min(lines.len())) } else { at(rng, lines.len()) };
    match rng.below(5) {
        0 => {
            lines.remove(line);
        }
        1 => {
            let other = at(rng, lines.len());
            lines.swap(line, other);
        }
        _ => {
            let mut words: Vec<String> = lines[line].split(' ').map(str::to_owned).collect();
            let word = at(rng, words.len());
            const ODD: [&str; 14] = [
                "0",
                "1",
                "ff",
                "ffff",
                "fffe",
                "ffffffff",
                "ffffffffffffffff",
                "0:0",
                "9999:9999",
                "0:0:own",
                "0:0:meet0",
                "0:0:help0",
                "0/0/0",
                "1/ffffffff/ffffffff",
            ];
            match rng.below(4) {
                0 => words[word] = (*rng.pick(&ODD)).to_owned(),
                1 => words.insert(word, words[word].clone()),
                2 => {
                    words.remove(word);
                }
                _ => words.push((*rng.pick(&ODD)).to_owned()),
            }
            lines[line] = words.join(" ");
        }
    }
    lines.join("\n")
}
