//! Weights whose magnitudes count: by hand, by the conditions of a minimum, and against a plain descent.

use super::*;

/// The factor of the magnitudes of a label with so many rows.
fn factor(params: &Params, positives: &[u32]) -> f64 {
    f64::from(params.l1) * (positives.len() as f64).sqrt()
}

/// The plainest way down for a loss with slopes: all slopes at once, a fixed step, and magnitudes shortened.
fn descend(dense: &[Vec<f32>], positives: &[u32], params: &Params) -> Vec<f64> {
    let width = dense[0].len();
    let cost = f64::from(params.cost);
    let row = |row: &[f32]| {
        row.iter().chain([&params.bias]).map(|&value| f64::from(value)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<f64>> = dense.iter().map(|values| row(values)).collect();
    let squares: f64 = rows.iter().flatten().map(|value| value * value).sum();
    let curvature = if params.loss == Loss::SquaredHinge { 2.0 } else { 0.25 };
    let step = 1.0 / (1.0 + cost * curvature * squares);
    let mut weights = vec![0.0f64; width + 1];
    for _ in 0..100_000 {
        let mut slopes = weights.clone();
        for (at, row) in (0..).zip(&rows) {
            let sign = if positives.contains(&at) { 1.0 } else { -1.0 };
            let margin = sign * row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>();
            let slope = match params.loss {
                Loss::SquaredHinge => -2.0 * (1.0 - margin).max(0.0),
                _ => -1.0 / (1.0 + margin.exp()),
            };
            slopes.iter_mut().zip(row).for_each(|(sum, x)| *sum += cost * slope * sign * x);
        }
        let mut largest = 0.0f64;
        for (at, (weight, slope)) in weights.iter_mut().zip(slopes).enumerate() {
            let moved = *weight - step * slope;
            // The bias has no magnitude that counts.
            let less = if at == width { 0.0 } else { step * factor(params, positives) };
            let new = moved.signum() * (moved.abs() - less).max(0.0);
            largest = largest.max((new - *weight).abs());
            *weight = new;
        }
        if largest < 1e-9 {
            break;
        }
    }
    weights
}

/// What the weights minimise.
fn objective(dense: &[Vec<f32>], positives: &[u32], params: &Params, weights: &[f32]) -> f64 {
    let (_, unbiased) = weights.split_last().unwrap();
    let squares: f64 = weights.iter().map(|&weight| f64::from(weight).powi(2)).sum();
    let magnitudes: f64 = unbiased.iter().map(|&weight| f64::from(weight.abs())).sum();
    let loss = |(at, row): (u32, &Vec<f32>)| {
        let score = f64::from(score(weights, row, params.bias));
        let margin = if positives.contains(&at) { score } else { -score };
        match params.loss {
            Loss::SquaredHinge => (1.0 - margin).max(0.0).powi(2),
            Loss::Hinge => (1.0 - margin).max(0.0),
            Loss::Logistic => (-margin).exp().ln_1p(),
        }
    };
    let losses: f64 = (0..).zip(dense).map(loss).sum();
    squares / 2.0 + factor(params, positives) * magnitudes + f64::from(params.cost) * losses
}

#[test]
fn two_opposite_rows_get_the_weight_that_follows_by_hand() {
    let dense = [vec![1.0], vec![-1.0]];
    let weight = |loss, l1| solve(&dense, &[&[0]], &Params { bias: 0.0, l1, ..exact(loss) })[0][0];
    // Squared hinge: w^2/2 + l1 w + 2 (1 - w)^2 is least where w + l1 = 4 (1 - w).
    for (l1, expected) in [(0.5, 0.7), (1.0, 0.6), (4.0, 0.0), (9.0, 0.0)] {
        assert!((weight(Loss::SquaredHinge, l1) - expected).abs() < 1e-5, "{l1}");
    }
    // Hinge: w^2/2 + l1 w + 2 (1 - w) is least at w = 2 - l1, or where the margins are 1.
    for (l1, expected) in [(0.5, 1.0), (1.5, 0.5), (2.5, 0.0)] {
        assert!((weight(Loss::Hinge, l1) - expected).abs() < 1e-5, "{l1}");
    }
    // Logistic: w^2/2 + l1 w + 2 ln(1 + e^-w) is least where w + l1 = 2 / (1 + e^w).
    let logistic = weight(Loss::Logistic, 0.4);
    assert!((logistic + 0.4 - 2.0 / (1.0 + logistic.exp())).abs() < 1e-5);
    assert_eq!(weight(Loss::Logistic, 1.1), 0.0);
}

#[test]
fn four_rows_of_a_label_have_twice_the_factor_of_one() {
    let dense = [vec![1.0], vec![1.0], vec![1.0], vec![1.0], vec![-1.0]];
    let params = Params { bias: 0.0, l1: 1.0, ..exact(Loss::SquaredHinge) };
    // w^2/2 + 2 w + 5 (1 - w)^2 is least where w + 2 = 10 (1 - w).
    assert_near(&solve(&dense, &[&[0, 1, 2, 3]], &params)[0], &[8.0 / 11.0, 0.0], 1e-5);
}

#[test]
fn the_bias_stays_when_no_weight_does() {
    let dense = [vec![1.0], vec![-1.0], vec![0.5]];
    for loss in LOSSES {
        let weights = solve(&dense, &[&[0]], &Params { l1: 50.0, ..exact(loss) });
        assert_eq!(weights[0][0], 0.0);
        assert!(weights[0][1] < 0.0, "{loss:?}: {weights:?}");
    }
}

#[test]
fn the_larger_the_setting_the_fewer_weights_there_are() {
    let (dense, positives) = random_problem(200, 30, 4);
    let positives: Vec<&[u32]> = positives.iter().map(Vec::as_slice).collect();
    for loss in LOSSES {
        let kept = |l1| {
            let weights = solve(&dense, &positives, &Params { l1, ..exact(loss) });
            let unbiased = weights.iter().flat_map(|weights| &weights[..30]);
            unbiased.filter(|&&weight| weight != 0.0).count()
        };
        let counts = [0.0, 0.03, 0.1, 0.3, 1.0, 100.0].map(kept);
        assert!(counts.is_sorted_by(|more, fewer| more > fewer), "{loss:?}: {counts:?}");
        assert_eq!(counts[5], 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn small_problems_reach_the_minimum_of_the_plain_descent(
        dense in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 4), 1..10),
        members in prop::collection::vec(prop::collection::vec(any::<bool>(), 10), 1..4),
        bias in prop::sample::select(vec![0.0f32, 1.0]),
        cost in 0.1f32..2.0,
        l1 in 0.01f32..0.5,
    ) {
        let of_label = |members: &Vec<bool>| {
            (0..dense.len() as u32).filter(|&row| members[row as usize]).collect::<Vec<_>>()
        };
        let positives: Vec<Vec<u32>> = members.iter().map(of_label).collect();
        let positives: Vec<&[u32]> = positives.iter().map(Vec::as_slice).collect();
        for loss in [Loss::SquaredHinge, Loss::Logistic] {
            let params = Params { cost, bias, l1, iterations: 200_000, ..exact(loss) };
            let found = solve(&dense, &positives, &params);
            for (found, positives) in found.iter().zip(&positives) {
                let expected = descend(&dense, positives, &params);
                assert_near(found, &expected, 1e-3);
                let expected: Vec<f32> = expected.iter().map(|&weight| weight as f32).collect();
                let [own, plain] = [found, &expected]
                    .map(|weights| objective(&dense, positives, &params, weights));
                prop_assert!((own - plain).abs() <= 1e-4 * plain.max(1.0), "{own} {plain}");
                let factor = factor(&params, positives);
                for (at, (slope, most)) in
                    slopes(&dense, positives, &params, found).into_iter().enumerate()
                {
                    let weight = f64::from(found[at]);
                    let off = match weight {
                        _ if at == 4 => slope.abs(),
                        0.0 => (slope.abs() - factor).max(0.0),
                        _ => (slope + factor * weight.signum()).abs(),
                    };
                    prop_assert!(off < most, "{loss:?}: {off} {most}");
                }
            }
        }
    }

    /// The hinge has no slopes, but its dual problem has the same value at the solution.
    #[test]
    fn the_hinge_s_minimum_is_the_maximum_of_its_dual_problem(
        dense in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 4), 1..10),
        members in prop::collection::vec(any::<bool>(), 10),
        cost in 0.1f32..2.0,
        l1 in 0.01f32..0.5,
    ) {
        let positives: Vec<u32> =
            (0..dense.len() as u32).filter(|&row| members[row as usize]).collect();
        let params = Params { cost, l1, iterations: 200_000, ..exact(Loss::Hinge) };
        let weights = &solve(&dense, &[&positives], &params)[0];
        let mut workspace = Workspace::default();
        workspace.solve(&rows(&dense), &[&positives], &[1.0], &params, &mut Stream::new(1));
        let duals: f64 = workspace.duals.iter().map(|duals| f64::from(duals.0[0])).sum();
        let squares: f64 = weights.iter().map(|&weight| f64::from(weight).powi(2)).sum();
        let primal = objective(&dense, &positives, &params, weights);
        prop_assert!((primal - (duals - squares / 2.0)).abs() < 1e-3 * primal.max(1.0));
    }
}
