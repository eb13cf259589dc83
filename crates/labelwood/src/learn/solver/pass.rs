//! One pass over the rows, which improves each row's dual variables in turn.

use super::block::Workspace;
use super::dual::{Dual, by_sign, logit_root};
use super::params::{Loss, Params};
use super::rows::Rows;
use super::vector::{
    add, greater, greatest, largest_magnitude, lesser, per_lane, shrink, to_signs,
};
use crate::base::array::prefetch;
use crate::learn::cluster::lanes::{LANES, Lanes};

/// What is the same for all rows of one pass.
pub(super) struct Pass<'a> {
    rows: &'a Rows,
    dual: &'a Dual,
    bias: f32,
    /// 1 for labels that are not within tolerance yet, else 0.
    pub live: Lanes,
    /// Rows at a bound whose gradients lie outside this range are left out of later passes.
    settled_beyond: GradientRange,
    /// Smaller gradients change nothing, to save the time.
    min_gradient: f32,
}

/// The least and the greatest gradient of each label; a range always contains 0.
///
/// Gradients are projected: one that pushes a dual variable against its bound counts as 0.
pub(super) struct GradientRange {
    min: Lanes,
    max: Lanes,
}

/// The result of a row's visit.
struct Step {
    /// The change of the row's dual variables, times their signs; none if nothing changes.
    change: Option<Lanes>,
    /// Whether the row is worth another visit.
    is_active: bool,
}

const NO_BOUNDS: GradientRange =
    GradientRange { min: Lanes([f32::NEG_INFINITY; LANES]), max: Lanes([f32::INFINITY; LANES]) };

impl<'a> Pass<'a> {
    pub(super) fn new(rows: &'a Rows, dual: &'a Dual, params: &Params) -> Self {
        Pass {
            rows,
            dual,
            bias: params.bias,
            live: per_lane(|lane| if dual.upper[0].0[lane] > 0.0 { 1.0 } else { 0.0 }),
            settled_beyond: NO_BOUNDS,
            min_gradient: 0.05 * params.tolerance,
        }
    }

    /// Takes labels that are within tolerance out of later passes, and sets the range beyond which
    /// rows of the others count as settled.
    pub(super) fn finish_labels(&mut self, range: &GradientRange, tolerance: f32) {
        for lane in 0..LANES {
            let (min, max) = (range.min.0[lane], range.max.0[lane]);
            if max - min <= tolerance {
                self.live.0[lane] = 0.0;
            }
            self.settled_beyond.min.0[lane] = if min < 0.0 { min } else { f32::NEG_INFINITY };
            self.settled_beyond.max.0[lane] = if max > 0.0 { max } else { f32::INFINITY };
        }
    }

    /// Makes labels live again; no row counts as settled.
    pub(super) fn resume_labels(&mut self, labels: &Lanes) {
        self.live = *labels;
        self.settled_beyond = NO_BOUNDS;
    }

    /// Improves each active row's dual variables in turn; rows that are settled become inactive.
    #[inline(always)]
    pub(super) fn run(&self, block: &mut Workspace) -> GradientRange {
        match (self.dual.loss, self.dual.is_sparse) {
            (Loss::SquaredHinge | Loss::Hinge, false) => self.visit::<false, false>(block),
            (Loss::SquaredHinge | Loss::Hinge, true) => self.visit::<false, true>(block),
            (Loss::Logistic, false) => self.visit::<true, false>(block),
            (Loss::Logistic, true) => self.visit::<true, true>(block),
        }
    }

    /// One loop for each kind of loss: a loop for both would run out of registers.
    #[inline(always)]
    fn visit<const IS_LOGISTIC: bool, const IS_SPARSE: bool>(
        &self,
        block: &mut Workspace,
    ) -> GradientRange {
        let Workspace { weights, duals, signs, active, .. } = block;
        let (bias, weights) = weights.split_last_mut().expect("the bias is always there");
        let mut range = GradientRange { min: Lanes::ZERO, max: Lanes::ZERO };
        let mut kept = 0;
        for at in 0..active.len() {
            self.prefetch_ahead(&active[at..], weights, duals);
            let row = active[at];
            let entries = self.rows.row(row);
            let mut products = Lanes::ZERO;
            for entry in entries {
                let sums = &weights[entry.column as usize];
                let shrunk = if IS_SPARSE { &shrink(sums, &self.dual.l1) } else { sums };
                add(&mut products, shrunk, entry.value);
            }
            add(&mut products, bias, self.bias);
            let row = row as usize;
            let square = self.rows.squares[row] + self.bias * self.bias;
            let (sign, dual) = (signs[row], &mut duals[row]);
            let step = if IS_LOGISTIC {
                self.step_logistic(&products, square, sign, dual, &mut range)
            } else {
                self.step_hinge(&products, square, sign, dual, &mut range)
            };
            active[kept] = row as u32;
            kept += usize::from(step.is_active);
            if let Some(change) = step.change {
                for entry in entries {
                    add(&mut weights[entry.column as usize], &change, entry.value);
                }
                add(bias, &change, self.bias);
            }
        }
        active.truncate(kept);
        range
    }

    /// Requests the memory of the next rows, since the processor cannot foresee a random order: first
    /// where a row starts, some rows later its entries, and last the weights of these.
    #[inline(always)]
    fn prefetch_ahead(&self, active: &[u32], weights: &[Lanes], duals: &[Lanes]) {
        if let Some(&row) = active.get(6) {
            prefetch(&self.rows.offsets, row as usize);
            prefetch(duals, row as usize);
        }
        if let Some(&row) = active.get(3) {
            let start = self.rows.offsets[row as usize] as usize;
            prefetch(&self.rows.entries, start);
            prefetch(&self.rows.entries, start + 8);
        }
        if let Some(&row) = active.get(1) {
            for entry in self.rows.row(row) {
                prefetch(weights, entry.column as usize);
            }
        }
    }

    #[inline(always)]
    fn step_hinge(
        &self,
        products: &Lanes,
        square: f32,
        signs: u16,
        duals: &mut Lanes,
        range: &mut GradientRange,
    ) -> Step {
        let sign = to_signs(signs);
        let upper = per_lane(|lane| self.dual.upper(&sign, lane));
        let (ridge, own_ridge) = &self.dual.ridge;
        let gradient = per_lane(|lane| {
            let ridge = by_sign(*ridge, own_ridge.0[lane], sign.0[lane]);
            sign.0[lane] * products.0[lane] - 1.0 + duals.0[lane] * ridge
        });
        // Chooses between numbers instead of combining conditions, which vectors are slow at.
        let projected = per_lane(|lane| {
            let (dual, gradient) = (duals.0[lane], gradient.0[lane]);
            let above = if dual <= 0.0 { lesser(gradient, 0.0) } else { gradient };
            let within = if dual >= upper.0[lane] { greater(above, 0.0) } else { above };
            within * self.live.0[lane]
        });
        let busy = per_lane(|lane| {
            let (dual, gradient) = (duals.0[lane], gradient.0[lane]);
            let high = if dual <= 0.0 { self.settled_beyond.max.0[lane] } else { f32::INFINITY };
            let low = if dual >= upper.0[lane] {
                self.settled_beyond.min.0[lane]
            } else {
                f32::NEG_INFINITY
            };
            let busy = if gradient > high { 0.0 } else { self.live.0[lane] };
            if gradient < low { 0.0 } else { busy }
        });
        let is_active = greatest(&busy) > 0.0;
        range.include(&projected);
        if largest_magnitude(&projected) <= self.min_gradient {
            return Step { change: None, is_active };
        }
        let over = |ridge: f32| 1.0 / greater(square + ridge, f32::MIN_POSITIVE);
        let (step, own_step) = (over(*ridge), per_lane(|lane| over(own_ridge.0[lane])));
        let improved = per_lane(|lane| {
            let step = by_sign(step, own_step.0[lane], sign.0[lane]);
            let free = duals.0[lane] - projected.0[lane] * step;
            lesser(greater(free, 0.0), upper.0[lane])
        });
        let change = per_lane(|lane| (improved.0[lane] - duals.0[lane]) * sign.0[lane]);
        *duals = improved;
        Step { change: Some(change), is_active }
    }

    /// With the logistic loss no dual variable is ever at a bound, so that all rows stay active.
    #[inline(always)]
    fn step_logistic(
        &self,
        products: &Lanes,
        square: f32,
        signs: u16,
        logits: &mut Lanes,
        range: &mut GradientRange,
    ) -> Step {
        let sign = to_signs(signs);
        let margin = per_lane(|lane| sign.0[lane] * products.0[lane]);
        let gradient = per_lane(|lane| (margin.0[lane] + logits.0[lane]) * self.live.0[lane]);
        range.include(&gradient);
        if largest_magnitude(&gradient) <= self.min_gradient {
            return Step { change: None, is_active: true };
        }
        let old = self.dual.signed(logits, signs);
        let offset = per_lane(|lane| margin.0[lane] - square * old.0[lane] * sign.0[lane]);
        let slope = per_lane(|lane| square * self.dual.upper(&sign, lane));
        let root = logit_root(&offset, &slope, logits, self.min_gradient);
        let improved =
            per_lane(|lane| if self.live.0[lane] > 0.0 { root.0[lane] } else { logits.0[lane] });
        let new = self.dual.signed(&improved, signs);
        *logits = improved;
        Step { change: Some(per_lane(|lane| new.0[lane] - old.0[lane])), is_active: true }
    }
}

impl GradientRange {
    #[inline(always)]
    fn include(&mut self, gradient: &Lanes) {
        for lane in 0..LANES {
            self.min.0[lane] = lesser(self.min.0[lane], gradient.0[lane]);
            self.max.0[lane] = greater(self.max.0[lane], gradient.0[lane]);
        }
    }
}
