//! The dual problem of each loss.
//!
//! A dual variable belongs to a row and a label. The weights are the sum of all rows, each times its
//! dual variable and its sign: 1 where the row is positive for the label, -1 where it is negative. Where
//! the magnitudes of the weights count, too, each weight is that sum brought nearer to zero by their
//! factor, and zero if the sum is not larger: then the change of a dual variable changes the weights at most
//! as much as without, so that the same steps are safe.

use super::params::{Loss, Params};
use super::vector::{greater, largest_magnitude, lesser, per_lane, sigmoid, to_signs};
use crate::learn::cluster::lanes::Lanes;

/// The constants of the dual problem. Pairs hold the one of negative rows first, then that of
/// positive rows.
pub(super) struct Dual {
    pub loss: Loss,
    /// What the squared hinge adds to the diagonal: half the inverse of the cost. The cost of
    /// positive rows differs from label to label.
    pub ridge: (f32, Lanes),
    /// The upper bound of dual variables; 0 in lanes without a label.
    pub upper: [Lanes; 2],
    /// The factor of the magnitudes of each label's weights.
    pub l1: Lanes,
    /// Whether magnitudes count.
    pub is_sparse: bool,
}

impl Dual {
    /// One label for each of `positives`; `weights` multiply the cost of their positive rows.
    pub(super) fn new(positives: &[&[u32]], weights: &[f32], params: &Params) -> Self {
        let l1 = per_lane(|lane| {
            params.l1 * positives.get(lane).map_or(0.0, |rows| (rows.len() as f32).sqrt())
        });
        let all = params.cost * params.positive_weight;
        let costs = per_lane(|lane| weights.get(lane).map_or(all, |weight| all * weight));
        let used = |upper: f32, lane: usize| if lane < weights.len() { upper } else { 0.0 };
        let (ridge, upper) = match params.loss {
            Loss::SquaredHinge => {
                let upper = per_lane(|lane| used(f32::MAX, lane));
                ((0.5 / params.cost, per_lane(|lane| 0.5 / costs.0[lane])), [upper; 2])
            }
            Loss::Hinge | Loss::Logistic => {
                let negative = per_lane(|lane| used(params.cost, lane));
                let positive = per_lane(|lane| used(costs.0[lane], lane));
                ((0.0, Lanes::ZERO), [negative, positive])
            }
        };
        Dual { loss: params.loss, ridge, upper, l1, is_sparse: params.l1 > 0.0 }
    }

    /// The dual variables of a row, times their signs.
    ///
    /// The logistic loss keeps them strictly between 0 and the upper bound. So that rounding cannot
    /// reach either end, what is stored is the logit of their share of the bound.
    #[inline(always)]
    pub(super) fn signed(&self, stored: &Lanes, signs: u16) -> Lanes {
        let sign = to_signs(signs);
        if self.loss != Loss::Logistic {
            return per_lane(|lane| sign.0[lane] * stored.0[lane]);
        }
        let share = sigmoid(stored);
        per_lane(|lane| sign.0[lane] * share.0[lane] * self.upper(&sign, lane))
    }

    /// The upper bound of a lane's dual variable.
    #[inline(always)]
    pub(super) fn upper(&self, sign: &Lanes, lane: usize) -> f32 {
        by_sign(self.upper[0].0[lane], self.upper[1].0[lane], sign.0[lane])
    }
}

/// `negative` for a sign of -1, `positive` for 1. Computed rather than chosen, which vectorises.
#[inline(always)]
pub(super) fn by_sign(negative: f32, positive: f32, sign: f32) -> f32 {
    negative + (positive - negative) * (0.5 * sign + 0.5)
}

/// The logit u with `u + offset + slope * sigmoid(u) = 0` in each lane, to the given accuracy of
/// that sum; no slope is negative.
///
/// Newton's method between bounds that close in; a step that would leave them goes to their middle.
#[inline(always)]
pub(super) fn logit_root(offset: &Lanes, slope: &Lanes, start: &Lanes, accuracy: f32) -> Lanes {
    /// From a near start three steps are enough; halving needs more, but never as many as this.
    const STEPS: usize = 30;
    let mut low = per_lane(|lane| -offset.0[lane] - slope.0[lane]);
    let mut high = per_lane(|lane| -offset.0[lane]);
    let mut root = per_lane(|lane| lesser(greater(start.0[lane], low.0[lane]), high.0[lane]));
    for _ in 0..STEPS {
        let share = sigmoid(&root);
        let sum = per_lane(|lane| root.0[lane] + offset.0[lane] + slope.0[lane] * share.0[lane]);
        if largest_magnitude(&sum) <= accuracy {
            break;
        }
        high = per_lane(|lane| if sum.0[lane] > 0.0 { root.0[lane] } else { high.0[lane] });
        low = per_lane(|lane| if sum.0[lane] > 0.0 { low.0[lane] } else { root.0[lane] });
        let next = per_lane(|lane| {
            let steepness = 1.0 + slope.0[lane] * share.0[lane] * (1.0 - share.0[lane]);
            root.0[lane] - sum.0[lane] / steepness
        });
        let half = per_lane(|lane| 0.5 * (low.0[lane] + high.0[lane]));
        let next =
            per_lane(|lane| if next.0[lane] < low.0[lane] { half.0[lane] } else { next.0[lane] });
        root =
            per_lane(|lane| if next.0[lane] > high.0[lane] { half.0[lane] } else { next.0[lane] });
    }
    root
}
