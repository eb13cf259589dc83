//! The manifest's entry for rows that were added to a model.

use serde::{Deserialize, Serialize};

/// Rows that were added to a trained model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The id of the model that they were added to.
    pub from: String,
    /// The digest of the parsed rows.
    pub data: String,
    /// How many they are.
    pub rows: u64,
}
