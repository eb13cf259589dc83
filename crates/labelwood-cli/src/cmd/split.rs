//! `labelwood split`: some rows to train on, and others to test with.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use labelwood::app::InputError;
use labelwood::data::documents::{Documents, Labels, Options};
use labelwood::data::{self, Dataset, ReadOptions};
use labelwood::run::Task;
use labelwood::words::plural;

use crate::args::{choice, share};
use crate::context::Context;
use crate::input::{FORMATS, Kind, read_vectors};
use crate::output::{check_outputs, print, quoted_path, write_file};
use crate::split::{Division, divide_documents, divide_rows};
use crate::text::DocumentArgs;

/// Arguments of `labelwood split`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The rows to divide
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// The share of the rows to test with
    #[arg(long, value_name = "SHARE", default_value = "0.2", value_parser = share)]
    test: f64,

    /// Keep rows with the same value in this column or field on one side, such as an author or a series
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,

    /// The folder for NAME-train and NAME-test [default: that of DATA]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Replace files that are there
    #[arg(long)]
    overwrite: bool,

    /// The format of DATA, if its ending does not tell
    #[arg(long, value_name = "FORMAT", value_parser = choice(&FORMATS))]
    from: Option<Kind>,

    #[command(flatten)]
    documents: DocumentArgs,
}

/// Writes both files. Equal texts, or equal rows of vectors, are on one side; the same seed gives the
/// same files.
pub fn run(args: Args, context: &Context) -> Result<()> {
    if args.data == Path::new("-") {
        bail!("split reads DATA twice, which standard input does not allow: give a file");
    }
    let kind = Kind::required(&args.data, args.from)?;
    let outputs = ["train", "test"].map(|side| args.output_of(side));
    check_outputs(outputs.iter().map(PathBuf::as_path), [args.data.as_path()], args.overwrite)?;
    let task = context.run()?;
    if let Some(folder) = &args.output {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let counts = match kind {
        Some(Kind::Text(_)) => args.split_documents(&outputs, context.seed, &task)?,
        _ => args.split_vectors(kind.and_then(Kind::vectors), &outputs, context.seed, &task)?,
    };
    let [train, test] = outputs.each_ref().map(|path| path.display().to_string());
    let [learned, held_out] = [counts[0], counts[1]].map(|count| plural(count, "row"));
    print(&format_args!("{train}: {learned}\n{test}: {held_out}\n"))?;
    let [train, test] = outputs.each_ref().map(|path| quoted_path(path));
    let words = args.documents.words();
    context.note(format_args!("next: labelwood train {train} -m model --test {test}{words}"));
    Ok(())
}

impl Args {
    /// `books-train.tsv.gz` for `books.tsv.gz`.
    fn output_of(&self, side: &str) -> PathBuf {
        let name = self.data.file_name().unwrap_or_default().to_string_lossy();
        let packed = ["gz", "zst"].into_iter().find(|ending| name.ends_with(&format!(".{ending}")));
        let plain = packed.map_or(&*name, |packed| &name[..name.len() - packed.len() - 1]);
        let (stem, ending) = plain.rsplit_once('.').unwrap_or((plain, ""));
        let endings =
            [ending, packed.unwrap_or_default()].into_iter().filter(|one| !one.is_empty());
        let endings: String = endings.map(|ending| format!(".{ending}")).collect();
        let name = OsString::from(format!("{stem}-{side}{endings}"));
        match &self.output {
            Some(folder) => folder.join(name),
            None => self.data.with_file_name(name),
        }
    }

    fn open<'t>(&self, task: &'t Task) -> Result<Documents<'t>> {
        let mut fields = self.documents.fields();
        if let Some(by) = &self.by {
            fields.id = Some(by.clone());
        }
        let format = self.from.and_then(Kind::text);
        let opened =
            fields.open(&[&self.data], format, &Options::default(), Labels::Optional, task);
        let (documents, _) = opened.map_err(|error| match (error, &self.by) {
            (InputError::Refused(reason), Some(_)) => {
                anyhow!(reason.replace("--id-column", "--by"))
            }
            (error, _) => error.into(),
        })?;
        Ok(documents)
    }

    fn split_documents(
        &self,
        outputs: &[PathBuf; 2],
        seed: u64,
        task: &Task,
    ) -> Result<[usize; 2]> {
        let by = self.by.as_deref();
        let is_test = divide_documents(
            &self.data,
            self.open(task)?,
            by,
            Division::Share(self.test),
            seed,
            task,
        )?;
        let is_train: Vec<bool> = is_test.iter().map(|is_test| !is_test).collect();
        let sides = [Arc::from(is_train), Arc::from(is_test)];
        for (path, side) in outputs.iter().zip(&sides) {
            let documents = self.open(task)?.only(Arc::clone(side)).keeping_fields();
            write_file(path, |output| Ok(documents.copy_to(output)?))?;
        }
        Ok(sides.map(|side| side.iter().filter(|&&is_in| is_in).count()))
    }

    fn split_vectors(
        &self,
        format: Option<data::Format>,
        outputs: &[PathBuf; 2],
        seed: u64,
        task: &Task,
    ) -> Result<[usize; 2]> {
        if let Some(flag) = self.by.as_ref().map(|_| "--by").or(self.documents.typed()) {
            bail!("{}: {flag} needs text, but these are vectors", self.data.display());
        }
        let options = ReadOptions { format, ..ReadOptions::default() };
        let read = read_vectors(&self.data, &options, task)?;
        let (train, test) =
            divide_rows(&self.data, &read.dataset, Division::Share(self.test), seed, task)?;
        let counts = [train.len(), test.len()];
        for (path, rows) in outputs.iter().zip([train, test]) {
            self.write_rows(path, &rows, read.format, task)?;
        }
        Ok(counts)
    }

    fn write_rows(
        &self,
        path: &Path,
        rows: &Dataset,
        format: data::Format,
        task: &Task,
    ) -> Result<()> {
        if let Some(names) = rows.label_names.as_ref().filter(|_| format != data::Format::Binary) {
            names.write_beside(path, self.overwrite, task)?;
        }
        Ok(data::write(path, rows, Some(format))?)
    }
}
