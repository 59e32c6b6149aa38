//! Runs as text: which thread did what, so that a run can be taken again.
//!
//! A schedule is written as moves with `-` between them. `0c1_5` is thread 0 calling its operation 1 with the
//! argument 5 (`n5` is minus five, `none` is none); `0s1_2` is thread 0 taking its edge 1 with the choice 2.

use std::fmt;
use std::str::FromStr;

use linpoint_lang::program::{NONE, OpId, Word};

/// What a thread does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// It calls an operation.
    Call {
        /// Who.
        thread: usize,
        /// Which operation.
        op: OpId,
        /// With what.
        args: Vec<Word>,
    },
    /// It takes a step.
    Step {
        /// Who.
        thread: usize,
        /// Which edge of the node where it is.
        edge: usize,
        /// What it chooses, where the step leaves a choice.
        choices: Vec<u32>,
    },
}

impl Move {
    /// Who moves.
    pub fn thread(&self) -> usize {
        match self {
            Move::Call { thread, .. } | Move::Step { thread, .. } => *thread,
        }
    }
}

/// The moves of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(pub Vec<Move>);

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("-")?;
            }
            match one {
                Move::Call { thread, op, args } => {
                    write!(f, "{thread}c{}", op.0)?;
                    for arg in args {
                        match *arg {
                            NONE => f.write_str("_none")?,
                            arg if arg < 0 => write!(f, "_n{}", arg.unsigned_abs())?,
                            arg => write!(f, "_{arg}")?,
                        }
                    }
                }
                Move::Step { thread, edge, choices } => {
                    write!(f, "{thread}s{edge}")?;
                    for choice in choices {
                        write!(f, "_{choice}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSchedule {
    /// What cannot be read.
    pub part: String,
}

impl fmt::Display for BadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a move such as `0c1_5` or `0s1`", self.part)
    }
}

impl std::error::Error for BadSchedule {}

impl FromStr for Schedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Schedule, BadSchedule> {
        let read = |part: &str| read(part).ok_or_else(|| BadSchedule { part: part.to_owned() });
        text.split('-').filter(|part| !part.is_empty()).map(read).collect::<Result<_, _>>().map(Schedule)
    }
}

fn read(part: &str) -> Option<Move> {
    let (who, what) = part.split_at_checked(part.find(['c', 's'])?)?;
    let thread = who.parse().ok().filter(|thread| *thread < 16)?;
    let mut numbers = what[1..].split('_');
    let first = numbers.next()?;
    let word = |text: &str| match text.strip_prefix('n') {
        Some("one") => Some(NONE),
        Some(digits) => digits.parse::<Word>().ok().map(|n| -n),
        None => text.parse().ok(),
    };
    Some(match what.starts_with('c') {
        true => Move::Call {
            thread,
            op: OpId(first.parse().ok()?),
            args: numbers.map(word).collect::<Option<_>>()?,
        },
        false => Move::Step {
            thread,
            edge: first.parse().ok()?,
            choices: numbers.map(|n| n.parse().ok()).collect::<Option<_>>()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{Move, Schedule};
    use linpoint_lang::program::{NONE, OpId};

    #[test]
    fn print_then_read_is_identity() {
        let moves = vec![
            Move::Call { thread: 0, op: OpId(1), args: vec![5, -7, NONE] },
            Move::Step { thread: 12, edge: 3, choices: vec![0, 2] },
            Move::Call { thread: 2, op: OpId(0), args: vec![] },
            Move::Step { thread: 0, edge: 0, choices: vec![] },
        ];
        let schedule = Schedule(moves);
        assert_eq!(schedule.to_string(), "0c1_5_n7_none-12s3_0_2-2c0-0s0");
        assert_eq!(schedule.to_string().parse(), Ok(schedule));
        assert_eq!("".parse(), Ok(Schedule::default()));
        for bad in ["x", "0", "0q1", "99c0", "0c", "0s1_x", "0c1_nn", "s1", "0cé"] {
            assert!(bad.parse::<Schedule>().is_err(), "{bad}");
        }
    }
}
