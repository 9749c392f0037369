//! Permutations of interchangeable processes, applied to states part by part.
//!
//! From: docs/theory/symmetry.md 3. A permutation is a sequence of exchanges of neighbours; what these make of messages
//! and local states is known (`images`). What a permutation makes of them is remembered for each permutation, and a
//! configuration is renamed by looking up its parts. Its image is made at once, without those on the way.
//! Held by: testkit/tests/reductions.rs.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::beliefs::ProcessStates;
use super::images::Images;
use crate::base::{FoldHasher, fold};
use crate::kernel::process::{AskContext, ConfigurationId, InboxMask, LocalId, MessageId, bits};

const UNKNOWN: u32 = u32::MAX;

/// How many images of states of a process are kept at hand: most permutations meet a state once.
const CACHE: usize = 1 << 10;

/// So many permutations are remembered at most: beyond that, all are forgotten and worked out again.
const REMEMBERED: usize = 4096;

/// What a vector is made of, and where to ask for it.
pub(in crate::kernel) struct Renaming<'r, 'm> {
    pub(in crate::kernel) images: &'r mut Images,
    pub(in crate::kernel) states_of: &'r mut [ProcessStates],
    pub(in crate::kernel) ask: &'r mut AskContext<'m>,
}

/// Those that were needed so far.
pub(super) struct Permutations {
    processes: usize,
    /// How many members each group has.
    sizes: Vec<usize>,
    numbers: HashMap<Box<[u8]>, usize, BuildHasherDefault<FoldHasher>>,
    known: Vec<Permutation>,
    /// The identity with one exchange, for each exchange, and its number if it has one.
    exchanges: Vec<(Box<[u8]>, Option<usize>)>,
    /// For each process and state, whether exchanges leave it as it is: two bits for each of the first few.
    fixed: Vec<Vec<u32>>,
    /// For each process (permutation, state, image).
    cache: Vec<Vec<(u32, u32, u32)>>,
    /// Room for what bringing a vector into order needs.
    pub(super) sums: Vec<u64>,
    pub(super) order: Vec<u8>,
    pub(super) ties: Vec<usize>,
    moved: Vec<u32>,
    renamed: Vec<ConfigurationId>,
}

struct Permutation {
    /// Neighbours that change places, one pair after the other.
    exchanges: Vec<usize>,
    /// For each process, the one whose place it takes; nothing before it is first applied.
    places: Vec<usize>,
    messages: Vec<MessageId>,
    locals: Vec<Vec<LocalId>>,
    /// For each process and bit of its inboxes, the bit of the process whose place it takes.
    bits: Vec<Vec<u32>>,
}

impl Permutations {
    pub(super) fn new(processes: usize, sizes: impl Iterator<Item = usize>) -> Self {
        let sizes: Vec<usize> = sizes.collect();
        let members: usize = sizes.iter().sum();
        let identity: Vec<u8> = (0..members).map(|at| u8::try_from(at).expect("few")).collect();
        let mut exchanges = Vec::new();
        let mut start = 0;
        for size in &sizes {
            for at in start..start + size - 1 {
                let mut order = identity.clone();
                order.swap(at, at + 1);
                exchanges.push((order.into(), None));
            }
            start += size;
        }
        Permutations {
            processes,
            sizes,
            numbers: HashMap::default(),
            known: Vec::new(),
            exchanges,
            fixed: vec![Vec::new(); processes],
            cache: vec![Vec::new(); processes],
            sums: Vec::new(),
            order: Vec::new(),
            ties: Vec::new(),
            moved: Vec::new(),
            renamed: Vec::new(),
        }
    }

    /// The permutation after which at each member's place there is the one that `order` says.
    pub(super) fn number(&mut self, order: &[u8]) -> usize {
        if let Some(known) = self.numbers.get(order) {
            return *known;
        }
        if self.known.len() >= REMEMBERED {
            (self.numbers, self.known) = (HashMap::default(), Vec::new());
            self.cache.iter_mut().for_each(Vec::clear);
            self.exchanges.iter_mut().for_each(|(_, number)| *number = None);
        }
        let permutation = Permutation {
            exchanges: self.sorting(order),
            places: Vec::new(),
            messages: Vec::new(),
            locals: vec![Vec::new(); self.processes],
            bits: vec![Vec::new(); self.processes],
        };
        self.known.push(permutation);
        self.numbers.insert(order.into(), self.known.len() - 1);
        self.known.len() - 1
    }

    /// The exchanges of neighbours that bring the members into an order.
    fn sorting(&self, order: &[u8]) -> Vec<usize> {
        // Where each member has to go.
        let mut to = vec![0; order.len()];
        for (place, member) in order.iter().enumerate() {
            to[usize::from(*member)] = place;
        }
        let (mut exchanges, mut start) = (Vec::new(), 0);
        for (group, size) in self.sizes.iter().enumerate() {
            for end in (start + 1..start + size).rev() {
                for at in start..end {
                    if to[at] > to[at + 1] {
                        to.swap(at, at + 1);
                        exchanges.push(at - group);
                    }
                }
            }
            start += size;
        }
        exchanges
    }

    /// Two neighbours in a group change places.
    pub(super) fn exchange(&mut self, exchange: usize, vector: &mut [u32], renaming: &mut Renaming<'_, '_>) {
        let permutation = self.number_of_exchange(exchange);
        self.apply(permutation, vector, renaming);
    }

    fn number_of_exchange(&mut self, exchange: usize) -> usize {
        if let (_, Some(known)) = self.exchanges[exchange] {
            return known;
        }
        let order = self.exchanges[exchange].0.clone();
        let number = self.number(&order);
        self.exchanges[exchange].1 = Some(number);
        number
    }

    /// Is a vector as before when two neighbours have changed places?
    pub(super) fn is_fixed(
        &mut self,
        exchange: usize,
        vector: &[u32],
        renaming: &mut Renaming<'_, '_>,
    ) -> bool {
        let permutation = self.number_of_exchange(exchange);
        vector.iter().enumerate().all(|(process, state)| {
            let to = renaming.images.place(exchange, process);
            if to == process {
                self.fixes(exchange, process, *state, renaming)
            } else {
                self.image(permutation, process, to, *state, renaming) == vector[to]
            }
        })
    }

    /// Does an exchange leave a state as it is of a process that it does not move?
    fn fixes(
        &mut self,
        exchange: usize,
        process: usize,
        state: u32,
        renaming: &mut Renaming<'_, '_>,
    ) -> bool {
        let (known, fixed) = (1u32.checked_shl(2 * number(exchange)), 2u32.checked_shl(2 * number(exchange)));
        let at = state as usize;
        if self.fixed[process].len() <= at {
            self.fixed[process].resize(at + 1, 0);
        }
        let bits = self.fixed[process][at];
        if let (Some(known), Some(fixed)) = (known, fixed)
            && bits & known != 0
        {
            return bits & fixed != 0;
        }
        let permutation = self.number_of_exchange(exchange);
        let same = self.image(permutation, process, process, state, renaming) == state;
        self.fixed[process][at] |= known.unwrap_or(0) | if same { fixed.unwrap_or(0) } else { 0 };
        same
    }

    /// What becomes of a vector.
    pub(super) fn apply(&mut self, permutation: usize, vector: &mut [u32], renaming: &mut Renaming<'_, '_>) {
        let Permutation { exchanges, places, .. } = &mut self.known[permutation];
        if places.is_empty() {
            let place = |process: usize| {
                exchanges.iter().fold(process, |place, exchange| renaming.images.place(*exchange, place))
            };
            places.extend((0..vector.len()).map(place));
        }
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        moved.resize(vector.len(), 0);
        for (process, state) in vector.iter().enumerate() {
            let to = self.known[permutation].places[process];
            moved[to] = self.image(permutation, process, to, *state, renaming);
        }
        vector.copy_from_slice(&moved);
        self.moved = moved;
    }

    /// A state of a process as one of the process whose place it takes.
    fn image(
        &mut self,
        permutation: usize,
        process: usize,
        to: usize,
        state: u32,
        renaming: &mut Renaming<'_, '_>,
    ) -> u32 {
        let number = number(permutation);
        if self.cache[process].is_empty() {
            self.cache[process].resize(CACHE, (UNKNOWN, UNKNOWN, UNKNOWN));
        }
        let key = u64::from(number) << 32 | u64::from(state);
        #[expect(clippy::cast_possible_truncation, reason = "the rest by a number that is small")]
        let slot = (fold(key ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93) % CACHE as u64) as usize;
        let (known, of, image) = self.cache[process][slot];
        if (known, of) == (number, state) {
            return image;
        }
        let mut renamed = std::mem::take(&mut self.renamed);
        renamed.clear();
        for at in 0..renaming.states_of[process].member_count(state) {
            let member = renaming.states_of[process].member(state, at);
            renamed.push(self.configuration(permutation, process, to, member, renaming));
        }
        let image = renaming.states_of[to].state_of(&mut renamed);
        self.renamed = renamed;
        self.cache[process][slot] = (number, state, image);
        image
    }

    fn configuration(
        &mut self,
        permutation: usize,
        process: usize,
        to: usize,
        configuration: ConfigurationId,
        renaming: &mut Renaming<'_, '_>,
    ) -> ConfigurationId {
        if renaming.states_of[to].graph.has_bits()
            && let Some((local, past, mask)) = renaming.states_of[process].graph.mask(configuration)
            && let Some(mask) = self.mask(permutation, process, to, mask, renaming)
        {
            let local = self.local(permutation, process, local, renaming);
            return renaming.states_of[to].graph.configuration_of_mask(local, past, mask, renaming.ask);
        }
        let (local, past, mut inbox) = renaming.states_of[process].graph.parts(configuration);
        let local = self.local(permutation, process, local, renaming);
        for entries in [&mut inbox.waiting, &mut inbox.travelling, &mut inbox.received] {
            for entry in entries.iter_mut() {
                let message = self.message(permutation, entry.message, renaming);
                *entry = renaming.ask.mail.entry(message);
            }
        }
        renaming.states_of[to].graph.configuration(local, past, inbox, renaming.ask)
    }

    /// An inbox that is bits; `None` if it is not, or not after the permutation.
    fn mask(
        &mut self,
        permutation: usize,
        process: usize,
        to: usize,
        mask: InboxMask,
        renaming: &mut Renaming<'_, '_>,
    ) -> Option<InboxMask> {
        let mut image = 0;
        for bit in bits(mask) {
            let known = self.known[permutation].bits[process].get(bit as usize).copied();
            let moved = if let Some(moved) = known.filter(|bit| *bit != UNKNOWN) {
                moved
            } else {
                let (message, copy) = renaming.states_of[process].graph.message_of_bit(bit)?;
                let message = self.message(permutation, message, renaming);
                let entry = renaming.ask.mail.entry(message);
                let moved = renaming.states_of[to].graph.bit_of_message(entry, copy)?;
                remember(&mut self.known[permutation].bits[process], bit, moved);
                moved
            };
            image |= 1 << moved;
        }
        Some(image)
    }

    fn message(
        &mut self,
        permutation: usize,
        message: MessageId,
        renaming: &mut Renaming<'_, '_>,
    ) -> MessageId {
        let Permutation { exchanges, messages, .. } = &mut self.known[permutation];
        if let Some(known) = messages.get(message as usize).filter(|known| **known != UNKNOWN) {
            return *known;
        }
        let Renaming { images, ask, .. } = renaming;
        let image =
            exchanges.iter().fold(message, |message, exchange| images.message(*exchange, message, ask));
        remember(messages, message, image);
        image
    }

    fn local(
        &mut self,
        permutation: usize,
        process: usize,
        local: LocalId,
        renaming: &mut Renaming<'_, '_>,
    ) -> LocalId {
        let Permutation { exchanges, locals, .. } = &mut self.known[permutation];
        if let Some(known) = locals[process].get(local as usize).filter(|known| **known != UNKNOWN) {
            return *known;
        }
        let Renaming { images, states_of, ask } = renaming;
        let (_, image) = exchanges.iter().fold((process, local), |(process, local), exchange| {
            let image = images.local(*exchange, process, local, states_of, ask);
            (images.place(*exchange, process), image)
        });
        remember(&mut locals[process], local, image);
        image
    }

    pub(super) fn bytes(&self) -> u64 {
        let of = |known: &Permutation| {
            let numbers = known.locals.iter().chain(&known.bits).map(Vec::capacity).sum::<usize>();
            (known.messages.capacity() + numbers) * size_of::<u32>()
        };
        let cache: usize = self.cache.iter().map(|cache| cache.capacity() * 12).sum();
        let fixed: usize = self.fixed.iter().map(|fixed| fixed.capacity() * 4).sum();
        (self.known.iter().map(of).sum::<usize>() + cache + fixed) as u64
    }
}

fn number(small: usize) -> u32 {
    u32::try_from(small).expect("there are few")
}

fn remember(images: &mut Vec<u32>, number: u32, image: u32) {
    let at = number as usize;
    if images.len() <= at {
        images.resize(at + 1, UNKNOWN);
    }
    images[at] = image;
}
