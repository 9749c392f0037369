//! Writes what the global explorer has learned to the log, and reads what an earlier search has written.
//!
//! From: DEMETER, section 4.3: what was explored is logged, so that nothing is lost when a machine fails.
//! Invariant: whatever has a number is logged before what refers to it, in the order of the numbers.
//! Held by: quorate-cli/tests/resume.rs.

use std::time::{Duration, Instant};

use super::skeletons::Global;
use crate::engine::components::embedded::ComponentChecker;
use crate::engine::components::events::{Event, EventId, LabelId, What};
use crate::engine::components::log::{Judged, LoggedEvent, LoggedWhat, ProgressLog, Record};
use crate::engine::components::meter::{Halt, Meter};
use crate::report::Stopped;

/// How much time may pass before what was learned is safe.
const COMMIT_EVERY: Duration = Duration::from_millis(50);

impl<E: ComponentChecker> Global<'_, E> {
    /// Logs these records, after everything that they refer to.
    pub(super) fn write_log(&mut self, records: &[Record]) -> Result<(), Halt> {
        let Some(log) = self.log.clone() else { return Ok(()) };
        let asked = self.locals.checker.learned().unwrap_or_default();
        let mut rows: Vec<Vec<u64>> = asked.into_iter().map(|asked| Record::Asked(asked).write()).collect();
        let labels = &self.locals.labels()[self.logged.0..];
        rows.extend(labels.iter().map(|label| Record::Label(label.clone()).write()));
        let fresh: Vec<(Event, Option<EventId>)> =
            self.events.from(self.logged.1).map(|(event, bare)| (event.clone(), bare)).collect();
        for (event, bare) in fresh {
            let Event { component, what, before, pause, received } = event;
            let what = match what {
                What::Interface(label) => LoggedWhat::Interface(label),
                What::Pause(node, point) => LoggedWhat::Pause(self.locals.logged(node, point)),
            };
            rows.push(Record::Event(LoggedEvent { component, what, before, pause, received, bare }).write());
        }
        self.logged = (self.locals.labels().len(), self.events.count());
        rows.extend(records.iter().map(Record::write));
        let is_due = self.committed_at.elapsed() >= COMMIT_EVERY;
        let written = log.with(|store| {
            rows.iter().try_for_each(|row| store.append(row))?;
            if is_due { store.commit() } else { Ok(()) }
        });
        if is_due {
            self.committed_at = Instant::now();
        }
        written.map_err(|error| Halt::Stopped(Stopped::Store(error)))
    }

    /// Goes on from what is in the log. Returns what was found out about each skeleton.
    pub(crate) fn restore(&mut self, meter: &mut Meter<'_>) -> Result<Vec<Judged>, Halt> {
        let Some(log) = self.log.clone() else { return Ok(Vec::new()) };
        let wrong = |error: String| Halt::Stopped(Stopped::Store(error));
        let rows = log.with(|store| store.read()).map_err(wrong)?;
        let unreadable = || wrong("the store cannot be read".to_string());
        let read = |row: &Vec<u64>| Record::read(row).ok_or_else(unreadable);
        let records: Vec<Record> = rows.iter().map(read).collect::<Result<_, Halt>>()?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        // Questions and labels first: everything that is found again after that has its number already.
        let mut others = Vec::new();
        for record in records {
            match record {
                Record::Asked(asked) => self.locals.checker.relearn(&asked).map_err(wrong)?,
                Record::Label(label) => {
                    self.locals.number_label(label);
                }
                other => others.push(other),
            }
            meter.pass()?;
        }
        self.locals.checker.learned();
        let labels = self.locals.labels().len();
        let mut judged = Vec::new();
        for record in others {
            match record {
                Record::Event(logged) => self.restore_event(logged, meter)?,
                Record::Found(skeleton, found_out) => {
                    if skeleton.iter().any(|event| *event as usize >= self.events.count()) {
                        return Err(unreadable());
                    }
                    self.note(skeleton, meter);
                    judged.extend(found_out);
                }
                Record::Explored if self.explored < self.found.len() => self.explored += 1,
                Record::Explored => return Err(unreadable()),
                Record::Asked(_) | Record::Label(_) => {}
            }
        }
        self.logged = (labels, self.events.count());
        Ok(judged)
    }

    fn restore_event(&mut self, logged: LoggedEvent, meter: &mut Meter<'_>) -> Result<(), Halt> {
        let LoggedEvent { component, what, before, pause, received, bare } = logged;
        let known = |event: EventId| (event as usize) < self.events.count();
        let causes = before.iter().copied().chain(pause).chain(received.iter().map(|(event, _)| *event));
        let is_label = |label: LabelId| (label as usize) < self.locals.labels().len();
        if component >= self.components()
            || !causes.into_iter().all(known)
            || bare.is_some_and(|bare| bare as usize > self.events.count())
            || matches!(what, LoggedWhat::Interface(label) if !is_label(label))
        {
            return Err(Halt::Stopped(Stopped::Store("the store cannot be read".to_string())));
        }
        let what = match what {
            LoggedWhat::Interface(label) => What::Interface(label),
            LoggedWhat::Pause(point) => {
                let Some((node, point)) = self.locals.found_again(&point, meter)? else {
                    let error = "the store has a run that does not happen: the protocol has changed since";
                    return Err(Halt::Stopped(Stopped::Store(error.to_string())));
                };
                What::Pause(node, point)
            }
        };
        self.events.restore(Event { component, what, before, pause, received }, bare);
        Ok(())
    }

    /// Makes everything that was logged safe.
    pub(crate) fn commit(&mut self) -> Result<(), Stopped> {
        let commit = |log: &ProgressLog| log.with(|store| store.commit());
        self.log.as_ref().map_or(Ok(()), commit).map_err(Stopped::Store)
    }
}
