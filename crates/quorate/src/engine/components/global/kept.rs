//! What the global explorer has learned, kept in a logbook, and found again in another process.
//!
//! From: DEMETER, section 4.3: what was explored is logged, so that nothing is lost when a machine fails.
//! Invariant: whatever has a number is kept before what refers to it, in the order of the numbers.
//! Restriction by: quorate-cli/tests/resume.rs.

use std::time::{Duration, Instant};

use super::Global;
use crate::engine::components::Halt;
use crate::engine::components::checker::ComponentChecker;
use crate::engine::components::events::{Event, EventId, What};
use crate::engine::components::journal::{Judged, LoggedEvent, LoggedWhat, ProgressLog, Record};
use crate::engine::components::local::LabelId;
use crate::engine::components::meter::Meter;
use crate::report::Stopped;

/// How much time may pass before what was learned is safe.
const KEEP_EVERY: Duration = Duration::from_millis(50);

impl<E: ComponentChecker> Global<E> {
    /// Keeps what was learned, and what it refers to.
    pub(super) fn keep(&mut self, records: &[Record]) -> Result<(), Halt> {
        let Some(logbook) = self.logbook.clone() else { return Ok(()) };
        let asked = self.locals.checker.learned().unwrap_or_default();
        let mut rows: Vec<Vec<u64>> = asked.into_iter().map(|asked| Record::Asked(asked).write()).collect();
        let labels = self.locals.labels_from(self.kept.0);
        rows.extend(labels.iter().map(|label| Record::Label(label.clone()).write()));
        let fresh: Vec<(Event, Option<EventId>)> =
            self.events.from(self.kept.1).map(|(event, bare)| (event.clone(), bare)).collect();
        for (event, bare) in fresh {
            let Event { component, what, before, pause, received } = event;
            let what = match what {
                What::Interface(label) => LoggedWhat::Interface(label),
                What::Pause(node, point) => LoggedWhat::Pause(self.locals.kept(node, point)),
            };
            rows.push(Record::Event(LoggedEvent { component, what, before, pause, received, bare }).write());
        }
        self.kept = (self.locals.labels_from(0).len(), self.events.count());
        rows.extend(records.iter().map(Record::write));
        let is_due = self.kept_at.elapsed() >= KEEP_EVERY;
        let kept = logbook.with(|store| {
            rows.iter().try_for_each(|row| store.append(row))?;
            if is_due { store.commit() } else { Ok(()) }
        });
        if is_due {
            self.kept_at = Instant::now();
        }
        kept.map_err(|error| Halt::Stopped(Stopped::Store(error)))
    }

    /// Goes on from what was kept. Tells what was found out of each skeleton.
    pub(in super::super) fn restore(&mut self, meter: &mut Meter<'_>) -> Result<Vec<Judged>, Halt> {
        let Some(logbook) = self.logbook.clone() else { return Ok(Vec::new()) };
        let wrong = |error: String| Halt::Stopped(Stopped::Store(error));
        let rows = logbook.with(|store| store.read()).map_err(wrong)?;
        let unreadable = || wrong("the store cannot be read".to_string());
        let read = |row: &Vec<u64>| Record::read(row).ok_or_else(unreadable);
        let records: Vec<Record> = rows.iter().map(read).collect::<Result<_, Halt>>()?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        // First everything that has a number: whatever is found again on the way after that has it already.
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
        let labels = self.locals.labels_from(0).len();
        let mut judged = Vec::new();
        for record in others {
            match record {
                Record::Event(kept) => self.restore_event(kept, meter)?,
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
        self.kept = (labels, self.events.count());
        Ok(judged)
    }

    fn restore_event(&mut self, kept: LoggedEvent, meter: &mut Meter<'_>) -> Result<(), Halt> {
        let LoggedEvent { component, what, before, pause, received, bare } = kept;
        let known = |event: EventId| (event as usize) < self.events.count();
        let causes = before.iter().copied().chain(pause).chain(received.iter().map(|(event, _)| *event));
        let is_label = |label: LabelId| (label as usize) < self.locals.labels_from(0).len();
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
                    let error =
                        "the store tells of a run that does not happen: the protocol has changed since";
                    return Err(Halt::Stopped(Stopped::Store(error.to_string())));
                };
                What::Pause(node, point)
            }
        };
        self.events.restore(Event { component, what, before, pause, received }, bare);
        Ok(())
    }

    /// Everything that was learned is safe from now on.
    pub(in super::super) fn commit(&mut self) -> Result<(), Stopped> {
        let commit = |logbook: &ProgressLog| logbook.with(|store| store.commit());
        self.logbook.as_ref().map_or(Ok(()), commit).map_err(Stopped::Store)
    }
}
