//! The labels of one block, solved together.

use super::dual::Dual;
use super::guess::Sums;
use super::params::{Loss, Params};
use super::pass::Pass;
use super::rows::Rows;
use super::vector::{add, each};
use crate::base::random::Stream;
use crate::base::run::Canceller;
use crate::learn::cluster::lanes::{LANES, Lanes};

/// After so many passes the weights are added up anew and all rows are taken back: each change of
/// the weights is rounded, and over thousands of passes they would part from the dual variables.
const ANEW: usize = 64;

/// The positive rows of each label of a block: for at most [`LANES`] labels, distinct positions in
/// the [`Rows`].
pub type Positives<'a> = [&'a [u32]];

/// The weights of a block of labels: for each column of the [`Rows`] one value a label.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// By column.
    pub columns: &'a [Lanes],
    /// The weight of the feature that every row has.
    pub bias: Lanes,
}

/// Scratch memory for solving block after block.
#[derive(Default)]
pub struct Workspace {
    /// The weights by column, and last those of the bias.
    pub(super) weights: Vec<Lanes>,
    /// The dual variables of each row; of the logistic loss, which keeps them strictly between 0
    /// and their bound, the logits of their shares of it.
    pub(super) duals: Vec<Lanes>,
    /// One bit for each label that the row is positive for.
    pub(super) signs: Vec<u16>,
    /// The rows that still change.
    pub(super) active: Vec<u32>,
    canceller: Canceller,
}

impl Workspace {
    /// Memory for a run: once that is cancelled, solving ends soon, with weights that mean nothing.
    pub(crate) fn new(canceller: Canceller) -> Self {
        Workspace { canceller, ..Workspace::default() }
    }

    /// The weights of each label, which are zero for lanes beyond the number of labels.
    ///
    /// `params` have passed [`Params::check`]. The rows are visited in an order that `random` draws.
    ///
    /// # Panics
    ///
    /// With more than [`LANES`] labels, or with a positive row that is not there.
    pub fn solve(
        &mut self,
        rows: &Rows,
        positives: &Positives<'_>,
        params: &Params,
        random: &mut Stream,
    ) -> Weights<'_> {
        self.solve_weighted(rows, positives, &[1.0; LANES], params, random)
    }

    /// The same, with each label's positive rows weighted by `emphasis` beyond what `params` say of
    /// all labels.
    ///
    /// # Panics
    ///
    /// As [`Workspace::solve`], and with fewer numbers than labels.
    pub fn solve_weighted(
        &mut self,
        rows: &Rows,
        positives: &Positives<'_>,
        emphasis: &[f32],
        params: &Params,
        random: &mut Stream,
    ) -> Weights<'_> {
        assert!(positives.len() <= LANES, "at most {LANES} labels, not {}", positives.len());
        let dual = &Dual::new(&emphasis[..positives.len()], params);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            return unsafe { self.solve_avx2(rows, positives, dual, params, random) };
        }
        self.solve_portable(rows, positives, dual, params, random)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn solve_avx2(
        &mut self,
        rows: &Rows,
        positives: &Positives<'_>,
        dual: &Dual,
        params: &Params,
        random: &mut Stream,
    ) -> Weights<'_> {
        self.solve_portable(rows, positives, dual, params, random)
    }

    /// Compiled for each width of vector instruction; all give the same bits.
    #[inline(always)]
    pub(super) fn solve_portable(
        &mut self,
        rows: &Rows,
        positives: &Positives<'_>,
        dual: &Dual,
        params: &Params,
        random: &mut Stream,
    ) -> Weights<'_> {
        self.start(rows, positives, dual, params.bias);
        self.descend(rows, dual, params, random);
        self.recompute_weights(rows, dual, params.bias);
        let (bias, columns) = self.weights.split_last().expect("the bias is always there");
        Weights { columns, bias: *bias }
    }

    /// Sets the signs, and the first guess: the best of the weights that treat all positive rows of
    /// a label alike, and all its negative rows alike.
    #[inline(always)]
    fn start(&mut self, rows: &Rows, positives: &Positives<'_>, dual: &Dual, bias: f32) {
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
        let mut sums = Sums::new(rows.len(), positives);
        for (own, all) in self.weights.iter().zip(all_rows()) {
            sums.add(own, all);
        }
        let [negative, positive] = sums.guess(dual);
        let (minus, plus) = (dual.signed(&negative, 0), dual.signed(&positive, u16::MAX));
        for (weight, all) in self.weights.iter_mut().zip(all_rows()) {
            *weight = each(|lane| {
                let own = f64::from(weight.0[lane]);
                let [plus, minus] = [plus.0[lane], minus.0[lane]].map(f64::from);
                (plus * own + minus * (all - own)) as f32
            });
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
    /// Rows that seem settled are left out of later passes. They are taken back when all labels are
    /// done without them: a label is only done for good by a pass over all rows.
    #[inline(always)]
    fn descend(&mut self, rows: &Rows, dual: &Dual, params: &Params, random: &mut Stream) {
        let mut pass = Pass::new(rows, dual, params);
        let mut unsure = pass.live;
        self.restore(rows, params);
        let all = self.active.len();
        for count in 1..=params.iterations {
            if self.canceller.is_cancelled() {
                break;
            }
            let is_full = self.active.len() == all;
            random.shuffle(&mut self.active);
            let range = pass.run(self);
            pass.narrow(&range, params.tolerance);
            if is_full {
                unsure = pass.live;
            }
            let (is_done, is_due) = (pass.live == Lanes::ZERO, count.is_multiple_of(ANEW));
            if is_done && unsure == Lanes::ZERO {
                break;
            }
            if is_done || is_due {
                pass.widen(&unsure);
                self.restore(rows, params);
            }
            if is_due {
                self.recompute_weights(rows, dual, params.bias);
            }
        }
    }

    /// Makes all rows active but those without entries, which no weights can change.
    fn restore(&mut self, rows: &Rows, params: &Params) {
        self.active.clear();
        let can_change = |&row: &u32| rows.squares[row as usize] > 0.0 || params.bias > 0.0;
        self.active.extend((0..rows.len() as u32).filter(can_change));
    }

    /// Adds the weights up anew: changes that cancelled out leave exact zeros.
    #[inline(always)]
    fn recompute_weights(&mut self, rows: &Rows, dual: &Dual, bias: f32) {
        self.weights.fill(Lanes::ZERO);
        // Every row adds to the bias: single precision would not do for millions of them.
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
