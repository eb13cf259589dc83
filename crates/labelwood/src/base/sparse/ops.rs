//! Arithmetic on sparse rows. Every sum runs in index order, so results do not depend on the CPU.

use super::{Csr, Row};

/// The dot product of two sparse rows.
pub fn dot(left: Row<'_>, right: Row<'_>) -> f32 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < left.len() && j < right.len() {
        match left.indices[i].cmp(&right.indices[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += left.values[i] * right.values[j];
                i += 1;
                j += 1;
            }
        }
    }
    sum
}

/// The Euclidean length of a row, summed in `f64` so that no finite row overflows.
pub fn l2_norm(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt()
}

impl Csr {
    /// Scales every row to length 1; rows of zeros stay as they are.
    pub fn normalise_rows(&mut self) {
        for row in 0..self.len() {
            let values = self.row_values_mut(row);
            let norm = l2_norm(values);
            if norm > 0.0 {
                values.iter_mut().for_each(|value| *value = (f64::from(*value) / norm) as f32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn normalising_scales_to_length_one_and_leaves_zeros() {
        let mut rows = Csr::new(3);
        rows.push_row(&[0, 2], &[3.0, 4.0]).unwrap();
        rows.push_row(&[1], &[0.0]).unwrap();
        rows.push_row(&[0, 1], &[f32::MAX, f32::MAX]).unwrap();
        rows.normalise_rows();
        assert_eq!(rows.row(0).values, &[0.6, 0.8]);
        assert_eq!(rows.row(1).values, &[0.0]);
        assert!((l2_norm(rows.row(2).values) - 1.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn dot_equals_the_dense_sum(
            left in proptest::collection::btree_map(0u32..16, -2.0f32..2.0, 0..10),
            right in proptest::collection::btree_map(0u32..16, -2.0f32..2.0, 0..10),
        ) {
            let split = |row: &std::collections::BTreeMap<u32, f32>| -> (Vec<u32>, Vec<f32>) {
                row.iter().map(|(&index, &value)| (index, value)).unzip()
            };
            let ((li, lv), (ri, rv)) = (split(&left), split(&right));
            let expected: f32 = (0..16).map(|at| left.get(&at).unwrap_or(&0.0) * right.get(&at).unwrap_or(&0.0)).sum();
            let found = dot(Row { indices: &li, values: &lv }, Row { indices: &ri, values: &rv });
            prop_assert!((found - expected).abs() < 1e-4);
        }
    }
}
