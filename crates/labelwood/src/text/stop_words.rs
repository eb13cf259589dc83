//! The words that are left out on request, by language.
//!
//! English words are a list of our own. Those of other languages are NLTK's, from the crate
//! [`stop_words`], with what is missing there: letters as they are written today, and common words.

use super::params::Language;

/// Calls `take` with each of the most common words of a language, in lower case.
pub(super) fn of_language(language: Language, mut take: impl FnMut(&str)) {
    let (code, more) = match language {
        Language::English => return ENGLISH.split_ascii_whitespace().for_each(take),
        Language::Arabic => ("ar", ""),
        Language::Danish => ("da", ""),
        Language::Dutch => ("nl", ""),
        Language::Finnish => ("fi", ""),
        Language::French => ("fr", ""),
        Language::German => ("de", ""),
        Language::Greek => ("el", GREEK),
        Language::Hungarian => ("hu", "is"),
        Language::Italian => ("it", ""),
        Language::Norwegian => ("no", ""),
        Language::Portuguese => ("pt", ""),
        Language::Romanian => ("ro", ""),
        Language::Russian => ("ru", ""),
        Language::Spanish => ("es", ""),
        Language::Swedish => ("sv", ""),
        Language::Tamil => ("ta", ""),
        Language::Turkish => ("tr", "bir"),
    };
    for word in stop_words::lookup(code).unwrap_or_default() {
        take(word);
        // Romanian is written with commas below these letters since long, rather than cedillas.
        if word.contains(['ş', 'ţ']) {
            take(&word.replace('ş', "ș").replace('ţ', "ț"));
        }
    }
    more.split_whitespace().for_each(take);
}

/// Common words with accents and the last letter of today, which NLTK's list lacks.
const GREEK: &str = "
ο η το οι τα του της των τον την τους τις στο στη στον στην στα στους στις ένας μια μία ένα ενός μιας
και κι ή είτε ούτε αλλά όμως ωστόσο αν εάν όταν ενώ γιατί επειδή διότι ώστε λοιπόν επίσης ακόμη ακόμα
να θα ας δεν δε μη μην ως σαν όπως καθώς πριν μετά από απ με για σε προς κατά παρά αντί χωρίς μέχρι έως
είμαι είσαι είναι είμαστε είστε ήμουν ήταν ήσουν έχω έχεις έχει έχουμε έχετε έχουν είχα είχε είχαν
εγώ εσύ αυτός αυτή αυτό αυτοί αυτές αυτά αυτού αυτής αυτών αυτόν αυτήν αυτούς εμείς εσείς μου σου μας σας
μας με σε τι ποιος ποια ποιο ποιοι ποιες που πού πως πώς πότε πόσο όσο όσοι όσα όποιος
εκείνος εκείνη εκείνο εκείνοι εκείνες εκείνα κάποιος κάποια κάποιο κάτι κάθε όλος όλη όλο όλοι όλες όλα
άλλος άλλη άλλο άλλοι άλλες άλλα πολύ πιο πάλι ήδη τότε τώρα εδώ εκεί έτσι μόνο μέσα έξω πάνω κάτω
";

/// Articles, pronouns, prepositions, conjunctions, auxiliary verbs and the like, and what is left of
/// their short forms ("don't", "we'll") once the apostrophe has split them.
pub(super) const ENGLISH: &str = "
a an the this that these those such same other another each every either neither both all any some
few many much more most less least several own enough no none nothing something anything everything
one ones
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its
itself we us our ours ourselves they them their theirs themselves who whom whose which what whoever
whatever whichever someone anyone everyone nobody somebody anybody everybody
am is are was were be been being do does did doing done has have had having can could may might must
shall should will would cannot ought
and or but nor so yet if then else than as because since while whereas although though unless until
whether
of at by for with without within about against between among into onto through throughout during
before after above below over under from to up down in out on off upon toward towards across along
around behind beside besides beyond near per via
not only just also too very quite rather again further once ever never always often already still
even almost perhaps however therefore thus hence otherwise instead meanwhile moreover indeed
here there where when why how everywhere somewhere anywhere nowhere now
ll ve re don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::text::{Fitting, Frequency, Params, StopWords, Tokens};

    /// The most common words of each language.
    const COMMON: [(Language, &str); Language::NAMES.len()] = [
        (Language::Arabic, "في من على إلى أن"),
        (Language::Danish, "og i det at er en til på"),
        (Language::Dutch, "de het een van in is dat"),
        (Language::English, "the of and to in is that"),
        (Language::Finnish, "ja on ei se että oli"),
        (Language::French, "le la les de des et un une dans"),
        (Language::German, "der die das und ist in ein nicht"),
        (Language::Greek, "και το η ο του της των στο με για να είναι από που δεν"),
        (Language::Hungarian, "a az és hogy nem is egy"),
        (Language::Italian, "il la di e che un non"),
        (Language::Norwegian, "og i det er en på til som"),
        (Language::Portuguese, "o a de que e do da em um"),
        (Language::Romanian, "și în de la cu o pe nu care este şi"),
        (Language::Russian, "и в не на я что он с"),
        (Language::Spanish, "el la de que y en un los"),
        (Language::Swedish, "och i att det en på är som"),
        (Language::Tamil, "ஒரு இந்த என்று மற்றும்"),
        (Language::Turkish, "ve bir bu da de için ile"),
    ];

    #[test]
    fn every_language_has_its_most_common_words() {
        for (at, (language, common)) in COMMON.into_iter().enumerate() {
            assert_eq!(language as usize, at, "languages are in order");
            let mut words = Vec::new();
            of_language(language, |word| words.push(word.to_owned()));
            assert!(words.len() > 50, "{language:?}: {}", words.len());
            for word in common.split(' ') {
                assert!(words.iter().any(|known| known == word), "{language:?}: {word}");
            }
        }
    }

    #[test]
    fn words_are_left_out_whatever_their_case() {
        let task = Pool::new(1).unwrap().task();
        let one = Frequency::Count(1);
        for (language, common) in COMMON {
            let stop_words = StopWords::Of(language);
            // Vowel signs of Tamil are no letters to the rules of Python.
            let tokens = Tokens::Unicode;
            let params =
                Params { stop_words, tokens, min_df: one, min_token: 1, ..Params::default() };
            let mut fitting = Fitting::new(params).unwrap();
            // A capital I of Turkish is another letter than that of other languages.
            let text = if language == Language::Turkish {
                common.to_owned()
            } else {
                common.to_uppercase()
            };
            fitting.add(&[format!("{text} xylograph")], &task).unwrap();
            let (vectoriser, _) = fitting.finish(&task).unwrap();
            assert_eq!(vectoriser.terms().collect::<Vec<_>>(), ["xylograph"], "{language:?}");
        }
    }
}
