//! Charts of several systems: figures with their intervals, and figures against costs.

use super::chart::{Axis, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, figure, frame};
use maud::{Markup, html};

/// How high a line of [`Intervals`] is, and how far below its name the dot lies.
const LINE: f64 = 46.0;
const BELOW: f64 = 16.0;
/// How large the letters of a phone are in the picture: no two names may meet there either.
const LETTER: (f64, f64) = (9.8, 20.0);
/// How far from its point a name stands.
const APART: f64 = 9.0;

/// Values with what they lie between, one below the other.
pub(super) struct Intervals<'a> {
    /// A word for the chart, the same for no other of the page.
    pub id: &'a str,
    pub title: &'a str,
    /// What it shows, in a sentence or two.
    pub description: &'a str,
    pub x: Axis<'a>,
    /// Of each its name, its value and its ends, and what is written beside it.
    pub lines: Vec<(String, [f64; 3], String)>,
}

impl Intervals<'_> {
    pub(super) fn draw(&self) -> Markup {
        let bottom = TOP + LINE * self.lines.len() as f64;
        let at = |value: f64| format!("{:.1}", self.x.x(value));
        let picture = html! {
            @for (value, text) in self.x.ticks() {
                line class="frame" x1=(at(value)) y1=(TOP) x2=(at(value)) y2=(bottom) {}
                text x=(at(value)) y=(bottom + 20.0) text-anchor="middle" { (text) }
            }
            @for (line, (name, [value, from, to], text)) in self.lines.iter().enumerate() {
                @let y = TOP + LINE * line as f64 + 16.0;
                text class="name" x=(LEFT) y=(y) { (name) }
                text class="name" x=(WIDTH - RIGHT) y=(y) text-anchor="end" { (text) }
                line class="line one" x1=(at(*from)) y1=(y + BELOW) x2=(at(*to)) y2=(y + BELOW) {}
                circle cx=(at(*value)) cy=(y + BELOW) r="5" {}
            }
            text x=((LEFT + WIDTH - RIGHT) / 2.0) y=(bottom + BOTTOM - 8.0) text-anchor="middle" { (self.x.name) }
        };
        let about = (self.id, self.title, self.description);
        figure(about, bottom + BOTTOM, picture, &[], false)
    }
}

/// Points with names.
pub(super) struct Points<'a> {
    /// A word for the chart, the same for no other of the page.
    pub id: &'a str,
    pub title: &'a str,
    /// What it shows, in a sentence or two.
    pub description: &'a str,
    pub x: Axis<'a>,
    pub y: Axis<'a>,
    pub points: Vec<(String, f64, f64)>,
}

impl Points<'_> {
    pub(super) fn draw(&self) -> Markup {
        let places: Vec<(f64, f64)> =
            self.points.iter().map(|(_, x, y)| (self.x.x(*x), self.y.y(*y))).collect();
        let names: Vec<&str> = self.points.iter().map(|(name, ..)| &**name).collect();
        let picture = html! {
            (frame(&self.x, &self.y))
            @for (x, y) in &places { circle cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="5" {} }
            @for (name, (x, y, anchor)) in names.iter().zip(beside(&places, &names)) {
                text class="name" x=(format!("{x:.1}")) y=(format!("{y:.1}")) dy="4" text-anchor=(anchor) { (name) }
            }
        };
        figure((self.id, self.title, self.description), HEIGHT, picture, &[], false)
    }
}

/// A rectangle: its left and right, its top and bottom.
type Place = [f64; 4];

/// Where the name of each point stands, and which of its ends: the first of several places that no other name
/// and no other point takes.
fn beside(points: &[(f64, f64)], names: &[&str]) -> Vec<(f64, f64, &'static str)> {
    let mut taken: Vec<Place> =
        points.iter().map(|(x, y)| [x - 6.0, x + 6.0, y - 6.0, y + 6.0]).collect();
    let (width, height) = LETTER;
    let of = |(at, name): (usize, &&str)| {
        let (x, y) = points[at];
        let width = width * name.chars().count() as f64;
        let near = [
            ("start", APART, 0.0),
            ("end", -APART, 0.0),
            ("middle", 0.0, -0.8),
            ("middle", 0.0, 0.8),
        ];
        let far = [-0.7, 0.7, -1.4, 1.4, -2.1, 2.1]
            .into_iter()
            .flat_map(|down| [("start", APART, down), ("end", -APART, down)]);
        let places = near.into_iter().chain(far).map(|(anchor, aside, down)| {
            let left = match anchor {
                "start" => x + aside,
                "end" => x + aside - width,
                _ => x - width / 2.0,
            };
            let (middle, half) = (y + down * height, height / 2.0);
            (anchor, aside, down * height, [left, left + width, middle - half, middle + half])
        });
        let is_free = |taken: &[Place], own: Place| {
            let is_inside =
                own[0] >= LEFT && own[1] <= WIDTH && own[2] >= 0.0 && own[3] <= HEIGHT - BOTTOM;
            let others = taken.iter().enumerate().filter(|(other, _)| *other != at);
            is_inside && others.into_iter().all(|(_, other)| !overlap(&own, other))
        };
        let found =
            places.clone().find(|(.., own)| is_free(&taken, *own)).or(places.clone().next());
        let (anchor, aside, down, own) = found.expect("there are several places");
        taken.push(own);
        (x + aside, y + down, anchor)
    };
    names.iter().enumerate().map(of).collect()
}

fn overlap(one: &Place, other: &Place) -> bool {
    one[0] < other[1] && other[0] < one[1] && one[2] < other[3] && other[2] < one[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_near_points_do_not_meet() {
        let points = [(100.0, 100.0), (104.0, 103.0), (110.0, 96.0), (600.0, 200.0)];
        let names = ["craftml", "label-tree", "grove", "neighbours"];
        let found = beside(&points, &names);
        // At the right end a name stands to the left of its point.
        assert_eq!((found[3].2, found[3].0), ("end", 591.0));
        let place = |at: usize| {
            let (x, y, anchor) = found[at];
            let width = LETTER.0 * names[at].len() as f64;
            let left = x - width
                * ["start", "middle", "end"].iter().position(|one| *one == anchor).unwrap() as f64
                / 2.0;
            [left, left + width, y - 10.0, y + 10.0]
        };
        for one in 0..4 {
            for other in 0..one {
                assert!(!overlap(&place(one), &place(other)), "{one} {other} {found:?}");
            }
        }
    }
}
