//! Which settings are refused, how automatic ones are resolved, and estimates of memory and size.

use super::*;
use crate::algorithms::Algorithm;
use crate::base::store::Unit;
use crate::learn::weighting::Weighting;

/// The name of the setting that is refused.
fn refused(params: Params) -> String {
    let error = params.check().unwrap_err();
    assert!(error.to_string().starts_with(&format!("{} is ", error.setting)), "{error}");
    error.setting.into_owned()
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let good = Params::default;
    for params in [good(), Params::paper(), Params::compact()] {
        params.check().unwrap();
    }
    for trees in [0, (1 << 20) + 1] {
        assert_eq!(refused(Params { trees, ..good() }), "trees");
    }
    for branches in [0, 1, 17] {
        assert_eq!(refused(Params { branches, ..good() }), "branches");
    }
    for leaf in [0, 1] {
        assert_eq!(refused(Params { leaf, ..good() }), "leaf");
    }
    for sample in [0, 1] {
        assert_eq!(refused(Params { sample, ..good() }), "sample");
    }
    for iterations in [0, 1001] {
        assert_eq!(refused(Params { iterations, ..good() }), "iterations");
    }
    assert_eq!(refused(Params { more_iterations: 1001, ..good() }), "more_iterations");
    for beam in [0, (1 << 20) + 1] {
        assert_eq!(refused(Params { beam, ..good() }), "beam");
    }
    for dimensions in [0, (1 << 30) + 1] {
        assert_eq!(
            refused(Params { feature_dimensions: dimensions, ..good() }),
            "feature_dimensions"
        );
        assert_eq!(refused(Params { label_dimensions: dimensions, ..good() }), "label_dimensions");
    }
    let gaussian = Projection::Gaussian;
    let large = Params { feature_projection: gaussian, feature_dimensions: 1001, ..good() };
    assert_eq!(refused(large), "feature_dimensions");
    let large = Params { label_projection: gaussian, label_dimensions: 1001, ..good() };
    assert_eq!(refused(large), "label_dimensions");
    for repel in [-0.1, 1.01, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(Params { repel, ..good() }), "repel");
    }
    for keep in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(Params { keep: Some(keep), ..good() }), "keep");
    }
}

#[test]
fn automatic_settings_follow_from_the_rows() {
    let resolve = |rows: &Rows, params: Params| params.resolved(rows.view());
    let mut counts = Rows::new(2500, 1999);
    counts.push(&[(3, 2.0)], &[5]);
    let auto = Params { feature_projection: Projection::Auto, ..Params::default() };
    let resolved = resolve(&counts, auto.clone());
    assert_eq!(resolved.weighting, Weighting::Idf);
    assert_eq!(resolved.feature_projection, Projection::Hashing);
    assert_eq!(resolved.label_projection, Projection::None);
    assert_eq!(resolved.keep, Some(1.0));
    assert_eq!(resolve(&counts, resolved.clone()), resolved, "there is nothing left to resolve");

    let mut weighted = Rows::new(1999, 2000);
    weighted.push(&[(3, 0.5)], &[5]);
    let resolved = resolve(&weighted, auto);
    assert_eq!(resolved.weighting, Weighting::None);
    assert_eq!(resolved.feature_projection, Projection::None);
    assert_eq!(resolved.label_projection, Projection::Hashing);

    let chosen = Params { keep: Some(0.5), weighting: Weighting::None, ..Params::default() };
    assert_eq!(resolve(&counts, chosen.clone()).keep, Some(0.5));
    assert_eq!(resolve(&counts, chosen).weighting, Weighting::None);
}

#[test]
fn large_forests_keep_a_part_of_each_centroid() {
    let rows = Rows::random(500, 40, 10, 3);
    let trees = 500_000_000 / rows.features.entries() + 1;
    let resolve = |trees| {
        let params = Params { trees, ..Params::default() };
        params.resolved(rows.view()).keep
    };
    assert_eq!(resolve(trees), Some(0.25));
    assert_eq!(resolve(trees - 1), Some(1.0));
}

#[test]
fn estimates_grow_with_what_there_is_to_do() {
    let estimate = |rows: &Rows, params: &Params, threads| params.estimate(rows.view(), threads);
    let (few, many) = (Rows::random(300, 50, 10, 1), Rows::random(3000, 50, 10, 1));
    let params = Params::default();
    let base = estimate(&few, &params, 1);
    let more_rows = estimate(&many, &params, 1);
    assert!(more_rows.memory > base.memory && more_rows.model > base.model);
    let more_threads = estimate(&few, &params, 4);
    assert!(more_threads.memory > base.memory);
    assert_eq!(more_threads.model, base.model, "threads do not change the model");
    let more_trees = estimate(&few, &Params { trees: 60, ..params.clone() }, 1);
    assert_eq!(more_trees.model, 2 * base.model);
    let pruned = estimate(&few, &Params { keep: Some(0.2), ..params.clone() }, 1);
    assert!(pruned.model < base.model);
    let half = estimate(&few, &Params { precision: Precision::Half, ..params.clone() }, 1);
    assert!(half.model > base.model);
    let projected = Params { feature_projection: Projection::Hashing, ..params };
    assert!(estimate(&few, &projected, 1).memory > base.memory);
}

/// The bytes of a tree's unit.
fn bytes(tree: &Tree) -> u64 {
    Unit::in_memory("tree", &tree.arrays()).unwrap().0.bytes
}

#[test]
fn models_stay_below_their_estimate() {
    let rows = Rows::random(3000, 500, 60, 9);
    for params in [Params { trees: 3, ..Params::default() }, Params { trees: 3, ..Params::paper() }]
    {
        let estimate = params.estimate(rows.view(), 1);
        let grown: u64 = rows.forest(params).trees.iter().map(bytes).sum();
        let ratio = grown as f64 / estimate.model as f64;
        assert!(ratio > 0.1 && ratio <= 1.0, "{grown} bytes of {}", estimate.model);
    }
}

#[test]
fn rows_that_are_repeated_count_once_in_a_tree() {
    let once = Rows::random(200, 50, 10, 5);
    let order: Vec<usize> = (0..20).flat_map(|_| 0..200).collect();
    let often = Rows {
        features: once.features.view().select(&order),
        labels: once.labels.view().select(&order),
    };
    let params = Params { trees: 3, ..Params::default() };
    let estimate = |rows: &Rows| params.estimate(rows.view(), 1);
    assert!(estimate(&often).memory > 10 * estimate(&once).memory / 3, "every row is kept");
    assert!(estimate(&often).model < 3 * estimate(&once).model);
    let grown: u64 = often.forest(params.clone()).trees.iter().map(bytes).sum();
    assert!(grown <= estimate(&often).model, "{grown} of {}", estimate(&often).model);
}
