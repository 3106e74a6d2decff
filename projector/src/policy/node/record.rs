//! Declares tables and words of the policy language: type, documentation, reading, writing and
//! schema come from one declaration, so that none of them can lag behind.

/// A table. A field without a default has to be there.
///
/// `check` names a function that looks at the table as a whole after it was read.
macro_rules! record {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident: $what:literal $(, check $check:path)? {
            $( $(#[doc = $field_doc:literal])* $field:ident: $type:ty $(= $default:expr)?, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {
            $( $(#[doc = $field_doc])* pub $field: $type, )*
        }

        impl $name {
            /// Reads the fields of this table out of a larger one.
            pub(crate) fn read_fields(
                fields: &$crate::policy::node::Fields<'_>,
            ) -> Result<Self, $crate::policy::node::Wrong> {
                let read = Self {
                    $( $field: $crate::policy::node::Param::read_field(
                        fields,
                        stringify!($field),
                        $crate::policy::node::record!(@default $($default)?),
                    )?, )*
                };
                $( $check(&read, fields)?; )?
                Ok(read)
            }

            pub(crate) fn write_fields(&self, out: &mut alloc::vec::Vec<$crate::policy::Entry>) {
                $( $crate::policy::node::Param::write_field(
                    &self.$field,
                    stringify!($field),
                    out,
                ); )*
            }

            pub(crate) fn schema_fields() -> alloc::vec::Vec<$crate::policy::schema::Field> {
                let mut out = alloc::vec::Vec::new();
                $( out.extend(<$type as $crate::policy::node::Param>::schema_field(
                    stringify!($field),
                    concat!($($field_doc),*).trim_ascii(),
                    $crate::policy::node::record!(@default $($default)?),
                )); )*
                out
            }

            pub(crate) const DOC: &'static str = concat!($($doc),*).trim_ascii();
        }

        impl $crate::policy::node::Param for $name {
            fn read(
                node: &$crate::policy::Node,
                explicit: bool,
            ) -> Result<Self, $crate::policy::node::Wrong> {
                let fields = $crate::policy::node::Fields::new(node, explicit)?;
                let known = Self::schema_fields();
                let known: alloc::vec::Vec<&str> = known.iter().map(|field| field.key).collect();
                fields.only($what, &known)?;
                Self::read_fields(&fields)
            }

            fn write(&self) -> $crate::policy::Value {
                let mut out = alloc::vec::Vec::new();
                self.write_fields(&mut out);
                $crate::policy::Value::Table(out)
            }

            fn schema() -> $crate::policy::schema::Schema {
                $crate::policy::schema::Schema::Table {
                    doc: Self::DOC,
                    fields: Self::schema_fields(),
                }
            }
        }
    };
    (@default) => { None };
    (@default $default:expr) => { Some($default) };
}

/// A choice among words.
macro_rules! words {
    (
        $(#[doc = $doc:literal])*
        $vis:vis enum $name:ident {
            $( $(#[doc = $variant_doc:literal])* $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name {
            $( $(#[doc = $variant_doc])* $variant, )*
        }

        impl $name {
            /// All of them.
            $vis const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The word that stands for it in a policy.
            $vis fn word(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )*
                }
            }
        }

        impl $crate::policy::node::Param for $name {
            fn read(
                node: &$crate::policy::Node,
                _explicit: bool,
            ) -> Result<Self, $crate::policy::node::Wrong> {
                let found = node.text()?;
                Self::ALL.iter().copied().find(|known| known.word() == found).ok_or_else(|| {
                    let words: alloc::vec::Vec<&str> =
                        Self::ALL.iter().map(|known| known.word()).collect();
                    $crate::policy::node::Wrong::unknown_word(node.at, found, &words)
                })
            }

            fn write(&self) -> $crate::policy::Value {
                $crate::policy::Value::Word(self.word().into())
            }

            fn schema() -> $crate::policy::schema::Schema {
                $crate::policy::schema::Schema::Words(alloc::vec![
                    $( ($word, concat!($($variant_doc),*).trim_ascii()), )*
                ])
            }
        }
    };
}

pub(crate) use {record, words};
