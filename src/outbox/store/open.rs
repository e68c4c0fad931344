//! From a directory to a locked, migrated, configured connection.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::ledger::Ledger;
use super::schema::{self, Origin};

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
    /// Another process has it.
    #[error("another hookbell uses the data directory `{}`; stop it or choose another with --data", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The store file is somebody else's.
    #[error("`{}` is not a hookbell store; move it away or choose another directory with --data", path.display())]
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
    /// The store file is damaged.
    #[error("`{}` is damaged: {reason}; restore it from a backup or move it away", path.display())]
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

/// Opens the store of `data` and takes the directory's lock, which is held as long as the file.
pub(super) fn open(data: &Path) -> Result<(Connection, Ledger, File), OpenError> {
    let lock = lock(data)?;
    let path = data.join("hookbell.db");
    let mut db = connect(&path).map_err(|error| explain(&path, &error))?;
    let version = match schema::origin(&db).map_err(|error| explain(&path, &error))? {
        Origin::New => 0,
        Origin::Ours(found) if found > schema::VERSION => {
            return Err(OpenError::Newer { path, found, known: schema::VERSION });
        }
        Origin::Ours(found) => found,
        Origin::Foreign => return Err(OpenError::Foreign { path }),
    };
    let ledger = configure(&db)
        .and_then(|()| schema::migrate(&mut db, version))
        .and_then(|()| Ledger::read(&db))
        .map_err(|error| explain(&path, &error))?;
    Ok((db, ledger, lock))
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
    db.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: the log is synced at every commit. With NORMAL a power cut loses what was answered 200.
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "cache_size", -1024)?; // KiB
    db.pragma_update(None, "wal_autocheckpoint", 1000)?; // pages of 4 KiB
    db.pragma_update(None, "journal_size_limit", 8 << 20)?;
    db.set_prepared_statement_cache_capacity(24);
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
