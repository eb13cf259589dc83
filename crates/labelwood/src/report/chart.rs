//! Line charts and bars as SVG that a page holds, in the colours of the page.
//!
//! Each has a title and a description for those who cannot see it; the numbers stand in a table beside it,
//! which the page adds. Lines differ by their dashes, too, for those who do not tell colours apart.

use maud::{Markup, html};

/// The size of a chart, and the frame that the axes leave.
pub(super) const WIDTH: f64 = 640.0;
pub(super) const HEIGHT: f64 = 340.0;
pub(super) const LEFT: f64 = 52.0;
pub(super) const RIGHT: f64 = 12.0;
pub(super) const TOP: f64 = 12.0;
pub(super) const BOTTOM: f64 = 52.0;

/// The looks of lines, in the order in which they are used.
const LOOKS: [&str; 3] = ["one", "two", "three"];

/// An axis.
pub(super) struct Axis<'a> {
    pub name: &'a str,
    pub from: f64,
    pub to: f64,
    /// The values that are written beside it.
    ticks: Vec<f64>,
    is_log: bool,
}

impl<'a> Axis<'a> {
    /// With five parts of the same length.
    pub(super) fn new(name: &'a str, from: f64, to: f64) -> Self {
        let ticks = match to > from {
            true => (0..=5).map(|at| from + (to - from) * f64::from(at) / 5.0).collect(),
            false => vec![from],
        };
        Axis { name, from, to, ticks, is_log: false }
    }

    /// From 0 to 1.
    pub(super) fn of_shares(name: &'a str) -> Self {
        Axis::new(name, 0.0, 1.0)
    }

    /// Between round numbers with all values between them.
    pub(super) fn around(name: &'a str, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        let step = round_step((high - low).max(1e-2));
        let (from, parts) = ((low / step).floor(), (high / step).ceil() - (low / step).floor());
        let ticks: Vec<f64> =
            (0..=parts.max(1.0) as u32).map(|at| (from + f64::from(at)) * step).collect();
        Axis { name, from: ticks[0], to: ticks[ticks.len() - 1], ticks, is_log: false }
    }

    /// Where equal distances are equal ratios, for values above 0.
    pub(super) fn of_ratios(name: &'a str, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        let (from, to) = (low / 1.6, high * 1.6);
        let powers = (-9..=12).map(|power| libm::pow(10.0, f64::from(power)));
        let ticks = |of_power: &[f64]| -> Vec<f64> {
            let all = powers.clone().flat_map(|power| of_power.iter().map(move |one| one * power));
            all.filter(|tick| (from..=to).contains(tick)).collect()
        };
        let (most, few) = (ticks(&[1.0, 2.0, 5.0]), ticks(&[1.0]));
        Axis { name, from, to, ticks: if most.len() > 7 { few } else { most }, is_log: true }
    }

    /// How far along the axis a value is, between 0 and 1.
    fn along(&self, value: f64) -> f64 {
        let place = |value: f64| if self.is_log { libm::log(value.max(1e-12)) } else { value };
        let (from, range) = (place(self.from), place(self.to) - place(self.from));
        if range > 0.0 { ((place(value) - from) / range).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// Some values with what is written beside them.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        self.ticks.iter().map(|&value| (value, short(value)))
    }

    /// The place of a value between left and right.
    pub(super) fn x(&self, value: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * self.along(value)
    }

    /// The place of a value between top and bottom.
    pub(super) fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * self.along(value)
    }
}

/// The smallest and the largest value.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// A round number that divides a range into about three to six parts.
fn round_step(range: f64) -> f64 {
    let power = libm::pow(10.0, libm::log10(range / 6.0).floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| range / (step * power) <= 6.0);
    step.unwrap_or(10.0) * power
}

/// A number in a few characters.
fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value == 0.0 => "0".to_owned(),
        1e5.. => format!("{value:.0e}"),
        100.0.. => format!("{value:.0}"),
        0.01.. => {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.0e}"),
    }
}

/// A chart of lines.
pub(super) struct Lines<'a> {
    /// A word for the chart, the same for no other of the page.
    pub id: &'a str,
    pub title: &'a str,
    /// What it shows, in a sentence or two.
    pub description: &'a str,
    pub x: Axis<'a>,
    pub y: Axis<'a>,
    /// Lines with their names.
    pub lines: Vec<(&'a str, Vec<(f64, f64)>)>,
    /// Whether the first line's points are marked.
    pub has_points: bool,
    /// Whether there is a line from corner to corner.
    pub has_diagonal: bool,
    /// A value of x that is marked, and what is written beside it.
    pub mark: Option<(f64, String)>,
}

/// A place in the picture.
fn place((x_axis, x): (&Axis<'_>, f64), (y_axis, y): (&Axis<'_>, f64)) -> (String, String) {
    (format!("{:.1}", x_axis.x(x)), format!("{:.1}", y_axis.y(y)))
}

impl Lines<'_> {
    pub(super) fn draw(&self) -> Markup {
        let at = |x, y| place((&self.x, x), (&self.y, y));
        let points = |line: &[(f64, f64)]| {
            let points = line.iter().map(|&(x, y)| at(x, y));
            points.map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ")
        };
        let picture = html! {
            (frame(&self.x, &self.y))
            @if self.has_diagonal {
                @let ((x1, y1), (x2, y2)) = (at(self.x.from, self.y.from), at(self.x.to, self.y.to));
                line class="ideal" x1=(x1) y1=(y1) x2=(x2) y2=(y2) {}
            }
            @if let Some((value, text)) = &self.mark {
                @let ((x1, y1), (x2, y2)) = (at(*value, self.y.from), at(*value, self.y.to));
                line class="mark" x1=(x1) y1=(y1) x2=(x2) y2=(y2) {}
                @let is_left = self.x.along(*value) < 0.6;
                text x=(x1) dx=(if is_left { "6" } else { "-6" }) y=(TOP + 16.0)
                    text-anchor=(if is_left { "start" } else { "end" }) { (text) }
            }
            @for ((_, line), look) in self.lines.iter().zip(LOOKS) {
                polyline class={ "line " (look) } points=(points(line)) {}
            }
            @if self.has_points {
                @for &(x, y) in self.lines.first().iter().flat_map(|(_, line)| line) {
                    @let (x, y) = at(x, y);
                    circle cx=(x) cy=(y) r="3.5" {}
                }
            }
        };
        let names: Vec<&str> = self.lines.iter().map(|(name, _)| *name).collect();
        figure((self.id, self.title, self.description), HEIGHT, picture, &names, false)
    }
}

/// Groups of bars between 0 and 1, side by side.
pub(super) struct Bars<'a> {
    /// A word for the chart, the same for no other of the page.
    pub id: &'a str,
    pub title: &'a str,
    /// What it shows, in a sentence or two.
    pub description: &'a str,
    /// What the groups are, and what the bars measure.
    pub x: &'a str,
    pub y: &'a str,
    /// The names of the bars of each group.
    pub names: [&'a str; 2],
    pub groups: Vec<(String, [f64; 2])>,
}

impl Bars<'_> {
    pub(super) fn draw(&self) -> Markup {
        let x = Axis::new(self.x, 0.0, 0.0);
        let y = Axis::of_shares(self.y);
        let of_group = (WIDTH - LEFT - RIGHT) / self.groups.len().max(1) as f64;
        let width = (0.36 * of_group).min(46.0);
        let picture = html! {
            (frame(&x, &y))
            @for (group, (name, bars)) in self.groups.iter().enumerate() {
                @let middle = LEFT + of_group * (group as f64 + 0.5);
                @for (bar, look) in [0, 1].into_iter().zip(LOOKS) {
                    @let height = (HEIGHT - TOP - BOTTOM) * y.along(bars[bar]);
                    rect class=(look) x=(format!("{:.1}", middle + (bar as f64 - 1.0) * width + bar as f64))
                        y=(format!("{:.1}", HEIGHT - BOTTOM - height))
                        width=(format!("{:.1}", width - 1.0)) height=(format!("{height:.1}")) {}
                }
                text x=(format!("{middle:.1}")) y=(HEIGHT - BOTTOM + 20.0) text-anchor="middle" { (name) }
            }
        };
        figure((self.id, self.title, self.description), HEIGHT, picture, &self.names, true)
    }
}

/// The frame with the axes' names and numbers.
pub(super) fn frame(x: &Axis<'_>, y: &Axis<'_>) -> Markup {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    html! {
        @for (value, text) in y.ticks() {
            @let (_, at) = place((x, x.from), (y, value));
            line class="frame" x1=(LEFT) y1=(at) x2=(right) y2=(at) {}
            text x=(LEFT - 8.0) y=(at) dy="4" text-anchor="end" { (text) }
        }
        @for (value, text) in x.ticks().filter(|_| x.to > x.from) {
            @let (at, _) = place((x, value), (y, y.from));
            text x=(at) y=(bottom + 20.0) text-anchor="middle" { (text) }
        }
        text x=((LEFT + right) / 2.0) y=(HEIGHT - 8.0) text-anchor="middle" { (x.name) }
        @let middle = (TOP + bottom) / 2.0;
        text x="14" y=(middle) text-anchor="middle" transform={ "rotate(-90 14 " (middle) ")" } { (y.name) }
    }
}

/// A picture with its title, its description and, if there are several things to tell apart, their names.
pub(super) fn figure(
    (id, title, description): (&str, &str, &str),
    height: f64,
    picture: Markup,
    names: &[&str],
    are_bars: bool,
) -> Markup {
    html! {
        figure {
            figcaption { (title) }
            @if names.len() > 1 {
                ul class="key" {
                    @for (name, look) in names.iter().zip(LOOKS) {
                        li {
                            svg viewBox="0 0 32 12" aria-hidden="true" {
                                @if are_bars {
                                    rect class=(look) x="10" y="0" width="12" height="12" {}
                                } @else {
                                    line class={ "line " (look) } x1="0" y1="6" x2="32" y2="6" {}
                                }
                            }
                            (name)
                        }
                    }
                }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img"
                aria-labelledby={ (id) "-title " (id) "-about" } {
                title id={ (id) "-title" } { (title) }
                desc id={ (id) "-about" } { (description) }
                (picture)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_axes_are_short() {
        let shown = [0.0, 0.2, 0.6000000001, 1.0, -3.25, 120.4, 2e7, 0.000012].map(short);
        assert_eq!(shown, ["0", "0.2", "0.6", "1", "-3.25", "120", "2e7", "1e-5"]);
    }

    #[test]
    fn axes_have_round_numbers_around_all_values() {
        let around = |values: &[f64]| {
            let axis = Axis::around("x", values.iter().copied());
            axis.ticks().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(around(&[41.3, 66.9]), ["40", "45", "50", "55", "60", "65", "70"]);
        assert_eq!(around(&[-3.1, 0.0]), ["-4", "-3", "-2", "-1", "0"]);
        assert_eq!(around(&[0.0, 0.0]).len(), 2);
        let axis = Axis::of_ratios("x", [0.3, 40.0].into_iter());
        let ticks: Vec<String> = axis.ticks().map(|(_, text)| text).collect();
        assert_eq!(ticks, ["1", "10"]);
        assert!(
            (axis.along(1.0) - axis.along(0.5) - axis.along(40.0) + axis.along(20.0)).abs() < 1e-12
        );
    }

    #[test]
    fn a_line_runs_from_corner_to_corner_of_the_frame() {
        let lines = Lines {
            id: "x",
            title: "a < b",
            description: "",
            x: Axis::new("score", -2.0, 2.0),
            y: Axis::of_shares("share"),
            lines: vec![("one", vec![(-2.0, 0.0), (2.0, 1.0), (9.0, 1.0)])],
            has_points: false,
            has_diagonal: false,
            mark: None,
        };
        let picture = lines.draw().into_string();
        assert!(picture.contains(r#"points="52.0,288.0 628.0,12.0 628.0,12.0""#), "{picture}");
        assert!(picture.contains("a &lt; b</title>"), "{picture}");
        assert!(!picture.contains("class=\"key\""), "one line needs no key");
    }
}
