//! Components that are no protocols, explored one by one and composed.
//!
//! From: DEMETER, sections 3 and 4. The same explorers and the same judge as for protocols; but there is no model by
//! which a run could be replayed, so what the components do is told as it is.
//! Held by: the tests of quorate-threads.

use super::checker::Embedded;
use super::global::{Global, Panicking};
use super::judge::Judge;
use super::local::NodeId;
use super::meter::Meter;
use super::{Cut, Halt, Interfaces};
use crate::engine::{Search, Watch};
use crate::property::Property;
use crate::verdict::{Coverage, Stopped};

/// What components do together that violates something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Together<S> {
    /// What each does, from the beginning.
    pub ways: Vec<Vec<S>>,
    /// What properties see of the members of each, by number.
    pub observed: Vec<Vec<usize>>,
    /// What goes wrong in one of them by itself, then: which, how, and with what text. Otherwise a property is broken.
    pub wrong: Option<(usize, Option<S>, String)>,
}

/// What came of exploring components one by one.
#[derive(Clone, PartialEq, Debug)]
pub struct Composed<S> {
    /// What violates something, if anything does.
    pub violation: Option<Together<S>>,
    /// Why not everything was explored, if it was not.
    pub stopped: Option<Stopped>,
    /// How much there was.
    pub interfaces: Interfaces,
    /// How much was done.
    pub coverage: Coverage,
}

/// Explores the components of a checker one by one. Messages of one sender to one receiver stay in order, or do not.
pub fn compose<E: Embedded>(
    checker: E,
    in_order: bool,
    properties: &[Property],
    search: &Search,
    watch: &mut dyn Watch,
) -> Composed<E::Step> {
    let mut global = Global::new(checker, in_order, search.tuning.mutant);
    let mut meter = Meter::new(search, watch);
    let mut judge = Judge::new(properties);
    let explored = global
        .explore(&mut meter, &mut |global, skeleton, meter| judge.look_at(global, skeleton, meter))
        .map(|()| judge.local_traces(&global));
    let (violation, stopped) = match &explored {
        Ok(_) => (Ok(None), global.locals.checker.unreliable()),
        Err(Halt::Stopped(stopped)) => (Ok(None), Some(stopped.clone())),
        Err(Halt::Broken(cut)) => (together(&mut global, &mut meter, cut).map(Some), None),
        Err(Halt::Panicking(panicking)) => {
            let cut = before(&global, panicking);
            let (step, text) = global.locals.panics[panicking.panic.number].clone();
            let wrong = Some((panicking.component, step, text));
            let found = together(&mut global, &mut meter, &cut);
            (found.map(|found| Some(Together { wrong, ..found })), None)
        }
    };
    let (violation, stopped) = match violation {
        Ok(violation) => (violation, stopped),
        Err(halted) => (None, Some(halted)),
    };
    let complete = explored.ok().filter(|_| stopped.is_none() && !judge.endless);
    let interfaces = Interfaces {
        local_traces: complete,
        global_skeletons: global.skeletons() as u64,
        global_traces: complete.map(|_| judge.runs),
    };
    Composed { violation, stopped, interfaces, coverage: meter.coverage }
}

/// Where components are when one of them panics.
pub(super) fn before<E: Embedded>(global: &Global<E>, panicking: &Panicking) -> Cut {
    let mut places = vec![0; global.components()];
    places[panicking.component] = panicking.panic.place;
    Cut { skeleton: panicking.skeleton.clone(), places }
}

/// What components do that come to these places, and what is seen of them there.
fn together<E: Embedded>(
    global: &mut Global<E>,
    meter: &mut Meter<'_>,
    cut: &Cut,
) -> Result<Together<E::Step>, Stopped> {
    let ways = ways_to(global, meter, cut)?;
    let at = ways.iter().zip(&cut.places);
    let observed = at.map(|((node, _), place)| global.locals.place(*node, *place).observed.clone()).collect();
    Ok(Together { ways: ways.into_iter().map(|(_, way)| way).collect(), observed, wrong: None })
}

/// A node and the steps that lead to a place there.
type Way<S> = (NodeId, Vec<S>);

/// For each component its node in a cut, and the steps that lead to its place there.
pub(super) fn ways_to<E: Embedded>(
    global: &mut Global<E>,
    meter: &mut Meter<'_>,
    cut: &Cut,
) -> Result<Vec<Way<E::Step>>, Stopped> {
    let mut ways = Vec::new();
    for (component, place) in cut.places.iter().enumerate() {
        let offers = global.on_offer(&cut.skeleton, component).contents;
        let standing = global.standing(&cut.skeleton, component, meter).and_then(|standing| {
            global.locals.table(standing.node, &offers, meter)?;
            Ok(standing.node)
        });
        match standing {
            Ok(node) => ways.push((node, global.locals.way_to(node, *place))),
            Err(Halt::Stopped(stopped)) => return Err(stopped),
            Err(Halt::Panicking(_) | Halt::Broken(_)) => {
                panic!("a bug in quorate: a violation is found on the way to another")
            }
        }
    }
    Ok(ways)
}
