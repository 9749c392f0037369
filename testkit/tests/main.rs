//! Engines and reductions against the naive checker, on random protocols and on the zoo.
//!
//! One program for all of them: it is linked once.

mod agreement;
mod alike;
mod bounded;
mod channels;
mod conjunctions;
mod corpus;
mod declarations;
mod dir;
mod ends;
mod fallbacks;
mod files;
mod groups;
mod limits;
mod local;
mod mutants;
mod mutants_worlds;
mod naive;
mod nested;
mod order;
mod published;
mod purity;
mod reduction_mutants;
mod reductions;
mod relied_on;
mod replay;
mod saturation;
mod seen_later;
mod stones;
mod symmetry;
mod theorems;
mod tiers;
mod traces;
mod worlds;
