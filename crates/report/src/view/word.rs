//! A verdict as one word of JSON.

use linpoint_verdict::VerdictKind;
use serde::{Deserialize, Serialize};

/// How [`VerdictKind`] is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "VerdictKind", rename_all = "lowercase")]
pub(super) enum Word {
    Holds,
    Violated,
    Unknown,
}
