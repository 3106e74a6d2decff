//! Tokens of bytes, by what a provider has reported for a run: a ratio and its band.

/// A ratio of tokens and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Tokens of all requests with a report.
    pub tokens: u64,
    /// Bytes of their prompts.
    pub bytes: u64,
    /// Smallest ratio of one request, in millionths.
    pub low_ppm: u64,
    /// Largest.
    pub high_ppm: u64,
    /// Requests that it rests on; 0: it is a quarter, which is assumed.
    pub requests: u64,
}

/// Millionths of a token for a byte where nothing is reported, and what it is taken to lie within.
const ASSUMED: Scale =
    Scale { tokens: 1, bytes: 4, low_ppm: 170_000, high_ppm: 420_000, requests: 0 };

impl Scale {
    /// The ratio over pairs of bytes and reported tokens.
    pub fn of(reports: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut scale = Self { tokens: 0, bytes: 0, low_ppm: u64::MAX, high_ppm: 0, requests: 0 };
        for (bytes, tokens) in reports {
            if bytes == 0 || tokens == 0 {
                continue;
            }
            let ppm = u128::from(tokens) * 1_000_000 / u128::from(bytes);
            let ppm = u64::try_from(ppm).unwrap_or(u64::MAX);
            scale.tokens = scale.tokens.saturating_add(tokens);
            scale.bytes = scale.bytes.saturating_add(bytes);
            scale.low_ppm = scale.low_ppm.min(ppm);
            scale.high_ppm = scale.high_ppm.max(ppm);
            scale.requests += 1;
        }
        if scale.requests == 0 { ASSUMED } else { scale }
    }

    /// The one that is taken where nothing is known.
    pub fn assumed() -> Self {
        ASSUMED
    }

    /// Tokens of so many bytes, rounded up.
    pub fn tokens(&self, bytes: u64) -> u64 {
        let tokens =
            (u128::from(bytes) * u128::from(self.tokens)).div_ceil(u128::from(self.bytes.max(1)));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// Fewest and most tokens of so many bytes, by the band.
    pub fn band(&self, bytes: u64) -> (u64, u64) {
        let of = |ppm: u64| {
            let tokens = (u128::from(bytes) * u128::from(ppm)).div_ceil(1_000_000);
            u64::try_from(tokens).unwrap_or(u64::MAX)
        };
        (of(self.low_ppm), of(self.high_ppm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_the_sums_and_its_band_that_of_the_requests() {
        let scale = Scale::of([(100, 20), (100, 40), (0, 5), (7, 0)].into_iter());
        assert_eq!((scale.tokens, scale.bytes, scale.requests), (60, 200, 2));
        assert_eq!(scale.tokens(1000), 300);
        assert_eq!(scale.band(1000), (200, 400));
        assert_eq!(Scale::of(core::iter::empty()), Scale::assumed());
        assert_eq!(Scale::assumed().tokens(5), 2);
    }
}
