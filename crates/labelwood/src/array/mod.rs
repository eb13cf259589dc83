//! array.
