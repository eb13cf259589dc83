//! The settings of names.

use crate::base::settings::settings;
use serde::{Deserialize, Serialize};

settings! {
    /// How the labels whose names are in a text are ranked.
    ///
    /// ```
    /// use labelwood::algorithms::{Algorithm, names::Params};
    /// assert!(Params { smoothing: 0.0, ..Params::default() }.check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// How many texts' worth the share of texts with a label's name that have the label is held to
        /// what is usual for names found in that way.
        smoothing: f32 = 2.0, above(0.0, 1_000_000.0), tried([2.0.into(), 0.5.into(), 8.0.into()]);
        /// Every random choice would follow from this number; there is none.
        seed: u64 = 42, elsewhere();
    }
}
