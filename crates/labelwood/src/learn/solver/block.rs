//! Solves a block of labels together.

use super::dual::Dual;
use super::params::{Loss, Params};
use super::pass::Pass;
use super::rows::Rows;
use super::vector::{add, per_lane, shrink};
use super::warm_start::TwoVariableProblem;
use crate::base::random::Stream;
use crate::base::run::Canceller;
use crate::learn::cluster::lanes::{LANES, Lanes};
use multiversion::multiversion;

/// After so many passes the weights are recomputed from the dual variables, and all rows become
/// active again: every change of the weights is rounded, and thousands of passes would add that up.
const RECOMPUTE_EVERY: usize = 64;

/// How often the first dual variables are found again, for the weights that magnitudes leave. More rounds
/// would only save passes.
const SHRUNK_STARTS: usize = 2;

/// The weights of a block of labels: one value per label for each column of the [`Rows`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights<'a> {
    /// The weights of each column.
    pub columns: &'a [Lanes],
    /// The weight of the feature that every row has.
    pub bias: Lanes,
}

/// Scratch memory for solving block after block.
#[derive(Default)]
pub(crate) struct Workspace {
    /// The weights by column, and last those of the bias.
    pub(super) weights: Vec<Lanes>,
    /// The dual variables of each row, or with the logistic loss the logits that stand for them
    /// (see [`Dual::signed`]).
    pub(super) duals: Vec<Lanes>,
    /// One bit for each label that the row is positive for.
    pub(super) signs: Vec<u16>,
    /// The rows that are not settled.
    pub(super) active: Vec<u32>,
    canceller: Canceller,
}

impl Workspace {
    /// A workspace of a task. Once that is cancelled, solving ends soon, and its weights are wrong.
    pub(crate) fn new(canceller: Canceller) -> Self {
        Workspace { canceller, ..Workspace::default() }
    }

    /// The weights of each label; lanes without a label are zero.
    ///
    /// `params` have passed [`Params::check`], `emphasis` is a weight for each label's positive rows,
    /// which multiplies that of [`Params::positive_weight`], and `random` draws the order in which
    /// rows are visited.
    ///
    /// # Panics
    ///
    /// With more than [`LANES`] labels, with a positive row that is not there, or with fewer numbers
    /// than labels.
    pub(crate) fn solve(
        &mut self,
        rows: &Rows,
        positives: &[&[u32]],
        emphasis: &[f32],
        params: &Params,
        random: &mut Stream,
    ) -> Weights<'_> {
        assert!(positives.len() <= LANES, "at most {LANES} labels, not {}", positives.len());
        let dual = &Dual::new(positives, &emphasis[..positives.len()], params);
        solve(self, rows, positives, dual, params, random);
        let (bias, columns) = self.weights.split_last().expect("the bias is always there");
        Weights { columns, bias: *bias }
    }

    #[inline(always)]
    pub(super) fn solve_portable(
        &mut self,
        rows: &Rows,
        positives: &[&[u32]],
        dual: &Dual,
        params: &Params,
        random: &mut Stream,
    ) {
        self.start(rows, positives, dual, params.bias);
        self.descend(rows, dual, params, random);
        self.recompute_weights(rows, dual, params.bias);
        if dual.is_sparse {
            let (_, columns) = self.weights.split_last_mut().expect("the bias is always there");
            columns.iter_mut().for_each(|sums| *sums = shrink(sums, &dual.l1));
        }
    }

    /// Sets the signs, and the first dual variables and weights (see [`TwoVariableProblem`]).
    #[inline(always)]
    fn start(&mut self, rows: &Rows, positives: &[&[u32]], dual: &Dual, bias: f32) {
        let width = rows.features().len();
        self.signs.clear();
        self.signs.resize(rows.len(), 0);
        // At first the weights hold the sums of each label's positive rows.
        self.weights.clear();
        self.weights.resize(width + 1, Lanes::ZERO);
        for (lane, &positives) in positives.iter().enumerate() {
            for &row in positives {
                self.signs[row as usize] |= 1 << lane;
                for entry in rows.row(row) {
                    self.weights[entry.column as usize].0[lane] += entry.value;
                }
            }
            self.weights[width].0[lane] = positives.len() as f32 * bias;
        }
        let all_rows = || rows.sums.iter().copied().chain([rows.len() as f64 * f64::from(bias)]);
        let mut problem = TwoVariableProblem::new(rows.len(), positives);
        for (own, all) in self.weights.iter().zip(all_rows()) {
            problem.add(own, all);
        }
        let [mut negative, mut positive] = problem.solve(dual);
        // The sum of all rows times their dual variables, by column.
        let sums_of = |negative: &Lanes, positive: &Lanes| {
            let minus = dual.signed(negative, 0).0.map(f64::from);
            let plus = dual.signed(positive, u16::MAX).0.map(f64::from);
            move |own: &Lanes, all: f64| {
                per_lane(|lane| {
                    let own = f64::from(own.0[lane]);
                    (plus[lane] * own + minus[lane] * (all - own)) as f32
                })
            }
        };
        for _ in 0..if dual.is_sparse { SHRUNK_STARTS } else { 0 } {
            let sum = sums_of(&negative, &positive);
            let mut problem = TwoVariableProblem::new(rows.len(), positives);
            for (own, &all) in self.weights.iter().zip(&rows.sums) {
                problem.add_shrunk(own, all, &sum(own, all), &dual.l1);
            }
            problem.add(&self.weights[width], rows.len() as f64 * f64::from(bias));
            [negative, positive] = problem.solve(dual);
        }
        let sum = sums_of(&negative, &positive);
        for (weight, all) in self.weights.iter_mut().zip(all_rows()) {
            *weight = sum(weight, all);
        }
        self.duals.clear();
        self.duals.resize(rows.len(), negative);
        for (lane, &positives) in positives.iter().enumerate() {
            for &row in positives {
                self.duals[row as usize].0[lane] = positive.0[lane];
            }
        }
    }

    /// Passes over the rows until all labels are within tolerance.
    ///
    /// Rows that seem settled are left out of later passes. They become active again once all labels
    /// are within tolerance without them: only a pass over all rows can confirm that.
    #[inline(always)]
    fn descend(&mut self, rows: &Rows, dual: &Dual, params: &Params, random: &mut Stream) {
        let mut pass = Pass::new(rows, dual, params);
        let mut unconfirmed = pass.live;
        self.activate_all(rows, params);
        let all = self.active.len();
        for count in 1..=params.iterations {
            if self.canceller.is_cancelled() {
                break;
            }
            let is_full = self.active.len() == all;
            random.shuffle(&mut self.active);
            let range = pass.run(self);
            pass.finish_labels(&range, params.tolerance);
            if is_full {
                unconfirmed = pass.live;
            }
            let (is_done, is_due) =
                (pass.live == Lanes::ZERO, count.is_multiple_of(RECOMPUTE_EVERY));
            if is_done && unconfirmed == Lanes::ZERO {
                break;
            }
            if is_done || is_due {
                pass.resume_labels(&unconfirmed);
                self.activate_all(rows, params);
            }
            if is_due {
                self.recompute_weights(rows, dual, params.bias);
            }
        }
    }

    /// Makes all rows active but those without entries, whose margins no weight can change.
    fn activate_all(&mut self, rows: &Rows, params: &Params) {
        self.active.clear();
        let can_change = |&row: &u32| rows.squares[row as usize] > 0.0 || params.bias > 0.0;
        self.active.extend((0..rows.len() as u32).filter(can_change));
    }

    /// Recomputes the weights from the dual variables. Where changes cancelled out, this gives exact
    /// zeros.
    #[inline(always)]
    fn recompute_weights(&mut self, rows: &Rows, dual: &Dual, bias: f32) {
        self.weights.fill(Lanes::ZERO);
        // In double precision, since every row adds to the bias, and rows may be millions.
        let mut total = [0.0f64; LANES];
        for (row, duals) in self.duals.iter().enumerate() {
            if dual.loss != Loss::Logistic && duals.nonzero() == 0 {
                continue;
            }
            let signed = dual.signed(duals, self.signs[row]);
            for entry in rows.row(row as u32) {
                add(&mut self.weights[entry.column as usize], &signed, entry.value);
            }
            for (total, dual) in total.iter_mut().zip(signed.0) {
                *total += f64::from(dual);
            }
        }
        let last = self.weights.last_mut().expect("the bias is always there");
        *last = Lanes(total.map(|sum| (sum * f64::from(bias)) as f32));
    }
}

/// Compiled for each width of vector instruction; all give the same bits.
#[multiversion(targets("x86_64+avx2"))]
fn solve(
    workspace: &mut Workspace,
    rows: &Rows,
    positives: &[&[u32]],
    dual: &Dual,
    params: &Params,
    random: &mut Stream,
) {
    workspace.solve_portable(rows, positives, dual, params, random);
}
