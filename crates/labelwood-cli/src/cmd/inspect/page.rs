//! What `inspect` shows of a model to people, in lines that fit the terminal.

use std::fmt::{self, Display, Formatter};

use labelwood::Settings;
use labelwood::algorithms::Table as Figures;
use labelwood::run::Bytes;
use labelwood::settings::{Favour, Scores, shown_number};
use labelwood::words::plural;
use serde_json::Value;

use super::{CurvePoint, FrequentLabel, Inside, TreeLine};
use crate::table::{NO_BREAK, Table, write_labelled};
use crate::terminal::{shortened, table_width};

/// The columns of what stands before the figures at the top.
const INDENT: usize = 12;

impl Display for Inside<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.write(out, table_width())
    }
}

impl Inside<'_> {
    fn write(&self, out: &mut Formatter<'_>, columns: usize) -> fmt::Result {
        for (label, text) in self.top() {
            write_labelled(out, (label, INDENT), &text, columns)?;
        }
        self.write_settings(out, columns)?;
        self.write_probabilities(out, columns)?;
        self.write_labels(out, columns)?;
        // A line for each tree, and one for all of them, for each kind of tree.
        let is_same_kind =
            |left: &TreeLine, right: &TreeLine| left.figures.keys().eq(right.figures.keys());
        self.trees.chunk_by(is_same_kind).try_for_each(|trees| write_kind(out, trees, columns))
    }

    /// The lines at the top.
    fn top(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("model_id", self.model_id.clone()),
            ("algorithm", self.algorithm.to_owned()),
            (
                "trained on",
                format!(
                    "{}, {}, {}",
                    plural(self.instances, "instance"),
                    plural(self.features, "feature"),
                    plural(self.labels, "label")
                ),
            ),
        ];
        if let Some(known) = self.vocabulary.as_ref().filter(|known| known.is_rich()) {
            let languages = match &known.languages[..] {
                [] => String::new(),
                tags => format!(" ({})", tags.join(", ")),
            };
            let text = format!(
                "{} and {}{languages}, {}",
                plural(known.names, "name"),
                plural(known.further_names, "further one"),
                plural(known.broader, "broader pair")
            );
            lines.push(("vocabulary", text));
        }
        if !self.updates.is_empty() {
            let rows: Vec<String> = self.updates.iter().map(|one| one.rows.to_string()).collect();
            let rows = match self.updates {
                [one] => plural(one.rows, "row"),
                _ => format!("{} rows", rows.join(", ")),
            };
            lines.push(("updated", format!("{}, by {rows}", plural(self.updates.len(), "time"))));
        }
        let part = |&(name, bytes): &(&str, u64)| {
            let name = if name == "features" { "feature weights" } else { name };
            format!("{name} {}", Bytes(bytes)).replace(' ', NO_BREAK)
        };
        let parts: Vec<String> = self.bytes_by_part.iter().map(part).collect();
        lines.push(("size", format!("{}: {}", Bytes(self.bytes), parts.join(", "))));
        if let Some(chosen) = self.model.learned().settings().chosen() {
            lines.push(("parts", chosen.to_owned()));
        }
        if let Some(threshold) = self.threshold {
            let text =
                format!("{threshold:.3}, learned on held-out rows (predict --threshold auto)");
            lines.push(("threshold", text));
        }
        if self.favour == Favour::Tail {
            let is_calibrated = self.model.calibration().is_some();
            let weight = match self.model.learned().settings().scores(is_calibrated) {
                Scores::Probabilities => "inverse propensity",
                Scores::Unbounded => "the root of inverse propensity",
            };
            lines.push(("favours", format!("rare labels (tail): ranked by score x {weight}")));
        }
        lines
    }

    fn write_settings(&self, out: &mut Formatter<'_>, columns: usize) -> fmt::Result {
        let of_text =
            |name| self.text.as_ref().map(|text| entries(&text[name])).unwrap_or_default();
        let sections = [
            ("settings", shown_settings(&self.model.learned().settings())),
            ("made smaller", self.shrunk.as_ref().map(entries).unwrap_or_default()),
            ("documents", of_text("documents")),
            ("text to vectors", of_text("vectoriser")),
        ];
        for (title, settings) in sections.iter().filter(|(_, settings)| !settings.is_empty()) {
            writeln!(out, "\n{title}")?;
            for (name, value) in settings {
                let width = if name.contains(' ') { 34 } else { 22 };
                let name = format!("  {}", name.replace('_', "-"));
                write_labelled(out, (&name, width), &shown(value), columns)?;
            }
        }
        Ok(())
    }

    fn write_labels(&self, out: &mut Formatter<'_>, columns: usize) -> fmt::Result {
        let have = if self.unseen_labels == 1 { "has" } else { "have" };
        let line = format!(
            "labels: {}, of which {} {have} no training row",
            self.labels, self.unseen_labels
        );
        writeln!(out)?;
        write_labelled(out, ("", 0), &line, columns)?;
        for FrequentLabel { label, name, instances } in &self.frequent_labels {
            let (name, rows) =
                (name.unwrap_or_default(), if *instances == 1 { "row" } else { "rows" });
            let line = format!("  {label:>8} {instances:>9} {rows:4}  {name}");
            writeln!(out, "{}", shortened(line.trim_end(), columns))?;
        }
        Ok(())
    }

    /// What scores mean, if they are probabilities.
    fn write_probabilities(&self, out: &mut Formatter<'_>, columns: usize) -> fmt::Result {
        for Figures { name, title, rows } in &self.model.learned().tables() {
            writeln!(out)?;
            let title = format!("{}: {title}", name.replace('_', " "));
            write_labelled(out, ("", 0), &title, columns)?;
            let names = rows.first().into_iter().flat_map(|row| row.keys());
            let mut names: Vec<&String> = names.collect();
            names.sort_by_key(|name| !["instances", "number"].contains(&name.as_str()));
            let mut table = Table::new(&names);
            for row in rows {
                table.push(names.iter().map(|name| cell(name, row.get(*name))));
            }
            table.write(out, columns)?;
        }
        if !self.calibration.is_empty() {
            writeln!(out, "\ncalibration: raw scores and the probabilities that are shown")?;
        }
        for CurvePoint { score, probability } in &self.calibration {
            writeln!(out, "  {score:.1}  {probability:.3}")?;
        }
        Ok(())
    }
}

fn cell(column: &str, value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.replace('_', " "),
        Some(number) if column == "percent" => format!("{:.1}", number.as_f64().unwrap_or(0.0)),
        Some(Value::Number(number)) if number.is_f64() => {
            format!("{:.3}", number.as_f64().unwrap_or(0.0))
        }
        other => other.map(Value::to_string).unwrap_or_default(),
    }
}

/// The lines of trees of one kind; the last has the sum of each figure, but of depths and largest
/// leaves the largest.
fn write_kind(out: &mut Formatter<'_>, trees: &[TreeLine], columns: usize) -> fmt::Result {
    let names: Vec<&str> = trees[0].figures.keys().map(String::as_str).collect();
    let of = |tree: &TreeLine, name: &str| tree.figures[name].as_u64().unwrap_or(0);
    let mut table = Table::new([""].into_iter().chain(names.iter().copied()).chain(["size"]));
    let mut push = |unit: &str, figure: &dyn Fn(&str) -> u64, bytes| {
        let figures = names.iter().map(|name| figure(name).to_string());
        let cells = [unit.to_owned()].into_iter().chain(figures).chain([Bytes(bytes).to_string()]);
        table.push(cells);
    };
    for tree in trees {
        push(&tree.unit, &|name| of(tree, name), tree.bytes);
    }
    let total = |name: &str| {
        let figures = trees.iter().map(|tree| of(tree, name));
        let is_largest = name == "depth" || name.starts_with("largest");
        if is_largest { figures.max().unwrap_or(0) } else { figures.sum() }
    };
    push("all", &total, trees.iter().map(|tree| tree.bytes).sum());
    writeln!(out)?;
    table.write(out, columns)
}

/// A value of a setting, as people write it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text == " " => "space".to_owned(),
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        // A share of 1.0 is not a count of 1.
        Value::Number(number) if number.is_f64() => match number.as_f64().unwrap_or(0.0) {
            whole if whole.fract() == 0.0 => number.to_string(),
            other => shown_number(other),
        },
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// The names and values of a JSON object.
fn entries(object: &Value) -> Vec<(String, Value)> {
    let entries = object.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The settings of an algorithm; those of its parts, if it has parts, each after the part's name.
fn shown_settings(settings: &Settings) -> Vec<(String, Value)> {
    let own = |settings: &Settings| {
        let table = settings.table();
        let shown = |(name, value): (String, Value)| {
            let setting = table.iter().find(|setting| setting.name == name);
            let shown = setting.filter(|_| value.is_f64()).map(|setting| setting.shown(&value));
            (name, shown.map_or(value, Into::into))
        };
        entries(&settings.values()).into_iter().map(shown).collect::<Vec<_>>()
    };
    let of_part = |part: &Settings| {
        let named = |(name, value)| (format!("{} {name}", part.name()), value);
        own(part).into_iter().map(named).collect::<Vec<_>>()
    };
    match settings.parts() {
        [] => own(settings),
        parts => parts.iter().flat_map(of_part).collect(),
    }
}
