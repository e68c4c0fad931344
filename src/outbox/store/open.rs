//! From a directory to a locked, migrated, configured connection.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::ledger::Ledger;
use super::schema::{self, Origin};
use super::seen::Seen;

/// SQLite's number for `auto_vacuum = INCREMENTAL`.
const INCREMENTAL: i64 = 2;

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory or its lock file cannot be made.
    #[error("cannot use the data directory `{}`; make it writable or choose another with --data", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no store to look into.
    #[error("no store in `{}`; name its folder with --data", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// Another process has it.
    #[error("another hookbell uses the data directory `{}`; stop it or choose another with --data", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The store file is somebody else's.
    #[error("`{}` is not a hookbell store; move it away, let --set-store-aside do it, or choose another directory with --data", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The store file was written by a later version.
    #[error("`{}` is of store version {found}, this hookbell knows {known}; run a newer hookbell", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: usize,
        /// The latest version this program knows.
        known: usize,
    },
    /// The store file was written by an earlier version, and this is not the time to change it.
    #[error("`{}` is of store version {found}, this hookbell needs {known}; run `hookbell serve` once to bring it up to date", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: usize,
        /// The version of this program.
        known: usize,
    },
    /// The store file is damaged.
    #[error("`{}` is damaged: {reason}; restore it from a backup, or begin a new one with --set-store-aside", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the engine said.
        reason: String,
    },
    /// The store file cannot be opened, read or written.
    #[error("cannot open the store `{}`: {reason}; check its permissions and the space on its disk", path.display())]
    Failing {
        /// The file.
        path: PathBuf,
        /// What the engine said.
        reason: String,
    },
    /// The store's thread cannot be started.
    #[error("cannot start the store's thread; raise the limit of threads")]
    Thread {
        /// What the system said.
        source: io::Error,
    },
}

/// A store that is ready for use.
pub(super) struct Opened {
    pub(super) db: Connection,
    pub(super) ledger: Ledger,
    pub(super) seen: Seen,
    /// Held as long as the store is used.
    pub(super) lock: File,
}

/// Opens the store of `data` and takes the directory's lock, which is held as long as the file. With `set_aside`, a
/// file that is damaged or not ours is renamed first, and a new store begun.
pub(super) fn open(data: &Path, set_aside: bool) -> Result<Opened, OpenError> {
    let lock = lock(data)?;
    let path = data.join("hookbell.db");
    let opened = match open_file(&path) {
        Err(error @ (OpenError::Foreign { .. } | OpenError::Damaged { .. })) if set_aside => {
            let aside =
                move_aside(&path).map_err(|source| OpenError::Directory { path: data.to_owned(), source })?;
            tracing::warn!(reason = %error, aside = %aside.display(), "the store was set aside, a new one begins");
            open_file(&path)
        }
        opened => opened,
    };
    opened.map(|(db, ledger, seen)| Opened { db, ledger, seen, lock })
}

fn open_file(path: &Path) -> Result<(Connection, Ledger, Seen), OpenError> {
    let failed = |error: rusqlite::Error| explain(path, &error);
    let mut db = connect(path).map_err(failed)?;
    let version = version(&db, path)?;
    let ledger = configure(&db)
        .and_then(|()| schema::migrate(&mut db, version))
        .and_then(|()| Ledger::read(&db))
        .map_err(failed)?;
    let seen = Seen::read(&db).map_err(failed)?;
    give_back_space(&db);
    Ok((db, ledger, seen))
}

/// The version of a file that is new, 0, or ours.
fn version(db: &Connection, path: &Path) -> Result<usize, OpenError> {
    let path = path.to_owned();
    match schema::origin(db).map_err(|error| explain(&path, &error))? {
        Origin::New => Ok(0),
        Origin::Ours(found) if found > schema::VERSION => {
            Err(OpenError::Newer { path, found, known: schema::VERSION })
        }
        Origin::Ours(found) => Ok(found),
        Origin::Foreign => Err(OpenError::Foreign { path }),
    }
}

/// Whether a file can be looked into as it is: `serve` brings older ones to this version.
pub(super) fn check_version(db: &Connection, path: &Path) -> Result<(), OpenError> {
    match version(db, path)? {
        schema::VERSION => Ok(()),
        found => Err(OpenError::Older { path: path.to_owned(), found, known: schema::VERSION }),
    }
}

/// Files of older versions keep every page they ever had. Making them shrink takes as much space again for a moment:
/// where there is none, they stay as they are.
fn give_back_space(db: &Connection) {
    let mode = db.pragma_query_value(None, "auto_vacuum", |row| row.get::<_, i64>(0));
    if mode == Ok(INCREMENTAL) {
        return;
    }
    let rebuilt =
        db.pragma_update(None, "auto_vacuum", INCREMENTAL).and_then(|()| db.execute_batch("VACUUM"));
    if let Err(error) = rebuilt {
        tracing::warn!(%error, "the store will not shrink until there is room to rebuild it");
    }
}

/// Renames the file and its log, so that nothing of it is lost, and returns its new name.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let stamp = crate::outbox::unix_ms();
    let name = |suffix: &str, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        name.push(end);
        PathBuf::from(name)
    };
    let aside = format!(".aside-{stamp}");
    for suffix in ["-wal", "-shm"] {
        match fs::rename(name(suffix, ""), name(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, name(&aside, ""))?;
    Ok(name(&aside, ""))
}

fn lock(data: &Path) -> Result<File, OpenError> {
    let unusable = |source| OpenError::Directory { path: data.to_owned(), source };
    create_private(data).map_err(unusable)?;
    let path = data.join("hookbell.lock");
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: data.to_owned() }),
        Err(TryLockError::Error(source)) => Err(unusable(source)),
    }
}

/// Payloads are nobody else's business, so a directory that we make is its owner's only.
fn create_private(data: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(data)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(Duration::from_secs(5))?;
    Ok(db)
}

fn configure(db: &Connection) -> rusqlite::Result<()> {
    // Before the first page is written it costs nothing; later it takes a VACUUM.
    db.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: the log is synced at every commit. With NORMAL a power cut loses what was answered 200.
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "cache_size", -1024)?; // KiB
    db.pragma_update(None, "wal_autocheckpoint", 1000)?; // pages of 4 KiB; more would hold up the store for longer
    db.pragma_update(None, "journal_size_limit", 8 << 20)?;
    db.set_prepared_statement_cache_capacity(48);
    // Without it, every new value bound to a range makes SQLite plan, and so parse, the statement anew.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

pub(super) fn explain(path: &Path, error: &rusqlite::Error) -> OpenError {
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::Foreign { path },
        Some(ErrorCode::DatabaseCorrupt) => OpenError::Damaged { path, reason },
        _ => OpenError::Failing { path, reason },
    }
}
