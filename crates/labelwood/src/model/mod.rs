//! model.

pub mod store;
