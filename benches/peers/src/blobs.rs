//! Blob stores: artifacts put with one sync for 64 of them, and read back in another order.
//!
//! Every store is given the bytes and has to work out their SHA-256; all but the plain files
//! compress with zstd at level 1. Redaction is outside of what is timed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use artifacts::fs::vfs::{FileView, LocalDisk};
use artifacts::fs::{PackIdent, Store, StoreOptions};
use artifacts::redact::{Redacted, Redactor};
use artifacts::{ArtifactRef, Source as _, StoreReader};
use sha2::{Digest as _, Sha256};

/// Blobs between two syncs.
const SYNC_EVERY: usize = 64;
/// Length of the largest piece of a file.
const PIECE_BYTES_MAX: usize = 64 << 10;

/// The blobs that all stores are given.
pub struct Blobs {
    pub redacted: Vec<Redacted<'static>>,
    pub bytes: usize,
}

impl Blobs {
    /// Cuts the sources of this repository into pieces of many lengths, one in five twice.
    pub fn of_this_repository() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let listed = Command::new("git").arg("-C").arg(&root).args(["ls-files", "-z"]).output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        let texts = [".rs", ".md", ".toml", ".py", ".json", ".tsv", ".txt"];
        let mut blobs: Vec<Vec<u8>> = Vec::new();
        for name in listed.split('\0').filter(|name| texts.iter().any(|end| name.ends_with(end))) {
            let file = fs::read(root.join(name)).unwrap_or_default();
            let mut rest = file.as_slice();
            while !rest.is_empty() {
                let length = (blobs.len() * 7919 % 9_973 + 200).min(PIECE_BYTES_MAX);
                let (piece, behind) = rest.split_at(length.min(rest.len()));
                blobs.push(piece.to_vec());
                if blobs.len() % 5 == 0 {
                    blobs.push(blobs[blobs.len() / 2].clone());
                }
                rest = behind;
            }
        }
        blobs.truncate(5_000);
        let redactor = Redactor::core();
        let redacted: Vec<_> =
            blobs.iter().map(|blob| redactor.redact(blob).into_owned()).collect();
        let bytes = redacted.iter().map(|blob| blob.as_bytes().len()).sum();
        Self { redacted, bytes }
    }
}

/// A store of blobs: puts all of them, and reads all of them again.
pub trait BlobStore {
    fn put_all(&mut self, blobs: &Blobs);
    fn get_all(&mut self) -> usize;
}

/// A way to make one in a folder.
pub type Open = fn(&Path) -> Box<dyn BlobStore>;

pub const STORES: [(&str, Open); 6] = [
    ("pack", |dir| Box::new(Pack::new(dir))),
    ("counterfold", |dir| Box::new(Ours::new(dir))),
    ("fjall, kv-separated", |dir| Box::new(Fjall::new(dir))),
    ("redb", |dir| Box::new(Redb::new(dir))),
    ("SQLite, WAL, FULL", |dir| Box::new(Sqlite::new(dir))),
    ("file per blob, zstd", |dir| Box::new(Files::new(dir))),
];

fn id_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn packed(compressor: &mut zstd::bulk::Compressor<'_>, bytes: &[u8]) -> Vec<u8> {
    compressor.compress(bytes).unwrap()
}

fn unpacked(stored: &[u8]) -> Vec<u8> {
    zstd::bulk::decompress(stored, PIECE_BYTES_MAX).unwrap()
}

fn compressor() -> zstd::bulk::Compressor<'static> {
    zstd::bulk::Compressor::new(1).unwrap()
}

/// The reference: records of id, checksum and length in one reserved file, and a map in memory.
struct Pack {
    file: File,
    at: u64,
    map: HashMap<[u8; 32], (u64, u32)>,
}

impl Pack {
    fn new(dir: &Path) -> Self {
        Self { file: crate::logs::reserved(dir), at: 0, map: HashMap::new() }
    }
}

impl BlobStore for Pack {
    fn put_all(&mut self, blobs: &Blobs) {
        let mut compressor = compressor();
        let mut pending = Vec::new();
        for (number, blob) in blobs.redacted.iter().enumerate() {
            let id = id_of(blob.as_bytes());
            if !self.map.contains_key(&id) {
                let stored = packed(&mut compressor, blob.as_bytes());
                let start = self.at + pending.len() as u64 + 40;
                self.map.insert(id, (start, stored.len() as u32));
                pending.extend(id);
                pending.extend(crc32fast::hash(&stored).to_le_bytes());
                pending.extend((stored.len() as u32).to_le_bytes());
                pending.extend(stored);
            }
            if number % SYNC_EVERY == SYNC_EVERY - 1 {
                self.file.write_all_at(&pending, self.at).unwrap();
                self.file.sync_data().unwrap();
                self.at += pending.len() as u64;
                pending.clear();
            }
        }
        self.file.write_all_at(&pending, self.at).unwrap();
        self.file.sync_data().unwrap();
    }

    fn get_all(&mut self) -> usize {
        let view = FileView::map(&self.file).unwrap();
        let get = |(at, length): &(u64, u32)| {
            let at = *at as usize;
            let stored = &view[at..at + *length as usize];
            let crc = u32::from_le_bytes(view[at - 8..at - 4].try_into().unwrap());
            assert_eq!(crc32fast::hash(stored), crc);
            unpacked(stored).len()
        };
        self.map.values().map(get).sum()
    }
}

struct Ours {
    dir: PathBuf,
    references: Vec<ArtifactRef>,
}

impl Ours {
    fn new(dir: &Path) -> Self {
        Self { dir: dir.join("art"), references: Vec::new() }
    }
}

impl BlobStore for Ours {
    fn put_all(&mut self, blobs: &Blobs) {
        let ident = PackIdent { ledger_id: [1; 16], epoch: 1, created_unix_ns: 0 };
        let disk = LocalDisk::shared();
        let mut store = Store::create_on(disk, &self.dir, ident, StoreOptions::LIVE).unwrap();
        for (number, blob) in blobs.redacted.iter().enumerate() {
            self.references.push(store.put(blob).unwrap());
            if number % SYNC_EVERY == SYNC_EVERY - 1 {
                store.sync().unwrap();
            }
        }
        store.seal().unwrap();
        self.references.sort();
        self.references.dedup();
    }

    fn get_all(&mut self) -> usize {
        let reader = StoreReader::open(&self.dir).unwrap();
        self.references.iter().map(|reference| reader.read(reference).unwrap().len()).sum()
    }
}

struct Fjall(fjall::Database, fjall::Keyspace);

impl Fjall {
    fn new(dir: &Path) -> Self {
        let db = fjall::Database::builder(dir).open().unwrap();
        let options = || {
            fjall::KeyspaceCreateOptions::default()
                .with_kv_separation(Some(fjall::KvSeparationOptions::default()))
        };
        let blobs = db.keyspace("blobs", options).unwrap();
        Self(db, blobs)
    }
}

impl BlobStore for Fjall {
    fn put_all(&mut self, blobs: &Blobs) {
        let mut compressor = compressor();
        for (number, blob) in blobs.redacted.iter().enumerate() {
            let id = id_of(blob.as_bytes());
            if !self.1.contains_key(id).unwrap() {
                self.1.insert(id, packed(&mut compressor, blob.as_bytes())).unwrap();
            }
            if number % SYNC_EVERY == SYNC_EVERY - 1 {
                self.0.persist(fjall::PersistMode::SyncData).unwrap();
            }
        }
        self.0.persist(fjall::PersistMode::SyncData).unwrap();
    }

    fn get_all(&mut self) -> usize {
        self.1.iter().map(|item| unpacked(&item.value().unwrap()).len()).sum()
    }
}

const TABLE: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("blobs");

struct Redb(redb::Database);

impl Redb {
    fn new(dir: &Path) -> Self {
        Self(redb::Database::create(dir.join("db")).unwrap())
    }
}

impl BlobStore for Redb {
    fn put_all(&mut self, blobs: &Blobs) {
        let mut compressor = compressor();
        for blobs in blobs.redacted.chunks(SYNC_EVERY) {
            let write = self.0.begin_write().unwrap();
            let mut table = write.open_table(TABLE).unwrap();
            for blob in blobs {
                let id = id_of(blob.as_bytes());
                if redb::ReadableTable::get(&table, id.as_slice()).unwrap().is_none() {
                    let stored = packed(&mut compressor, blob.as_bytes());
                    table.insert(id.as_slice(), stored.as_slice()).unwrap();
                }
            }
            drop(table);
            write.commit().unwrap();
        }
    }

    fn get_all(&mut self) -> usize {
        let read = redb::ReadableDatabase::begin_read(&self.0).unwrap();
        let table = read.open_table(TABLE).unwrap();
        let all = redb::ReadableTable::iter(&table).unwrap();
        all.map(|row| unpacked(row.unwrap().1.value()).len()).sum()
    }
}

struct Sqlite(rusqlite::Connection);

impl Sqlite {
    fn new(dir: &Path) -> Self {
        let db = rusqlite::Connection::open(dir.join("db")).unwrap();
        db.execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full; \
             create table blobs (id blob primary key, body blob) without rowid",
        )
        .unwrap();
        Self(db)
    }
}

impl BlobStore for Sqlite {
    fn put_all(&mut self, blobs: &Blobs) {
        let mut compressor = compressor();
        for blobs in blobs.redacted.chunks(SYNC_EVERY) {
            let write = self.0.transaction().unwrap();
            for blob in blobs {
                let id = id_of(blob.as_bytes());
                let sql = "insert or ignore into blobs (id, body) values (?1, ?2)";
                let stored = packed(&mut compressor, blob.as_bytes());
                write.prepare_cached(sql).unwrap().execute((id.as_slice(), stored)).unwrap();
            }
            write.commit().unwrap();
        }
    }

    fn get_all(&mut self) -> usize {
        let mut all = self.0.prepare("select body from blobs").unwrap();
        let rows = all.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
        rows.map(|stored| unpacked(&stored.unwrap()).len()).sum()
    }
}

struct Files(PathBuf, Arc<File>);

impl Files {
    fn new(dir: &Path) -> Self {
        Self(dir.to_path_buf(), Arc::new(File::open(dir).unwrap()))
    }
}

impl BlobStore for Files {
    fn put_all(&mut self, blobs: &Blobs) {
        let mut compressor = compressor();
        for blobs in blobs.redacted.chunks(SYNC_EVERY) {
            for blob in blobs {
                let name: String =
                    id_of(blob.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
                let path = self.0.join(name);
                if path.exists() {
                    continue;
                }
                let temporary = path.with_extension("tmp");
                let mut file = File::create(&temporary).unwrap();
                file.write_all(&packed(&mut compressor, blob.as_bytes())).unwrap();
                file.sync_data().unwrap();
                fs::rename(&temporary, &path).unwrap();
            }
            self.1.sync_all().unwrap();
        }
    }

    fn get_all(&mut self) -> usize {
        let all = fs::read_dir(&self.0).unwrap();
        all.map(|entry| unpacked(&fs::read(entry.unwrap().path()).unwrap()).len()).sum()
    }
}

/// Milliseconds to read 8 KiB at both ends of a blob of 100 MB, and all of it.
pub fn both_ends(dir: &Path) -> (f64, f64) {
    let line = |at: u64| format!("{at:08} {}\n", at * 7919 % 1_000_003);
    let long: String = (0..6_300_000).map(line).collect();
    let ident = PackIdent { ledger_id: [1; 16], epoch: 1, created_unix_ns: 0 };
    let mut store = Store::create(&dir.join("long"), ident).unwrap();
    let reference = store.put(&Redactor::core().redact(long.as_bytes())).unwrap();
    store.seal().unwrap();
    let reader = StoreReader::open(&dir.join("long")).unwrap();
    let bytes = reference.bytes();
    let timed = |run: &dyn Fn()| {
        let started = std::time::Instant::now();
        run();
        started.elapsed().as_secs_f64() * 1e3
    };
    let ends = || {
        drop(reader.read_range(&reference, 0..8192).unwrap());
        drop(reader.read_range(&reference, bytes - 8192..bytes).unwrap());
    };
    let all = || drop(reader.read(&reference).unwrap());
    let fastest = |run: &dyn Fn()| (0..3).map(|_| timed(run)).fold(f64::MAX, f64::min);
    (fastest(&ends), fastest(&all))
}
