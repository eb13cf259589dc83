//! data.

pub mod predictions;
