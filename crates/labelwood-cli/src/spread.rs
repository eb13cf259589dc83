//! The figures of several splits, for programs and for people.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use crate::output::as_object;
use labelwood::words::plural;

/// The figures of several splits: each one's mean and sample standard deviation.
#[derive(Debug, PartialEq, Serialize)]
pub struct Spread {
    splits: usize,
    #[serde(rename = "metrics", serialize_with = "as_object")]
    means: Vec<(String, f64)>,
    #[serde(serialize_with = "as_object")]
    deviations: Vec<(String, f64)>,
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
            let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
            ((name.clone(), mean), (name.clone(), deviation))
        };
        let (means, deviations) = names.enumerate().map(figure).unzip();
        Spread { splits: splits.len(), means, deviations }
    }
}

impl Display for Spread {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}: mean and standard deviation, in percent\n",
            plural(self.splits, "split")
        )?;
        for ((name, mean), (_, deviation)) in self.means.iter().zip(&self.deviations) {
            writeln!(out, "{name:14}{:>8.2}  ± {:.2}", 100.0 * mean, 100.0 * deviation)?;
        }
        Ok(())
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
        assert_eq!(spread.means, split(0.5, 0.5));
        assert_eq!(spread.deviations, split(deviation, 0.0));
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
        assert_eq!(spread.deviations, [("p@1".to_owned(), 0.0)]);
    }
}
