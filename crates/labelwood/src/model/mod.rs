//! model.
