//! One training on some of the rows, and how it ranks the labels of others.

use super::measure::CUT;
use super::schedule::Round;
use super::{Candidate, Measure};
use crate::base::random::derive;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::Query;
use crate::data::{Dataset, DatasetView};
use crate::model::{Algorithm, Learned};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The place below the seed that the order of rows follows from.
const DRAWING: u64 = 0x7475_6e65;

/// A finished trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trial {
    /// Seconds of the training.
    pub seconds: f64,
    /// Bytes of what was learned.
    pub bytes: u64,
    /// For each row of the fold, which of the best labels are true: bit i is that of rank i.
    pub hits: Vec<u8>,
}

/// All rows in the order in which rounds take them: the rows of a round are among those of the next.
pub(super) fn drawn(rows: usize, seed: u64) -> Vec<usize> {
    let place = derive(seed, DRAWING);
    let mut drawn: Vec<usize> = (0..rows).collect();
    drawn.sort_by_cached_key(|&row| derive(place, row as u64));
    drawn
}

/// A part of a round's rows to test with and the others, both in order.
pub(super) struct Fold {
    pub test: Vec<usize>,
    pub train: Vec<usize>,
}

impl Fold {
    /// The fold of this number, of so many.
    pub fn new(drawn: &[usize], fold: usize, folds: usize) -> Fold {
        let (mut test, mut train) = (Vec::new(), Vec::new());
        for (at, &row) in drawn.iter().enumerate() {
            if at % folds == fold { test.push(row) } else { train.push(row) }
        }
        test.sort_unstable();
        train.sort_unstable();
        Fold { test, train }
    }
}

/// The rows of a fold, copied once for all candidates.
pub(super) struct Rows {
    train: Dataset,
    test: Dataset,
}

impl Rows {
    pub fn new(dataset: DatasetView<'_>, fold: &Fold) -> Rows {
        Rows { train: dataset.select(&fold.train), test: dataset.select(&fold.test) }
    }

    /// Trains a candidate and tests it.
    pub fn try_out(
        &self,
        candidate: &Candidate,
        round: Round,
        run: &Task,
    ) -> Result<Trial, Stopped> {
        let start = Instant::now();
        let algorithm = with_fewer_trees(&candidate.algorithm, round.fewer_trees);
        let learned = Learned::train(self.train.view(), &algorithm, run)
            .expect("the settings of candidates were checked")?;
        let seconds = start.elapsed().as_secs_f64();
        let predictions = learned.predict(self.test.features.view(), Query::top(CUT), run)?;
        let hits = |(row, truth): (usize, &[u32])| {
            let ranked = predictions.row(row).iter().take(CUT).enumerate();
            ranked.fold(0, |hits, (rank, label)| {
                hits | u8::from(truth.binary_search(&label.id).is_ok()) << rank
            })
        };
        let truths = self.test.labels.rows().map(|row| row.indices).enumerate();
        Ok(Trial { seconds, bytes: learned.bytes() as u64, hits: truths.map(hits).collect() })
    }
}

/// The figures of the rows of a fold.
pub(super) fn figures<'a>(
    trial: &'a Trial,
    fold: &'a Fold,
    dataset: DatasetView<'a>,
    measure: Measure,
) -> impl Iterator<Item = f64> + 'a {
    let true_labels = fold.test.iter().map(move |&row| dataset.labels.row(row).indices.len());
    trial
        .hits
        .iter()
        .zip(true_labels)
        .map(move |(&hits, true_labels)| measure.of(hits, true_labels))
}

/// The same settings with a part of the trees. The submodels of label forests stay: with fewer of
/// them, some labels would be known to none.
fn with_fewer_trees(algorithm: &Algorithm, fewer: usize) -> Algorithm {
    let mut algorithm = algorithm.clone();
    match &mut algorithm {
        Algorithm::CraftMl(params) => params.trees = params.trees.div_ceil(fewer),
        Algorithm::LabelTree(params) => params.trees = params.trees.div_ceil(fewer),
        Algorithm::Grove(params) => {
            params.forest.trees = params.forest.trees.div_ceil(fewer);
            params.label_tree.trees = params.label_tree.trees.div_ceil(fewer);
        }
        Algorithm::OneVsRest(_) | Algorithm::LabelForest(_) => {}
    }
    algorithm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_tested_once_and_never_with_what_learned_from_it() {
        let drawn = drawn(10, 1);
        let mut tested = Vec::new();
        for fold in 0..3 {
            let Fold { test, train } = Fold::new(&drawn, fold, 3);
            assert!(test.iter().all(|row| !train.contains(row)));
            assert_eq!(test.len() + train.len(), 10);
            tested.extend(test);
        }
        tested.sort_unstable();
        assert_eq!(tested, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn few_trees_are_never_none() {
        let grove = Algorithm::preset("grove", "default").unwrap();
        let Algorithm::Grove(few) = with_fewer_trees(&grove, 9) else { panic!("it is a grove") };
        let Algorithm::Grove(all) = grove else { panic!("it is a grove") };
        assert_eq!(few.forest.trees, all.forest.trees.div_ceil(9));
        assert_eq!(few.label_tree.trees, 1);
    }
}
