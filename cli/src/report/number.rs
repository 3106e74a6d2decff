//! Numbers for people. Integers only: nothing is rounded twice.

/// A count with a comma every three digits: `3,936`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in decimal units: `812 B`, `12.3 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut unit_bytes = 1000_u64;
    for (index, unit) in ["kB", "MB", "GB", "TB", "PB", "EB"].into_iter().enumerate() {
        // A value that rounds up to the next unit is written in the next unit.
        let tenths = tenths(bytes, unit_bytes);
        if tenths < 10_000 || index == 5 {
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
        unit_bytes *= 1000;
    }
    count(bytes)
}

/// A share in percent: `98.6 %`. Only all of it is `100.0 %`, and only nothing is `0.0 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let exact = u128::from(part) * 1000;
    let mut per_mille = (exact + u128::from(whole) / 2) / u128::from(whole);
    if part < whole {
        per_mille = per_mille.min(999);
    }
    if part > 0 {
        per_mille = per_mille.max(1);
    }
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// How many times smaller: `31.5x`.
pub(crate) fn ratio(large: u64, small: u64) -> String {
    if small == 0 {
        return "-".to_owned();
    }
    let tenths = tenths(large, small);
    format!("{}.{}x", tenths / 10, tenths % 10)
}

fn tenths(number: u64, unit: u64) -> u128 {
    (u128::from(number) * 10 + u128::from(unit) / 2) / u128::from(unit)
}

/// A count and its noun: `1 request`, `2 requests`, `2 entries`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let shown = count(number);
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{shown} {noun}"),
        Some(stem) => format!("{shown} {stem}ies"),
        None => format!("{shown} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn sizes_move_to_the_next_unit_when_they_round_up_to_it() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (12_345_678, "12.3 MB"),
            (u64::MAX, "18.4 EB"),
        ];
        for (number, text) in cases {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn shares_are_only_whole_when_they_are() {
        let cases = [
            (0, 10, "0.0 %"),
            (1, 1_000_000, "0.1 %"),
            (999_999, 1_000_000, "99.9 %"),
            (10, 10, "100.0 %"),
            (15, 10, "150.0 %"),
            (1, 0, "-"),
        ];
        for (part, whole, text) in cases {
            assert_eq!(percent(part, whole), text);
        }
    }

    #[test]
    fn ratios_round_to_tenths() {
        assert_eq!(ratio(315, 10), "31.5x");
        assert_eq!(ratio(1, 0), "-");
    }
}
