//! What growing label trees will need, before it starts.

use super::Params;
use crate::craftml::Estimate;
use crate::linear::Precision;
use crate::solver::LANES;
use crate::sparse::{CsrView, LabelRowsView};

impl Params {
    /// Estimates from the shape of the rows; `threads` blocks of labels are learned at a time.
    pub fn estimate(
        &self,
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        threads: usize,
    ) -> Estimate {
        let (rows, entries) = (features.len() as u64, features.entries() as u64);
        let (columns, label_entries) = (features.columns() as u64, labels.entries() as u64);
        let csr = |rows: u64, entries: u64, width: u64| rows * 8 + entries * width;
        let given = csr(rows, entries, 8) + csr(rows, label_entries, 4);
        // Weighted rows, the rows of each label, and the labels' vectors: a label's rows repeat
        // about a third of their features.
        let mean = entries / rows.max(1) + 1;
        let vectors = csr(labels.columns() as u64, label_entries * mean * 2 / 3, 8);
        let prepared = csr(rows, entries, 8) + csr(labels.columns() as u64, label_entries, 4);
        // The root is the largest node: its rows once, and for each thread the dual variables of
        // its rows and the weights of its features, one lane for each label of a block.
        let lanes = LANES as u64 * 4;
        let threads = threads as u64;
        let root = csr(rows, entries, 8) + threads * (rows * (lanes + 6) + columns * lanes);
        let centres = self.branches.div_ceil(LANES) as u64 * columns * lanes;
        // About one weight in eight is kept of those that a label's rows could give it.
        let width = match self.precision {
            Precision::Half => 3,
            Precision::Single => 5,
        };
        let model = self.trees as u64 * (label_entries * mean / 4 * (width + 2));
        Estimate {
            // Arrays that grow hold up to a quarter more than is in them.
            memory: (given + prepared + vectors + root.max(centres)) / 4 * 5,
            model,
        }
    }
}
