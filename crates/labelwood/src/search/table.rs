//! Tables for people.

/// A table in Markdown, of which the headings come first. A column is as wide as its widest cell; the
/// first is aligned to the left.
pub(super) fn markdown(rows: &[Vec<String>]) -> String {
    let escaped = |row: &Vec<String>| row.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(escaped).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0).max(3)).collect();
    let line = |row: &[String]| {
        let cell = |(at, (cell, &width)): (usize, (&String, &usize))| {
            if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        };
        let cells: Vec<String> = row.iter().zip(&widths).enumerate().map(cell).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let dashes = |(at, &width): (usize, &usize)| match at {
        0 => "-".repeat(width),
        _ => format!("{}:", "-".repeat(width - 1)),
    };
    let rule: Vec<String> = widths.iter().enumerate().map(dashes).collect();
    let mut text = line(&rows[0]);
    text += &line(&rule);
    rows[1..].iter().for_each(|row| text += &line(row));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_in_a_cell_ends_no_cell() {
        let rows = [["name", "P"], ["a|b", "1.00"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(markdown(&rows), "| name |    P |\n| ---- | ---: |\n| a\\|b | 1.00 |\n");
    }
}
