//! Where a search keeps what it learns, so that it can go on after it was killed: `--store` and `--resume`.
//!
//! A file of our own (docs/decisions/0013-store.md): a head, then rows, of which the first says of which search the others
//! are.
//!
//! ```text
//! head   16 bytes   MAGIC
//!         8 bytes   how many bytes of rows are committed
//!         8 bytes   the checksum of all committed rows
//!         8 bytes   the checksum of the head before this
//! row     8 bytes   how many bytes it has
//!                   these
//!         8 bytes   the checksum of all rows so far, with this one
//! ```
//!
//! Rows are added at the end and made safe before the head, which lies in one sector, says that they count. Whatever is
//! committed survives a kill at any moment. What comes after it counts as never written, and is found again.
//! Invariant: of what is committed every bit is checked before any of it is believed.
//! Held by: the tests below, quorate-cli/tests/damage.rs, quorate-cli/tests/resume.rs.

use std::fmt::Display;
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::{Arg, ArgAction, value_parser};

use super::checksum::Checksum;
use super::failure::Failure;
use super::options::{Given, world};
use crate::engine::components::{LogStore, Partition, ProgressLog};
use crate::model::Snapshot;

/// How a store begins; the number is that of its format.
const MAGIC: &[u8; 16] = b"quorate store 1\n";

/// How many bytes the head has.
const HEAD: usize = 40;

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
    let program =
        program().map_err(|error| Failure::Usage(format!("--store: the program cannot be read: {error}")))?;
    let mut words = vec![format!("{program:x}"), given.protocol.name().to_string()];
    words.push(format!("{:?}", given.arguments));
    words.extend(world::words(given.model.world()));
    words.extend(partition.map(|partition| format!("{partition:?}")));
    words.extend(given.model.start().map(|start| format!("{:?}", Snapshot::way(start))));
    Ok(words.join(" "))
}

/// A hash of the program's file, which is read once.
fn program() -> io::Result<u64> {
    static KNOWN: OnceLock<u64> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(*known);
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&std::fs::read(std::env::current_exe()?)?);
    Ok(*KNOWN.get_or_init(|| hasher.finish()))
}

/// What is committed.
#[derive(Clone, Copy)]
struct Committed {
    /// How many bytes of rows.
    bytes: u64,
    checksum: Checksum,
}

impl Committed {
    const NOTHING: Committed = Committed { bytes: 0, checksum: Checksum::NOTHING };

    /// The head that says so.
    fn head(self) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend(self.bytes.to_le_bytes());
        head.extend(self.checksum.value().to_le_bytes());
        head.extend(Checksum::of(&head).to_le_bytes());
        head
    }

    /// With one more row.
    #[must_use]
    fn with(mut self, row: &[u8]) -> Self {
        self.checksum.add(&(row.len() as u64).to_le_bytes());
        self.checksum.add(row);
        Committed { bytes: self.bytes + row.len() as u64 + 16, ..self }
    }

    /// Writes one more row to the end of what is written already.
    fn write(&mut self, row: &[u8], written: &mut Vec<u8>) {
        *self = self.with(row);
        written.extend((row.len() as u64).to_le_bytes());
        written.extend(row);
        written.extend(self.checksum.value().to_le_bytes());
    }
}

/// Why a file is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unfit {
    /// It does not begin as a store does.
    NoStore,
    DamagedHead,
    /// It has fewer bytes than were committed.
    CutShort,
    /// The row at this position is not what was written.
    DamagedRow(usize),
}

impl Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let damaged = "it is damaged, not what was written";
        match self {
            Unfit::NoStore => {
                f.write_str("it is no store of a search, or one of another version: expected a new file")
            }
            Unfit::DamagedHead => write!(f, "{damaged} (at its head): expected a new file"),
            Unfit::CutShort => write!(f, "{damaged} (its end is missing): expected a new file"),
            Unfit::DamagedRow(row) => write!(f, "{damaged} (at row {row}): expected a new file"),
        }
    }
}

/// The number in the next eight bytes, and what comes after it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, remaining) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), remaining))
}

/// All that is in a file.
fn content(file: &mut File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// The rows of a file, and what is committed in it: all of it is as it was written, or there is an error.
fn rows(file: &[u8]) -> Result<(Vec<&[u8]>, Committed), Unfit> {
    let after_magic = file.strip_prefix(MAGIC).ok_or(Unfit::NoStore)?;
    let head = || {
        let (bytes, remaining) = number(after_magic)?;
        let (checksum, remaining) = number(remaining)?;
        let (of_head, remaining) = number(remaining)?;
        (Checksum::of(&file[..HEAD - 8]) == of_head).then_some((bytes, checksum, remaining))
    };
    let (bytes, checksum, after_head) = head().ok_or(Unfit::DamagedHead)?;
    let count = usize::try_from(bytes).map_err(|_| Unfit::CutShort)?;
    let mut remaining = after_head.get(..count).ok_or(Unfit::CutShort)?;
    let (mut rows, mut so_far) = (Vec::new(), Committed::NOTHING);
    while !remaining.is_empty() {
        let mut next = || {
            let (length, after) = number(remaining)?;
            let (row, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
            let (checksum, after) = number(after)?;
            so_far = so_far.with(row);
            remaining = after;
            (so_far.checksum.value() == checksum).then_some(row)
        };
        rows.push(next().ok_or(Unfit::DamagedRow(rows.len()))?);
    }
    if so_far.checksum.value() == checksum { Ok((rows, so_far)) } else { Err(Unfit::DamagedHead) }
}

/// A file with records.
struct Store {
    path: PathBuf,
    file: File,
    committed: Committed,
    /// What is not committed yet.
    pending: Vec<Vec<u64>>,
}

impl Store {
    fn open(path: &Path, search: &str) -> Result<Self, Failure> {
        let wrong = |error: io::Error| Failure::Usage(format!("--store {}: {error}", path.display()));
        if !path.exists() {
            Store::begin(path, search).map_err(wrong)?;
        }
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(wrong)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                Failure::Usage(format!("--store {}: another search has it open", path.display()))
            }
            TryLockError::Error(error) => wrong(error),
        })?;
        let content = content(&mut file).map_err(wrong)?;
        let unfit = |unfit: Unfit| Failure::Data(format!("--store {}: {unfit}", path.display()));
        let (rows, committed) = rows(&content).map_err(unfit)?;
        if rows.first() != Some(&search.as_bytes()) {
            return Err(Failure::Usage(format!(
                "--store {}: it is of another search, or of another version of the program: expected a new file",
                path.display()
            )));
        }
        // What a killed search had begun to write does not count.
        file.set_len(HEAD as u64 + committed.bytes).map_err(wrong)?;
        Ok(Store { path: path.to_path_buf(), file, committed, pending: Vec::new() })
    }

    /// Makes a store without records. Killed in the middle of this, it leaves nothing that looks like a store.
    fn begin(path: &Path, search: &str) -> io::Result<()> {
        let mut unfinished = path.as_os_str().to_os_string();
        unfinished.push(".new");
        let (mut committed, mut name) = (Committed::NOTHING, Vec::new());
        committed.write(search.as_bytes(), &mut name);
        let mut file = File::create(&unfinished)?;
        file.write_all(&committed.head())?;
        file.write_all(&name)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path)
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let (mut committed, mut written) = (self.committed, Vec::new());
        for record in &self.pending {
            let row: Vec<u8> = record.iter().flat_map(|word| word.to_le_bytes()).collect();
            committed.write(&row, &mut written);
        }
        self.file.seek(SeekFrom::Start(HEAD as u64 + self.committed.bytes))?;
        self.file.write_all(&written)?;
        self.file.sync_data()?;
        self.file.rewind()?;
        self.file.write_all(&committed.head())?;
        self.file.sync_data()?;
        self.committed = committed;
        Ok(())
    }
}

impl LogStore for Store {
    fn read(&mut self) -> Result<Vec<Vec<u64>>, String> {
        let wrong = |error: &dyn Display| format!("--store {}: {error}", self.path.display());
        let content = content(&mut self.file).map_err(|error| wrong(&error))?;
        let (rows, _) = rows(&content).map_err(|unfit| wrong(&unfit))?;
        let words = |row: &&[u8]| row.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Ok(rows.iter().skip(1).map(words).collect())
    }

    fn append(&mut self, record: &[u64]) -> Result<(), String> {
        self.pending.push(record.to_vec());
        Ok(())
    }

    fn commit(&mut self) -> Result<(), String> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.write_pending().map_err(|error| format!("--store {}: {error}", self.path.display()))?;
        self.pending.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: &str = "of a test";

    /// A file of a test's own.
    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("quorate-store-{}-{name}", std::process::id()))
    }

    fn opened(path: &Path) -> Result<Vec<Vec<u64>>, Failure> {
        let mut store = Store::open(path, SEARCH)?;
        Ok(store.read().expect("it has just been checked"))
    }

    /// A store of several commits, and what is in it.
    fn small(path: &Path) -> Vec<Vec<u64>> {
        let records = [vec![1, 2, u64::MAX], vec![], vec![0], vec![7; 5]];
        let mut store = Store::open(path, SEARCH).expect("a new file");
        for record in &records {
            store.append(record).expect("it only waits");
            store.commit().expect("there is room");
        }
        records.to_vec()
    }

    #[test]
    fn what_is_committed_is_read_and_the_rest_is_not() {
        let path = scratch("read");
        let mut expected = small(&path);
        assert_eq!(opened(&path), Ok(expected.clone()));
        let mut store = Store::open(&path, SEARCH).expect("it is there");
        store.append(&[5]).expect("it only waits");
        assert_eq!(store.read(), Ok(expected.clone()));
        store.commit().expect("there is room");
        expected.push(vec![5]);
        assert_eq!((store.read(), store.commit()), (Ok(expected.clone()), Ok(())));
        store.append(&[6]).expect("it only waits");
        drop(store);
        assert_eq!(opened(&path), Ok(expected));
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn every_bit_counts() {
        let path = scratch("bits");
        small(&path);
        let whole = std::fs::read(&path).expect("it is there");
        for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            std::fs::write(&path, &damaged).expect("there is room");
            let refused = opened(&path).expect_err("it is damaged");
            assert!(matches!(refused, Failure::Data(_)), "byte {at}, bit {bit}: {refused}");
            assert_eq!(std::fs::read(&path).expect("it is there"), damaged, "it is left as it is");
        }
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn what_is_cut_off_is_missed() {
        let path = scratch("cut");
        small(&path);
        let whole = std::fs::read(&path).expect("it is there");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("there is room");
            assert!(matches!(opened(&path), Err(Failure::Data(_))), "{length} of {} bytes", whole.len());
        }
        std::fs::remove_file(path).expect("it is there");
    }

    /// A kill between the two parts of a commit, and any part of the first one: what came before is whole.
    #[test]
    fn what_was_written_and_not_committed_does_not_count() {
        let path = scratch("killed");
        let expected = small(&path);
        let before = std::fs::read(&path).expect("it is there");
        let mut store = Store::open(&path, SEARCH).expect("it is there");
        store.append(&[8, 9]).expect("it only waits");
        store.commit().expect("there is room");
        drop(store);
        let after = std::fs::read(&path).expect("it is there");
        for length in before.len()..=after.len() {
            let killed = [&before[..HEAD], &after[HEAD..length]].concat();
            std::fs::write(&path, killed).expect("there is room");
            assert_eq!(opened(&path), Ok(expected.clone()));
            assert_eq!(std::fs::read(&path).expect("it is there"), before);
        }
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn a_store_is_open_once() {
        let path = scratch("once");
        let store = Store::open(&path, SEARCH).expect("a new file");
        let refused = opened(&path).expect_err("it is open");
        assert!(refused.to_string().ends_with("another search has it open"), "{refused}");
        drop(store);
        assert_eq!(opened(&path), Ok(Vec::new()));
        let refused = Store::open(&path, "another").map(|_| ()).expect_err("it is of another search");
        assert!(refused.to_string().contains("it is of another search"), "{refused}");
        std::fs::remove_file(path).expect("it is there");
    }
}
