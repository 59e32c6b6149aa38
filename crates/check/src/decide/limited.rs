//! A limit that was reached before any engine was at work: while a history was read, or before its rows were
//! taken apart.

use std::time::Instant;

use linpoint_history::formats::guard::{self, Reached};
use linpoint_history::{Builtin, Symbols, Unknown, Verdict};

use super::{Answer, CheckError};
use crate::engine::Limit;

/// What is said where a limit came before any engine.
pub(super) fn limited(limit: Limit, read: u64, symbols: &Symbols, started: Instant) -> Answer {
    Answer {
        verdict: Verdict::Unknown(match limit {
            Limit::Time | Limit::Overtaken => Unknown::Time { decided: 0, widest: 0 },
            Limit::Memory => Unknown::Memory { decided: 0, widest: 0 },
        }),
        engine: "reader".into(),
        because: String::new(),
        operations: read,
        pending: 0,
        objects: symbols.key_count().max(1),
        object: None,
        elapsed: started.elapsed(),
    }
}

/// A reader that stopped at a limit has found nothing wrong with the history; nor has a check whose specification
/// was stopped by it.
pub(super) fn or_limit(
    found: Result<Answer, CheckError>,
    spec: &Builtin,
    read: u64,
    symbols: &Symbols,
    started: Instant,
) -> Result<Answer, CheckError> {
    // What nothing explained, or did not replay, may be so only because of outcomes that were missing.
    let found = match found {
        Ok(answer) if matches!(answer.verdict, Verdict::Violated(_)) && spec.ran_out_of_time() => {
            let verdict = Verdict::Unknown(Unknown::Time { decided: 0, widest: 0 });
            return Ok(Answer { verdict, object: None, ..answer });
        }
        Err(CheckError::Bug { engine, .. }) if spec.ran_out_of_time() => {
            return Ok(Answer { engine, ..limited(Limit::Time, read, symbols, started) });
        }
        found => found,
    };
    let reached = match &found {
        Err(CheckError::Input(diagnostic)) => guard::reached(diagnostic),
        _ => None,
    };
    match reached {
        Some(Reached::Time) => Ok(limited(Limit::Time, read, symbols, started)),
        Some(Reached::Memory) => Ok(limited(Limit::Memory, read, symbols, started)),
        None => found,
    }
}
