//! Money for people: dollars with as many digits as mean something. Integers only.

const PER_CENT: u64 = 10_000_000_000;
const PER_DOLLAR: u64 = 100 * PER_CENT;

/// An amount of picodollars: `$1,234`, `$12.34`, `$0.0123`, `$0.000012`.
pub(crate) fn dollars(pico: u64) -> String {
    let (digits, unit) = match pico {
        0 => return "$0".to_owned(),
        _ if pico >= 1000 * PER_DOLLAR => (0, PER_DOLLAR),
        _ if pico >= PER_DOLLAR => (2, PER_CENT),
        _ if pico >= PER_CENT => (4, PER_CENT / 100),
        _ => (6, PER_CENT / 10_000),
    };
    let rounded = pico / unit + u64::from(pico % unit >= unit / 2 + unit % 2);
    if rounded == 0 {
        return "<$0.000001".to_owned();
    }
    if digits == 0 {
        return format!("${}", super::number::count(rounded));
    }
    let power = 10_u64.pow(digits);
    let width = usize::try_from(digits).unwrap_or(0);
    format!("${}.{:0width$}", super::number::count(rounded / power), rounded % power)
}

/// A price for a token as dollars for a million: `3`, `0.3`, `0.028`.
pub(crate) fn per_million(pico: u64) -> String {
    let (whole, fraction) = (pico / 1_000_000, pico % 1_000_000);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{fraction:06}").trim_end_matches('0').to_owned()
}

/// All digits of an amount, as dollars: what programs read.
pub(crate) fn exact(pico: u64) -> String {
    format!("{}.{:012}", pico / PER_DOLLAR, pico % PER_DOLLAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_digits_that_mean_something() {
        let cases = [
            (0, "$0"),
            (1, "<$0.000001"),
            (1_500_000, "$0.000002"),
            (12_000_000_000, "$0.0120"),
            (10 * PER_CENT, "$0.1000"),
            (PER_DOLLAR, "$1.00"),
            (1_234 * PER_DOLLAR, "$1,234"),
            (12_345_000_000_000, "$12.35"),
        ];
        for (pico, text) in cases {
            assert_eq!(dollars(pico), text, "{pico}");
        }
        assert_eq!(per_million(28_000), "0.028");
        assert_eq!(per_million(3_000_000), "3");
        assert_eq!(exact(3), "0.000000000003");
    }
}
