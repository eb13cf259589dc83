//! What all settings share: how a wrong one is refused.

use thiserror::Error;

/// A setting that nothing can be made with.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{setting} is {found}, but must be {expected}")]
pub struct ParamError {
    /// The setting's name, the same in the command, in Rust and in Python.
    pub setting: &'static str,
    /// What was given.
    pub found: String,
    /// What is allowed.
    pub expected: &'static str,
}
