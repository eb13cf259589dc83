//! Line charts and bars as SVG that a page holds, in the colours of the page.
//!
//! Each has a title and a description for those who cannot see it; the numbers stand in a table beside it,
//! which the page adds. Lines differ by their dashes, too, for those who do not tell colours apart.

use maud::{Markup, html};

/// The size of a chart, and the frame that the axes leave.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 52.0;

/// The looks of lines, in the order in which they are used.
const LOOKS: [&str; 3] = ["one", "two", "three"];

/// An axis.
pub(super) struct Axis<'a> {
    pub name: &'a str,
    pub from: f64,
    pub to: f64,
}

impl Axis<'_> {
    /// From 0 to 1.
    pub(super) fn of_shares(name: &str) -> Axis<'_> {
        Axis { name, from: 0.0, to: 1.0 }
    }

    /// How far along the axis a value is, between 0 and 1.
    fn along(&self, value: f64) -> f64 {
        let range = self.to - self.from;
        if range > 0.0 { ((value - self.from) / range).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// Five values with what is written beside them.
    fn ticks(&self) -> Vec<(f64, String)> {
        let range = self.to - self.from;
        let count = if range > 0.0 { 5 } else { 0 };
        let value = |step| self.from + range * f64::from(step) / f64::from(count.max(1));
        (0..=count).map(|step| (value(step), short(value(step)))).collect()
    }
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
    let x = LEFT + (WIDTH - LEFT - RIGHT) * x_axis.along(x);
    let y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y_axis.along(y);
    (format!("{x:.1}"), format!("{y:.1}"))
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
        figure((self.id, self.title, self.description), picture, &names, false)
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
        let x = Axis { name: self.x, from: 0.0, to: self.groups.len() as f64 };
        let y = Axis::of_shares(self.y);
        let of_group = (WIDTH - LEFT - RIGHT) / self.groups.len().max(1) as f64;
        let width = (0.36 * of_group).min(46.0);
        let picture = html! {
            (frame(&Axis { from: 0.0, to: 0.0, ..x }, &y))
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
        figure((self.id, self.title, self.description), picture, &self.names, true)
    }
}

/// The frame with the axes' names and numbers.
fn frame(x: &Axis<'_>, y: &Axis<'_>) -> Markup {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    html! {
        @for (value, text) in y.ticks() {
            @let (_, at) = place((x, x.from), (y, value));
            line class="frame" x1=(LEFT) y1=(at) x2=(right) y2=(at) {}
            text x=(LEFT - 8.0) y=(at) dy="4" text-anchor="end" { (text) }
        }
        @for (value, text) in x.ticks().into_iter().filter(|_| x.to > x.from) {
            @let (at, _) = place((x, value), (y, y.from));
            text x=(at) y=(bottom + 20.0) text-anchor="middle" { (text) }
        }
        text x=((LEFT + right) / 2.0) y=(HEIGHT - 8.0) text-anchor="middle" { (x.name) }
        @let middle = (TOP + bottom) / 2.0;
        text x="14" y=(middle) text-anchor="middle" transform={ "rotate(-90 14 " (middle) ")" } { (y.name) }
    }
}

/// A picture with its title, its description and, if there are several things to tell apart, their names.
fn figure(
    (id, title, description): (&str, &str, &str),
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
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
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
    fn a_line_runs_from_corner_to_corner_of_the_frame() {
        let lines = Lines {
            id: "x",
            title: "a < b",
            description: "",
            x: Axis { name: "score", from: -2.0, to: 2.0 },
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
