//! Tables for people, which fit the terminal.

use std::fmt::{self, Formatter};

use crate::terminal::{shortened, width, wrapped};

/// The columns between two columns of a table.
const GAP: usize = 2;

/// The columns that names of rows get at least.
const LEAST_NAME: usize = 12;

/// A table whose first column names its rows.
pub struct Table {
    columns: Vec<Column>,
}

struct Column {
    /// The heading, a word a line.
    heading: Vec<String>,
    cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        self.heading.iter().chain(&self.cells).map(|text| width(text)).max().unwrap_or(0)
    }
}

impl Table {
    /// A table with these headings, whose words stand below each other.
    pub fn new<H: AsRef<str>>(headings: impl IntoIterator<Item = H>) -> Self {
        let column = |heading: H| Column {
            heading: wrapped(&heading.as_ref().replace('_', " "), 1, false),
            cells: Vec::new(),
        };
        Table { columns: headings.into_iter().map(column).collect() }
    }

    /// A table of rows of cells, the headings first, of at most so many columns: the first cell of a row that
    /// has no room beside the others goes on in further lines.
    pub fn of_rows(rows: &[Vec<String>], columns: usize) -> Self {
        let (headings, rows) = rows.split_first().expect("there are headings");
        let mut table = Table::new(headings);
        for row in rows {
            table.push(row.iter().cloned());
        }
        let figures = table.columns[1..].iter().map(|column| GAP + column.width());
        let room = columns.saturating_sub(figures.sum()).max(LEAST_NAME);
        table.columns.iter_mut().for_each(|column| column.cells.clear());
        for row in rows {
            let lines = wrapped(&row[0], room, true);
            for (at, name) in lines.into_iter().enumerate() {
                let others = row[1..].iter().map(|cell| if at == 0 { cell } else { "" }.to_owned());
                table.push([name].into_iter().chain(others));
            }
        }
        table
    }

    /// Adds a row, which has a cell for each column.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.cells.push(cell));
    }

    /// Writes lines of at most so many columns. What has no room beside the others comes below them,
    /// with the names of the rows again.
    pub fn write(&self, out: &mut Formatter<'_>, columns: usize) -> fmt::Result {
        let Some((names, figures)) = self.columns.split_first() else { return Ok(()) };
        let widest = figures.iter().map(Column::width).max().unwrap_or(0);
        let first = names.width().min(columns.saturating_sub(widest + GAP).max(1));
        let mut rest = figures;
        loop {
            let mut used = first;
            let fits = |column: &&Column| {
                used += GAP + column.width();
                used <= columns
            };
            let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
            let (own, others) = rest.split_at(count);
            write_block(out, names, first, own)?;
            if others.is_empty() {
                return Ok(());
            }
            writeln!(out)?;
            rest = others;
        }
    }
}

fn write_block(
    out: &mut Formatter<'_>,
    names: &Column,
    first: usize,
    figures: &[Column],
) -> fmt::Result {
    let are_numbers = names.cells.iter().all(|name| name.parse::<f64>().is_ok());
    let mut write_line = |name: &str, cell: &dyn Fn(&Column) -> String| {
        let mut line = padded(&shortened(name, first), first, are_numbers);
        for column in figures {
            line.push_str(&" ".repeat(GAP));
            line.push_str(&padded(&cell(column), column.width(), true));
        }
        writeln!(out, "{}", line.trim_end())
    };
    let all = figures.iter().chain([names]);
    let lines = all.map(|column| column.heading.len()).max().unwrap_or(0);
    for line in 0..lines {
        // Short headings stand at the bottom.
        let word = |column: &Column| {
            let at = (line + column.heading.len()).checked_sub(lines);
            at.and_then(|at| column.heading.get(at)).cloned().unwrap_or_default()
        };
        write_line(&word(names), &word)?;
    }
    for (row, name) in names.cells.iter().enumerate() {
        write_line(name, &|column| column.cells.get(row).cloned().unwrap_or_default())?;
    }
    Ok(())
}

fn padded(text: &str, columns: usize, to_the_right: bool) -> String {
    let space = " ".repeat(columns.saturating_sub(width(text)));
    if to_the_right { space + text } else { text.to_owned() + &space }
}

/// A space at which no line is broken; a plain one is written.
pub const NO_BREAK: &str = "\u{a0}";

/// Writes a text after a label, in lines of at most so many columns that stand below each other.
pub fn write_labelled(
    out: &mut Formatter<'_>,
    (label, indent): (&str, usize),
    text: &str,
    columns: usize,
) -> fmt::Result {
    let lines = wrapped(text, columns.saturating_sub(indent).max(1), true);
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        writeln!(
            out,
            "{}",
            format!("{}{line}", padded(label, indent, false)).replace(NO_BREAK, " ").trim_end()
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Display;

    struct Shown<F>(F);

    impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> Display for Shown<F> {
        fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
            (self.0)(out)
        }
    }

    fn trees() -> Table {
        let mut table = Table::new(["", "largest_leaf", "nodes"]);
        table.push(["tree-0000", "7", "1234"].map(str::to_owned));
        table.push(["all", "12", "1234"].map(str::to_owned));
        table
    }

    #[test]
    fn headings_of_several_words_make_no_column_wide() {
        let page = Shown(|out: &mut Formatter<'_>| trees().write(out, 80)).to_string();
        let expected = "           largest\n              leaf  nodes\n\
            tree-0000        7   1234\nall             12   1234\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn names_without_room_go_on_in_further_lines() {
        let rows =
            [["settings", "lead", "s"], ["stem english, pairs", "+1.5", "7"], ["none", "", "12"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let page = Shown(|out: &mut Formatter<'_>| Table::of_rows(&rows, 24).write(out, 24));
        let expected =
            "settings       lead   s\nstem english,  +1.5   7\npairs\nnone                 12\n";
        assert_eq!(page.to_string(), expected);
    }

    #[test]
    fn what_has_no_room_comes_below() {
        let page = Shown(|out: &mut Formatter<'_>| trees().write(out, 18)).to_string();
        let expected = "           largest\n              leaf\ntree-0000        7\nall             12\n\
            \n           nodes\ntree-0000   1234\nall         1234\n";
        assert_eq!(page, expected);
        let page = Shown(|out: &mut Formatter<'_>| trees().write(out, 12)).to_string();
        assert!(page.contains("\ntr…        7\n"), "{page}");
    }

    #[test]
    fn a_labelled_text_is_wrapped() {
        let text =
            |out: &mut Formatter<'_>| write_labelled(out, ("size", 6), "owls and herons", 14);
        assert_eq!(Shown(text).to_string(), "size  owls and\n      herons\n");
    }
}
