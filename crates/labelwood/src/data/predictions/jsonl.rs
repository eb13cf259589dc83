//! The format `jsonl`: one JSON object per row.

use super::documents::{WrittenLabel, WrittenRow};
use super::file_rows::FileRows;
use super::text::{Line, Parsed, read_lines};
use super::{KnownLabels, RowBuilder};
use crate::base::sparse::{Predictions, Scored};
use crate::data::documents::TextBlocks;
use crate::data::error::{ReadError, json_fault};
use crate::data::source::MemoryMeter;
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, Write};

#[derive(Deserialize)]
struct ReadRow {
    row: Option<u64>,
    id: Option<Value>,
    labels: Vec<ReadLabel>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ReadLabel {
    Alone(Label),
    Full(FullLabel),
}

#[derive(Deserialize)]
struct FullLabel {
    label: Option<Label>,
    code: Option<String>,
    name: Option<String>,
    score: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Id(u64),
    Name(String),
}

pub(super) fn read(
    blocks: &mut TextBlocks<'_>,
    known: KnownLabels<'_>,
    meter: &mut MemoryMeter,
) -> Result<FileRows, ReadError> {
    read_lines(blocks, None, meter, |line, number, row| parse_row(line, number as u64, known, row))
}

fn parse_row(line: &str, number: u64, known: KnownLabels<'_>, row: &mut RowBuilder) -> Parsed {
    let parsed: ReadRow = serde_json::from_str(line).map_err(|error| {
        let (column, reason) = json_fault(&error);
        let expected = r#"{"row":0,"labels":[{"label":7,"score":0.9}]}"#;
        (column, format!("{reason}: expected one object like `{expected}`"))
    })?;
    if let Some(found) = parsed.row.filter(|&found| found != number) {
        row.misplaced = Some(format!(
            "\"row\" is {found} where {number} is due, as it counts from 0: sort the rows, skip none"
        ));
    }
    row.id = match parsed.id {
        Some(Value::String(id)) => Some(id).filter(|id| !id.is_empty()),
        Some(id @ (Value::Number(_) | Value::Bool(_))) => Some(id.to_string()),
        _ => None,
    };
    for entry in parsed.labels {
        let entry = match entry {
            ReadLabel::Full(entry) => entry,
            ReadLabel::Alone(label) => {
                FullLabel { label: Some(label), code: None, name: None, score: None }
            }
        };
        // The label's code goes before its number, which depends on the order of the training rows.
        let by_code = entry.code.as_deref().and_then(known.id);
        let id = match (by_code, &entry.label, &entry.name) {
            (Some(id), ..) => known.check(u64::from(id)),
            // The number of a label whose code nobody knows is that of another list of labels.
            _ if entry.code.is_some() => {
                let code = entry.code.as_deref().unwrap_or_default();
                let by_name = entry.name.as_deref().and_then(known.id);
                by_name.map_or_else(|| known.resolve(code), |id| known.check(u64::from(id)))
            }
            (None, Some(Label::Id(id)), _) => known.check(*id),
            (None, Some(Label::Name(name)), _) | (None, None, Some(name)) => known.resolve(name),
            (None, None, None) => Err("an entry has neither `label` nor `name`".to_owned()),
        };
        let id = id.map_err(|problem| (1, problem))?;
        let score = entry.score.map(|score| score as f32);
        if score.is_some_and(|score| !score.is_finite()) {
            return Err((1, format!("the score of label {id} is not a finite 32-bit number")));
        }
        row.push(id, score, 1)?;
    }
    Ok(Line::Row)
}

/// Writes rows that are numbered from `first` on.
pub(super) fn write<'n>(
    out: &mut impl Write,
    predictions: &Predictions,
    first: usize,
    labels_only: bool,
    name: impl Fn(u32) -> Option<&'n str>,
) -> io::Result<()> {
    for (row, scored) in (first..).zip(predictions.rows()) {
        let row = row as u64;
        if labels_only {
            let labels = scored.iter().map(|scored| scored.id).collect();
            serde_json::to_writer(&mut *out, &WrittenRow { row, id: None, labels })?;
            writeln!(out)?;
            continue;
        }
        let written = |&Scored { id, score }: &Scored| WrittenLabel {
            label: id,
            code: None,
            name: name(id),
            score,
        };
        let labels = scored.iter().map(written).collect();
        serde_json::to_writer(&mut *out, &WrittenRow { row, id: None, labels })?;
        writeln!(out)?;
    }
    Ok(())
}
