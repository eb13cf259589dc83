//! Predictions for people: aligned columns of row, label and score.

use crate::base::sparse::Predictions;
use std::io::{self, Write};

/// Writes one line for each predicted label, by name where there is one, in aligned columns; with
/// `labels_only` without its score. Rows are counted from 1.
///
/// ```
/// use labelwood::data::predictions::write_table;
/// use labelwood::sparse::{Predictions, Scored};
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 1, score: 0.75 }, Scored { id: 0, score: 0.1 }]);
/// predictions.push_row(&[]);
/// let mut table = Vec::new();
/// write_table(&mut table, &predictions, false, |label| (label == 1).then_some("maps"))?;
/// let expected = "\
/// row  label  score
///   1  maps   0.750
///      0      0.100
///   2  -
/// ";
/// assert_eq!(String::from_utf8_lossy(&table), expected);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_table<'n>(
    mut out: impl Write,
    predictions: &Predictions,
    labels_only: bool,
    name: impl Fn(u32) -> Option<&'n str>,
) -> io::Result<()> {
    let shown = |label: u32| match name(label) {
        Some(name) => name.replace(char::is_control, " "),
        None => label.to_string(),
    };
    let labels = predictions.rows().flatten().map(|scored| shown(scored.id).chars().count());
    let label_width = labels.max().unwrap_or(0).max("label".len());
    let row_width = predictions.len().to_string().len().max("row".len());
    let mut write_line = |row: &str, label: &str, score: &str| {
        let line = match labels_only {
            true => format!("{row:>row_width$}  {label}"),
            false => format!("{row:>row_width$}  {label:label_width$}  {score}"),
        };
        writeln!(out, "{}", line.trim_end())
    };
    write_line("row", "label", "score")?;
    for (row, scored) in (1..).zip(predictions.rows()) {
        if scored.is_empty() {
            write_line(&row.to_string(), "-", "")?;
        }
        for (rank, best) in scored.iter().enumerate() {
            let row = if rank == 0 { row.to_string() } else { String::new() };
            write_line(&row, &shown(best.id), &format!("{:.3}", best.score))?;
        }
    }
    out.flush()
}
