//! Groups of processes, and what properties see of them: a binary tree whose leaves are processes.

mod split;
mod tree;
mod views;

pub(in crate::kernel) use split::GroupOrder;
pub(in crate::kernel) use tree::{BLOCKED, Group, LearnContext, Tree};
pub(crate) use views::Judgement;
pub(in crate::kernel) use views::PropertyViews;
