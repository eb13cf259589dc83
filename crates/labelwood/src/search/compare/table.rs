//! A comparison as a table: for terminals, in Markdown and in LaTeX.

use super::{Outcome, System};
use crate::search::table::markdown;

/// The headings, the name of a system first.
const HEADINGS: [&str; 14] = [
    "system",
    "P@1",
    "P@3",
    "P@5",
    "nDCG@5",
    "PSP@1",
    "PSP@3",
    "PSP@5",
    "mean P",
    "behind",
    "train CPU s",
    "memory MB",
    "model MB",
    "ms a row",
];
/// What a system of others has in place of its costs.
const UNKNOWN: &str = "";

impl Outcome {
    /// The cells of the table, a row each, the headings first: the figures in percent, how far the system is
    /// behind the best with the interval, and what it costs.
    pub fn cells(&self) -> Vec<Vec<String>> {
        self.cells_with(|figure| figure)
    }

    /// The same, where figures that are the best or may be as good look as `strong` makes them.
    fn cells_with(&self, strong: fn(String) -> String) -> Vec<Vec<String>> {
        let headings = HEADINGS.map(str::to_owned).to_vec();
        let rows = self.systems.iter().map(|system| system.cells(strong));
        [headings].into_iter().chain(rows).collect()
    }

    /// The table in Markdown. Figures that are the best of a column, or may be as good, are bold.
    pub fn markdown(&self) -> String {
        markdown(&self.cells_with(|figure| format!("**{figure}**")))
    }

    /// The table in LaTeX, without packages. Figures that are the best of a column, or may be as good, are
    /// bold.
    pub fn latex(&self) -> String {
        let cells = self.cells_with(|figure| format!("\\textbf{{{figure}}}"));
        let mut lines = cells.iter().enumerate().map(|(at, row)| {
            let row: Vec<String> = row
                .iter()
                .map(|cell| if cell.starts_with('\\') { cell.clone() } else { escaped(cell) })
                .collect();
            let line = format!("{} \\\\", row.join(" & "));
            if at == 0 { format!("\\hline\n{line}\n\\hline") } else { line }
        });
        let columns = "r".repeat(HEADINGS.len() - 1);
        let body: Vec<String> = lines.by_ref().collect();
        format!(
            "\\begin{{tabular}}{{l{columns}}}\n{}\n\\hline\n\\end{{tabular}}\n",
            body.join("\n")
        )
    }

    /// A page in Markdown: the table, who is surely ahead, and what the columns are.
    pub fn page(&self) -> String {
        let verdict = self.verdict();
        format!(
            "# Comparison\n\n{verdict}.\n\n{}\nFigures are means over {} and {}, in percent; bold ones are the best of their column or \
             may be as good. \"Behind\" is the difference to the best mean of P@1, P@3 and P@5, and between what it \
             lies. Memory is an estimate; times are CPU times of all threads.\n",
            self.markdown(),
            crate::base::words::plural(self.rounds, "round"),
            crate::base::words::plural(self.rows, "test row"),
        )
    }
}

impl System {
    fn cells(&self, strong: fn(String) -> String) -> Vec<String> {
        let percent = |figure: f64| format!("{:.2}", 100.0 * figure);
        let mut cells = vec![self.name.clone()];
        for (figure, may_be_best) in self.figures.all().into_iter().zip(self.may_be_best) {
            let shown = percent(figure);
            cells.push(if may_be_best { strong(shown) } else { shown });
        }
        cells.push(self.lead.map_or(String::new(), |lead| {
            let [difference, low, high] =
                [lead.difference, lead.high, lead.low].map(|x| -100.0 * x + 0.0);
            format!("{difference:.2} [{low:.2}, {high:.2}]")
        }));
        let costs = self.costs.map(|costs| {
            let seconds = costs.train_cpu_seconds.unwrap_or(costs.train_seconds);
            let ms = costs.predict_cpu_ms.unwrap_or(costs.predict_ms);
            [
                if seconds < 10.0 { format!("{seconds:.2}") } else { format!("{seconds:.1}") },
                format!("{:.1}", costs.memory / 1e6),
                format!("{:.1}", costs.model / 1e6),
                format!("{ms:.3}"),
            ]
        });
        cells.extend(costs.unwrap_or([UNKNOWN; 4].map(str::to_owned)));
        cells
    }
}

/// A text in which LaTeX finds no commands.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latex_shows_names_as_they_are() {
        assert_eq!(escaped("a_b & 5 % {x}"), "a\\_b \\& 5 \\% \\{x\\}");
        assert_eq!(escaped("\\~^"), "\\textbackslash{}\\textasciitilde{}\\textasciicircum{}");
    }
}
