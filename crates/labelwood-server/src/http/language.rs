//! Which of some languages a text is in.

use super::body::Json;
use super::problem::{BodyProblems, Problem};
use super::strict::Object;
use axum::Json as Answer;
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use whatlang::{Detector, Lang};

/// How many languages one may ask for.
const MOST: usize = 5;
/// How many characters of a text are looked at.
const LOOKED_AT: usize = 5000;

/// The tags of two letters that clients have for languages. Those of three letters are known to the crate.
const TAGS: [(&str, Lang); 64] = [
    ("af", Lang::Afr),
    ("am", Lang::Amh),
    ("ar", Lang::Ara),
    ("az", Lang::Aze),
    ("be", Lang::Bel),
    ("bg", Lang::Bul),
    ("bn", Lang::Ben),
    ("ca", Lang::Cat),
    ("cs", Lang::Ces),
    ("cy", Lang::Cym),
    ("da", Lang::Dan),
    ("de", Lang::Deu),
    ("el", Lang::Ell),
    ("en", Lang::Eng),
    ("eo", Lang::Epo),
    ("es", Lang::Spa),
    ("et", Lang::Est),
    ("fa", Lang::Pes),
    ("fi", Lang::Fin),
    ("fr", Lang::Fra),
    ("gu", Lang::Guj),
    ("he", Lang::Heb),
    ("hi", Lang::Hin),
    ("hr", Lang::Hrv),
    ("hu", Lang::Hun),
    ("hy", Lang::Hye),
    ("id", Lang::Ind),
    ("it", Lang::Ita),
    ("ja", Lang::Jpn),
    ("jv", Lang::Jav),
    ("ka", Lang::Kat),
    ("km", Lang::Khm),
    ("kn", Lang::Kan),
    ("ko", Lang::Kor),
    ("la", Lang::Lat),
    ("lt", Lang::Lit),
    ("lv", Lang::Lav),
    ("mk", Lang::Mkd),
    ("ml", Lang::Mal),
    ("mr", Lang::Mar),
    ("nb", Lang::Nob),
    ("ne", Lang::Nep),
    ("nl", Lang::Nld),
    ("no", Lang::Nob),
    ("pa", Lang::Pan),
    ("pl", Lang::Pol),
    ("pt", Lang::Por),
    ("ro", Lang::Ron),
    ("ru", Lang::Rus),
    ("sk", Lang::Slk),
    ("sl", Lang::Slv),
    ("sr", Lang::Srp),
    ("sv", Lang::Swe),
    ("ta", Lang::Tam),
    ("te", Lang::Tel),
    ("th", Lang::Tha),
    ("tl", Lang::Tgl),
    ("tr", Lang::Tur),
    ("uk", Lang::Ukr),
    ("ur", Lang::Urd),
    ("uz", Lang::Uzb),
    ("vi", Lang::Vie),
    ("yi", Lang::Yid),
    ("zh", Lang::Cmn),
];

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DetectRequest {
    #[schema(example = "A quick brown fox jumped over the lazy dog.")]
    text: String,
    /// The languages that it may be in, by their tags of two or three letters.
    #[schema(min_items = 1, max_items = 5, value_type = Vec<Tag>, example = json!(["en", "fi"]))]
    languages: Vec<String>,
}

/// The tags that are known, for the document of the interface.
pub(crate) struct Tag;

impl PartialSchema for Tag {
    fn schema() -> RefOr<Schema> {
        let short = TAGS.iter().map(|(tag, _)| *tag);
        let all = short.chain(Lang::all().iter().map(|lang| lang.code()));
        let tag = ObjectBuilder::new().schema_type(Type::String);
        Schema::from(tag.enum_values(Some(all)).build()).into()
    }
}

impl ToSchema for Tag {}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Detected {
    results: Vec<DetectedLanguage>,
}

/// A language, or null for none of those that were asked for.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
struct DetectedLanguage {
    language: Option<String>,
    score: f64,
}

/// The language of a text
#[utoipa::path(
    post, path = "/v1/detect-language", tag = "annif",
    request_body = DetectRequest,
    responses((status = 200, description = "The languages, likely ones first", body = Detected), BodyProblems)
)]
pub(crate) async fn detect_language(
    Json(Object(request)): Json<Object<DetectRequest>>,
) -> Result<Answer<Detected>, Problem> {
    Ok(Answer(detected(request)?))
}

fn detected(DetectRequest { text, languages }: DetectRequest) -> Result<Detected, Problem> {
    if !(1..=MOST).contains(&languages.len()) {
        return Err(Problem::bad(format!("languages: give 1 to {MOST}")));
    }
    let known: Option<Vec<Lang>> = languages.iter().map(|tag| of_tag(tag)).collect();
    let Some(known) = known else {
        return Err(Problem::bad("languages: one of them cannot be told from others here"));
    };
    let start: String = text.chars().take(LOOKED_AT).collect();
    let found = Detector::with_allowlist(known.clone()).detect(&start);
    let confidence = found.as_ref().map_or(0.0, |found| found.confidence());
    let mut results: Vec<DetectedLanguage> = Vec::new();
    for (language, lang) in languages.into_iter().zip(known) {
        if results.iter().any(|other| other.language.as_ref() == Some(&language)) {
            continue;
        }
        let is_found = found.as_ref().is_some_and(|found| found.lang() == lang);
        let score = if is_found { confidence } else { 0.0 };
        results.push(DetectedLanguage { language: Some(language), score });
    }
    results.push(DetectedLanguage { language: None, score: 1.0 - confidence });
    results.sort_by(|left, right| right.score.total_cmp(&left.score));
    Ok(Detected { results })
}

fn of_tag(tag: &str) -> Option<Lang> {
    let short = TAGS.iter().find(|(known, _)| *known == tag).map(|&(_, lang)| lang);
    short.or_else(|| Lang::from_code(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str, languages: &[&str]) -> Result<Detected, Problem> {
        let languages = languages.iter().map(|&tag| tag.to_owned()).collect();
        detected(DetectRequest { text: text.to_owned(), languages })
    }

    #[test]
    fn the_likely_language_comes_first_and_scores_add_up() {
        let text = "Kirjasto on avoinna myös lauantaisin, ja ulkona sataa vettä.";
        let found = ask(text, &["en", "fin", "sv"]).unwrap();
        assert_eq!(found.results[0].language.as_deref(), Some("fin"));
        assert!((found.results.iter().map(|it| it.score).sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(
            ask("", &["en"]).unwrap().results[0],
            DetectedLanguage { language: None, score: 1.0 }
        );
    }

    #[test]
    fn languages_that_are_not_known_or_too_many_are_refused() {
        for languages in [&[][..], &["xx"], &["en", "fi", "sv", "de", "fr", "es"]] {
            assert!(ask("text", languages).is_err(), "{languages:?}");
        }
    }
}
