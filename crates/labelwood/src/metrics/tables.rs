//! The figures of each label, and the tab-separated files of rows and labels.

use super::Evaluation;
use super::score::{RowScorer, ratio};
use std::io::{self, Write};

/// The figures of one label at the largest cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabelScores {
    /// The label.
    pub label: u32,
    /// How many training rows have it.
    pub training_rows: u32,
    /// How many evaluated rows have it.
    pub support: u64,
    /// For how many rows it is among the best k predictions.
    pub predicted: u64,
    /// How many of these have it.
    pub hits: u64,
}

impl LabelScores {
    /// Rows that have the label and do not get it predicted.
    pub fn misses(&self) -> u64 {
        self.support - self.hits
    }

    /// Hits divided by predictions, 0 without any.
    pub fn precision(&self) -> f64 {
        ratio(self.hits as f64, self.predicted as f64)
    }

    /// Hits divided by support, 0 without any.
    pub fn recall(&self) -> f64 {
        ratio(self.hits as f64, self.support as f64)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        ratio(2.0 * self.hits as f64, (self.support + self.predicted) as f64)
    }
}

pub(super) fn label_scores(evaluation: &Evaluation<'_>) -> Vec<LabelScores> {
    let empty = |label| LabelScores {
        label,
        training_rows: evaluation.training.of(label),
        ..LabelScores::default()
    };
    let mut scores: Vec<LabelScores> = (0..evaluation.width() as u32).map(empty).collect();
    let mut scorer = RowScorer::new(evaluation);
    for row in 0..evaluation.truth.len() {
        let row = scorer.score(row);
        for &label in row.truth {
            scores[label as usize].support += 1;
        }
        for ranked in row.ranked {
            let label = &mut scores[ranked.label as usize];
            label.predicted += 1;
            label.hits += u64::from(ranked.is_hit);
        }
    }
    scores.retain(|label| label.support > 0 || label.predicted > 0);
    scores
}

impl Evaluation<'_> {
    /// Writes [`Evaluation::instances`] as tab-separated lines below a header, with the `ids` of the rows
    /// if they have some. Rows are counted from 1.
    ///
    /// ```
    /// # use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
    /// # use labelwood::sparse::{LabelRows, Predictions, Scored};
    /// # let mut truth = LabelRows::new(3);
    /// # truth.push_row(&[0, 2], &[(), ()])?;
    /// # let mut predictions = Predictions::default();
    /// # predictions.push_row(&[Scored { id: 2, score: 0.9 }, Scored { id: 1, score: 0.4 }]);
    /// # let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
    /// let options = MetricOptions { at: vec![1], ..MetricOptions::default() };
    /// let evaluation = Evaluation::new(truth.view(), &predictions, training, &options)?;
    /// let mut table = Vec::new();
    /// evaluation.write_instances(&mut table, &[Some("x7".to_owned())])?;
    /// assert_eq!(
    ///     String::from_utf8(table)?,
    ///     "row\tid\ttrue_labels\thits@1\tp@1\trecall@1\tndcg@1\n1\tx7\t2\t1\t1\t0.5\t1\n",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_instances(&self, mut out: impl Write, ids: &[Option<String>]) -> io::Result<()> {
        let has_ids = ids.iter().any(Option::is_some);
        write!(out, "row{}\ttrue_labels", if has_ids { "\tid" } else { "" })?;
        for k in &self.at {
            write!(out, "\thits@{k}\tp@{k}\trecall@{k}\tndcg@{k}")?;
        }
        writeln!(out)?;
        for scores in self.instances() {
            write!(out, "{}", scores.row + 1)?;
            if has_ids {
                let id = ids.get(scores.row).and_then(Option::as_deref).unwrap_or_default();
                write!(out, "\t{}", in_a_field(id))?;
            }
            write!(out, "\t{}", scores.true_labels)?;
            for at in scores.at {
                write!(out, "\t{}\t{}\t{}\t{}", at.hits, at.precision, at.recall, at.ndcg)?;
            }
            writeln!(out)?;
        }
        out.flush()
    }

    /// Writes [`Evaluation::labels`] as tab-separated lines below a header.
    ///
    /// `name` gives a label's name; tabs and line ends in it become spaces, and a label without a
    /// name has an empty field.
    pub fn write_labels<'n>(
        &self,
        mut out: impl Write,
        name: impl Fn(u32) -> Option<&'n str>,
    ) -> io::Result<()> {
        let k = self.largest_cut();
        writeln!(
            out,
            "label\tname\ttraining_rows\tsupport\tpredicted@{k}\thits@{k}\tmisses@{k}\tprecision@{k}\trecall@{k}\tf1@{k}"
        )?;
        for label in self.labels() {
            let name = in_a_field(name(label.label).unwrap_or(""));
            let LabelScores { training_rows, support, predicted, hits, .. } = label;
            write!(out, "{}\t{name}\t{training_rows}\t{support}", label.label)?;
            write!(out, "\t{predicted}\t{hits}\t{}", label.misses())?;
            writeln!(out, "\t{}\t{}\t{}", label.precision(), label.recall(), label.f1())?;
        }
        out.flush()
    }
}

/// A text without TABs and line ends.
fn in_a_field(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}
