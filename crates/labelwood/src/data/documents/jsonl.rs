//! Lines that are JSON objects.

use super::super::error::{ReadError, excerpt, first_of, json_fault, no_such_field};
use super::super::rows::split_at_lines;
use super::batch::{Batch, Span};
use super::blocks::TextBlocks;
use super::csv::find_name;
use super::{Labels, Options};
use crate::base::run::Task;
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// About how many bytes one thread parses at a time.
const CHUNK: usize = 256 << 10;

/// Reads the lines of a file.
pub(super) struct Reader<'a> {
    blocks: TextBlocks<'a>,
    fields: Fields,
    /// What is wrong behind the last batch.
    failed: Option<ReadError>,
}

/// Which fields are wanted: paths of keys with points between them.
struct Fields {
    text: Vec<String>,
    labels: Vec<String>,
    labels_are: Labels,
    /// The field of the id, and whether it must be there.
    id: (String, bool),
}

/// An error with its line within a chunk, counted from 0, and its column, counted from 1.
type Fault = (u64, u64, String);

impl<'a> Reader<'a> {
    pub(super) fn new(blocks: TextBlocks<'a>, options: &Options, labels: Labels) -> Self {
        // Lists are followed wherever they are, so `[]` in a path has no effect.
        let path = |name: &String| name.replace("[]", "");
        let fields = Fields {
            text: options.text.iter().map(path).collect(),
            labels: options.labels.iter().map(path).collect(),
            labels_are: labels,
            id: (options.id.as_ref().map_or("id".to_owned(), path), options.id.is_some()),
        };
        Reader { blocks, fields, failed: None }
    }

    /// The documents of the next block, parsed on all threads.
    pub(super) fn next(
        &mut self,
        keeps_fields: bool,
        task: &Task,
    ) -> Result<Option<Batch>, ReadError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let Some(block) = self.blocks.next()? else { return Ok(None) };
        let chunks = split_at_lines(block.text.as_bytes(), CHUNK);
        let parsed: Vec<_> = task.install(|| {
            let parse = |chunk| task.check().map(|()| self.fields.parse(chunk, keeps_fields));
            chunks.par_iter().map(|chunk| parse(chunk)).collect()
        });
        let mut batch = Batch::default();
        let mut line = block.first_line;
        for (part, chunk) in parsed.into_iter().zip(&chunks) {
            let (part, fault) = part?;
            batch.append(&part);
            if let Some((row, column, problem)) = fault {
                let failed = self.blocks.fault((line + row, column), problem);
                if batch.is_empty() {
                    return Err(failed);
                }
                self.failed = Some(failed);
                break;
            }
            line += memchr::memchr_iter(b'\n', chunk).count() as u64;
        }
        Ok(Some(batch))
    }
}

impl Fields {
    /// The documents up to the first line that is wrong.
    fn parse(&self, lines: &[u8], keeps_fields: bool) -> (Batch, Option<Fault>) {
        let mut batch = Batch::default();
        for (row, line) in lines.split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            if let Err((column, problem)) = self.parse_line(line, keeps_fields, &mut batch) {
                return (batch, Some((row as u64, column, problem)));
            }
        }
        (batch, None)
    }

    fn parse_line(
        &self,
        line: &[u8],
        keeps_fields: bool,
        batch: &mut Batch,
    ) -> Result<(), (u64, String)> {
        let object: Map<String, Value> = serde_json::from_slice(line).map_err(|error| {
            let (column, reason) = json_fault(&error);
            let problem = format!(
                "this is no JSON object ({reason}): every line must be one, such as \
                 `{{\"text\": \"Birds\"}}`"
            );
            (column as u64, problem)
        })?;
        self.take(&object, batch).map_err(|problem| (1, problem))?;
        if keeps_fields {
            let line = String::from_utf8_lossy(line.trim_ascii());
            let line = batch.store([&*line], "");
            batch.keep(line);
        }
        Ok(())
    }

    /// Adds the document that an object holds.
    fn take(&self, object: &Map<String, Value>, batch: &mut Batch) -> Result<(), String> {
        let mut found = Vec::new();
        if !collect_all(object, &self.text, &mut found)? && self.labels_are != Labels::Alone {
            return Err(missing(object, self.text.first().map_or("text", String::as_str)));
        }
        let is_filled = |text: &&Cow<str>| !text.is_empty();
        let text = batch.store(found.iter().filter(is_filled).map(|text| &**text), " ");
        found.clear();
        let (path, is_required) = &self.id;
        if !collect(object, path, &mut found)? && *is_required {
            return Err(missing(object, path));
        }
        let id = batch.store(found.iter().map(|id| &**id), " ");
        found.clear();
        if !collect_all(object, &self.labels, &mut found)? && self.labels_are != Labels::Optional {
            return Err(missing(object, self.labels.first().map_or("labels", String::as_str)));
        }
        let labels: Vec<Span> = found.iter().map(|label| batch.store([&**label], "")).collect();
        batch.push(text, id, labels);
        Ok(())
    }
}

/// Collects what is at several paths; true if at least one of them exists.
fn collect_all<'v>(
    object: &'v Map<String, Value>,
    paths: &[String],
    found: &mut Vec<Cow<'v, str>>,
) -> Result<bool, String> {
    let mut is_there = false;
    for path in paths {
        is_there |= collect(object, path, found)?;
    }
    Ok(is_there)
}

/// Says that there is nothing at a path, and which keys there are where the path ends.
fn missing(object: &Map<String, Value>, path: &str) -> String {
    let (mut at, mut place, mut rest) = (object, String::new(), path);
    while let Some((key, below)) = rest.split_once('.') {
        let Some(mut value) = member(at, key) else { break };
        let mut marks = "";
        while let Value::Array(values) = value {
            let Some(first) = values.first() else { break };
            (value, marks) = (first, "[]");
        }
        let Value::Object(object) = value else { break };
        let point = if place.is_empty() { "" } else { "." };
        place = format!("{place}{point}{key}{marks}");
        (at, rest) = (object, below);
    }
    let keys = at.keys().map(String::as_str);
    if place.is_empty() {
        return no_such_field("field", rest, keys);
    }
    let (rest, keys) = (excerpt(rest), first_of(keys));
    format!("there is no key `{rest}` in `{place}`: there are {keys}; name the key to take")
}

/// The value of a key, or of the only one that differs from it by case and blanks alone.
fn member<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    object.get(key).or_else(|| {
        let at = find_name(key, object.keys().map(String::as_str))?;
        object.values().nth(at)
    })
}

/// Collects the strings and numbers at a path below an object; true if the path exists.
fn collect<'v>(
    object: &'v Map<String, Value>,
    path: &str,
    found: &mut Vec<Cow<'v, str>>,
) -> Result<bool, String> {
    collect_below(object, path, found).map_err(|Objects { key, are_several }| {
        let marks = if are_several { "[]" } else { "" };
        let name = excerpt(path);
        format!(
            "the field `{name}` holds {}: name the key within to take, as in `{name}{marks}.{}`",
            if are_several { "objects" } else { "an object" },
            excerpt(key)
        )
    })
}

/// There are objects where a string is due: a key of theirs, and whether they stand in a list.
struct Objects<'v> {
    key: &'v str,
    are_several: bool,
}

/// A key may itself hold points, so the longest way to read a path is tried first.
fn collect_below<'v>(
    object: &'v Map<String, Value>,
    path: &str,
    found: &mut Vec<Cow<'v, str>>,
) -> Result<bool, Objects<'v>> {
    let (value, rest) = match member(object, path) {
        Some(value) => (value, ""),
        None => match path.split_once('.') {
            Some((key, rest)) => match member(object, key) {
                Some(value) => (value, rest),
                None => return Ok(false),
            },
            None => return Ok(false),
        },
    };
    collect_value(value, rest, found)
}

/// Collects what is at the `rest` of a path below a value.
fn collect_value<'v>(
    value: &'v Value,
    rest: &str,
    found: &mut Vec<Cow<'v, str>>,
) -> Result<bool, Objects<'v>> {
    match value {
        Value::Array(values) => {
            let mut is_there = values.is_empty();
            for value in values {
                let inner = collect_value(value, rest, found);
                is_there |= inner.map_err(|objects| Objects { are_several: true, ..objects })?;
            }
            return Ok(is_there);
        }
        Value::Object(object) if !rest.is_empty() => return collect_below(object, rest, found),
        Value::Object(object) => {
            // One that is likely to be meant goes before the first.
            let likely = ["title", "name", "label", "uri", "id"];
            let likely = likely.into_iter().find(|key| object.contains_key(*key));
            let key = likely.or_else(|| object.keys().next().map(String::as_str)).unwrap_or("key");
            return Err(Objects { key, are_several: false });
        }
        Value::Null => return Ok(true),
        _ if !rest.is_empty() => return Ok(false),
        Value::String(text) => found.push(Cow::Borrowed(text)),
        Value::Number(number) => found.push(Cow::Owned(number.to_string())),
        Value::Bool(truth) => found.push(Cow::Owned(truth.to_string())),
    }
    Ok(true)
}
