//! What the demo prints.

use std::fmt::{self, Display, Formatter};

use labelwood::data::corpus;
use labelwood::metrics::{AtK, Metrics};
use labelwood::model::Model;
use labelwood::sparse::Predictions;
use labelwood::store::Manifest;

/// The questions of the test part that are shown with their predictions.
const SHOWN: [usize; 3] = [4, 17, 87];
/// How many labels each of them gets.
const LABELS: usize = 4;
/// The width that questions are broken to.
const WIDTH: usize = 80;

/// A finished demo.
pub struct Page<'a> {
    /// The model, trained on the corpus.
    pub model: &'a Model,
    /// How long reading, training and opening took.
    pub seconds: f64,
    /// How good the model is on the test part.
    pub metrics: Metrics,
    /// How good the most frequent tags are.
    pub popular: Metrics,
    /// What the model says about each question of the test part.
    pub predictions: &'a Predictions,
}

impl Display for Page<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Manifest { instances, labels, .. } = self.model.manifest();
        let (seconds, others) = (self.seconds, self.metrics.instances);
        writeln!(
            out,
            "{instances} questions to a library's reference desk, on {labels} subjects in all,"
        )?;
        writeln!(
            out,
            "learned in {seconds:.1} s. How well that does on {others} others, in percent:\n"
        )?;
        self.table(out)?;
        writeln!(out, "\nThree of them, with scores; ✓ marks what is right:")?;
        for row in SHOWN {
            self.question(out, row)?;
        }
        writeln!(
            out,
            "\nNow your own texts. A line is a text, a TAB, and labels separated by ; :\n"
        )?;
        writeln!(out, "    labelwood train books.tsv -m books")?;
        writeln!(out, "    labelwood predict books --text 'Birds of the north'")
    }
}

impl Page<'_> {
    /// The model's figures beside those of the most frequent labels.
    fn table(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let cuts = self.metrics.at.len();
        let columns = |figure: &dyn Fn(&AtK) -> String| {
            let side = |metrics: &Metrics| -> String {
                metrics.at.iter().map(|at| format!("{:>7}", figure(at))).collect()
            };
            format!("{}    {}", side(&self.metrics), side(&self.popular))
        };
        let width = 7 * cuts;
        writeln!(out, "{:8}{:>width$}    {:>width$}", "", "this model", "most frequent only")?;
        writeln!(out, "{:8}{}", "", columns(&|at| format!("@{}", at.k)))?;
        let percent = |value: f64| format!("{:.1}", 100.0 * value);
        writeln!(out, "{:8}{}", "P", columns(&|at| percent(at.precision)))?;
        writeln!(out, "{:8}{}", "recall", columns(&|at| percent(at.recall)))?;
        writeln!(out, "{:8}{}", "nDCG", columns(&|at| percent(at.ndcg)))
    }

    /// A question and its predictions.
    fn question(&self, out: &mut Formatter<'_>, row: usize) -> fmt::Result {
        let Some((text, tags)) = corpus::test().nth(row) else { return Ok(()) };
        writeln!(out)?;
        for line in broken(text, WIDTH) {
            writeln!(out, "{line}")?;
        }
        let predicted: Vec<(&str, f32)> = self
            .predictions
            .row(row)
            .iter()
            .take(LABELS)
            .filter_map(|scored| Some((self.model.labels().name(scored.id)?, scored.score)))
            .collect();
        let width = predicted.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, score) in &predicted {
            let mark = if tags.contains(name) { '✓' } else { ' ' };
            writeln!(out, "  {mark} {name:width$}  {score:.2}")?;
        }
        let missed = |tag: &&str| !predicted.iter().any(|(name, _)| name == tag);
        let missed: Vec<&str> = tags.into_iter().filter(missed).collect();
        if !missed.is_empty() {
            writeln!(out, "    missed: {}", missed.join(", "))?;
        }
        Ok(())
    }
}

/// The text in lines of at most `width` characters, as far as its words allow.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(broken("a bc  def g", 4), ["a bc", "def", "g"]);
        assert_eq!(broken("abcdef é", 3), ["abcdef", "é"]);
        assert!(broken(" ", 3).is_empty());
    }

    #[test]
    fn the_questions_that_are_shown_are_there() {
        assert!(SHOWN.iter().all(|&row| row < corpus::test().count()));
    }
}
