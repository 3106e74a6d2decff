//! Money as integers: a picodollar is a millionth of a millionth of a dollar.
//!
//! A price of $0.028 for a million tokens is 28,000 picodollars for each, so that prices are
//! exact and sums are too. Sums saturate at 18 million dollars.

/// Picodollars in a dollar.
pub const PER_DOLLAR: u64 = 1_000_000_000_000;

/// An amount, or a price for one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picodollars(pub u64);

impl Picodollars {
    /// The amount for so many tokens at this price.
    #[must_use]
    pub fn times(self, tokens: u64) -> Self {
        Self(self.0.saturating_mul(tokens))
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// This price times a ratio in thousandths, rounded up.
    #[must_use]
    pub fn per_mille(self, per_mille: u64) -> Self {
        let scaled = (u128::from(self.0) * u128::from(per_mille)).div_ceil(1000);
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// Reads dollars as a decimal number, with or without an exponent: `3e-06`, `0.000003`.
    ///
    /// `None`: not such a number, negative, finer than a picodollar, or out of range.
    pub fn parse_dollars(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut digits: u64 = 0;
        for byte in whole.bytes().chain(fraction.bytes()) {
            let digit = u64::from(byte.checked_sub(b'0').filter(|digit| *digit < 10)?);
            digits = digits.checked_mul(10)?.checked_add(digit)?;
        }
        let places = i32::try_from(fraction.len()).ok()?;
        let shift = exponent.checked_sub(places)?.checked_add(12)?;
        if digits == 0 {
            return Some(Self(0));
        }
        let power = |places: i32| 10_u64.checked_pow(u32::try_from(places).ok()?);
        if shift >= 0 {
            return digits.checked_mul(power(shift)?).map(Self);
        }
        let divisor = power(shift.checked_neg()?)?;
        digits.is_multiple_of(divisor).then_some(Self(digits / divisor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_exactly_or_not_at_all() {
        let cases = [
            ("3e-06", Some(3_000_000)),
            ("0.000003", Some(3_000_000)),
            ("2.5e-07", Some(250_000)),
            ("2.8e-08", Some(28_000)),
            ("0.0", Some(0)),
            ("1", Some(PER_DOLLAR)),
            ("1.5E+1", Some(15 * PER_DOLLAR)),
            ("1e-12", Some(1)),
            ("1e-13", None),
            ("-1", None),
            ("", None),
            (".", None),
            ("1e99", None),
            ("1x", None),
            ("99999999999999999999", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(Picodollars::parse_dollars(text).map(|price| price.0), wanted, "{text}");
        }
    }

    #[test]
    fn a_ratio_rounds_up_and_sums_saturate() {
        assert_eq!(Picodollars(3).per_mille(100).0, 1);
        assert_eq!(Picodollars(3_000_000).per_mille(1250).0, 3_750_000);
        assert_eq!(Picodollars(u64::MAX).per_mille(2000).0, u64::MAX);
        assert_eq!(Picodollars(u64::MAX).plus(Picodollars(1)).0, u64::MAX);
    }
}
