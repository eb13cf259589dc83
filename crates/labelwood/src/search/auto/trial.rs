//! Trying algorithms out on a sample.

use crate::algorithms::{craftml, label_tree};
use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::Query;
use crate::data::{Dataset, DatasetView};
use crate::model::{Algorithm, Learned};
use std::time::Instant;

/// The place below the seed that the choice of a sample's rows follows from.
const SAMPLING: u64 = 0x7472_6961;
/// One of so many rows of a sample is held out.
const HELD_OUT: usize = 5;
/// Rows of a sample at least.
const LEAST: usize = 20;
/// Trees of a forest that is tried.
const TREES: usize = 8;
/// The cuts that precision is averaged over.
const CUTS: [usize; 3] = [1, 3, 5];

/// Time and space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sizes {
    pub seconds: f64,
    pub bytes: f64,
}

/// What an algorithm did on a sample.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Of one tree, if there are trees.
    pub sizes: Sizes,
    /// The mean precision.
    pub precision: f64,
    /// That of each row held out.
    rows: Vec<f64>,
}

/// A sample of the rows, and what the parts of a grove did on it.
pub(super) struct Trial {
    /// How many rows were learned from.
    pub rows: usize,
    pub forest: Measured,
    pub label_tree: Measured,
    train: Dataset,
    test: Dataset,
}

impl Trial {
    /// Draws so many rows and tries the parts of a grove; nothing if they are too few.
    pub fn new(
        dataset: DatasetView<'_>,
        rows: usize,
        seed: u64,
        run: &Task,
    ) -> Result<Option<Trial>, Stopped> {
        if rows < LEAST {
            return Ok(None);
        }
        let place = derive(seed, SAMPLING);
        let mut drawn: Vec<usize> = (0..dataset.len()).collect();
        drawn.sort_by_cached_key(|&row| derive(place, row as u64));
        drawn.truncate(rows);
        let held_out = rows / HELD_OUT;
        let (test, train) =
            (dataset.select(&drawn[..held_out]), dataset.select(&drawn[held_out..]));
        let forest = craftml::Params { trees: TREES, seed, ..Default::default() };
        let label_tree = label_tree::Params { trees: 1, seed, ..Default::default() };
        let measure = |algorithm: &Algorithm| measure(&train, &test, algorithm, run);
        let mut forest = measure(&Algorithm::CraftMl(forest))?;
        forest.sizes.seconds /= TREES as f64;
        forest.sizes.bytes /= TREES as f64;
        let label_tree = measure(&Algorithm::LabelTree(label_tree))?;
        Ok(Some(Trial { rows: train.len(), forest, label_tree, train, test }))
    }

    /// Tries another algorithm on the same rows.
    pub fn measure(&self, algorithm: &Algorithm, run: &Task) -> Result<Measured, Stopped> {
        measure(&self.train, &self.test, algorithm, run)
    }
}

impl Measured {
    /// By how much this is better, and the standard error of that.
    pub fn lead_over(&self, other: &Measured) -> (f64, f64) {
        let differences = self.rows.iter().zip(&other.rows).map(|(one, other)| one - other);
        let count = self.rows.len().max(1) as f64;
        let lead = differences.clone().sum::<f64>() / count;
        let spread = differences.map(|difference| (difference - lead).powi(2)).sum::<f64>() / count;
        (lead, (spread / count).sqrt())
    }
}

fn measure(
    train: &Dataset,
    test: &Dataset,
    algorithm: &Algorithm,
    run: &Task,
) -> Result<Measured, Stopped> {
    let start = Instant::now();
    let learned =
        Learned::train(train.view(), algorithm, run).expect("default settings are possible")?;
    let sizes = Sizes { seconds: start.elapsed().as_secs_f64(), bytes: learned.bytes() as f64 };
    let most = CUTS[CUTS.len() - 1];
    let predictions = learned.predict(test.features.view(), Query::top(most), run)?;
    let row = |(row, truth): (usize, &[u32])| {
        let is_true: Vec<bool> = predictions
            .row(row)
            .iter()
            .map(|label| truth.binary_search(&label.id).is_ok())
            .collect();
        let precision = |&cut: &usize| {
            is_true.iter().take(cut).filter(|&&is_true| is_true).count() as f64 / cut as f64
        };
        CUTS.iter().map(precision).sum::<f64>() / CUTS.len() as f64
    };
    let truths = test.labels.rows().map(|row| row.indices).enumerate();
    let rows: Vec<f64> = truths.map(row).collect();
    let precision = rows.iter().sum::<f64>() / rows.len().max(1) as f64;
    Ok(Measured { sizes, precision, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_has_a_standard_error() {
        let measured = |rows: &[f64]| Measured {
            sizes: Sizes::default(),
            precision: 0.0,
            rows: rows.to_vec(),
        };
        let (one, other) = (measured(&[1.0, 0.0, 1.0, 0.0]), measured(&[0.0, 0.0, 0.0, 0.0]));
        assert_eq!(one.lead_over(&other), (0.5, 0.25));
        assert_eq!(other.lead_over(&one), (-0.5, 0.25));
        assert_eq!(one.lead_over(&one), (0.0, 0.0));
    }
}
