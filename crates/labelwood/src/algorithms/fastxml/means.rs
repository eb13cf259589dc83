//! The mean row of each label, and how near a row is to it.
//!
//! What is stored are the sums of the labels' rows, by feature, so that rows can be added: divided by the
//! number of its rows, a label's sum is its mean. By feature, since a row is compared with all labels that
//! the trees vote for, and has few features.

use crate::base::array::Array;
use crate::base::sparse::{Csr, Entries, LabelRowsView, OwnedEntries};
use crate::base::store::{ArrayRef, FormatError, Unit};
use rayon::prelude::*;

/// The name of the unit.
pub(super) const UNIT: &str = "means";

/// The sum of each label's rows: a row for each feature, with the labels that have it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Means {
    sums: Csr,
    /// The squared length of each label's sum; computed from the sums, not stored.
    squares: Vec<f64>,
}

impl Means {
    fn new(sums: Csr) -> Self {
        let mut squares = vec![0.0; sums.columns()];
        for row in sums.rows() {
            for (label, value) in row.iter() {
                squares[label as usize] += f64::from(value) * f64::from(value);
            }
        }
        Means { sums, squares }
    }

    /// The sums over the labels of so many features' rows.
    pub(super) fn of_rows(rows: Entries<'_>, features: usize, labels: LabelRowsView<'_>) -> Self {
        let by_feature = transposed(rows, features);
        let sum_of = |sums: &mut (Vec<f64>, Vec<u32>), feature: u32| {
            let (sums, seen) = sums;
            let (members, values) = by_feature.view().row(feature);
            for (&row, &value) in members.iter().zip(values) {
                for &label in labels.row(row as usize).indices {
                    let sum = &mut sums[label as usize];
                    if *sum == 0.0 {
                        seen.push(label);
                    }
                    *sum += f64::from(value);
                }
            }
            seen.sort_unstable();
            let take = |label: u32| (label, std::mem::take(&mut sums[label as usize]) as f32);
            // A sum that came back to zero on the way is listed twice, but taken once.
            let taken = seen.drain(..).map(take).filter(|(_, sum)| *sum != 0.0);
            taken.unzip::<u32, f32, Vec<u32>, Vec<f32>>()
        };
        let begin = || (vec![0.0; labels.columns()], Vec::new());
        let sums: Vec<(Vec<u32>, Vec<f32>)> =
            (0..features as u32).into_par_iter().map_init(begin, sum_of).collect();
        let mut all = Csr::new(labels.columns());
        for (labels, values) in sums {
            all.push_row(&labels, &values).expect("labels are in order, and their values finite");
        }
        Means::new(all)
    }

    /// These sums with those of further rows, of the same features and maybe more labels.
    pub(super) fn with(&self, more: &Means) -> Self {
        let mut all = Csr::new(self.sums.columns().max(more.sums.columns()));
        let (mut labels, mut values) = (Vec::new(), Vec::new());
        for (known, new) in self.sums.rows().zip(more.sums.rows()) {
            let mut both: Vec<(u32, f32)> = known.iter().chain(new.iter()).collect();
            both.sort_by_key(|(label, _)| *label);
            for same in both.chunk_by(|one, other| one.0 == other.0) {
                labels.push(same[0].0);
                let sum: f32 = same.iter().map(|(_, value)| value).sum();
                values.push(sum.clamp(f32::MIN, f32::MAX));
            }
            all.push_row(&labels, &values).expect("labels are in order, and their values finite");
            labels.clear();
            values.clear();
        }
        Means::new(all)
    }

    /// The arrays of the unit.
    pub(super) fn arrays(&self) -> Vec<(&'static str, ArrayRef<'_>)> {
        let sums = self.sums.view();
        vec![
            ("offsets", sums.offsets().into()),
            ("labels", sums.indices().into()),
            ("sums", sums.values().into()),
        ]
    }

    /// Reads them back.
    pub(super) fn read(unit: &Unit, features: usize, labels: usize) -> Result<Self, FormatError> {
        let offsets: Array<u64> = unit.array("offsets")?;
        let (of_features, sums) = (unit.array("labels")?, unit.array("sums")?);
        let rows = offsets.len().wrapping_sub(1);
        let sums = Csr::try_from_arrays(labels, offsets, of_features, sums);
        match sums {
            Ok(sums) if rows == features => Ok(Means::new(sums)),
            Ok(_) => Err(unit.refused("there is not one row for each feature")),
            Err(error) => Err(unit.refused(error.to_string())),
        }
    }

    /// How many sums there are.
    pub(super) fn entries(&self) -> usize {
        self.sums.entries()
    }

    /// Adds a row's product with each label's sum to `products`, which has a number for each label.
    pub(super) fn add_products(&self, (columns, values): (&[u32], &[f32]), products: &mut [f64]) {
        for (&column, &value) in columns.iter().zip(values) {
            for (label, sum) in self.sums.row(column as usize).iter() {
                if let Some(product) = products.get_mut(label as usize) {
                    *product += f64::from(value) * f64::from(sum);
                }
            }
        }
    }

    /// The squared distance of a row to the mean of a label's rows, of which there are `count`, from the
    /// row's squared length and its product with their sum.
    pub(super) fn distance(&self, label: u32, count: u32, square: f64, product: f64) -> f64 {
        let count = f64::from(count.max(1));
        let own = self.squares.get(label as usize).copied().unwrap_or(0.0);
        (square - 2.0 * product / count + own / (count * count)).max(0.0)
    }
}

/// For each of so many columns the rows that have it, in order.
fn transposed(rows: Entries<'_>, columns: usize) -> OwnedEntries {
    let mut next = vec![0u64; columns + 1];
    rows.columns.iter().for_each(|&column| next[column as usize + 1] += 1);
    for column in 0..columns {
        next[column + 1] += next[column];
    }
    let offsets = next.clone();
    let (mut of_rows, mut values) = (vec![0; rows.columns.len()], vec![0.0; rows.columns.len()]);
    for row in 0..rows.offsets.len() as u32 - 1 {
        let (columns, of_row) = rows.row(row);
        for (&column, &value) in columns.iter().zip(of_row) {
            let at = &mut next[column as usize];
            of_rows[*at as usize] = row;
            values[*at as usize] = value;
            *at += 1;
        }
    }
    OwnedEntries { offsets, columns: of_rows, values }
}
