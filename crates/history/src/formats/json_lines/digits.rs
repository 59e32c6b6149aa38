//! Eight bytes of decimal digits at a time, without a loop over them (after Mula and Lemire's well-known way
//! of parsing digits inside a register).

/// How many of the eight bytes, from the first on, are digits; and the number these digits are. With no
/// digits the number means nothing.
#[inline(always)]
pub fn leading_digits(word: u64) -> (usize, u64) {
    let digits = word ^ 0x3030_3030_3030_3030;
    // A byte of 10 or more gets its high bit set. Carries go to later bytes only, which do not matter.
    let other = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = (other.trailing_zeros() / 8) as usize;
    // Digits to the end, zeros before them: eight digits always.
    let digits = digits << ((64 - 8 * count) & 63);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    (count, low.wrapping_add(high) >> 32)
}

/// Ten to the power of `0..=8`.
pub const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

#[cfg(test)]
mod tests {
    use super::leading_digits;

    #[test]
    fn digits_are_counted_and_read() {
        for (text, expected) in [
            ("7,\"ret\":", (1, 7)),
            ("12345678", (8, 12_345_678)),
            ("00000010", (8, 10)),
            ("1234567}", (7, 1_234_567)),
            ("99:00000", (2, 99)),
            ("40/00000", (2, 40)),
            ("5\u{7f}\u{7f}12345", (1, 5)),
        ] {
            let word = u64::from_le_bytes(text.as_bytes().try_into().unwrap());
            assert_eq!(leading_digits(word), expected, "{text}");
        }
        assert_eq!(leading_digits(u64::from_le_bytes(*b"x1234567")).0, 0);
        assert_eq!(leading_digits(u64::from_le_bytes([b'3', 0xff, 0xff, b'0', 0x80, 0, 0, 0])), (1, 3));
    }
}
