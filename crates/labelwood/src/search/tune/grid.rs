//! The settings that are tried: few, since every further one makes noise likelier to win.
//!
//! Numbers of trees are not among them, because more are never worse. Nor are settings that trade
//! size for accuracy alone, such as `keep` and `precision`, and those that were never worth more
//! than noise on any of the public sets, such as the branches of a forest.

use super::Candidate;
use crate::base::sparse::CsrView;
use crate::learn::weighting::Weighting;
use crate::model::Algorithm;
use serde_json::{Value, json};

/// A setting and its values.
struct Axis {
    /// The name, after that of the part for a grove.
    setting: &'static str,
    values: Vec<Value>,
}

fn axis(setting: &'static str, values: impl IntoIterator<Item = Value>) -> Axis {
    Axis { setting, values: values.into_iter().collect() }
}

/// The weight of the loss: what matters most to linear classifiers. The best value depends on how
/// many rows a label has and how noisy these are.
fn cost(setting: &'static str) -> Axis {
    axis(setting, [json!(1.0), json!(0.3), json!(3.0)])
}

/// Small weights: what they cost in space they may gain with long texts or many labels.
fn weight_threshold(values: [f64; 2]) -> Axis {
    axis("weight_threshold", values.map(Value::from))
}

/// Rows of a leaf: fewer for labels that are told apart well, more for noisy ones.
fn leaf(setting: &'static str) -> Axis {
    axis(setting, [json!(10), json!(5), json!(20)])
}

/// The axes of an algorithm.
fn axes(algorithm: &Algorithm) -> Vec<Axis> {
    match algorithm {
        Algorithm::CraftMl(_) => {
            vec![leaf("leaf"), axis("repel", [json!(0.25), json!(0.0), json!(0.5)])]
        }
        // Fewer groups make fewer mistakes on the first level, more are easier to tell apart.
        Algorithm::LabelTree(_) => vec![
            cost("cost"),
            weight_threshold([0.1, 0.03]),
            axis("branches", [Value::Null, json!(16)]),
        ],
        Algorithm::OneVsRest(_) => vec![
            axis("cost", [0.7, 0.2, 0.4, 1.4, 2.8].map(Value::from)),
            weight_threshold([0.03, 0.01]),
        ],
        // Submodels of more labels are fewer to agree, but each knows more.
        Algorithm::LabelForest(_) => {
            vec![cost("cost"), axis("rate", [json!(0.1), json!(0.2)])]
        }
        Algorithm::Grove(_) => vec![cost("label_tree.cost"), leaf("forest.leaf")],
    }
}

/// The setting that says how whole numbers are weighted; in a grove that of the label trees, since
/// forests are hardly ever better without.
fn weighting(algorithm: &Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Grove(_) => "label_tree.weighting",
        _ => "weighting",
    }
}

/// All combinations that differ, the settings to start from first. Settings in `pinned` are not
/// changed.
pub(super) fn candidates(
    base: &Algorithm,
    features: CsrView<'_>,
    pinned: &[String],
) -> Vec<Candidate> {
    let mut axes = axes(base);
    // Weights by rarity are for counts; other values have been weighted by whoever made them.
    if Weighting::Auto.resolve(features) == Weighting::Idf {
        axes.push(axis(weighting(base), [json!("idf"), json!("none")]));
    }
    let start = base.settings();
    let mut all = vec![Vec::new()];
    for Axis { setting, values } in axes {
        let name = setting.rsplit('.').next().unwrap_or(setting);
        let Some(mut found) = at(&start, setting).cloned() else { continue };
        if pinned.iter().any(|pinned| pinned == name) {
            continue;
        }
        if name == "weighting" && found == "auto" {
            // What it comes to, so that nothing is tried twice.
            found = json!("idf");
        }
        let changes: Vec<Value> = values.into_iter().filter(|value| !same(value, &found)).collect();
        let with = |change: &Value| {
            let with = |before: &Vec<(String, Value)>| {
                let change = (setting.to_owned(), change.clone());
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
fn candidate(base: &Algorithm, changes: Vec<(String, Value)>) -> Option<Candidate> {
    let mut settings = base.settings();
    for (setting, value) in &changes {
        *at_mut(&mut settings, setting)? = value.clone();
    }
    let algorithm = Algorithm::from_settings(base.name(), settings).ok()?;
    Some(Candidate { changes, algorithm })
}

fn at<'a>(settings: &'a Value, setting: &str) -> Option<&'a Value> {
    settings.pointer(&pointer(setting))
}

fn at_mut<'a>(settings: &'a mut Value, setting: &str) -> Option<&'a mut Value> {
    settings.pointer_mut(&pointer(setting))
}

fn pointer(setting: &str) -> String {
    format!("/{}", setting.replace('.', "/"))
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
    use crate::base::sparse::Csr;

    fn named(name: &str, value: f32, pinned: &[&str]) -> Vec<Candidate> {
        let mut features = Csr::new(1);
        features.push_row(&[0], &[value]).unwrap();
        let base = Algorithm::preset(name, "default").unwrap();
        let pinned: Vec<String> = pinned.iter().map(|name| (*name).to_owned()).collect();
        let found = candidates(&base, features.view(), &pinned);
        assert_eq!(found[0].algorithm, base);
        for (at, one) in found.iter().enumerate() {
            assert!(found[..at].iter().all(|other| other.algorithm != one.algorithm), "{one:?}");
        }
        found
    }

    #[test]
    fn every_algorithm_has_a_few() {
        let counts = |value| Algorithm::NAMES.map(|name| (name, named(name, value, &[]).len()));
        let tfidf = [
            ("craftml", 9),
            ("label-tree", 12),
            ("one-vs-rest", 10),
            ("label-forest", 6),
            ("grove", 9),
        ];
        assert_eq!(counts(0.5), tfidf);
        let whole = [
            ("craftml", 18),
            ("label-tree", 24),
            ("one-vs-rest", 20),
            ("label-forest", 12),
            ("grove", 18),
        ];
        assert_eq!(counts(2.0), whole);
    }

    #[test]
    fn what_the_user_typed_stays() {
        let found = named("grove", 0.5, &["leaf"]);
        let changes: Vec<_> = found.iter().map(|one| one.changes.clone()).collect();
        let cost = |value: f64| vec![("label_tree.cost".to_owned(), json!(value))];
        assert_eq!(changes, [vec![], cost(0.3), cost(3.0)]);
        assert_eq!(named("craftml", 0.5, &["leaf", "repel"]).len(), 1);
    }
}
