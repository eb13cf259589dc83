//! What everything else is built from; nothing here knows about learning.

pub(crate) mod array;
pub(crate) mod random;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod sparse;
pub(crate) mod store;
pub(crate) mod words;
