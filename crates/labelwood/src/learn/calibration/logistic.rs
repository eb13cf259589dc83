//! Logistic regression with few terms, by Newton's method.

/// Weights move less than this in the last step.
const TOLERANCE: f64 = 1e-6;
/// Steps at most; a handful is usual.
const STEPS: usize = 50;

/// Whether an example is true, and as how many it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Truth {
    pub is_true: bool,
    pub weight: f64,
}

impl From<bool> for Truth {
    fn from(is_true: bool) -> Self {
        Truth { is_true, weight: 1.0 }
    }
}

impl Truth {
    /// How far a probability is from the truth, and how sure that is: the slope and the curve of the
    /// loss over the log-odds.
    pub(crate) fn slope(self, log_odds: f64) -> [f64; 2] {
        let expected = probability(log_odds);
        let excess = expected - f64::from(u8::from(self.is_true));
        [self.weight * excess, self.weight * expected * (1.0 - expected)]
    }
}

/// What is learned from: rows of some numbers, as many each, and whether each row is true.
#[derive(Clone, Debug, Default)]
pub(crate) struct Examples {
    terms: Vec<f64>,
    truths: Vec<Truth>,
}

impl Examples {
    pub(crate) fn push(&mut self, terms: &[f64], truth: Truth) {
        self.terms.extend_from_slice(terms);
        self.truths.push(truth);
    }

    /// Each row, and whether it is true.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[f64], Truth)> {
        let width = self.terms.len() / self.truths.len().max(1);
        self.terms.chunks_exact(width.max(1)).zip(self.truths.iter().copied())
    }

    /// Whether each row is true.
    pub(crate) fn truths(&self) -> &[Truth] {
        &self.truths
    }

    /// The weights that make the examples likeliest, held near `prior` as if it had been seen.
    ///
    /// Steps follow one after the other over the examples in their order, in double precision, so
    /// that the same examples always give the same weights.
    pub(crate) fn fit(&self, prior: &[f64], pull: f64) -> Vec<f64> {
        let mut weights = prior.to_vec();
        let mut loss = self.loss(&weights, prior, pull);
        for _ in 0..STEPS {
            let Some(step) = self.step(&weights, prior, pull) else { break };
            let moved = |share: f64| -> Vec<f64> {
                weights.iter().zip(&step).map(|(weight, step)| weight - share * step).collect()
            };
            // Where the loss is far from a parabola a whole step may overshoot.
            let shorter = (0..30).map(|halvings| 0.5f64.powi(halvings));
            let better = shorter.map(moved).find_map(|tried| {
                let reached = self.loss(&tried, prior, pull);
                (reached < loss).then_some((tried, reached))
            });
            let Some((next, reached)) = better else { break };
            let is_done = weights.iter().zip(&next).all(|(old, new)| (old - new).abs() < TOLERANCE);
            (weights, loss) = (next, reached);
            if is_done {
                break;
            }
        }
        weights
    }

    fn loss(&self, weights: &[f64], prior: &[f64], pull: f64) -> f64 {
        let examples = self.rows().map(|(terms, Truth { is_true, weight })| {
            let odds = log_odds(terms, weights);
            weight * softplus(if is_true { -odds } else { odds })
        });
        let away = weights.iter().zip(prior).map(|(weight, prior)| (weight - prior).powi(2));
        examples.sum::<f64>() + 0.5 * pull * away.sum::<f64>()
    }

    /// The way from these weights to where the loss would be least if it were a parabola.
    fn step(&self, weights: &[f64], prior: &[f64], pull: f64) -> Option<Vec<f64>> {
        let width = weights.len();
        let mut slope = vec![0.0; width];
        let mut curve = vec![vec![0.0; width]; width];
        for (terms, truth) in self.rows() {
            let [excess, bend] = truth.slope(log_odds(terms, weights));
            for at in 0..width {
                slope[at] += excess * terms[at];
                let scaled = bend * terms[at];
                let lower = curve[at][..=at].iter_mut().zip(&terms[..=at]);
                lower.for_each(|(sum, other)| *sum += scaled * other);
            }
        }
        for at in 0..width {
            slope[at] += pull * (weights[at] - prior[at]);
            curve[at][at] += pull;
        }
        solve(curve, slope)
    }
}

/// Solves `matrix` x = `right` by Cholesky's method; the matrix is symmetric, and its lower half is
/// read. Nothing if it is not positive.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let width = right.len();
    for at in 0..width {
        for other in 0..=at {
            let known: f64 = (0..other).map(|k| matrix[at][k] * matrix[other][k]).sum();
            let rest = matrix[at][other] - known;
            matrix[at][other] = match at == other {
                true if rest > 0.0 => rest.sqrt(),
                true => return None,
                false => rest / matrix[other][other],
            };
        }
    }
    for at in 0..width {
        let known: f64 = (0..at).map(|k| matrix[at][k] * right[k]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    for at in (0..width).rev() {
        let known: f64 = (at + 1..width).map(|k| matrix[k][at] * right[k]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    Some(right)
}

/// The terms times their weights.
pub(crate) fn log_odds(terms: &[f64], weights: &[f64]) -> f64 {
    terms.iter().zip(weights).map(|(term, weight)| term * weight).sum()
}

/// 1 / (1 + exp(-x)).
pub(crate) fn probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-log_odds))
}

/// ln(1 + exp(x)), without overflow.
fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + libm::log1p(libm::exp(-x)) } else { libm::log1p(libm::exp(x)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_constant_learns_the_share_of_true_examples() {
        let mut examples = Examples::default();
        for at in 0..8 {
            examples.push(&[1.0], (at < 2).into());
        }
        let weight = examples.fit(&[0.0], 1e-9)[0];
        assert!((probability(weight) - 0.25).abs() < 1e-6);
    }

    #[test]
    fn two_groups_learn_their_own_shares() {
        let mut examples = Examples::default();
        for at in 0..10 {
            examples.push(&[1.0, 0.0], (at < 5).into());
            examples.push(&[1.0, 1.0], (at < 9).into());
        }
        let fitted = examples.fit(&[0.0, 0.0], 1e-9);
        let (constant, slope) = (fitted[0], fitted[1]);
        assert!(constant.abs() < 1e-6);
        assert!((slope - libm::log(9.0)).abs() < 1e-5);
    }

    #[test]
    fn an_example_with_a_weight_counts_as_so_many() {
        let (mut weighted, mut repeated) = (Examples::default(), Examples::default());
        for (x, is_true, times) in [(0.5, true, 3), (-1.0, false, 2), (2.0, false, 1)] {
            weighted.push(&[1.0, x], Truth { is_true, weight: f64::from(times) });
            (0..times).for_each(|_| repeated.push(&[1.0, x], is_true.into()));
        }
        let (weighted, repeated) = (weighted.fit(&[0.0, 0.0], 1.0), repeated.fit(&[0.0, 0.0], 1.0));
        assert!(weighted.iter().zip(&repeated).all(|(one, other)| (one - other).abs() < 1e-9));
    }

    #[test]
    fn without_examples_the_prior_stays() {
        assert_eq!(Examples::default().fit(&[0.5, -2.0], 1.0), [0.5, -2.0]);
    }

    #[test]
    fn examples_that_are_told_apart_perfectly_give_finite_weights() {
        let mut examples = Examples::default();
        for at in 0..1000 {
            examples.push(&[1.0, if at < 500 { 1e3 } else { -1e3 }], (at < 500).into());
        }
        assert!(examples.fit(&[0.0, 0.0], 1.0).iter().all(|weight| weight.is_finite()));
    }

    proptest! {
        #[test]
        fn nothing_near_the_weights_is_likelier(
            rows in prop::collection::vec((-3.0f64..3.0, -3.0f64..3.0, any::<bool>()), 1..40),
        ) {
            let mut examples = Examples::default();
            rows.iter().for_each(|&(x, y, is_true)| examples.push(&[1.0, x, y], is_true.into()));
            let (prior, pull) = ([0.1, -0.2, 0.3], 0.7);
            let found = examples.fit(&prior, pull);
            let least = examples.loss(&found, &prior, pull);
            for at in 0..3 {
                for way in [-1e-3, 1e-3] {
                    let mut near = found.clone();
                    near[at] += way;
                    prop_assert!(examples.loss(&near, &prior, pull) > least);
                }
            }
        }

        #[test]
        fn a_solved_system_gives_back_its_right_side(
            half in prop::array::uniform3(prop::array::uniform3(-2.0f64..2.0)),
            right in prop::array::uniform3(-2.0f64..2.0),
        ) {
            let matrix: Vec<Vec<f64>> = (0..3).map(|at| (0..3).map(|other| {
                let product: f64 = (0..3).map(|k| half[at][k] * half[other][k]).sum();
                product + if at == other { 1.0 } else { 0.0 }
            }).collect()).collect();
            let found = solve(matrix.clone(), right.to_vec()).unwrap();
            for at in 0..3 {
                let back: f64 = (0..3).map(|k| matrix[at][k] * found[k]).sum();
                prop_assert!((back - right[at]).abs() < 1e-9);
            }
        }
    }
}
