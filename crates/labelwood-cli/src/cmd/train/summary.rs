//! What came of a training, for programs and for people.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};

use anyhow::Result;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::fit::Fitted;
use crate::machine::{self, Spent};

/// The line that `train --json` prints.
#[derive(serde::Serialize)]
pub struct Summary {
    seconds: Stages<f64>,
    cpu_seconds: Stages<Option<f64>>,
    model_bytes: u64,
    peak_rss_bytes: Option<u64>,
    settings: serde_json::Value,
}

/// A figure of each stage.
#[derive(serde::Serialize)]
struct Stages<T> {
    read: T,
    fit: T,
    save: T,
}

/// The summary, and the test if there was one.
#[derive(serde::Serialize)]
struct Line<'a, T> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<T>,
}

impl Summary {
    /// Sums up one training or several.
    pub fn new(read: Spent, fitted: &[Fitted]) -> Self {
        let sum = |stage: fn(&Fitted) -> Spent| {
            fitted.iter().map(stage).fold(Spent::NOTHING, Spent::plus)
        };
        let (fit, save) = (sum(|one| one.fit), sum(|one| one.save));
        Summary {
            seconds: Stages { read: read.seconds, fit: fit.seconds, save: save.seconds },
            cpu_seconds: Stages {
                read: read.cpu_seconds,
                fit: fit.cpu_seconds,
                save: save.cpu_seconds,
            },
            model_bytes: fitted.iter().map(|one| one.bytes).sum(),
            peak_rss_bytes: machine::peak_memory().map(|peak| peak.0),
            settings: fitted.first().map(|first| first.settings.clone()).unwrap_or_default(),
        }
    }

    /// Prints it as one line of JSON.
    pub fn print_json(&self, test: Option<impl Serialize>) -> Result<()> {
        let line = serde_json::to_string(&Line { summary: self, test })?;
        print(&format_args!("{line}\n"))
    }
}

/// Prints a result.
pub fn print(result: &impl Display) -> Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "{result}")?;
    Ok(out.flush()?)
}

/// The figures of several splits: each one's mean and sample standard deviation.
#[derive(Debug, PartialEq)]
pub struct Spread {
    splits: usize,
    /// Name, mean and deviation.
    figures: Vec<(String, f64, f64)>,
}

impl Spread {
    /// Over all that were tested.
    pub fn of(fitted: &[Fitted]) -> Self {
        let tests = fitted.iter().filter_map(|one| one.test.as_ref());
        Self::over(tests.map(|test| test.metrics.named().collect()).collect())
    }

    /// Over lists of figures with the same names.
    fn over(splits: Vec<Vec<(String, f64)>>) -> Self {
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
