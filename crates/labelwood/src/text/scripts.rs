//! The scripts of texts, which say how words are found.
//!
//! Most scripts part words by spaces. Where they do not, a run of letters is a whole sentence, and no
//! other text has it. So ideographs and kana are words by themselves and in pairs, and letters of Thai
//! and its like make short pieces. Each run of characters is read by its own script: that needs no look
//! at other texts, and mixed texts are read as well as others.

use super::characters::{IS_WORD, is_word, width};
use unicode_normalization::char::is_combining_mark;

/// A script whose words are not just what stands between spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Script {
    Han,
    Hiragana,
    Katakana,
    Bopomofo,
    Yi,
    Hangul,
    Thai,
    Lao,
    Khmer,
    Myanmar,
    Tai,
    Balinese,
    Javanese,
}

/// What is taken from a run of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Each character, and the pairs of neighbours: no space parts words, and characters have a meaning.
    Characters,
    /// Some characters in a row: no space parts words, and characters are sounds.
    Sounds,
    /// Words between spaces, and pairs of the syllables in them: endings stand in the same word.
    Syllables,
}

impl Script {
    /// The script's name in Unicode.
    pub fn name(self) -> &'static str {
        match self {
            Script::Han => "Han",
            Script::Hiragana => "Hiragana",
            Script::Katakana => "Katakana",
            Script::Bopomofo => "Bopomofo",
            Script::Yi => "Yi",
            Script::Hangul => "Hangul",
            Script::Thai => "Thai",
            Script::Lao => "Lao",
            Script::Khmer => "Khmer",
            Script::Myanmar => "Myanmar",
            Script::Tai => "Tai",
            Script::Balinese => "Balinese",
            Script::Javanese => "Javanese",
        }
    }

    /// What is taken from a run of this script.
    pub fn pieces(self) -> Pieces {
        match self {
            Script::Han | Script::Hiragana | Script::Katakana | Script::Bopomofo | Script::Yi => {
                Pieces::Characters
            }
            Script::Hangul => Pieces::Syllables,
            _ => Pieces::Sounds,
        }
    }

    /// The script of a letter, if it is one of these.
    ///
    /// ```
    /// use labelwood::text::Script;
    /// assert_eq!(Script::of('猫'), Some(Script::Han));
    /// assert_eq!(Script::of('c'), None);
    /// ```
    pub fn of(letter: char) -> Option<Self> {
        Some(match letter {
            '\0'..='\u{e00}' => return None,
            '\u{4e00}'..='\u{9fff}' => Script::Han,
            '\u{3041}'..='\u{309f}' | '\u{3031}'..='\u{3035}' | '\u{1b001}'..='\u{1b11f}' => {
                Script::Hiragana
            }
            '\u{30a1}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => {
                Script::Katakana
            }
            '\u{ac00}'..='\u{d7fb}'
            | '\u{1100}'..='\u{11ff}'
            | '\u{3131}'..='\u{318e}'
            | '\u{a960}'..='\u{a97c}'
            | '\u{ffa0}'..='\u{ffdc}' => Script::Hangul,
            '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' => Script::Thai,
            '\u{e81}'..='\u{ecf}' | '\u{edc}'..='\u{edf}' => Script::Lao,
            '\u{1000}'..='\u{103f}'
            | '\u{1050}'..='\u{108f}'
            | '\u{109a}'..='\u{109f}'
            | '\u{a9e0}'..='\u{a9ef}'
            | '\u{a9fa}'..='\u{a9fe}'
            | '\u{aa60}'..='\u{aa7f}' => Script::Myanmar,
            '\u{1780}'..='\u{17dd}' => Script::Khmer,
            // Tai Le, New Tai Lue, Tai Tham, Tai Viet and Ahom.
            '\u{1950}'..='\u{19c9}'
            | '\u{1a20}'..='\u{1a7c}'
            | '\u{1aa7}'
            | '\u{aa80}'..='\u{aadf}'
            | '\u{11700}'..='\u{1172b}' => Script::Tai,
            '\u{1b00}'..='\u{1b4c}' => Script::Balinese,
            '\u{a980}'..='\u{a9c0}' | '\u{a9cf}' => Script::Javanese,
            '\u{3005}'..='\u{3007}'
            | '\u{3021}'..='\u{3029}'
            | '\u{3038}'..='\u{303c}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3fffd}' => Script::Han,
            '\u{3105}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' => Script::Bopomofo,
            '\u{a000}'..='\u{a48c}' => Script::Yi,
            _ => return None,
        })
    }
}

impl Pieces {
    /// From how many to how many characters a piece has, where so many words in a row make a term.
    ///
    /// ```
    /// use labelwood::text::Pieces;
    /// assert_eq!(Pieces::Characters.lengths((1, 1)), (1, 2));
    /// assert_eq!(Pieces::Characters.lengths((1, 2)), (1, 3));
    /// ```
    pub fn lengths(self, (least, most): (usize, usize)) -> (usize, usize) {
        let (shortest, longest) = match self {
            Pieces::Characters => (1, 2),
            Pieces::Sounds => (2, 4),
            Pieces::Syllables => (2, 2),
        };
        (shortest + least - 1, longest + most - 1)
    }
}

/// What a character is to the words of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// A letter or digit of a script that parts words by spaces.
    Word,
    /// A mark, or what joins letters: it belongs to the character before it.
    Mark,
    /// A letter of another script.
    Of(Pieces),
    /// What stands between words.
    Other,
}

fn class(character: char) -> Class {
    match character {
        '\u{4e00}'..='\u{9fff}' => Class::Of(Pieces::Characters),
        '\0'..='\u{2ff}' if is_word(character) => Class::Word,
        '\0'..='\u{2ff}' => Class::Other,
        '\u{200d}' => Class::Mark,
        _ if is_combining_mark(character) => Class::Mark,
        _ if !is_word(character) => Class::Other,
        _ => Script::of(character).map_or(Class::Word, |script| Class::Of(script.pieces())),
    }
}

/// A run of characters that are read in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run<'t> {
    pub text: &'t str,
    /// What is taken from it, if it is not just a word.
    pub pieces: Option<Pieces>,
    /// How many characters it has, marks among them.
    pub characters: usize,
}

impl Run<'_> {
    /// Whether the run is a word between spaces.
    pub(super) fn is_word(self) -> bool {
        matches!(self.pieces, None | Some(Pieces::Syllables))
    }
}

/// Calls `take` with the runs of a text, in order. A run ends where the script says that others are
/// read; marks and joiners continue one, but start none.
#[inline]
pub(super) fn each_run<'t>(text: &'t str, mut take: impl FnMut(Run<'t>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut characters, mut other) = (at, 0, None);
        while at < bytes.len() {
            if IS_WORD[bytes[at] as usize] {
                at += 1;
            } else if bytes[at].is_ascii() {
                break;
            } else {
                let Some(character) = text[at..].chars().next() else { break };
                match class(character) {
                    Class::Mark if characters > 0 => {}
                    Class::Word => {}
                    Class::Of(pieces) => {
                        other = Some(pieces);
                        break;
                    }
                    _ => break,
                }
                at += character.len_utf8();
            }
            characters += 1;
        }
        if characters > 0 {
            take(Run { text: &text[start..at], pieces: None, characters });
        }
        if let Some(pieces) = other {
            let run = start_of(&text[at..], pieces);
            at += run.text.len();
            take(run);
        } else {
            at += bytes.get(at).map_or(0, |&byte| width(byte));
        }
    }
}

/// The run at the start of a text.
#[inline(never)]
fn start_of(text: &str, pieces: Pieces) -> Run<'_> {
    let (mut end, mut characters) = (0, 0);
    for character in text.chars() {
        if !matches!(class(character), Class::Mark) && class(character) != Class::Of(pieces) {
            break;
        }
        end += character.len_utf8();
        characters += 1;
    }
    Run { text: &text[..end], pieces: Some(pieces), characters }
}

/// Calls `take` with all parts of a run that have from so many to so many characters, each with its
/// marks. A run that is shorter counts once, unless it is a word already.
#[inline(never)]
pub(super) fn each_piece(run: Run<'_>, (least, most): (usize, usize), take: &mut dyn FnMut(&str)) {
    let (is_word, run) = (run.is_word(), run.text);
    for length in least..=most {
        let (mut start, mut end, mut characters) = (0, 0, 0);
        while characters < length && end < run.len() {
            end = after(run, end);
            characters += 1;
        }
        let is_short = characters < length;
        if is_short && length > least || is_word && end == run.len() {
            return;
        }
        take(&run[start..end]);
        while end < run.len() {
            (start, end) = (after(run, start), after(run, end));
            take(&run[start..end]);
        }
    }
}

/// Calls `take` with each character of a run, with its marks.
pub(super) fn each_character(run: &str, mut take: impl FnMut(&str)) {
    let mut at = 0;
    while at < run.len() {
        let end = after(run, at);
        take(&run[at..end]);
        at = end;
    }
}

/// Where the character at `at` ends, with its marks.
fn after(run: &str, at: usize) -> usize {
    let mut characters = run[at..].char_indices().skip(1);
    let next = characters.find(|&(_, character)| class(character) != Class::Mark);
    next.map_or(run.len(), |(end, _)| at + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(text: &str) -> Vec<(&str, Option<Pieces>)> {
        let mut runs = Vec::new();
        each_run(text, |run| {
            assert_eq!(run.characters, run.text.chars().count());
            runs.push((run.text, run.pieces));
        });
        runs
    }

    fn pieces(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_run(text, |run| match run.pieces {
            Some(kind) => {
                each_piece(run, kind.lengths((1, 1)), &mut |it| found.push(it.to_owned()))
            }
            None => found.push(run.text.to_owned()),
        });
        found
    }

    #[test]
    fn a_run_ends_where_the_script_asks_for_another_reading() {
        let characters = Some(Pieces::Characters);
        assert_eq!(
            runs("Rust入門 2024年、カタカナ_x"),
            [
                ("Rust", None),
                ("入門", characters),
                ("2024", None),
                ("年", characters),
                ("カタカナ", characters),
                ("_x", None)
            ]
        );
        let [sounds, syllables] = [Pieces::Sounds, Pieces::Syllables].map(Some);
        assert_eq!(
            runs("ปี๒๕ KBS는 ок"),
            [("ปี", sounds), ("๒๕", None), ("KBS", None), ("는", syllables), ("ок", None)]
        );
    }

    #[test]
    fn marks_stay_on_their_letters_and_start_no_run() {
        assert_eq!(runs("हिन्दी किताब"), [("हिन्दी", None), ("किताब", None)]);
        assert_eq!(runs("שָׁלוֹם"), [("שָׁלוֹם", None)]);
        assert_eq!(runs("e\u{301}te\u{301}"), [("e\u{301}te\u{301}", None)]);
        assert_eq!(runs("\u{301}\u{301} \u{200d}"), []);
        assert_eq!(runs("👩\u{200d}👧 ❤\u{fe0f}"), []);
        assert_eq!(runs("か\u{3099}"), [("か\u{3099}", Some(Pieces::Characters))]);
    }

    #[test]
    fn pieces_are_what_can_be_written_down_by_hand() {
        assert_eq!(pieces("日本語"), ["日", "本", "語", "日本", "本語"]);
        assert_eq!(pieces("猫"), ["猫"]);
        assert_eq!(pieces("か\u{3099}き"), ["か\u{3099}", "き", "か\u{3099}き"]);
        assert_eq!(pieces("도서관에"), ["도서", "서관", "관에"]);
        assert_eq!(pieces("책상"), [""; 0], "it is a word already");
        assert_eq!(pieces("ที่นี่"), ["ที่นี่"]);
        assert_eq!(pieces("ลิงก"), ["ลิง", "งก", "ลิงก"]);
        assert_eq!(pieces("ก"), ["ก"], "a short run counts once");
    }

    #[test]
    fn letters_of_every_script_are_word_characters() {
        for (script, letters) in [
            (Script::Han, "漢々〇㐀豈𠀀"),
            (Script::Hiragana, "ぁゟ"),
            (Script::Katakana, "ァーㇰｦ"),
            (Script::Bopomofo, "ㄅㆠ"),
            (Script::Yi, "ꀀ"),
            (Script::Hangul, "한ᄀㄱ"),
            (Script::Thai, "กๆเ"),
            (Script::Lao, "ກໜ"),
            (Script::Khmer, "កឳ"),
            (Script::Myanmar, "ကꩠ"),
            (Script::Tai, "ᥐᦀᨠꪀ"),
            (Script::Balinese, "ᬅ"),
            (Script::Javanese, "ꦄ"),
        ] {
            for letter in letters.chars() {
                assert_eq!(Script::of(letter), Some(script), "{letter}");
                assert_eq!(class(letter), Class::Of(script.pieces()), "{letter}");
            }
        }
        for other in ['a', 'ß', 'я', 'अ', 'ا', '·', '1'] {
            assert_eq!(Script::of(other), None, "{other}");
        }
        assert_eq!(['・', '、', '฿', '。'].map(class), [Class::Other; 4]);
        assert_eq!(['๑', '၁', '១'].map(class), [Class::Word; 3]);
    }

    /// The runs of a text, made in the plainest way.
    fn plain_runs(text: &str) -> Vec<(String, Option<Pieces>)> {
        let mut runs: Vec<(String, Option<Pieces>)> = Vec::new();
        let mut is_open = false;
        for character in text.chars() {
            let is_mark = is_combining_mark(character) || character == '\u{200d}';
            let of = Script::of(character).map(Script::pieces);
            if is_mark && is_open || is_word(character) && is_open && runs[runs.len() - 1].1 == of {
                let last = runs.len() - 1;
                runs[last].0.push(character);
            } else if is_word(character) {
                runs.push((character.to_string(), of));
                is_open = true;
            } else {
                is_open = false;
            }
        }
        runs
    }

    proptest! {
        #[test]
        fn runs_are_those_of_a_plain_reference(
            text in "[aZ9_ .,é日本カーのกาิ่ลᄀ한국हिি́\u{200d}\u{302}😀_]{0,30}",
            any in ".{0,20}",
        ) {
            for text in [text, any] {
                let found: Vec<_> = runs(&text).into_iter().map(|(text, of)| (text.to_owned(), of)).collect();
                prop_assert_eq!(found, plain_runs(&text));
            }
        }

        #[test]
        fn where_spaces_part_words_and_there_are_no_marks_runs_are_words(
            text in "[a-zA-Z0-9_ .,'é-öøß-ÿа-яΑ-Ωα-ωŁœ\u{a0}\u{ad}😀½\n]{0,40}",
        ) {
            let words: Vec<&str> =
                text.split(|character| !is_word(character)).filter(|word| !word.is_empty()).collect();
            let found: Vec<_> = runs(&text);
            prop_assert!(found.iter().all(|run| run.1.is_none()));
            prop_assert_eq!(found.into_iter().map(|run| run.0).collect::<Vec<_>>(), words);
        }

        #[test]
        fn pieces_are_the_windows_of_characters(
            text in "[ab本か\u{301}]{1,8}", least in 1usize..4, more in 0usize..3,
        ) {
            let mut characters: Vec<String> = Vec::new();
            for character in text.trim_start_matches('\u{301}').chars() {
                match characters.last_mut().filter(|_| character == '\u{301}') {
                    Some(last) => last.push(character),
                    None => characters.push(character.to_string()),
                }
            }
            let text = characters.concat();
            prop_assume!(!text.is_empty());
            let mut expected = Vec::new();
            for length in least..=least + more {
                expected.extend(characters.windows(length).map(<[String]>::concat));
            }
            if expected.is_empty() {
                expected.push(text.clone());
            }
            let run = Run { text: &text, pieces: Some(Pieces::Sounds), characters: text.chars().count() };
            let mut found = Vec::new();
            each_piece(run, (least, least + more), &mut |piece| found.push(piece.to_owned()));
            prop_assert_eq!(found, expected);
            let mut single = Vec::new();
            each_character(&text, |character| single.push(character.to_owned()));
            prop_assert_eq!(single, characters);
        }
    }
}
