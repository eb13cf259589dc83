//! The solver compared with problems solved by hand and with a plain reference.

mod l1;
mod liblinear;
mod sparse;

use super::*;
use crate::base::random::Stream;
use crate::base::sparse::Entries;
use proptest::prelude::*;

const LOSSES: [Loss; 3] = [Loss::SquaredHinge, Loss::Hinge, Loss::Logistic];

/// Settings tight enough to compare solutions.
fn exact(loss: Loss) -> Params {
    Params { loss, tolerance: 1e-5, iterations: 20_000, ..Params::default() }
}

/// Dense rows, zeros included, as [`Rows`].
fn rows(dense: &[Vec<f32>]) -> Rows {
    let width = dense.iter().map(Vec::len).max().unwrap_or(0);
    let mut offsets = vec![0];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in dense {
        columns.extend(0..row.len() as u32);
        values.extend(row);
        offsets.push(values.len() as u64);
    }
    let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
    let all: Vec<u32> = (0..dense.len() as u32).collect();
    Rows::gather(entries, &all, &mut vec![0; width])
}

/// The weights of each label by feature; the last is that of the bias.
fn solve(dense: &[Vec<f32>], positives: &[&[u32]], params: &Params) -> Vec<Vec<f32>> {
    solve_weighted(dense, positives, &[1.0; LANES], params)
}

/// [`solve`] with a weight for each label's positive rows.
fn solve_weighted(
    dense: &[Vec<f32>],
    positives: &[&[u32]],
    emphasis: &[f32],
    params: &Params,
) -> Vec<Vec<f32>> {
    params.check().unwrap();
    let rows = rows(dense);
    let mut workspace = Workspace::default();
    let mut random = Stream::new(1);
    let weights = workspace.solve(&rows, positives, emphasis, params, &mut random);
    let width = dense.iter().map(Vec::len).max().unwrap_or(0);
    for lane in positives.len()..LANES {
        assert_eq!(weights.bias.0[lane], 0.0);
        assert!(weights.columns.iter().all(|column| column.0[lane] == 0.0));
    }
    let of_lane = |lane: usize| {
        let mut by_feature = vec![0.0; width + 1];
        for (&feature, column) in rows.features().iter().zip(weights.columns) {
            by_feature[feature as usize] = column.0[lane];
        }
        by_feature[width] = weights.bias.0[lane];
        by_feature
    };
    (0..positives.len()).map(of_lane).collect()
}

fn score(weights: &[f32], row: &[f32], bias: f32) -> f32 {
    let (last, weights) = weights.split_last().unwrap();
    weights.iter().zip(row).map(|(weight, value)| weight * value).sum::<f32>() + last * bias
}

fn assert_near(found: &[f32], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (&found, &expected) in found.iter().zip(expected) {
        let allowed = within * expected.abs().max(1.0);
        assert!((f64::from(found) - expected).abs() <= allowed, "{found} is not {expected}");
    }
}

#[test]
fn two_opposite_rows_are_separated_as_by_hand() {
    let dense = [vec![1.0], vec![-1.0]];
    let weight = |loss| solve(&dense, &[&[0]], &Params { bias: 0.0, ..exact(loss) })[0][0];
    // Squared hinge: w^2/2 + 2 (1 - w)^2 is least where w = 4 (1 - w).
    assert!((weight(Loss::SquaredHinge) - 0.8).abs() < 1e-5);
    // Hinge: w^2/2 + 2 (1 - w) falls until the margins are 1.
    assert!((weight(Loss::Hinge) - 1.0).abs() < 1e-5);
    // Logistic: w^2/2 + 2 ln(1 + e^-w) is least where w = 2 / (1 + e^w).
    let logistic = weight(Loss::Logistic);
    assert!((logistic - 2.0 / (1.0 + logistic.exp())).abs() < 1e-5);
}

#[test]
fn the_cost_bounds_the_weights() {
    let dense = [vec![1.0], vec![-1.0]];
    // Hinge: the weight is the sum of two dual variables of at most 0.1.
    let params = Params { bias: 0.0, cost: 0.1, ..exact(Loss::Hinge) };
    assert_near(&solve(&dense, &[&[0]], &params)[0], &[0.2, 0.0], 1e-5);
    // Squared hinge: w = 0.4 (1 - w).
    let params = Params { bias: 0.0, cost: 0.1, ..exact(Loss::SquaredHinge) };
    assert_near(&solve(&dense, &[&[0]], &params)[0], &[2.0 / 7.0, 0.0], 1e-5);
}

#[test]
fn without_rows_all_weights_are_zero() {
    for loss in LOSSES {
        let weights = solve(&[], &[&[], &[]], &exact(loss));
        assert_eq!(weights, [[0.0], [0.0]]);
    }
}

#[test]
fn a_label_of_no_row_scores_below_zero_and_a_label_of_all_rows_above() {
    let dense = [vec![1.0, 0.0], vec![0.5, 0.5], vec![0.0, 2.0]];
    for loss in LOSSES {
        for bias in [0.0, 1.0] {
            let weights = solve(&dense, &[&[], &[0, 1, 2]], &Params { bias, ..exact(loss) });
            for row in &dense {
                assert!(score(&weights[0], row, bias) < 0.0, "{loss:?}: {weights:?}");
                assert!(score(&weights[1], row, bias) > 0.0, "{loss:?}: {weights:?}");
            }
        }
    }
}

#[test]
fn rounding_in_the_sums_of_rows_does_not_stand_in_for_negative_rows() {
    // The sum of both rows differs between single and double precision.
    let dense = [vec![0.617863], vec![-0.046162527]];
    let params = Params { bias: 0.0, cost: 0.1, ..exact(Loss::SquaredHinge) };
    assert_near(&solve(&dense, &[&[0, 1]], &params)[0], &[0.106187, 0.0], 1e-5);
}

#[test]
fn rows_without_entries_leave_the_weights_finite() {
    let dense = [vec![], vec![1.0, 0.0], vec![], vec![0.0, 1.0]];
    let only_empty = [vec![], vec![]];
    for loss in LOSSES {
        for bias in [0.0, 1.0] {
            let params = Params { bias, ..exact(loss) };
            let weights = solve(&dense, &[&[0, 1], &[2], &[]], &params);
            assert!(weights.iter().flatten().all(|weight| weight.is_finite()), "{weights:?}");
            let weights = solve(&only_empty, &[&[0], &[]], &params);
            assert!(weights.iter().flatten().all(|weight| weight.is_finite()), "{weights:?}");
            assert_eq!(weights[1][0] < 0.0, bias > 0.0);
        }
    }
}

#[test]
fn extreme_values_leave_the_weights_finite() {
    let dense = [vec![1e-30, 1e9], vec![1e9, 1e-30], vec![1e-30, 1e-30], vec![-1e9, 1.0]];
    for loss in LOSSES {
        for cost in [1e-6, 1.0, 1e6] {
            let params = Params { cost, bias: 0.0, iterations: 50, ..exact(loss) };
            let weights = solve(&dense, &[&[0], &[1, 2], &[]], &params);
            assert!(weights.iter().flatten().all(|weight| weight.is_finite()), "{weights:?}");
        }
    }
}

#[test]
fn a_row_given_twice_counts_twice() {
    let once = [vec![1.0, 0.3], vec![-0.2, 1.0], vec![0.4, 0.4]];
    let twice: Vec<_> = once.iter().chain(&once).cloned().collect();
    for loss in LOSSES {
        let doubled = solve(&twice, &[&[0, 3]], &exact(loss));
        let dearer = solve(&once, &[&[0]], &Params { cost: 2.0, ..exact(loss) });
        assert_near(&doubled[0], &dearer[0].iter().map(|&w| w.into()).collect::<Vec<_>>(), 1e-3);
    }
}

#[test]
fn a_positive_weight_of_two_is_every_positive_row_twice() {
    let once = [vec![1.0, 0.3], vec![-0.2, 1.0], vec![0.4, 0.4], vec![0.9, -0.1]];
    let twice: Vec<_> = once.iter().chain([&once[0], &once[2]]).cloned().collect();
    for loss in LOSSES {
        let doubled = solve(&twice, &[&[0, 2, 4, 5]], &exact(loss));
        let params = Params { positive_weight: 2.0, ..exact(loss) };
        let weighted = solve(&once, &[&[0, 2]], &params);
        assert_near(&doubled[0], &weighted[0].iter().map(|&w| w.into()).collect::<Vec<_>>(), 1e-3);
    }
}

#[test]
fn a_weight_of_all_labels_alike_gives_the_bits_of_the_setting() {
    let (dense, positives) = random_problem(200, 30, 6);
    let positives: Vec<&[u32]> = positives.iter().map(Vec::as_slice).collect();
    for loss in LOSSES {
        for positive_weight in [1.0f32, 2.5] {
            let params = Params { loss, ..Params::default() };
            let alike = solve_weighted(&dense, &positives, &[positive_weight; LANES], &params);
            let set = solve(&dense, &positives, &Params { positive_weight, ..params });
            assert_eq!(alike, set, "{loss:?}");
        }
    }
}

#[test]
fn each_label_has_a_weight_of_its_own() {
    let (dense, positives) = random_problem(150, 25, 7);
    let positives: Vec<&[u32]> = positives.iter().map(Vec::as_slice).collect();
    let emphasis: Vec<f32> = (0..LANES).map(|lane| 0.25 + 0.25 * lane as f32).collect();
    for loss in LOSSES {
        let params = Params { cost: 0.5, positive_weight: 1.5, ..exact(loss) };
        let found = solve_weighted(&dense, &positives, &emphasis, &params);
        for (lane, found) in found.iter().enumerate() {
            let own = Params { positive_weight: 1.5 * emphasis[lane], ..params };
            assert_near(found, &reference(&dense, positives[lane], &own), 1e-3);
        }
    }
}

#[test]
#[should_panic(expected = "range end index 2 out of range")]
fn labels_without_a_weight_are_refused() {
    let _ = solve_weighted(&[vec![1.0]], &[&[0], &[]], &[1.0], &exact(Loss::Hinge));
}

#[test]
fn a_feature_of_rows_far_on_the_right_side_has_no_weight() {
    // The last row's margin is beyond 1 whatever its second feature.
    let dense = [vec![1.0, 0.0], vec![-1.0, 0.0], vec![-9.0, 0.5]];
    for loss in [Loss::SquaredHinge, Loss::Hinge] {
        let weights = solve(&dense, &[&[0]], &Params { bias: 0.0, ..exact(loss) });
        assert!(weights[0][0] > 0.5);
        assert_eq!(weights[0][1], 0.0);
    }
}

/// Rows with five of the features each; a label is positive for about a tenth of them, half of these
/// by a feature and half by chance.
fn random_problem(count: u32, width: usize, seed: u64) -> (Vec<Vec<f32>>, Vec<Vec<u32>>) {
    let mut random = Stream::new(seed);
    let mut dense = Vec::new();
    let mut positives = vec![Vec::new(); LANES];
    for row in 0..count {
        let mut values = vec![0.0; width];
        for _ in 0..5 {
            values[random.below(width)] = 0.2 + random.unit() as f32;
        }
        for (label, positives) in positives.iter_mut().enumerate() {
            if random.below(20) == 0 || values[label % width] > 0.8 {
                positives.push(row);
            }
        }
        dense.push(values);
    }
    (dense, positives)
}

#[test]
fn all_vector_widths_and_repeated_calls_give_the_same_bits() {
    let (dense, positives) = random_problem(300, 40, 3);
    let rows = rows(&dense);
    let positives: Vec<&[u32]> = positives.iter().map(Vec::as_slice).collect();
    let mut workspace = Workspace::default();
    for loss in LOSSES {
        for (tolerance, l1) in [(0.1, 0.0), (1e-4, 0.0), (0.1, 0.1)] {
            let params = Params { tolerance, l1, iterations: 60, ..exact(loss) };
            let bits = |workspace: &Workspace| {
                let all = workspace.weights.iter();
                all.flat_map(|lanes| lanes.0.map(f32::to_bits)).collect::<Vec<_>>()
            };
            let emphasis = [1.0; LANES];
            let [first, again] = [(); 2].map(|()| {
                workspace.solve(&rows, &positives, &emphasis, &params, &mut Stream::new(5));
                bits(&workspace)
            });
            let dual = dual::Dual::new(&positives, &emphasis, &params);
            workspace.solve_portable(&rows, &positives, &dual, &params, &mut Stream::new(5));
            let portable = bits(&workspace);
            assert!(first == again && first == portable, "{loss:?}");
        }
    }
}

#[test]
fn a_block_with_settled_rows_left_out_reaches_the_reference() {
    let (dense, positives) = random_problem(200, 30, 4);
    let positives: Vec<&[u32]> = positives.iter().map(Vec::as_slice).collect();
    for loss in LOSSES {
        let params = Params { cost: 0.5, ..exact(loss) };
        let found = solve(&dense, &positives, &params);
        for (found, positives) in found.iter().zip(&positives) {
            assert_near(found, &reference(&dense, positives, &params), 1e-3);
        }
    }
}

/// With a tolerance that single precision cannot reach, rounding errors must not add up in the
/// weights, and rows that were left out must become active again.
#[test]
fn thousands_of_passes_stay_at_the_solution() {
    let dense = [
        vec![0.35040483, 0.48781493, -0.114219174, -0.21508357],
        vec![0.8016122, -0.010323637, 0.5601346, -0.47369245],
        vec![0.010920702, -0.49960187, -0.15531002, -0.093044326],
        vec![-0.122884475, 0.32444543, 0.5019649, -0.69324964],
        vec![0.40817225, 0.0, 0.0, 0.0],
        vec![0.023650493, 0.0, 0.0, 0.0],
        vec![-0.72509325, -0.6381095, -0.27179062, 0.65382],
        vec![0.93881303, 0.6702703, -0.72479063, -0.8513003],
    ];
    let positives = [0, 1, 2, 3, 6, 7];
    let params = Params {
        bias: 0.0,
        cost: 1.3,
        positive_weight: 11.5,
        tolerance: 1e-7,
        ..exact(Loss::SquaredHinge)
    };
    let found = solve(&dense, &[&positives], &params);
    assert_near(&found[0], &reference(&dense, &positives, &params), 1e-4);
}

/// One label's weights by plain dual coordinate descent in double precision, from zero, in order.
fn reference(dense: &[Vec<f32>], positives: &[u32], params: &Params) -> Vec<f64> {
    let width = dense.iter().map(Vec::len).max().unwrap_or(0);
    let bias = f64::from(params.bias);
    let cost = |row: usize| {
        let is_positive = positives.contains(&(row as u32));
        let weight = if is_positive { f64::from(params.positive_weight) } else { 1.0 };
        (f64::from(params.cost) * weight, if is_positive { 1.0 } else { -1.0 })
    };
    let mut duals = vec![0.0; dense.len()];
    let mut weights = vec![0.0; width + 1];
    for _ in 0..100_000 {
        let mut largest = 0.0f64;
        for (row, values) in dense.iter().enumerate() {
            let full =
                || values.iter().map(|&value| f64::from(value)).enumerate().chain([(width, bias)]);
            let square: f64 = full().map(|(_, value)| value * value).sum();
            if square == 0.0 {
                continue;
            }
            let (cost, sign) = cost(row);
            let margin = sign * full().map(|(column, value)| weights[column] * value).sum::<f64>();
            let old = duals[row];
            let new = match params.loss {
                Loss::SquaredHinge => {
                    let ridge = 0.5 / cost;
                    (old - (margin - 1.0 + old * ridge) / (square + ridge)).max(0.0)
                }
                Loss::Hinge => (old - (margin - 1.0) / square).clamp(0.0, cost),
                Loss::Logistic => {
                    let gradient =
                        |dual: f64| square * (dual - old) + margin + (dual / (cost - dual)).ln();
                    let (mut low, mut high) = (0.0, cost);
                    for _ in 0..80 {
                        let middle = 0.5 * (low + high);
                        *(if gradient(middle) > 0.0 { &mut high } else { &mut low }) = middle;
                    }
                    0.5 * (low + high)
                }
            };
            for (column, value) in full() {
                weights[column] += (new - old) * sign * value;
            }
            duals[row] = new;
            largest = largest.max((new - old).abs());
        }
        if largest < 1e-9 {
            break;
        }
    }
    weights
}

/// The slopes of the objective by weight, which are zero at the solution, each with the most that it
/// may be: each row may add its loss's curvature times the gradient that the tolerance leaves.
fn slopes(
    dense: &[Vec<f32>],
    positives: &[u32],
    params: &Params,
    weights: &[f32],
) -> Vec<(f64, f64)> {
    let mut slopes: Vec<_> = weights.iter().map(|&weight| (f64::from(weight), 1e-4)).collect();
    for (row, values) in dense.iter().enumerate() {
        let is_positive = positives.contains(&(row as u32));
        let (sign, weight) = if is_positive { (1.0, params.positive_weight) } else { (-1.0, 1.0) };
        let cost = f64::from(params.cost * weight);
        let margin = sign * f64::from(score(weights, values, params.bias));
        let (slope, curvature) = match params.loss {
            Loss::SquaredHinge => (-2.0 * (1.0 - margin).max(0.0), 2.0),
            Loss::Logistic => (-1.0 / (1.0 + margin.exp()), 0.25),
            Loss::Hinge => unreachable!("it has no slope where margins are 1"),
        };
        // The gradients were measured while the weights still changed a little.
        let left = 3.0 * f64::from(params.tolerance);
        for ((total, most), &value) in slopes.iter_mut().zip(values.iter().chain([&params.bias])) {
            *total += cost * slope * sign * f64::from(value);
            *most += cost * curvature * left * f64::from(value.abs());
        }
    }
    slopes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_selected_from_rows_are_those_gathered_at_once(
        dense in prop::collection::vec(prop::collection::vec(-1i8..=1, 6), 1..8),
        chosen in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let values: Vec<f32> = dense.iter().flatten().map(|&value| f32::from(value)).collect();
        let columns: Vec<u32> = (0..values.len() as u32).map(|at| at % 6).collect();
        let offsets: Vec<u64> = (0..=dense.len() as u64).map(|row| row * 6).collect();
        let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
        let chosen: Vec<u32> = chosen.iter().map(|at| at.index(dense.len()) as u32).collect();
        let gathered = Rows::gather(entries, &chosen, &mut [0; 6]);
        let all = Rows::all(entries, 6);
        let mut scratch = vec![0; all.columns()];
        prop_assert_eq!(all.select(&chosen, &mut scratch), gathered);
        prop_assert!(scratch.iter().all(|&column| column == 0));
    }

    #[test]
    fn small_problems_have_the_reference_solution(
        dense in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 4), 1..12),
        members in prop::collection::vec(prop::collection::vec(any::<bool>(), 12), 1..4),
        bias in prop::sample::select(vec![0.0f32, 0.5, 1.0]),
        cost in 0.1f32..2.0,
        positive_weight in prop::sample::select(vec![1.0f32, 3.0]),
        emphasis in prop::collection::vec(0.2f32..5.0, 4),
    ) {
        let of_label = |members: &Vec<bool>| {
            (0..dense.len() as u32).filter(|&row| members[row as usize]).collect::<Vec<_>>()
        };
        let positives: Vec<Vec<u32>> = members.iter().map(of_label).collect();
        let positives: Vec<&[u32]> = positives.iter().map(Vec::as_slice).collect();
        for loss in LOSSES {
            // Nearly parallel rows may take a hundred thousand passes.
            let exact = Params { iterations: 200_000, ..exact(loss) };
            let params = Params { cost, bias, positive_weight, ..exact };
            let found = solve_weighted(&dense, &positives, &emphasis, &params);
            for ((found, positives), emphasis) in found.iter().zip(&positives).zip(&emphasis) {
                let params = Params { positive_weight: positive_weight * emphasis, ..params };
                assert_near(found, &reference(&dense, positives, &params), 1e-3);
                if loss != Loss::Hinge {
                    for (slope, most) in slopes(&dense, positives, &params, found) {
                        prop_assert!(slope.abs() < most, "{loss:?}: {slope} {most}");
                    }
                }
            }
        }
    }
}
