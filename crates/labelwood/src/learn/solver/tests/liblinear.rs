//! Our weights against LIBLINEAR's; `tests/fixtures/reference_solver.py` made the fixture.

use super::super::{LANES, Loss, Params, Rows, Workspace};
use crate::base::random::Stream;
use crate::base::sparse::Entries;
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    features: usize,
    rows: Vec<Vec<(u32, f32)>>,
    positives: Vec<Vec<u32>>,
    solutions: Vec<Solution>,
}

#[derive(Deserialize)]
struct Solution {
    params: Setting,
    /// By label; by feature, and last the bias.
    weights: Vec<Vec<f64>>,
}

#[derive(Debug, Deserialize)]
struct Setting {
    loss: Loss,
    cost: f32,
    positive_weight: f32,
    bias: f32,
}

#[test]
fn the_weights_are_those_of_liblinear() {
    let reference: Reference =
        serde_json::from_str(include_str!("../../../../tests/fixtures/reference_solver.json"))
            .unwrap();
    let mut offsets = vec![0];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in &reference.rows {
        columns.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| entry.1));
        offsets.push(columns.len() as u64);
    }
    let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
    let all: Vec<u32> = (0..reference.rows.len() as u32).collect();
    let rows = Rows::gather(entries, &all, &mut vec![0; reference.features]);
    let positives: Vec<&[u32]> = reference.positives.iter().map(Vec::as_slice).collect();

    let mut workspace = Workspace::default();
    for solution in &reference.solutions {
        let Setting { loss, cost, positive_weight, bias } = solution.params;
        let params = Params {
            loss,
            cost,
            positive_weight,
            bias,
            tolerance: 1e-5,
            iterations: 20_000,
            l1: 0.0,
        };
        let found = workspace.solve(&rows, &positives, &[1.0; LANES], &params, &mut Stream::new(1));
        for (label, expected) in solution.weights.iter().enumerate() {
            let mut weights = vec![0.0; reference.features + 1];
            for (&feature, column) in rows.features().iter().zip(found.columns) {
                weights[feature as usize] = column.0[label];
            }
            weights[reference.features] = found.bias.0[label];
            for (&weight, &expected) in weights.iter().zip(expected) {
                let error = (f64::from(weight) - expected).abs();
                assert!(
                    error <= 1e-3 * expected.abs().max(1.0),
                    "{:?}, label {label}: {weight} is not {expected}",
                    solution.params
                );
            }
        }
    }
}
