//! What a label is worth in a ranking.

use crate::base::sparse::LabelRowsView;
use crate::learn::propensity::Propensity;

/// What each label gains, of which so many of `instances` rows have it: the power of its inverse
/// propensity, scaled so that the rarest gains 1.
pub(super) fn gains(instances: usize, counts: &[u32], power: f32) -> Vec<f32> {
    if power == 0.0 {
        return vec![1.0; counts.len()];
    }
    let inverse = |counts| Propensity::default().inverse(instances, counts);
    let most = inverse([0]).fold(1.0, f64::max);
    let gain = |weight: f64| libm::pow(weight / most, f64::from(power)) as f32;
    inverse_of(instances, counts).map(gain).collect()
}

fn inverse_of(instances: usize, counts: &[u32]) -> impl Iterator<Item = f64> {
    Propensity::default().inverse(instances, counts.iter().copied())
}

/// The discount of a place in a ranking, counted from 0.
pub(super) fn discount(place: usize) -> f32 {
    (1.0 / libm::log2(place as f64 + 2.0)) as f32
}

/// The value of each label entry: what the label gains, divided by the discounted gain of the best ranking
/// of as many labels as the row has.
pub(super) fn values(labels: LabelRowsView<'_>, gains: &[f32]) -> Vec<f32> {
    let mut values = Vec::with_capacity(labels.entries());
    // For each number of labels, the sum of as many discounts.
    let mut best = vec![0.0f64];
    for row in labels.rows() {
        for place in best.len() - 1..row.len() {
            best.push(best[place] + f64::from(discount(place)));
        }
        let scale = 1.0 / best[row.len()];
        let value = |&label: &u32| (f64::from(gains[label as usize]) * scale) as f32;
        values.extend(row.indices.iter().map(value));
    }
    values
}
