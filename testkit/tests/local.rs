//! `--engine local` answers what the naive checker finds: on random protocols, in circles and not, with closures that
//! are loose, followed closely, or given up; for their own properties, and for whether two processes can be in two
//! local states at once, which is asked of every pair that the closure allows.

use quorate::Report;
use quorate::engine::{CombineBy, Engine, Explore, Local, Order, Refusal, Search, strongest_reductions};
use quorate::model::{Model, Value};
use quorate::property::{Monitor, Property, When};
use quorate::reduce::Reductions;
use quorate::report::{Stopped, Verdict};
use quorate::testing::{Mutant, Tuning, closure_of};
use quorate::world::{Channel, World};
use quorate::{Outbox, ProcessId, Received, Role, RoleName, System, Transitions, observe};
use quorate_testkit::corpus::for_each_seed;
use quorate_testkit::naive::{Findings, NO_PANIC, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::{DUPLICATES, LOCAL, SNAPSHOTS};
use quorate_testkit::worlds::random_world;

/// Protocols with more states are skipped.
const STATES_MAX: usize = 1_500;

/// The closure of a process may have so few local states that many go on beyond it.
/// No global states are searched beside: `fallbacks` has that.
const WIDE: Tuning = Tuning { closure_max: 400, local_first: u64::MAX, ..Tuning::DEFAULT };
const TIGHT: Tuning = Tuning { closure_max: 6, ..WIDE };
const CLOSE: Tuning = Tuning { closure_max: 24, ..WIDE };

fn local(model: &Model, engine: &Local, tuning: Tuning) -> Report {
    let reductions = strongest_reductions(engine, model).0.kept();
    engine.run(model, &Search::default().threads(1).reductions(reductions).tuning(tuning), &mut ())
}

/// What the engine says as it is.
fn plainly(model: &Model, tuning: Tuning) -> Report {
    local(model, &Local::default(), tuning)
}

/// What global states say.
fn global(model: &Model, engine: &Explore, reductions: Reductions) -> Report {
    engine.run(model, &Search::default().threads(1).reductions(reductions), &mut ())
}

/// Is the answer wrong?
fn differs(found: &Findings, report: &Report) -> Option<String> {
    match (&report.verdict, found.broken.is_empty()) {
        (Verdict::Holds, true) | (Verdict::Violated(_), false) => None,
        (verdict, _) => Some(format!("the verdict is {}, but {:?} break", verdict.word(), found.broken)),
    }
}

/// In what the engine differs from the naive checker, however it is tuned.
fn disagreement(model: &Model) -> Option<String> {
    let found = search(model, STATES_MAX)?;
    for (tuning, combine_by) in
        [(WIDE, CombineBy::Observations), (TIGHT, CombineBy::Observations), (CLOSE, CombineBy::States)]
    {
        let report = local(model, &Local::default().combine_by(combine_by), tuning);
        if let Some(differs) = differs(&found, &report) {
            return Some(format!("closure of {}, {combine_by:?}: {differs}", tuning.closure_max));
        }
        if let Some((closure, precision)) = closure_of(model, tuning) {
            let missing =
                found.local_states.iter().zip(&closure).find(|(seen, known)| !seen.is_subset(known));
            if let Some((seen, known)) = missing {
                let lost: Vec<&Value> = seen.difference(known).collect();
                return Some(format!("a closure with precision {precision} lacks {lost:?}"));
            }
        }
    }
    let bounded = local(model, &Local::default().own_steps_max(2), WIDE);
    match &bounded.verdict {
        Verdict::HoldsWithin(_) => None,
        _ => differs(&found, &bounded).map(|differs| format!("few local events: {differs}")),
    }
}

fn fail_if_any(disagreeing: &[(u64, String)]) {
    let first: Vec<String> =
        disagreeing.iter().take(5).map(|(seed, line)| format!("seed {seed}: {line}")).collect();
    assert!(disagreeing.is_empty(), "{} protocols disagree:\n{}", disagreeing.len(), first.join("\n"));
}

#[test]
fn random_protocols() {
    let results = for_each_seed(LOCAL.seeds(), |seed| disagreement(&RandomProtocol::new(seed).model()));
    let disagreeing: Vec<(u64, String)> =
        results.into_iter().filter_map(|(seed, differs)| Some((seed, differs?))).collect();
    fail_if_any(&disagreeing);
}

#[test]
fn random_protocols_in_random_worlds() {
    let results = for_each_seed(LOCAL.seeds(), |seed| {
        let model = RandomProtocol::for_worlds(seed).model();
        let world = random_world(seed, &model);
        disagreement(&model.in_world(world).ok()?)
    });
    let disagreeing: Vec<(u64, String)> =
        results.into_iter().filter_map(|(seed, differs)| Some((seed, differs?))).collect();
    fail_if_any(&disagreeing);
}

/// Pairs of local states of two processes that the closure allows, at most so many.
fn pairs(closure: &[Vec<Value>], most: usize) -> Vec<Vec<(ProcessId, Value)>> {
    let mut pairs = Vec::new();
    for (at, states) in closure.iter().enumerate() {
        for (other, others) in closure.iter().enumerate().skip(at + 1) {
            for state in states {
                let pair = |second: &Value| {
                    vec![(ProcessId::new(at), state.clone()), (ProcessId::new(other), second.clone())]
                };
                pairs.extend(others.iter().map(pair));
            }
        }
    }
    let stride = pairs.len().div_ceil(most).max(1);
    pairs.into_iter().step_by(stride).collect()
}

#[derive(Default)]
struct Asked {
    reachable: usize,
    spurious: usize,
    wrong: Option<String>,
}

/// Asks of pairs of local states whether they can be at once.
fn ask_pairs(protocol: &RandomProtocol, tuning: Tuning) -> Option<Asked> {
    let bare = protocol.without_properties();
    let model = bare.model();
    let found = search(&model, STATES_MAX).filter(|found| !found.broken.contains_key(NO_PANIC))?;
    let (closure, _) = closure_of(&model, WIDE)?;
    let sorted = |states: &std::collections::HashSet<Value>| {
        let mut states: Vec<Value> = states.iter().cloned().collect();
        states.sort_by(Value::content_order);
        states
    };
    let closure: Vec<Vec<Value>> = closure.iter().map(sorted).collect();
    let mut asked = Asked::default();
    for pair in pairs(&closure, 6) {
        let together =
            |states: &Vec<Value>| pair.iter().all(|(process, state)| states[process.index()] == *state);
        let reachable = found.system_states.iter().any(together);
        let model = bare.model().asking(Property::never(pair.clone()));
        let report = plainly(&model, tuning);
        match (&report.verdict, reachable) {
            (Verdict::Violated(_), true) => asked.reachable += 1,
            (Verdict::Holds, false) => asked.spurious += 1,
            (verdict, _) => {
                let word = verdict.word();
                asked.wrong = Some(format!("{pair:?}: {word}, but reachable is {reachable}"));
            }
        }
    }
    Some(asked)
}

#[test]
fn every_candidate_is_decided_as_the_naive_checker_does() {
    let results = for_each_seed(LOCAL.seeds(), |seed| ask_pairs(&RandomProtocol::new(seed), WIDE));
    let mut total = Asked::default();
    let mut wrong = Vec::new();
    for (seed, asked) in results {
        let Some(asked) = asked else { continue };
        total.reachable += asked.reachable;
        total.spurious += asked.spurious;
        wrong.extend(asked.wrong.map(|line| (seed, line)));
    }
    println!("{} pairs are reached, {} only seem to be", total.reachable, total.spurious);
    fail_if_any(&wrong);
    assert!(
        total.reachable > LOCAL.least(2_000) && total.spurious > LOCAL.least(500),
        "enough pairs of both kinds"
    );
}

/// Starts along a run to a pair of local states, and asks from there for that pair and for others. Says how often it
/// asked, or what was answered wrongly.
fn ask_from_snapshots(protocol: &RandomProtocol) -> Option<Result<usize, String>> {
    let bare = protocol.without_properties();
    let found = search(&bare.model(), STATES_MAX).filter(|found| !found.broken.contains_key(NO_PANIC))?;
    let last = found.locals.last()?;
    let far: Vec<(ProcessId, Value)> =
        last.iter().enumerate().map(|(at, state)| (ProcessId::new(at), state.clone())).collect();
    let reached = plainly(&bare.model().asking(Property::never(far.clone())), Tuning::default());
    let steps = reached.verdict.violation()?.trace.steps.clone();
    let mut asked = 0;
    for taken in [0, steps.len() / 2, steps.len()] {
        let from = |together: &[(ProcessId, Value)]| {
            let model = bare.model().after(&steps[..taken]).expect("the run is one of the protocol");
            model.asking(Property::never(together.to_vec()))
        };
        let model = from(&far);
        let report = plainly(&model, WIDE);
        let Some(violation) = report.verdict.violation() else {
            return Some(Err(format!("after {taken} steps of {}: {}", steps.len(), report.verdict.word())));
        };
        if violation.trace.steps[..taken] != steps[..taken] {
            return Some(Err(
                "the story of a violation does not begin with what led to its start".to_string()
            ));
        }
        // What the others answer, explore without any reduction answers too.
        for other in found.locals.iter().step_by(found.locals.len().div_ceil(4)) {
            let pair = [(ProcessId::new(0), other[0].clone()), (ProcessId::new(1), other[1].clone())];
            let model = from(&pair);
            let plain = global(&model, &Explore::default(), Reductions::default());
            let reductions = Reductions::strongest(&model).0.kept();
            let reduced = global(&model, &Explore::default(), reductions);
            let local = plainly(&model, CLOSE);
            asked += 1;
            let words = [plain, reduced, local].map(|report| report.verdict.word());
            if words.iter().any(|word| *word != words[0]) {
                return Some(Err(format!("after {taken} steps, of {pair:?} they say {words:?}")));
            }
        }
    }
    Some(Ok(asked))
}

#[test]
fn from_a_snapshot_a_run_goes_on_as_it_could() {
    let results = for_each_seed(SNAPSHOTS.seeds(), |seed| ask_from_snapshots(&RandomProtocol::new(seed)));
    let wrong: Vec<(u64, String)> =
        results.iter().filter_map(|(seed, asked)| Some((*seed, asked.clone()?.err()?))).collect();
    fail_if_any(&wrong);
    let asked: usize = results.into_iter().filter_map(|(_, asked)| asked?.ok()).sum();
    assert!(asked > SNAPSHOTS.least(2_000), "asked {asked} times");
}

#[test]
fn mistakes_are_noticed() {
    let noticed = |mutant: Mutant, seeds| {
        let tuning = Tuning { mutants: mutant.into(), ..WIDE };
        let wrong = for_each_seed(seeds, |seed| {
            ask_pairs(&RandomProtocol::new(seed), tuning).is_some_and(|asked| asked.wrong.is_some())
        });
        let noticed: Vec<u64> = wrong.iter().filter(|(_, wrong)| *wrong).map(|(seed, _)| *seed).collect();
        LOCAL.catches(mutant, &noticed);
        noticed.len()
    };
    assert!(noticed(Mutant::NoAncestors, 0..100) > 10, "processes must go a way to where things go wrong");
    assert!(noticed(Mutant::ConsumedOnce, 0..1_000) > 0, "messages are sent twice");
    let model = counting(&[Word::Tick(1), Word::Tick(1)], false, false, 2);
    let tuning = Tuning { mutants: Mutant::ConsumedOnce.into(), ..WIDE };
    assert_eq!(plainly(&model, tuning).verdict.word(), "holds");
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Word {
    Tick(u8),
    Reset,
    Done,
}

/// Says its words one after the other; after each it waits for an answer, if it is asked to. In the end it begins
/// again, if it is asked to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Speaker {
    words: Vec<Word>,
    next: usize,
    waiting: bool,
    waits: bool,
    repeats: bool,
}

/// Counts ticks, and answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter {
    count: u32,
    answers: bool,
}

const SPEAKER: RoleName = RoleName::new("speaker");
const COUNTER: RoleName = RoleName::new("counter");

impl Role for Speaker {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say").when(|s| !s.waiting && s.next < s.words.len()).run(Self::say);
        t.message("done").of(|_, word| *word == Word::Done).run(Self::done);
    }
}

impl Speaker {
    fn say(&mut self, out: &mut Outbox<Word>) {
        out.send_all(COUNTER, self.words[self.next].clone());
        self.waiting = self.waits;
        self.next += 1;
        if self.repeats {
            self.next %= self.words.len();
        }
    }

    fn done(&mut self, _: Received<'_, Word>, _: &mut Outbox<Word>) {
        self.waiting = false;
    }
}

impl Role for Counter {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("count").of(|_, word| matches!(word, Word::Tick(_))).run(Self::tick);
        t.message("reset").of(|_, word| *word == Word::Reset).run(Self::reset);
    }
}

impl Counter {
    fn tick(&mut self, tick: Received<'_, Word>, out: &mut Outbox<Word>) {
        self.count += 1;
        if self.answers {
            out.send(tick.from, Word::Done);
        }
    }

    fn reset(&mut self, reset: Received<'_, Word>, out: &mut Outbox<Word>) {
        self.count = 0;
        if self.answers {
            out.send(reset.from, Word::Done);
        }
    }
}

/// A counter that hears these words; it must not count to `limit`.
fn counting(words: &[Word], waits: bool, repeats: bool, limit: u32) -> Model {
    speaking(words, waits, repeats, limit).build().expect("a valid system")
}

fn speaking(words: &[Word], waits: bool, repeats: bool, limit: u32) -> System<Word> {
    let words = words.to_vec();
    System::new()
        .role(SPEAKER, 1, |_| Speaker { words: words.clone(), next: 0, waiting: false, waits, repeats })
        .role(COUNTER, 1, |_| Counter { count: 0, answers: waits })
        .invariant("few", observe(|c: &Counter| c.count), move |counts| {
            counts.iter().all(|count| *count < limit)
        })
}

fn word(model: &Model) -> &'static str {
    plainly(model, WIDE).verdict.word()
}

#[test]
fn a_counter_is_followed_as_closely_as_it_takes() {
    let (one, two) = (vec![Word::Tick(1), Word::Tick(1)], vec![Word::Tick(1), Word::Tick(2)]);
    let precision =
        |words: &[Word]| closure_of(&counting(words, false, false, 9), WIDE).map(|(_, precision)| precision);
    // A message that is sent twice is counted for ever, until it is known to be consumed twice on all ways.
    assert_eq!(precision(&one), Some(1));
    // Of two messages, either may have been the first: what was consumed on all ways is nothing.
    assert_eq!(precision(&two), Some(2));
    for words in [one, two] {
        assert_eq!(word(&counting(&words, false, false, 3)), "holds");
        assert_eq!(word(&counting(&words, false, false, 2)), "violated");
    }
}

#[test]
fn a_closure_that_goes_on_for_ever_is_said_and_the_answer_is_right() {
    let words = [Word::Tick(1), Word::Reset];
    let model = counting(&words, true, true, 2);
    assert!(closure_of(&model, WIDE).is_none(), "ticks come again and again");
    let report = plainly(&model, WIDE);
    assert_eq!(report.verdict.word(), "holds");
    let said = report.local().and_then(|local| local.reservation.clone()).unwrap_or_default();
    assert!(said.contains("goes on and on at counter"), "{said}");
    assert_eq!(word(&counting(&words, true, true, 1)), "violated");
}

#[test]
fn few_local_events_are_covered_and_said() {
    let words = [Word::Tick(1), Word::Tick(1), Word::Tick(1)];
    let within = |events, limit| {
        let model = counting(&words, false, false, limit);
        local(&model, &Local::default().own_steps_max(events), WIDE).verdict.word()
    };
    assert_eq!((within(2, 3), within(2, 2)), ("holds within", "violated"));
    assert_eq!((within(9, 4), within(9, 3)), ("holds", "violated"));
}

#[test]
fn a_limit_on_duplicates_is_said_where_it_was_reached() {
    let model = counting(&[Word::Tick(1), Word::Tick(1)], false, false, 3);
    let within = |duplicates| {
        let report = global(&model, &Explore::default().copies_max(duplicates), Reductions::default());
        (report.verdict.word(), report.coverage.states)
    };
    // Two ticks wait at once, or they are counted one by one.
    assert_eq!(within(1), ("holds", 6));
    // The second is lost if the first is waiting still: both said, 0 or 1 counted, 0 or 1 waiting.
    assert_eq!(within(0), ("holds within", 7));
}

#[test]
fn without_duplicates_bags_are_sets() {
    let differing = for_each_seed(DUPLICATES.seeds(), |seed| {
        let bags = RandomProtocol::new(seed).model();
        let sets = RandomProtocol::new(seed).model();
        let sets = sets.in_world(World::default().channel(Channel::Set)).ok()?;
        search(&bags, STATES_MAX)?;
        if bags.properties().iter().any(|property| property.when() == When::AtEnd) {
            return None;
        }
        let no_copies = Explore::default().copies_max(0);
        let limited = global(&bags, &no_copies, Reductions::default());
        let of_sets = global(&sets, &Explore::default(), Reductions::default());
        let reduced = global(&bags, &no_copies, strongest_reductions(&no_copies, &bags).0.kept());
        let holds = |report: &Report| report.verdict.word().starts_with("holds");
        let same = limited.coverage.states == of_sets.coverage.states
            && holds(&limited) == holds(&of_sets)
            && holds(&reduced) == holds(&of_sets);
        (!same).then(|| format!("{:?}, {:?}", limited.coverage, of_sets.coverage))
    });
    let differing: Vec<(u64, String)> =
        differing.into_iter().filter_map(|(seed, differs)| Some((seed, differs?))).collect();
    fail_if_any(&differing);
}

/// A limit on equal messages is refused where a message that is left out makes a difference, and else hides nothing but
/// what it says.
#[test]
fn a_limit_on_equal_messages_in_random_worlds() {
    let results = for_each_seed(DUPLICATES.seeds(), |seed| {
        let protocol = RandomProtocol::for_worlds(seed);
        let model = protocol.model().in_world(random_world(seed, &protocol.model())).ok()?;
        let found = search(&model, STATES_MAX)?;
        let engines: [Box<dyn Engine>; 3] = [
            Box::new(Explore::default().copies_max(0)),
            Box::new(Explore::default().copies_max(1).order(Order::Depth)),
            Box::new(Local::default().explore(Explore::default().copies_max(0))),
        ];
        let mut refused = false;
        for engine in engines {
            let reductions = strongest_reductions(&*engine, &model).0.kept();
            let search = Search::default().threads(1).reductions(reductions);
            refused |= engine.refuses(&model, &search).is_some();
            let verdict = engine.run(&model, &search, &mut ()).verdict;
            match (&verdict, found.broken.is_empty()) {
                (Verdict::HoldsWithin(_), _) | (Verdict::Holds, true) | (Verdict::Violated(_), false) => {}
                (Verdict::Unknown(Stopped::Unsuited(_)), _) if refused => {}
                _ => panic!("seed {seed}, {engine:?}: {}, but {:?} break", verdict.word(), found.broken),
            }
        }
        Some((found.copies_max > 1, refused))
    });
    let with_copies: Vec<bool> = results
        .iter()
        .filter_map(|(_, result)| result.filter(|(copies, _)| *copies).map(|(_, r)| r))
        .collect();
    let refused = with_copies.iter().filter(|refused| **refused).count();
    println!("{} with equal messages, {refused} of them refused", with_copies.len());
    assert!(refused >= DUPLICATES.least(20) && with_copies.len() - refused >= DUPLICATES.least(20));
}

/// Allows every history: a system with it is searched for global states.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Content;

impl Monitor for Content {
    type Event = Word;

    fn hear(&mut self, _: ProcessId, _: &Word) {}

    fn holds(&self) -> bool {
        true
    }
}

#[test]
fn a_limit_on_duplicates_does_not_hide_that_on_local_events() {
    let words = vec![Word::Tick(1), Word::Tick(1), Word::Tick(1)];
    let model =
        speaking(&words, false, false, 3).monitor("content", Content).build().expect("a valid system");
    let within = |events| {
        let engine = Local::default().own_steps_max(events).explore(Explore::default().copies_max(0));
        local(&model, &engine, Tuning::default()).verdict
    };
    // Of two ticks that wait at once one is lost, and the third is never said.
    let Verdict::HoldsWithin(said) = within(2) else { panic!("two ticks break nothing: {:?}", within(2)) };
    assert!(said.contains("besides the first") && said.contains("at most 2 steps by itself"), "{said}");
    assert_eq!(within(3).word(), "violated");
}

#[test]
fn to_cover_no_steps_is_refused() {
    let model = RandomProtocol::new(1).model();
    let engine = Local::default().own_steps_max(0);
    assert_eq!(engine.refuses(&model, &Search::default()), Some(Refusal::CoversNothing));
    assert_eq!(engine.run(&model, &Search::default(), &mut ()).verdict.word(), "unknown");
}
