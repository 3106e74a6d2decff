//! Logs, each behind one call that returns when a record is durable.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use artifacts::fs::vfs::{LocalDisk, VfsFile as _};
use ledger::fs::{Ask, Journal, LogIdent, LogOptions, LogWriter};
use ledger::segment::{Epoch, LedgerId};

pub const KIND: u16 = 16;
/// What the reference reserves at once.
const RESERVED_BYTES: u64 = 256 << 20;

/// A store that is open.
pub trait Append: Sync {
    /// Returns when the record is durable.
    fn append(&self, record: &[u8]);
}

/// A way to store.
pub struct Store {
    pub name: &'static str,
    pub open: fn(&Path) -> Box<dyn Append>,
}

/// The stores for one thread, or for several.
pub fn all(threads: usize) -> Vec<Store> {
    let file: fn(&Path) -> Box<dyn Append> =
        if threads == 1 { |dir| Box::new(Raw::new(dir)) } else { |dir| Box::new(Group::new(dir)) };
    vec![
        Store { name: "file", open: file },
        Store { name: "counterfold", open: |dir| Box::new(journal(dir)) },
        Store { name: "okaywal", open: |dir| Box::new(Okay::new(dir)) },
        Store { name: "raft-engine", open: |dir| Box::new(Raft::new(dir)) },
        Store { name: "fjall", open: |dir| Box::new(Fjall::new(dir)) },
        Store { name: "LMDB (heed)", open: |dir| Box::new(Lmdb::new(dir)) },
        Store { name: "redb", open: |dir| Box::new(Redb::new(dir)) },
        Store { name: "SQLite, WAL, FULL", open: |dir| Box::new(Sqlite::new(dir)) },
    ]
}

pub fn reserved(dir: &Path) -> File {
    let path = dir.join("file");
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(true).open(path).unwrap();
    file.allocate(RESERVED_BYTES).unwrap();
    File::sync_data(&file).unwrap();
    file
}

/// One write and one fdatasync for each record, into reserved room.
struct Raw {
    file: File,
    at: AtomicU64,
}

impl Raw {
    fn new(dir: &Path) -> Self {
        Self { file: reserved(dir), at: AtomicU64::new(0) }
    }
}

impl Append for Raw {
    fn append(&self, record: &[u8]) {
        let at = self.at.fetch_add(record.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(record, at).unwrap();
        File::sync_data(&self.file).unwrap();
    }
}

/// The same with one write and one fdatasync for all that wait.
struct Group {
    file: File,
    state: Mutex<(Vec<u8>, u64, u64, bool, u64)>,
    wake: Condvar,
}

impl Group {
    fn new(dir: &Path) -> Self {
        let state = Mutex::new((Vec::new(), 0, 0, false, 0));
        Self { file: reserved(dir), state, wake: Condvar::new() }
    }
}

impl Append for Group {
    fn append(&self, record: &[u8]) {
        let mut state = self.state.lock().unwrap();
        state.0.extend_from_slice(record);
        state.1 += 1;
        let mine = state.1;
        while state.2 < mine {
            if state.3 {
                state = self.wake.wait(state).unwrap();
                continue;
            }
            state.3 = true;
            let (batch, upto, at) = (std::mem::take(&mut state.0), state.1, state.4);
            state.4 += batch.len() as u64;
            drop(state);
            self.file.write_all_at(&batch, at).unwrap();
            File::sync_data(&self.file).unwrap();
            state = self.state.lock().unwrap();
            state.2 = upto;
            state.3 = false;
            self.wake.notify_all();
        }
    }
}

pub fn ident() -> LogIdent {
    LogIdent { ledger_id: LedgerId([1; 16]), epoch: Epoch(1), created_unix_ns: 0 }
}

fn journal(dir: &Path) -> Journal {
    let dir = dir.join("run");
    let log = LogWriter::create_on(LocalDisk::shared(), &dir, ident(), LogOptions::LIVE).unwrap();
    Journal::new(log, None)
}

impl Append for Journal {
    fn append(&self, record: &[u8]) {
        self.append_body(KIND, 1, 0, record, Ask::Durable).unwrap();
    }
}

struct Okay(okaywal::WriteAheadLog);

impl Okay {
    fn new(dir: &Path) -> Self {
        Self(okaywal::WriteAheadLog::recover(dir, okaywal::LogVoid).unwrap())
    }
}

impl Append for Okay {
    fn append(&self, record: &[u8]) {
        let mut entry = self.0.begin_entry().unwrap();
        entry.write_chunk(record).unwrap();
        entry.commit().unwrap();
    }
}

const TABLE: redb::TableDefinition<'_, u64, &[u8]> = redb::TableDefinition::new("log");

struct Redb(redb::Database, AtomicU64);

impl Redb {
    fn new(dir: &Path) -> Self {
        Self(redb::Database::create(dir.join("db")).unwrap(), AtomicU64::new(0))
    }
}

impl Append for Redb {
    fn append(&self, record: &[u8]) {
        let write = self.0.begin_write().unwrap();
        write
            .open_table(TABLE)
            .unwrap()
            .insert(self.1.fetch_add(1, Ordering::Relaxed), record)
            .unwrap();
        write.commit().unwrap();
    }
}

struct Sqlite(Mutex<rusqlite::Connection>);

impl Sqlite {
    fn new(dir: &Path) -> Self {
        let db = rusqlite::Connection::open(dir.join("db")).unwrap();
        db.execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full; \
             create table log (seq integer primary key, body blob)",
        )
        .unwrap();
        Self(Mutex::new(db))
    }
}

impl Append for Sqlite {
    fn append(&self, record: &[u8]) {
        let db = self.0.lock().unwrap();
        db.prepare_cached("insert into log (body) values (?1)").unwrap().execute([record]).unwrap();
    }
}

/// Makes the configuration of a raft-engine in `dir`.
pub fn raft_config(dir: &Path) -> raft_engine::Config {
    raft_engine::Config { dir: dir.display().to_string(), ..raft_engine::Config::default() }
}

/// Adds one record under a number.
pub fn raft_put(batch: &mut raft_engine::LogBatch, number: u64, record: &[u8]) {
    batch.put(1, number.to_be_bytes().to_vec(), record.to_vec()).unwrap();
}

struct Raft(raft_engine::Engine, AtomicU64);

impl Raft {
    fn new(dir: &Path) -> Self {
        Self(raft_engine::Engine::open(raft_config(dir)).unwrap(), AtomicU64::new(0))
    }
}

impl Append for Raft {
    fn append(&self, record: &[u8]) {
        let mut batch = raft_engine::LogBatch::default();
        raft_put(&mut batch, self.1.fetch_add(1, Ordering::Relaxed), record);
        self.0.write(&mut batch, true).unwrap();
    }
}

struct Fjall(fjall::Database, fjall::Keyspace, AtomicU64);

impl Fjall {
    fn new(dir: &Path) -> Self {
        let db = fjall::Database::builder(dir).open().unwrap();
        let log = db.keyspace("log", fjall::KeyspaceCreateOptions::default).unwrap();
        Self(db, log, AtomicU64::new(0))
    }
}

impl Append for Fjall {
    fn append(&self, record: &[u8]) {
        let key = self.2.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        self.1.insert(key, record).unwrap();
        self.0.persist(fjall::PersistMode::SyncData).unwrap();
    }
}

type LmdbLog = heed::Database<heed::types::U64<heed::byteorder::BE>, heed::types::Bytes>;

struct Lmdb(heed::Env, LmdbLog, AtomicU64);

impl Lmdb {
    fn new(dir: &Path) -> Self {
        // SAFETY: the folder is this bench's own.
        let env = unsafe { heed::EnvOpenOptions::new().map_size(4 << 30).open(dir) }.unwrap();
        let mut write = env.write_txn().unwrap();
        let log = env.create_database(&mut write, None).unwrap();
        write.commit().unwrap();
        Self(env, log, AtomicU64::new(0))
    }
}

impl Append for Lmdb {
    fn append(&self, record: &[u8]) {
        let mut write = self.0.write_txn().unwrap();
        let key = self.2.fetch_add(1, Ordering::Relaxed);
        self.1.put(&mut write, &key, record).unwrap();
        write.commit().unwrap();
    }
}
