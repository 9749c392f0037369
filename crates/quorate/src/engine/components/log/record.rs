//! Records: rows of numbers.
//!
//! States and messages are of the user's types and have no written form but their numbers. So the log has the questions
//! that were asked of the handlers, in order; a search that goes on asks them again, and the same states and messages
//! get the same numbers. It compares the answers.
//! Differs from DEMETER: tables of the local explorers are not logged. Those that are still needed are made again;
//! which skeletons need no more work is logged.
//! Invariant: whatever a record refers to by number stands in an earlier record.
//! Held by: the test below, quorate-cli/tests/resume.rs (killed at random moments).

use crate::engine::components::events::{EventId, Label, LabelId, Skeleton};

/// What happens in an event, in numbers that mean the same in every search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LoggedWhat {
    Interface(LabelId),
    Pause(LoggedPoint),
}

/// A point of a node: the pauses and labels that lead to the node, what was received since, and a hash of the point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LoggedPoint {
    pub(crate) component: usize,
    /// The point at which the component paused before, if it did.
    pub(crate) pause: Option<Box<LoggedPoint>>,
    /// What others saw of each member since.
    pub(crate) labels: Vec<Vec<LabelId>>,
    pub(crate) taken: Vec<u32>,
    pub(crate) hash: u128,
}

/// An event, with the one that happens in its place without pauses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LoggedEvent {
    pub(crate) component: usize,
    pub(crate) what: LoggedWhat,
    pub(crate) before: Vec<EventId>,
    pub(crate) pause: Option<EventId>,
    pub(crate) received: Vec<(EventId, usize)>,
    pub(crate) bare: Option<EventId>,
}

/// What the judge has found out about a skeleton.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Judged {
    /// How many runs it stands for.
    pub(crate) runs: u128,
    /// Does one of them never end?
    pub(crate) endless: bool,
    /// The maximal local traces that these are made of: hashes of points, and how many traces lead to each.
    pub(crate) ends: Vec<(u128, u128)>,
}

/// Something that the global explorer has learned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// A question that the checker has answered.
    Asked(Vec<u64>),
    Label(Label),
    Event(LoggedEvent),
    /// A complete skeleton, and what was found out about it; nothing if only its pauses are new.
    Found(Skeleton, Option<Judged>),
    /// All branches of one more skeleton are known; skeletons count in the order in which they were found.
    Explored,
}

impl Record {
    pub(crate) fn write(&self) -> Vec<u64> {
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

    /// `None` if these numbers are no record.
    pub(crate) fn read(words: &[u64]) -> Option<Record> {
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

/// A row that is being written.
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
