//! The line-based formats `tsv` and `xc`, and the lines that `jsonl` is made of too.

use super::file_rows::FileRows;
use super::{KnownLabels, RowBuilder, by_label, is_number, parse_score};
use crate::base::sparse::{Predictions, Scored};
use crate::data::documents::TextBlocks;
use crate::data::error::{ReadError, excerpt};
use crate::data::source::MemoryMeter;
use std::io::{self, Write};

/// The kind of a line; an error has its column.
pub(super) type Parsed = Result<Line, (usize, String)>;

/// A line that was parsed.
pub(super) enum Line {
    /// A row, whose entries were pushed.
    Row,
    /// A line before the rows.
    Header,
}

/// Reads rows of one line each: `parse` takes a line and the number of its row.
pub(super) fn read_lines(
    blocks: &mut TextBlocks<'_>,
    meter: &mut MemoryMeter,
    mut parse: impl FnMut(&str, usize, &mut RowBuilder) -> Parsed,
) -> Result<FileRows, ReadError> {
    let mut read = FileRows { first_line: Some(1), ..FileRows::default() };
    let mut row = RowBuilder::default();
    while let Some(block) = blocks.next()? {
        for (number, line) in (block.first_line..).zip(block.text.lines()) {
            let parsed = parse(line, read.predictions.len(), &mut row);
            let parsed = parsed.and_then(|line| match line {
                Line::Row => row.finish(&mut read.predictions).map(|()| true),
                Line::Header => Ok(false),
            });
            let error = |(column, problem)| blocks.fault((number, column as u64), problem);
            if !parsed.map_err(error)? {
                read.first_line = Some(number + 1);
                continue;
            }
            read.push_id(row.id.take());
            if let Some(problem) = row.misplaced.take() {
                read.misplaced.get_or_insert_with(|| error((1, problem)));
            }
            meter.set(read.bytes())?;
        }
    }
    Ok(read)
}

pub(super) fn read_tsv(
    blocks: &mut TextBlocks<'_>,
    known: KnownLabels<'_>,
    meter: &mut MemoryMeter,
) -> Result<FileRows, ReadError> {
    // Whether rows start with a document's id, which the first row that is not blank shows.
    let mut has_ids = None;
    let mut is_blank = true;
    let mut read = read_lines(blocks, meter, |line, _, row| {
        let first = line.split('\t').next().unwrap_or(line);
        let (mut start, is_id) = (0, !is_entry(first));
        if !first.trim().is_empty() {
            match (*has_ids.get_or_insert(is_id), is_id) {
                (true, true) => {
                    start = first.len();
                    row.id = Some(unquoted(first).to_owned());
                }
                (true, false) => {
                    let problem = format!(
                        "expected the id of a document, as rows before have one, but found `{}`",
                        excerpt(first)
                    );
                    return Err((1, problem));
                }
                (false, _) => {}
            }
        }
        let parsed = parse_row(line, start, '\t', ' ', known, row)?;
        is_blank &= row.is_empty();
        Ok(parsed)
    })?;
    if has_ids == Some(true) && is_blank {
        let problem = "no row has a `label score`: state the right format, and predict with scores";
        return Err(blocks.fault((1, 1), problem));
    }
    read.has_plain_ids = true;
    Ok(read)
}

/// An id without the quotes that distinguish it from a label with its score.
fn unquoted(id: &str) -> &str {
    let inner = id.trim().strip_prefix('"').and_then(|id| id.strip_suffix('"'));
    inner.filter(|id| is_entry(id)).unwrap_or(id.trim())
}

/// Whether a field of a tsv file has the form `label score`; else it is the id of a document.
pub(super) fn is_entry(field: &str) -> bool {
    let parts = field.trim().rsplit_once(' ');
    parts.is_some_and(|(_, score)| fast_float2::parse::<f32, _>(score).is_ok())
}

pub(super) fn read_xc(
    blocks: &mut TextBlocks<'_>,
    known: KnownLabels<'_>,
    meter: &mut MemoryMeter,
) -> Result<FileRows, ReadError> {
    let id = |name: &str| if is_number(name) { None } else { (known.id)(name) };
    let mut header = None;
    let mut is_first = true;
    let read = read_lines(blocks, meter, |line, _, row| {
        if std::mem::take(&mut is_first) {
            header = parse_header(line);
            if header.is_some() {
                return Ok(Line::Header);
            }
        }
        let labels = header.map_or(known.labels, |(_, labels)| known.labels.min(labels));
        parse_row(line, 0, ' ', ':', KnownLabels { labels, id: &id }, row)
    })?;
    match header {
        Some((rows, _)) if rows != read.predictions.len() => {
            let found = read.predictions.len();
            let problem = format!(
                "the header declares {rows} rows, but there are {found}: is the file whole?"
            );
            Err(blocks.fault((1, 1), problem))
        }
        _ => Ok(read),
    }
}

/// `rows labels`, if the line is a header.
fn parse_header(line: &str) -> Option<(usize, usize)> {
    let mut numbers = line.split_ascii_whitespace();
    let header = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    numbers.next().is_none().then_some(header)
}

/// Parses entries `label<inner>score` that `outer` separates, from a byte of the line on.
fn parse_row(
    line: &str,
    mut start: usize,
    outer: char,
    inner: char,
    known: KnownLabels<'_>,
    row: &mut RowBuilder,
) -> Parsed {
    for piece in line[start..].split(outer) {
        let column = start + 1 + piece.len() - piece.trim_start().len();
        start += piece.len() + 1;
        let entry = piece.trim();
        if entry.is_empty() {
            continue;
        }
        let Some((label, score)) = entry.rsplit_once(inner) else {
            let expected = if inner == ' ' { "label score" } else { "label:score" };
            return Err((column, format!("expected `{expected}` but found `{}`", excerpt(entry))));
        };
        let id = known.resolve(label.trim_end()).map_err(|problem| (column, problem))?;
        let at = column + label.len() + 1;
        row.push(id, parse_score(score).map_err(|problem| (at, problem))?, column);
    }
    Ok(Line::Row)
}

pub(super) fn write_tsv(out: &mut impl Write, predictions: &Predictions) -> io::Result<()> {
    predictions.rows().try_for_each(|row| write_row(out, row, '\t', ' '))
}

/// The first line of an xc file.
pub(super) fn write_header(out: &mut impl Write, rows: u64, labels: usize) -> io::Result<()> {
    writeln!(out, "{rows} {labels}")
}

/// The rows of an xc file.
pub(super) fn write_xc(out: &mut impl Write, predictions: &Predictions) -> io::Result<()> {
    predictions.rows().try_for_each(|row| write_row(out, &by_label(row), ' ', ':'))
}

fn write_row(out: &mut impl Write, row: &[Scored], outer: char, inner: char) -> io::Result<()> {
    for (at, scored) in row.iter().enumerate() {
        if at > 0 {
            write!(out, "{outer}")?;
        }
        write!(out, "{}{inner}{}", scored.id, scored.score)?;
    }
    writeln!(out)
}
