//! Trying out: algorithms under a budget ([`auto`]), and settings ([`tune`]).

pub mod auto;
mod measure;
mod trial;
pub mod tune;
