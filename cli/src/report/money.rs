//! Money for people: dollars with as many digits as mean something. Integers only.

/// A price for a token as dollars for a million: `3`, `0.3`, `0.028`.
pub(crate) fn per_million(pico: u64) -> String {
    let (whole, fraction) = (pico / 1_000_000, pico % 1_000_000);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{fraction:06}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_exact() {
        assert_eq!(per_million(28_000), "0.028");
        assert_eq!(per_million(3_000_000), "3");
    }
}
