//! A protocol that can be counted by hand: speakers say letters, and a hearer hears them.

use quorate::{Role, RoleName, System, Transitions, some_of};

/// Those who speak.
pub const SPEAKERS: RoleName = RoleName::new("speaker");
/// The one who hears.
pub const HEARERS: RoleName = RoleName::new("hearer");

/// Says one batch of letters after the other, each in one step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Speaker {
    /// What it has still to say.
    pub batches: Vec<&'static str>,
}

impl Role for Speaker {
    type Message = char;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say").when(|s| !s.batches.is_empty()).run(|s, out| {
            for letter in s.batches.remove(0).chars() {
                out.send_all(HEARERS, letter);
            }
        });
    }
}

/// Hears two letters at most, and cannot bear an exclamation mark. What it heard is lost in a restart.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Hearer {
    /// What it heard.
    pub heard: String,
    /// Does it hear letters of two speakers at once?
    pub pairs: bool,
}

impl Hearer {
    fn selects(&self, letter: char) -> bool {
        assert!(letter != '!', "do not shout");
        self.heard.len() < 2
    }
}

impl Role for Hearer {
    type Message = char;
    fn transitions(&self, t: &mut Transitions<Self>) {
        if self.pairs {
            t.quorum("hear", some_of(2, SPEAKERS))
                .of(|h, m| h.selects(*m))
                .run(|h, pair, _| h.heard.extend(pair.iter().map(|m| *m.body)));
            return;
        }
        t.message("hear").of(|h, m| h.selects(*m)).run(|h, m, out| {
            h.heard.push(*m);
            out.emit(*m);
        });
    }

    fn restarted(&self) -> Self {
        Hearer { pairs: self.pairs, ..Self::default() }
    }
}

/// Speakers of these batches, and one hearer, which hears letters in pairs or one by one.
pub fn speaking(speakers: &[&[&'static str]], pairs: bool) -> System<char> {
    System::new().role(SPEAKERS, speakers.len(), |index| Speaker { batches: speakers[index].to_vec() }).role(
        HEARERS,
        1,
        |_| Hearer { pairs, ..Hearer::default() },
    )
}
