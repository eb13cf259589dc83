//! Labels whose score is high enough, however many they are.

use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Predictions, Query, RowsView, Scored};
use crate::model::Model;

/// How many times as many labels are asked for where all that came reach the threshold.
const MORE: usize = 8;

/// The predictions with a score of at least `least`, in their order, and as many of the next best ones
/// as a row lacks to have `min_labels`.
///
/// ```
/// use labelwood::app::at_least;
/// use labelwood::sparse::{Predictions, Scored};
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 7, score: 0.5 }, Scored { id: 1, score: 0.25 }]);
/// assert_eq!(at_least(&predictions, 0.5, 0).row(0), [Scored { id: 7, score: 0.5 }]);
/// assert_eq!(at_least(&predictions, 0.75, 1).row(0), [Scored { id: 7, score: 0.5 }]);
/// ```
pub fn at_least(predictions: &Predictions, least: f32, min_labels: usize) -> Predictions {
    let mut kept = Predictions::default();
    for row in predictions.rows() {
        // Not the first few: a model that favours rare labels does not order by score.
        let reaches = |scored: &Scored| scored.score >= least;
        let mut lacking = min_labels.saturating_sub(row.iter().filter(|one| reaches(one)).count());
        let keep = |scored: &Scored| {
            let is_lacking = !reaches(scored) && lacking > 0;
            lacking -= usize::from(is_lacking);
            is_lacking || reaches(scored)
        };
        let row: Vec<Scored> = row.iter().copied().filter(keep).collect();
        kept.push_ranked(&row);
    }
    kept
}

/// All labels of each row with a score of at least `least`, best first, and at least `min_labels` if so many
/// have a score.
///
/// The model is asked for `query.k` labels of each row; rows where all of them are good enough are
/// asked for more, until that makes no difference.
pub fn predict_at_least<'r>(
    model: &Model,
    rows: impl Into<RowsView<'r>>,
    least: f32,
    min_labels: usize,
    query: Query<'_>,
    task: &Task,
) -> Result<Predictions, Stopped> {
    let rows = rows.into();
    let query = Query { k: query.k.max(min_labels), ..query };
    let found = model.predict(rows, query, task)?;
    let is_full = |row: usize| {
        let found = found.row(row);
        found.len() >= query.k && found.iter().all(|scored| scored.score >= least)
    };
    let kept = at_least(&found, least, min_labels);
    let full: Vec<usize> = (0..kept.len()).filter(|&row| is_full(row)).collect();
    if query.k >= model.labels().counts().len() || full.is_empty() {
        return Ok(kept);
    }
    let wider = Query { k: query.k.max(1).saturating_mul(MORE), ..query };
    let selected = rows.select(&full);
    let more = predict_at_least(model, selected.view(), least, min_labels, wider, task)?;
    let (mut all, mut more) = (Predictions::default(), more.rows());
    for row in 0..kept.len() {
        let wider = if is_full(row) { more.next() } else { None };
        all.push_ranked(wider.unwrap_or_else(|| kept.row(row)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::Settings;
    use crate::base::run::Pool;
    use crate::data::Dataset;
    use crate::data::generate::{Generator, Profile};
    use crate::model::TrainOptions;

    #[test]
    fn a_threshold_is_learned_on_request_where_there_is_none_otherwise() {
        let task = Pool::new(2).unwrap().task();
        let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
        let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..200, &task).unwrap();
        let dataset = Dataset { features, labels, label_names: None, named: None };
        let settings = Settings::named("neighbours").unwrap();
        let train = |calibrate, threshold| {
            let options = TrainOptions { calibrate, threshold, ..TrainOptions::default() };
            Model::train(dataset.view(), options, &settings, &task).unwrap()
        };
        let (plain, learned) = (train(false, false), train(false, true));
        assert_eq!(plain.threshold(), None);
        assert!((0.0..1.0).contains(&learned.threshold().unwrap()));
        assert!(!learned.gives_probabilities() && learned.calibration().is_none());
        let rows = dataset.features.view();
        let ask = |model: &Model| model.predict(rows, Query::top(5), &task).unwrap();
        assert!(ask(&plain) == ask(&learned), "scores stay what they are");
        assert_eq!(train(true, true).manifest(), train(true, false).manifest());
    }

    #[test]
    fn rows_with_many_good_labels_get_all_of_them() {
        let task = Pool::new(2).unwrap().task();
        let profile = Profile { instances: 60, ..Profile::named("eurlex-4k").unwrap() };
        let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..60, &task).unwrap();
        let dataset = Dataset { features, labels, label_names: None, named: None };
        let settings = Settings::named("one-vs-rest").unwrap();
        let model = Model::train(dataset.view(), Default::default(), &settings, &task).unwrap();
        let (rows, labels) = (dataset.features.view(), model.labels().counts().len());
        let all = model.predict(rows, Query::top(labels), &task).unwrap();
        let score = |rank: usize| all.row(3)[rank].score;
        for least in [f32::MIN, score(100), score(9), score(0), f32::MAX] {
            for min_labels in [0, 1, 12] {
                let expected = at_least(&all, least, min_labels);
                assert!(expected.rows().all(|row| row.len() >= min_labels));
                for k in [0, 1, 10, labels] {
                    let query = Query::top(k);
                    let found =
                        predict_at_least(&model, rows, least, min_labels, query, &task).unwrap();
                    assert!(
                        found == expected,
                        "at least {least}, {min_labels} labels, {k} at first"
                    );
                }
            }
        }
    }
}
