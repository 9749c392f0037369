//! Renaming, derived and of the standard types: every id is renamed, wherever it is, and nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use quorate::Renaming;
use quorate::property::{
    AtomicRegister, Linearizable, Monitor, ObjectEvent, RegisterEvent, RegularRegister, Sequential,
};
use quorate::{ProcessId, Rename};

const PROCESSES: usize = 4;

fn id(position: usize) -> ProcessId {
    ProcessId::new(position)
}

/// 0 becomes 1, 1 becomes 2, 2 becomes 0, 3 stays.
fn rotation() -> Renaming {
    Renaming::new([1, 2, 0, 3].map(id).to_vec())
}

#[expect(clippy::needless_pass_by_value, reason = "two values side by side read best")]
#[track_caller]
fn becomes<T: Rename + PartialEq + Debug>(before: T, after: T) {
    assert_eq!(before.rename(&rotation()), after);
    assert_eq!(before.rename(&Renaming::identity(PROCESSES)), before);
}

#[test]
fn a_renaming_is_total() {
    assert_eq!([0, 1, 2, 3, 63].map(|p| rotation().of(id(p))), [1, 2, 0, 3, 63].map(id));
    assert_eq!(Renaming::swap(3, id(2), id(0)), Renaming::new([2, 1, 0].map(id).to_vec()));
}

#[test]
fn standard_types_rename_what_they_hold() {
    becomes(((), true, 'a', 1u8, -1i64, 0usize), ((), true, 'a', 1u8, -1i64, 0usize));
    becomes(("0", "0".to_string()), ("0", "0".to_string()));
    becomes((Some(id(0)), None::<ProcessId>), (Some(id(1)), None));
    becomes([Ok(id(0)), Err(id(1))], [Ok(id(1)), Err(id(2))]);
    becomes(
        (Box::new(id(0)), Arc::new(id(1)), PhantomData::<str>),
        (Box::new(id(1)), Arc::new(id(2)), PhantomData),
    );
    becomes(vec![id(2), id(3), id(1)], vec![id(0), id(3), id(2)]);
    becomes(VecDeque::from([id(2), id(1)]), VecDeque::from([id(0), id(2)]));
    becomes(BTreeSet::from([id(0), id(2)]), BTreeSet::from([id(0), id(1)]));
    becomes(
        BTreeMap::from([(id(0), id(1)), (id(2), id(2))]),
        BTreeMap::from([(id(1), id(2)), (id(0), id(0))]),
    );
    becomes((id(0), (id(1),), (id(2), 2, id(0))), (id(1), (id(2),), (id(0), 2, id(1))));
}

#[test]
fn the_order_of_ids_does_not_reveal_who_is_blanked() {
    let blank = Renaming::new(vec![id(0); PROCESSES]);
    let votes = |first, second| BTreeMap::from([(id(1), first), (id(2), second)]);
    assert_eq!(votes(true, false).rename(&blank), votes(false, true).rename(&blank));
    // Who is not blanked keeps the entry.
    let but_two = Renaming::new([0, 0, 2, 0].map(id).to_vec());
    assert_eq!(votes(true, false).rename(&but_two), BTreeMap::from([(id(0), true), (id(2), false)]));
    assert_eq!(BTreeSet::from([id(1), id(2)]).rename(&blank), BTreeSet::from([id(0)]));
}

/// Holds no ids, and does not say so.
#[derive(Clone, PartialEq, Debug)]
struct Opaque;

#[derive(Clone, PartialEq, Debug, Rename)]
struct Named {
    leader: Option<ProcessId>,
    position: usize,
    #[rename(skip)]
    skipped: (ProcessId, Opaque),
    r#type: ProcessId,
}

#[derive(PartialEq, Debug, Rename)]
struct Numbered(ProcessId, #[rename(skip)] ProcessId, Vec<Named>);

#[derive(PartialEq, Debug, Rename)]
struct Unit;

#[derive(PartialEq, Debug, Rename)]
enum Shape {
    Unit,
    Tuple(ProcessId, u8),
    Struct { from: ProcessId, ids: ProcessId },
    Skipping(#[rename(skip)] Opaque),
}

#[derive(Clone, Copy, PartialEq, Debug, Rename)]
enum Never {}

#[test]
fn structs_and_enums_derive_it() {
    let named =
        |leader, r#type| Named { leader: Some(leader), position: 0, skipped: (id(0), Opaque), r#type };
    becomes(named(id(0), id(2)), named(id(1), id(0)));
    becomes(
        Numbered(id(0), id(0), vec![named(id(1), id(3))]),
        Numbered(id(1), id(0), vec![named(id(2), id(3))]),
    );
    becomes(Unit, Unit);
    becomes(Shape::Unit, Shape::Unit);
    becomes(Shape::Tuple(id(2), 2), Shape::Tuple(id(0), 2));
    becomes(Shape::Struct { from: id(1), ids: id(0) }, Shape::Struct { from: id(2), ids: id(1) });
    becomes(Shape::Skipping(Opaque), Shape::Skipping(Opaque));
    becomes(None::<Never>, None);
}

trait Family {
    type Member;
    type Other;
}

/// Not renamed itself.
struct Ids;

impl Family for Ids {
    type Member = ProcessId;
    type Other = Opaque;
}

/// A type that contains itself, with a parameter, a constant and a condition of its own.
#[derive(PartialEq, Debug, Rename)]
enum List<T, const N: usize>
where
    T: Debug,
{
    End([T; N]),
    Next(T, Box<List<T, N>>),
}

/// Only the types that its fields mention need be renamed, or copied.
#[derive(Rename)]
struct Associated<F: Family, S> {
    members: Vec<(u8, F::Member)>,
    #[rename(skip)]
    skipped: S,
    #[rename(skip)]
    other: F::Other,
    family: PhantomData<fn() -> Box<dyn Debug>>,
}

#[test]
fn generic_types_derive_it() {
    becomes(
        List::Next(id(0), Box::new(List::End([id(1), id(2)]))),
        List::Next(id(1), Box::new(List::End([id(2), id(0)]))),
    );
    let associated: Associated<Ids, Opaque> =
        Associated { members: vec![(0, id(0))], skipped: Opaque, other: Opaque, family: PhantomData };
    let renamed = associated.rename(&rotation());
    assert_eq!((renamed.members, renamed.skipped, renamed.other), (vec![(0, id(1))], Opaque, Opaque));
}

/// Who was last, and how often somebody came.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Rename)]
struct Visitors(Option<ProcessId>, u32);

impl Sequential for Visitors {
    type Operation = ProcessId;
    type Response = (Option<ProcessId>, u32);

    fn apply(&mut self, visitor: &ProcessId) -> Self::Response {
        self.1 += 1;
        (self.0.replace(*visitor), self.1)
    }
}

/// To hear renamed events of renamed processes leads to the renamed monitor.
#[track_caller]
fn hears_alike<A: Monitor + Rename>(initial: &A, history: &[(usize, A::Event)])
where
    A::Event: Rename,
{
    for ids in [rotation(), Renaming::swap(PROCESSES, id(0), id(3))] {
        let (mut monitor, mut renamed) = (initial.clone(), initial.rename(&ids));
        for (process, event) in history {
            monitor.hear(id(*process), event);
            renamed.hear(ids.of(id(*process)), &event.rename(&ids));
            assert_eq!(monitor.rename(&ids), renamed);
        }
        assert_eq!(monitor.holds(), renamed.holds());
    }
}

#[test]
fn monitors_of_registers_are_renamed() {
    use RegisterEvent::{Abandons, ReadBegins, ReadReturns, WriteBegins, WriteEnds};
    // The values are ids too, so that nothing is overlooked.
    let history = [
        (0, WriteBegins(id(0))),
        (1, ReadBegins),
        (3, WriteBegins(id(3))),
        (2, ReadBegins),
        (0, WriteEnds),
        (2, ReadReturns(id(3))),
        (2, WriteBegins(id(2))),
        (2, Abandons),
        (3, Abandons),
        (1, ReadReturns(id(1))),
        (0, ReadBegins),
        (0, ReadReturns(id(1))),
    ];
    hears_alike(&RegularRegister::new(id(1)), &history);
    hears_alike(&AtomicRegister::new(id(1)), &history[..10]);
}

#[test]
fn linearizable_objects_are_renamed() {
    use ObjectEvent::{Abandon, Call, Return};
    let history = [
        (0, Call(id(0))),
        (1, Call(id(1))),
        (2, Call(id(2))),
        (0, Abandon),
        (2, Abandon),
        (1, Return((Some(id(0)), 2))),
        (3, Call(id(3))),
        (3, Return((Some(id(3)), 9))),
    ];
    hears_alike(&Linearizable::new(Visitors(None, 0)), &history);
}
