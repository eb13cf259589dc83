//! Trying out: algorithms under a budget (`auto`), and settings (`tune`).

pub mod auto;
pub mod tune;
