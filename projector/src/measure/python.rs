//! How long Python's `repr` of a JSON value is, in code points, without making it.
//!
//! LangChain's estimator counts `repr(message.tool_calls)`, where the arguments are what Python's
//! `json.loads` makes of them.

/// Nested deeper than this a value counts as it stands.
const DEPTH_MAX: usize = 64;

/// Code points of `repr(json.loads(json))`; of the text itself where it is no JSON.
pub(crate) fn repr_chars(json: &str) -> u64 {
    let mut reader = Reader { rest: json };
    match reader.value(0) {
        Some(chars) if reader.rest.trim_start_matches(SPACE).is_empty() => chars,
        _ => json.chars().count() as u64,
    }
}

/// Code points of `repr` of a text.
pub(crate) fn text_repr_chars(text: &str) -> u64 {
    text_chars(text.chars())
}

const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

struct Reader<'j> {
    rest: &'j str,
}

impl Reader<'_> {
    fn skip(&mut self, token: char) -> bool {
        self.rest = self.rest.trim_start_matches(SPACE);
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<u64> {
        if depth > DEPTH_MAX {
            return None;
        }
        if self.skip('{') {
            return self.members('}', |reader| {
                let key = reader.string()?;
                reader.skip(':').then_some(())?;
                Some(key + 2 + reader.value(depth + 1)?)
            });
        }
        if self.skip('[') {
            return self.members(']', |reader| reader.value(depth + 1));
        }
        if self.rest.starts_with('"') {
            return self.string();
        }
        let end = self.rest.find([',', ']', '}', ' ', '\t', '\n', '\r']);
        let (token, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match token {
            "true" | "null" => Some(4),
            "false" => Some(5),
            number => number_chars(number),
        }
    }

    /// What stands between two brackets: each element, two for a comma and its space.
    fn members(
        &mut self,
        close: char,
        mut element: impl FnMut(&mut Self) -> Option<u64>,
    ) -> Option<u64> {
        let mut chars = 2;
        if self.skip(close) {
            return Some(chars);
        }
        loop {
            self.rest = self.rest.trim_start_matches(SPACE);
            chars += element(self)?;
            if self.skip(close) {
                return Some(chars);
            }
            self.skip(',').then_some(())?;
            chars += 2;
        }
    }

    fn string(&mut self) -> Option<u64> {
        self.skip('"').then_some(())?;
        let start = self.rest;
        let mut chars = Unescape { rest: start };
        let mut count = Counted::default();
        loop {
            match chars.next()? {
                Char::End => break,
                Char::Of(c) => count.add(c),
            }
        }
        self.rest = chars.rest;
        Some(count.chars())
    }
}

/// One character of a JSON string, or its end.
enum Char {
    Of(char),
    End,
}

struct Unescape<'j> {
    rest: &'j str,
}

impl Unescape<'_> {
    fn next(&mut self) -> Option<Char> {
        let c = self.take()?;
        if c == '"' {
            return Some(Char::End);
        }
        if c != '\\' {
            return Some(Char::Of(c));
        }
        Some(Char::Of(match self.take()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unit()?,
            other => other,
        }))
    }

    fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    /// A unit, with its other half; half a pair alone is as long as U+D800 is: not printable.
    fn unit(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Some(char::from_u32(first).unwrap_or('\u{e000}'));
        }
        let before = self.rest;
        if let Some(rest) = self.rest.strip_prefix("\\u") {
            self.rest = rest;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                return char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
            self.rest = before;
        }
        Some('\u{e000}')
    }

    fn hex(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        u32::from_str_radix(digits, 16).ok()
    }
}

/// A text while it is counted: which quotes stand around it is known at its end.
#[derive(Default)]
struct Counted {
    chars: u64,
    single: u64,
    double: bool,
}

impl Counted {
    fn add(&mut self, c: char) {
        self.single += u64::from(c == '\'');
        self.double |= c == '"';
        self.chars += char_chars(c);
    }

    fn chars(&self) -> u64 {
        // Double quotes are used where that saves escapes: there are single ones and no double.
        let escaped = if self.double { self.single } else { 0 };
        self.chars + 2 + escaped
    }
}

fn text_chars(chars: impl Iterator<Item = char>) -> u64 {
    let mut count = Counted::default();
    chars.for_each(|c| count.add(c));
    count.chars()
}

fn char_chars(c: char) -> u64 {
    match c {
        '\\' | '\n' | '\r' | '\t' => 2,
        ' '..='~' => 1,
        c if is_printable(c) => 1,
        c if u32::from(c) < 0x100 => 4,
        c if u32::from(c) < 0x1_0000 => 6,
        _ => 10,
    }
}

/// Neither a control, format, surrogate, private or unassigned character nor a space. Rust's own
/// table has the same rule; it escapes a combining mark only at the start of a text.
fn is_printable(c: char) -> bool {
    let mut pair = [0; 5];
    pair[0] = b'x';
    let length = 1 + c.encode_utf8(&mut pair[1..]).len();
    let text = core::str::from_utf8(pair.get(..length).unwrap_or_default()).unwrap_or_default();
    text.escape_debug().count() == 2
}

/// Code points of `repr` of a number. Digits of a float are taken as they stand, less zeros that
/// say nothing: programs write the shortest ones.
fn number_chars(token: &str) -> Option<u64> {
    let digits = token.strip_prefix('-').unwrap_or(token);
    let minus = (token.len() - digits.len()) as u64;
    digits.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        // `-0` is the integer 0.
        return Some(if digits == "0" { 1 } else { token.len() as u64 });
    }
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.trim_start_matches('+').parse().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    float_chars(whole, fraction, exponent).map(|chars| chars + minus)
}

fn float_chars(whole: &str, fraction: &str, exponent: i64) -> Option<u64> {
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (plain(whole) && plain(fraction)).then_some(())?;
    let joined = || whole.bytes().chain(fraction.bytes());
    let length = i64::try_from(joined().count()).ok()?;
    let Some(leading) = joined().position(|b| b != b'0') else { return Some(3) };
    let trailing = i64::try_from(joined().rev().take_while(|b| *b == b'0').count()).ok()?;
    let leading = i64::try_from(leading).ok()?;
    let significant = length - leading - trailing;
    // The value is 0.d1d2... times ten to the power of `point`.
    let point = i64::try_from(whole.len()).ok()? - leading + exponent;
    let chars = match point {
        // 1.5e+16, 1e-05
        p if !(-3..=16).contains(&p) => {
            let power = (p - 1).unsigned_abs();
            let digits = if power >= 100 { 3 } else { 2 };
            significant + i64::from(significant > 1) + 2 + digits
        }
        // 0.00015
        p if p <= 0 => 2 - p + significant,
        // 150.0
        p if p >= significant => p + 2,
        // 1.5
        _ => significant + 1,
    };
    u64::try_from(chars).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python 3.12 says of each.
    const REPRS: &[(&str, u64)] = &[
        ("null", 4),
        ("[true, false, null]", 19),
        ("{}", 2),
        ("{\"a\": {\"b\": []}, \"c\": \"d\"}", 26),
        (r#""it's""#, 6),
        (r#""say \"it's\"""#, 13),
        (r#""\u0000\u0085\u00a0\u00ad""#, 18),
        (r#""\ud83d\ude00\u200d\ue000""#, 15),
        (r#""\ud83d""#, 8),
        (r#""e\u0301\u0301""#, 5),
        ("-0", 1),
        ("-0.0", 4),
        ("12345678901234567890", 20),
        ("1e5", 8),
        ("1.50", 3),
        ("0.0001", 6),
        ("0.00001", 5),
        ("1e16", 5),
        ("9999999999999998.0", 18),
        ("1.5e300", 8),
    ];

    #[test]
    fn lengths_are_those_of_python() {
        for (json, chars) in REPRS {
            assert_eq!(repr_chars(json), *chars, "{json}");
        }
    }

    #[test]
    fn what_is_no_json_counts_as_it_stands() {
        for (text, chars) in [("{", 1), ("[1 2]", 5), ("\u{6f22}", 1), ("{\"a\" 1}", 7), ("", 0)] {
            assert_eq!(repr_chars(text), chars, "{text}");
        }
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert_eq!(repr_chars(&deep), 200);
    }
}
