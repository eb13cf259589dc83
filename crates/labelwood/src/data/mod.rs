//! data.

pub mod generate;
