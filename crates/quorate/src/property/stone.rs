//! Which states are stepping stones, and what is asked of a model to find one.
//!
//! From: DEMETER, section 5.3, where a checkpoint is kept if it is "interesting". Here a search for the next one is a
//! search for a violation: never is the system in an interesting state that looks different from all that are known.
//! So every engine that finds violations finds stones, with the way to them.
//! Known: states look the same if the predicates and the properties observe the same of them, so of a protocol with
//! finitely many observations there are finitely many stones.
//! Held by: testkit/tests/stones.rs.

use std::any::TypeId;
use std::collections::HashSet;
use std::sync::Arc;

use super::{Property, When};
use crate::base::Value;

/// What is observed of each process by all predicates and properties together.
pub(crate) type Sight = Vec<Value>;

/// What each of them observes of one process; nothing if it does not look at it.
type Views = Vec<Option<Value>>;

/// What makes a state interesting, and what distinguishes two such states.
pub(crate) struct Interest {
    predicates: Vec<Property>,
    properties: Vec<Property>,
}

impl Interest {
    pub(crate) fn new(predicates: &[Property], properties: &[Property]) -> Self {
        Interest { predicates: predicates.to_vec(), properties: properties.to_vec() }
    }

    fn observe(&self, state: &Value) -> Value {
        let all = self.predicates.iter().chain(&self.properties);
        Value::new(all.map(|property| property.observe(state)).collect::<Views>())
    }

    /// What is seen of a state with these local states.
    pub(crate) fn sight(&self, locals: &[Value]) -> Sight {
        locals.iter().map(|local| self.observe(local)).collect()
    }

    /// The predicate that says that such a state is interesting, if one does.
    pub(crate) fn stirred_by(&self, sight: &[&Value]) -> Option<&str> {
        let views: Vec<&Views> = sight.iter().map(|views| views.expect::<Views>()).collect();
        let holds = |(at, predicate): &(usize, &Property)| {
            let observed: Vec<&Value> = views.iter().filter_map(|views| views[*at].as_ref()).collect();
            predicate.holds(&observed)
        };
        self.predicates.iter().enumerate().find(holds).map(|(_, predicate)| predicate.name())
    }

    /// Never is a state interesting, unless it looks like one of these.
    pub(crate) fn nothing_new(self: &Arc<Self>, known: &Arc<HashSet<Sight>>) -> Property {
        let (observing, interest, known) = (Arc::clone(self), Arc::clone(self), Arc::clone(known));
        let observe = move |state: &Value| Some(observing.observe(state));
        Property {
            name: "nothing new is interesting".to_string(),
            when: When::Always,
            observes: vec![(TypeId::of::<Value>(), Arc::new(observe))],
            holds: Arc::new(move |observed| {
                let sight: Sight = observed.iter().map(|views| (*views).clone()).collect();
                interest.stirred_by(observed).is_none() || known.contains(&sight)
            }),
            limit: None,
            parts: self.predicates.iter().chain(&self.properties).cloned().collect(),
            purity: Arc::default(),
        }
    }
}
