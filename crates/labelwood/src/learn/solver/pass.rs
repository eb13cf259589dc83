//! One pass over the rows: each row's dual variables improved in turn.

use super::block::Workspace;
use super::dual::{Dual, by_sign, logit_root};
use super::params::{Loss, Params};
use super::rows::Rows;
use super::vector::{add, each, furthest, greater, greatest, lesser, spread};
use crate::base::array::prefetch;
use crate::learn::cluster::lanes::{LANES, Lanes};

/// What is the same for all rows of one pass.
pub(super) struct Pass<'a> {
    rows: &'a Rows,
    dual: &'a Dual,
    bias: f32,
    /// 1 for labels that are not done.
    pub live: Lanes,
    /// Rows at a bound whose gradients lie beyond these are left out of later passes.
    beyond: Range,
    /// Gradients smaller than this are not worth a change.
    idle: f32,
}

/// The least and the greatest gradient of each label, 0 among them.
///
/// Gradients are projected: one that pushes a dual variable against its bound counts as 0.
pub(super) struct Range {
    least: Lanes,
    most: Lanes,
}

/// What became of a row.
struct Step {
    /// What the weights change by along the row, if at all.
    change: Option<Lanes>,
    /// Whether the row is worth another visit.
    is_active: bool,
}

const NO_BOUNDS: Range =
    Range { least: Lanes([f32::NEG_INFINITY; LANES]), most: Lanes([f32::INFINITY; LANES]) };

impl<'a> Pass<'a> {
    pub fn new(rows: &'a Rows, dual: &'a Dual, params: &Params) -> Self {
        Pass {
            rows,
            dual,
            bias: params.bias,
            live: each(|lane| if dual.most[0].0[lane] > 0.0 { 1.0 } else { 0.0 }),
            beyond: NO_BOUNDS,
            idle: 0.05 * params.tolerance,
        }
    }

    /// Takes labels that are within tolerance out of later passes, and bounds the others.
    pub fn narrow(&mut self, range: &Range, tolerance: f32) {
        for lane in 0..LANES {
            let (least, most) = (range.least.0[lane], range.most.0[lane]);
            if most - least <= tolerance {
                self.live.0[lane] = 0.0;
            }
            self.beyond.least.0[lane] = if least < 0.0 { least } else { f32::NEG_INFINITY };
            self.beyond.most.0[lane] = if most > 0.0 { most } else { f32::INFINITY };
        }
    }

    /// Makes labels live again, without bounds.
    pub fn widen(&mut self, labels: &Lanes) {
        self.live = *labels;
        self.beyond = NO_BOUNDS;
    }

    /// Improves each active row's dual variables in turn; rows that are settled become inactive.
    #[inline(always)]
    pub fn run(&self, block: &mut Workspace) -> Range {
        match self.dual.loss {
            Loss::SquaredHinge | Loss::Hinge => self.visit::<false>(block),
            Loss::Logistic => self.visit::<true>(block),
        }
    }

    /// One loop for each kind of loss: the other kind would take registers from it.
    #[inline(always)]
    fn visit<const IS_LOGISTIC: bool>(&self, block: &mut Workspace) -> Range {
        let Workspace { weights, duals, signs, active, .. } = block;
        let (bias, weights) = weights.split_last_mut().expect("the bias is always there");
        let mut range = Range { least: Lanes::ZERO, most: Lanes::ZERO };
        let mut kept = 0;
        for at in 0..active.len() {
            self.fetch_ahead(&active[at..], weights, duals);
            let row = active[at];
            let entries = self.rows.row(row);
            let mut products = Lanes::ZERO;
            for entry in entries {
                add(&mut products, &weights[entry.column as usize], entry.value);
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

    /// Rows come in random order, so that the processor cannot know what is needed next: it is told
    /// some rows ahead where a row starts, then what its entries are, last which weights they need.
    #[inline(always)]
    fn fetch_ahead(&self, active: &[u32], weights: &[Lanes], duals: &[Lanes]) {
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
        range: &mut Range,
    ) -> Step {
        let sign = spread(signs);
        let most = each(|lane| self.dual.most(&sign, lane));
        let (ridge, own_ridge) = &self.dual.ridge;
        let gradient = each(|lane| {
            let ridge = by_sign(*ridge, own_ridge.0[lane], sign.0[lane]);
            sign.0[lane] * products.0[lane] - 1.0 + duals.0[lane] * ridge
        });
        // Chosen among numbers, never among combined conditions, which vectors are slow at.
        let projected = each(|lane| {
            let (dual, gradient) = (duals.0[lane], gradient.0[lane]);
            let above = if dual <= 0.0 { lesser(gradient, 0.0) } else { gradient };
            let within = if dual >= most.0[lane] { greater(above, 0.0) } else { above };
            within * self.live.0[lane]
        });
        let busy = each(|lane| {
            let (dual, gradient) = (duals.0[lane], gradient.0[lane]);
            let high = if dual <= 0.0 { self.beyond.most.0[lane] } else { f32::INFINITY };
            let low =
                if dual >= most.0[lane] { self.beyond.least.0[lane] } else { f32::NEG_INFINITY };
            let busy = if gradient > high { 0.0 } else { self.live.0[lane] };
            if gradient < low { 0.0 } else { busy }
        });
        let is_active = greatest(&busy) > 0.0;
        range.include(&projected);
        if furthest(&projected) <= self.idle {
            return Step { change: None, is_active };
        }
        let over = |ridge: f32| 1.0 / greater(square + ridge, f32::MIN_POSITIVE);
        let (step, own_step) = (over(*ridge), each(|lane| over(own_ridge.0[lane])));
        let improved = each(|lane| {
            let step = by_sign(step, own_step.0[lane], sign.0[lane]);
            let free = duals.0[lane] - projected.0[lane] * step;
            lesser(greater(free, 0.0), most.0[lane])
        });
        let change = each(|lane| (improved.0[lane] - duals.0[lane]) * sign.0[lane]);
        *duals = improved;
        Step { change: Some(change), is_active }
    }

    /// Here no dual variable is ever at a bound, and all rows stay active.
    #[inline(always)]
    fn step_logistic(
        &self,
        products: &Lanes,
        square: f32,
        signs: u16,
        logits: &mut Lanes,
        range: &mut Range,
    ) -> Step {
        let sign = spread(signs);
        let margin = each(|lane| sign.0[lane] * products.0[lane]);
        let gradient = each(|lane| (margin.0[lane] + logits.0[lane]) * self.live.0[lane]);
        range.include(&gradient);
        if furthest(&gradient) <= self.idle {
            return Step { change: None, is_active: true };
        }
        let old = self.dual.signed(logits, signs);
        let offset = each(|lane| margin.0[lane] - square * old.0[lane] * sign.0[lane]);
        let slope = each(|lane| square * self.dual.most(&sign, lane));
        let root = logit_root(&offset, &slope, logits, self.idle);
        let improved =
            each(|lane| if self.live.0[lane] > 0.0 { root.0[lane] } else { logits.0[lane] });
        let new = self.dual.signed(&improved, signs);
        *logits = improved;
        Step { change: Some(each(|lane| new.0[lane] - old.0[lane])), is_active: true }
    }
}

impl Range {
    #[inline(always)]
    fn include(&mut self, gradient: &Lanes) {
        for lane in 0..LANES {
            self.least.0[lane] = lesser(self.least.0[lane], gradient.0[lane]);
            self.most.0[lane] = greater(self.most.0[lane], gradient.0[lane]);
        }
    }
}
