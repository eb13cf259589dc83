//! Random projections of features or labels to fewer dimensions.
//!
//! A projection is not stored: the dimension and sign of a column, or its weights, are computed from
//! the seed and the column's number.

use super::params::{Params, Projection};
use crate::base::random::{Stream, derive, mix};
use crate::base::sparse::{Entries, MAX_DENSE_COLUMNS, OwnedEntries};
use std::collections::HashMap;

/// A projection of a known number of columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projector {
    pub kind: Projection,
    /// How many columns the projected rows have.
    pub dimensions: usize,
}

impl Projector {
    /// The projection of so many features.
    pub(super) fn of_features(params: &Params, columns: usize) -> Self {
        Projector::new(params.feature_projection, columns, params.feature_dimensions)
    }

    /// The projection of so many labels.
    pub(super) fn of_labels(params: &Params, columns: usize) -> Self {
        Projector::new(params.label_projection, columns, params.label_dimensions)
    }

    /// A projection of `columns` columns to at most `most` dimensions.
    pub(super) fn new(kind: Projection, columns: usize, most: usize) -> Self {
        let kind = kind.resolve(columns);
        let dimensions = if kind == Projection::None { columns } else { columns.min(most) };
        Projector { kind, dimensions }
    }

    /// Whether projecting leaves rows as they are.
    pub(super) fn is_identity(&self) -> bool {
        self.kind == Projection::None
    }

    /// Projects the given rows, in order, and scales each to length 1.
    pub(super) fn project(
        &self,
        entries: Entries<'_>,
        rows: impl ExactSizeIterator<Item = u32>,
        seed: u64,
    ) -> OwnedEntries {
        let mean = entries.columns.len() / entries.offsets.len().max(1) + 1;
        let mut projected = OwnedEntries::with_capacity(rows.len(), rows.len() * mean);
        let mut sums = Sums::new(if self.is_identity() { 0 } else { self.dimensions });
        for row in rows {
            let (columns, values) = entries.row(row);
            match self.kind {
                Projection::Hashing => {
                    self.project_hashed(columns, values, seed, &mut sums, &mut projected)
                }
                Projection::Gaussian => {
                    project_gaussian(columns, values, seed, &mut sums, &mut projected)
                }
                Projection::None | Projection::Auto => {
                    projected.columns.extend_from_slice(columns);
                    projected.values.extend_from_slice(values);
                }
            }
            projected.end_unit_row();
        }
        projected
    }

    /// Adds each value to the dimension that its column hashes to, with a sign from the hash.
    fn project_hashed(
        &self,
        columns: &[u32],
        values: &[f32],
        seed: u64,
        sums: &mut Sums,
        projected: &mut OwnedEntries,
    ) {
        let start = projected.columns.len();
        for (&column, &value) in columns.iter().zip(values) {
            let hash = mix(seed ^ u64::from(column));
            let dimension = (((hash >> 32) * self.dimensions as u64) >> 32) as u32;
            let sum = sums.get_mut(dimension);
            if *sum == 0.0 {
                projected.columns.push(dimension);
            }
            *sum += if hash & 1 == 0 { value } else { -value };
        }
        // A dimension whose sum returned to zero midway is listed twice; taking the sum leaves zero,
        // which drops the second.
        let mut kept = start;
        for at in start..projected.columns.len() {
            let dimension = projected.columns[at];
            let value = std::mem::take(sums.get_mut(dimension));
            if value != 0.0 {
                projected.columns[kept] = dimension;
                projected.values.push(value);
                kept += 1;
            }
        }
        projected.columns.truncate(kept);
    }
}

/// The sum in each dimension; all 0 between rows.
enum Sums {
    Dense(Vec<f32>),
    /// For more dimensions than [`MOST_PLACES`], whose sums would take more memory than the rows.
    Sparse(HashMap<u32, f32>),
}

impl Sums {
    fn new(dimensions: usize) -> Self {
        if dimensions <= MAX_DENSE_COLUMNS {
            Sums::Dense(vec![0.0; dimensions])
        } else {
            Sums::Sparse(HashMap::new())
        }
    }

    #[inline(always)]
    fn get_mut(&mut self, dimension: u32) -> &mut f32 {
        match self {
            Sums::Dense(sums) => &mut sums[dimension as usize],
            Sums::Sparse(sums) => sums.entry(dimension).or_default(),
        }
    }
}

/// Adds each value to all dimensions, times normally distributed weights.
fn project_gaussian(
    columns: &[u32],
    values: &[f32],
    seed: u64,
    sums: &mut Sums,
    projected: &mut OwnedEntries,
) {
    // `Params::check` allows so few dimensions here that the sums are always dense.
    let Sums::Dense(dense) = sums else { return };
    if columns.is_empty() {
        return;
    }
    for (&column, &value) in columns.iter().zip(values) {
        let mut weights = Stream::new(derive(seed, u64::from(column)));
        dense.iter_mut().for_each(|sum| *sum += value * weights.normal());
    }
    projected.columns.extend(0..dense.len() as u32);
    projected.values.extend(dense.iter_mut().map(std::mem::take));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> OwnedEntries {
        let mut rows = OwnedEntries::with_capacity(3, 200);
        for row in 0..3u32 {
            for at in 0..60 {
                rows.columns.push(row * 40 + at);
                rows.values.push(1.0 + (at % 7) as f32);
            }
            rows.end_unit_row();
        }
        rows
    }

    fn dot(entries: Entries<'_>, left: u32, right: u32) -> f32 {
        let dense = |row| {
            let mut dense = vec![0.0f32; 20_000];
            let (columns, values) = entries.row(row);
            columns.iter().zip(values).for_each(|(&at, &value)| dense[at as usize] += value);
            dense
        };
        dense(left).iter().zip(dense(right)).map(|(left, right)| left * right).sum()
    }

    #[test]
    fn projections_nearly_preserve_angles() {
        let rows = rows();
        for (kind, most) in [(Projection::Hashing, 1000), (Projection::Gaussian, 1000)] {
            let projector = Projector::new(kind, 5000, most);
            assert_eq!(projector.dimensions, 1000);
            let projected = projector.project(rows.view(), 0..3, 7);
            for (left, right) in [(0, 0), (0, 1), (0, 2), (1, 2)] {
                let expected = dot(rows.view(), left, right);
                let found = dot(projected.view(), left, right);
                assert!((expected - found).abs() < 0.15, "{kind:?}: {expected} became {found}");
            }
            let other = projector.project(rows.view(), 0..3, 8);
            assert_ne!(other.values, projected.values, "another seed, another projection");
        }
    }

    #[test]
    fn a_huge_number_of_dimensions_takes_no_memory_and_gives_the_same_sums() {
        let rows = rows();
        let huge = Projector::new(Projection::Hashing, u32::MAX as usize, 1 << 30);
        let projected = huge.project(rows.view(), 0..3, 7);
        assert_eq!(projected.columns.len(), 180);
        let few = Projector::new(Projection::Hashing, 5000, 50);
        let (mut dense, mut sparse) = (Sums::new(50), Sums::Sparse(HashMap::new()));
        let (mut one, mut other) =
            (OwnedEntries::with_capacity(3, 200), OwnedEntries::with_capacity(3, 200));
        for row in 0..3 {
            let (columns, values) = rows.view().row(row);
            few.project_hashed(columns, values, 7, &mut dense, &mut one);
            few.project_hashed(columns, values, 7, &mut sparse, &mut other);
        }
        assert_eq!((one.columns, one.values), (other.columns, other.values));
    }

    #[test]
    fn no_projection_only_scales_to_length_one() {
        let rows = rows();
        let projector = Projector::new(Projection::None, 5000, 10);
        assert_eq!(projector.dimensions, 5000);
        let same = projector.project(rows.view(), [2, 0].into_iter(), 7);
        assert_eq!(same.view().row(0).0, rows.view().row(2).0);
        assert!((dot(same.view(), 1, 1) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn values_that_cancel_leave_no_entry() {
        // All columns hash to the one dimension, where values of opposite sign cancel.
        let mut rows = OwnedEntries::with_capacity(1, 64);
        for column in 0..64 {
            rows.columns.push(column);
            rows.values.push(1.0);
        }
        rows.end_row();
        let projected = Projector::new(Projection::Hashing, 64, 1).project(rows.view(), 0..1, 5);
        assert!(projected.columns.len() <= 1);
        assert_eq!(projected.columns.len(), projected.values.len());
    }
}
