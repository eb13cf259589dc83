//! Explanations for people, as HTML that needs no other file: in a notebook, or as a page of its own.
//!
//! Words are marked by `<mark>`, and a mark says by its sign, its underline and a hidden text what its colour
//! says. Colours are those of the reader's choice, light or dark. Everything from outside is escaped.

use super::{Explanation, LabelExplanation};
use crate::algorithms::explain::{Contribution, Evidence, NearRow, Reasons, Rest};
use std::fmt::{self, Display, Formatter, Write};

/// How the figures look; every rule is for what is inside `.labelwood-why` alone.
const STYLE: &str = "\
.labelwood-why{color-scheme:light dark;--for:20,125,60;--against:190,40,40;--line:rgba(128,128,128,.4);\
font:1rem/1.5 system-ui,sans-serif;max-width:60rem;text-align:start}
@media (prefers-color-scheme:dark){.labelwood-why{--for:90,210,130;--against:255,120,120}}
.labelwood-why h2,.labelwood-why h3{margin:1.2em 0 .3em;line-height:1.25}
.labelwood-why .text{border-inline-start:.25rem solid var(--line);padding:.3rem .8rem;white-space:pre-wrap;\
overflow-wrap:anywhere}
.labelwood-why mark{color:inherit;border-radius:.2em;padding:0 .1em;background:rgba(var(--for),var(--strength));\
border-bottom:.15em solid rgb(var(--for))}
.labelwood-why mark.against{background:rgba(var(--against),var(--strength));\
border-bottom:.15em dashed rgb(var(--against))}
.labelwood-why table{border-collapse:collapse;margin:.4em 0}
.labelwood-why th,.labelwood-why td{padding:.15rem .7rem .15rem 0;text-align:start;vertical-align:top}
.labelwood-why td.n{text-align:end;font-variant-numeric:tabular-nums;white-space:nowrap}
.labelwood-why thead th{border-bottom:1px solid var(--line);font-weight:600}
.labelwood-why .hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
";

/// What a page starts with; it ends with [`PAGE_END`].
const PAGE_START: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Why these labels?</title>\n\
<style>:root{color-scheme:light dark}body{margin:1rem auto;max-width:60rem;padding:0 1rem}</style>\n\
</head>\n<body>\n<main>\n<h1>Why these labels?</h1>\n";
const PAGE_END: &str = "</main>\n</body>\n</html>\n";

/// How many rows are shown.
const ROWS: usize = 5;

impl Explanation {
    /// The explanation as a piece of HTML, to stand within a page.
    pub fn to_html(&self) -> String {
        format!("<style>{STYLE}</style>\n{self}", self = Piece(self))
    }

    /// Writes a page of explanations, one after the other.
    ///
    /// ```
    /// use labelwood::model::explain::Explanation;
    /// let why = Explanation { text: Some("<b>".into()), unknown: vec![], note: None, labels: vec![] };
    /// let mut page = Vec::new();
    /// let mut writer = Explanation::page(&mut page)?;
    /// writer.push(&why)?;
    /// writer.finish()?;
    /// assert!(String::from_utf8(page)?.contains("&lt;b&gt;"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn page<W: std::io::Write>(mut output: W) -> std::io::Result<Page<W>> {
        writeln!(output, "{PAGE_START}<style>{STYLE}</style>")?;
        Ok(Page { output })
    }
}

/// A page of explanations that is being written.
pub struct Page<W> {
    output: W,
}

impl<W: std::io::Write> Page<W> {
    /// Adds an explanation.
    pub fn push(&mut self, explanation: &Explanation) -> std::io::Result<()> {
        write!(self.output, "{}", Piece(explanation))
    }

    /// Ends the page.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.output.write_all(PAGE_END.as_bytes())
    }
}

/// A text without what HTML would read as its own.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                other => out.write_char(other)?,
            }
        }
        Ok(())
    }
}

struct Piece<'a>(&'a Explanation);

impl Display for Piece<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Piece(why) = self;
        writeln!(out, "<article class=\"labelwood-why\">")?;
        if let (Some(text), true) = (&why.text, why.labels.is_empty()) {
            writeln!(out, "<p class=\"text\" dir=\"auto\">{}</p>", Escaped(text))?;
        }
        if let Some(note) = &why.note {
            writeln!(out, "<p>{}</p>", Escaped(note))?;
        }
        for label in &why.labels {
            write_label(out, why.text.as_deref(), label)?;
        }
        if !why.unknown.is_empty() {
            let words: Vec<&str> = why.unknown.iter().map(|span| &*span.term).collect();
            writeln!(
                out,
                "<p>Words that the model does not know: <bdi>{}</bdi></p>",
                Escaped(&words.join(", "))
            )?;
        }
        writeln!(out, "</article>")
    }
}

fn write_label(
    out: &mut Formatter<'_>,
    text: Option<&str>,
    label: &LabelExplanation,
) -> fmt::Result {
    writeln!(
        out,
        "<section>\n<h2><bdi>{}</bdi> {}</h2>",
        Escaped(&label.label.name),
        label.score_in_words()
    )?;
    if let Some(note) = &label.note {
        writeln!(out, "<p>{}</p>", Escaped(note))?;
    }
    if let Some(text) = text {
        write_marked(out, text, label)?;
    }
    let words = match label.marks.is_empty() {
        true => label.features.clone(),
        false => label.words(),
    };
    if !words.is_empty() {
        let title = "What the model makes of it";
        write_terms(out, if text.is_some() { "Word" } else { "Feature" }, title, &words, None)?;
    }
    for part in &label.parts {
        write_part(out, part)?;
    }
    if !label.how.is_empty() {
        writeln!(out, "<details><summary>How the score comes about</summary>\n<table><tbody>")?;
        for fact in &label.how {
            let (what, value) = (Escaped(&fact.what), figure(fact.value));
            writeln!(out, "<tr><td>{what}</td><td class=\"n\">{value}</td></tr>")?;
        }
        writeln!(out, "</tbody></table></details>")?;
    }
    writeln!(out, "</section>")
}

/// The text with the words marked.
fn write_marked(out: &mut Formatter<'_>, text: &str, label: &LabelExplanation) -> fmt::Result {
    let largest =
        label.marks.iter().map(|mark| mark.weight.abs()).fold(f32::MIN_POSITIVE, f32::max);
    let characters: Vec<char> = text.chars().collect();
    let part = |from: usize, to: usize| -> String { characters[from..to].iter().collect() };
    let mut at = 0;
    write!(out, "<p class=\"text\" dir=\"auto\">")?;
    for mark in label.marks.iter().filter(|mark| mark.end <= characters.len()) {
        let is_for = mark.weight > 0.0;
        let (class, says) = if is_for { ("for", "for") } else { ("against", "against") };
        let (strength, weight) = (0.08 + 0.42 * mark.weight.abs() / largest, signed(mark.weight));
        write!(
            out,
            "{}<mark class=\"{class}\" style=\"--strength:{strength:.2}\" title=\"{weight}\">{}<span \
             class=\"hidden\"> ({says}, {weight})</span></mark>",
            Escaped(&part(at, mark.start.max(at))),
            Escaped(&part(mark.start.max(at), mark.end.max(at))),
        )?;
        at = at.max(mark.end);
    }
    writeln!(out, "{}</p>", Escaped(&part(at, characters.len())))
}

fn write_part(out: &mut Formatter<'_>, part: &Reasons) -> fmt::Result {
    let says = part.describe();
    writeln!(out, "<details><summary><b>{}</b>: {}</summary>", Escaped(part.part), Escaped(&says))?;
    if let Some(weight) = part.weight {
        writeln!(out, "<p>Without it the log-odds would fall by {}.</p>", signed(weight))?;
    }
    if !part.terms.is_empty() {
        let what = if part.part == "ranker" { "Number" } else { "Word" };
        write_terms(out, what, "What it adds", &part.terms, part.rest)?;
    }
    if let Evidence::Neighbours { rows, .. } = &part.evidence {
        write_rows(out, rows)?;
    }
    writeln!(out, "</details>")
}

fn write_terms(
    out: &mut Formatter<'_>,
    name: &str,
    title: &str,
    terms: &[Contribution],
    rest: Option<Rest>,
) -> fmt::Result {
    writeln!(
        out,
        "<table><thead><tr><th scope=\"col\">{name}</th><th scope=\"col\">{title}</th></tr></thead><tbody>"
    )?;
    for term in terms {
        let (name, adds) = (term.name(), signed(term.contribution));
        writeln!(
            out,
            "<tr><td><bdi>{}</bdi></td><td class=\"n\">{adds}</td></tr>",
            Escaped(&name)
        )?;
    }
    if let Some(Rest { count, contribution }) = rest {
        let adds = signed(contribution);
        writeln!(out, "<tr><td>{count} others</td><td class=\"n\">{adds}</td></tr>")?;
    }
    writeln!(out, "</tbody></table>")
}

fn write_rows(out: &mut Formatter<'_>, rows: &[NearRow]) -> fmt::Result {
    writeln!(
        out,
        "<table><thead><tr><th scope=\"col\">Training row</th><th scope=\"col\">Similarity</th>\
         <th scope=\"col\">Has the label</th><th scope=\"col\">Shared words</th><th scope=\"col\">Labels</th>\
         </tr></thead><tbody>"
    )?;
    for row in rows.iter().take(ROWS) {
        let shared: Vec<String> = row.terms.iter().map(Contribution::name).collect();
        let labels: Vec<&str> = row.labels.iter().map(|label| &*label.name).collect();
        writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{:.2}</td><td>{}</td><td><bdi>{}</bdi></td>\
             <td><bdi>{}</bdi></td></tr>",
            row.row + 1,
            row.similarity,
            if row.has_label { "yes" } else { "no" },
            Escaped(&shared.join(", ")),
            Escaped(&labels.join(", ")),
        )?;
    }
    writeln!(out, "</tbody></table>")
}

/// A number with its sign.
fn signed(value: f32) -> String {
    format!("{value:+.2}").replace('-', "\u{2212}")
}

/// A figure: whole numbers as such.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        format!("{value}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::explain::NamedLabel;
    use crate::model::explain::Mark;

    fn explanation(text: &str, marks: Vec<Mark>) -> Explanation {
        let label = LabelExplanation {
            label: NamedLabel { id: 3, code: "x".into(), name: "a & b".into() },
            score: 0.5,
            is_probability: true,
            rank: Some(1),
            note: None,
            marks,
            features: Vec::new(),
            parts: Vec::new(),
            how: Vec::new(),
        };
        Explanation {
            text: Some(text.into()),
            unknown: Vec::new(),
            note: None,
            labels: vec![label],
        }
    }

    #[test]
    fn words_are_marked_where_they_stand_and_the_text_is_escaped() {
        let mark = |start, end, weight| Mark { start, end, term: "t".into(), weight, part: None };
        let why = explanation("<é> 猫の", vec![mark(1, 2, 1.5), mark(4, 5, -0.5)]);
        let html = why.to_html();
        let marked = "&lt;<mark class=\"for\" style=\"--strength:0.50\" title=\"+1.50\">é<span \
             class=\"hidden\"> (for, +1.50)</span></mark>&gt; <mark class=\"against\" style=\"--strength:0.22\" \
             title=\"\u{2212}0.50\">猫<span class=\"hidden\"> (against, \u{2212}0.50)</span></mark>の</p>";
        assert!(html.contains(marked), "{html}");
        assert!(html.contains("<bdi>a &amp; b</bdi>"), "{html}");
        assert!(!html.contains("<é>") && !html.contains("http"), "{html}");
    }

    #[test]
    fn marks_that_leave_the_text_are_left_out() {
        let mark = |start, end| Mark { start, end, term: "t".into(), weight: 1.0, part: None };
        let html = explanation("ab", vec![mark(0, 2), mark(1, 2), mark(1, 9)]).to_html();
        assert!(html.contains(">ab<span"), "{html}");
    }
}
