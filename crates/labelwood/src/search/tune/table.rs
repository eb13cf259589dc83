//! What was tried, for people: a table and a sentence.

use super::{Outcome, Standing};
use crate::base::words::plural;
use crate::search::table::markdown;

impl Outcome {
    /// The table of all candidates in Markdown, aligned for terminals: those that came furthest
    /// first, with their figure in percent in each round, and the lead, size and time in their last.
    pub fn table(&self) -> String {
        markdown(&self.cells())
    }

    /// The cells of the table, a row each, the headings first.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let rows = |round: usize| plural(self.plan.rounds[round].rows, "row");
        let heads = ["settings".to_owned()].into_iter().chain((0..self.rounds.len()).map(rows));
        let heads = heads.chain(["lead", "± error", "MB", "s"].map(str::to_owned));
        let mut table = vec![heads.collect()];
        table.extend(self.ranking().iter().map(|&(round, last)| self.line(round, last)));
        table
    }

    /// Every candidate with its last round and what it did there; those that came furthest first.
    pub(super) fn ranking(&self) -> Vec<(usize, Standing)> {
        let mut ranking: Vec<(usize, Standing)> = Vec::new();
        for (round, standings) in self.rounds.iter().enumerate().rev() {
            for &standing in standings {
                if ranking.iter().all(|(_, known)| known.candidate != standing.candidate) {
                    ranking.push((round, standing));
                }
            }
        }
        ranking
    }

    /// What a candidate did in a round, if it was there.
    pub(super) fn standing(&self, round: usize, candidate: usize) -> Option<&Standing> {
        self.rounds[round].iter().find(|standing| standing.candidate == candidate)
    }

    fn line(&self, round: usize, last: Standing) -> Vec<String> {
        let mut line = vec![self.plan.candidates[last.candidate].describe()];
        for round in 0..self.rounds.len() {
            let standing = self.standing(round, last.candidate);
            line.push(
                standing.map_or(String::new(), |found| format!("{:.2}", 100.0 * found.score)),
            );
        }
        let is_start = last.candidate == 0;
        let points = |number: f64| if is_start { String::new() } else { format!("{number:.2}") };
        let sign = if last.lead > 0.0 && !is_start { "+" } else { "" };
        line.push(format!("{sign}{}", points(100.0 * last.lead)));
        line.push(points(100.0 * last.error));
        line.push(format!("{:.1}", last.bytes as f64 / 1e6));
        let seconds = (0..=round).filter_map(|round| self.standing(round, last.candidate));
        line.push(format!("{:.1}", seconds.map(|standing| standing.seconds).sum::<f64>()));
        line
    }

    /// What to take and why, in a sentence.
    pub fn verdict(&self) -> String {
        let measure = self.plan.measure.title();
        let best = self.rounds.last().and_then(|last| last.first());
        let Some(best) = best else { return "nothing was tried".to_owned() };
        let lead = format!(
            "{:.2} points better than the settings as given, with a standard error of {:.2}",
            100.0 * best.lead,
            100.0 * best.error
        );
        let described = self.plan.candidates[best.candidate].describe();
        let verdict = match (best.candidate, self.chosen) {
            (0, _) => "no change is better than the settings as given: keep them".to_owned(),
            (_, 0) => format!(
                "{described} is {lead}; less than three errors may be chance: keep the settings as given"
            ),
            _ => format!("{described} is {lead}: take it"),
        };
        let until = match self.is_finished() {
            true => String::new(),
            false => {
                format!("; {} of {} rounds are done", self.rounds.len(), self.plan.rounds.len())
            }
        };
        format!("by the {measure} in percent, {verdict}{until}")
    }

    /// A page in Markdown with the table, and the chart if it lies beside the page under this name.
    pub fn page(&self, chart: &str) -> String {
        let mut verdict = self.verdict();
        verdict[..1].make_ascii_uppercase();
        format!(
            "# Settings of {}\n\n{verdict}.\n\n{}\nFigures are the {} in percent, each row tested once in {} folds of the training \
             rows. The lead over the settings as given, its standard error and the size of the model \
             are those of the last round that a candidate was in; the time is that of all its trainings. Rounds before the last also \
             have fewer trees.\n\n![What was tried]({chart})\n",
            self.plan.title(),
            self.table(),
            self.plan.measure.title(),
            self.plan.folds,
        )
    }
}
