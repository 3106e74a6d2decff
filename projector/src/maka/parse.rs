//! Reading JSON the way the source does: strict, with half characters allowed in escapes.

use alloc::vec::Vec;

use super::json::{DEPTH_MAX, Json, Object};
use super::number::Number;
use super::text::Text;

impl Json {
    /// Reads a whole text. `None`: it is no JSON, is nested deeper than [`DEPTH_MAX`], or has a
    /// number too large for a double (which the source would read as infinite).
    pub fn parse(text: &Text) -> Option<Self> {
        let mut reader = Reader { rest: text.units() };
        reader.space();
        let value = reader.value(0)?;
        reader.space();
        reader.rest.is_empty().then_some(value)
    }

    /// Reads a whole string.
    pub fn parse_str(text: &str) -> Option<Self> {
        Self::parse(&Text::from(text))
    }
}

struct Reader<'t> {
    rest: &'t [u16],
}

impl Reader<'_> {
    fn peek(&self) -> u16 {
        self.rest.first().copied().unwrap_or(0)
    }

    fn skip(&mut self, units: usize) {
        self.rest = self.rest.get(units..).unwrap_or_default();
    }

    fn space(&mut self) {
        while matches!(self.peek(), 0x20 | 0x09 | 0x0a | 0x0d) {
            self.skip(1);
        }
    }

    fn eat(&mut self, word: &str) -> Option<()> {
        let units = word.len();
        let found = self.rest.get(..units)?.iter().copied().eq(word.encode_utf16());
        found.then(|| self.skip(units))
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        match u8::try_from(self.peek()).ok()? {
            b'{' => self.object(depth + 1),
            b'[' => self.array(depth + 1),
            b'"' => self.string().map(Json::String),
            b't' => self.eat("true").map(|()| Json::Bool(true)),
            b'f' => self.eat("false").map(|()| Json::Bool(false)),
            b'n' => self.eat("null").map(|()| Json::Null),
            _ => self.number().map(Json::Number),
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        self.eat("[").filter(|()| depth <= DEPTH_MAX)?;
        let mut items = Vec::new();
        self.space();
        if self.eat("]").is_some() {
            return Some(Json::Array(items));
        }
        loop {
            self.space();
            items.push(self.value(depth)?);
            self.space();
            if self.eat(",").is_none() {
                self.eat("]")?;
                return Some(Json::Array(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.eat("{").filter(|()| depth <= DEPTH_MAX)?;
        let mut members = Vec::new();
        self.space();
        if self.eat("}").is_some() {
            return Some(Json::Object(Object::default()));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.eat(":")?;
            self.space();
            members.push((name, self.value(depth)?));
            self.space();
            if self.eat(",").is_none() {
                self.eat("}")?;
                return Some(Json::Object(Object::from_members(members)));
            }
        }
    }

    fn string(&mut self) -> Option<Text> {
        self.eat("\"")?;
        let mut out = Text::new();
        loop {
            let unit = *self.rest.first()?;
            self.skip(1);
            match unit {
                0x22 => return Some(out),
                0x5c => out.push_unit(self.escape()?),
                0..=0x1f => return None,
                _ => out.push_unit(unit),
            }
        }
    }

    fn escape(&mut self) -> Option<u16> {
        let letter = u8::try_from(self.peek()).ok()?;
        self.skip(1);
        Some(match letter {
            b'"' | b'\\' | b'/' => u16::from(letter),
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => 0x0a,
            b'r' => 0x0d,
            b't' => 0x09,
            b'u' => {
                let digits = self.rest.get(..4)?;
                let unit = digits.iter().try_fold(0_u16, |value, unit| {
                    let digit = char::from(u8::try_from(*unit).ok()?).to_digit(16)?;
                    Some((value << 4) | u16::try_from(digit).ok()?)
                })?;
                self.skip(4);
                unit
            }
            _ => return None,
        })
    }

    fn number(&mut self) -> Option<Number> {
        let minus = usize::from(self.peek() == u16::from(b'-'));
        let whole = self.digits(minus);
        if whole == 0 || (whole > 1 && self.at(minus) == b'0') {
            return None;
        }
        let mut end = minus + whole;
        if self.at(end) == b'.' {
            let digits = self.digits(end + 1);
            end += 1 + digits;
            if digits == 0 {
                return None;
            }
        }
        if matches!(self.at(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.at(end + 1), b'-' | b'+'));
            let digits = self.digits(end + 1 + sign);
            end += 1 + sign + digits;
            if digits == 0 {
                return None;
            }
        }
        let text = alloc::string::String::from_utf16(self.rest.get(..end)?).ok()?;
        self.skip(end);
        Number::parse(&text)
    }

    fn at(&self, place: usize) -> u8 {
        self.rest.get(place).and_then(|unit| u8::try_from(*unit).ok()).unwrap_or(0)
    }

    fn digits(&self, from: usize) -> usize {
        let rest = self.rest.get(from..).unwrap_or_default();
        rest.iter().take_while(|unit| (0x30..=0x39).contains(*unit)).count()
    }
}
