//! The comparison can fail: every mistake that is planted in the naive checker is noticed on some random
//! protocol, as it would be noticed in an engine. What is compared is the same as in agreement.rs.

use quorate::engine::{Explore, Search};
use quorate::model::{Envelope, QuorumSystem, Trigger};
use quorate::property::When;
use quorate::testing::{Sleep, Tuning};
use quorate_testkit::compare::{differences, explored};
use quorate_testkit::naive::{Attempt, Letter, Semantics, put, search_with};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::AGREEMENT;

/// On how many protocols a mistake must be noticed.
const NOTICED_MIN: usize = 3;
/// Among how many.
const SEEDS_MAX: u64 = 1_500;
/// Protocols with more states are skipped: a mistake may make inboxes grow without end.
const STATES_MAX: usize = 2_000;

#[track_caller]
fn noticed(mistake: Semantics) {
    noticed_with(mistake, Tuning::default());
}

#[track_caller]
fn noticed_with(mistake: Semantics, tuning: Tuning) {
    let differs = |seed: &u64| {
        let model = RandomProtocol::new(*seed).model();
        let (engine, search) = (Explore::default(), Search::default().threads(1).tuning(tuning));
        let Some(found) = search_with(&model, STATES_MAX, mistake) else { return false };
        let report = explored(&model, &engine, &search).expect("the engine does not panic");
        !differences(&model, &found, (&engine, &search), &report).is_empty()
    };
    let noticed: Vec<u64> = (0..SEEDS_MAX).filter(differs).take(NOTICED_MIN).collect();
    assert_eq!(noticed.len(), NOTICED_MIN, "the mistake is noticed by seeds {noticed:?} only");
    AGREEMENT.catches(std::thread::current().name(), &noticed);
}

#[test]
fn processes_sleep_although_they_were_sent_something() {
    noticed_with(Semantics::default(), Tuning { sleep: Sleep::Everybody, ..Tuning::default() });
}

#[test]
fn a_quorum_counts_a_sender_twice() {
    noticed(Semantics {
        accepts: |model, process, transition, local, consumed| {
            // The model itself knows better, so it is asked as if the members had sent one each.
            let mut renamed: Vec<Envelope> = consumed.iter().map(|&message| message.clone()).collect();
            if let Trigger::Quorum(QuorumSystem::Size { members, .. }) =
                model.process(process).transitions()[transition].trigger()
                && renamed.iter().all(|message| members.contains(&message.from))
            {
                renamed.iter_mut().zip(members).for_each(|(message, &member)| message.from = member);
            }
            model.accepts(process, transition, local, &renamed.iter().collect::<Vec<_>>())
        },
        ..Semantics::default()
    });
}

#[test]
fn inboxes_are_sets() {
    noticed(Semantics {
        put: |world, inbox, letter, _| {
            inbox.waiting().any(|held| held == letter) || put(world, inbox, letter)
        },
        ..Semantics::default()
    });
}

#[test]
fn consuming_takes_all_copies() {
    noticed(Semantics {
        left: |_, inbox, chosen| {
            let mut left = inbox.clone();
            for (queue, letters) in &mut left.queues {
                let taken =
                    |letter: &Letter| chosen.iter().any(|(_, at)| inbox.queues[queue][*at] == *letter);
                letters.retain(|letter| !taken(letter));
            }
            left.queues.retain(|_, letters| !letters.is_empty());
            left
        },
        ..Semantics::default()
    });
}

#[test]
fn consuming_takes_nothing() {
    noticed(Semantics { left: |_, inbox, _| inbox.clone(), ..Semantics::default() });
}

#[test]
fn messages_to_oneself_are_lost() {
    noticed(Semantics {
        put: |world, inbox, letter, to_self| to_self || put(world, inbox, letter),
        ..Semantics::default()
    });
}

#[test]
fn only_the_first_choice_is_made() {
    noticed(Semantics {
        follow: |steps| steps.retain(|attempt| attempt.step.choices.iter().all(|&choice| choice == 0)),
        ..Semantics::default()
    });
}

#[test]
fn the_second_choice_of_a_handler_is_ignored() {
    noticed(Semantics {
        follow: |steps| {
            steps.retain(|attempt| attempt.step.choices.get(1).is_none_or(|&choice| choice == 0));
        },
        ..Semantics::default()
    });
}

#[test]
fn choices_with_equal_outcomes_are_one() {
    noticed(Semantics {
        follow: |steps| {
            steps.dedup_by(|one, other| {
                let outcomes = one.outcome.as_ref().zip(other.outcome.as_ref());
                one.step.consumed == other.step.consumed && outcomes.is_some_and(|(a, b)| a.state == b.state)
            });
        },
        ..Semantics::default()
    });
}

#[test]
fn only_the_first_set_of_messages_is_tried() {
    noticed(Semantics {
        follow: |steps| {
            let first = steps.first().map(|attempt| attempt.step.consumed.clone());
            steps.retain(|attempt| Some(&attempt.step.consumed) == first.as_ref());
        },
        ..Semantics::default()
    });
}

#[test]
fn only_the_first_quorum_is_tried() {
    noticed(Semantics {
        follow: |steps| {
            let first = steps.first().map(|attempt| attempt.step.consumed.clone());
            let single = |attempt: &Attempt| attempt.step.consumed.len() < 2;
            steps.retain(|attempt| single(attempt) || Some(&attempt.step.consumed) == first.as_ref());
        },
        ..Semantics::default()
    });
}

#[test]
fn panics_go_unnoticed() {
    noticed(Semantics {
        follow: |steps| steps.retain(|attempt| attempt.outcome.is_some()),
        ..Semantics::default()
    });
}

#[test]
fn the_last_state_goes_unexplored() {
    noticed(Semantics { explores_max: 100, ..Semantics::default() });
}

#[test]
fn the_end_is_never_judged() {
    noticed(Semantics { due: |moment, _| moment == When::Always, ..Semantics::default() });
}

#[test]
fn every_state_is_judged_as_the_end() {
    noticed(Semantics { due: |_, _| true, ..Semantics::default() });
}
