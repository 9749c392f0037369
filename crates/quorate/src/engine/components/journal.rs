//! What the global explorer learns, as records that can be kept and read again: a search that was killed goes on from
//! them.
//!
//! From: DEMETER, section 4.3: the global explorer logs what it is told, so that it can be restarted. A record is a row
//! of numbers. States and messages are the user's and have no other form than their numbers; so what was asked of the
//! handlers is kept, in order, and asked again: whatever they answer then gets the same number. Whether they answer the
//! same is compared.
//! Differs: tables of the local explorers are not kept: those that are still needed are made again, and that a
//! skeleton was explored to the end is known.
//! Invariant: what a record refers to by number comes in an earlier record.
//! Restriction by: quorate-cli/tests/resume.rs (killed at random moments).

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use super::events::{EventId, Skeleton};
use super::local::LabelId;
use super::runs::Label;

/// Keeps records.
pub trait LogStore: Send {
    /// Everything that is kept so far, in order.
    fn read(&mut self) -> Result<Vec<Vec<u64>>, String>;

    /// Adds a record; it need not be safe yet.
    fn append(&mut self, record: &[u64]) -> Result<(), String>;

    /// Whatever was added survives from now on.
    fn commit(&mut self) -> Result<(), String>;
}

/// A store that can be shared.
#[derive(Clone)]
pub struct ProgressLog(Arc<Mutex<dyn LogStore>>);

impl ProgressLog {
    /// Shares a store.
    pub fn new(store: impl LogStore + 'static) -> Self {
        ProgressLog(Arc::new(Mutex::new(store)))
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&mut dyn LogStore) -> T) -> T {
        act(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for ProgressLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressLog")
    }
}

impl PartialEq for ProgressLog {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProgressLog {}

/// What an event is to its component, in numbers that mean the same in every process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum LoggedWhat {
    Interface(LabelId),
    Pause(LoggedPoint),
}

/// A point of a node: the pauses and labels that lead to the node, what was received there, and a hash of the point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LoggedPoint {
    pub(super) component: usize,
    /// The point at which it paused before, if any.
    pub(super) pause: Option<Box<LoggedPoint>>,
    /// What others saw of each member since.
    pub(super) labels: Vec<Vec<LabelId>>,
    pub(super) taken: Vec<u32>,
    pub(super) hash: u128,
}

/// An event as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LoggedEvent {
    pub(super) component: usize,
    pub(super) what: LoggedWhat,
    pub(super) before: Vec<EventId>,
    pub(super) pause: Option<EventId>,
    pub(super) received: Vec<(EventId, usize)>,
    pub(super) bare: Option<EventId>,
}

/// What was found out of a skeleton.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Judged {
    /// For how many runs it stands.
    pub(super) runs: u128,
    /// Does one of them never end?
    pub(super) endless: bool,
    /// The maximal local traces that they are made of: hashes of points, and how many traces lead there.
    pub(super) ends: Vec<(u128, u128)>,
}

/// Something that was learned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Record {
    /// Something was asked of the embedded checker.
    Asked(Vec<u64>),
    Label(Label),
    Event(LoggedEvent),
    /// A complete skeleton, and what was found out of it unless it is known without its pauses.
    Found(Skeleton, Option<Judged>),
    /// One more skeleton, in the order in which they were found, has no branches that are not known.
    Explored,
}

impl Record {
    pub(super) fn write(&self) -> Vec<u64> {
        let mut words = Words(Vec::new());
        match self {
            Record::Asked(what) => {
                words.put(0);
                words.0.extend(what);
            }
            Record::Label(Label { member, clock, received, sent }) => {
                words.put(1);
                words.put(*member as u64);
                words.list(clock, |words, count| words.put(*count as u64));
                words.list(received, |words, message| words.put((*message).into()));
                words.list(sent, |words, message| words.put((*message).into()));
            }
            Record::Event(LoggedEvent { component, what, before, pause, received, bare }) => {
                words.put(2);
                words.put(*component as u64);
                match what {
                    LoggedWhat::Interface(label) => words.put((*label).into()),
                    LoggedWhat::Pause(point) => {
                        words.put(u64::MAX);
                        words.point(point);
                    }
                }
                words.list(before, |words, event| words.put((*event).into()));
                words.option(pause.map(u64::from));
                words.list(received, |words, (event, at)| {
                    words.put((*event).into());
                    words.put(*at as u64);
                });
                words.option(bare.map(u64::from));
            }
            Record::Found(skeleton, judged) => {
                words.put(3);
                words.list(skeleton, |words, event| words.put((*event).into()));
                words.put(judged.is_some().into());
                if let Some(Judged { runs, endless, ends }) = judged {
                    words.wide(*runs);
                    words.put((*endless).into());
                    words.list(ends, |words, (hash, traces)| {
                        words.wide(*hash);
                        words.wide(*traces);
                    });
                }
            }
            Record::Explored => words.put(4),
        }
        words.0
    }

    /// Nothing if these numbers are no record.
    pub(super) fn read(words: &[u64]) -> Option<Record> {
        let mut from = Reader(words);
        let record = match from.take()? {
            0 => return Some(Record::Asked(from.0.to_vec())),
            1 => Record::Label(Label {
                member: from.index()?,
                clock: from.list(Reader::index)?,
                received: from.list(Reader::short)?,
                sent: from.list(Reader::short)?,
            }),
            2 => Record::Event(LoggedEvent {
                component: from.index()?,
                what: match from.take()? {
                    u64::MAX => LoggedWhat::Pause(from.point()?),
                    label => LoggedWhat::Interface(u32::try_from(label).ok()?),
                },
                before: from.list(Reader::short)?,
                pause: from.option()?.pop(),
                received: from.list(|from| Some((from.short()?, from.index()?)))?,
                bare: from.option()?.pop(),
            }),
            3 => {
                let skeleton = from.list(Reader::short)?;
                let judged = match from.take()? {
                    0 => None,
                    _ => Some(Judged {
                        runs: from.wide()?,
                        endless: from.take()? != 0,
                        ends: from.list(|from| Some((from.wide()?, from.wide()?)))?,
                    }),
                };
                Record::Found(skeleton, judged)
            }
            4 => Record::Explored,
            _ => return None,
        };
        from.0.is_empty().then_some(record)
    }
}

/// A hash that is the same in every process.
pub(super) fn hash128(value: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(salt);
        value.hash(&mut hasher);
        hasher.finish()
    };
    u128::from(half(0)) << 64 | u128::from(half(1))
}

/// Numbers in the making.
struct Words(Vec<u64>);

impl Words {
    fn put(&mut self, word: u64) {
        self.0.push(word);
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number are put one after the other")]
    fn wide(&mut self, wide: u128) {
        self.put(wide as u64);
        self.put((wide >> 64) as u64);
    }

    fn option(&mut self, number: Option<u64>) {
        self.put(number.map_or(0, |number| number + 1));
    }

    fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.put(list.len() as u64);
        for one in list {
            each(self, one);
        }
    }

    fn point(&mut self, point: &LoggedPoint) {
        let LoggedPoint { component, pause, labels, taken, hash } = point;
        self.put(*component as u64);
        self.put(pause.is_some().into());
        if let Some(pause) = pause {
            self.point(pause);
        }
        self.list(labels, |words, labels| words.list(labels, |words, label| words.put((*label).into())));
        self.list(taken, |words, message| words.put((*message).into()));
        self.wide(*hash);
    }
}

/// What is left to be read.
struct Reader<'w>(&'w [u64]);

impl Reader<'_> {
    fn take(&mut self) -> Option<u64> {
        let (first, remaining) = self.0.split_first()?;
        self.0 = remaining;
        Some(*first)
    }

    fn index(&mut self) -> Option<usize> {
        usize::try_from(self.take()?).ok()
    }

    fn short(&mut self) -> Option<u32> {
        u32::try_from(self.take()?).ok()
    }

    fn wide(&mut self) -> Option<u128> {
        let low = self.take()?;
        Some(u128::from(self.take()?) << 64 | u128::from(low))
    }

    /// At most one number.
    fn option(&mut self) -> Option<Vec<u32>> {
        match self.take()? {
            0 => Some(Vec::new()),
            more => Some(vec![u32::try_from(more - 1).ok()?]),
        }
    }

    fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.index()?;
        (0..count).map(|_| each(self)).collect()
    }

    fn point(&mut self) -> Option<LoggedPoint> {
        Some(LoggedPoint {
            component: self.index()?,
            pause: if self.take()? == 0 { None } else { Some(Box::new(self.point()?)) },
            labels: self.list(|from| from.list(Reader::short))?,
            taken: self.list(Reader::short)?,
            hash: self.wide()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let point = LoggedPoint {
            component: 1,
            pause: None,
            labels: vec![vec![3], vec![]],
            taken: vec![5],
            hash: 1 << 100,
        };
        let pausing = LoggedPoint { pause: Some(Box::new(point.clone())), ..point.clone() };
        let event = LoggedEvent {
            component: 2,
            what: LoggedWhat::Interface(7),
            before: vec![1, 2],
            pause: Some(0),
            received: vec![(3, 4)],
            bare: None,
        };
        let judged = Judged { runs: u128::MAX, endless: true, ends: vec![(9, 1 << 70)] };
        let label = Label { member: 1, clock: vec![2, 0], received: vec![8], sent: vec![] };
        for record in [
            Record::Asked(vec![1, 2, 3]),
            Record::Label(label),
            Record::Event(LoggedEvent { what: LoggedWhat::Pause(pausing), ..event.clone() }),
            Record::Event(event),
            Record::Found(vec![1, 5], Some(judged)),
            Record::Found(vec![], None),
            Record::Explored,
        ] {
            let words = record.write();
            assert_eq!(Record::read(&words), Some(record.clone()));
            if !matches!(record, Record::Asked(_)) {
                assert_eq!(Record::read(&words[..words.len() - 1]), None, "{record:?} without its end");
            }
        }
        assert_eq!(Record::read(&[99]), None);
    }
}
