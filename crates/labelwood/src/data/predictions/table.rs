//! Predictions for people: aligned columns of row, label and score.

use crate::base::sparse::Predictions;
use std::io::{self, Write};

/// Writes one line for each predicted label, by name where there is one, in aligned columns.
///
/// ```
/// use labelwood::data::predictions::write_table;
/// use labelwood::sparse::{Predictions, Scored};
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 1, score: 0.75 }, Scored { id: 0, score: 0.1 }]);
/// predictions.push_row(&[]);
/// let mut table = Vec::new();
/// write_table(&mut table, &predictions, |label| (label == 1).then_some("maps"))?;
/// let expected = "\
/// row  label   score
///   0  maps   0.7500
///      0      0.1000
///   1  -
/// ";
/// assert_eq!(String::from_utf8_lossy(&table), expected);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_table<'n>(
    mut out: impl Write,
    predictions: &Predictions,
    name: impl Fn(u32) -> Option<&'n str>,
) -> io::Result<()> {
    let shown = |label: u32| match name(label) {
        Some(name) => name.replace(char::is_control, " "),
        None => label.to_string(),
    };
    let labels = predictions.rows().flatten().map(|scored| shown(scored.id).chars().count());
    let label_width = labels.max().unwrap_or(0).max("label".len());
    let row_width = predictions.len().saturating_sub(1).to_string().len().max("row".len());
    writeln!(out, "{:>row_width$}  {:label_width$}   score", "row", "label")?;
    for (row, scored) in predictions.rows().enumerate() {
        if scored.is_empty() {
            writeln!(out, "{row:>row_width$}  -")?;
        }
        for (rank, best) in scored.iter().enumerate() {
            let row = if rank == 0 { row.to_string() } else { String::new() };
            let label = shown(best.id);
            writeln!(out, "{row:>row_width$}  {label:label_width$}  {:.4}", best.score)?;
        }
    }
    out.flush()
}
