//! Names of the files in an artifact folder: number, then writer epoch.
//!
//! The number orders packs. The epoch, drawn by the writer, keeps two writers from sharing a
//! file. Names carry no time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Suffix of a pack's name.
pub(crate) const PACK_SUFFIX: &str = ".pack";
/// Suffix of an index's name.
pub(crate) const INDEX_SUFFIX: &str = ".idx";
/// Suffix of an index that is being written; a leftover one means nothing.
const TEMPORARY_SUFFIX: &str = ".idx.tmp";
/// Fewest digits of a pack number in a name.
const NUMBER_DIGITS: usize = 6;
/// Digits of an epoch in a name.
const EPOCH_DIGITS: usize = 8;

/// Number and epoch of a pack, in the order in which packs were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackName {
    pub(crate) number: u32,
    pub(crate) epoch: u32,
}

impl PackName {
    /// Reads the name of a pack; any other file name is `None`.
    pub(crate) fn parse(file_name: &OsStr) -> Option<Self> {
        let stem = file_name.to_str()?.strip_suffix(PACK_SUFFIX)?.strip_prefix("p-")?;
        let (number, epoch) = stem.split_once('-')?;
        let name =
            Self { number: number.parse().ok()?, epoch: u32::from_str_radix(epoch, 16).ok()? };
        // One spelling per name: no signs, no missing zeros, no capitals.
        (name.stem() == format!("p-{stem}")).then_some(name)
    }

    /// The pack's path in `folder`.
    pub(crate) fn pack_path(self, folder: &Path) -> PathBuf {
        folder.join(self.stem() + PACK_SUFFIX)
    }

    /// The index's path in `folder`.
    pub(crate) fn index_path(self, folder: &Path) -> PathBuf {
        folder.join(self.stem() + INDEX_SUFFIX)
    }

    /// The path at which the index is written before it gets its name.
    pub(crate) fn temporary_path(self, folder: &Path) -> PathBuf {
        folder.join(self.stem() + TEMPORARY_SUFFIX)
    }

    fn stem(self) -> String {
        format!("p-{:0NUMBER_DIGITS$}-{:0EPOCH_DIGITS$x}", self.number, self.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_and_has_one_spelling() {
        let name = PackName { number: 1, epoch: 0x3f9a_6c01 };
        assert_eq!(name.pack_path(Path::new("art")), Path::new("art/p-000001-3f9a6c01.pack"));
        assert_eq!(name.index_path(Path::new("art")), Path::new("art/p-000001-3f9a6c01.idx"));
        assert_eq!(PackName::parse(OsStr::new("p-000001-3f9a6c01.pack")), Some(name));
        let large = PackName { number: u32::MAX, epoch: 0 };
        assert_eq!(PackName::parse(OsStr::new("p-4294967295-00000000.pack")), Some(large));
        for other in [
            "p-1-3f9a6c01.pack",
            "p-000001-3F9A6C01.pack",
            "p-+00001-3f9a6c01.pack",
            "p-000001-3f9a6c01.idx",
            "p-000001-3f9a6c01.pack.bak",
            "p-4294967296-00000000.pack",
            "p-0000010-3f9a6c01.pack",
            ".DS_Store",
        ] {
            assert_eq!(PackName::parse(OsStr::new(other)), None, "{other}");
        }
    }
}
