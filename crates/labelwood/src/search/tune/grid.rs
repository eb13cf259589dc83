//! The settings that are tried: few, since every further one makes noise likelier to win.
//!
//! Numbers of trees are not among them, because more are never worse. Nor are settings that trade
//! size for accuracy alone, such as `keep` and `precision`, and those that were never worth more
//! than noise on any of the public sets, such as the branches of a forest.

use super::Candidate;
use crate::algorithms::{Change, Settings};
use crate::data::DatasetView;
use crate::learn::weighting::Weighting;
use serde_json::{Value, json};

/// The setting that says how whole numbers are weighted.
const WEIGHTING: &str = "weighting";
/// The setting that says how much is learned from the names of labels.
const NAMES: &str = "names";

/// All combinations of the values that the algorithm's settings are tried with, the settings to start
/// from first. Settings in `pinned` are not changed.
pub(super) fn candidates(
    base: &Settings,
    rows: DatasetView<'_>,
    pinned: &[String],
) -> Vec<Candidate> {
    let mut all = vec![Vec::new()];
    for Change { setting, values } in base.changes() {
        let name = setting.rsplit('.').next().unwrap_or(&setting);
        let Some(mut found) = base.find(&setting) else { continue };
        let is_idle = name == NAMES && rows.named.is_none();
        if is_idle || pinned.iter().any(|pinned| pinned == name) {
            continue;
        }
        if name == WEIGHTING {
            // Weights by rarity are for counts; other values have been weighted by whoever made them.
            if Weighting::Auto.resolve(rows.features) != Weighting::Idf {
                continue;
            }
            if found == "auto" {
                // What it comes to, so that nothing is tried twice.
                found = json!("idf");
            }
        }
        let changes: Vec<Value> = values.into_iter().filter(|value| !same(value, &found)).collect();
        let with = |change: &Value| {
            let with = |before: &Vec<(String, Value)>| {
                let change = (setting.clone(), change.clone());
                before.iter().cloned().chain([change]).collect::<Vec<_>>()
            };
            all.iter().map(with).collect::<Vec<_>>()
        };
        let changed: Vec<_> = changes.iter().flat_map(with).collect();
        all.extend(changed);
    }
    all.into_iter().filter_map(|changes| candidate(base, changes)).collect()
}

/// The settings with these changes, if they are possible.
fn candidate(base: &Settings, changes: Vec<(String, Value)>) -> Option<Candidate> {
    let mut settings = base.clone();
    for (setting, value) in &changes {
        settings = settings.with(setting, value).ok()?;
    }
    settings.check().ok()?;
    Some(Candidate { changes, settings })
}

/// Whether two values are the same; settings in single precision have more digits than were typed.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one as f32 == other as f32,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::{Csr, LabelRows};
    use crate::data::Dataset;

    fn named(name: &str, value: f32, pinned: &[&str]) -> Vec<Candidate> {
        let mut features = Csr::new(1);
        features.push_row(&[0], &[value]).unwrap();
        let mut labels = LabelRows::new(1);
        labels.push_row(&[0], &[()]).unwrap();
        let rows = Dataset { features, labels, label_names: None, named: None };
        let base = Settings::preset(name, "default").unwrap();
        let pinned: Vec<String> = pinned.iter().map(|name| (*name).to_owned()).collect();
        let found = candidates(&base, rows.view(), &pinned);
        assert_eq!(found[0].settings, base);
        for (at, one) in found.iter().enumerate() {
            assert!(found[..at].iter().all(|other| other.settings != one.settings), "{one:?}");
        }
        found
    }

    #[test]
    fn every_algorithm_has_a_few() {
        let counts = |value| {
            let names = Settings::names().into_iter().filter(|&name| name != "toy");
            names.map(|name| (name, named(name, value, &[]).len())).collect::<Vec<_>>()
        };
        let tfidf = [
            ("grove", 9),
            ("craftml", 9),
            ("label-tree", 12),
            ("one-vs-rest", 10),
            ("label-forest", 6),
            ("fastxml", 9),
            ("neighbours", 9),
            ("names", 3),
        ];
        assert_eq!(counts(0.5), tfidf);
        let whole = [
            ("grove", 18),
            ("craftml", 18),
            ("label-tree", 24),
            ("one-vs-rest", 20),
            ("label-forest", 12),
            ("fastxml", 18),
            ("neighbours", 18),
            ("names", 3),
        ];
        assert_eq!(counts(2.0), whole);
    }

    #[test]
    fn what_the_user_typed_stays() {
        let found = named("grove", 0.5, &["leaf"]);
        let changes: Vec<_> = found.iter().map(|one| one.changes.clone()).collect();
        let cost = |value: f64| vec![("label-tree.cost".to_owned(), json!(value))];
        assert_eq!(changes, [vec![], cost(0.3), cost(3.0)]);
        assert_eq!(named("craftml", 0.5, &["leaf", "repel"]).len(), 1);
    }
}
