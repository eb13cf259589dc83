//! Which rounds there are: successive halving, by thirds.

/// A third of the candidates goes on, with three times the rows and trees.
const STEP: usize = 3;
/// Candidates, besides the first, that the last round has at most.
const FINALISTS: usize = 3;
/// Rows of a round at least, if there are as many: fewer tell nothing.
const LEAST: usize = 500;

/// A round of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The candidates, with the first one, the settings to start from, which is in every round.
    pub candidates: usize,
    /// The rows that are divided into folds.
    pub rows: usize,
    /// What the number of trees is divided by.
    pub fewer_trees: usize,
}

impl Round {
    /// How long a trial takes, compared with those of other rounds.
    pub(super) fn cost(&self) -> f64 {
        self.rows as f64 / self.fewer_trees as f64
    }
}

/// The rounds for so many candidates and rows; the last one has all rows and all trees.
pub(super) fn rounds(candidates: usize, rows: usize) -> Vec<Round> {
    let mut others = vec![candidates.saturating_sub(1)];
    while let Some(&last) = others.last().filter(|&&last| last > FINALISTS) {
        others.push(last.div_ceil(STEP));
    }
    let to_come = (0..others.len()).rev();
    let round = |(&others, to_come): (&usize, usize)| {
        let share = STEP.pow(to_come as u32);
        Round {
            candidates: others + 1,
            rows: rows.div_ceil(share).max(LEAST).min(rows),
            fewer_trees: share,
        }
    };
    others.iter().zip(to_come).map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_goes_on_with_three_times_the_rows() {
        let round = |candidates, rows, fewer_trees| Round { candidates, rows, fewer_trees };
        assert_eq!(rounds(18, 9000), [round(18, 1000, 9), round(7, 3000, 3), round(3, 9000, 1)]);
        assert_eq!(rounds(12, 9001), [round(12, 1001, 9), round(5, 3001, 3), round(3, 9001, 1)]);
        assert_eq!(rounds(9, 9000), [round(9, 3000, 3), round(4, 9000, 1)]);
        assert_eq!(rounds(4, 9000), [round(4, 9000, 1)]);
    }

    #[test]
    fn no_round_has_few_rows_unless_there_are_few() {
        let rows = |rows| rounds(18, rows).iter().map(|round| round.rows).collect::<Vec<_>>();
        assert_eq!(rows(2700), [500, 900, 2700]);
        assert_eq!(rows(600), [500, 500, 600]);
        assert_eq!(rows(40), [40, 40, 40]);
    }
}
