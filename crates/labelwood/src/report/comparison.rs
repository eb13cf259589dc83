//! A comparison as one page of HTML.

use super::chart::Axis;
use super::dots::{Intervals, Points};
use super::page::{document, percent, shortened};
use crate::base::run::Bytes;
use crate::base::words::plural;
use crate::search::compare::{Costs, Outcome, System};
use maud::{Markup, html};
use serde_json::Value;
use std::fmt::{self, Display, Formatter};

/// How many characters of a name are shown, in tables and in charts.
const NAME: usize = 60;
const SHORT_NAME: usize = 26;
/// The figures in their order.
const FIGURES: [&str; 8] = ["P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "mean of P"];

/// What came of a comparison: it displays as an HTML page that needs nothing else, no script and no network.
///
/// ```
/// # use labelwood::compare::{Comparison, Contestant, Split};
/// # use labelwood::data::{Dataset, generate::{Generator, Profile, TEST_START}};
/// # use labelwood::run::Pool;
/// # let task = Pool::new(2)?.task();
/// # let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
/// # let generator = Generator::new(profile, 1)?;
/// # let rows = |range| {
/// #     let (features, labels) = generator.rows(range, &task)?;
/// #     Ok::<_, Box<dyn std::error::Error>>(Dataset { features, labels, label_names: None, named: None })
/// # };
/// # let (train, test) = (rows(0..100)?, rows(TEST_START..TEST_START + 50)?);
/// use labelwood::report::ComparisonPage;
/// let contestants = vec![Contestant::named("neighbours")?];
/// let mut comparison = Comparison::new(contestants, 1, 42, 1, None)?;
/// comparison.try_out(&Split { train: &train, test: &test, reader: None }, &task)?;
/// let outcome = comparison.outcome(&task)?;
/// let page = ComparisonPage { title: "laws & orders", outcome: &outcome }.to_string();
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("laws &amp; orders"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ComparisonPage<'a> {
    /// What was compared on.
    pub title: &'a str,
    /// What came of it.
    pub outcome: &'a Outcome,
}

impl Display for ComparisonPage<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let outcome = self.outcome;
        let content = html! {
            p class="about" {
                (plural(outcome.systems.len(), "system")) ", tested with "
                (plural(outcome.rows, "row")) " and " (plural(outcome.labels, "label")) "."
            }
            div class="short" {
                p { (outcome.verdict()) "." }
                (in_short(outcome))
            }
            (figures(outcome))
            (differences(outcome))
            (frequencies(outcome))
            (costs(outcome))
            (settings(outcome))
            (method(outcome))
        };
        out.write_str(&document(self.title, "Comparing algorithms", &content).into_string())
    }
}

/// The systems that were trained here, with what they cost.
fn trained(outcome: &Outcome) -> Vec<(&System, Costs)> {
    outcome.systems.iter().filter_map(|system| Some((system, system.costs?))).collect()
}

/// Which system costs least.
fn in_short(outcome: &Outcome) -> Markup {
    let trained = trained(outcome);
    let least = |cost: fn(&Costs) -> f64| {
        trained.iter().min_by(|one, other| cost(&one.1).total_cmp(&cost(&other.1)))
    };
    let all = [least(seconds), least(|costs| costs.model), least(milliseconds)];
    html! {
        @if let ([Some(quick), Some(small), Some(fast)], 2..) = (all, trained.len()) {
            p {
                "Quickest to train: " (name(&quick.0.name)) ", with " (time(seconds(&quick.1)))
                " of CPU time. Smallest model: " (name(&small.0.name)) ", with " (bytes(small.1.model))
                ". Quickest to predict: " (name(&fast.0.name)) ", with " (amount(milliseconds(&fast.1)))
                " ms a row."
            }
        }
    }
}

/// CPU time where it is known.
fn seconds(costs: &Costs) -> f64 {
    costs.train_cpu_seconds.unwrap_or(costs.train_seconds)
}

fn milliseconds(costs: &Costs) -> f64 {
    costs.predict_cpu_ms.unwrap_or(costs.predict_ms)
}

/// A number of seconds or milliseconds.
fn amount(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.0005.. => format!("{value:.3}"),
        _ => "under 0.001".to_owned(),
    }
}

fn time(seconds: f64) -> String {
    amount(seconds) + " s"
}

fn bytes(bytes: f64) -> String {
    Bytes(bytes as u64).to_string()
}

/// A name as people call a system.
fn name(name: &str) -> Markup {
    html! { bdi { (shortened(name, NAME)) } }
}

/// The table of figures, and pictures of two of them.
fn figures(outcome: &Outcome) -> Markup {
    let chart = |id, figure: usize, title: &str, x| {
        let line = |system: &System| {
            let (value, range) = (system.figures.all()[figure], system.intervals.all()[figure]);
            let text =
                format!("{} ({}–{})", percent(value), percent(range.from), percent(range.to));
            let values = [value, range.from, range.to].map(|value| 100.0 * value);
            (shortened(&system.name, SHORT_NAME), values, text)
        };
        let mut lines: Vec<_> = outcome.systems.iter().map(line).collect();
        lines.sort_by(|one, other| other.1[0].total_cmp(&one.1[0]));
        let description = lines.first().map_or_else(String::new, |(name, _, text)| {
            format!("A line for each system, the best first: {name} with {text}. The table has all numbers.")
        });
        let x = Axis::around(x, lines.iter().flat_map(|(_, values, _)| *values));
        Intervals { id, title, description: &description, x, lines }.draw()
    };
    let rare = "PSP@5, which counts rare labels more";
    html! {
        section {
            h2 { "Figures" }
            div class="wide" { table {
                thead { tr {
                    th scope="col" { "percent" }
                    @for figure in FIGURES { th scope="col" class="n" { (figure) } }
                } }
                tbody { @for system in &outcome.systems { (figure_row(system)) } }
            } }
            p class="note" {
                "Below each figure is the range that holds 95 % of the figures that as many rows of the same kind would \
                 give. Bold ones are the best of their column or may be as good. P@k is the share of the first k \
                 suggestions that is right, nDCG also counts how far up they stand, and PSP counts rare labels more."
            }
            (chart("precision", 7, "Mean of P@1, P@3 and P@5", "percent"))
            (chart("rare", 6, rare, "percent"))
        }
    }
}

fn figure_row(system: &System) -> Markup {
    let figures = system.figures.all().into_iter().zip(system.intervals.all());
    html! {
        tr {
            th scope="row" { (name(&system.name)) }
            @for ((figure, range), may_be_best) in figures.zip(system.may_be_best) {
                td class="n" {
                    @if may_be_best { b { (percent(figure)) } } @else { (percent(figure)) }
                    small { (percent(range.from)) "–" (percent(range.to)) }
                }
            }
        }
    }
}

/// How far each system is behind the best, row by row.
fn differences(outcome: &Outcome) -> Markup {
    let points = |share: f64| format!("{:.2}", -100.0 * share + 0.0);
    let behind: Vec<_> =
        outcome.systems.iter().filter_map(|system| Some((system, system.lead?))).collect();
    let best = outcome.systems.first().map_or("", |system| &system.name);
    html! {
        @if !behind.is_empty() {
            section {
                h2 { "Who is surely ahead?" }
                p {
                    "Ranges of figures may overlap although one system is surely better, because all were tested with \
                     the same rows. So the difference is looked at row by row: how far each is behind "
                    (name(best)) " in the mean of P@1, P@3 and P@5. If the range does not reach 0, it surely is."
                }
                div class="wide" { table {
                    thead { tr {
                        th scope="col" { "system" } th scope="col" class="n" { "points behind" }
                        th scope="col" class="n" { "between" } th scope="col" { "so it is" }
                    } }
                    tbody {
                        @for (system, lead) in behind {
                            tr {
                                th scope="row" { (name(&system.name)) }
                                td class="n" { (points(lead.difference)) }
                                td class="n" { (points(lead.high)) " and " (points(lead.low)) }
                                td { (if lead.is_behind() { "surely behind" } else { "perhaps as good" }) }
                            }
                        }
                    }
                } }
                p class="note" { "All ranges together hold in 95 of 100 cases, so each is wider with more systems." }
            }
        }
    }
}

/// How many labels each system finds, by how often training saw them.
fn frequencies(outcome: &Outcome) -> Markup {
    let bands = outcome.systems.first().map_or(&[][..], |system| &system.by_frequency);
    let share = |system: &System, from: u32| {
        let found = system.by_frequency.iter().find(|band| band.from == from);
        found.map_or(0.0, |band| band.recall())
    };
    html! {
        @if bands.len() > 1 {
            section {
                h2 { "Frequent and rare labels" }
                p { "The share of the true labels that stand among the first five suggestions, in percent, for labels that \
                     training saw ever more often. The stronger the colour, the more." }
                div class="wide" { table class="shades" {
                    thead { tr {
                        th scope="col" { "training rows" }
                        @for band in bands { th scope="col" class="n" { (band.name()) } }
                    } }
                    tbody {
                        @for system in &outcome.systems {
                            tr {
                                th scope="row" { (name(&system.name)) }
                                @for band in bands {
                                    @let share = share(system, band.from);
                                    td class="n" style={ "--share:" (percent(share)) "%" } { (percent(share)) }
                                }
                            }
                        }
                        tr {
                            th scope="row" { small { "tested" } }
                            @for band in bands { td class="n" { small { (band.support) } } }
                        }
                    }
                } }
            }
        }
    }
}

/// What the systems cost, and what is had for it.
fn costs(outcome: &Outcome) -> Markup {
    let trained = trained(outcome);
    let chart = |id, title, x, cost: &dyn Fn(&Costs) -> f64| {
        let point = |(system, costs): &(&System, Costs)| {
            let figure = 100.0 * system.figures.mean_p;
            (shortened(&system.name, SHORT_NAME), cost(costs).max(1e-4), figure)
        };
        let points: Vec<_> = trained.iter().map(point).collect();
        let description = "Systems further up are better, those further left cost less. The table has the numbers.";
        let x = Axis::of_ratios(x, points.iter().map(|point| point.1));
        let y = Axis::around("mean of P, percent", points.iter().map(|point| point.2));
        Points { id, title, description, x, y, points }.draw()
    };
    html! {
        @if !trained.is_empty() {
            section {
                h2 { "Costs" }
                @if trained.len() > 1 {
                    (chart("training", "Accuracy and training", "training, seconds of CPU time", &seconds))
                    (chart("size", "Accuracy and size", "model, MB", &|costs| costs.model / 1e6))
                }
                div class="wide" { table {
                    thead { tr {
                        th scope="col" { "system" } th scope="col" class="n" { "training, CPU" }
                        th scope="col" class="n" { "by the clock" } th scope="col" class="n" { "memory" }
                        th scope="col" class="n" { "model" } th scope="col" class="n" { "ms a row" }
                    } }
                    tbody {
                        @for (system, costs) in &trained {
                            tr {
                                th scope="row" { (name(&system.name)) }
                                td class="n" { (costs.train_cpu_seconds.map_or_else(String::new, time)) }
                                td class="n" { (time(costs.train_seconds)) }
                                td class="n" { (bytes(costs.memory)) } td class="n" { (bytes(costs.model)) }
                                td class="n" { (amount(milliseconds(costs))) }
                            }
                        }
                    }
                } }
                p class="note" {
                    "Means over all rounds. CPU time is that of all threads together, memory is estimated, and the last \
                     column is the CPU time of predicting a row."
                }
            }
        }
    }
}

/// The settings of each system that was trained here.
fn settings(outcome: &Outcome) -> Markup {
    let trained =
        outcome.systems.iter().filter_map(|system| Some((system, system.settings.as_ref()?)));
    html! {
        section {
            h2 { "Settings" }
            @for (system, settings) in trained {
                details {
                    summary { (name(&system.name)) }
                    dl { @for (name, value) in listed(settings) { dt { (name) } dd { (value) } } }
                }
            }
        }
    }
}

/// Settings with their values, those within others after the name of these and a point.
fn listed(settings: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let parts: Vec<(String, &Value)> = match settings {
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, value)| ((at + 1).to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in parts {
        match value {
            Value::Object(_) | Value::Array(_) => {
                let inner = listed(value).into_iter();
                all.extend(inner.map(|(inner, value)| (format!("{name}.{inner}"), value)));
            }
            Value::Null => all.push((name, "auto".to_owned())),
            Value::String(text) => all.push((name, text.clone())),
            other => all.push((name, other.to_string())),
        }
    }
    all
}

/// How it was measured.
fn method(outcome: &Outcome) -> Markup {
    let seeds: Vec<String> = outcome.seeds.iter().map(u64::to_string).collect();
    html! {
        section {
            h2 { "How this was measured" }
            dl {
                dt { "learned from" }
                dd {
                    (plural(outcome.training_rows, "row")) " with " (plural(outcome.features, "feature")) " and "
                    (plural(outcome.labels, "label")) @if outcome.splits > 1 { ", in the first fold" }
                }
                dt { "tested with" }
                dd {
                    (plural(outcome.rows, "row"))
                    @if outcome.splits > 1 { ", each once in one of " (outcome.splits) " folds" }
                }
                dt { (if seeds.len() > 1 { "seeds" } else { "seed" }) } dd { (seeds.join(", ")) }
                dt { "rounds" }
                dd {
                    (outcome.rounds)
                    @if outcome.rounds < outcome.planned_rounds { " of " (outcome.planned_rounds) ": the time was up" }
                }
            }
            p {
                "All systems learned from the same rows, and were tested with the same others. Ranges come from a \
                 bootstrap: two thousand times as many rows as there are are drawn from those that were tested, with \
                 replacement and the same ones for all systems. They say nothing of rows of another kind, nor of what \
                 other rows to learn from would give."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_within_others_have_their_names_in_front() {
        let settings = json!({ "a": null, "parts": [{ "b": 1.5 }, { "b": "x" }] });
        let found: Vec<String> =
            listed(&settings).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(found, ["a=auto", "parts.1.b=1.5", "parts.2.b=x"]);
    }
}
