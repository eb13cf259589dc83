//! Which labels a model prefers, as it is written in manifests.

super::choices! {
    /// Which labels come before others of a better score. How they are ranked is in
    /// `learn::favour`.
    #[derive(Default)]
    pub enum Favour {
        /// None.
        #[default]
        None = "none",
        /// Rare ones, as far as propensities say.
        Tail = "tail",
    }
}

impl Favour {
    pub(crate) fn is_none(&self) -> bool {
        *self == Favour::None
    }
}
