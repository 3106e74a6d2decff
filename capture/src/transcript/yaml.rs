//! YAML as JSON, for cassettes: scalars, lists and maps. What YAML has beyond that (tags, anchors)
//! is read as its text or left out; nothing is expanded, so that memory follows the source.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use yaml_rust2::parser::{Event, MarkedEventReceiver, Parser, Tag};
use yaml_rust2::scanner::{Marker, TScalarStyle};

use super::json;

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 128;

/// The first document as JSON; `None` when it is no YAML.
pub(super) fn to_json(text: &str) -> Option<Vec<u8>> {
    let mut writer = Writer { out: Vec::new(), open: Vec::new(), too_deep: false, over: false };
    let mut parser = Parser::new_from_str(text);
    parser.load(&mut writer, false).ok()?;
    (!writer.too_deep && writer.open.is_empty()).then_some(writer.out)
}

/// A list or a map that is being written.
#[derive(Clone, Copy, Debug)]
enum Open {
    List { first: bool },
    Map { first: bool, key: bool },
}

struct Writer {
    out: Vec<u8>,
    open: Vec<Open>,
    too_deep: bool,
    over: bool,
}

impl Writer {
    /// Writes what stands before the next value; true where that value is a key.
    fn before(&mut self) -> bool {
        match self.open.last_mut() {
            Some(Open::List { first }) => {
                if !core::mem::replace(first, false) {
                    self.out.push(b',');
                }
                false
            }
            Some(Open::Map { first, key }) => {
                let is_key = *key;
                *key = !is_key;
                if is_key && !core::mem::replace(first, false) {
                    self.out.push(b',');
                }
                is_key
            }
            None => false,
        }
    }

    fn begin(&mut self, open: Open, bracket: u8) {
        // A map or list as a key has no place in JSON.
        let is_key = self.before();
        self.too_deep |= self.open.len() >= DEPTH_MAX || is_key;
        self.out.push(bracket);
        self.open.push(open);
    }

    fn end(&mut self, bracket: u8) {
        self.open.pop();
        self.out.push(bracket);
        self.over |= self.open.is_empty();
    }

    fn scalar(&mut self, text: &str, style: TScalarStyle) {
        let is_key = self.before();
        let plain = style == TScalarStyle::Plain && !is_key;
        match text {
            "" | "~" | "null" | "Null" | "NULL" if plain => self.out.extend_from_slice(b"null"),
            "true" | "True" if plain => self.out.extend_from_slice(b"true"),
            "false" | "False" if plain => self.out.extend_from_slice(b"false"),
            number if plain && is_number(number) => self.out.extend_from_slice(number.as_bytes()),
            text => json::write_text(text, &mut self.out),
        }
        if is_key {
            self.out.push(b':');
        }
    }
}

/// The text of a binary scalar (`!!binary`, and `!binary` of Ruby); `None` where it is no text,
/// or the scalar is none. Bytes that are no text stay in base64, for who knows their coding.
fn binary(text: &str, tag: Option<&Tag>) -> Option<String> {
    if tag?.suffix != "binary" {
        return None;
    }
    let coded: String = text.split_ascii_whitespace().collect();
    String::from_utf8(STANDARD.decode(coded).ok()?).ok()
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && json::whole(text.as_bytes()).is_some_and(|it| it.raw.len() == text.len())
}

impl MarkedEventReceiver for Writer {
    fn on_event(&mut self, event: Event, _mark: Marker) {
        if self.too_deep || self.over {
            return;
        }
        match event {
            Event::Scalar(text, style, _, tag) => match binary(&text, tag.as_ref()) {
                Some(text) => self.scalar(&text, TScalarStyle::Literal),
                None => self.scalar(&text, style),
            },
            Event::Alias(_) => self.scalar("null", TScalarStyle::Plain),
            Event::SequenceStart(..) => self.begin(Open::List { first: true }, b'['),
            Event::SequenceEnd => self.end(b']'),
            Event::MappingStart(..) => self.begin(Open::Map { first: true, key: true }, b'{'),
            Event::MappingEnd => self.end(b'}'),
            _ => {}
        }
    }
}
