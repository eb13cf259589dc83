//! What people and programs read about an evaluation: a terminal table, one line of JSON, and a page.
//!
//! [`EvaluationReport`] has the figures alone. A [`Study`] has all that is to be known of the predictions of
//! a system, and a [`Page`] shows it. A [`ComparisonPage`] shows several systems side by side.

mod chart;
mod comparison;
mod dots;
mod page;
mod sections;
mod study;

pub use comparison::ComparisonPage;
pub use page::{Page, RowText};
pub use study::{Curves, LabelExample, Study};

use crate::base::run::Spent;
use crate::base::words::plural;
use crate::metrics::{AtThreshold, FIGURES, Metrics, Psndcg, Slice, SliceMetrics};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use std::fmt::{self, Display, Formatter};

/// An evaluation with the time it took.
///
/// It displays as a table of percentages and serialises as the object that `evaluate --json`
/// prints, in fractions of 1.
///
/// ```
/// use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
/// use labelwood::report::EvaluationReport;
/// use labelwood::run::Spent;
/// use labelwood::sparse::{LabelRows, Predictions, Scored};
///
/// let mut truth = LabelRows::new(3);
/// truth.push_row(&[0, 2], &[(), ()])?;
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 2, score: 0.9 }]);
/// let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
/// let options = MetricOptions { at: vec![1], ..MetricOptions::default() };
/// let metrics = Evaluation::new(truth.view(), &predictions, training, &options)?.metrics();
///
/// let stages = [("predict", Spent { seconds: 1.5, cpu_seconds: Some(2.5) })];
/// let report =
///     EvaluationReport { metrics: &metrics, at_threshold: None, popular: None, stages: &stages, all: false };
/// assert!(report.to_json().starts_with(r#"{"instances":1,"labels":3,"unlabelled":0,"#));
/// assert!(report.to_string().contains("P             100.00"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EvaluationReport<'a> {
    /// The figures.
    pub metrics: &'a Metrics,
    /// Those of labels whose score reaches a threshold.
    pub at_threshold: Option<AtThreshold>,
    /// The figures of the most frequent labels, to compare with.
    pub popular: Option<&'a Metrics>,
    /// The time of each stage, such as `load` and `predict`.
    pub stages: &'a [(&'a str, Spent)],
    /// Whether the table has all figures, not only those that most people look at.
    pub all: bool,
}

impl EvaluationReport<'_> {
    /// One line of JSON, without a line end.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("maps with string keys and numbers serialise")
    }
}

impl Serialize for EvaluationReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metrics = self.metrics;
        let mut object = serializer.serialize_struct("EvaluationReport", 12)?;
        object.serialize_field("instances", &metrics.instances)?;
        object.serialize_field("labels", &metrics.labels)?;
        object.serialize_field("unlabelled", &metrics.unlabelled)?;
        object.serialize_field("unseen_labels", &metrics.unseen_labels)?;
        object.serialize_field("metrics", &Map(|| metrics.named()))?;
        object.serialize_field("slices", &Map(|| slices(metrics)))?;
        object.serialize_field("propensity", &metrics.propensity)?;
        object.serialize_field("psndcg", &metrics.psndcg)?;
        if let Some(at) = &self.at_threshold {
            object.serialize_field("at_threshold", at)?;
        }
        if let Some(popular) = self.popular {
            object.serialize_field(
                "popular",
                &Map(|| popular.named().filter(|(name, _)| name != "ece")),
            )?;
        }
        let stages = || self.stages.iter();
        let seconds = || stages().map(|(stage, spent)| (stage, spent.seconds));
        let cpu = || stages().filter_map(|(stage, spent)| Some((stage, spent.cpu_seconds?)));
        object.serialize_field("seconds", &Map(seconds))?;
        object.serialize_field("cpu_seconds", &Map(cpu))?;
        object.end()
    }
}

fn slices(metrics: &Metrics) -> impl Iterator<Item = (&'static str, SliceObject<'_>)> {
    metrics.slices.iter().map(|slice| (slice.slice.name(), SliceObject(slice)))
}

/// Pairs as a JSON object that keeps their order.
struct Map<F>(F);

impl<K: Serialize, V: Serialize, I: Iterator<Item = (K, V)>, F: Fn() -> I> Serialize for Map<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map((self.0)())
    }
}

/// A slice as a JSON object: its sizes, then its figures.
struct SliceObject<'a>(&'a SliceMetrics);

impl Serialize for SliceObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("labels", &self.0.labels)?;
        object.serialize_entry("true_labels", &self.0.true_labels)?;
        for (name, value) in self.0.named() {
            object.serialize_entry(&name, &value)?;
        }
        object.end()
    }
}

/// The width of the column of names, and of each cut's column.
const NAME_WIDTH: usize = 12;
const CUT_WIDTH: usize = 8;

/// The figures of the short table.
const SHORT: [&str; 5] = ["p", "recall", "ndcg", "psp", "micro_f1"];

impl Display for EvaluationReport<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let metrics = self.metrics;
        write!(out, "{}", plural(metrics.instances, "row"))?;
        if metrics.unlabelled > 0 {
            write!(out, " ({} without labels)", metrics.unlabelled)?;
        }
        write!(out, ", {}", plural(metrics.labels, "label"))?;
        if metrics.unseen_labels > 0 {
            write!(out, " ({} true here but unseen in training)", metrics.unseen_labels)?;
        }
        write!(out, "\n\n{:NAME_WIDTH$}", "")?;
        for at in &metrics.at {
            write!(out, "{:>CUT_WIDTH$}", format!("@{}", at.k))?;
        }
        writeln!(out)?;
        for (key, name, of) in FIGURES {
            if self.all || SHORT.contains(&key) {
                write_line(out, name, metrics.at.iter().map(of))?;
            }
        }
        if self.all && !metrics.ece.is_nan() {
            // Of all predictions up to the largest cut, so it stands in that cut's column.
            let width = CUT_WIDTH * metrics.at.len();
            writeln!(out, "{:NAME_WIDTH$}{:>width$.2}", "ECE", 100.0 * metrics.ece)?;
        }
        if let Some(popular) = self.popular {
            write_line(out, "P (popular)", popular.at.iter().map(|at| at.precision))?;
        }
        if let Some(at) = self.at_threshold {
            write_threshold(out, at)?;
        }
        let slices = metrics.slices.iter().filter(|slice| self.all && slice.true_labels > 0);
        for slice in slices {
            let rows = match slice.slice {
                Slice::Head => "100 training rows or more",
                Slice::Torso => "10 to 99 training rows",
                Slice::Tail => "fewer than 10 training rows",
            };
            let labels = plural(slice.labels, &format!("{} label", slice.slice.name()));
            writeln!(out, "\n{labels} ({rows})")?;
            write_line(out, "P", slice.at.iter().map(|at| at.precision))?;
            write_line(out, "recall", slice.at.iter().map(|at| at.recall))?;
        }
        if !self.all {
            return writeln!(
                out,
                "\nIn percent; P (popular) is that of the most frequent labels. --all shows more."
            );
        }
        let convention = match metrics.psndcg {
            Psndcg::Matlab => "the XC repository's Matlab code",
            Psndcg::Pyxclib => "pyxclib",
        };
        let (a, b) = (metrics.propensity.a, metrics.propensity.b);
        writeln!(
            out,
            "\nIn percent; P (popular) is that of the most frequent labels.\n\
             Propensity a={a}, b={b}; PSnDCG as in {convention}."
        )?;
        for (stage, Spent { seconds, cpu_seconds }) in self.stages {
            write!(out, "{stage:NAME_WIDTH$}{seconds:>CUT_WIDTH$.2} s")?;
            match cpu_seconds {
                Some(cpu) => writeln!(out, ", CPU {cpu:.2} s")?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}

fn write_threshold(out: &mut Formatter<'_>, at: AtThreshold) -> fmt::Result {
    let percent = |share: f64| 100.0 * share;
    writeln!(
        out,
        "\nLabels with a score of {:.3} or more: {:.1} a row, none in {:.1} % of the rows",
        at.threshold,
        at.labels_per_row,
        percent(at.empty_rows)
    )?;
    write!(
        out,
        "F1          {:.2} micro, {:.2} macro, ",
        percent(at.micro_f1),
        percent(at.macro_f1)
    )?;
    writeln!(out, "{:.2} sample", percent(at.sample_f1))?;
    let (precision, recall) = (percent(at.precision), percent(at.recall));
    writeln!(out, "precision   {precision:.2}, recall {recall:.2}")
}

fn write_line(
    out: &mut Formatter<'_>,
    name: &str,
    values: impl Iterator<Item = f64>,
) -> fmt::Result {
    write!(out, "{name:NAME_WIDTH$}")?;
    for value in values {
        write!(out, "{:>CUT_WIDTH$.2}", 100.0 * value)?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::{LabelRows, Predictions, Scored};
    use crate::metrics::{Evaluation, MetricOptions, TrainingCounts};

    fn metrics() -> Metrics {
        let mut truth = LabelRows::new(4);
        truth.push_row(&[0, 3], &[(); 2]).unwrap();
        truth.push_row(&[], &[]).unwrap();
        let mut predictions = Predictions::default();
        predictions.push_row(&[Scored { id: 0, score: 0.9 }, Scored { id: 1, score: 0.5 }]);
        predictions.push_row(&[]);
        // Two training rows: every weight is 1.
        let training = TrainingCounts { instances: 2, labels: &[100, 10, 1] };
        let options = MetricOptions { at: vec![1, 4], ..MetricOptions::default() };
        Evaluation::new(truth.view(), &predictions, training, &options).unwrap().metrics()
    }

    const STAGES: [(&str, Spent); 2] = [
        ("load", Spent { seconds: 0.5, cpu_seconds: Some(0.25) }),
        ("predict", Spent { seconds: 1.25, cpu_seconds: None }),
    ];

    fn report(metrics: &Metrics, all: bool) -> EvaluationReport<'_> {
        EvaluationReport { metrics, at_threshold: None, popular: None, stages: &STAGES, all }
    }

    #[test]
    fn the_json_is_one_line_in_fractions_of_1() {
        let metrics = metrics();
        let at = &metrics.at[1];
        let expected = format!(
            concat!(
                r#"{{"instances":2,"labels":4,"unlabelled":1,"unseen_labels":1,"#,
                r#""metrics":{{"p@1":0.5,"recall@1":0.25,"rprecision@1":0.5,"ndcg@1":0.5,"#,
                r#""psp@1":1.0,"psndcg@1":1.0,"coverage@1":0.5,"#,
                r#""micro_f1@1":0.6666666666666666,"macro_f1@1":0.5,"sample_f1@1":0.3333333333333333,"#,
                r#""p@4":0.125,"recall@4":0.25,"rprecision@4":0.25,"ndcg@4":{},"#,
                r#""psp@4":0.5,"psndcg@4":{},"coverage@4":0.5,"#,
                r#""micro_f1@4":0.5,"macro_f1@4":0.3333333333333333,"sample_f1@4":0.25,"ece":{}}},"#,
                r#""slices":{{"#,
                r#""head":{{"labels":1,"true_labels":1,"p@1":0.5,"recall@1":1.0,"p@4":0.125,"recall@4":1.0}},"#,
                r#""torso":{{"labels":1,"true_labels":0,"p@1":0.0,"recall@1":0.0,"p@4":0.0,"recall@4":0.0}},"#,
                r#""tail":{{"labels":2,"true_labels":1,"p@1":0.0,"recall@1":0.0,"p@4":0.0,"recall@4":0.0}}}},"#,
                r#""propensity":{{"a":0.55,"b":1.5}},"psndcg":"matlab","#,
                r#""seconds":{{"load":0.5,"predict":1.25}},"cpu_seconds":{{"load":0.25}}}}"#
            ),
            at.ndcg, at.psndcg, metrics.ece
        );
        assert_eq!(report(&metrics, false).to_json(), expected);
        let threshold = AtThreshold { threshold: 0.5, micro_f1: 0.25, ..AtThreshold::default() };
        let further = EvaluationReport {
            at_threshold: Some(threshold),
            popular: Some(&metrics),
            ..report(&metrics, false)
        };
        let parsed: serde_json::Value = serde_json::from_str(&further.to_json()).unwrap();
        assert_eq!(parsed["metrics"]["ndcg@4"], at.ndcg);
        assert_eq!(
            (&parsed["at_threshold"]["micro_f1"], &parsed["popular"]["p@1"]),
            (&0.25.into(), &0.5.into())
        );
    }

    #[test]
    fn the_table_shows_percent_in_aligned_columns() {
        let metrics = metrics();
        let short = "\
2 rows (1 without labels), 4 labels (1 true here but unseen in training)

                  @1      @4
P              50.00   12.50
recall         25.00   25.00
nDCG           50.00   30.66
PSP           100.00   50.00
micro-F1       66.67   50.00
P (popular)    50.00   12.50

Labels with a score of 0.250 or more: 1.5 a row, none in 10.0 % of the rows
F1          40.00 micro, 30.00 macro, 50.00 sample
precision   60.00, recall 20.00

In percent; P (popular) is that of the most frequent labels. --all shows more.
";
        let threshold = AtThreshold {
            threshold: 0.25,
            precision: 0.6,
            recall: 0.2,
            micro_f1: 0.4,
            macro_f1: 0.3,
            sample_f1: 0.5,
            labels_per_row: 1.5,
            empty_rows: 0.1,
        };
        let at_threshold = Some(threshold);
        let shown =
            EvaluationReport { at_threshold, popular: Some(&metrics), ..report(&metrics, false) };
        assert_eq!(shown.to_string(), short);
        let expected = "\
2 rows (1 without labels), 4 labels (1 true here but unseen in training)

                  @1      @4
P              50.00   12.50
recall         25.00   25.00
R-precision    50.00   25.00
nDCG           50.00   30.66
PSP           100.00   50.00
PSnDCG        100.00   61.31
coverage       50.00   50.00
micro-F1       66.67   50.00
macro-F1       50.00   33.33
sample-F1      33.33   25.00
ECE                    30.00

1 head label (100 training rows or more)
P              50.00   12.50
recall        100.00  100.00

2 tail labels (fewer than 10 training rows)
P               0.00    0.00
recall          0.00    0.00

In percent; P (popular) is that of the most frequent labels.
Propensity a=0.55, b=1.5; PSnDCG as in the XC repository's Matlab code.
load            0.50 s, CPU 0.25 s
predict         1.25 s
";
        assert_eq!(report(&metrics, true).to_string(), expected);
    }
}
