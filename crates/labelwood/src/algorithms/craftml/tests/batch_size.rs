//! Predictions do not depend on the batch size, although small batches look features up in indexes
//! and large ones decode whole nodes.

use super::*;

#[test]
fn a_single_row_is_predicted_as_in_a_batch() {
    let some = |diversity, feature_projection, precision, metric| Params {
        trees: 2,
        keep: Some(1.0),
        diversity,
        feature_projection,
        precision,
        metric,
        ..Params::default()
    };
    let (hashed, plain) = (Projection::Hashing, Projection::None);
    for (params, beam) in [
        (some(Diversity::SxSy, hashed, Precision::Byte, Metric::Cosine), 4),
        (some(Diversity::SxSy, plain, Precision::Byte, Metric::Euclidean), 4),
        (some(Diversity::SxSy, plain, Precision::Half, Metric::Cosine), 3),
        // More trees than a single row goes through at once (`MOST_TREES`).
        (Params { trees: 9, ..some(Diversity::SxSy, hashed, Precision::Byte, Metric::Cosine) }, 1),
        (some(Diversity::DxDy, hashed, Precision::Byte, Metric::Cosine), 1),
    ] {
        let rows = Rows::random(3000, 6000, 40, 5);
        let forest = rows.forest(params);
        // Rows have up to eight features, so that even large batches look them up in roots this long.
        assert!(forest.trees.iter().all(|tree| tree.words_of(0).len() > 8 * 256));
        let query = Query { beam: Some(beam), ..Query::top(5) };
        let features = rows.features.view();
        let together = forest.predict(features.into(), query, &run(1)).unwrap();
        for at in (0..features.len()).step_by(7) {
            let alone =
                forest.predict(features.slice(at..at + 1).view().into(), query, &run(1)).unwrap();
            assert_eq!(alone.row(0), together.row(at));
        }
        // A small batch and a large one, most of whose rows reach different nodes.
        for size in [20, 300] {
            let some =
                forest.predict(features.slice(0..size).view().into(), query, &run(1)).unwrap();
            assert!((0..size).all(|at| some.row(at) == together.row(at)));
        }
    }
}
