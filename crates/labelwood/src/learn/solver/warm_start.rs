//! The first dual variables: the best among those that are equal for all positive rows of a label,
//! and equal for all its negative rows.
//!
//! With P the sum of a label's positive rows and N that of its negative rows, the weights are then
//! `p P - n N`, and the dual problem has the two variables p and n. Nearly all rows are negative for
//! nearly all labels, but N is the sum of all rows minus P, so that only the positive rows are read.

use super::dual::{Dual, logit_root};
use super::params::Loss;
use super::vector::per_lane;
use crate::learn::cluster::lanes::{LANES, Lanes};

/// How often one variable and then the other is improved, where no closed form gives both. More
/// rounds would only save passes of the solver, which corrects whatever it starts from.
const ROUNDS: usize = 10;

/// The dual problem in two variables, for each label.
#[derive(Clone)]
pub(super) struct TwoVariableProblem {
    /// The squared lengths of N and P.
    squares: [[f64; LANES]; 2],
    /// The product of N and P.
    crosses: [f64; LANES],
    /// What the magnitudes of the weights add to the numbers of rows where these are factors of the
    /// dual variables alone.
    pulls: [[f64; LANES]; 2],
    /// The numbers of negative and positive rows; 0 in lanes without a label.
    counts: [[f64; LANES]; 2],
}

impl TwoVariableProblem {
    pub(super) fn new(rows: usize, positives: &[&[u32]]) -> Self {
        let mut counts = [[0.0; LANES]; 2];
        for (lane, positives) in positives.iter().enumerate() {
            counts[0][lane] = (rows - positives.len()) as f64;
            counts[1][lane] = positives.len() as f64;
        }
        let zeros = [[0.0; LANES]; 2];
        TwoVariableProblem { squares: zeros, crosses: zeros[0], pulls: zeros, counts }
    }

    /// Adds one column of the sum of positive rows and of the sum of all rows.
    #[inline(always)]
    pub(super) fn add(&mut self, positive: &Lanes, all: f64) {
        for lane in 0..LANES {
            let positive = f64::from(positive.0[lane]);
            let negative = all - positive;
            self.squares[0][lane] += negative * negative;
            self.squares[1][lane] += positive * positive;
            self.crosses[lane] += positive * negative;
        }
    }

    /// Adds one column of the same sums in the lanes where it has a weight if its sum of rows times dual
    /// variables is that of `sums`: there the weight is that sum less `l1` of its magnitude.
    #[inline(always)]
    pub(super) fn add_shrunk(&mut self, positive: &Lanes, all: f64, sums: &Lanes, l1: &Lanes) {
        for lane in 0..LANES {
            let (sum, l1) = (sums.0[lane], l1.0[lane]);
            let is_kept = if sum.abs() > l1 { 1.0 } else { 0.0 };
            let pull = f64::from(l1.copysign(sum)) * is_kept;
            let positive = f64::from(positive.0[lane]);
            let negative = all - positive;
            self.squares[0][lane] += negative * negative * is_kept;
            self.squares[1][lane] += positive * positive * is_kept;
            self.crosses[lane] += positive * negative * is_kept;
            self.pulls[0][lane] -= negative * pull;
            self.pulls[1][lane] += positive * pull;
        }
    }

    /// What to store as the dual variable of all negative rows and of all positive rows.
    #[inline(always)]
    pub(super) fn solve(&self, dual: &Dual) -> [Lanes; 2] {
        if dual.loss == Loss::Logistic {
            return self.logistic(dual);
        }
        let mut solution = [Lanes::ZERO; 2];
        for lane in 0..LANES {
            let pair = self.hinge(dual, lane);
            (solution[0].0[lane], solution[1].0[lane]) = (pair[0] as f32, pair[1] as f32);
        }
        solution
    }

    /// The minimum of the quadratic `(a_n n^2 + a_p p^2) / 2 - x n p - c_n n - c_p p` with the
    /// curvatures a, the product x and the counts c, between 0 and the upper bounds.
    fn hinge(&self, dual: &Dual, lane: usize) -> [f64; 2] {
        let cross = self.crosses[lane];
        let count = [0, 1].map(|side: usize| self.counts[side][lane]);
        let factor = [0, 1].map(|side: usize| count[side] + self.pulls[side][lane]);
        let ridge = [dual.ridge.0, dual.ridge.1.0[lane]];
        let curvature =
            [0, 1].map(|side| self.squares[side][lane] + f64::from(ridge[side]) * count[side]);
        let determinant = curvature[0] * curvature[1] - cross * cross;
        let mut pair = [0.0; 2];
        if determinant > 1e-9 * curvature[0] * curvature[1] {
            pair = [0, 1].map(|side| {
                (factor[side] * curvature[1 - side] + factor[1 - side] * cross) / determinant
            });
        }
        // A minimum within the bounds stays as it is; else this finds one at a bound.
        for _ in 0..ROUNDS {
            for side in [1, 0] {
                let upper = f64::from(dual.upper[side].0[lane]);
                // Without rows on a side, its sum is nothing but rounding errors.
                pair[side] = if count[side] > 0.0 && curvature[side] > 0.0 {
                    ((factor[side] + cross * pair[1 - side]) / curvature[side]).clamp(0.0, upper)
                } else {
                    0.0
                };
            }
        }
        pair
    }

    /// The logits u of the shares s of the upper bounds m, with `c_n u_n + a_n m_n s_n = x m_p s_p`
    /// and the same equation with n and p exchanged.
    #[inline(always)]
    fn logistic(&self, dual: &Dual) -> [Lanes; 2] {
        let prior = |own: usize| {
            per_lane(|lane| {
                let [own, other] = [own, 1 - own].map(|side| self.counts[side][lane] + 1.0);
                libm::log(other / own) as f32
            })
        };
        let mut logits = [prior(0), prior(1)];
        for _ in 0..ROUNDS {
            for side in [1, 0] {
                let per_row = |lane: usize, sum: f64| {
                    if self.counts[side][lane] > 0.0 {
                        (sum / self.counts[side][lane]) as f32
                    } else {
                        0.0
                    }
                };
                let other = dual.signed(&logits[1 - side], [u16::MAX, 0][side]);
                let offset = per_lane(|lane| {
                    let from_other = self.crosses[lane] * f64::from(other.0[lane].abs());
                    -per_row(lane, from_other + self.pulls[side][lane])
                });
                let slope = per_lane(|lane| {
                    per_row(lane, self.squares[side][lane]) * dual.upper[side].0[lane]
                });
                logits[side] = logit_root(&offset, &slope, &logits[side], 1e-3);
            }
        }
        logits
    }
}
