//! Natural numbers of any size: just what turns decimals into doubles and back needs.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// A natural number, least significant limb first, no zero limb at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Big(Vec<u32>);

impl Big {
    pub(super) fn new(value: u64) -> Self {
        let mut big = Self::default();
        for shift in [0, 32] {
            big.0.push(u32::try_from((value >> shift) & 0xffff_ffff).unwrap_or_default());
        }
        big.trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of binary digits; 0 for zero.
    pub(super) fn bits(&self) -> u32 {
        let whole = u32::try_from(self.0.len()).unwrap_or(u32::MAX).saturating_mul(32);
        self.0.last().map_or(0, |top| whole - top.leading_zeros())
    }

    /// `self * factor + term`.
    pub(super) fn times_plus(mut self, factor: u32, term: u32) -> Self {
        let mut carry = u64::from(term);
        for limb in &mut self.0 {
            let value = u64::from(*limb) * u64::from(factor) + carry;
            *limb = u32::try_from(value & 0xffff_ffff).unwrap_or_default();
            carry = value >> 32;
        }
        self.0.push(u32::try_from(carry).unwrap_or_default());
        self.trimmed()
    }

    /// `self * 10^power`.
    pub(super) fn times_ten_to(self, power: u32) -> Self {
        let nine = (0..power / 9).fold(self, |big, _| big.times_plus(1_000_000_000, 0));
        (0..power % 9).fold(nine, |big, _| big.times_plus(10, 0))
    }

    /// `self * 2^shift`.
    pub(super) fn shifted(self, shift: u32) -> Self {
        let whole = usize::try_from(shift / 32).unwrap_or(usize::MAX);
        let mut limbs = alloc::vec![0; whole];
        limbs.extend(self.0);
        Self(limbs).trimmed().times_plus(1 << (shift % 32), 0)
    }

    /// `self + other`.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        let places = self.0.len().max(other.0.len()) + 1;
        self.0.resize(places, 0);
        let mut carry = 0;
        for (place, limb) in self.0.iter_mut().enumerate() {
            let sum = u64::from(*limb) + other.0.get(place).copied().map_or(0, u64::from) + carry;
            *limb = u32::try_from(sum & 0xffff_ffff).unwrap_or_default();
            carry = sum >> 32;
        }
        self.trimmed()
    }

    fn halved(&mut self) {
        let mut carry = 0;
        for limb in self.0.iter_mut().rev() {
            let low = *limb & 1;
            *limb = (*limb >> 1) | (carry << 31);
            carry = low;
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn subtract(&mut self, other: &Self) {
        let mut borrow = 0;
        for (place, limb) in self.0.iter_mut().enumerate() {
            let taken = u64::from(other.0.get(place).copied().unwrap_or(0)) + borrow;
            let found = u64::from(*limb);
            borrow = u64::from(found < taken);
            let left = found + (borrow << 32) - taken;
            *limb = u32::try_from(left & 0xffff_ffff).unwrap_or_default();
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// Quotient and remainder, for quotients below 2^128; `None` above that or by zero.
    pub(super) fn divided(self, by: &Self) -> Option<(u128, Self)> {
        let steps = self.bits().saturating_sub(by.bits());
        if by.is_zero() || steps >= 127 {
            return None;
        }
        let mut rest = self;
        let mut divisor = by.clone().shifted(steps);
        let mut quotient = 0;
        for _ in 0..=steps {
            quotient <<= 1;
            if rest >= divisor {
                rest.subtract(&divisor);
                quotient |= 1;
            }
            divisor.halved();
        }
        Some((quotient, rest))
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Big {
    fn cmp(&self, other: &Self) -> Ordering {
        let longer = self.0.len().cmp(&other.0.len());
        longer.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}
