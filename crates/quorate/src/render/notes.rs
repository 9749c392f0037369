//! The words beside a step: who did what on which message, what it chose, changed, emitted and sent.

use super::canvas::{Line, Style};
use super::debug_text::{Tree, columns, cut, fit, fit_whole};
use super::story::{Arrival, Moment, Sending, Story, enumerate_names};
use crate::world::StepKind;

/// How far the lines below the first are moved to the right.
const INDENT: usize = 2;

/// The lines beside a step, none longer than `width`. `with_origin` if the picture does not show who sent
/// a message and when.
pub(super) fn notes(story: &Story<'_>, moment: &Moment<'_>, width: usize, with_origin: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let inner = width.saturating_sub(INDENT);
    let mut arrivals = arrivals(story, moment, with_origin);
    let mut title = title(story, moment, width);
    // One message goes beside the title if it fits there.
    if let [(before, message, after)] = arrivals.as_slice() {
        let room = width.saturating_sub(title.columns() + 1);
        if let Some(text) = fit_whole(before, message, after, room) {
            title.add(" ", Style::Normal);
            title.add(&text, Style::Normal);
            arrivals.clear();
        }
    }
    lines.push(title);
    for (before, message, after) in &arrivals {
        lines.push(indented(&fit(before, message, after, inner), Style::Normal));
    }
    for choice in &moment.choices {
        lines.push(indented(&cut(&format!("chooses {choice}"), inner), Style::Strong));
    }
    let changed: Vec<String> = moment.changes.iter().map(|change| change.text(inner)).collect();
    lines.extend(wrap(&changed, inner).iter().map(|line| indented(line, Style::Normal)));
    for event in &moment.events {
        lines.push(indented(&fit("emits ", event, "", inner), Style::Strong));
    }
    for sending in &moment.sendings {
        lines.push(indented(&sending_text(sending, inner), Style::Faint));
    }
    if let Some(panic) = moment.panic {
        lines.push(indented(&cut(&format!("✗ panics: {panic}"), inner), Style::Bad));
    } else if moment.kind == StepKind::Transition
        && moment.changes.is_empty()
        && moment.sendings.is_empty()
        && moment.events.is_empty()
    {
        lines.push(indented("nothing changes", Style::Faint));
    }
    lines
}

fn indented(text: &str, style: Style) -> Line {
    let mut line = Line::default();
    line.put(INDENT, text, style);
    line
}

fn sending_text(sending: &Sending, width: usize) -> String {
    let received = match sending.received {
        0 => ", unread".to_string(),
        all if all == sending.receivers => String::new(),
        some => format!(", {some} received"),
    };
    let to = format!(" to {}", sending.to);
    // How many receive it is the first thing to give way.
    fit_whole("sends ", &sending.message, &format!("{to}{received}"), width)
        .unwrap_or_else(|| fit("sends ", &sending.message, &to, width))
}

fn title(story: &Story<'_>, moment: &Moment<'_>, width: usize) -> Line {
    let mut title = Line::default();
    let name = cut(&story.lanes[moment.lane].name, width / 2);
    let happens = match moment.kind {
        StepKind::Transition => moment.transition.to_string(),
        StepKind::Crash => format!("{} ✗ crashes", moment.transition),
        StepKind::Stop => "✗ crashes".to_string(),
        StepKind::Restart => "restarts".to_string(),
        other => other.name().to_string(),
    };
    let happens = cut(&happens, width.saturating_sub(columns(&name) + 1));
    let style = if moment.panic.is_some() { Style::Bad } else { Style::StrongLane(moment.lane) };
    title.add(&name, style);
    title.add(" ", Style::Normal);
    title.add(&happens, if moment.kind.is_fault() { Style::Bad } else { Style::Strong });
    title
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

/// Joins pieces with commas into lines, breaking between pieces only.
fn wrap(pieces: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(piece) + 3 <= width => {
                line.push_str(", ");
                line.push_str(piece);
            }
            Some(line) if columns(line) < width => {
                line.push(',');
                lines.push(piece.clone());
            }
            _ => lines.push(piece.clone()),
        }
    }
    lines
}
