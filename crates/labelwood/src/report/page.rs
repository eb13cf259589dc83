//! A study as one page of HTML that needs nothing else: no script, no network.
//!
//! Names and texts are escaped by the templates that the page is written in. What it shows is bounded,
//! whatever the data are: so many labels and rows, and so many characters of each.

use super::sections::{figures, frequencies, labels, rows, scores, speed};
use super::{Spent, Study};
use crate::base::words::plural;
use crate::metrics::{Answer, Interval, Metrics};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::fmt::{self, Display, Formatter};

/// How many characters of a name, of a text and of a title are shown.
const NAME: usize = 80;
const TEXT: usize = 240;
const TITLE: usize = 200;
/// How many labels of a row.
const OF_ROW: usize = 8;
/// How many cuts have a column.
pub(super) const CUTS: usize = 8;

/// A report on the predictions of one system: it displays as an HTML page.
///
/// ```
/// use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
/// use labelwood::report::{Page, RowText, Study};
/// use labelwood::sparse::{LabelRows, Predictions, Scored};
/// let mut truth = LabelRows::new(3);
/// truth.push_row(&[0], &[()])?;
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 2, score: 0.9 }]);
/// let training = TrainingCounts { instances: 200, labels: &[120, 30, 4] };
/// let evaluation =
///     Evaluation::new(truth.view(), &predictions, training, &MetricOptions::default())?;
/// let study = Study::of(&evaluation, None, true, 42);
/// let names = ["maps", "seas", "birds & bees"];
/// let page = Page {
///     title: "my model",
///     study: &study,
///     popular: None,
///     name: &|label| Some(names[label as usize]),
///     row: &|_| RowText { id: Some("x7"), text: Some("Old owls") },
///     facts: &[],
///     stages: &[],
/// };
/// let html = page.to_string();
/// assert!(html.starts_with("<!DOCTYPE html>") && html.contains("birds &amp; bees"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Page<'a> {
    /// What is reported on.
    pub title: &'a str,
    /// All numbers.
    pub study: &'a Study,
    /// The figures of the most frequent labels, to compare with.
    pub popular: Option<&'a Metrics>,
    /// The name of a label, if it has one.
    pub name: &'a dyn Fn(u32) -> Option<&'a str>,
    /// What a person sees of a row; it is asked for [`Study::rows`] only.
    pub row: &'a dyn Fn(usize) -> RowText<'a>,
    /// What else is known of the system, such as its size: what it is and how much.
    pub facts: &'a [(&'a str, String)],
    /// The time of each stage, such as `load` and `predict`.
    pub stages: &'a [(&'a str, Spent)],
}

/// What a person sees of a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowText<'a> {
    /// Its id, if it has one.
    pub id: Option<&'a str>,
    /// The beginning of its text, if it is text.
    pub text: Option<&'a str>,
}

impl Display for Page<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.markup().into_string())
    }
}

impl Page<'_> {
    fn markup(&self) -> Markup {
        let about = html! {
            p class="about" { (self.about()) }
            div class="short" { (self.in_short()) }
            (figures(self))
            (scores(self))
            (frequencies(self))
            (labels(self))
            (rows(self))
            (speed(self))
        };
        document(self.title, "Reading the report", &about)
    }

    /// What was tested.
    fn about(&self) -> Markup {
        let metrics = &self.study.metrics;
        html! {
            "Tested with " (plural(metrics.instances, "row"))
            @if metrics.unlabelled > 0 { " (" (metrics.unlabelled) " without labels)" }
            " and " (plural(metrics.labels, "label"))
            @if metrics.unseen_labels > 0 {
                ", " (metrics.unseen_labels) " of which no training row has"
            }
            "."
        }
    }

    /// What most people want to know, in sentences.
    fn in_short(&self) -> Markup {
        let Study { metrics, at_threshold, .. } = self.study;
        let (first, last) = (metrics.at.first(), metrics.at.last());
        html! {
            @if let Some(at) = first {
                p {
                    @if at.k == 1 {
                        "The first suggestion is right for " strong { (percent(at.precision)) " %" } " of the rows"
                    } @else {
                        "Of the first " (at.k) " suggestions " strong { (percent(at.precision)) " %" } " are right"
                    }
                    (self.range(&format!("p@{}", at.k)))
                    @if let Some(popular) = self.popular.and_then(|popular| popular.at.first()) {
                        "; naming the most frequent "
                        (if at.k == 1 { "label" } else { "labels" }) " every time would reach "
                        (percent(popular.precision)) " %"
                    }
                    "."
                }
            }
            @if let Some(at) = last {
                p {
                    "The first " @if at.k > 1 { (at.k) " suggestions hold " } @else { "suggestion holds " }
                    strong { (percent(at.recall)) " %" } " of the labels that a row has"
                    (self.range(&format!("recall@{}", at.k))) "."
                }
            }
            @if let Some(at) = at_threshold {
                p {
                    "With a score of " (format!("{:.3}", at.threshold)) " or more, a row gets "
                    (format!("{:.1}", at.labels_per_row)) " labels: " strong { (percent(at.precision)) " %" }
                    " of them are right, and they are " strong { (percent(at.recall)) " %" }
                    " of the right ones. " (percent(at.empty_rows)) " % of the rows get none."
                }
            }
        }
    }

    /// An interval in parentheses, if it is known.
    fn range(&self, figure: &str) -> Markup {
        html! { @if let Some(interval) = self.interval(figure) { " (" (interval) ")" } }
    }

    /// An interval in percent, if it is known.
    pub(super) fn interval(&self, figure: &str) -> Option<String> {
        let Interval { from, to } = self.study.intervals.get(figure)?;
        Some(format!("{}–{}", percent(*from), percent(*to)))
    }

    /// A label as people call it.
    pub(super) fn label(&self, label: u32) -> Markup {
        let name = (self.name)(label).filter(|name| !name.trim().is_empty());
        let name = name.map_or_else(|| format!("label {label}"), |name| shortened(name, NAME));
        html! { bdi { (name) } }
    }

    /// What a row is called: its number, counted from 1, and its id.
    pub(super) fn row_name(&self, row: usize) -> Markup {
        html! {
            "row " (row + 1)
            @if let Some(id) = (self.row)(row).id { ", " bdi { (shortened(id, NAME)) } }
        }
    }

    /// The beginning of a row's text, if it has one.
    pub(super) fn row_text(&self, row: usize, most: usize) -> Option<String> {
        (self.row)(row).text.map(|text| shortened(text, most.min(TEXT)))
    }

    /// A row with its labels and those that are predicted; `wrong` is among them whatever its rank is.
    pub(super) fn row_article(&self, answer: &Answer, wrong: u32) -> Markup {
        let shown = answer.truth.len().clamp(5, OF_ROW);
        let predicted = answer.predicted.iter().enumerate();
        let predicted = predicted.filter(|(rank, one)| *rank < shown || one.0 == wrong);
        html! {
            article {
                p { small { (self.row_name(answer.row)) } }
                @if let Some(text) = self.row_text(answer.row, TEXT) {
                    p class="text" dir="auto" { (text) }
                }
                p {
                    small { "in the data " }
                    @if answer.truth.is_empty() { "no label" }
                    @for (at, &label) in answer.truth.iter().take(OF_ROW).enumerate() {
                        @if at > 0 { ", " }
                        (self.label(label))
                    }
                    @if answer.truth.len() > OF_ROW { " and " (answer.truth.len() - OF_ROW) " more" }
                }
                p {
                    small { "predicted " }
                    @for (at, (_, &(label, score, is_right))) in predicted.enumerate() {
                        @if at > 0 { ", " }
                        span class=(if is_right { "right" } else { "wrong" }) {
                            @if label == wrong { b { (self.label(label)) } } @else { (self.label(label)) }
                            " " (score_text(score))
                        }
                    }
                }
            }
        }
    }
}

/// A whole page; a chapter of the guide says how to read it. Empty elements are closed, so that the page is
/// XML, too.
pub(super) fn document(title: &str, chapter: &str, content: &Markup) -> Markup {
    let title = shortened(title, TITLE);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (PreEscaped("<meta charset=\"utf-8\"/>"))
                (PreEscaped("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"))
                title { (title) " · labelwood report" }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                main {
                    h1 { bdi { (title) } }
                    (content)
                }
                footer {
                    "Made by labelwood " (env!("CARGO_PKG_VERSION"))
                    ". The chapter “" (chapter) "” of its guide says what the figures mean."
                }
            }
        }
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// A score for people.
pub(super) fn score_text(score: f32) -> String {
    if score.abs() < 1e5 { format!("{score:.3}") } else { format!("{score:.3e}") }
}

/// The beginning of a text in one line, without characters that HTML does not allow.
pub(super) fn shortened(text: &str, most: usize) -> String {
    // A hostile text may have megabytes of blanks.
    let start = text.char_indices().nth(8 * most).map_or(text, |(end, _)| &text[..end]);
    let is_blank =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    let mut line = String::new();
    for word in start.split(is_blank).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None if start.len() < text.len() => line + "…",
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_have_no_controls() {
        assert_eq!(shortened("  two\n\twords\u{0}and\u{1b}more ", 40), "two words and more");
        assert_eq!(shortened("ääää bb", 3), "äää…");
        assert_eq!(shortened("one two", 4), "one…");
        assert_eq!(shortened(&" ".repeat(100), 4), "…");
        assert_eq!(shortened("", 4), "");
    }
}
