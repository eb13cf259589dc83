//! What each loss is to the dual problem.
//!
//! A dual variable belongs to a row and a label. The weights are the sum of all rows, each times its
//! dual variable and its sign: 1 where the row is positive for the label, -1 where it is negative.

use super::params::{Loss, Params};
use super::vector::{each, furthest, greater, lesser, sigmoid, spread};
use crate::learn::cluster::lanes::Lanes;

/// The dual problem's constants, of negative and of positive rows.
pub(super) struct Dual {
    pub loss: Loss,
    /// What the squared hinge adds to the diagonal: half the inverse of the cost. Only positive rows
    /// have a cost of each label's own.
    pub ridge: (f32, Lanes),
    /// The largest dual variable; 0 in lanes without a label.
    pub most: [Lanes; 2],
}

impl Dual {
    /// For as many labels as there are weights, each the weight of the label's positive rows beside
    /// that of all labels.
    pub fn new(weights: &[f32], params: &Params) -> Self {
        let all = params.cost * params.positive_weight;
        let costs = each(|lane| weights.get(lane).map_or(all, |weight| all * weight));
        let used = |most: f32, lane: usize| if lane < weights.len() { most } else { 0.0 };
        let (ridge, most) = match params.loss {
            Loss::SquaredHinge => {
                let most = each(|lane| used(f32::MAX, lane));
                ((0.5 / params.cost, each(|lane| 0.5 / costs.0[lane])), [most; 2])
            }
            Loss::Hinge | Loss::Logistic => {
                let negative = each(|lane| used(params.cost, lane));
                let positive = each(|lane| used(costs.0[lane], lane));
                ((0.0, Lanes::ZERO), [negative, positive])
            }
        };
        Dual { loss: params.loss, ridge, most }
    }

    /// The dual variables of a row with their signs.
    ///
    /// The logistic loss keeps them strictly between 0 and the largest. There, the logits of their
    /// shares of it are stored in their place: neither end can be reached by rounding.
    #[inline(always)]
    pub fn signed(&self, stored: &Lanes, signs: u16) -> Lanes {
        let sign = spread(signs);
        if self.loss != Loss::Logistic {
            return each(|lane| sign.0[lane] * stored.0[lane]);
        }
        let share = sigmoid(stored);
        each(|lane| sign.0[lane] * share.0[lane] * self.most(&sign, lane))
    }

    /// The largest dual variable of a lane.
    #[inline(always)]
    pub fn most(&self, sign: &Lanes, lane: usize) -> f32 {
        by_sign(self.most[0].0[lane], self.most[1].0[lane], sign.0[lane])
    }
}

/// What goes with a sign of -1 or 1; by arithmetic, which vector instructions have for all lanes.
#[inline(always)]
pub(super) fn by_sign(negative: f32, positive: f32, sign: f32) -> f32 {
    negative + (positive - negative) * (0.5 * sign + 0.5)
}

/// The logit u with `u + offset + slope * sigmoid(u) = 0` in each lane, to the given accuracy of
/// that sum; no slope is negative.
///
/// Newton's method between bounds that close in: where it would leave them, they are halved.
#[inline(always)]
pub(super) fn logit_root(offset: &Lanes, slope: &Lanes, start: &Lanes, accuracy: f32) -> Lanes {
    /// From a near start three steps do; halving needs more, but never as many.
    const STEPS: usize = 30;
    let mut low = each(|lane| -offset.0[lane] - slope.0[lane]);
    let mut high = each(|lane| -offset.0[lane]);
    let mut root = each(|lane| lesser(greater(start.0[lane], low.0[lane]), high.0[lane]));
    for _ in 0..STEPS {
        let share = sigmoid(&root);
        let sum = each(|lane| root.0[lane] + offset.0[lane] + slope.0[lane] * share.0[lane]);
        if furthest(&sum) <= accuracy {
            break;
        }
        high = each(|lane| if sum.0[lane] > 0.0 { root.0[lane] } else { high.0[lane] });
        low = each(|lane| if sum.0[lane] > 0.0 { low.0[lane] } else { root.0[lane] });
        let next = each(|lane| {
            let steepness = 1.0 + slope.0[lane] * share.0[lane] * (1.0 - share.0[lane]);
            root.0[lane] - sum.0[lane] / steepness
        });
        let half = each(|lane| 0.5 * (low.0[lane] + high.0[lane]));
        let next =
            each(|lane| if next.0[lane] < low.0[lane] { half.0[lane] } else { next.0[lane] });
        root = each(|lane| if next.0[lane] > high.0[lane] { half.0[lane] } else { next.0[lane] });
    }
    root
}
