//! Predictions of documents, by the names of their labels.

use super::text::is_entry;
use crate::base::sparse::{Predictions, Scored};
use crate::data::LabelIndex;
use crate::data::documents::Batch;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};

/// How [`DocumentWriter`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// For people: each document with its labels below it.
    Table,
    /// `id<TAB>label score<TAB>label score`, best first; no first field where documents have no id.
    /// An id that looks like a label with its score stands in quotes.
    Tsv,
    /// One JSON object per document, with id, labels, names and scores.
    Jsonl,
}

/// Writes the predictions of documents as they come.
///
/// Labels are written as the training file had them; people see their names.
///
/// ```
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::data::predictions::{DocumentFormat, DocumentWriter};
/// use labelwood::data::LabelIndex;
/// use labelwood::run::Pool;
/// use labelwood::sparse::{Predictions, Scored};
/// let (task, options) = (Pool::new(1)?.task(), Options::default());
/// let text = b"{\"id\":\"x7\",\"text\":\"Birds of the north\"}";
/// let optional = Labels::Optional;
/// let mut documents = Documents::from_bytes(text, "f", Format::Jsonl, &options, optional, &task)?;
/// let batch = documents.next_batch()?.expect("there is a document");
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 0, score: 0.75 }]);
/// let names = LabelIndex::from_lines(["p10\tbirds"]);
///
/// let write = |format, labels_only| {
///     let mut out = Vec::new();
///     let mut writer = DocumentWriter::new(&mut out, format, Some(&names), labels_only);
///     writer.push(Some(&batch), &predictions).and_then(|()| writer.finish()).map(|()| out)
/// };
/// assert_eq!(write(DocumentFormat::Tsv, false)?, b"x7\tp10 0.75\n");
/// assert_eq!(write(DocumentFormat::Tsv, true)?, b"x7\tp10\n");
/// assert_eq!(write(DocumentFormat::Table, false)?, b"x7  Birds of the north\n    0.750  birds\n");
/// assert_eq!(write(DocumentFormat::Jsonl, true)?, b"{\"row\":0,\"id\":\"x7\",\"labels\":[\"p10\"]}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DocumentWriter<'n, W> {
    out: W,
    format: DocumentFormat,
    names: Option<&'n LabelIndex>,
    labels_only: bool,
    written: u64,
}

/// An object of a jsonl file.
#[derive(Serialize)]
pub(super) struct WrittenRow<'a, L> {
    pub row: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    pub labels: Vec<L>,
}

/// A label of such an object.
#[derive(Serialize)]
pub(super) struct WrittenLabel<'a> {
    pub label: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    pub score: f32,
}

impl<'n, W: Write> DocumentWriter<'n, W> {
    /// Writes to `out`; without `names` labels are their ids, with `labels_only` there are no
    /// scores.
    pub fn new(
        out: W,
        format: DocumentFormat,
        names: Option<&'n LabelIndex>,
        labels_only: bool,
    ) -> Self {
        DocumentWriter { out, format, names, labels_only, written: 0 }
    }

    /// Takes the predictions of the next rows, which are those of `documents` if they are known.
    pub fn push(&mut self, documents: Option<&Batch>, predictions: &Predictions) -> io::Result<()> {
        let mut texts = documents.map(|batch| batch.texts());
        let has_ids =
            documents.is_some_and(|batch| (0..batch.len()).any(|row| batch.id(row).is_some()));
        for (row, labels) in predictions.rows().enumerate() {
            let id = documents.and_then(|batch| batch.id(row));
            let text = texts.as_mut().and_then(Iterator::next);
            match self.format {
                DocumentFormat::Table => self.write_for_people(id, text, labels)?,
                // Among others that have one, the field of an id is empty.
                DocumentFormat::Tsv => self.write_tsv(id.or(has_ids.then_some("")), labels)?,
                DocumentFormat::Jsonl => self.write_jsonl(id, labels)?,
            }
            self.written += 1;
        }
        Ok(())
    }

    /// Hands on what is written so far.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Completes the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The label as the training file had it.
    fn code(&self, label: u32) -> Cow<'n, str> {
        match self.names {
            Some(names) => Cow::Borrowed(names.code(label)),
            None => Cow::Owned(label.to_string()),
        }
    }

    fn write_for_people(
        &mut self,
        id: Option<&str>,
        text: Option<&str>,
        labels: &[Scored],
    ) -> io::Result<()> {
        if self.written > 0 {
            writeln!(self.out)?;
        }
        let id = id.map_or_else(|| (self.written + 1).to_string(), |id| shortened(id, 40));
        let title = text.map(|text| shortened(text, 70)).unwrap_or_default();
        writeln!(self.out, "{}", format!("{id}  {title}").trim_end())?;
        if labels.is_empty() {
            writeln!(self.out, "    -")?;
        }
        for best in labels {
            let name = self.names.map_or_else(
                || best.id.to_string(),
                |names| shortened(names.display(best.id), usize::MAX),
            );
            match self.labels_only {
                true => writeln!(self.out, "    {name}")?,
                false => writeln!(self.out, "    {:.3}  {name}", best.score)?,
            }
        }
        Ok(())
    }

    fn write_tsv(&mut self, id: Option<&str>, labels: &[Scored]) -> io::Result<()> {
        let mut between = "";
        if let Some(id) = id {
            let id = shortened(id, usize::MAX);
            let quote = if is_entry(&id) { "\"" } else { "" };
            write!(self.out, "{quote}{id}{quote}")?;
            between = "\t";
        }
        for best in labels {
            write!(self.out, "{between}{}", self.code(best.id))?;
            if !self.labels_only {
                write!(self.out, " {}", best.score)?;
            }
            between = "\t";
        }
        writeln!(self.out)
    }

    fn write_jsonl(&mut self, id: Option<&str>, labels: &[Scored]) -> io::Result<()> {
        let row = self.written;
        if self.labels_only {
            let labels = labels.iter().map(|best| self.code(best.id)).collect();
            serde_json::to_writer(&mut self.out, &WrittenRow { row, id, labels })?;
        } else {
            let label = |best: &Scored| WrittenLabel {
                label: best.id,
                code: self.names.map(|names| names.code(best.id)),
                name: self.names.and_then(|names| names.name(best.id)),
                score: best.score,
            };
            let labels = labels.iter().map(label).collect();
            serde_json::to_writer(&mut self.out, &WrittenRow { row, id, labels })?;
        }
        writeln!(self.out)
    }
}

/// The beginning of a text in one line without control characters, which a terminal might obey.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    let mut short = String::new();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    for (count, word) in words.filter(|word| !word.is_empty()).enumerate() {
        if count > 0 {
            short.push(' ');
        }
        short.push_str(word);
        if short.len() > limit && short.chars().count() > limit {
            let end = short.char_indices().nth(limit - 1).map_or(short.len(), |(at, _)| at);
            short.truncate(end);
            short.push('…');
            break;
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data::documents::{Documents, Format, Labels, Options};

    fn predictions(rows: &[&[(u32, f32)]]) -> Predictions {
        let mut predictions = Predictions::default();
        for row in rows {
            let scored = |&(id, score): &(u32, f32)| Scored { id, score };
            predictions.push_row(&row.iter().map(scored).collect::<Vec<_>>());
        }
        predictions
    }

    fn written(
        documents: Option<&Batch>,
        names: Option<&LabelIndex>,
        format: DocumentFormat,
        labels_only: bool,
    ) -> String {
        let predictions = predictions(&[&[(1, 0.5), (0, 0.25)], &[]]);
        let mut out = Vec::new();
        let mut writer = DocumentWriter::new(&mut out, format, names, labels_only);
        writer.push(documents, &predictions).unwrap();
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn documents_without_ids_are_counted_and_labels_without_names_are_numbers() {
        let task = Pool::new(1).unwrap().task();
        let options = Options::default();
        let text = "Birds\u{7}  of prey\n\n\nCats\n".as_bytes();
        let mut documents =
            Documents::from_bytes(text, "f", Format::Tsv, &options, Labels::Optional, &task)
                .unwrap();
        let batch = documents.next_batch().unwrap().unwrap();
        let names = LabelIndex::from_lines(["p1\tcats", "birds"]);
        let table = written(Some(&batch), Some(&names), DocumentFormat::Table, false);
        assert_eq!(table, "1  Birds of prey\n    0.500  birds\n    0.250  cats\n\n2\n    -\n");
        let table = written(None, None, DocumentFormat::Table, true);
        assert_eq!(table, "1\n    1\n    0\n\n2\n    -\n");
        assert_eq!(written(None, None, DocumentFormat::Tsv, true), "1\t0\n\n");
        let tsv = written(Some(&batch), Some(&names), DocumentFormat::Tsv, false);
        assert_eq!(tsv, "birds 0.5\tp1 0.25\n\n");
        let jsonl = written(Some(&batch), Some(&names), DocumentFormat::Jsonl, false);
        let expected = r#"{"row":0,"labels":[{"label":1,"code":"birds","score":0.5},{"label":0,"code":"p1","name":"cats","score":0.25}]}"#;
        assert_eq!(jsonl.lines().next(), Some(expected));
        assert_eq!(jsonl.lines().nth(1), Some(r#"{"row":1,"labels":[]}"#));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("äöü äöü", 7), "äöü äöü");
        assert_eq!(shortened("äöü äöü", 6), "äöü ä…");
        assert_eq!(shortened("a\tb\n\u{1b}[31mc", 99), "a b [31mc");
        assert_eq!(shortened("", 5), "");
    }
}
