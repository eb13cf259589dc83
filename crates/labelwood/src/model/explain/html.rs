//! Explanations for people, as HTML that needs no other file: in a notebook, or as a page of its own.
//!
//! Words are marked by `<mark>`, and a mark says by its sign, its underline and a hidden text what its colour
//! says. Colours are those of the reader's choice, light or dark. The templates escape everything from outside.

use super::{Explanation, LabelExplanation};
use crate::algorithms::explain::{Contribution, Evidence, NearRow, Reasons, Rest};
use maud::{Markup, PreEscaped, html};

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
        html! { style { (PreEscaped(STYLE)) } "\n" (piece(self)) }.into_string()
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
        self.output.write_all(piece(explanation).into_string().as_bytes())
    }

    /// Ends the page.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.output.write_all(PAGE_END.as_bytes())
    }
}

fn piece(why: &Explanation) -> Markup {
    let unknown: Vec<&str> = why.unknown.iter().map(|span| &*span.term).collect();
    html! {
        article class="labelwood-why" {
            @if let (Some(text), true) = (&why.text, why.labels.is_empty()) {
                p class="text" dir="auto" { (text) }
            }
            @if let Some(note) = &why.note { p { (note) } }
            @for label in &why.labels { (of_label(why.text.as_deref(), label)) "\n" }
            @if !unknown.is_empty() {
                p { "Words that the model does not know: " bdi { (unknown.join(", ")) } }
            }
        }
        "\n"
    }
}

fn of_label(text: Option<&str>, label: &LabelExplanation) -> Markup {
    let words = match label.marks.is_empty() {
        true => label.features.clone(),
        false => label.words(),
    };
    let name = if text.is_some() { "Word" } else { "Feature" };
    html! {
        section {
            h2 { bdi { (label.label.name) } " " (label.score_in_words()) }
            @if let Some(note) = &label.note { p { (note) } }
            @if let Some(text) = text { (marked(text, label)) }
            @if !words.is_empty() { (terms(name, "What the model makes of it", &words, None)) }
            @for part in &label.parts { (of_part(part)) }
            @if !label.how.is_empty() {
                details {
                    summary { "How the score comes about" }
                    table { tbody {
                        @for fact in &label.how {
                            tr { td { (fact.what) } td class="n" { (figure(fact.value)) } }
                        }
                    } }
                }
            }
        }
    }
}

/// The text with the words marked.
fn marked(text: &str, label: &LabelExplanation) -> Markup {
    let largest =
        label.marks.iter().map(|mark| mark.weight.abs()).fold(f32::MIN_POSITIVE, f32::max);
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    // The text until the next, the text of the next.
    let mut pieces = |from: usize, to: usize| {
        let from = from.max(at);
        let pieces = [at..from, from..to.max(from)].map(|range| characters[range].iter().collect());
        at = to.max(from);
        pieces
    };
    let marks = label.marks.iter().filter(|mark| mark.end <= characters.len());
    html! {
        p class="text" dir="auto" {
            @for mark in marks {
                @let [before, own]: [String; 2] = pieces(mark.start, mark.end);
                @let says = if mark.weight > 0.0 { "for" } else { "against" };
                @let (strength, weight) = (0.08 + 0.42 * mark.weight.abs() / largest, signed(mark.weight));
                (before)
                mark class=(says) style=(format!("--strength:{strength:.2}")) title=(weight) {
                    (own) span class="hidden" { " (" (says) ", " (weight) ")" }
                }
            }
            (pieces(characters.len(), characters.len())[0])
        }
    }
}

fn of_part(part: &Reasons) -> Markup {
    html! {
        details {
            summary { b { (part.part) } ": " (part.describe()) }
            @if let Some(weight) = part.weight {
                p { "Without it the log-odds would fall by " (signed(weight)) "." }
            }
            @if !part.terms.is_empty() {
                @let name = if part.part == "ranker" { "Number" } else { "Word" };
                (terms(name, "What it adds", &part.terms, part.rest))
            }
            @if let Evidence::Neighbours { rows, .. } = &part.evidence { (near_rows(rows)) }
        }
    }
}

fn terms(name: &str, title: &str, terms: &[Contribution], rest: Option<Rest>) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { (name) } th scope="col" { (title) } } }
            tbody {
                @for term in terms {
                    tr { td { bdi { (term.name()) } } td class="n" { (signed(term.contribution)) } }
                }
                @if let Some(Rest { count, contribution }) = rest {
                    tr { td { (count) " others" } td class="n" { (signed(contribution)) } }
                }
            }
        }
    }
}

fn near_rows(rows: &[NearRow]) -> Markup {
    let shared =
        |row: &NearRow| -> Vec<String> { row.terms.iter().map(Contribution::name).collect() };
    let labels = |row: &NearRow| -> Vec<String> {
        row.labels.iter().map(|label| label.name.clone()).collect()
    };
    html! {
        table {
            thead { tr {
                @for head in ["Training row", "Similarity", "Has the label", "Shared words", "Labels"] {
                    th scope="col" { (head) }
                }
            } }
            tbody {
                @for row in rows.iter().take(ROWS) {
                    tr {
                        td class="n" { (row.row + 1) }
                        td class="n" { (format!("{:.2}", row.similarity)) }
                        td { (if row.has_label { "yes" } else { "no" }) }
                        td { bdi { (shared(row).join(", ")) } }
                        td { bdi { (labels(row).join(", ")) } }
                    }
                }
            }
        }
    }
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
