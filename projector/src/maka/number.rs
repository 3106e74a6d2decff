//! Numbers as the source has them: doubles, in integer arithmetic.
//!
//! A decimal is rounded to the nearest double, ties to even, and written back with the fewest
//! digits that give the same double (ECMA-262, `Number::toString`). No float is used, so no
//! compiler and no machine can change a digit.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};

use super::big::Big;

/// A double that is not a zero of negative sign: reading gives none, writing shows none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    negative: bool,
    /// Odd, or 0 for zero.
    mantissa: u64,
    /// The value is `mantissa * 2^exponent`.
    exponent: i32,
}

/// Digits of the significand of a double.
const PRECISION: u32 = 53;
/// Exponent of the least double above zero.
const EXPONENT_MIN: i32 = -1074;
/// Binary digits of the greatest double.
const BITS_MAX: i32 = 1024;
/// More decimal digits than this decide nothing but a tie; what is behind them counts as one.
const DIGITS_MAX: usize = 800;

impl Number {
    /// Zero.
    pub const ZERO: Self = Self { negative: false, mantissa: 0, exponent: 0 };

    /// The double nearest to an integer.
    pub fn integer(value: i64) -> Self {
        Self::whole(value < 0, value.unsigned_abs())
    }

    /// The double nearest to a natural number.
    pub fn natural(value: u64) -> Self {
        Self::whole(false, value)
    }

    fn whole(negative: bool, value: u64) -> Self {
        round(negative, &Big::new(value), &Big::new(1)).unwrap_or(Self::ZERO)
    }

    /// Reads `-12.5e3`, the whole of it. `None`: no number, or too large for a double.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, length) = Self::prefix(text)?;
        (length == text.len()).then_some(number)
    }

    /// Reads the number that a text begins with, and its length.
    pub fn prefix(text: &str) -> Option<(Self, usize)> {
        let scan = Scan::of(text.as_bytes())?;
        Some((scan.number()?, scan.length))
    }

    /// The value, if it is a natural number below 2^64.
    pub fn to_u64(self) -> Option<u64> {
        let shift = u32::try_from(self.exponent).ok()?;
        let fits = !self.negative && shift <= self.mantissa.leading_zeros();
        (fits || self.mantissa == 0).then(|| self.mantissa.checked_shl(shift).unwrap_or(0))
    }

    /// True for values above zero.
    pub fn is_positive(self) -> bool {
        !self.negative && self.mantissa > 0
    }

    /// True for values below zero.
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// True when there is no fraction.
    pub fn is_integer(self) -> bool {
        self.exponent >= 0
    }

    /// The largest integer that is not above a value of zero or more.
    pub fn floor(self) -> u64 {
        if self.negative {
            return 0;
        }
        match u32::try_from(-self.exponent) {
            Ok(shift) => self.mantissa.checked_shr(shift).unwrap_or(0),
            Err(_) => self.to_u64().unwrap_or(u64::MAX),
        }
    }

    /// `floor(self * factor)`, the product rounded to a double first, as the source does it.
    pub fn floor_times(self, factor: u64) -> u64 {
        let product = u128::from(self.mantissa) * u128::from(factor);
        let high = u64::try_from(product >> 64).unwrap_or(u64::MAX);
        let low = u64::try_from(product & u128::from(u64::MAX)).unwrap_or(u64::MAX);
        let big = Big::new(high).shifted(64).plus(&Big::new(low));
        scaled(self.negative, big, self.exponent).map_or(u64::MAX, Self::floor)
    }
}

/// A decimal as text.
struct Scan {
    negative: bool,
    /// Digits without the point, at most [`DIGITS_MAX`].
    digits: Big,
    /// The value is `digits * 10^power`.
    power: i64,
    /// Something that is not zero stands behind the digits.
    sticky: bool,
    length: usize,
}

impl Scan {
    fn of(text: &[u8]) -> Option<Self> {
        let mut at = usize::from(text.first() == Some(&b'-'));
        let negative = at == 1;
        let mut scan =
            Self { negative, digits: Big::default(), power: 0, sticky: false, length: 0 };
        let mut kept = 0;
        let mut seen = 0;
        let mut point = false;
        while let Some(byte) = text.get(at) {
            match byte {
                b'0'..=b'9' => {
                    seen += 1;
                    scan.digit(byte - b'0', point, &mut kept);
                }
                b'.' if !point && text.get(at + 1).is_some_and(u8::is_ascii_digit) => point = true,
                _ => break,
            }
            at += 1;
        }
        scan.length = at;
        if seen == 0 {
            return None;
        }
        scan.exponent(text.get(at..)?);
        Some(scan)
    }

    fn digit(&mut self, digit: u8, point: bool, kept: &mut usize) {
        if *kept < DIGITS_MAX {
            self.digits = core::mem::take(&mut self.digits).times_plus(10, u32::from(digit));
            *kept += usize::from(!self.digits.is_zero());
            self.power -= i64::from(point);
        } else {
            self.sticky |= digit != 0;
            self.power += i64::from(!point);
        }
    }

    fn exponent(&mut self, text: &[u8]) {
        let [b'e' | b'E', rest @ ..] = text else { return };
        let (sign, rest) = match rest {
            [b'-', rest @ ..] => (-1, rest),
            [b'+', rest @ ..] => (1, rest),
            _ => (1, rest),
        };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return;
        }
        let value = rest.iter().take(digits).fold(0_i64, |value, byte| {
            value.saturating_mul(10).saturating_add(i64::from(byte - b'0')).min(1 << 40)
        });
        self.power = self.power.saturating_add(sign * value);
        self.length += text.len() - rest.len() + digits;
    }

    fn number(&self) -> Option<Number> {
        // Far beyond the doubles on either side; this also bounds the work.
        let magnitude = i64::from(self.digits.bits()) * 3 / 10 + self.power;
        if self.digits.is_zero() || magnitude < -400 {
            return Some(Number::ZERO);
        }
        if magnitude > 400 {
            return None;
        }
        let mut digits = self.digits.clone();
        let mut power = self.power;
        if self.sticky {
            digits = digits.times_plus(10, 1);
            power -= 1;
        }
        let ten = u32::try_from(power.unsigned_abs()).ok()?;
        if power >= 0 {
            round(self.negative, &digits.times_ten_to(ten), &Big::new(1))
        } else {
            round(self.negative, &digits, &Big::new(1).times_ten_to(ten))
        }
    }
}

/// The double nearest to a quotient; `None` above the greatest.
fn round(negative: bool, number: &Big, by: &Big) -> Option<Number> {
    if number.is_zero() {
        return Some(Number::ZERO);
    }
    // A quotient of 64 or 65 digits, and whether something is left, decide every rounding.
    let found = i64::from(number.bits()) - i64::from(by.bits());
    let shift = i32::try_from(64 - found).ok()?;
    let (number, by) = match u32::try_from(shift) {
        Ok(up) => (number.clone().shifted(up), by.clone()),
        Err(_) => (number.clone(), by.clone().shifted(shift.unsigned_abs())),
    };
    let (quotient, rest) = number.divided(&by)?;
    nearest(negative, (quotient << 1) | u128::from(!rest.is_zero()), -shift - 1)
}

/// The double nearest to `value * 2^exponent`.
fn scaled(negative: bool, value: Big, exponent: i32) -> Option<Number> {
    match u32::try_from(exponent) {
        Ok(up) => round(negative, &value.shifted(up), &Big::new(1)),
        Err(_) => round(negative, &value, &Big::new(1).shifted(exponent.unsigned_abs())),
    }
}

fn nearest(negative: bool, value: u128, exponent: i32) -> Option<Number> {
    let bits = i32::try_from(128 - value.leading_zeros()).ok()?;
    let precision = i32::try_from(PRECISION).ok()?;
    let drop = (bits - precision).max(EXPONENT_MIN - exponent).max(0);
    let drop = u32::try_from(drop).ok()?;
    let kept = value.checked_shr(drop).unwrap_or(0);
    let half = 1_u128.checked_shl(drop).unwrap_or(0) >> 1;
    let rest = value - kept.checked_shl(drop).unwrap_or(0);
    let up = half > 0 && (rest > half || (rest == half && kept & 1 == 1));
    let kept = kept + u128::from(up);
    let exponent = exponent + i32::try_from(drop).ok()?;
    if kept == 0 {
        return Some(Number::ZERO);
    }
    let zeros = kept.trailing_zeros();
    let mantissa = u64::try_from(kept >> zeros).ok()?;
    let exponent = exponent + i32::try_from(zeros).ok()?;
    let top = exponent + i32::try_from(64 - mantissa.leading_zeros()).ok()?;
    (top <= BITS_MAX).then_some(Number { negative, mantissa, exponent })
}

impl Number {
    /// The fewest decimal digits that mean this double, and the place of the point before them.
    fn shortest(self) -> (String, i32) {
        let magnitude = Self { negative: false, ..self };
        let up = u32::try_from(self.exponent).unwrap_or(0);
        let down = u32::try_from(-self.exponent).unwrap_or(0);
        let (number, by) = (Big::new(self.mantissa).shifted(up), Big::new(1).shifted(down));
        let mut point = decimal_point(&number, &by);
        for digits in 1..=17 {
            let (low, twice_over) = leading(&number, &by, digits, &mut point);
            let even = low & 1 == 0;
            let lower_first = matches!(twice_over, core::cmp::Ordering::Less)
                || (twice_over == core::cmp::Ordering::Equal && even);
            let order = if lower_first { [low, low + 1] } else { [low + 1, low] };
            for candidate in order {
                let text = format!("{candidate}e{}", point - i32::from(digits));
                if Self::parse(&text) == Some(magnitude) {
                    let text = candidate.to_string();
                    let carried = text.len() > usize::from(digits);
                    let text = text.trim_end_matches('0').to_owned();
                    return (text, point + i32::from(carried));
                }
            }
        }
        // Seventeen digits tell every double apart, so the loop has returned.
        (String::new(), 0)
    }
}

/// A guess of the place of the decimal point before the first digit; at most one too small.
fn decimal_point(number: &Big, by: &Big) -> i32 {
    let bits = i64::from(number.bits()) - i64::from(by.bits());
    i32::try_from(((bits - 1) * 30_103).div_euclid(100_000)).unwrap_or(0)
}

/// The first digits, rounded down, and how twice what is left compares with one in the last
/// place. Corrects the place of the point.
fn leading(number: &Big, by: &Big, digits: u8, point: &mut i32) -> (u128, core::cmp::Ordering) {
    let limit = 10_u128.pow(u32::from(digits));
    loop {
        let power = i32::from(digits) - *point;
        let ten = power.unsigned_abs();
        let (number, by) = if power >= 0 {
            (number.clone().times_ten_to(ten), by.clone())
        } else {
            (number.clone(), by.clone().times_ten_to(ten))
        };
        let Some((quotient, rest)) = number.divided(&by) else {
            *point += 1;
            continue;
        };
        if quotient >= limit {
            *point += 1;
            continue;
        }
        return (quotient, rest.shifted(1).cmp(&by));
    }
}

impl core::fmt::Display for Number {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.negative {
            out.write_str("-")?;
        }
        if self.mantissa == 0 {
            return out.write_str("0");
        }
        let magnitude = Self { negative: false, ..*self };
        if let Some(whole) = magnitude.to_u64().filter(|whole| *whole < 1 << PRECISION) {
            return write!(out, "{whole}");
        }
        let (digits, point) = magnitude.shortest();
        let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
        if count <= point && point <= 21 {
            write!(out, "{digits}{}", zeros(point - count))
        } else if 0 < point && point <= 21 {
            let (whole, part) = digits.split_at(usize::try_from(point).unwrap_or(0));
            write!(out, "{whole}.{part}")
        } else if -6 < point && point <= 0 {
            write!(out, "0.{}{digits}", zeros(-point))
        } else {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if point > 0 { "+" } else { "-" };
            write!(out, "{first}{dot}{rest}e{sign}{}", (point - 1).unsigned_abs())
        }
    }
}
