//! Where a search keeps what it learns, so that it can go on after it was killed: `--store` and `--resume`.
//!
//! A file of the embedded store redb: a table of records, by number, and a line that says of which search they are.
//! Whatever is committed survives a kill at any moment; what is not is found again.
//! Held by: quorate-cli/tests/resume.rs.

use std::fmt::Display;
use std::hash::{DefaultHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, value_parser};
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition};

use super::failure::Failure;
use super::options::{Given, world};
use crate::engine::components::{LogStore, Partition, ProgressLog};
use crate::model::Snapshot;

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");
const SEARCH: TableDefinition<'_, &str, &str> = TableDefinition::new("search");

/// The options that say it; they stand with those of the engine that keeps what it learns.
pub(super) fn options() -> [Arg; 2] {
    [
        Arg::new("store").value_name("FILE").value_parser(value_parser!(PathBuf)).help(
            "Keep what is learned in a new file, so that --resume can go on after a kill at any moment",
        ),
        Arg::new("resume")
            .action(ArgAction::SetTrue)
            .help("Go on from what the file of --store has; begin it if there is none"),
    ]
}

/// Where to keep what is learned, if that is asked for.
pub(super) fn asked(
    given: &Given<'_>,
    partition: Option<&Partition>,
) -> Result<Option<ProgressLog>, Failure> {
    let resume = given.matches.get_flag("resume");
    let Some(path) = given.matches.get_one::<PathBuf>("store") else {
        return if resume {
            Err(Failure::Usage("--resume needs the file: expected --store FILE".to_string()))
        } else {
            Ok(None)
        };
    };
    if given.matches.contains_id("stones") {
        return Err(Failure::Usage("--store does not go with --stones".to_string()));
    }
    if path.exists() && !resume {
        return Err(Failure::Usage(format!(
            "--store {}: the file exists: expected --resume to go on from it, or a new file",
            path.display()
        )));
    }
    let store = Store::open(path, &name(given, partition)?)?;
    Ok(Some(ProgressLog::new(store)))
}

/// Of which search a store is: everything that its answer depends on. That the handlers are the same can be found out
/// by asking them; that the properties are, only from the program itself.
fn name(given: &Given<'_>, partition: Option<&Partition>) -> Result<String, Failure> {
    let program = std::env::current_exe().and_then(std::fs::read);
    let program =
        program.map_err(|error| Failure::Usage(format!("--store: the program cannot be read: {error}")))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&program);
    let mut words = vec![format!("{:x}", hasher.finish()), given.protocol.name().to_string()];
    words.push(format!("{:?}", given.arguments));
    words.extend(world::words(given.model.world()));
    words.extend(partition.map(|partition| format!("{partition:?}")));
    words.extend(given.model.start().map(|start| format!("{:?}", Snapshot::way(start))));
    Ok(words.join(" "))
}

/// A file with records.
struct Store {
    path: PathBuf,
    database: Database,
    /// What is not committed yet.
    pending: Vec<Vec<u64>>,
    /// How many records there are.
    committed: u64,
}

impl Store {
    fn open(path: &Path, search: &str) -> Result<Self, Failure> {
        if !path.exists() {
            // Killed in the middle of this, it leaves nothing that looks like a store.
            let mut unfinished = path.as_os_str().to_os_string();
            unfinished.push(".new");
            let unfinished = PathBuf::from(unfinished);
            let wrong =
                |error: std::io::Error| Failure::Usage(format!("--store {}: {error}", path.display()));
            if unfinished.exists() {
                std::fs::remove_file(&unfinished).map_err(wrong)?;
            }
            Store::at(&unfinished)?.begin(search).map_err(Failure::Usage)?;
            std::fs::rename(&unfinished, path).map_err(wrong)?;
        }
        let store = Store::at(path)?;
        let kept = store.begin(search).map_err(Failure::Usage)?;
        if kept != search {
            return Err(Failure::Usage(format!(
                "--store {}: it is of another search, or of another version of the program: expected a new file",
                path.display()
            )));
        }
        Ok(store)
    }

    /// A file as it is; a new one if there is none.
    fn at(path: &Path) -> Result<Self, Failure> {
        let database = Database::create(path).map_err(|error| {
            let what = match error {
                DatabaseError::DatabaseAlreadyOpen => "another search has it open".to_string(),
                DatabaseError::Storage(StorageError::Io(error)) if error.kind() != ErrorKind::InvalidData => {
                    error.to_string()
                }
                error => format!("it is no store of a search ({error})"),
            };
            Failure::Usage(format!("--store {}: {what}", path.display()))
        })?;
        Ok(Store { path: path.to_path_buf(), database, pending: Vec::new(), committed: 0 })
    }

    fn wrong(&self, error: impl Display) -> String {
        format!("--store {}: {error}", self.path.display())
    }

    /// Writes of which search this is, unless it is there; says which it is.
    fn begin(&self, search: &str) -> Result<String, String> {
        let wrong = |error: redb::Error| self.wrong(error);
        let begin = || -> Result<String, redb::Error> {
            let writing = self.database.begin_write()?;
            let kept = {
                let mut table = writing.open_table(SEARCH)?;
                writing.open_table(RECORDS)?;
                let kept = table.get("name")?.map(|kept| kept.value().to_string());
                if kept.is_none() {
                    table.insert("name", search)?;
                }
                kept.unwrap_or_else(|| search.to_string())
            };
            writing.commit()?;
            Ok(kept)
        };
        begin().map_err(wrong)
    }

    fn read_all(&mut self) -> Result<Vec<Vec<u64>>, redb::Error> {
        let reading = self.database.begin_read()?;
        let table = reading.open_table(RECORDS)?;
        let mut records = Vec::new();
        for row in table.iter()? {
            let (_, record) = row?;
            let words = record.value().chunks(8);
            records.push(words.map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect());
        }
        Ok(records)
    }

    fn write_pending(&mut self) -> Result<(), redb::Error> {
        let writing = self.database.begin_write()?;
        {
            let mut table = writing.open_table(RECORDS)?;
            for (number, record) in (self.committed..).zip(&self.pending) {
                let bytes: Vec<u8> = record.iter().flat_map(|word| word.to_le_bytes()).collect();
                table.insert(number, bytes.as_slice())?;
            }
        }
        writing.commit()?;
        Ok(())
    }
}

impl LogStore for Store {
    fn read(&mut self) -> Result<Vec<Vec<u64>>, String> {
        let records = self.read_all().map_err(|error| self.wrong(error))?;
        self.committed = records.len() as u64;
        Ok(records)
    }

    fn append(&mut self, record: &[u64]) -> Result<(), String> {
        self.pending.push(record.to_vec());
        Ok(())
    }

    fn commit(&mut self) -> Result<(), String> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.write_pending().map_err(|error| self.wrong(error))?;
        self.committed += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}
