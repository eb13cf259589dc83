//! The questions as files, in each format that documents are read from.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use labelwood::data::corpus::{test, train};
use labelwood::data::documents::Format;
use labelwood::data::write_atomically;
use labelwood::words::plural;

use crate::context::Context;
use crate::output::check_outputs;

/// The formats of documents.
pub const FORMATS: [(&str, &str, Format); 3] = [
    ("tsv", "Text, TAB, subjects", Format::Tsv),
    (
        "csv",
        "A table with the columns number, question and subjects, as a spreadsheet saves it",
        Format::Csv,
    ),
    ("jsonl", "One JSON object per line", Format::Jsonl),
];

/// A question with its tags.
type Question = (&'static str, Vec<&'static str>);

/// Writes the parts to `train` and `test` files in a folder, which is made if it is not there.
pub fn write(folder: &Path, format: Format, overwrite: bool, context: &Context) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let ending = FORMATS.iter().find(|known| known.2 == format).map_or("", |known| known.0);
    let (train, test): (Vec<Question>, Vec<Question>) = (train().collect(), test().collect());
    let paths = ["train", "test"].map(|part| folder.join(format!("{part}.{ending}")));
    check_outputs(paths.iter().map(PathBuf::as_path), [], overwrite)?;
    let parts = [(&train, 1), (&test, train.len() + 1)];
    for (path, (questions, first)) in paths.iter().zip(parts) {
        write_atomically(path, |output| write_part(output, questions, first, format))?;
        context.note(format_args!("{}: {}", path.display(), plural(questions.len(), "question")));
    }
    Ok(())
}

/// Writes questions, which are numbered from `first` on.
fn write_part(
    output: &mut dyn Write,
    questions: &[Question],
    first: usize,
    format: Format,
) -> io::Result<()> {
    if let Format::Csv = format {
        writeln!(output, "number,question,subjects")?;
    }
    for (number, (text, tags)) in (first..).zip(questions) {
        match format {
            Format::Tsv => writeln!(output, "{text}\t{}", tags.join(";"))?,
            Format::Csv => {
                writeln!(output, "{number},{},{}", quoted(text), quoted(&tags.join("; ")))?;
            }
            _ => {
                let object = serde_json::json!({"id": number, "text": text, "labels": tags});
                writeln!(output, "{object}")?;
            }
        }
    }
    Ok(())
}

/// A field of a CSV file, in quotes where it needs them.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let questions =
            [("Who said \"no\", and why?", vec!["words", "law"]), ("Maps", vec!["maps"])];
        let mut output = Vec::new();
        write_part(&mut output, &questions, 7, format).expect("memory takes it");
        String::from_utf8(output).expect("it is text")
    }

    #[test]
    fn each_format_is_written_as_it_is_read() {
        assert_eq!(written(Format::Tsv), "Who said \"no\", and why?\twords;law\nMaps\tmaps\n");
        assert_eq!(
            written(Format::Csv),
            "number,question,subjects\n7,\"Who said \"\"no\"\", and why?\",words; law\n8,Maps,maps\n"
        );
        assert_eq!(
            written(Format::Jsonl).lines().nth(1),
            Some(r#"{"id":8,"labels":["maps"],"text":"Maps"}"#)
        );
    }
}
