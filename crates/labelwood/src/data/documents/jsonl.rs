//! Lines that are JSON objects.

use super::super::error::{ReadError, excerpt, json_fault, no_such_field};
use super::super::rows::split_at_lines;
use super::batch::{Batch, Span};
use super::blocks::TextBlocks;
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
}

/// Which fields are wanted: paths of keys with points between them.
struct Fields {
    text: Vec<String>,
    labels: String,
    are_labels_required: bool,
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
            labels: path(&options.labels),
            are_labels_required: labels == Labels::Required,
            id: (options.id.as_ref().map_or("id".to_owned(), path), options.id.is_some()),
        };
        Reader { blocks, fields }
    }

    /// The documents of the next block, parsed on all threads.
    pub(super) fn next(&mut self, task: &Task) -> Result<Option<Batch>, ReadError> {
        let Some(block) = self.blocks.next()? else { return Ok(None) };
        let chunks = split_at_lines(block.text.as_bytes(), CHUNK);
        let parsed: Vec<_> = task.install(|| {
            chunks.par_iter().map(|chunk| task.check().map(|()| self.fields.parse(chunk))).collect()
        });
        let mut batch = Batch::default();
        let mut line = block.first_line;
        for (part, chunk) in parsed.into_iter().zip(&chunks) {
            let part = part?.map_err(|(row, column, problem)| {
                self.blocks.fault((line + row, column), problem)
            })?;
            batch.append(&part);
            line += memchr::memchr_iter(b'\n', chunk).count() as u64;
        }
        Ok(Some(batch))
    }
}

impl Fields {
    fn parse(&self, lines: &[u8]) -> Result<Batch, Fault> {
        let mut batch = Batch::default();
        for (row, line) in lines.split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let object: Map<String, Value> = serde_json::from_slice(line).map_err(|error| {
                let (column, reason) = json_fault(&error);
                let problem = format!(
                    "this is no JSON object ({reason}): every line must be one, such as \
                     `{{\"text\": \"Birds\"}}`"
                );
                (row as u64, column as u64, problem)
            })?;
            self.take(&object, &mut batch).map_err(|problem| (row as u64, 1, problem))?;
        }
        Ok(batch)
    }

    /// Adds the document that an object holds.
    fn take(&self, object: &Map<String, Value>, batch: &mut Batch) -> Result<(), String> {
        let mut found = Vec::new();
        let mut is_there = false;
        for path in &self.text {
            is_there |= collect(object, path, &mut found)?;
        }
        if !is_there {
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
        if !collect(object, &self.labels, &mut found)? && self.are_labels_required {
            return Err(missing(object, &self.labels));
        }
        let labels: Vec<Span> = found.iter().map(|label| batch.store([&**label], "")).collect();
        batch.push(text, id, labels);
        Ok(())
    }
}

fn missing(object: &Map<String, Value>, name: &str) -> String {
    no_such_field("field", name, object.keys().map(String::as_str))
}

/// Collects the strings and numbers at a path below an object; true if the path exists.
///
/// A key may itself hold points, so the longest way to read a path is tried first.
fn collect<'v>(
    object: &'v Map<String, Value>,
    path: &str,
    found: &mut Vec<Cow<'v, str>>,
) -> Result<bool, String> {
    let (value, rest) = match object.get(path) {
        Some(value) => (value, ""),
        None => match path.split_once('.') {
            Some((key, rest)) => match object.get(key) {
                Some(value) => (value, rest),
                None => return Ok(false),
            },
            None => return Ok(false),
        },
    };
    collect_value(value, path, rest, found)
}

/// Collects what is at the `rest` of the `path` below a value.
fn collect_value<'v>(
    value: &'v Value,
    path: &str,
    rest: &str,
    found: &mut Vec<Cow<'v, str>>,
) -> Result<bool, String> {
    match value {
        Value::Array(values) => {
            let mut is_there = values.is_empty();
            for value in values {
                is_there |= collect_value(value, path, rest, found)?;
            }
            return Ok(is_there);
        }
        Value::Object(object) if !rest.is_empty() => return collect(object, rest, found),
        Value::Object(_) => {
            let name = excerpt(path);
            return Err(format!(
                "the field `{name}` holds objects: name the key within that to take, as in \
                 `{name}[].uri`"
            ));
        }
        Value::Null => return Ok(true),
        _ if !rest.is_empty() => return Ok(false),
        Value::String(text) => found.push(Cow::Borrowed(text)),
        Value::Number(number) => found.push(Cow::Owned(number.to_string())),
        Value::Bool(truth) => found.push(Cow::Owned(truth.to_string())),
    }
    Ok(true)
}
