//! Sizes in bytes as people write them, by the name that the command uses.

pub use labelwood::run::Bytes;
