//! Split files as arguments: which rows of a data file to train on and which to test with.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
pub use labelwood::app::Division;
use labelwood::app::{Alike, row_key, text_key, value_key};
use labelwood::data::documents::Documents;
use labelwood::data::{Dataset, Splits};
use labelwood::run::{Bytes, Task};
use labelwood::words::plural;

/// The flags that divide one data file.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Split files")]
pub struct SplitArgs {
    /// Train on these rows of DATA only: a table of row numbers counted from 1, a column a split
    #[arg(long, value_name = "FILE")]
    pub train_split: Option<PathBuf>,

    /// Test with these rows of DATA
    #[arg(long, value_name = "FILE", requires = "train_split", conflicts_with = "test")]
    pub test_split: Option<PathBuf>,

    /// The column of the split files; with `all`, a model for each, and the mean and standard
    /// deviation of the figures [default: 1]
    #[arg(long, value_name = "N|all", requires = "train_split")]
    pub split_column: Option<Column>,
}

/// Which columns of a split file to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// One, counted from 1.
    One(usize),
    /// Each in turn.
    All,
}

impl Column {
    /// The one column to use; the first of all.
    pub fn one(self) -> usize {
        match self {
            Column::One(number) => number,
            Column::All => 1,
        }
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Column::All),
            (_, Ok(number)) if number > 0 => Ok(Column::One(number)),
            _ => Err(format!("`{text}` is not a column: write a number from 1 on, or all")),
        }
    }
}

/// The split files of a data file, read.
pub struct SplitFiles {
    train: Splits,
    test: Option<Splits>,
}

impl SplitArgs {
    /// Whether a model for each column is asked for.
    pub fn is_all(&self) -> bool {
        self.split_column == Some(Column::All)
    }

    /// Reads the split files, if there are any, for a data file of `rows` rows.
    pub fn read(&self, rows: usize, task: &Task) -> Result<Option<SplitFiles>> {
        let Some(train_path) = &self.train_split else {
            return Ok(None);
        };
        let train = Splits::read(train_path, rows, task)?;
        let test = self.test_split.as_ref().map(|path| Splits::read(path, rows, task));
        let test = test.transpose()?;
        if let (Some(test), Some(test_path)) = (&test, &self.test_split)
            && test.len() != train.len()
        {
            bail!(
                "{} has {} but {} has {}: give two files of the same splits",
                train_path.display(),
                plural(train.len(), "column"),
                test_path.display(),
                test.len()
            );
        }
        Ok(Some(SplitFiles { train, test }))
    }

    /// The one column to use, the first unless another was asked for.
    pub fn one(&self) -> usize {
        self.split_column.map_or(1, Column::one)
    }
}

impl SplitFiles {
    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.train.len()
    }

    /// The rows of a column, counted from 1, to train on and to test with.
    pub fn select(
        &self,
        dataset: &Dataset,
        column: usize,
        task: &Task,
    ) -> Result<(Dataset, Option<Dataset>)> {
        let train = select(dataset, self.train.column(column)?, task)?;
        let test = match &self.test {
            Some(splits) => Some(select(dataset, splits.column(column)?, task)?),
            None => None,
        };
        Ok((train, test))
    }
}

/// The rows of a split, copied, unless that takes more memory than there may be: a split may name a
/// row any number of times.
pub fn select(dataset: &Dataset, rows: &[usize], task: &Task) -> Result<Dataset> {
    let bytes = |&row: &usize| {
        let (entries, labels) = (dataset.features.row(row), dataset.labels.row(row));
        16 + 8 * entries.indices.len() as u64 + 4 * labels.indices.len() as u64
    };
    let needed = rows.iter().map(bytes).fold(0, u64::saturating_add);
    task.memory().hold().set(needed).with_context(|| {
        let rows = plural(rows.len(), "row");
        format!("the split has {rows} that take {}: give a smaller split", Bytes(needed))
    })?;
    Ok(dataset.select(rows))
}

/// The rows that a column of a split file names, or all if there is no file.
pub fn selected(
    dataset: Dataset,
    split: Option<&Path>,
    column: usize,
    task: &Task,
) -> Result<Dataset> {
    let Some(path) = split else { return Ok(dataset) };
    select(&dataset, Splits::read(path, dataset.len(), task)?.column(column)?, task)
}

/// Says for each document whether it is held out to test with: about a share of them, equal texts on
/// one side, and those with the same id if that is what `by` tells.
pub fn divide_documents(
    path: &Path,
    mut documents: Documents<'_>,
    by: Option<&str>,
    division: Division,
    seed: u64,
    task: &Task,
) -> Result<Vec<bool>> {
    let (mut alike, mut held) = (Alike::default(), task.memory().hold());
    while let Some(batch) = documents.next_batch()? {
        for (row, text) in batch.texts().enumerate() {
            let value = by.and_then(|_| batch.id(row)).map(value_key);
            alike.push([text_key(text)].into_iter().chain(value));
        }
        held.set(alike.bytes() as u64).context("too many rows to divide at once")?;
    }
    division.of(&alike, seed).with_context(|| {
        let by = by.map(|by| format!(" or the same {by}")).unwrap_or_default();
        format!("{}: all rows have the same text{by}: there is nothing to divide", path.display())
    })
}

/// The rows to learn from, and those to test with; equal rows are on one side.
pub fn divide_rows(
    path: &Path,
    dataset: &Dataset,
    division: Division,
    seed: u64,
    task: &Task,
) -> Result<(Dataset, Dataset)> {
    let mut alike = Alike::default();
    dataset.features.rows().for_each(|row| alike.push([row_key(row)]));
    let is_test = division.of(&alike, seed).with_context(|| {
        format!("{}: all rows are equal: there is nothing to divide", path.display())
    })?;
    let (test, train): (Vec<usize>, Vec<usize>) = (0..dataset.len()).partition(|&row| is_test[row]);
    Ok((select(dataset, &train, task)?, select(dataset, &test, task)?))
}

/// The models of `count` splits: `DIR-01`, `DIR-02` and so on.
pub fn numbered(model: &Path, count: usize) -> Vec<PathBuf> {
    let width = count.to_string().len().max(2);
    let numbered = |number: usize| {
        let mut name = model.file_name().unwrap_or_default().to_owned();
        name.push(format!("-{number:0width$}"));
        model.with_file_name(name)
    };
    (1..=count).map(numbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_a_number_from_1_or_all() {
        assert_eq!("3".parse(), Ok(Column::One(3)));
        assert_eq!("all".parse(), Ok(Column::All));
        for wrong in ["0", "-1", "ALL", "", "1.5"] {
            assert!(wrong.parse::<Column>().unwrap_err().contains("or all"), "{wrong}");
        }
    }

    #[test]
    fn models_of_several_splits_are_numbered() {
        let names = numbered(Path::new("out/model/"), 2);
        assert_eq!(names, [Path::new("out/model-01"), Path::new("out/model-02")]);
        assert_eq!(numbered(Path::new("m"), 100)[99], Path::new("m-100"));
    }
}
