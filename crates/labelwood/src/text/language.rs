//! The language that texts are written in, guessed from their letters.
//!
//! A guess looks at a bounded sample that is spread evenly over all texts, however many there are.
//! Single titles are too short to tell languages apart, so texts are joined to passages, and each
//! passage votes. The vote counts as much as [`whatlang`] is sure of it.
//!
//! [`Language::guess`] is for texts at hand; [`LanguageSample`] is for texts that come one by one and
//! are not kept.

use super::params::Language;
use whatlang::{Detector, Lang};

/// Texts of a sample at most. When there are as many, every other one is dropped.
const TEXTS: usize = 256;
/// Bytes that are taken of a text, about.
const TEXT_BYTES: usize = 300;
/// Texts are joined until they have as many bytes.
const PASSAGE_BYTES: usize = 600;
/// The share of all votes that a language needs.
const MAJORITY: f64 = 0.6;
/// How sure its votes must be, as a mean over all passages. Lists of English words reach 0.4, random
/// letters 0.1.
const LEAST_SURE: f64 = 0.3;
/// Letters of a sample at least: fewer tell nothing.
const LEAST_LETTERS: usize = 40;

impl Language {
    /// The language that texts are written in, if there is a stemmer for it; none if that is unsure.
    ///
    /// Of many texts, some hundreds are looked at. The guess follows from the texts and their order
    /// alone. It takes milliseconds, and one to three sentences are enough for it.
    ///
    /// ```
    /// use labelwood::text::Language;
    /// let titles = ["Ulkona sataa vettä, ja tuuli on kova.", "Kirjasto on avoinna myös lauantaisin."];
    /// assert_eq!(Language::guess(titles), Some(Language::Finnish));
    /// assert_eq!(Language::guess(["L1957 L1984 cve-2019-0990"]), None);
    /// ```
    pub fn guess<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Option<Language> {
        let mut sample = LanguageSample::default();
        texts.into_iter().for_each(|text| sample.add(text.as_ref()));
        sample.guess()
    }
}

impl Language {
    /// Whether words are often joined to longer ones, or take many endings: pieces of words help there.
    ///
    /// ```
    /// use labelwood::text::Language;
    /// assert!(Language::German.joins_words() && !Language::English.joins_words());
    /// ```
    pub fn joins_words(self) -> bool {
        use Language::*;
        matches!(
            self,
            Danish | Dutch | Finnish | German | Hungarian | Norwegian | Swedish | Turkish
        )
    }

    /// The language of a tag such as `en` or `pt-br`, if there is a stemmer for it.
    ///
    /// ```
    /// use labelwood::text::Language;
    /// assert_eq!(Language::of_tag("pt-br"), Some(Language::Portuguese));
    /// assert_eq!(Language::of_tag("ja"), None);
    /// ```
    pub fn of_tag(tag: &str) -> Option<Self> {
        Some(match tag.split('-').next()? {
            "ar" => Language::Arabic,
            "da" => Language::Danish,
            "de" => Language::German,
            "el" => Language::Greek,
            "en" => Language::English,
            "es" => Language::Spanish,
            "fi" => Language::Finnish,
            "fr" => Language::French,
            "hu" => Language::Hungarian,
            "it" => Language::Italian,
            "nb" | "nn" | "no" => Language::Norwegian,
            "nl" => Language::Dutch,
            "pt" => Language::Portuguese,
            "ro" => Language::Romanian,
            "ru" => Language::Russian,
            "sv" => Language::Swedish,
            "ta" => Language::Tamil,
            "tr" => Language::Turkish,
            _ => return None,
        })
    }

    /// The tag of the language, such as `en`.
    ///
    /// ```
    /// use labelwood::text::Language;
    /// assert_eq!(Language::Norwegian.tag(), "no");
    /// assert_eq!(Language::of_tag(Language::Greek.tag()), Some(Language::Greek));
    /// ```
    pub fn tag(self) -> &'static str {
        match self {
            Language::Arabic => "ar",
            Language::Danish => "da",
            Language::Dutch => "nl",
            Language::English => "en",
            Language::Finnish => "fi",
            Language::French => "fr",
            Language::German => "de",
            Language::Greek => "el",
            Language::Hungarian => "hu",
            Language::Italian => "it",
            Language::Norwegian => "no",
            Language::Portuguese => "pt",
            Language::Romanian => "ro",
            Language::Russian => "ru",
            Language::Spanish => "es",
            Language::Swedish => "sv",
            Language::Tamil => "ta",
            Language::Turkish => "tr",
        }
    }
}

/// Texts to guess a language from: some hundreds, spread evenly over all that were added.
///
/// ```
/// use labelwood::text::{Language, LanguageSample};
/// let mut sample = LanguageSample::default();
/// for text in ["Ein Buch über die Geschichte der Stadt", "Die schönsten Wege durch den Wald"] {
///     sample.add(text);
/// }
/// assert_eq!(sample.guess(), Some(Language::German));
/// ```
#[derive(Clone, Debug)]
pub struct LanguageSample {
    /// The starts of the texts that are kept.
    texts: Vec<String>,
    /// One text is kept of so many.
    every: usize,
    /// How many texts there were, blank ones left out.
    seen: usize,
}

impl Default for LanguageSample {
    fn default() -> Self {
        LanguageSample { texts: Vec::new(), every: 1, seen: 0 }
    }
}

impl LanguageSample {
    /// Adds a text.
    pub fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if self.seen.is_multiple_of(self.every) {
            if self.texts.len() == TEXTS {
                self.every *= 2;
                let mut at = 0;
                self.texts.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
            }
            // The number of texts seen is `TEXTS` times the old distance when they are thinned out, so
            // that the text is one to keep at the new distance, too.
            self.texts.push(start(text).to_owned());
        }
        self.seen += 1;
    }

    /// The language of the texts, if there is a stemmer for it; none if that is unsure.
    pub fn guess(&self) -> Option<Language> {
        let letters = |text: &String| text.chars().filter(|c| c.is_alphabetic()).count();
        if self.texts.iter().map(letters).sum::<usize>() < LEAST_LETTERS {
            return None;
        }
        let passages = self.passages();
        let votes: Vec<(Lang, f64)> = passages.iter().filter_map(|passage| vote(passage)).collect();
        let all: f64 = votes.iter().map(|(_, sure)| sure).sum();
        let needed = (MAJORITY * all).max(LEAST_SURE * passages.len() as f64);
        let of = |lang: Lang| votes.iter().filter(move |vote| vote.0 == lang).map(|vote| vote.1);
        let is_chosen = |lang: &Lang| of(*lang).sum::<f64>() >= needed;
        votes.iter().map(|(lang, _)| *lang).find(is_chosen).and_then(with_stemmer)
    }

    /// The texts, joined to passages that are long enough to tell their language.
    fn passages(&self) -> Vec<String> {
        let mut passages: Vec<String> = Vec::new();
        for text in &self.texts {
            match passages.last_mut().filter(|last| last.len() < PASSAGE_BYTES) {
                Some(last) => last.extend([" ", text]),
                None => passages.push(text.clone()),
            }
        }
        // The rest is often too short to vote.
        if passages.len() > 1 && passages.last().is_some_and(|last| last.len() < PASSAGE_BYTES) {
            passages.pop();
        }
        passages
    }
}

/// The language of a passage, and how sure that is, from 0 to 1.
fn vote(passage: &str) -> Option<(Lang, f64)> {
    let found = whatlang::detect(passage)?;
    // These two are so alike that neither is ever sure beside the other.
    let twin = match found.lang() {
        Lang::Dan => Lang::Nob,
        Lang::Nob => Lang::Dan,
        other => return Some((other, found.confidence())),
    };
    let others = Detector::with_denylist(vec![twin]).detect(passage)?;
    Some((found.lang(), others.confidence()))
}

/// The first bytes of a text, whole characters.
fn start(text: &str) -> &str {
    let end = (0..=TEXT_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

/// The language, if there is a stemmer for it.
fn with_stemmer(lang: Lang) -> Option<Language> {
    Some(match lang {
        Lang::Ara => Language::Arabic,
        Lang::Dan => Language::Danish,
        Lang::Nld => Language::Dutch,
        Lang::Eng => Language::English,
        Lang::Fin => Language::Finnish,
        Lang::Fra => Language::French,
        Lang::Deu => Language::German,
        Lang::Ell => Language::Greek,
        Lang::Hun => Language::Hungarian,
        Lang::Ita => Language::Italian,
        Lang::Nob => Language::Norwegian,
        Lang::Por => Language::Portuguese,
        Lang::Ron => Language::Romanian,
        Lang::Rus => Language::Russian,
        Lang::Spa => Language::Spanish,
        Lang::Swe => Language::Swedish,
        Lang::Tam => Language::Tamil,
        Lang::Tur => Language::Turkish,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A few texts in each language.
    const TEXTS_OF: [(Language, [&str; 4]); Language::NAMES.len()] = [
        (
            Language::Arabic,
            [
                "كتاب عن تاريخ المدينة القديمة",
                "المكتبة مفتوحة كل يوم سبت",
                "الطيور تهاجر إلى الجنوب في الخريف",
                "كيف يتعلم الأطفال القراءة في المدرسة",
            ],
        ),
        (
            Language::Danish,
            [
                "En bog om den gamle bys historie",
                "Biblioteket har åbent hver lørdag, men ikke om søndagen",
                "Fuglene flyver mod syd om efteråret",
                "Hvordan børn lærer at læse i skolen",
            ],
        ),
        (
            Language::Dutch,
            [
                "Een boek over de geschiedenis van de oude stad",
                "De bibliotheek is elke zaterdag geopend",
                "De vogels vliegen in het najaar naar het zuiden",
                "Hoe kinderen op school leren lezen",
            ],
        ),
        (
            Language::English,
            [
                "A book about the history of the old town",
                "The library is open every Saturday",
                "In autumn the birds fly south",
                "How children learn to read at school",
            ],
        ),
        (
            Language::Finnish,
            [
                "Kirja vanhankaupungin historiasta",
                "Kirjasto on auki joka lauantai",
                "Syksyllä linnut lentävät etelään",
                "Miten lapset oppivat lukemaan koulussa",
            ],
        ),
        (
            Language::French,
            [
                "Un livre sur l'histoire de la vieille ville",
                "La bibliothèque est ouverte tous les samedis",
                "En automne, les oiseaux volent vers le sud",
                "Comment les enfants apprennent à lire à l'école",
            ],
        ),
        (
            Language::German,
            [
                "Ein Buch über die Geschichte der Altstadt",
                "Die Bibliothek ist jeden Samstag geöffnet",
                "Im Herbst fliegen die Vögel nach Süden",
                "Wie Kinder in der Schule lesen lernen",
            ],
        ),
        (
            Language::Greek,
            [
                "Ένα βιβλίο για την ιστορία της παλιάς πόλης",
                "Η βιβλιοθήκη είναι ανοιχτή κάθε Σάββατο",
                "Το φθινόπωρο τα πουλιά πετούν προς τον νότο",
                "Πώς μαθαίνουν τα παιδιά να διαβάζουν στο σχολείο",
            ],
        ),
        (
            Language::Hungarian,
            [
                "Könyv a régi város történetéről",
                "A könyvtár minden szombaton nyitva van",
                "Ősszel a madarak délre repülnek",
                "Hogyan tanulnak meg a gyerekek olvasni az iskolában",
            ],
        ),
        (
            Language::Italian,
            [
                "Un libro sulla storia della città vecchia",
                "La biblioteca è aperta ogni sabato",
                "In autunno gli uccelli volano verso sud",
                "Come i bambini imparano a leggere a scuola",
            ],
        ),
        (
            Language::Norwegian,
            [
                "En bok om historien til den gamle byen",
                "Biblioteket er åpent hver lørdag, men ikke på søndager",
                "Om høsten flyr fuglene sørover",
                "Hvordan barna lærer seg å lese på skolen",
            ],
        ),
        (
            Language::Portuguese,
            [
                "Um livro sobre a história da cidade velha",
                "A biblioteca está aberta todos os sábados",
                "No outono as aves voam para o sul",
                "Como as crianças aprendem a ler na escola",
            ],
        ),
        (
            Language::Romanian,
            [
                "O carte despre istoria orașului vechi",
                "Biblioteca este deschisă în fiecare sâmbătă",
                "Toamna păsările zboară spre sud",
                "Cum învață copiii să citească la școală",
            ],
        ),
        (
            Language::Russian,
            [
                "Книга об истории старого города",
                "Библиотека открыта каждую субботу",
                "Осенью птицы летят на юг",
                "Как дети учатся читать в школе",
            ],
        ),
        (
            Language::Spanish,
            [
                "Un libro sobre la historia de la ciudad antigua",
                "La biblioteca está abierta todos los sábados",
                "En otoño los pájaros vuelan hacia el sur",
                "Cómo aprenden los niños a leer en la escuela",
            ],
        ),
        (
            Language::Swedish,
            [
                "En bok om den gamla stadens historia",
                "Biblioteket är öppet varje lördag",
                "På hösten flyger fåglarna söderut",
                "Hur barn lär sig att läsa i skolan",
            ],
        ),
        (
            Language::Tamil,
            [
                "பழைய நகரத்தின் வரலாறு பற்றிய புத்தகம்",
                "நூலகம் ஒவ்வொரு சனிக்கிழமையும் திறந்திருக்கும்",
                "இலையுதிர் காலத்தில் பறவைகள் தெற்கே பறக்கின்றன",
                "குழந்தைகள் பள்ளியில் படிக்க எப்படி கற்றுக்கொள்கிறார்கள்",
            ],
        ),
        (
            Language::Turkish,
            [
                "Eski şehrin tarihi üzerine bir kitap",
                "Kütüphane her cumartesi açıktır",
                "Sonbaharda kuşlar güneye uçar",
                "Çocuklar okulda okumayı nasıl öğrenir",
            ],
        ),
    ];

    #[test]
    fn a_few_titles_tell_every_language() {
        for (language, texts) in TEXTS_OF {
            assert_eq!(Language::guess(texts), Some(language), "{language:?}");
        }
    }

    #[test]
    fn what_is_no_language_with_a_stemmer_is_none() {
        let none: [&[&str]; 8] = [
            &[],
            &["", " "],
            &["a map"],
            &["L1957 L1984 cve-2019-0990", "p11462 p5563 p6786", "n02853016 n03546340"],
            &["xkqj zvwq pqxz wvkj", "qzzx jjkw vvqp xkcd zqwv", "bgrt hjkl wqzx ppqw"],
            &[
                "一本关于古城历史的书",
                "图书馆每周六开放",
                "秋天鸟儿飞向南方",
                "孩子们如何在学校学习阅读",
            ],
            &[
                "古い町の歴史についての本",
                "図書館は毎週土曜日に開いています",
                "秋になると鳥は南へ飛んでいく",
            ],
            &["Kniha o historii starého města", "Knihovna je otevřena každou sobotu"],
        ];
        for texts in none {
            assert_eq!(Language::guess(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn half_of_each_language_is_unsure() {
        let of = |language: Language| {
            let (_, texts) = TEXTS_OF[language as usize];
            texts.into_iter().cycle().take(100)
        };
        let both = of(Language::Finnish).chain(of(Language::English));
        assert_eq!(Language::guess(both), None);
        let more = of(Language::Finnish).chain(of(Language::English).take(30));
        assert_eq!(Language::guess(more), Some(Language::Finnish));
    }

    proptest! {
        #[test]
        fn any_text_can_be_asked_about(text in ".{0,80}", letter in any::<char>()) {
            vote(&text);
            vote(&letter.to_string());
            vote(&letter.to_string().repeat(LEAST_LETTERS));
        }
    }

    #[test]
    fn a_sample_is_spread_evenly_and_bounded() {
        let mut sample = LanguageSample::default();
        for at in 0..TEXTS * 5 {
            sample.add(&format!("{at} {}", "ä".repeat(TEXT_BYTES)));
            sample.add("  ");
        }
        assert!((TEXTS / 2..=TEXTS).contains(&sample.texts.len()), "{}", sample.texts.len());
        for (at, text) in sample.texts.iter().enumerate() {
            assert!(text.starts_with(&format!("{} ", 8 * at)), "{text}");
            assert!((TEXT_BYTES - 1..=TEXT_BYTES).contains(&text.len()));
        }
    }
}
