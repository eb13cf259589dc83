//! Predictions written as they come.

use super::{PredictionFormat, jsonl, npz, text};
use crate::base::sparse::Predictions;
use std::io::{self, Write};

/// Writes predictions batch by batch; the file is the one that [`write()`](super::write) makes of all
/// of them.
///
/// The text formats go out at once. An npz file is written at the end, and so is an xc file if the
/// number of rows, which is its first line, is not known from the start.
///
/// ```
/// use labelwood::data::predictions::{PredictionFormat, Writer};
/// use labelwood::sparse::{Predictions, Scored};
/// let mut batch = Predictions::default();
/// batch.push_row(&[Scored { id: 1, score: 0.75 }]);
/// let mut file = Vec::new();
/// let mut writer = Writer::new(&mut file, PredictionFormat::Jsonl, None, 2, false, |_| None)?;
/// writer.push(&batch)?;
/// writer.push(&batch)?;
/// writer.finish()?;
/// assert!(file.ends_with(b"{\"row\":1,\"labels\":[{\"label\":1,\"score\":0.75}]}\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Writer<W, N> {
    out: W,
    format: PredictionFormat,
    labels: usize,
    labels_only: bool,
    name: N,
    written: usize,
    /// The rows so far, if they can be written only when all are there.
    kept: Option<Predictions>,
}

impl<'n, W: Write, N: Fn(u32) -> Option<&'n str>> Writer<W, N> {
    /// A file of `rows` rows, if that is known, with scores for `labels` labels, or with `labels_only`
    /// without; `name` is asked for the names that jsonl carries.
    ///
    /// # Panics
    ///
    /// If the format is CSV, which a [`SheetWriter`](super::SheetWriter) writes.
    pub fn new(
        mut out: W,
        format: PredictionFormat,
        rows: Option<u64>,
        labels: usize,
        labels_only: bool,
        name: N,
    ) -> io::Result<Self> {
        let kept = match (format, rows) {
            (PredictionFormat::Xc, Some(rows)) => {
                text::write_header(&mut out, rows, labels)?;
                None
            }
            (PredictionFormat::Xc | PredictionFormat::Npz, _) => Some(Predictions::default()),
            (PredictionFormat::Tsv | PredictionFormat::Jsonl, _) => None,
            (PredictionFormat::Csv, _) => panic!("a sheet has a writer of its own"),
        };
        Ok(Writer { out, format, labels, labels_only, name, written: 0, kept })
    }

    /// Takes the next rows.
    pub fn push(&mut self, batch: &Predictions) -> io::Result<()> {
        if let Some(kept) = &mut self.kept {
            kept.append(batch);
            return Ok(());
        }
        let (out, labels_only) = (&mut self.out, self.labels_only);
        match self.format {
            PredictionFormat::Jsonl => {
                jsonl::write(out, batch, self.written, labels_only, &self.name)?;
            }
            PredictionFormat::Xc => text::write_xc(out, batch, labels_only)?,
            PredictionFormat::Npz => npz::write(out, batch, self.labels, labels_only)?,
            PredictionFormat::Tsv | PredictionFormat::Csv => {
                text::write_tsv(out, batch, labels_only)?;
            }
        }
        self.written += batch.len();
        Ok(())
    }

    /// Whether nothing is written before all rows are there.
    pub fn keeps_all(&self) -> bool {
        self.kept.is_some()
    }

    /// Hands on what is written so far.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The memory that predictions take that can be written only when all are there.
    pub fn kept_bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, Predictions::bytes)
    }

    /// Completes the file.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(all) = self.kept.take() {
            if self.format == PredictionFormat::Xc {
                text::write_header(&mut self.out, all.len() as u64, self.labels)?;
            }
            self.push(&all)?;
        }
        self.out.flush()
    }
}
