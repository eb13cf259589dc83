//! What was tried, as a picture: the lead of each candidate over the rounds.
//!
//! Figures rise with the rows for all candidates alike, which would hide what tells them apart.

use super::{Outcome, Standing};
use crate::base::words::plural;
use std::fmt::Write;

const WIDTH: f64 = 1060.0;
const HEIGHT: f64 = 450.0;
/// Where the lines are drawn; the names of the last round's candidates stand to the right.
const LEFT: f64 = 60.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 385.0;
/// The height of a line of text.
const LINE: f64 = 15.0;
/// How thick a whisker is; thicker lines have dots.
const WHISKER: f64 = 1.0;
const GREY: &str = "#b8bec6";
const BLUE: &str = "#1f6fb4";
const GREEN: &str = "#2e8b3d";
const TEXT: &str = "#333333";

/// From leads in points to places.
struct Axes {
    low: f64,
    high: f64,
    step: f64,
    rounds: usize,
}

impl Axes {
    fn new(leads: impl Iterator<Item = f64>, rounds: usize) -> Axes {
        let (low, high) =
            leads.fold((0.0, 0.0), |(low, high): (f64, f64), lead| (low.min(lead), high.max(lead)));
        let step = tick_step(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Axes { low, high: high.max(low + step), step, rounds }
    }

    fn x(&self, round: usize) -> f64 {
        match self.rounds {
            1 => (LEFT + RIGHT) / 2.0,
            rounds => LEFT + 30.0 + (RIGHT - LEFT - 50.0) * round as f64 / (rounds - 1) as f64,
        }
    }

    fn y(&self, lead: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (lead - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (low, step) = (self.low, self.step);
        let count = ((self.high - self.low) / self.step).round() as usize;
        (0..=count).map(move |at| low + at as f64 * step)
    }
}

/// A round number that divides a range into four to ten parts, about.
fn tick_step(range: f64) -> f64 {
    let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
    steps.into_iter().find(|step| range / step <= 8.0).unwrap_or(20.0)
}

impl Outcome {
    /// The chart as an SVG file.
    pub fn chart(&self) -> String {
        let points = |share: f64| 100.0 * share;
        let final_round = self.rounds.len().saturating_sub(1);
        // Whiskers, of one standard error, would hide each other in rounds of many candidates.
        let error = |round: usize, standing: &Standing| {
            if round == final_round { standing.error } else { 0.0 }
        };
        let ends = self.rounds.iter().enumerate().flat_map(|(round, standings)| {
            standings.iter().flat_map(move |standing| {
                let error = error(round, standing);
                [points(standing.lead - error), points(standing.lead + error)]
            })
        });
        let axes = Axes::new(ends, self.rounds.len());
        let mut svg = String::new();
        self.draw_axes(&mut svg, &axes);
        // The most important lines are drawn last, above the others.
        let mut ranking = self.ranking();
        ranking.sort_by_key(|(_, standing)| match standing.candidate {
            chosen if chosen == self.chosen => 2,
            0 => 1,
            _ => 0,
        });
        for (last, standing) in &ranking {
            let (color, width) = self.style(standing.candidate);
            let point = |round: usize| {
                let found = self.standing(round, standing.candidate)?;
                Some((axes.x(round), axes.y(points(found.lead))))
            };
            let line: Vec<(f64, f64)> = (0..=*last).filter_map(point).collect();
            draw_line(&mut svg, &line, color, width);
            let (x, error) = (axes.x(*last), error(*last, standing));
            let ends = [standing.lead - error, standing.lead + error];
            draw_line(&mut svg, &ends.map(|end| (x, axes.y(points(end)))), color, WHISKER);
        }
        self.draw_names(&mut svg, &axes);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n{svg}</svg>\n"
        )
    }

    fn style(&self, candidate: usize) -> (&'static str, f64) {
        match candidate {
            chosen if chosen == self.chosen && chosen != 0 => (GREEN, 2.5),
            0 => (BLUE, 2.5),
            _ => (GREY, 1.2),
        }
    }

    fn draw_axes(&self, svg: &mut String, axes: &Axes) {
        let name = self.plan.title();
        let measure = self.plan.measure.title();
        let title = format!(
            "{name}: lead over the settings as given, in points of the {measure}, and its standard error"
        );
        draw_text(svg, (LEFT, 26.0), "start", TEXT, &title);
        for tick in axes.ticks() {
            let y = axes.y(tick);
            draw_line(svg, &[(LEFT, y), (RIGHT, y)], "#e6e8eb", 1.0);
            let label = if axes.step < 1.0 { format!("{tick:+.1}") } else { format!("{tick:+.0}") };
            let label = if tick.abs() < axes.step / 2.0 { "0".to_owned() } else { label };
            draw_text(svg, (LEFT - 8.0, y + 4.0), "end", TEXT, &label);
        }
        for (number, round) in self.plan.rounds.iter().take(self.rounds.len()).enumerate() {
            let x = axes.x(number);
            let start = self.standing(number, 0).map_or(0.0, |start| 100.0 * start.score);
            let lines = [
                plural(round.rows, "row"),
                plural(round.candidates, "candidate"),
                format!("as given: {start:.2}"),
            ];
            for (line, y) in lines.iter().zip([20.0, 20.0 + LINE, 20.0 + 2.0 * LINE]) {
                draw_text(svg, (x, BOTTOM + y), "middle", TEXT, line);
            }
        }
    }

    /// The candidates of the last round by name, none above another.
    fn draw_names(&self, svg: &mut String, axes: &Axes) {
        let Some(last) = self.rounds.last() else { return };
        let mut lowest = TOP - LINE;
        for standing in last {
            let point = axes.y(100.0 * standing.lead);
            let y = point.max(lowest + LINE);
            lowest = y;
            let (color, _) = self.style(standing.candidate);
            let x = axes.x(self.rounds.len() - 1);
            if self.rounds.len() > 1 {
                draw_line(svg, &[(x + 5.0, point), (RIGHT + 4.0, y)], "#d5d9de", 0.7);
            }
            let name = self.plan.candidates[standing.candidate].describe();
            let text = match standing.candidate {
                0 => name,
                _ => format!("{:+.2} {name}", 100.0 * standing.lead),
            };
            let color = if color == GREY { TEXT } else { color };
            draw_text(svg, (RIGHT + 8.0, y + 4.0), "start", color, &text);
        }
    }
}

/// A line with a dot at each point, if it is one of a candidate.
fn draw_line(svg: &mut String, points: &[(f64, f64)], color: &str, width: f64) {
    let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let list = list.join(" ");
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        "<polyline points=\"{list}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\"/>"
    );
    if width > WHISKER {
        for (x, y) in points {
            let radius = width + 1.0;
            let _ = writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\"/>"
            );
        }
    }
}

/// Text without characters that mean something in XML: names and numbers.
fn draw_text(svg: &mut String, (x, y): (f64, f64), anchor: &str, color: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{color}\">{text}</text>"
    );
}
