//! How parameters and sections are written down and read back.

use alloc::vec::Vec;

use super::SnapshotError;
use crate::maka::json::{Json, Object};
use crate::maka::number::Number;
use crate::maka::ruler::UnitsPerToken;
use crate::maka::text::Text;

/// A parameter: what is not set is no value.
pub(super) trait Field: Sized {
    fn write(&self, form: Form) -> Json;
    /// Reads a value of a snapshot, where `null` stands for what is not set.
    fn read(value: &Json) -> Result<Self, Option<SnapshotError>>;
}

/// Which form is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The source's: a section says that it is enabled.
    Source,
    /// The snapshot's: what is not set is `null`.
    Snapshot,
}

impl Field for u64 {
    fn write(&self, _: Form) -> Json {
        Json::natural(*self)
    }

    fn read(value: &Json) -> Result<Self, Option<SnapshotError>> {
        value.as_number().and_then(Number::to_u64).ok_or(None)
    }
}

impl Field for bool {
    fn write(&self, _: Form) -> Json {
        Json::Bool(*self)
    }

    fn read(value: &Json) -> Result<Self, Option<SnapshotError>> {
        match value {
            Json::Bool(value) => Ok(*value),
            _ => Err(None),
        }
    }
}

impl Field for Number {
    fn write(&self, _: Form) -> Json {
        Json::Number(*self)
    }

    fn read(value: &Json) -> Result<Self, Option<SnapshotError>> {
        value.as_number().ok_or(None)
    }
}

impl Field for Text {
    fn write(&self, _: Form) -> Json {
        Json::String(self.clone())
    }

    fn read(value: &Json) -> Result<Self, Option<SnapshotError>> {
        value.as_text().cloned().ok_or(None)
    }
}

impl Field for UnitsPerToken {
    // The source has no knob for it; it is a parameter of each of its functions.
    fn write(&self, form: Form) -> Json {
        match form {
            Form::Source => Json::Undefined,
            Form::Snapshot => Json::natural(self.thousandths()),
        }
    }

    fn read(value: &Json) -> Result<Self, Option<SnapshotError>> {
        u64::read(value).map(Self::per_mille)
    }
}

impl<T: Field> Field for Option<T> {
    fn write(&self, form: Form) -> Json {
        match (self, form) {
            (Some(value), _) => value.write(form),
            (None, Form::Source) => Json::Undefined,
            (None, Form::Snapshot) => Json::Null,
        }
    }

    fn read(value: &Json) -> Result<Self, Option<SnapshotError>> {
        match value {
            Json::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }
}

/// Writes a section.
pub(super) fn write_section(form: Form, switch: bool, fields: Vec<(&'static str, Json)>) -> Json {
    let enabled = (switch && form == Form::Source).then_some(("enabled", Json::Bool(true)));
    let fields = enabled.into_iter().chain(fields);
    let fields = fields.filter(|(_, value)| *value != Json::Undefined);
    Json::Object(Object::from_members(fields.map(|(name, value)| (Text::from(name), value))))
}

/// Reads the fields of a section, and knows in the end whether there were others.
pub(super) struct SectionReader<'j> {
    section: &'static str,
    object: &'j Object,
    read: usize,
}

impl<'j> SectionReader<'j> {
    pub(super) fn new(section: &'static str, value: &'j Json) -> Result<Self, SnapshotError> {
        let object = value.as_object().ok_or(SnapshotError::NoObject { at: section })?;
        Ok(Self { section, object, read: 0 })
    }

    pub(super) fn field<T: Field>(&mut self, field: &'static str) -> Result<T, SnapshotError> {
        let wrong = SnapshotError::Field { section: self.section, field };
        let value = self.object.get(field).ok_or(wrong.clone())?;
        self.read += 1;
        T::read(value).map_err(|inner| inner.unwrap_or(wrong))
    }

    pub(super) fn end(self) -> Result<(), SnapshotError> {
        if self.read == self.object.members().len() {
            Ok(())
        } else {
            Err(SnapshotError::Unknown { section: self.section })
        }
    }
}

/// A section: parameters with their names in the source.
macro_rules! section {
    (
        $(#[$about:meta])*
        $name:ident $section:literal $switch:literal {
            $($(#[$doc:meta])* $field:ident: $kind:ty = $source:literal,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl $name {
            /// Names of its parameters in the source.
            pub const FIELDS: &[&str] = &[$($source),*];
        }

        impl Field for $name {
            fn write(&self, form: Form) -> Json {
                write_section(form, $switch, alloc::vec![$(($source, self.$field.write(form))),*])
            }

            fn read(value: &Json) -> Result<Self, Option<SnapshotError>> {
                let read = || {
                    let mut reader = SectionReader::new($section, value)?;
                    let section = Self { $($field: reader.field($source)?),* };
                    reader.end().map(|()| section)
                };
                read().map_err(Some)
            }
        }
    };
}

/// A parameter that is one of a few words.
macro_rules! words {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$doc:meta])* $word:ident = $text:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $word,)*
        }

        impl $name {
            /// The word that the source has for it.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }

            /// Reads a word.
            pub fn of(word: &str) -> Option<Self> {
                match word {
                    $($text => Some(Self::$word),)*
                    _ => None,
                }
            }
        }

        impl Field for $name {
            fn write(&self, _: Form) -> Json {
                Json::string(self.word())
            }

            fn read(value: &Json) -> Result<Self, Option<SnapshotError>> {
                value.as_text().and_then(|word| Self::of(&word.to_utf8())).ok_or(None)
            }
        }
    };
}

pub(super) use {section, words};
