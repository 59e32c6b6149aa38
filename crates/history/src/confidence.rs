//! What a clean run is worth (Dragicevic 2011, section 6.4.2).
//!
//! If an operation shows an error with probability p, independently of the others, y operations are all clean
//! with probability (1 − p)^y. So y operations would have shown it with probability 1 − (1 − p)^y; and after
//! y clean ones we may say, being wrong in one of twenty cases at most, that p is below the rate at which (1
//! − p)^y is 0.05. For large y that is 3 / y.
//!
//! It is a statement about operations *like these*: the same program, machine, mix and load. Errors of a
//! concurrent object are not independent in truth; they come where the schedule favours them, so the number
//! is a guide and no proof.

use std::fmt;

/// How sure the sentences of Linpoint are.
pub const USUAL: f64 = 0.95;

/// The rate that most errors of hand-written concurrent code had in Dragicevic's experience.
pub const COMMON_RATE: f64 = 1e-6;

/// The probability that `operations` show an error that comes in this share of them.
pub fn detection(rate: f64, operations: u64) -> f64 {
    // ln(1 − p) and 1 − e^x lose all their digits where p is small, unless they are asked for as a whole.
    -(operations as f64 * (-rate.clamp(0.0, 1.0)).ln_1p()).exp_m1()
}

/// After so many clean operations, and with this confidence (0.95, say), fewer errors than this an operation.
/// One where nothing was checked.
pub fn error_rate(clean: u64, confidence: f64) -> f64 {
    if clean == 0 {
        return 1.0;
    }
    -((1.0 - usable(confidence)).ln() / clean as f64).exp_m1()
}

/// How many operations must be clean, to say with this confidence that fewer than `rate` go wrong.
pub fn operations_needed(rate: f64, confidence: f64) -> u64 {
    let rate = rate.clamp(f64::MIN_POSITIVE, 1.0);
    ((1.0 - usable(confidence)).ln() / (-rate).ln_1p()).ceil().max(1.0) as u64
}

fn usable(confidence: f64) -> f64 {
    confidence.clamp(0.0, 1.0 - 1e-12)
}

/// The sentence at the end of a clean run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// Operations that were checked, and are clean.
    pub operations: u64,
    /// The error rate to speak of.
    pub rate: f64,
}

impl Worth {
    /// Of a run of so many operations, for errors as rare as most.
    pub fn of(operations: u64) -> Worth {
        Worth { operations, rate: COMMON_RATE }
    }
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seen, bound) = (detection(self.rate, self.operations), error_rate(self.operations, USUAL));
        write!(
            f,
            "an error of rate {} would have shown with probability {}; rates above {} are excluded at 95 %",
            Rate(self.rate),
            Percent(seen),
            Rate(bound)
        )
    }
}

/// `1/1,000,000`; the inverse of a rate rounded down so that it says no more than is true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inverse = 1.0 / self.0.max(f64::MIN_POSITIVE);
        if inverse < 10.0 {
            return write!(f, "1/{:.1}", (inverse * 10.0 + 1e-6).floor() / 10.0);
        }
        // A rate that a user wrote as 1/x is not exactly so in binary.
        let whole = if (inverse - inverse.round()).abs() < 1e-6 * inverse.min(1e3) {
            inverse.round()
        } else {
            inverse.floor()
        };
        let whole = grouped(whole as u64);
        write!(f, "1/{whole}")
    }
}

/// A share as people write it: more digits near the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        match percent {
            0.0 => write!(f, "0 %"),
            p if p < 0.01 => write!(f, "{p:.1e} %"),
            p if p < 1.0 => write!(f, "{p:.2} %"),
            p if p < 99.0 => write!(f, "{p:.1} %"),
            p if p <= 99.99 => write!(f, "{p:.2} %"),
            _ => write!(f, "over 99.99 %"),
        }
    }
}

/// `2,995,731`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_of_three() {
        // Three times the rate's inverse for 95 percent.
        assert_eq!(operations_needed(1e-6, 0.95), 2_995_731);
        assert!((error_rate(2_995_731, 0.95) - 1e-6).abs() < 1e-12);
        assert_eq!(error_rate(0, 0.99), 1.0);
        assert!((error_rate(1, 0.99) - 0.99).abs() < 1e-12);
    }

    /// Dragicevic 2011, table 6.3.
    #[test]
    fn table_of_detection() {
        let of = |a: u64| format!("{:.2}", 100.0 * detection(1e-8, a * 100_000_000));
        assert_eq!([1, 2, 3, 4, 5, 6].map(of), ["63.21", "86.47", "95.02", "98.17", "99.33", "99.75"]);
    }

    /// Against the definition, where numbers are small enough for it.
    #[test]
    fn is_the_definition() {
        for y in [1u64, 2, 7, 40] {
            for rate in [0.0_f64, 0.01, 0.3, 1.0] {
                let by_definition = 1.0 - (1.0 - rate).powi(y as i32);
                assert!((detection(rate, y) - by_definition).abs() < 1e-12, "{rate} {y}");
            }
            let bound = error_rate(y, 0.95);
            assert!((detection(bound, y) - 0.95).abs() < 1e-12);
            assert!(operations_needed(bound, 0.95).abs_diff(y) <= 1);
        }
    }

    #[test]
    fn sentence() {
        let worth = |operations| Worth::of(operations).to_string();
        let expected = "an error of rate 1/1,000,000 would have shown with probability 63.2 %; \
                        rates above 1/333,808 are excluded at 95 %";
        assert_eq!(worth(1_000_000), expected);
        let expected = "an error of rate 1/1,000,000 would have shown with probability 3.0e-4 %; \
                        rates above 1/1.5 are excluded at 95 %";
        assert_eq!(worth(3), expected);
        assert_eq!(Rate(1.0 / 3e6).to_string(), "1/3,000,000");
        assert_eq!(Percent(1.0).to_string(), "over 99.99 %");
    }
}
