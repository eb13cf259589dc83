//! One row's figures, and their sums over rows.

use super::calibration::Bins;
use super::f1::Counts;
use super::{AtK, Evaluation, Metrics, Psndcg, Slice, SliceAtK, SliceMetrics};

/// The figures of one row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InstanceScores {
    /// The row, counted from 0.
    pub row: usize,
    /// How many true labels it has.
    pub true_labels: usize,
    /// One entry for each cut, smallest first.
    pub at: Vec<InstanceAtK>,
}

/// One row's figures at one cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstanceAtK {
    /// The cut.
    pub k: usize,
    /// How many of the best k predictions are true.
    pub hits: usize,
    /// Hits divided by k.
    pub precision: f64,
    /// Hits divided by the true labels, 0 without any.
    pub recall: f64,
    /// nDCG@k, 0 without true labels.
    pub ndcg: f64,
    /// The inverse propensities of the hits: PSP@k is their sum over all rows, divided by that of
    /// the ideal rankings.
    pub weighted_hits: f64,
    /// The inverse propensities of the ideal ranking.
    pub ideal_weighted_hits: f64,
}

/// Scores rows one after the other, reusing its buffers.
pub(super) struct RowScorer<'a> {
    evaluation: &'a Evaluation<'a>,
    discounts: Vec<f64>,
    weights: Vec<f64>,
    rest_of_filter: &'a [(usize, u32)],
    truth: Vec<u32>,
    ranked: Vec<Ranked>,
    best_weights: Vec<f64>,
}

/// A predicted label that survived filter and largest cut.
#[derive(Clone, Copy)]
pub(super) struct Ranked {
    pub label: u32,
    pub score: f32,
    pub is_hit: bool,
}

/// One row: what is true, what was predicted, and the weights of its ideal ranking.
pub(super) struct ScoredRow<'s> {
    pub truth: &'s [u32],
    pub ranked: &'s [Ranked],
    best_weights: &'s [f64],
    discounts: &'s [f64],
    weights: &'s [f64],
}

impl<'a> RowScorer<'a> {
    pub(super) fn new(evaluation: &'a Evaluation<'a>) -> Self {
        // No sum runs past a row's true labels or predictions, however large the cuts are.
        let longest_truth = evaluation.truth.rows().map(|row| row.len()).max().unwrap_or(0);
        let longest_ranking = evaluation.predictions.rows().map(<[_]>::len).max().unwrap_or(0);
        let ranks = longest_truth.max(longest_ranking).min(evaluation.largest_cut());
        RowScorer {
            evaluation,
            discounts: discounts(ranks),
            weights: weights(evaluation),
            rest_of_filter: evaluation.filter,
            truth: Vec::new(),
            ranked: Vec::new(),
            best_weights: Vec::new(),
        }
    }

    /// Scores `row`. Rows must come in increasing order, because the filter is read along with them.
    pub(super) fn score(&mut self, row: usize) -> ScoredRow<'_> {
        let filtered = self.filter_of(row);
        let is_filtered = |label: u32| filtered.binary_search_by_key(&label, |pair| pair.1).is_ok();
        let evaluation = self.evaluation;

        let truth = evaluation.truth.row(row).indices.iter().copied();
        self.truth.clear();
        self.truth.extend(truth.filter(|&label| !is_filtered(label)));

        let predicted = evaluation.predictions.row(row).iter();
        let kept = predicted.filter(|scored| !is_filtered(scored.id));
        self.ranked.clear();
        self.ranked.extend(kept.take(evaluation.largest_cut()).map(|scored| Ranked {
            label: scored.id,
            score: scored.score,
            is_hit: self.truth.binary_search(&scored.id).is_ok(),
        }));

        self.best_weights.clear();
        self.best_weights.extend(self.truth.iter().map(|&label| self.weights[label as usize]));
        self.best_weights.sort_unstable_by(|left, right| right.total_cmp(left));
        ScoredRow {
            truth: &self.truth,
            ranked: &self.ranked,
            best_weights: &self.best_weights,
            discounts: &self.discounts,
            weights: &self.weights,
        }
    }

    /// The filter's pairs of `row`.
    fn filter_of(&mut self, row: usize) -> &'a [(usize, u32)] {
        let rest = self.rest_of_filter;
        let start = rest.partition_point(|pair| pair.0 < row);
        let len = rest[start..].partition_point(|pair| pair.0 == row);
        self.rest_of_filter = &rest[start + len..];
        &rest[start..start + len]
    }
}

impl ScoredRow<'_> {
    /// The ranks (from 0) and labels of the true predictions among the best k.
    pub(super) fn hits(&self, k: usize) -> impl Iterator<Item = (usize, u32)> {
        let best = &self.ranked[..k.min(self.ranked.len())];
        best.iter().enumerate().filter(|(_, ranked)| ranked.is_hit).map(|(at, hit)| (at, hit.label))
    }

    pub(super) fn instance(&self, row: usize, cuts: &[usize]) -> InstanceScores {
        let at = cuts.iter().map(|&k| self.at(k)).collect();
        InstanceScores { row, true_labels: self.truth.len(), at }
    }

    fn at(&self, k: usize) -> InstanceAtK {
        let (hits, true_labels) = (self.hits(k).count(), self.truth.len());
        let ranks = self.hits(k).map(|(rank, _)| rank);
        let (precision, ndcg) = precision_and_ndcg(ranks, k, true_labels, self.discounts);
        InstanceAtK {
            k,
            hits,
            precision,
            recall: ratio(hits as f64, true_labels as f64),
            ndcg,
            weighted_hits: self.weighted_gain(k).0,
            ideal_weighted_hits: self.ideal_weighted_gain(k).0,
        }
    }

    /// The inverse propensities of the hits, plain and discounted.
    fn weighted_gain(&self, k: usize) -> (f64, f64) {
        self.hits(k).fold((0.0, 0.0), |(plain, discounted), (rank, label)| {
            let weight = self.weights[label as usize];
            (plain + weight, discounted + weight * self.discounts[rank])
        })
    }

    /// The inverse propensities of the ideal ranking, plain and discounted: those of the true labels,
    /// largest first.
    fn ideal_weighted_gain(&self, k: usize) -> (f64, f64) {
        let best = self.best_weights.iter().zip(self.discounts).take(k);
        best.fold((0.0, 0.0), |(plain, discounted), (weight, discount)| {
            (plain + weight, discounted + weight * discount)
        })
    }
}

/// What a hit at each of the first ranks counts in nDCG.
pub(crate) fn discounts(ranks: usize) -> Vec<f64> {
    (0..ranks).map(|rank| 1.0 / libm::log2(rank as f64 + 2.0)).collect()
}

/// P@k and nDCG@k of a row with so many true labels and hits at these ranks (from 0) below k.
pub(crate) fn precision_and_ndcg(
    hits: impl Iterator<Item = usize>,
    k: usize,
    true_labels: usize,
    discounts: &[f64],
) -> (f64, f64) {
    let (count, gain) =
        hits.fold((0u32, 0.0), |(count, gain), rank| (count + 1, gain + discounts[rank]));
    (f64::from(count) / k as f64, ratio(gain, ideal_gain(k, true_labels, discounts)))
}

/// The discounted gain of a perfect ranking without weights.
fn ideal_gain(k: usize, true_labels: usize, discounts: &[f64]) -> f64 {
    discounts[..k.min(true_labels)].iter().sum()
}

/// Sums over rows.
pub(super) struct Sums {
    rows: usize,
    unlabelled: usize,
    at: Vec<CutSums>,
    slice_truth: [u64; 3],
    is_true: Vec<bool>,
    /// The best rank (from 0) at which each label was ever predicted rightly.
    first_hit: Vec<usize>,
    bins: Bins,
}

#[derive(Clone, Default)]
struct CutSums {
    gains: Gains,
    slice_hits: [u64; 3],
    counts: Counts,
}

/// Sums over rows of what each row adds to the means at a cut, and to both sides of the ratios.
#[derive(Clone, Copy, Default)]
pub(super) struct Gains {
    pub precision: f64,
    pub recall: f64,
    pub r_precision: f64,
    pub ndcg: f64,
    pub weighted: f64,
    pub ideal_weighted: f64,
    pub discounted: f64,
    pub ideal_discounted: f64,
}

impl Sums {
    pub(super) fn new(evaluation: &Evaluation<'_>) -> Self {
        Sums {
            rows: 0,
            unlabelled: 0,
            at: vec![
                CutSums { counts: Counts::new(evaluation.width()), ..CutSums::default() };
                evaluation.at.len()
            ],
            slice_truth: [0; 3],
            is_true: vec![false; evaluation.width()],
            first_hit: vec![usize::MAX; evaluation.width()],
            bins: Bins::default(),
        }
    }

    pub(super) fn add(&mut self, evaluation: &Evaluation<'_>, row: ScoredRow<'_>) {
        let slice_of = |label| Slice::of(evaluation.training.of(label)) as usize;
        self.rows += 1;
        self.unlabelled += usize::from(row.truth.is_empty());
        for &label in row.truth {
            self.is_true[label as usize] = true;
            self.slice_truth[slice_of(label)] += 1;
        }
        for (rank, label) in row.hits(evaluation.largest_cut()) {
            let first = &mut self.first_hit[label as usize];
            *first = rank.min(*first);
        }
        for ranked in row.ranked {
            self.bins.add(ranked.score, ranked.is_hit);
        }
        for (sums, &k) in self.at.iter_mut().zip(&evaluation.at) {
            sums.add(k, &row, evaluation.psndcg);
            row.hits(k).for_each(|(_, label)| sums.slice_hits[slice_of(label)] += 1);
        }
    }

    pub(super) fn finish(self, evaluation: &Evaluation<'_>) -> Metrics {
        let width = evaluation.width();
        let labels = || (0..width as u32).map(|label| (label, evaluation.training.of(label)));
        let is_true = |label: u32| self.is_true[label as usize];
        let distinct = self.is_true.iter().filter(|&&is_true| is_true).count();
        let cuts = || self.at.iter().zip(&evaluation.at);
        let at = cuts().map(|(sums, &k)| {
            let covered = self.first_hit.iter().filter(|&&rank| rank < k).count();
            sums.mean(k, self.rows, ratio(covered as f64, distinct as f64))
        });
        let slices = Slice::ALL.map(|slice| {
            let true_labels = self.slice_truth[slice as usize];
            let at = cuts().map(|(sums, &k)| {
                let hits = sums.slice_hits[slice as usize] as f64;
                let precision = ratio(hits, k as f64 * self.rows as f64);
                SliceAtK { k, precision, recall: ratio(hits, true_labels as f64) }
            });
            let labels = labels().filter(|&(_, rows)| Slice::of(rows) == slice).count();
            SliceMetrics { slice, labels, true_labels, at: at.collect() }
        });
        Metrics {
            instances: self.rows,
            labels: width,
            unlabelled: self.unlabelled,
            unseen_labels: labels().filter(|&(label, rows)| rows == 0 && is_true(label)).count(),
            propensity: evaluation.propensity,
            psndcg: evaluation.psndcg,
            at: at.collect(),
            ece: self.bins.error(),
            slices,
        }
    }
}

impl CutSums {
    fn add(&mut self, k: usize, row: &ScoredRow<'_>, psndcg: Psndcg) {
        self.counts.add(row, k, 0.0);
        self.gains.add(k, row, psndcg);
    }

    fn mean(&self, k: usize, rows: usize, coverage: f64) -> AtK {
        let (gains, mean) = (&self.gains, |sum| ratio(sum, rows as f64));
        AtK {
            k,
            precision: mean(gains.precision),
            recall: mean(gains.recall),
            r_precision: mean(gains.r_precision),
            ndcg: mean(gains.ndcg),
            psp: ratio(gains.weighted, gains.ideal_weighted),
            psndcg: ratio(gains.discounted, gains.ideal_discounted),
            coverage,
            micro_f1: self.counts.micro(),
            macro_f1: self.counts.by_label(),
            sample_f1: self.counts.sample(),
        }
    }
}

impl Gains {
    pub(super) fn add(&mut self, k: usize, row: &ScoredRow<'_>, psndcg: Psndcg) {
        let scores = row.at(k);
        self.precision += scores.precision;
        self.recall += scores.recall;
        self.r_precision += ratio(scores.hits as f64, k.min(row.truth.len()) as f64);
        self.ndcg += scores.ndcg;
        let (weighted, discounted) = row.weighted_gain(k);
        let (ideal_weighted, ideal_discounted) = row.ideal_weighted_gain(k);
        self.weighted += weighted;
        self.ideal_weighted += ideal_weighted;
        // The Matlab divisor is the same for every row and cancels out of the ratio.
        let divisor = match psndcg {
            Psndcg::Matlab => 1.0,
            Psndcg::Pyxclib => ideal_gain(k, row.truth.len(), row.discounts),
        };
        self.discounted += ratio(discounted, divisor);
        self.ideal_discounted += ratio(ideal_discounted, divisor);
    }
}

/// `part / whole`, and 0 of nothing.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The inverse propensity of each label that is true or predicted anywhere.
fn weights(evaluation: &Evaluation<'_>) -> Vec<f64> {
    let training = evaluation.training;
    let count = |label: usize| training.labels.get(label).copied().unwrap_or(0);
    let counts = (0..evaluation.width()).map(count);
    evaluation.propensity.inverse(training.instances, counts).collect()
}
