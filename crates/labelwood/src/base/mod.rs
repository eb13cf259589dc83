//! What everything else is built from; nothing here knows about learning.

pub mod array;
pub mod random;
pub mod run;
pub mod settings;
pub mod sparse;
pub mod store;
