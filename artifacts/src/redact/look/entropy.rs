//! Shannon entropy in integers, so that every machine decides the same.

/// One bit, in the unit of [`per_byte`].
pub(crate) const BIT: u64 = 1 << 16;
/// Values are counted up to this length.
const COUNTED_BYTES: usize = 1024;

/// Returns the entropy of the bytes of `text`, per byte, in 1/65536 of a bit.
pub(crate) fn per_byte(text: &[u8]) -> u64 {
    let text = text.get(..COUNTED_BYTES).unwrap_or(text);
    if text.is_empty() {
        return 0;
    }
    let mut counts = [0_u32; 256];
    for byte in text {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total = text.len() as u64;
    let repeated: u64 = counts.iter().filter(|n| **n > 1).map(|n| u64::from(*n) * log2(*n)).sum();
    let whole = total * log2(u32::try_from(total).unwrap_or(u32::MAX));
    whole.saturating_sub(repeated) / total
}

/// Returns the binary logarithm of `n`, which is not 0, in 1/65536.
fn log2(n: u32) -> u64 {
    let whole = u64::from(n.max(1).ilog2());
    // The mantissa in 1..2 with 31 bits behind the point; each squaring tells one more bit.
    let mut mantissa = (u64::from(n.max(1)) << 31) >> whole;
    let mut fraction = 0;
    for bit in (0..16).rev() {
        mantissa = (mantissa * mantissa) >> 31;
        if mantissa >= 1 << 32 {
            mantissa >>= 1;
            fraction |= 1 << bit;
        }
    }
    (whole << 16) | fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(log2(1), 0);
        assert_eq!(log2(8), 3 * BIT);
        assert_eq!(log2(3), 103_872);
        assert_eq!(per_byte(b""), 0);
        assert_eq!(per_byte(b"aaaa"), 0);
        assert_eq!(per_byte(b"abab"), BIT);
        assert_eq!(per_byte(b"0123456789abcdef"), 4 * BIT);
    }
}
