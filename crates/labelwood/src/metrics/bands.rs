//! How good frequent and rare labels are.

use super::score::ratio;
use super::{Evaluation, LabelScores};
use serde::Serialize;

/// Bands of training rows, by their first number.
const STARTS: [u32; 9] = [0, 1, 2, 5, 10, 20, 50, 100, 1000];

/// Labels that training saw about as often, at the largest cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// The fewest training rows.
    pub from: u32,
    /// The most.
    pub to: u32,
    /// How many such labels are true or predicted somewhere.
    pub labels: u64,
    /// How many pairs of a row and a true label are theirs.
    pub support: u64,
    /// How many of the predictions.
    pub predicted: u64,
    /// How many of these are true.
    pub hits: u64,
}

impl Band {
    /// What it is called: `5–9`.
    pub fn name(&self) -> String {
        match (self.from, self.to) {
            (from, u32::MAX) => format!("{from}+"),
            (from, to) if from == to => from.to_string(),
            (from, to) => format!("{from}–{to}"),
        }
    }

    /// The share of the predictions that is true.
    pub fn precision(&self) -> f64 {
        ratio(self.hits as f64, self.predicted as f64)
    }

    /// The share of the true labels that is predicted.
    pub fn recall(&self) -> f64 {
        ratio(self.hits as f64, self.support as f64)
    }
}

impl Evaluation<'_> {
    /// The labels by how often training saw them, rarest first; bands without labels are left out.
    pub fn by_frequency(&self) -> Vec<Band> {
        banded(&self.labels())
    }
}

fn banded(labels: &[LabelScores]) -> Vec<Band> {
    let ends = STARTS[1..].iter().map(|next| next - 1).chain([u32::MAX]);
    let mut bands: Vec<Band> = STARTS
        .into_iter()
        .zip(ends)
        .map(|(from, to)| Band { from, to, labels: 0, support: 0, predicted: 0, hits: 0 })
        .collect();
    for label in labels {
        let band = &mut bands[STARTS.partition_point(|&from| from <= label.training_rows) - 1];
        band.labels += 1;
        band.support += label.support;
        band.predicted += label.predicted;
        band.hits += label.hits;
    }
    bands.retain(|band| band.labels > 0);
    bands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_fall_into_bands_by_their_training_rows() {
        let label = |training_rows, support, predicted, hits| LabelScores {
            training_rows,
            support,
            predicted,
            hits,
            ..LabelScores::default()
        };
        let labels =
            [label(0, 1, 0, 0), label(9, 4, 2, 1), label(5, 4, 2, 1), label(4000, 2, 4, 2)];
        let bands = banded(&labels);
        let names: Vec<String> = bands.iter().map(Band::name).collect();
        assert_eq!(names, ["0", "5–9", "1000+"]);
        assert_eq!((bands[1].labels, bands[1].precision(), bands[1].recall()), (2, 0.5, 0.25));
        assert_eq!((bands[0].precision(), bands[0].recall()), (0.0, 0.0));
        assert_eq!(bands[2].recall(), 1.0);
    }
}
