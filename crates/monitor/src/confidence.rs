//! What a clean run is worth (Dragicevic 2011, section 6.4.2).
//!
//! If an operation goes wrong with probability p, independently of the others, y operations are all clean with probability (1 − p)^y ≤ e^−py. So after y
//! clean operations we may say, being wrong in e^−a of all cases at most, that p < a / y.

/// After so many clean operations, and with this confidence (0.99, say), fewer errors than this an operation. One where nothing was checked.
pub fn error_rate(clean: u64, confidence: f64) -> f64 {
    if clean == 0 {
        return 1.0;
    }
    let a = -(1.0 - confidence.clamp(0.0, 1.0 - 1e-12)).ln();
    (a / clean as f64).min(1.0)
}

/// How many operations must be clean, to say with this confidence that fewer than `rate` go wrong.
pub fn operations_needed(rate: f64, confidence: f64) -> u64 {
    let a = -(1.0 - confidence.clamp(0.0, 1.0 - 1e-12)).ln();
    (a / rate.max(f64::MIN_POSITIVE)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_of_three() {
        // Three times the rate's inverse for 95 percent.
        assert_eq!(operations_needed(1e-6, 0.95), 2_995_733);
        assert!((error_rate(2_995_733, 0.95) - 1e-6).abs() < 1e-12);
        assert_eq!(error_rate(0, 0.99), 1.0);
        assert_eq!(error_rate(1, 0.99), 1.0);
    }
}
