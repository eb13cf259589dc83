//! `labelwood explain`: what speaks for and against labels.

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use labelwood::app::{RowBatch, RowSource, find_label};
use labelwood::data::LabelIndex;
use labelwood::model::Model;
use labelwood::model::explain::{
    Contribution, Evidence, ExplainOptions, Explanation, LabelExplanation, Reasons,
};
use labelwood::run::Task;
use serde::Serialize;

use crate::args::{at_least_1, choice};
use crate::context::Context;
use crate::output::{check_outputs, quoted_path, write_file};
use crate::prediction::{LoadArgs, RowArgs};
use crate::terminal::{has_colours, shortened, table_width, wrapped};

const ABOUT: &str = "\
The words of the text are marked: on a terminal green and underlined where they speak for the label, red where they speak against it; \
without colours [+word] and [-word]. A word's figure is what the parts of the model make of it. \
Below stands what each part of the model says, with what it goes by. Without --to the ending of FILE tells the format (.json, .jsonl, \
.html); standard output is a table on a terminal and json elsewhere.";

/// Arguments of `labelwood explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// The model: its folder or file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The rows to explain; - for standard input
    #[arg(value_name = "DATA", required_unless_present = "text")]
    data: Option<PathBuf>,

    /// A text to explain, instead of DATA; may be given several times
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["data", "from"])]
    text: Vec<String>,

    /// The label to explain, whether or not it is predicted: as training had it, by its name, or by its number
    /// if the model has no names; may be given several times
    #[arg(long, value_name = "NAME")]
    label: Vec<String>,

    /// How many of the best labels are explained, unless --label says which
    #[arg(short = 'k', long, value_name = "K", default_value = "3", value_parser = at_least_1,
        allow_negative_numbers = true)]
    top_k: NonZeroUsize,

    /// How many words, rows or leaves a list has at most; the others are summed up
    #[arg(long, value_name = "N", default_value = "10", value_parser = at_least_1,
        allow_negative_numbers = true)]
    most: NonZeroUsize,

    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Replace FILE if it is there
    #[arg(long)]
    overwrite: bool,

    /// How to write the explanations
    #[arg(long, value_name = "FORMAT", alias = "format", value_parser = choice(&FORMATS))]
    to: Option<Format>,

    /// Show the names of labels in this language, where they have some, such as fi or pt-br
    #[arg(long, value_name = "TAG")]
    language: Option<String>,

    #[command(flatten)]
    reading: RowArgs,

    #[command(flatten)]
    loading: LoadArgs,
}

/// How explanations are written.
#[derive(Clone, Copy, Debug)]
enum Format {
    Table,
    Json,
    Html,
}

const FORMATS: [(&str, &str, Format); 3] = [
    ("table", "For people, with the words of the text marked", Format::Table),
    ("json", "One JSON object per row, each on a line (.json, .jsonl)", Format::Json),
    ("html", "A page that needs no other file (.html)", Format::Html),
];

/// A line of JSON: an explanation with its row, and the id of its document if it has one.
#[derive(Serialize)]
struct Line<'a> {
    row: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

/// Explains the rows of DATA, or texts, one after the other.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let format = format_of(&args)?;
    let inputs = [args.model.as_path()].into_iter().chain(args.data.as_deref());
    check_outputs([args.output.as_path()], inputs, args.overwrite)?;
    let to_stdout = args.output.as_os_str() == "-";
    if to_stdout && io::stdout().is_terminal() {
        context.hide_progress();
    }
    let task = context.run()?;
    let model = args.loading.open(&args.model, &task)?;
    let names = labelwood::app::names_in(&model, args.language.as_deref())?;
    let find = |label: &String| find_label(&model, names.as_ref(), label);
    let labels: Vec<u32> = args.label.iter().map(find).collect::<Result<_, _>>()?;
    let source = match &args.data {
        Some(data) if !data.exists() && data.as_os_str() != "-" && is_text(data) => bail!(
            "{}: no such file; for a text: labelwood explain {} --text {}",
            data.display(),
            quoted_path(&args.model),
            quoted_path(data)
        ),
        Some(data) => args.reading.options().open(data, &model, &task)?,
        None => RowSource::texts(args.text.clone(), &model, &task)?,
    };
    let has_colours = has_colours(to_stdout && io::stdout().is_terminal());
    let explained = Explained {
        args: &args,
        model: &model,
        names: names.as_ref(),
        labels,
        has_colours,
        task: &task,
    };
    write_file(&args.output, |output| explained.write(source, format, output))
}

fn format_of(args: &Args) -> Result<Format> {
    if let Some(format) = args.to {
        return Ok(format);
    }
    if args.output.as_os_str() == "-" {
        let is_terminal = io::stdout().is_terminal();
        return Ok(if is_terminal { Format::Table } else { Format::Json });
    }
    match args.output.extension().and_then(|ending| ending.to_str()) {
        Some("json" | "jsonl") => Ok(Format::Json),
        Some("html" | "htm") => Ok(Format::Html),
        Some("txt") => Ok(Format::Table),
        _ => bail!(
            "{}: its ending does not tell how to write it: add --to json, --to html or --to table",
            args.output.display()
        ),
    }
}

/// Whether a name that no file has is rather a text.
fn is_text(path: &Path) -> bool {
    path.to_string_lossy().contains(char::is_whitespace)
}

/// What is explained, and how.
struct Explained<'a> {
    args: &'a Args,
    model: &'a Model,
    names: Option<&'a LabelIndex>,
    labels: Vec<u32>,
    has_colours: bool,
    task: &'a Task,
}

impl Explained<'_> {
    fn write(&self, source: RowSource<'_>, format: Format, output: &mut dyn Write) -> Result<()> {
        match format {
            Format::Json => self.each(source, |row, id, explanation| {
                serde_json::to_writer(&mut *output, &Line { row, id, explanation })?;
                Ok(output.write_all(b"\n")?)
            }),
            Format::Html => {
                let mut page = Explanation::page(output)?;
                self.each(source, |_, _, explanation| Ok(page.push(explanation)?))?;
                Ok(page.finish()?)
            }
            Format::Table => self.each(source, |row, id, explanation| {
                if row > 0 {
                    writeln!(output)?;
                }
                let heading = self.args.data.is_some().then(|| match id {
                    Some(id) => format!("row {}: {id}", row + 1),
                    None => format!("row {}", row + 1),
                });
                Sheet { output, has_colours: self.has_colours }.write(heading, explanation)
            }),
        }
    }

    /// Calls `take` with the number of each row, the id of its document and why it has its labels.
    fn each(
        &self,
        mut source: RowSource<'_>,
        mut take: impl FnMut(u64, Option<&str>, &Explanation) -> Result<()>,
    ) -> Result<()> {
        let options = ExplainOptions {
            labels: &self.labels,
            k: self.args.top_k.get(),
            most: self.args.most.get(),
            names: self.names,
            ..ExplainOptions::default()
        };
        let mut number = 0;
        while let Some(RowBatch { rows, documents }) = source.next_batch()? {
            if let Some(documents) = &documents {
                for (row, text) in documents.texts().enumerate() {
                    let explanation = self.model.explain(text, &options, self.task)?;
                    take(number, documents.id(row), &explanation)?;
                    number += 1;
                }
                continue;
            }
            for row in 0..rows.view().len() {
                let row = rows.view().features.slice(row..row + 1);
                let explanation = self.model.explain_row(row.view(), &options, self.task)?;
                take(number, None, &explanation)?;
                number += 1;
            }
        }
        Ok(())
    }
}

/// Explanations for people.
struct Sheet<'a> {
    output: &'a mut dyn Write,
    has_colours: bool,
}

/// Green and underlined, red, bold, and none of these.
const FOR: &str = "\x1b[1;4;32m";
const AGAINST: &str = "\x1b[31m";
const STRONG: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";
/// How many training rows are shown.
const ROWS: usize = 3;

impl Sheet<'_> {
    fn write(mut self, heading: Option<String>, why: &Explanation) -> Result<()> {
        if let Some(heading) = heading {
            let heading = self.strong(&heading);
            writeln!(self.output, "{heading}")?;
        }
        if let Some(note) = &why.note {
            writeln!(self.output, "{note}")?;
        }
        for (at, label) in why.labels.iter().enumerate() {
            if at > 0 {
                writeln!(self.output)?;
            }
            self.label(why.text.as_deref(), label)?;
        }
        if !why.unknown.is_empty() {
            let mut words: Vec<&str> = why.unknown.iter().map(|span| span.term.as_str()).collect();
            words.dedup();
            self.labelled("not known", &words.join(", "))?;
        }
        Ok(())
    }

    fn label(&mut self, text: Option<&str>, label: &LabelExplanation) -> Result<()> {
        let name = self.strong(&clean(&label.label.name));
        writeln!(self.output, "{name}  {}", label.score_in_words())?;
        if let Some(text) = text {
            let marked = self.marked(text, label);
            writeln!(self.output, "  {marked}")?;
        }
        if let Some(note) = &label.note {
            self.labelled("note", note)?;
        }
        let words = if label.marks.is_empty() { label.features.clone() } else { label.words() };
        let side = |is_for: bool| -> Vec<Contribution> {
            words.iter().filter(|word| (word.contribution > 0.0) == is_for).cloned().collect()
        };
        for (name, words) in [("for", side(true)), ("against", side(false))] {
            if !words.is_empty() {
                self.labelled(name, &listed(&words))?;
            }
        }
        for part in &label.parts {
            self.part(part)?;
        }
        for fact in label.how.iter().filter(|fact| fact.what.contains("threshold")) {
            self.labelled("threshold", &format!("{:.2}: {}", fact.value, fact.what))?;
        }
        Ok(())
    }

    fn part(&mut self, part: &Reasons) -> Result<()> {
        let mut text = part.describe();
        if let Some(weight) = part.weight {
            text += &format!("; counts {weight:+.2}");
        }
        if !part.terms.is_empty() {
            text += &format!("; {}", listed(&part.terms));
        }
        self.labelled(part.part, &text)?;
        if let Evidence::Neighbours { rows, .. } = &part.evidence {
            for row in rows.iter().filter(|row| row.has_label).take(ROWS) {
                let words = match row.words.is_empty() {
                    true => format!("shares {}", names_of(&row.terms)),
                    false => row.words.join(" "),
                };
                let similarity = row.similarity;
                self.labelled("", &format!("row {} ({similarity:.2}): {words}", row.row + 1))?;
            }
        }
        Ok(())
    }

    /// A text after a label, in lines that fit.
    fn labelled(&mut self, label: &str, text: &str) -> Result<()> {
        const INDENT: usize = 14;
        for (at, line) in wrapped(&clean(text), table_width() - INDENT, true).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            writeln!(
                self.output,
                "  {:width$}{line}",
                shortened(label, INDENT - 3),
                width = INDENT - 2
            )?;
        }
        Ok(())
    }

    fn strong(&self, text: &str) -> String {
        if self.has_colours { format!("{STRONG}{text}{PLAIN}") } else { text.to_owned() }
    }

    /// The text in one line with its words marked.
    fn marked(&self, text: &str, label: &LabelExplanation) -> String {
        let mut marks = label.marks.iter().peekable();
        let mut marked = String::with_capacity(2 * text.len());
        for (at, character) in text.chars().enumerate() {
            if let Some(mark) = marks.peek().filter(|mark| mark.start == at) {
                marked.push_str(match (self.has_colours, mark.weight > 0.0) {
                    (true, true) => FOR,
                    (true, false) => AGAINST,
                    (false, true) => "[+",
                    (false, false) => "[-",
                });
            }
            marked.push(if character.is_control() { ' ' } else { character });
            if marks.next_if(|mark| mark.end == at + 1).is_some() {
                marked.push_str(if self.has_colours { PLAIN } else { "]" });
            }
        }
        marked
    }
}

/// A text without what would control a terminal.
fn clean(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

/// Contributions in a line.
fn listed(terms: &[Contribution]) -> String {
    let term = |term: &Contribution| format!("{} {:+.2}", term.name(), term.contribution);
    terms.iter().map(term).collect::<Vec<_>>().join(", ")
}

fn names_of(terms: &[Contribution]) -> String {
    terms.iter().map(Contribution::name).collect::<Vec<_>>().join(", ")
}
