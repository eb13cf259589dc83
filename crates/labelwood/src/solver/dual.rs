//! Dual coordinate descent on a block of labels at once.

use super::params::{Loss, Params};
use super::rows::Rows;
use crate::cluster::lanes::{LANES, Lanes};
use crate::random::Stream;

/// The positive rows of each label of a block: for at most [`LANES`] labels, positions in [`Rows`].
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
    weights: Vec<Lanes>,
    /// The dual variables of each row.
    alphas: Vec<Lanes>,
    /// One bit for each label that the row is positive for.
    signs: Vec<u16>,
    /// The rows that still change.
    active: Vec<u32>,
}

/// What is the same for all rows of one pass.
struct Pass<'a> {
    rows: &'a Rows,
    loss: Loss,
    bias: f32,
    /// The inverse of twice the cost, or 0, of negative and positive rows.
    ridge: [f32; 2],
    /// The largest dual variable of negative and positive rows.
    most: [f32; 2],
    /// 1 for labels that are not done.
    live: Lanes,
    /// Rows at a bound whose gradients lie beyond these are left out of later passes.
    least_old: Lanes,
    most_old: Lanes,
    /// Gradients smaller than this are not worth a change.
    idle: f32,
    calm: f32,
    maxlevel: u8,
}

/// The range of the projected gradients of a pass.
struct Range {
    least: Lanes,
    most: Lanes,
}

impl Workspace {
    /// The weights of each label, which are zero for lanes beyond the number of labels.
    ///
    /// # Panics
    ///
    /// With more than [`LANES`] labels.
    pub fn solve(
        &mut self,
        rows: &Rows,
        positives: &Positives<'_>,
        params: &Params,
        random: &mut Stream,
    ) -> Weights<'_> {
        assert!(positives.len() <= LANES, "at most {LANES} labels");
        self.start(rows, positives, params);
        self.descend(rows, positives.len(), params, random);
        self.recompute_weights(rows, params.bias);
        STATS[2].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        STATS[3].fetch_add(rows.len() as u64, std::sync::atomic::Ordering::Relaxed);
        let (bias, columns) = self.weights.split_last().expect("the bias is always there");
        Weights { columns, bias: *bias }
    }

    /// Sets the signs, and the first guess: the best of the weights that treat all positive rows of
    /// a label alike, and all its negative rows alike.
    fn start(&mut self, rows: &Rows, positives: &Positives<'_>, params: &Params) {
        let width = rows.features().len();
        self.signs.clear();
        self.signs.resize(rows.len(), 0);
        self.weights.clear();
        self.weights.resize(width + 1, Lanes::ZERO);
        let mut labels = [[0.0f64; 4]; LANES];
        for (lane, &positives) in positives.iter().enumerate() {
            for &row in positives {
                self.signs[row as usize] |= 1 << lane;
                for entry in rows.row(row) {
                    self.weights[entry.column as usize].0[lane] += entry.value;
                }
            }
            self.weights[width].0[lane] = positives.len() as f32 * params.bias;
        }
        // Products of the positives' sum with itself and with the sum of all rows.
        let sums = || rows.sum.iter().copied().chain([rows.len() as f32 * params.bias]);
        for (weight, sum) in self.weights.iter().zip(sums()) {
            for lane in 0..LANES {
                let positive = f64::from(weight.0[lane]);
                labels[lane][0] += positive * positive;
                labels[lane][1] += positive * f64::from(sum);
            }
        }
        let total: f64 = sums().map(|sum| f64::from(sum) * f64::from(sum)).sum();
        let (mut plus, mut minus) = (Lanes::ZERO, Lanes::ZERO);
        for (lane, &own) in positives.iter().enumerate() {
            let [square, with_sum, ..] = labels[lane];
            let counts = [rows.len() - own.len(), own.len()].map(|count| count as f64);
            let guess = first_guess(square, with_sum, total, counts, params);
            (minus.0[lane], plus.0[lane]) = (guess[0], guess[1]);
        }
        for (weight, sum) in self.weights.iter_mut().zip(sums()) {
            for lane in 0..LANES {
                let both = plus.0[lane] + minus.0[lane];
                weight.0[lane] = both * weight.0[lane] - minus.0[lane] * sum;
            }
        }
        self.alphas.clear();
        self.alphas.resize(rows.len(), minus);
        for (lane, &positives) in positives.iter().enumerate() {
            for &row in positives {
                self.alphas[row as usize].0[lane] = plus.0[lane];
            }
        }
    }

    fn descend(&mut self, rows: &Rows, labels: usize, params: &Params, random: &mut Stream) {
        const WIDE: Lanes = Lanes([f32::INFINITY; LANES]);
        const NARROW: Lanes = Lanes([f32::NEG_INFINITY; LANES]);
        let mut pass = Pass {
            rows,
            loss: params.loss,
            bias: params.bias,
            ridge: ridge(params),
            most: most(params),
            live: Lanes::ZERO,
            least_old: NARROW,
            most_old: WIDE,
            idle: params.tolerance * env("IDLE", 0.05),
            calm: params.tolerance * env("CALM", 0.5),
            maxlevel: env("MAXLEVEL", 2.0) as u8,
        };
        pass.live.0[..labels].fill(1.0);
        let mut rest = vec![0u8; rows.len()];
        let mut level = rest.clone();
        self.active.clear();
        self.active.extend(0..rows.len() as u32);
        for _ in 0..params.iterations {
            let b: usize = std::env::var("SHUF").map_or(32, |v| v.parse().unwrap());
            if b == 1 {
                let len = self.active.len();
                random.sample_to_front(&mut self.active, len);
            } else {
                let mut starts: Vec<usize> = (0..self.active.len()).step_by(b).collect();
                let l = starts.len();
                random.sample_to_front(&mut starts, l);
                let mut new = Vec::with_capacity(self.active.len());
                for s in starts {
                    let e = (s + b).min(self.active.len());
                    let f = new.len();
                    new.extend_from_slice(&self.active[s..e]);
                    random.sample_to_front(&mut new[f..], b);
                }
                self.active = new;
            }
            STATS[0].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            STATS[1].fetch_add(self.active.len() as u64, std::sync::atomic::Ordering::Relaxed);
            let range = pass.run(
                &mut self.weights,
                &mut self.alphas,
                &self.signs,
                &mut self.active,
                &mut rest,
                &mut level,
            );
            let mut going = false;
            let mut narrowed = false;
            for lane in 0..labels {
                let (least, most) = (range.least.0[lane], range.most.0[lane]);
                if pass.live.0[lane] == 0.0 {
                    continue;
                }
                let is_done = most - least <= params.tolerance;
                narrowed |= is_done;
                going |= !is_done;
                if is_done {
                    pass.live.0[lane] = 0.0;
                }
                pass.most_old.0[lane] = if most > 0.0 { most } else { f32::INFINITY };
                pass.least_old.0[lane] = if least < 0.0 { least } else { f32::NEG_INFINITY };
            }
            let _ = narrowed;
            if !going {
                break;
            }
        }
    }

    /// Adds the weights up anew: changes that cancelled out leave exact zeros.
    fn recompute_weights(&mut self, rows: &Rows, bias: f32) {
        let width = rows.features().len();
        self.weights.fill(Lanes::ZERO);
        for (row, alphas) in self.alphas.iter().enumerate() {
            if alphas.nonzero() == 0 {
                continue;
            }
            let signed = signed(alphas, self.signs[row]);
            for entry in rows.row(row as u32) {
                add(&mut self.weights[entry.column as usize], &signed, entry.value);
            }
            add(&mut self.weights[width], &signed, bias);
        }
    }
}

/// The inverse of twice the cost, of negative and positive rows: what the squared hinge adds to the
/// diagonal of the dual.
fn ridge(params: &Params) -> [f32; 2] {
    match params.loss {
        Loss::SquaredHinge => [0.5 / params.cost, 0.5 / (params.cost * params.positive_weight)],
        Loss::Hinge | Loss::Logistic => [0.0; 2],
    }
}

/// The largest dual variable of negative and positive rows.
fn most(params: &Params) -> [f32; 2] {
    match params.loss {
        Loss::SquaredHinge => [f32::MAX; 2],
        Loss::Hinge | Loss::Logistic => [params.cost, params.cost * params.positive_weight],
    }
}

/// The dual variables of negative and positive rows that are best when each kind is alike.
///
/// With P the sum of the positive rows and N that of the negative ones, the weights are `p P - n N`,
/// and the dual is a quadratic in p and n.
fn first_guess(
    square: f64,
    with_sum: f64,
    total: f64,
    [negatives, positives]: [f64; 2],
    params: &Params,
) -> [f32; 2] {
    let [ridge_negative, ridge_positive] = ridge(params).map(f64::from);
    let [most_negative, most_positive] = most(params).map(f64::from);
    let cross = with_sum - square;
    let across = (total - 2.0 * with_sum + square).max(0.0) + ridge_negative * negatives;
    let along = square + ridge_positive * positives;
    let determinant = along * across - cross * cross;
    let (mut p, mut n) = if determinant > 1e-9 * along * across {
        (
            (positives * across + negatives * cross) / determinant,
            (negatives * along + positives * cross) / determinant,
        )
    } else {
        (0.0, if across > 0.0 { negatives / across } else { 0.0 })
    };
    if p < 0.0 || positives == 0.0 {
        (p, n) = (0.0, if across > 0.0 { negatives / across } else { 0.0 });
    } else if n < 0.0 || negatives == 0.0 {
        (p, n) = (if along > 0.0 { positives / along } else { 0.0 }, 0.0);
    }
    [n.min(most_negative) as f32, p.min(most_positive) as f32]
}

impl Pass<'_> {
    /// Improves each active row's dual variables in turn; rows that are done are taken out.
    fn run(
        &self,
        weights: &mut [Lanes],
        alphas: &mut [Lanes],
        signs: &[u16],
        active: &mut Vec<u32>,
        rest: &mut [u8],
        level: &mut [u8],
    ) -> Range {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            return unsafe { self.run_avx2(weights, alphas, signs, active, rest, level) };
        }
        self.run_portable(weights, alphas, signs, active, rest, level)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(
        &self,
        weights: &mut [Lanes],
        alphas: &mut [Lanes],
        signs: &[u16],
        active: &mut Vec<u32>,
        rest: &mut [u8],
        level: &mut [u8],
    ) -> Range {
        self.run_portable(weights, alphas, signs, active, rest, level)
    }

    #[inline(always)]
    fn run_portable(
        &self,
        weights: &mut [Lanes],
        alphas: &mut [Lanes],
        signs: &[u16],
        active: &mut Vec<u32>,
        rest: &mut [u8],
        level: &mut [u8],
    ) -> Range {
        let last = weights.len() - 1;
        let mut range =
            Range { least: Lanes([f32::INFINITY; LANES]), most: Lanes([f32::NEG_INFINITY; LANES]) };
        let mut kept = 0;
        for at in 0..active.len() {
            let row = active[at];
            if let Some(&ahead) = active.get(at + 6) {
                prefetch(&self.rows.offsets, ahead as usize);
                prefetch(alphas, ahead as usize);
            }
            if let Some(&ahead) = active.get(at + 3) {
                let o = self.rows.offsets[ahead as usize] as usize;
                prefetch(&self.rows.entries, o);
                prefetch(&self.rows.entries, o + 8);
            }
            if let Some(&ahead) = active.get(at + 1) {
                for entry in self.rows.row(ahead) {
                    prefetch(weights, entry.column as usize);
                }
            }
            if rest[row as usize] > 0 {
                rest[row as usize] -= 1;
                active[kept] = row;
                kept += 1;
                continue;
            }
            let entries = self.rows.row(row);
            let mut products = Lanes::ZERO;
            for entry in entries {
                add(&mut products, &weights[entry.column as usize], entry.value);
            }
            add(&mut products, &weights[last], self.bias);
            let square = self.rows.squares[row as usize] + self.bias * self.bias;
            let (change, stays, size) = self.step(
                &products,
                square,
                signs[row as usize],
                &mut alphas[row as usize],
                &mut range,
            );
            active[kept] = row;
            kept += usize::from(stays);
            if size <= self.calm {
                level[row as usize] = (level[row as usize] + 1).min(self.maxlevel);
                rest[row as usize] = (1 << level[row as usize]) - 1;
            } else {
                level[row as usize] = 0;
            }
            STATS[5].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if let Some(change) = change {
                for entry in entries {
                    add(&mut weights[entry.column as usize], &change, entry.value);
                }
                add(&mut weights[last], &change, self.bias);
            }
        }
        active.truncate(kept);
        range
    }

    /// Improves one row's dual variables: what the weights change by along the row, if at all, and
    /// whether the row stays active.
    ///
    /// One loop for each step, over all lanes, so that each becomes a few vector instructions.
    #[inline(always)]
    fn step(
        &self,
        products: &Lanes,
        square: f32,
        signs: u16,
        alphas: &mut Lanes,
        range: &mut Range,
    ) -> (Option<Lanes>, bool, f32) {
        let sign = spread(signs);
        let pick = |of: [f32; 2], lane: usize| of[0] + (of[1] - of[0]) * (0.5 * sign.0[lane] + 0.5);
        let mut gradient = Lanes::ZERO;
        for lane in 0..LANES {
            gradient.0[lane] =
                sign.0[lane] * products.0[lane] - 1.0 + alphas.0[lane] * pick(self.ridge, lane);
        }
        let mut projected = Lanes::ZERO;
        for lane in 0..LANES {
            let (alpha, gradient) = (alphas.0[lane], gradient.0[lane]);
            let is_lowest = alpha <= 0.0 && gradient > 0.0;
            let is_highest = alpha >= pick(self.most, lane) && gradient < 0.0;
            projected.0[lane] =
                if is_lowest | is_highest { 0.0 } else { gradient * self.live.0[lane] };
        }
        let mut busy = Lanes::ZERO;
        for lane in 0..LANES {
            let (alpha, gradient) = (alphas.0[lane], gradient.0[lane]);
            let is_low = (alpha <= 0.0) & (gradient > self.most_old.0[lane]);
            let is_high = (alpha >= pick(self.most, lane)) & (gradient < self.least_old.0[lane]);
            busy.0[lane] = if is_low | is_high { 0.0 } else { self.live.0[lane] };
        }
        for lane in 0..LANES {
            let projected = projected.0[lane];
            range.least.0[lane] = lesser(range.least.0[lane], projected);
            range.most.0[lane] = greater(range.most.0[lane], projected);
        }
        let stays = greatest(&busy) > 0.0;
        let mut sizes = Lanes::ZERO;
        for lane in 0..LANES {
            sizes.0[lane] = projected.0[lane].abs();
        }
        let size = greatest(&sizes);
        if size <= self.idle {
            return (None, stays, size);
        }
        let over = [1.0 / (square + self.ridge[0]), 1.0 / (square + self.ridge[1])];
        let mut change = Lanes::ZERO;
        for lane in 0..LANES {
            let alpha = alphas.0[lane];
            let new = greater(alpha - projected.0[lane] * pick(over, lane), 0.0);
            let new = lesser(new, pick(self.most, lane));
            change.0[lane] = (new - alpha) * sign.0[lane];
            alphas.0[lane] = new;
        }
        (Some(change), stays, size)
    }
}

/// 1 for each lane whose bit is set, -1 for the others.
#[inline(always)]
fn spread(signs: u16) -> Lanes {
    let mut spread = Lanes([-1.0; LANES]);
    if signs != 0 {
        for lane in 0..LANES {
            spread.0[lane] = if signs >> lane & 1 == 1 { 1.0 } else { -1.0 };
        }
    }
    spread
}

#[inline(always)]
fn greater(left: f32, right: f32) -> f32 {
    if left > right { left } else { right }
}

#[inline(always)]
fn lesser(left: f32, right: f32) -> f32 {
    if left < right { left } else { right }
}

/// The greatest lane, found by halving.
#[inline(always)]
fn greatest(lanes: &Lanes) -> f32 {
    let mut lanes = lanes.0;
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = greater(lanes[lane], lanes[lane + half]);
        }
    }
    lanes[0]
}

/// The dual variables with the signs of their rows.
#[inline(always)]
fn signed(alphas: &Lanes, signs: u16) -> Lanes {
    let mut signed = *alphas;
    for lane in 0..LANES {
        if signs >> lane & 1 == 0 {
            signed.0[lane] = -signed.0[lane];
        }
    }
    signed
}

#[inline(always)]
fn add(to: &mut Lanes, lanes: &Lanes, factor: f32) {
    for lane in 0..LANES {
        to.0[lane] += factor * lanes.0[lane];
    }
}

#[allow(missing_docs)]
pub static STATS: [std::sync::atomic::AtomicU64; 8] =
    [const { std::sync::atomic::AtomicU64::new(0) }; 8];

fn env(k: &str, d: f32) -> f32 {
    std::env::var(k).map_or(d, |v| v.parse().unwrap())
}
#[inline(always)]
fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if at < slice.len() {
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                slice.as_ptr().add(at).cast(),
            )
        }
    }
}
