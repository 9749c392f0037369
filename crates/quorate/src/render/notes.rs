//! The words beside a step: who did what on which message, what it chose, changed, emitted and sent.

use super::canvas::{Line, Style};
use super::debug_text::{STAY, Tree, broken_up, columns, cut, fit, fit_whole};
use super::story::{Arrival, LeftOut, Moment, Sending, Story, enumerate_names};
use crate::world::StepKind;

/// How far the lines below the first are moved to the right.
const INDENT: usize = 2;

/// The lines beside a step, none longer than `width`. `with_origin` if the picture does not show who sent
/// a message and when.
pub(super) fn notes(story: &Story<'_>, moment: &Moment<'_>, width: usize, with_origin: bool) -> Vec<Line> {
    let inner = width.saturating_sub(INDENT);
    let mut arrivals = arrivals(story, moment, with_origin);
    let mut lines = title(story, moment, width);
    // One message goes beside the title if it fits there.
    if let ([title], [(before, message, after)]) = (lines.as_mut_slice(), arrivals.as_slice()) {
        let room = width.saturating_sub(title.columns() + 1);
        if let Some(text) = fit_whole(before, message, after, room) {
            title.add(" ", Style::Normal);
            title.add(&text, Style::Normal);
            arrivals.clear();
        }
    }
    let mut say = |texts: Vec<String>, style| lines.extend(texts.iter().map(|text| indented(text, style)));
    for (before, message, after) in &arrivals {
        say(fit(before, message, after, inner), Style::Normal);
    }
    for choice in &moment.choices {
        say(broken_up(&format!("chooses {choice}"), inner), Style::Strong);
    }
    let changed: Vec<String> = moment.changes.iter().map(|change| change.text(inner)).collect();
    say(wrap(&changed, inner), Style::Normal);
    for event in &moment.events {
        say(fit("emits ", event, "", inner), Style::Strong);
    }
    for sending in &moment.sendings {
        let after = format!(" to {}{}", sending.to, fate(sending));
        say(fit("sends ", &sending.message, &after, inner), Style::Faint);
    }
    if let Some(panic) = moment.panic {
        say(broken_up(&format!("✗ panics: {panic}"), inner), Style::Bad);
    } else if moment.kind == StepKind::Transition && !moment.is_felt() {
        say(vec!["nothing changes".to_string()], Style::Faint);
    }
    lines
}

/// What is said of the starts that have no line of their own.
pub(super) fn left_out(story: &Story<'_>, width: usize) -> Vec<Line> {
    let text = |start: &LeftOut| {
        let steps = enumerate_names(start.steps.iter().map(|(number, _)| number.as_str()));
        let names = enumerate_names(start.steps.iter().map(|(_, name)| name.as_str()));
        let (s, are) = if start.steps.len() == 1 { ("", "is") } else { ("s", "are") };
        let text = format!("step{s} {steps} {are} not shown: {names} {}, nothing changes", start.title);
        broken_up(&text, width)
    };
    let line = |text: String| {
        let mut line = Line::default();
        line.put(0, &text, Style::Faint);
        line
    };
    story.left_out.iter().flat_map(text).map(line).collect()
}

fn indented(text: &str, style: Style) -> Line {
    let mut line = Line::default();
    line.put(INDENT, text, style);
    line
}

/// What became of the messages: nothing to say if everybody reads theirs.
fn fate(sending: &Sending) -> String {
    let Sending { received, lost, receivers, .. } = *sending;
    let lost_text = if lost == receivers { ", lost".to_string() } else { format!(", {lost}{STAY}lost") };
    match (received, lost) {
        (0, 0) => ", unread".to_string(),
        (all, 0) if all == receivers => String::new(),
        (some, 0) => format!(", {some}{STAY}received"),
        (0, _) => lost_text,
        (some, _) => format!(", {some}{STAY}received{lost_text}"),
    }
}

/// Who does what: in one line if it fits.
fn title(story: &Story<'_>, moment: &Moment<'_>, width: usize) -> Vec<Line> {
    let name = &story.lanes[moment.lane].name;
    let happens = match moment.kind {
        StepKind::Transition => moment.title.clone(),
        StepKind::Crash => format!("{} ✗ crashes", moment.title),
        StepKind::Stop => "✗ crashes".to_string(),
        StepKind::Restart => "restarts".to_string(),
        other => other.name().to_string(),
    };
    let style = if moment.panic.is_some() { Style::Bad } else { Style::StrongLane(moment.lane) };
    let happens_style = if moment.kind.is_fault() { Style::Bad } else { Style::Strong };
    let mut title = Line::default();
    if columns(name) + 1 + columns(&happens) <= width {
        title.add(name, style);
        title.add(" ", Style::Normal);
        title.add(&happens, happens_style);
        return vec![title];
    }
    title.add(&cut(name, width), style);
    let rest = broken_up(&happens, width.saturating_sub(INDENT));
    std::iter::once(title).chain(rest.iter().map(|text| indented(text, happens_style))).collect()
}

/// What a step consumes, equal messages together: the words before a message, the message, those after.
fn arrivals<'s>(
    story: &Story<'_>,
    moment: &'s Moment<'_>,
    with_origin: bool,
) -> Vec<(String, &'s Tree, String)> {
    let mut groups: Vec<Vec<&'s Arrival>> = Vec::new();
    for arrival in &moment.arrivals {
        match groups.iter_mut().find(|group| group[0].message == arrival.message) {
            Some(group) => group.push(arrival),
            None => groups.push(vec![arrival]),
        }
    }
    let senders_needed = with_origin || groups.len() > 1;
    let texts = |group: &Vec<&'s Arrival>| {
        let times = if group.len() > 1 { format!("{} × ", group.len()) } else { String::new() };
        let names = enumerate_names(group.iter().map(|arrival| story.lanes[arrival.from].name.as_str()));
        let after = match group.as_slice() {
            _ if !senders_needed => String::new(),
            [arrival] if with_origin => format!(" from {names} in {}", arrival.sent_in),
            _ => format!(" from {names}"),
        };
        (format!("← {times}"), &group[0].message, after)
    };
    groups.iter().map(texts).collect()
}

/// Joins pieces with commas into lines, breaking between pieces where that can be.
fn wrap(pieces: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let piece = if at + 1 < pieces.len() { format!("{piece},") } else { piece.clone() };
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(&piece) <= width => {
                line.push(' ');
                line.push_str(&piece);
            }
            _ => lines.extend(broken_up(&piece, width)),
        }
    }
    lines
}
