//! Rows as Parquet: every column may be null, counts are unsigned, amounts are decimals of
//! dollars with all their digits. The types are those of `field`.

use std::io::{Seek as _, SeekFrom, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int64Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::field::{Field, Get};
use super::{Results, lines};
use crate::error::{Failure, Kind, Stop};
use crate::ui::Ui;

/// Digits of an amount: those of 2^64 picodollars.
const DOLLARS_DIGITS: i32 = 20;
/// Digits of them behind the point.
const DOLLARS_SCALE: i32 = 12;
/// Bytes of a number with so many digits and a sign.
const DOLLARS_BYTES: usize = 9;

/// A file that is being written.
pub(super) struct Writer<'f, W: Write + Send, T> {
    fields: &'f [Field<T>],
    file: SerializedFileWriter<W>,
}

impl<'f, W: Write + Send, T> Writer<'f, W, T> {
    pub(super) fn new(fields: &'f [Field<T>], to: W) -> Result<Self> {
        let columns = fields.iter().map(column).collect::<Result<Vec<_>>>()?;
        let columns = columns.into_iter().map(Arc::new).collect();
        let schema = Type::group_type_builder("entry").with_fields(columns).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("counterfold ", env!("CARGO_PKG_VERSION")).to_owned());
        let file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties.build()))?;
        Ok(Self { fields, file })
    }

    /// Writes entries as a group of their own, which is held in memory until it is written.
    pub(super) fn group(&mut self, entries: &[T]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for field in self.fields {
            values(field, entries, &mut group)?;
        }
        group.close().map(drop)
    }

    /// Ends the file and gives back what it was written to.
    pub(super) fn end(self) -> Result<W> {
        self.file.into_inner()
    }
}

/// Rows that are held before they are written.
const GROUP_ROWS: usize = 16_384;

/// Writes all rows to standard output.
pub(super) fn write(results: &Results<'_>, ui: &mut Ui) -> std::result::Result<(), Stop> {
    let failed = |error: ParquetError| Failure::of(Kind::Io, &error);
    let columns = lines::columns();
    // The end of the format is written by whoever knows all places, so that a pipe will not do.
    let mut file = Writer::new(&columns, tempfile::tempfile()?).map_err(failed)?;
    let mut group = Vec::new();
    results.each(|_recording, rows| {
        group.extend(rows.iter().cloned());
        if group.len() >= GROUP_ROWS {
            file.group(&group).map_err(failed)?;
            group.clear();
        }
        Ok(())
    })?;
    file.group(&group).map_err(failed)?;
    let mut kept = file.end().map_err(failed)?;
    kept.seek(SeekFrom::Start(0))?;
    std::io::copy(&mut kept, ui.output())?;
    Ok(())
}

/// A whole file in memory.
pub(super) fn file<T>(fields: &[Field<T>], entries: &[T]) -> Result<Vec<u8>> {
    let mut writer = Writer::new(fields, Vec::new())?;
    writer.group(entries)?;
    writer.end()
}

fn column<T>(field: &Field<T>) -> Result<Type> {
    let (physical, logical) = match field.get {
        Get::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Get::Count(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Get::Flag(_) => (Physical::BOOLEAN, None),
        Get::Dollars(_) => {
            let decimal = LogicalType::decimal(DOLLARS_SCALE, DOLLARS_DIGITS);
            (Physical::FIXED_LEN_BYTE_ARRAY, Some(decimal))
        }
    };
    let column = Type::primitive_type_builder(field.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    if matches!(field.get, Get::Dollars(_)) {
        let length = i32::try_from(DOLLARS_BYTES).unwrap_or(i32::MAX);
        let decimal = column.with_length(length).with_precision(DOLLARS_DIGITS);
        return decimal.with_scale(DOLLARS_SCALE).build();
    }
    column.build()
}

/// Known values, and for each entry 1 where it has one.
fn split<T, V>(entries: &[T], get: impl Fn(&T) -> Option<V>) -> (Vec<V>, Vec<i16>) {
    let mut known = Vec::new();
    let mut levels = Vec::with_capacity(entries.len());
    for entry in entries {
        let value = get(entry);
        levels.push(i16::from(value.is_some()));
        known.extend(value);
    }
    (known, levels)
}

fn values<T, W: Write + Send>(
    field: &Field<T>,
    entries: &[T],
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("fewer columns than fields".to_owned()));
    };
    match field.get {
        Get::Text(get) => {
            let (known, levels) = split(entries, |it| get(it).map(ByteArray::from));
            column.typed::<ByteArrayType>().write_batch(&known, Some(&levels), None)?;
        }
        Get::Count(get) => {
            let (known, levels) = split(entries, |it| get(it).map(u64::cast_signed));
            column.typed::<Int64Type>().write_batch(&known, Some(&levels), None)?;
        }
        Get::Flag(get) => {
            let (known, levels) = split(entries, get);
            column.typed::<BoolType>().write_batch(&known, Some(&levels), None)?;
        }
        Get::Dollars(get) => {
            let (known, levels) = split(entries, |it| get(it).map(decimal));
            column.typed::<FixedLenByteArrayType>().write_batch(&known, Some(&levels), None)?;
        }
    }
    column.close()
}

/// An amount as decimals are stored.
#[expect(clippy::big_endian_bytes, reason = "the format has decimals with the highest byte first")]
fn decimal(picodollars: u64) -> FixedLenByteArray {
    let bytes = u128::from(picodollars).to_be_bytes();
    let (_, low) = bytes.split_at(bytes.len() - DOLLARS_BYTES);
    ByteArray::from(low.to_vec()).into()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field as Value;

    use super::*;

    struct Entry(Option<&'static str>, Option<u64>, Option<bool>);

    const FIELDS: [Field<Entry>; 4] = [
        Field { name: "text", get: Get::Text(|it| it.0) },
        Field { name: "count", get: Get::Count(|it| it.1) },
        Field { name: "flag", get: Get::Flag(|it| it.2) },
        Field { name: "dollars", get: Get::Dollars(|it| it.1) },
    ];

    #[test]
    fn what_is_written_is_read_again_with_its_types() {
        let entries = [
            Entry(Some("a"), Some(u64::MAX), Some(true)),
            Entry(None, None, None),
            Entry(Some(""), Some(0), Some(false)),
        ];
        let bytes = file(&FIELDS, &entries).unwrap();
        let mut kept = tempfile::tempfile().unwrap();
        kept.write_all(&bytes).unwrap();
        let reader = SerializedFileReader::new(kept).unwrap();
        let rows: Vec<Vec<Value>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_column_iter().map(|(_, value)| value.clone()).collect())
            .collect();
        assert_eq!(
            rows[0][..3],
            [Value::Str("a".to_owned()), Value::ULong(u64::MAX), Value::Bool(true)]
        );
        assert_eq!(rows[1], [Value::Null, Value::Null, Value::Null, Value::Null]);
        assert_eq!(rows[2][..3], [Value::Str(String::new()), Value::ULong(0), Value::Bool(false)]);
        let dollars: Vec<String> = rows.iter().map(|row| row[3].to_string()).collect();
        assert_eq!(dollars, ["18446744.073709551615", "null", "0.000000000000"]);
    }
}
