//! Sparse logistic regression: by hand, by the conditions of a minimum, and against a plain descent.

use super::super::{SparseParams, SparseWorkspace};
use crate::base::random::Stream;
use crate::base::sparse::OwnedEntries;
use proptest::prelude::*;

/// A problem: dense rows, and which of them are positive.
#[derive(Debug)]
struct Problem {
    rows: Vec<Vec<f32>>,
    is_positive: Vec<bool>,
}

fn exact(cost: f64) -> SparseParams {
    SparseParams { cost, iterations: 20_000, tolerance: 1e-9 }
}

impl Problem {
    /// Random rows of small values, many of which are 0; sides follow from a few columns, mostly.
    fn random(count: usize, columns: usize, seed: u64) -> Self {
        let mut random = Stream::new(seed);
        let mut value = |_| match random.below(3) {
            0 => random.unit() as f32 - 0.3,
            _ => 0.0,
        };
        let rows: Vec<Vec<f32>> =
            (0..count).map(|_| (0..columns).map(&mut value).collect()).collect();
        let mut random = Stream::new(seed ^ 1);
        let is_positive = rows.iter().map(|row| match random.below(8) {
            0 => random.below(2) == 0,
            _ => row[0] + row.get(1).copied().unwrap_or(0.0) > 0.1,
        });
        Problem { is_positive: is_positive.collect(), rows }
    }

    /// The weights by column, and last the bias.
    fn solve(&self, params: &SparseParams) -> Vec<f64> {
        self.solve_with(&mut SparseWorkspace::default(), params)
    }

    fn solve_with(&self, workspace: &mut SparseWorkspace, params: &SparseParams) -> Vec<f64> {
        let mut entries = OwnedEntries::with_capacity(0, 0);
        for row in &self.rows {
            for (column, &value) in (0..).zip(row).filter(|(_, value)| **value != 0.0) {
                entries.columns.push(column);
                entries.values.push(value);
            }
            entries.end_row();
        }
        let columns = self.rows.first().map_or(0, Vec::len);
        workspace.solve(entries.view(), columns, &self.is_positive, params).to_vec()
    }

    /// Each row with its feature of value 1, and 1 or -1 for its side.
    fn signed(&self) -> impl Iterator<Item = (Vec<f64>, f64)> {
        self.rows.iter().zip(&self.is_positive).map(|(row, &is_positive)| {
            let whole = row.iter().map(|&value| f64::from(value)).chain([1.0]).collect();
            (whole, if is_positive { 1.0 } else { -1.0 })
        })
    }

    fn objective(&self, weights: &[f64], cost: f64) -> f64 {
        let loss = |(row, sign): (Vec<f64>, f64)| (-sign * product(&row, weights)).exp().ln_1p();
        weights.iter().map(|weight| weight.abs()).sum::<f64>()
            + cost * self.signed().map(loss).sum::<f64>()
    }

    fn gradients(&self, weights: &[f64], cost: f64) -> Vec<f64> {
        let mut gradients = vec![0.0; weights.len()];
        for (row, sign) in self.signed() {
            let slope = -sign * cost / (1.0 + (sign * product(&row, weights)).exp());
            gradients.iter_mut().zip(row).for_each(|(gradient, value)| *gradient += slope * value);
        }
        gradients
    }

    /// The plainest way down: all gradients at once, a fixed step, and the magnitudes shortened.
    fn descend(&self, cost: f64, steps: usize) -> Vec<f64> {
        let squares: f64 = self.signed().flat_map(|(row, _)| row).map(|value| value * value).sum();
        let step = 4.0 / (cost * squares);
        let mut weights = vec![0.0; self.rows[0].len() + 1];
        for _ in 0..steps {
            let gradients = self.gradients(&weights, cost);
            for (weight, gradient) in weights.iter_mut().zip(gradients) {
                let moved = *weight - step * gradient;
                *weight = moved.signum() * (moved.abs() - step).max(0.0);
            }
        }
        weights
    }
}

fn product(row: &[f64], weights: &[f64]) -> f64 {
    row.iter().zip(weights).map(|(value, weight)| value * weight).sum()
}

#[test]
fn two_opposite_rows_are_told_apart_as_by_hand() {
    let problem = Problem { rows: vec![vec![1.0], vec![-1.0]], is_positive: vec![true, false] };
    // |w| + 2 C ln(1 + e^-w) is least where 1 + e^w = 2 C.
    let found = problem.solve(&exact(2.0));
    assert!((found[0] - 3f64.ln()).abs() < 1e-7 && found[1] == 0.0, "{found:?}");
    // The gradient at 0 is -C: not steep enough.
    assert_eq!(problem.solve(&exact(1.0)), [0.0, 0.0]);
}

#[test]
fn rows_without_features_are_told_by_the_bias_alone() {
    let rows = vec![vec![0.0]; 4];
    let problem = Problem { rows, is_positive: vec![true, true, true, false] };
    let found = problem.solve(&exact(1.0));
    // 1 = 3 / (1 + e^b) - e^b / (1 + e^b), so that e^b = 1: no bias pays.
    assert_eq!(found, [0.0, 0.0]);
    // 1 = 4 (3 - e^b) / (1 + e^b).
    let found = problem.solve(&exact(4.0));
    assert!(found[0] == 0.0 && (found[1] - (11.0f64 / 5.0).ln()).abs() < 1e-6, "{found:?}");
}

#[test]
fn without_rows_or_columns_all_weights_are_zero() {
    let none = Problem { rows: vec![], is_positive: vec![] };
    assert_eq!(none.solve(&exact(1.0)), [0.0]);
    let bare = Problem { rows: vec![vec![], vec![]], is_positive: vec![true, false] };
    assert_eq!(bare.solve(&exact(9.0)), [0.0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_weights_meet_the_conditions_of_a_minimum(
        count in 1usize..40, columns in 1usize..12, seed in any::<u64>(), cost in 0.05f64..8.0,
    ) {
        let problem = Problem::random(count, columns, seed);
        let weights = problem.solve(&exact(cost));
        for (weight, gradient) in weights.iter().zip(problem.gradients(&weights, cost)) {
            if *weight == 0.0 {
                prop_assert!(gradient.abs() <= 1.0 + 1e-6, "{weights:?}: {gradient}");
            } else {
                prop_assert!((gradient + weight.signum()).abs() <= 1e-6, "{weights:?}: {gradient}");
            }
        }
    }

    #[test]
    fn no_plain_descent_comes_lower(
        count in 1usize..20, columns in 1usize..6, seed in any::<u64>(), cost in 0.05f64..4.0,
    ) {
        let problem = Problem::random(count, columns, seed);
        let (found, plain) = (problem.solve(&exact(cost)), problem.descend(cost, 3000));
        let [found, plain] = [found, plain].map(|weights| problem.objective(&weights, cost));
        prop_assert!(found <= plain + 1e-9, "{found} and {plain}");
        prop_assert!(plain - found < 0.05, "{found} and {plain}");
    }

    #[test]
    fn every_iteration_goes_down_and_memory_that_is_used_again_changes_nothing(
        count in 1usize..40, columns in 1usize..12, seed in any::<u64>(), cost in 0.05f64..20.0,
    ) {
        let problem = Problem::random(count, columns, seed);
        let other = Problem::random(columns, count, seed ^ 9);
        let mut workspace = SparseWorkspace::default();
        let mut last = problem.objective(&vec![0.0; columns + 1], cost);
        for iterations in 1..5 {
            let params = SparseParams { iterations, ..exact(cost) };
            other.solve_with(&mut workspace, &params);
            let weights = problem.solve_with(&mut workspace, &params);
            prop_assert_eq!(&weights, &problem.solve(&params));
            let next = problem.objective(&weights, cost);
            prop_assert!(next <= last + 1e-9, "{} after {}", next, last);
            last = next;
        }
    }
}
