//! Feature weights: how much a feature says, learned from how rare it is.

use crate::base::array::Array;
use crate::base::settings::choices;
use crate::base::sparse::{CsrView, Entries, OwnedEntries, Row, l2_norm, scale_to_unit};
use std::borrow::Cow;

choices! {
    /// How feature values are weighted before anything else.
    pub enum Weighting {
        /// [`Weighting::Idf`] when every value is a whole positive number, else [`Weighting::None`].
        Auto = "auto",
        /// Values as they are.
        None = "none",
        /// ln(1 + value) x ln(instances / instances with the feature).
        Idf = "idf",
    }
}

/// A row whose length is this close to 1 is taken to have length 1: the rest is rounding.
const ROUNDING: f64 = 1e-6;

/// The weight of every feature; without weights, values are taken as they are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FeatureWeights(pub(crate) Option<Array<f32>>);

/// Training rows with their values weighted and scaled to length 1. Large data fill the memory, so
/// that what does not change is borrowed: the columns always are, and all of rows such as those of
/// tf-idf, which nothing is left to do for.
pub(crate) struct WeightedRows<'a> {
    rows: CsrView<'a>,
    values: Cow<'a, [f32]>,
}

impl WeightedRows<'_> {
    pub(crate) fn view(&self) -> Entries<'_> {
        let (offsets, columns) = (self.rows.offsets(), self.rows.indices());
        Entries { offsets, columns, values: &self.values }
    }

    /// One row as it was given.
    pub(crate) fn given(&self, row: u32) -> Row<'_> {
        self.rows.row(row as usize)
    }
}

impl Weighting {
    /// What [`Weighting::Auto`] means for these rows: whole positive numbers are counts, which gain
    /// from weights; anything else has been weighted already, and doing it twice does harm.
    pub fn resolve(self, features: CsrView<'_>) -> Weighting {
        let is_count = |&value: &f32| value > 0.0 && value.fract() == 0.0;
        match self {
            Weighting::Auto if features.entries() > 0 && features.values().iter().all(is_count) => {
                Weighting::Idf
            }
            Weighting::Auto => Weighting::None,
            chosen => chosen,
        }
    }

    /// Bytes that [`FeatureWeights::prepare`] needs for these rows, by a resolved weighting.
    pub(crate) fn prepared_bytes(self, features: CsrView<'_>) -> u64 {
        if self.leaves(features) { 0 } else { features.entries() as u64 * 4 }
    }

    /// Whether weighting and scaling change nothing.
    fn leaves(self, features: CsrView<'_>) -> bool {
        let is_ready = |values: &[f32]| {
            values.iter().all(|&value| value == 0.0) || (l2_norm(values) - 1.0).abs() < ROUNDING
        };
        self == Weighting::None && features.rows().all(|row| is_ready(row.values))
    }
}

impl FeatureWeights {
    /// Learns the weights of a resolved weighting from training rows.
    pub(crate) fn learn(weighting: Weighting, features: CsrView<'_>) -> Self {
        if weighting != Weighting::Idf {
            return FeatureWeights(None);
        }
        let instances = features.len() as f64;
        let idf = |count: u32| match count {
            0 => 0.0,
            count => libm::log(instances / f64::from(count)) as f32,
        };
        let weights: Vec<f32> = features.column_counts().into_iter().map(idf).collect();
        FeatureWeights(Some(weights.into()))
    }

    /// The training rows with their values weighted and scaled to length 1.
    pub(crate) fn prepare<'a>(&self, features: CsrView<'a>) -> WeightedRows<'a> {
        let weighting = if self.0.is_some() { Weighting::Idf } else { Weighting::None };
        if weighting.leaves(features) {
            return WeightedRows { rows: features, values: features.values().into() };
        }
        let mut values = Vec::with_capacity(features.entries());
        for row in features.rows() {
            let start = values.len();
            self.weigh(row.indices, row.values, &mut values);
            scale_to_unit(&mut values[start..]);
        }
        WeightedRows { rows: features, values: values.into() }
    }

    /// New rows with their values weighted and scaled to length 1; columns that training did not
    /// know are left out.
    pub(crate) fn apply(&self, features: CsrView<'_>, known: usize) -> OwnedEntries {
        let mut weighted = OwnedEntries::with_capacity(features.len(), features.entries());
        for row in features.rows() {
            let len = row.indices.partition_point(|&column| (column as usize) < known);
            let (columns, values) = (&row.indices[..len], &row.values[..len]);
            weighted.columns.extend_from_slice(columns);
            self.weigh(columns, values, &mut weighted.values);
            weighted.end_unit_row();
        }
        weighted
    }

    fn weigh(&self, columns: &[u32], values: &[f32], weighted: &mut Vec<f32>) {
        let entries = columns.iter().zip(values);
        match &self.0 {
            None => weighted.extend_from_slice(values),
            Some(weights) => weighted
                .extend(entries.map(|(&column, &value)| damped(value) * weights[column as usize])),
        }
    }
}

/// ln(1 + value), with the sign of the value.
fn damped(value: f32) -> f32 {
    if value == 1.0 { std::f32::consts::LN_2 } else { libm::log1pf(value.abs()).copysign(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::Csr;

    fn rows(values: &[f32]) -> Csr {
        let mut rows = Csr::new(3);
        rows.push_row(&[0, 1], values).unwrap();
        rows.push_row(&[0], &[1.0]).unwrap();
        rows
    }

    #[test]
    fn counts_are_weighted_and_other_values_left_alone() {
        assert_eq!(Weighting::Auto.resolve(rows(&[1.0, 3.0]).view()), Weighting::Idf);
        assert_eq!(Weighting::Auto.resolve(rows(&[1.0, 0.5]).view()), Weighting::None);
        assert_eq!(Weighting::Auto.resolve(rows(&[1.0, -1.0]).view()), Weighting::None);
        assert_eq!(Weighting::Auto.resolve(Csr::new(3).view()), Weighting::None);
        assert_eq!(Weighting::Idf.resolve(rows(&[1.0, 0.5]).view()), Weighting::Idf);
    }

    #[test]
    fn a_feature_that_every_row_has_says_nothing() {
        let rows = rows(&[1.0, 3.0]);
        let weights = FeatureWeights::learn(Weighting::Idf, rows.view());
        assert_eq!(**weights.0.as_ref().unwrap(), [0.0, std::f32::consts::LN_2, 0.0]);
        let weighted = weights.apply(rows.view(), 3);
        assert_eq!(weighted.view().row(0), ([0, 1].as_slice(), [0.0, 1.0].as_slice()));
        assert_eq!(weighted.view().row(1), ([0].as_slice(), [0.0].as_slice()));
    }

    #[test]
    fn training_rows_are_weighted_as_new_ones_are() {
        for rows in [rows(&[1.0, 3.0]), rows(&[2.0, 0.5]), rows(&[0.6, 0.8]), rows(&[0.0, 0.0])] {
            for weighting in [Weighting::None, Weighting::Idf] {
                let weights = FeatureWeights::learn(weighting, rows.view());
                let (prepared, applied) =
                    (weights.prepare(rows.view()), weights.apply(rows.view(), 3));
                assert_eq!(prepared.view().offsets, applied.offsets);
                assert_eq!(prepared.view().columns, applied.columns);
                assert_eq!(prepared.view().values, applied.values);
            }
        }
    }

    #[test]
    fn rows_of_length_1_are_not_copied() {
        let is_borrowed = |rows: &Csr, weighting| {
            let weights = FeatureWeights::learn(weighting, rows.view());
            matches!(weights.prepare(rows.view()).values, Cow::Borrowed(_))
        };
        assert!(is_borrowed(&rows(&[0.6, 0.8]), Weighting::None));
        assert!(is_borrowed(&rows(&[0.0, 0.0]), Weighting::None));
        assert!(!is_borrowed(&rows(&[0.6, 0.7]), Weighting::None));
        assert!(!is_borrowed(&rows(&[0.6, 0.8]), Weighting::Idf));
    }

    #[test]
    fn columns_beyond_the_known_ones_are_left_out() {
        let weights = FeatureWeights::learn(Weighting::None, Csr::new(1).view());
        let weighted = weights.apply(rows(&[3.0, 4.0]).view(), 1);
        assert_eq!(weighted.view().row(0), ([0].as_slice(), [1.0].as_slice()));
    }
}
