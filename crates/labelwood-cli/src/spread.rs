//! The figures of several splits, for programs and for people.

use std::fmt::{self, Display, Formatter};

use serde::ser::{Serialize, SerializeMap, Serializer};

/// The figures of several splits: each one's mean and sample standard deviation.
#[derive(Debug, PartialEq)]
pub struct Spread {
    splits: usize,
    /// Name, mean and deviation.
    figures: Vec<(String, f64, f64)>,
}

impl Spread {
    /// Over lists of figures with the same names.
    pub fn over(splits: Vec<Vec<(String, f64)>>) -> Self {
        let count = splits.len() as f64;
        let names = splits.first().into_iter().flatten().map(|(name, _)| name);
        let figure = |(at, name): (usize, &String)| {
            let values = || splits.iter().map(|figures| figures[at].1);
            let mean = values().sum::<f64>() / count;
            let squares: f64 = values().map(|value| (value - mean) * (value - mean)).sum();
            (name.clone(), mean, (squares / (count - 1.0).max(1.0)).sqrt())
        };
        Spread { splits: splits.len(), figures: names.enumerate().map(figure).collect() }
    }
}

impl Display for Spread {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} splits: mean and standard deviation, in percent\n", self.splits)?;
        for (name, mean, deviation) in &self.figures {
            writeln!(out, "{name:14}{:>8.2}  ± {:.2}", 100.0 * mean, 100.0 * deviation)?;
        }
        Ok(())
    }
}

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let means = self.figures.iter().map(|(name, mean, _)| (name.as_str(), *mean));
        let deviations =
            self.figures.iter().map(|(name, _, deviation)| (name.as_str(), *deviation));
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("splits", &self.splits)?;
        object.serialize_entry("metrics", &Pairs(means.collect()))?;
        object.serialize_entry("deviations", &Pairs(deviations.collect()))?;
        object.end()
    }
}

/// Pairs as a JSON object that keeps their order.
struct Pairs<'a>(Vec<(&'a str, f64)>);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_mean_and_sample_deviation() {
        let split =
            |p: f64, recall: f64| vec![("p@1".to_owned(), p), ("recall@1".to_owned(), recall)];
        let spread = Spread::over(vec![split(0.25, 0.5), split(0.75, 0.5)]);
        let deviation = 0.125f64.sqrt();
        assert_eq!(spread.figures[0], ("p@1".to_owned(), 0.5, deviation));
        assert_eq!(spread.figures[1], ("recall@1".to_owned(), 0.5, 0.0));
        assert!(spread.to_string().contains("p@1              50.00  ± 35.36\n"), "{spread}");
        let json = serde_json::to_string(&spread).expect("it is plain");
        let expected = format!(
            r#"{{"splits":2,"metrics":{{"p@1":0.5,"recall@1":0.5}},"deviations":{{"p@1":{deviation},"recall@1":0.0}}}}"#
        );
        assert_eq!(json, expected);
    }

    #[test]
    fn one_split_does_not_spread() {
        let spread = Spread::over(vec![vec![("p@1".to_owned(), 0.25)]]);
        assert_eq!(spread.figures, [("p@1".to_owned(), 0.25, 0.0)]);
    }
}
