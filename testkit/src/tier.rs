//! Which seeds the tests go through: one table, two tiers.
//!
//! A family is a comparison of random protocols, or several that the same mutants show to be able to fail. Its quick
//! seeds are three times as many as the last of its mutants needs to be caught, and all of them where a family is cheap
//! or has no mutants; `QUORATE_TIER=full` asks for all. In both tiers come seeds that change with the commit, so that
//! in time more and more are seen; they are printed, and `QUORATE_SEEDS=50000..60000` goes through those and nothing
//! else.
//! Invariant: tiers differ in how many protocols are compared, never in what is asserted of one.
//! Held by: tests/tiers.rs, and every test of a mutant, which calls [`Family::catches`].

use std::ops::Range;

/// Seeds that change with the commit, where nobody says which.
const FRESH: Range<u64> = 1_000_000..1_000_050;

/// Protocols that are compared in the same way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Family {
    /// For people.
    pub name: &'static str,
    /// The seeds of the full tier.
    pub full: Range<u64>,
    /// How many of them, from the first, are in the quick tier.
    pub quick: u64,
    /// Do seeds that change with the commit come on top? Not where another family has them already.
    pub has_fresh: bool,
}

const fn family(name: &'static str, full: Range<u64>, quick: u64) -> Family {
    assert!(quick <= full.end - full.start);
    Family { name, full, quick, has_fresh: true }
}

/// Of a family that is compared as another is: a few, from another beginning.
const fn also(name: &'static str, full: Range<u64>, quick: u64) -> Family {
    Family { has_fresh: false, ..family(name, full, quick) }
}

/// Of a family that is cheap: all, in both tiers.
const fn cheap(name: &'static str, full: Range<u64>) -> Family {
    let all = full.end - full.start;
    family(name, full, all)
}

/// `explore` and the naive checker.
pub const AGREEMENT: Family = family("agreement", 0..2_200, 300);
/// The same in random worlds.
pub const WORLDS: Family = family("worlds", 0..2_200, 2_200);
/// Bounded depth-first search.
pub const BOUNDED: Family = family("bounded", 0..2_200, 1_000);
/// What the random protocols do: shares of all, so there are always the same.
pub const CORPUS: Family = cheap("corpus", 0..2_200);
/// Local states first: verdicts, and whether pairs of local states can be at once.
pub const LOCAL: Family = family("local", 0..2_200, 600);
/// Local states first, from the middle of a run.
pub const SNAPSHOTS: Family = family("snapshots", 0..600, 300);
/// Bags without duplicates and sets.
pub const DUPLICATES: Family = cheap("duplicates", 0..400);
/// Code that answers differently now and then.
pub const PURITY: Family = family("purity", 0..300, 60);
/// Roles of one type.
pub const ALIKE: Family = family("alike", 0..400, 60);
/// What searches give up, at small limits.
pub const FALLBACKS: Family = family("fallbacks", 0..300, 100);
/// The published algorithms.
pub const PUBLISHED: Family = family("published", 0..2_200, 600);
/// Reductions, on plain protocols.
pub const REDUCTIONS: [Family; 4] = [
    family("reductions 1", 0..850, 620),
    also("reductions 2", 10_000..10_850, 100),
    also("reductions 3", 20_000..20_850, 100),
    also("reductions 4", 30_000..30_850, 100),
];
/// Reductions, on protocols with interchangeable processes.
pub const TWINS: [Family; 2] = [family("twins 1", 0..500, 390), also("twins 2", 10_000..10_500, 100)];
/// Reductions in random worlds.
pub const WORLDLY: [Family; 2] =
    [family("worlds of reductions 1", 0..1_000, 400), also("worlds of reductions 2", 10_000..11_000, 120)];
/// Reductions in worlds that keep an order and lose messages.
pub const ORDERED: Family = family("worlds in order", 0..2_000, 300);
/// Reductions in random worlds, with interchangeable processes.
pub const WORLDLY_TWINS: Family = family("twins in worlds", 0..600, 200);
/// Whether twins are what they say they are.
pub const TWINS_ALIKE: Family = cheap("twins alike", 0..300);
/// Declarations of symmetry that are wrong.
pub const WRONG_SYMMETRY: Family = family("wrong symmetry", 0..450, 150);
/// Components, in bags and in queues.
pub const COMPONENTS: Family = family("components", 0..1_250, 760);
/// Components that talk in order.
pub const COMPONENTS_IN_ORDER: Family = family("components in order", 2_000..2_500, 250);
/// A system inside a component, and the group of its processes.
pub const SYSTEMS_AS_GROUPS: Family = family("systems as groups", 0..700, 350);
/// Properties that are conjunctions.
pub const CONJUNCTIONS: Family = family("conjunctions", 0..560, 360);
/// The same with messages in order.
pub const CONJUNCTIONS_IN_ORDER: Family = family("conjunctions in order", 2_000..2_450, 225);
/// Stepping stones.
pub const STONES: Family = family("stones", 0..300, 150);
/// The same with messages in order.
pub const STONES_IN_ORDER: Family = family("stones in order", 400..800, 200);
/// Components that start in the middle of a run.
pub const MIDDLE: Family = family("middle", 0..200, 200);
/// The same with messages in order.
pub const MIDDLE_IN_ORDER: Family = family("middle in order", 500..650, 150);
/// Searches of systems inside components that go on from a log.
pub const RESUMED: Family = family("resumed", 0..120, 120);
/// Restarts inside systems inside components.
pub const RESTARTS: Family = family("restarts", 0..300, 300);
/// Models of delivery.
pub const DELIVERY: Family = family("delivery", 0..1_000, 400);
/// Crashes that need no steps.
pub const CRASHES: Family = family("crashes", 0..150, 150);
/// Crashes between steps that wait for room.
pub const BLOCKED_CRASHES: Family = family("blocked crashes", 0..100, 100);
/// Losses that need no steps.
pub const LOSSES: Family = cheap("losses", 0..300);

/// How much is gone through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// What every change has to pass.
    Quick,
    /// Everything.
    Full,
}

/// The tier that `QUORATE_TIER` asks for; quick if it does not.
pub fn tier() -> Tier {
    match std::env::var("QUORATE_TIER").as_deref() {
        Err(_) | Ok("quick") => Tier::Quick,
        Ok("full") => Tier::Full,
        Ok(other) => panic!("QUORATE_TIER is '{other}': expected quick or full"),
    }
}

/// A range of seeds in the environment.
fn range_named(variable: &str) -> Option<Range<u64>> {
    let text = std::env::var(variable).ok()?;
    let range = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    Some(range.unwrap_or_else(|| panic!("{variable} is '{text}': expected a range such as 50000..60000")))
}

/// Does the environment name the seeds? Then how many protocols are compared is whoever named them to know.
pub fn are_seeds_named() -> bool {
    std::env::var_os("QUORATE_SEEDS").is_some()
}

impl Family {
    /// The seeds that are the same for every commit.
    pub fn fixed(&self, tier: Tier) -> Range<u64> {
        match tier {
            Tier::Quick => self.full.start..self.full.start + self.quick,
            Tier::Full => self.full.clone(),
        }
    }

    /// The seeds to go through, which are printed: fixed ones, and some that change with the commit; or those that the
    /// environment names.
    #[expect(clippy::print_stdout, reason = "whoever repeats a failure has to know the seeds")]
    pub fn seeds(&self) -> Vec<u64> {
        if let Some(named) = range_named("QUORATE_SEEDS") {
            println!("{}: seeds {named:?}", self.name);
            return named.collect();
        }
        let (tier, fixed) = (tier(), self.fixed(tier()));
        let fresh = range_named("QUORATE_FRESH_SEEDS").unwrap_or(FRESH);
        let fresh = if self.has_fresh { fresh } else { 0..0 };
        println!("{}, {tier:?}: seeds {fixed:?} and, of this commit, QUORATE_SEEDS={fresh:?}", self.name);
        fixed.chain(fresh).collect()
    }

    /// How much of something must be there at least, if it is so much in the full tier: in proportion to the fixed
    /// seeds.
    pub fn least(&self, of_full: usize) -> usize {
        if are_seeds_named() {
            return 0;
        }
        let part = |range: Range<u64>| usize::try_from(range.end - range.start).expect("few seeds");
        of_full * part(self.fixed(tier())) / part(self.full.clone())
    }

    /// A mutant was noticed by these seeds first: a third of the quick seeds is enough for that.
    #[track_caller]
    #[expect(clippy::print_stdout, reason = "the table is made of these figures")]
    pub fn catches(&self, mutant: impl std::fmt::Debug, noticed: &[u64]) {
        println!("{}: {mutant:?} is noticed by seeds {noticed:?}", self.name);
        let first = noticed.first().expect("a mutant is noticed");
        let all = self.full.end - self.full.start;
        let wanted = (3 * (first - self.full.start + 1)).min(all);
        assert!(
            self.quick >= wanted,
            "{}: {mutant:?} is noticed by seed {first} first, so {wanted} seeds should be quick, not {}",
            self.name,
            self.quick
        );
    }
}
