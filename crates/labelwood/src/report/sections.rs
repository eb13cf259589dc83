//! The sections of a [`Page`](super::Page), one function each.

use super::Page;
use super::chart::{Axis, Bars, Lines};
use super::page::{CUTS, percent, score_text};
use super::study::LabelExample;
use crate::base::words::plural;
use crate::metrics::{CurvePoint, FIGURES, Slice};
use maud::{Markup, html};

/// The figures that most people look at.
const MAIN: [&str; 5] = ["p", "recall", "ndcg", "psp", "micro_f1"];

/// The table of figures, with their intervals.
pub(super) fn figures(page: &Page<'_>) -> Markup {
    let metrics = &page.study.metrics;
    let cuts = &metrics.at[..metrics.at.len().min(CUTS)];
    let head = || {
        html! { thead { tr {
            th scope="col" { "percent" }
            @for at in cuts { th scope="col" class="n" { "@" (at.k) } }
        } } }
    };
    let lines = |is_main: bool| {
        html! {
            @for (key, name, of) in FIGURES.iter().filter(|(key, ..)| MAIN.contains(key) == is_main) {
                tr {
                    th scope="row" { (name) }
                    @for at in cuts {
                        td class="n" {
                            (percent(of(at)))
                            @if let Some(range) = page.interval(&format!("{key}@{}", at.k)) { small { (range) } }
                        }
                    }
                }
            }
        }
    };
    html! {
        section {
            h2 { "Figures" }
            div class="wide" { table {
                (head())
                tbody {
                    (lines(true))
                    @if let Some(popular) = page.popular {
                        tr {
                            th scope="row" { "P of the most frequent labels" }
                            @for at in popular.at.iter().take(cuts.len()) { td class="n" { (percent(at.precision)) } }
                        }
                    }
                }
            } }
            @if page.study.intervals.is_empty() {
                p class="note" { "There are too few rows to say how sure these figures are." }
            } @else {
                p class="note" {
                    "Below each figure is the range that holds 95 % of the figures that as many rows of the same \
                     kind would give. P is the share of the first k suggestions that is right, recall the share of \
                     a row's labels among them. nDCG also counts how far up they stand, PSP counts rare labels \
                     more, and F1 weighs both kinds of mistakes."
                }
            }
            @if metrics.at.len() > cuts.len() {
                p class="note" { "Further cuts are left out here." }
            }
            details {
                summary { "All figures" }
                div class="wide" { table {
                    (head())
                    tbody {
                        (lines(false))
                        @for slice in metrics.slices.iter().filter(|slice| slice.true_labels > 0) {
                            @for (name, of) in [("P", 0), ("recall", 1)] {
                                tr {
                                    th scope="row" { (name) " of " (slice.slice.name()) " labels" }
                                    @for at in slice.at.iter().take(cuts.len()) {
                                        td class="n" { (percent([at.precision, at.recall][of])) }
                                    }
                                }
                            }
                        }
                    }
                } }
                p class="note" {
                    @for slice in &metrics.slices {
                        (plural(slice.labels, &format!("{} label", slice.slice.name())))
                        (match slice.slice {
                            Slice::Head => " with 100 training rows or more, ",
                            Slice::Torso => " with 10 to 99, ",
                            Slice::Tail => " with fewer. ",
                        })
                    }
                    "Their P add up to that of all."
                }
            }
        }
    }
}

/// What scores say: the choice of a threshold, and whether they are probabilities.
pub(super) fn scores(page: &Page<'_>) -> Markup {
    let (study, curves) = (page.study, &page.study.curves);
    if !study.has_scores {
        return html! { section {
            h2 { "Scores" }
            p { "The predictions came without scores, so there is nothing to say of thresholds and of rows that \
                 are surely wrong." }
        } };
    }
    let (Some(first), Some(last)) = (curves.by_threshold.first(), curves.by_threshold.last())
    else {
        return html! { section { h2 { "Scores" } p { "There is no prediction." } } };
    };
    let is_share = first.threshold >= 0.0 && last.threshold <= 1.0;
    html! {
        section {
            h2 { "Scores" }
            p { "A label is given if its score reaches a threshold. A higher one gives fewer labels, more of which \
                 are right." }
            (by_threshold(page, (first, last), is_share))
            (trade_off(page))
            @if is_share {
                (calibration(page))
            } @else {
                p class="note" { "The scores are no probabilities, since they lie beyond 0 and 1: train a grove, or \
                                  with --calibrate, for probabilities." }
            }
        }
    }
}

fn by_threshold(
    page: &Page<'_>,
    (first, last): (&CurvePoint, &CurvePoint),
    is_share: bool,
) -> Markup {
    let points = &page.study.curves.by_threshold;
    let line = |of: fn(&CurvePoint) -> f64| {
        points.iter().map(|point| (f64::from(point.threshold), of(point))).collect()
    };
    let (from, to) = match is_share {
        true => (0.0, 1.0),
        false => (f64::from(first.threshold), f64::from(last.threshold)),
    };
    let best = points.iter().max_by(|left, right| left.micro_f1.total_cmp(&right.micro_f1));
    let threshold = page.study.at_threshold.map(|at| at.threshold);
    let description = best.map_or_else(String::new, |best| {
        format!(
            "Precision rises and recall falls with the threshold. F1 is best at about {}, with {} percent.",
            score_text(best.threshold),
            percent(best.micro_f1)
        )
    });
    let chart = Lines {
        id: "threshold",
        title: "Precision, recall and F1 by threshold",
        description: &description,
        x: Axis::new("least score of a label that is given", from, to),
        y: Axis::of_shares("share"),
        lines: vec![
            ("precision", line(|point| point.precision)),
            ("recall", line(|point| point.recall)),
            ("F1", line(|point| point.micro_f1)),
        ],
        has_points: false,
        has_diagonal: false,
        mark: threshold.map(|at| (f64::from(at), format!("threshold {at:.3}"))),
    };
    let every = points.len().div_ceil(12).max(1);
    // Shares are hundredths from 0 on.
    let in_table = points.iter().enumerate().filter(|(at, _)| match is_share {
        true => at % 5 == 0 && *at > 0,
        false => at % every == 0,
    });
    html! {
        (chart.draw())
        p class="note" { (description) }
        details {
            summary { "The numbers" }
            div class="wide" { table {
                thead { tr {
                    th scope="col" class="n" { "threshold" } th scope="col" class="n" { "precision" }
                    th scope="col" class="n" { "recall" } th scope="col" class="n" { "F1" }
                    th scope="col" class="n" { "labels a row" }
                } }
                tbody {
                    @for (_, point) in in_table {
                        tr {
                            td class="n" { (score_text(point.threshold)) }
                            td class="n" { (percent(point.precision)) } td class="n" { (percent(point.recall)) }
                            td class="n" { (percent(point.micro_f1)) }
                            td class="n" { (format!("{:.2}", point.labels_per_row)) }
                        }
                    }
                }
            } }
        }
    }
}

fn trade_off(page: &Page<'_>) -> Markup {
    let points = &page.study.curves.precision_against_recall;
    let half = points.iter().find(|point| point.recall >= 0.5);
    let description = match (half, points.last()) {
        (Some(half), _) => format!(
            "Where half of the true labels are found, {} percent of those given are right.",
            percent(half.precision)
        ),
        (None, Some(last)) => {
            format!(
                "All predictions together find {} percent of the true labels.",
                percent(last.recall)
            )
        }
        (None, None) => String::new(),
    };
    let line = points.iter().map(|point| (point.recall, point.precision)).collect();
    let chart = Lines {
        id: "recall",
        title: "Precision against recall",
        description: &description,
        x: Axis::of_shares("recall: share of the true labels that are given"),
        y: Axis::of_shares("precision"),
        lines: vec![("precision", line)],
        has_points: false,
        has_diagonal: false,
        mark: None,
    };
    let every = points.len().div_ceil(12).max(1);
    html! {
        (chart.draw())
        p class="note" { (description) }
        details {
            summary { "The numbers" }
            div class="wide" { table {
                thead { tr {
                    th scope="col" class="n" { "recall" } th scope="col" class="n" { "precision" }
                    th scope="col" class="n" { "threshold" }
                } }
                tbody {
                    @for point in points.iter().step_by(every) {
                        tr {
                            td class="n" { (percent(point.recall)) } td class="n" { (percent(point.precision)) }
                            td class="n" { (score_text(point.threshold)) }
                        }
                    }
                }
            } }
        }
    }
}

fn calibration(page: &Page<'_>) -> Markup {
    let bins = &page.study.curves.calibration;
    let description = format!(
        "If scores are probabilities, of the labels with a score of 0.7 seven in ten are right, and the points \
         lie on the straight line. They are {} percent away from it in the mean (ECE).",
        percent(page.study.metrics.ece)
    );
    let chart = Lines {
        id: "calibration",
        title: "Are the scores probabilities?",
        description: &description,
        x: Axis::of_shares("score"),
        y: Axis::of_shares("share that is right"),
        lines: vec![("right", bins.iter().map(|bin| (bin.mean_score, bin.precision)).collect())],
        has_points: true,
        has_diagonal: true,
        mark: None,
    };
    html! {
        (chart.draw())
        p class="note" { (description) }
        details {
            summary { "The numbers" }
            div class="wide" { table {
                thead { tr {
                    th scope="col" class="n" { "mean score" } th scope="col" class="n" { "right" }
                    th scope="col" class="n" { "predictions" }
                } }
                tbody {
                    @for bin in bins {
                        tr {
                            td class="n" { (format!("{:.3}", bin.mean_score)) }
                            td class="n" { (percent(bin.precision)) } td class="n" { (bin.predictions) }
                        }
                    }
                }
            } }
        }
    }
}

/// How good frequent and rare labels are.
pub(super) fn frequencies(page: &Page<'_>) -> Markup {
    let bands = &page.study.curves.by_frequency;
    let k = page.study.metrics.at.last().map_or(0, |at| at.k);
    if bands.iter().all(|band| band.to == 0) {
        // Nothing is known of the training, or nothing was learned that is asked for here.
        return html! {};
    }
    let title = format!("Precision and recall at {k} by training rows");
    let description = "Bars for labels that training saw ever more often: the share of the suggestions of such \
                       labels that is right, and the share of such labels that is found.";
    let chart = Bars {
        id: "frequency",
        title: &title,
        description,
        x: "training rows of a label",
        y: "share",
        names: ["precision", "recall"],
        groups: bands.iter().map(|band| (band.name(), [band.precision(), band.recall()])).collect(),
    };
    html! {
        section {
            h2 { "Frequent and rare labels" }
            p { "Of a label with few rows to learn from, little can be learned." }
            (chart.draw())
            details {
                summary { "The numbers" }
                div class="wide" { table {
                    thead { tr {
                        th scope="col" { "training rows" } th scope="col" class="n" { "labels" }
                        th scope="col" class="n" { "true" } th scope="col" class="n" { "suggested" }
                        th scope="col" class="n" { "right" } th scope="col" class="n" { "precision" }
                        th scope="col" class="n" { "recall" }
                    } }
                    tbody {
                        @for band in bands {
                            tr {
                                th scope="row" { (band.name()) } td class="n" { (band.labels) }
                                td class="n" { (band.support) } td class="n" { (band.predicted) }
                                td class="n" { (band.hits) } td class="n" { (percent(band.precision())) }
                                td class="n" { (percent(band.recall())) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// The best and worst labels, and which is given instead of which.
pub(super) fn labels(page: &Page<'_>) -> Markup {
    let study = page.study;
    html! {
        section {
            h2 { "Labels" }
            p {
                "Here each row is given as many labels as it has in the data, so that every wrong label stands in \
                 the place of a right one."
            }
            @if !study.exchanges.is_empty() {
                h3 { "Given instead of another" }
                p class="note" {
                    "Often these are labels that are near each other, or that people use for the same thing. A row \
                     that misses several labels counts less for each pair."
                 }
                div class="wide" { table {
                    thead { tr {
                        th scope="col" class="name" { "in the data" } th scope="col" class="name" { "given instead" }
                        th scope="col" class="n" { "rows" }
                    } }
                    tbody {
                        @for pair in &study.exchanges {
                            tr {
                                td class="name" {
                                    (page.label(pair.missed))
                                    (example(page, Some(pair.example)))
                                }
                                td class="name" { (page.label(pair.given)) }
                                td class="n" { (pair.rows) }
                            }
                        }
                    }
                } }
            }
            @for (title, labels) in [("Found best", &study.best), ("Found worst", &study.worst)] {
                @if !labels.is_empty() { h3 { (title) } (label_table(page, labels)) }
            }
            @if study.enough > 1 {
                p class="note" { "Of the labels that at least " (study.enough) " of the tested rows have." }
            }
        }
    }
}

fn label_table(page: &Page<'_>, labels: &[LabelExample]) -> Markup {
    html! {
        div class="wide" { table {
            thead { tr {
                th scope="col" class="name" { "label" } th scope="col" class="n" { "F1" }
                th scope="col" class="n" { "precision" } th scope="col" class="n" { "recall" }
                th scope="col" class="n" { "rows" } th scope="col" class="n" { "learned from" }
            } }
            tbody {
                @for LabelExample { scores, row } in labels {
                    tr {
                        td class="name" { (page.label(scores.label)) (example(page, *row)) }
                        td class="n" { (percent(scores.f1())) } td class="n" { (percent(scores.precision())) }
                        td class="n" { (percent(scores.recall())) } td class="n" { (scores.support) }
                        td class="n" { (scores.training_rows) }
                    }
                }
            }
        } }
    }
}

/// A row to look at, in small print.
fn example(page: &Page<'_>, row: Option<usize>) -> Markup {
    html! {
        @if let Some(row) = row {
            " " small {
                @if let Some(text) = page.row_text(row, 90) { "“" bdi { (text) } "” " }
                "(" (page.row_name(row)) ")"
            }
        }
    }
}

/// The rows that the predictions contradict most surely.
pub(super) fn rows(page: &Page<'_>) -> Markup {
    let study = page.study;
    html! {
        @if !study.doubts.is_empty() {
            section {
                h2 { "Rows to look at" }
                p {
                    "The predictions contradict these rows most surely. Either the data lack a label here, or \
                     there is something that the model has misunderstood."
                }
                @for doubt in &study.doubts {
                    @if let Some(answer) = study.answers.get(&doubt.row) { (page.row_article(answer, doubt.label)) }
                }
            }
        }
    }
}

/// Size and speed.
pub(super) fn speed(page: &Page<'_>) -> Markup {
    let seconds = |stage: &str| {
        let found = page.stages.iter().find(|(name, _)| *name == stage);
        found.map(|(_, spent)| spent.seconds).filter(|&seconds| seconds > 0.0)
    };
    let rows = page.study.metrics.instances as f64;
    html! {
        @if !page.facts.is_empty() || !page.stages.is_empty() {
            section {
                h2 { "Size and speed" }
                dl {
                    @for (what, much) in page.facts { dt { (what) } dd { (much) } }
                    @for (stage, spent) in page.stages {
                        dt { "time to " (stage) }
                        dd {
                            (format!("{:.2} s", spent.seconds))
                            @if let Some(cpu) = spent.cpu_seconds { (format!(", CPU {cpu:.2} s")) }
                        }
                    }
                    @if let Some(seconds) = seconds("predict") {
                        dt { "rows a second" } dd { (format!("{:.0}", rows / seconds)) }
                    }
                }
            }
        }
    }
}
