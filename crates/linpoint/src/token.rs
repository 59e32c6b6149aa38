//! A failing schedule as a short word that can be pasted into a test.
//!
//! What is kept is where control changes hands: "thread 1 takes 3 steps, then thread 0 …", with the kind of step at
//! which each turn ended. While the code around changes a little, the turns still find their ends: a turn ends at a
//! step of the remembered kind near the remembered count. Where that fails, the replay says so.

use std::fmt;

use linpoint_sched::strategy::Strategy;
use linpoint_sched::{Action, Execution, Run, ThreadId};

/// A scenario and a schedule, in a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// A fingerprint of the program it belongs to.
    pub program: u32,
    /// The operations of the scenario, by their place in the list of all operations; parts separated by `u16::MAX`.
    pub scenario: Vec<u16>,
    /// Who goes, for how many steps, and the kind of the step at which it stopped.
    pub turns: Vec<Turn>,
}

/// A stretch of steps of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Who.
    pub thread: u8,
    /// How many steps.
    pub steps: u16,
    /// The kind of step it stood before when the turn ended; 255 if it had ended, 254 if it never went on.
    pub stopped_at: u8,
}

/// Why a token cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It is no token.
    Malformed,
    /// It was made by a later version of linpoint.
    Version,
    /// It belongs to another program.
    OtherProgram,
    /// It names operations that the object no longer has.
    OtherOperations,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenError::Malformed => {
                "this is no replay token: it starts with `lp1-` and is printed with a failure"
            }
            TokenError::Version => "this replay token was made by another version of linpoint",
            TokenError::OtherProgram => {
                "this replay token belongs to another program: replay it in the test that printed it"
            }
            TokenError::OtherOperations => {
                "this replay token names operations that the object no longer has: it no longer fits"
            }
        })
    }
}

impl std::error::Error for TokenError {}

/// Said when the schedule of a token no longer fits exactly.
pub(crate) const CHANGED: &str =
    "the code has changed since this token was made: the schedule was followed as far as it fits";

const PREFIX: &str = "lp1-";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.program.to_le_bytes());
        number(&mut bytes, self.scenario.len() as u64);
        for &part in &self.scenario {
            number(&mut bytes, u64::from(part.wrapping_add(1)));
        }
        for turn in &self.turns {
            bytes.push(turn.thread);
            number(&mut bytes, u64::from(turn.steps));
            bytes.push(turn.stopped_at);
        }
        let check = bytes.iter().fold(7u8, |sum, &byte| sum.rotate_left(3) ^ byte);
        bytes.push(check);
        f.write_str(PREFIX)?;
        for chunk in bytes.chunks(3) {
            let word = chunk
                .iter()
                .enumerate()
                .fold(0u32, |word, (at, &byte)| word | u32::from(byte) << (16 - 8 * at));
            for sextet in 0..=chunk.len() {
                let digit = word >> (18 - 6 * sextet) & 63;
                write!(f, "{}", char::from(ALPHABET[digit as usize]))?;
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Token, TokenError> {
        let text = text.trim();
        let body = match text.strip_prefix(PREFIX) {
            Some(body) => body,
            None if text.starts_with("lp") && text.contains('-') => return Err(TokenError::Version),
            None => return Err(TokenError::Malformed),
        };
        let bytes = decode(body).ok_or(TokenError::Malformed)?;
        let (&check, bytes) = bytes.split_last().ok_or(TokenError::Malformed)?;
        if bytes.iter().fold(7u8, |sum, &byte| sum.rotate_left(3) ^ byte) != check {
            return Err(TokenError::Malformed);
        }
        read(bytes).ok_or(TokenError::Malformed)
    }
}

fn read(bytes: &[u8]) -> Option<Token> {
    let (program, mut rest) = bytes.split_first_chunk::<4>()?;
    let length = take_number(&mut rest)?;
    let mut scenario = Vec::new();
    for _ in 0..length.min(1 << 12) {
        scenario.push(u16::try_from(take_number(&mut rest)?).ok()?.wrapping_sub(1));
    }
    let mut turns = Vec::new();
    while let Some((&thread, after)) = rest.split_first() {
        rest = after;
        let steps = u16::try_from(take_number(&mut rest)?).ok()?;
        let (&stopped_at, after) = rest.split_first()?;
        rest = after;
        turns.push(Turn { thread, steps, stopped_at });
    }
    Some(Token { program: u32::from_le_bytes(*program), scenario, turns })
}

/// Seven bits a byte, the low ones first.
fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..63).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

fn decode(body: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for chunk in body.as_bytes().chunks(4) {
        if chunk.len() == 1 {
            return None;
        }
        let mut word = 0u32;
        for (at, byte) in chunk.iter().enumerate() {
            let digit = ALPHABET.iter().position(|letter| letter == byte)? as u32;
            word |= digit << (18 - 6 * at);
        }
        bytes.extend((0..chunk.len() - 1).map(|at| (word >> (16 - 8 * at)) as u8));
    }
    Some(bytes)
}

/// The turns of a run.
pub(crate) fn turns(run: &Run) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (index, step) in run.steps.iter().enumerate() {
        match turns.last_mut() {
            Some(turn) if turn.thread == step.thread.0 && turn.steps < u16::MAX => turn.steps += 1,
            _ => turns.push(Turn { thread: step.thread.0, steps: 1, stopped_at: ENDED }),
        }
        let last = if run.threads[step.thread.index()].finished { ENDED } else { WAITS };
        let next = run.steps[index + 1..].iter().position(|later| later.thread == step.thread);
        let kind = next
            .map(|next| run.accesses_of(index + 1 + next))
            .and_then(|accesses| accesses.iter().find(|access| access.action != Action::Yield))
            .map_or(last, |access| access.action as u8);
        if let Some(turn) = turns.last_mut() {
            turn.stopped_at = kind;
        }
    }
    turns
}

/// The thread had come to its end.
const ENDED: u8 = 255;

/// The thread never went on: it waited, or the run failed before that.
const WAITS: u8 = 254;

/// Follows the turns of a token, as far as the program lets it.
pub(crate) struct Guided {
    turns: Vec<Turn>,
    at: usize,
    taken: u16,
    /// Did every turn go as remembered?
    pub(crate) exact: bool,
}

impl Guided {
    pub(crate) fn new(turns: Vec<Turn>) -> Guided {
        Guided { turns, at: 0, taken: 0, exact: true }
    }

    /// Would the thread's next step be of the kind the turn ended at?
    fn stands_at_end(&self, at: &Execution, turn: Turn) -> bool {
        let kind = at.intent(ThreadId(turn.thread)).map_or(ENDED, |intent| intent.action as u8);
        turn.stopped_at == WAITS || kind == turn.stopped_at || kind == Action::Block as u8
    }
}

impl Strategy for Guided {
    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        const STRETCH: u16 = 8;
        while let Some(&turn) = self.turns.get(self.at) {
            let thread = ThreadId(turn.thread);
            let over = self.taken >= turn.steps
                && (self.at + 1 == self.turns.len()
                    || self.stands_at_end(at, turn)
                    || self.taken >= turn.steps.saturating_add(STRETCH));
            if !over && at.enabled().contains(thread) {
                self.taken += 1;
                return Some(thread);
            }
            if self.taken != turn.steps {
                self.exact = false;
            }
            self.at += 1;
            self.taken = 0;
        }
        at.default_choice()
    }

    fn advance(&mut self, _run: &Run) -> bool {
        false
    }
}
