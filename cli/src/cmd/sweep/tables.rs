//! Rows and requests as tables beside what a sweep keeps: `FORMAT/rows/run=ID/KEY.FORMAT` and
//! `FORMAT/requests/run=ID/KEY.FORMAT`, Hive partitions by run, whose id is in the folder alone.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::field::{Field, REQUEST, ROW};
use super::lines;
use super::requests::RequestEntry;
use super::row::RowEntry;
use crate::error::Failure;

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TableFormat {
    /// For analytic databases
    #[cfg(feature = "parquet")]
    Parquet,
    /// For everything else
    Csv,
}

impl TableFormat {
    /// The name of its folder, and the end of its files' names.
    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }

    pub(super) fn rows(self, rows: &[RowEntry]) -> Result<Vec<u8>, Failure> {
        self.table(ROW, rows)
    }

    pub(super) fn requests(self, requests: &[RequestEntry]) -> Result<Vec<u8>, Failure> {
        self.table(REQUEST, requests)
    }

    fn table<T>(self, fields: &[Field<T>], entries: &[T]) -> Result<Vec<u8>, Failure> {
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet => {
                let file = super::parquet::file(fields, entries);
                file.map_err(|error| Failure::of(crate::error::Kind::Io, &error))
            }
            Self::Csv => {
                let mut text = lines::heads(fields.iter());
                for entry in entries {
                    text.push_str(&lines::line(fields.iter(), entry));
                }
                Ok(text.into_bytes())
            }
        }
    }
}
