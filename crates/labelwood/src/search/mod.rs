//! Trying out: algorithms under a budget ([`auto`]), settings ([`tune`]), and algorithms side by side
//! ([`compare`]).

pub mod auto;
pub mod compare;
mod error;
mod folder;
mod measure;
mod table;
mod trial;
pub mod tune;
