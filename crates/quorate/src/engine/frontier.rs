//! The states that wait to be expanded, in blocks of equal depth. Whether the oldest or the newest block
//! comes next is all that tells breadth-first from depth-first search.

use std::collections::VecDeque;

use super::Order;
use crate::kernel::State;

/// States that are equally far from the start, on the way on which they were found.
pub(super) struct Block {
    pub(super) depth: u32,
    pub(super) states: Vec<State>,
}

pub(super) struct Frontier {
    order: Order,
    blocks: VecDeque<Block>,
    waiting: u64,
}

impl Frontier {
    pub(super) fn new(order: Order, initial: State) -> Self {
        let mut frontier = Frontier { order, blocks: VecDeque::new(), waiting: 0 };
        frontier.push(0, [initial]);
        frontier
    }

    /// How many states are expanded together. Newest first means little if the batch is large.
    fn batch(&self) -> usize {
        match self.order {
            Order::Breadth => 16 * 1024,
            Order::Depth => 256,
        }
    }

    /// Adds states to come after (breadth) or before (depth) all others.
    pub(super) fn push(&mut self, depth: u32, states: impl IntoIterator<Item = State>) {
        let batch = self.batch();
        let joins = |last: &&mut Block| last.depth == depth && last.states.len() < batch;
        let mut block = match self.blocks.back_mut().filter(joins) {
            Some(_) => self.blocks.pop_back().expect("there is a last block"),
            None => Block { depth, states: Vec::new() },
        };
        let before = block.states.len();
        block.states.extend(states);
        self.waiting += (block.states.len() - before) as u64;
        if !block.states.is_empty() {
            self.blocks.push_back(block);
        }
    }

    /// Puts back states that could not be expanded yet: they come next.
    pub(super) fn put_back(&mut self, block: Block) {
        self.waiting += block.states.len() as u64;
        if block.states.is_empty() {
            return;
        }
        match self.order {
            Order::Breadth => self.blocks.push_front(block),
            Order::Depth => self.blocks.push_back(block),
        }
    }

    /// The next states to expand.
    pub(super) fn take(&mut self) -> Option<Block> {
        let batch = self.batch();
        let mut block = match self.order {
            Order::Breadth => self.blocks.pop_front()?,
            Order::Depth => self.blocks.pop_back()?,
        };
        if block.states.len() > batch {
            let rest = block.states.split_off(batch);
            let rest = Block { depth: block.depth, states: rest };
            match self.order {
                Order::Breadth => self.blocks.push_front(rest),
                Order::Depth => self.blocks.push_back(rest),
            }
        }
        self.waiting -= block.states.len() as u64;
        Some(block)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(super) fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| (block.states.capacity() * size_of::<State>()) as u64).sum()
    }
}
