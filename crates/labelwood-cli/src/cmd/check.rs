//! `labelwood check`: what is odd about data, and what to do about it.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use anyhow::Result;
use labelwood::app::{Check, Checked, Finding};
use labelwood::data::documents::{Labels, Options};
use labelwood::run::Task;
use labelwood::text::Params;
use labelwood::words::plural;
use serde::Serialize;

use crate::args::choice;
use crate::context::Context;
use crate::input::{FORMATS, InputArgs, Kind};
use crate::output::print_as;
use crate::text::{DocumentArgs, VectoriserArgs, name};

/// Arguments of `labelwood check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The rows to look at
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// Rows to test with, which must be others
    #[arg(long, value_name = "DATA")]
    test: Option<PathBuf>,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// The format of DATA, if its ending does not tell
    #[arg(long, value_name = "FORMAT", value_parser = choice(&FORMATS))]
    from: Option<Kind>,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    vectoriser: VectoriserArgs,
}

/// Looks at the rows and prints what was found.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let task = context.run()?;
    let checked = args.look(&args.data, &task)?;
    let test = args.test.as_ref().map(|test| args.look(test, &task)).transpose()?;
    let check = checked.check(test.as_ref());
    print_as(args.json, &Shown { data: args.data.display().to_string(), check })
}

impl Args {
    fn look(&self, data: &Path, task: &Task) -> Result<Checked> {
        let kind = Kind::required(data, self.from)?;
        let Some(Kind::Text(_)) = kind else {
            let rows = self.reading.read(data, kind.and_then(Kind::vectors), task)?;
            return Ok(Checked::rows(&rows));
        };
        let params = self.vectoriser.over(Params::default(), task)?;
        let stated = self.from.and_then(Kind::text);
        let options = Options::default();
        let (documents, _) =
            self.documents.open(&[data], stated, &options, Labels::Required, task)?;
        Ok(Checked::documents(documents, params, task)?)
    }
}

/// What was found, for people and programs.
#[derive(Serialize)]
struct Shown {
    data: String,
    #[serde(flatten)]
    check: Check,
}

impl Display for Shown {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Check { rows, labels, labels_per_row, language, scripts, findings } = &self.check;
        let (rows, labels) = (plural(*rows, "row"), plural(*labels, "label"));
        write!(out, "{}: {rows}, {labels}, {labels_per_row:.1} a row", self.data)?;
        let language = language.map(name).into_iter();
        let found: Vec<&str> = language.chain(scripts.iter().copied()).collect();
        if !found.is_empty() {
            write!(out, "; {}", found.join(", "))?;
        }
        writeln!(out)?;
        if findings.is_empty() {
            return writeln!(out, "nothing odd was found");
        }
        for Finding { count, rows, examples, text, fix, .. } in findings {
            let what = if rows.is_empty() {
                ""
            } else if *count == 1 {
                "row "
            } else {
                "rows "
            };
            write!(out, "\n{count} {what}{text}")?;
            let numbers = rows.iter().map(usize::to_string);
            let shown: Vec<String> = numbers.chain(examples.iter().cloned()).collect();
            let more = if shown.len() < *count { ", ..." } else { "" };
            let between = if examples.iter().any(|one| one.contains(", ")) { "; " } else { ", " };
            writeln!(out, ": {}{more}", shown.join(between))?;
            writeln!(out, "  {fix}")?;
        }
        Ok(())
    }
}
