//! The line-based formats `tsv` and `xc`, and the lines that `jsonl` is made of too.

use super::documents::shortened;
use super::file_rows::FileRows;
use super::{KnownLabels, RowBuilder, by_label, is_number, parse_score};
use crate::base::sparse::{Predictions, Scored};
use crate::base::words::plural;
use crate::data::documents::{TextBlock, TextBlocks};
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

/// Reads rows of one line each: `parse` takes a line and the number of its row. `first` is the first
/// block, if it was read already.
pub(super) fn read_lines(
    blocks: &mut TextBlocks<'_>,
    first: Option<TextBlock>,
    meter: &mut MemoryMeter,
    mut parse: impl FnMut(&str, usize, &mut RowBuilder) -> Parsed,
) -> Result<FileRows, ReadError> {
    let mut read = FileRows { first_line: Some(1), ..FileRows::default() };
    let mut row = RowBuilder::default();
    let mut next = match first {
        Some(first) => Some(first),
        None => blocks.next()?,
    };
    while let Some(block) = next {
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
        next = blocks.next()?;
    }
    read.has_scores = row.has_scores;
    Ok(read)
}

/// Reads labels with their scores, or without; `ids` are those of the data.
pub(super) fn read_tsv(
    blocks: &mut TextBlocks<'_>,
    known: KnownLabels<'_>,
    ids: &[Option<String>],
    meter: &mut MemoryMeter,
) -> Result<FileRows, ReadError> {
    let first = blocks.next()?;
    let start = first.as_ref().map_or("", |block| &block.text);
    if !has_scores(start, known) {
        let is_id = |field: &str| ids.iter().flatten().any(|id| shortened(id, usize::MAX) == field);
        let mut start = start.lines().map(|line| line.split('\t').next().unwrap_or(line).trim());
        let has_ids = start.find(|field| !field.is_empty()).is_some_and(is_id);
        return read_labels(blocks, first, known, has_ids, meter);
    }
    // Whether rows start with a document's id, which the first row that is not blank shows.
    let mut has_ids = None;
    let mut is_blank = true;
    let mut read = read_lines(blocks, first, meter, |line, _, row| {
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

/// Whether more of the fields of some lines are labels with a score than labels alone. The first field
/// of a line counts if there are no others: it may be an id.
fn has_scores(lines: &str, known: KnownLabels<'_>) -> bool {
    let (mut scored, mut alone) = (0, 0);
    for skipped in [1, 0] {
        for field in lines.lines().flat_map(|line| line.split('\t').skip(skipped)) {
            let field = field.trim();
            if (known.id)(field).is_some() || is_number(field) {
                alone += 1;
            } else if is_entry(field) {
                scored += 1;
            }
        }
        if scored + alone > 0 {
            break;
        }
    }
    scored >= alone
}

/// Reads labels without scores, the best first.
fn read_labels(
    blocks: &mut TextBlocks<'_>,
    first: Option<TextBlock>,
    known: KnownLabels<'_>,
    has_ids: bool,
    meter: &mut MemoryMeter,
) -> Result<FileRows, ReadError> {
    let mut read = read_lines(blocks, first, meter, |line, _, row| {
        let mut start = 0;
        for (at, piece) in line.split('\t').enumerate() {
            let column = start + 1 + piece.len() - piece.trim_start().len();
            start += piece.len() + 1;
            match piece.trim() {
                "" => {}
                id if at == 0 && has_ids => row.id = Some(unquoted(id).to_owned()),
                label => {
                    let label = known.resolve(label).map_err(|problem| (column, problem))?;
                    row.push(label, None, column)?;
                }
            }
        }
        Ok(Line::Row)
    })?;
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
    let read = read_lines(blocks, None, meter, |line, _, row| {
        if std::mem::take(&mut is_first) {
            header = parse_header(line);
            if header.is_some() {
                return Ok(Line::Header);
            }
        }
        let count = header.map_or(known.count, |(_, labels)| known.count.min(labels));
        parse_row(line, 0, ' ', ':', KnownLabels { count, id: &id, ..known }, row)
    })?;
    match header {
        Some((rows, _)) if rows != read.predictions.len() => {
            let found = read.predictions.len();
            let are = if found == 1 { "is" } else { "are" };
            let problem = format!(
                "the header declares {}, but there {are} {found}: is the file whole?",
                plural(rows, "row")
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
            // A number alone is a label without a score; with blanks around it could be anything.
            if inner == ':' && is_number(entry) {
                let id = known.resolve(entry).map_err(|problem| (column, problem))?;
                row.push(id, None, column)?;
                continue;
            }
            let expected = if inner == ' ' { "label score" } else { "label:score" };
            return Err((column, format!("expected `{expected}` but found `{}`", excerpt(entry))));
        };
        let id = known.resolve(label.trim_end()).map_err(|problem| (column, problem))?;
        let at = column + label.len() + 1;
        let score = parse_score(score).map_err(|problem| (at, problem))?;
        row.push(id, Some(score), column)?;
    }
    Ok(Line::Row)
}

pub(super) fn write_tsv(
    out: &mut impl Write,
    predictions: &Predictions,
    labels_only: bool,
) -> io::Result<()> {
    let inner = (!labels_only).then_some(' ');
    predictions.rows().try_for_each(|row| write_row(out, row, '\t', inner))
}

/// The first line of an xc file.
pub(super) fn write_header(out: &mut impl Write, rows: u64, labels: usize) -> io::Result<()> {
    writeln!(out, "{rows} {labels}")
}

/// The rows of an xc file: labels in their order with scores, or the best first without.
pub(super) fn write_xc(
    out: &mut impl Write,
    predictions: &Predictions,
    labels_only: bool,
) -> io::Result<()> {
    predictions.rows().try_for_each(|row| match labels_only {
        true => write_row(out, row, ' ', None),
        false => write_row(out, &by_label(row), ' ', Some(':')),
    })
}

/// Writes labels with `outer` between them, and after each `inner` and its score unless there are none.
fn write_row(
    out: &mut impl Write,
    row: &[Scored],
    outer: char,
    inner: Option<char>,
) -> io::Result<()> {
    for (at, scored) in row.iter().enumerate() {
        if at > 0 {
            write!(out, "{outer}")?;
        }
        write!(out, "{}", scored.id)?;
        if let Some(inner) = inner {
            write!(out, "{inner}{}", scored.score)?;
        }
    }
    writeln!(out)
}
