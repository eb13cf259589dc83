//! Text as an argument: the flags that say how documents are read and become vectors.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, FromArgMatches, value_parser};
use labelwood::app::Fields;
use labelwood::data::documents::{Documents, Format, Labels, Options, Separator, read_lines};
use labelwood::data::{Dataset, LabelIndexBuilder};
use labelwood::run::Task;
use labelwood::settings::{Kind, Setting};
use labelwood::text::{
    Language, Params, Pieces, Script, StopWords, TextError, TextReader, Tokens, mostly_unshared,
};
use labelwood::words::plural;
use serde_json::{Map, Value, json};

use crate::output::quoted;
use crate::settings::{Flag, as_flag, default};

/// Which fields of a file are text, labels and id.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Text")]
pub struct DocumentArgs {
    /// The columns or fields of the text [default: text]
    ///
    /// Of a table with a header, or of JSON objects, where a path such as record.title leads into them;
    /// several are joined.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    text_column: Vec<String>,

    /// The columns or fields of the labels [default: labels]
    ///
    /// A path such as subjects[].uri leads into JSON objects.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    label_column: Vec<String>,

    /// The column or field of the document's id [default: id, if there is one]
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,

    /// What stands between two labels, or none if a field is one label; by default | ; or , as the
    /// first labels of the training file tell, else a space in TSV, and none in CSV and JSONL
    #[arg(long, value_name = "TEXT", value_parser = separator)]
    label_separator: Option<Separator>,
}

fn separator(text: &str) -> Result<Separator, &'static str> {
    match text {
        "\\t" => Ok(Separator::Text("\t".to_owned())),
        other => other.parse(),
    }
}

impl DocumentArgs {
    /// What was typed.
    pub fn fields(&self) -> Fields {
        Fields {
            text: self.text_column.clone(),
            labels: self.label_column.clone(),
            id: self.id_column.clone(),
            separator: self.label_separator.clone(),
        }
    }

    /// The flags that were typed for text and labels, as they are typed.
    pub fn words(&self) -> String {
        let flags = [("--text-column", &self.text_column), ("--label-column", &self.label_column)];
        let typed = flags.into_iter().filter(|(_, names)| !names.is_empty());
        typed.map(|(flag, names)| format!(" {flag} {}", quoted(&names.join(",")))).collect()
    }

    /// The column of ids.
    pub fn id_column(&self) -> &str {
        self.id_column.as_deref().unwrap_or("id")
    }

    /// What stands between two labels, if that was typed.
    pub fn separator(&self) -> Option<&str> {
        self.label_separator.as_ref().and_then(Separator::text)
    }

    /// The first flag that was typed, if any.
    pub fn typed(&self) -> Option<&'static str> {
        self.fields().stated()
    }

    /// Opens files of documents; what was not typed is as in `base`.
    pub fn open<'a>(
        &self,
        paths: &[impl AsRef<Path>],
        format: Option<Format>,
        base: &Options,
        labels: Labels,
        task: &'a Task,
    ) -> Result<(Documents<'a>, Options)> {
        Ok(self.fields().open(paths, format, base, labels, task)?)
    }

    /// What was decided on text that was to be read with the settings `asked`, in one line; an example of
    /// labels in a second one if they may have been meant otherwise; the scripts that are not read in words
    /// alone; and the language if it was guessed.
    pub fn describe(&self, asked: &Params, reader: &TextReader, dataset: &Dataset) -> String {
        let terms = match reader.vectoriser().params().hashing {
            Some(columns) => format!("hashed to {}", plural(columns, "column")),
            None => plural(reader.vectoriser().columns(), "term"),
        };
        let separator = reader.options().separator.as_ref();
        let split = match separator {
            Some(Separator::Text(text)) if text == " " => {
                " separated by spaces (--label-separator)".to_owned()
            }
            Some(Separator::Text(text)) => format!(" separated by `{text}` (--label-separator)"),
            Some(Separator::None) => ", each a whole field (--label-separator)".to_owned(),
            None => String::new(),
        };
        let (documents, labels) = (dataset.len(), dataset.labels.columns());
        let line = format!(
            "text: {}, {terms}, {}{split}",
            plural(documents, "document"),
            plural(labels, "label")
        );
        let example = example(separator, dataset).filter(|_| self.label_separator.is_none());
        let example = example.map(|example| format!("labels: {labels}, {example}"));
        let lines = [Some(line), example, scripts(reader), language(asked, reader)];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

/// The scripts that are not read in words alone, what becomes of them, and the flag that changes it.
fn scripts(reader: &TextReader) -> Option<String> {
    let params = reader.vectoriser().params();
    let words = params.word_ngrams.filter(|_| params.tokens == Tokens::Auto)?;
    let scripts = reader.vectoriser().scripts();
    let of = |kind: Pieces| {
        let names = scripts.iter().filter(|script| script.pieces() == kind);
        let names = names.map(|script| script.name()).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then_some((names, kind.lengths(words)))
    };
    let spaceless = [Pieces::Characters, Pieces::Sounds].into_iter().filter_map(|kind| {
        let (names, (least, most)) = of(kind)?;
        Some(format!("{names} (no spaces between words): terms of {least} to {most} characters"))
    });
    let syllables = of(Pieces::Syllables).map(|(names, (least, most))| {
        let lengths = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        format!("{names}: words, and terms of {lengths} syllables in them")
    });
    let found: Vec<String> = spaceless.chain(syllables).collect();
    (!found.is_empty())
        .then(|| format!("script: {} (--tokens word takes whole runs)", found.join("; ")))
}

/// The language of texts, if it was guessed and matters, with the flag that changes it, and whether pieces
/// of its words are terms.
fn language(asked: &Params, reader: &TextReader) -> Option<String> {
    let params = reader.vectoriser().params();
    let guessed = guessed(asked, reader);
    let (Some((least, _)), None) = (params.char_ngrams, asked.char_ngrams) else {
        return guessed;
    };
    let language = guessed.or_else(|| Some(format!("language: {}", name(reader.language()?))))?;
    Some(format!(
        "{language}; it joins words, so pieces of {least} characters are terms, too (--tokens word takes \
         words alone)"
    ))
}

/// The language of texts, if it was guessed and matters, with the flag that changes it.
fn guessed(asked: &Params, reader: &TextReader) -> Option<String> {
    let params = reader.vectoriser().params();
    let has_pieces = params.char_ngrams != asked.char_ngrams;
    let is_used = asked.is_auto() || reader.finds_names() || has_pieces;
    if asked.language().is_some() || !is_used {
        return None;
    }
    let flag = if params.stem.is_none() && params.stop_words != StopWords::None {
        "--stop-words"
    } else {
        "--stem"
    };
    Some(match (reader.language(), params.language()) {
        (Some(found), None) if reader.finds_names() => {
            format!(
                "language: {} (guessed, to find names of labels in texts; {flag} takes another)",
                name(found)
            )
        }
        (Some(found), _) => format!("language: {} (guessed; {flag} takes another)", name(found)),
        (None, _) if asked.is_auto() => {
            format!("language: unsure, so no words are stemmed or left out ({flag} takes one)")
        }
        (None, _) => format!("language: unsure ({flag} takes one)"),
    })
}

/// What a language is called.
pub fn name(language: Language) -> &'static str {
    Language::NAMES[language as usize]
}

/// How text becomes vectors: the settings that were typed, by the names that they have in [`Params`].
#[derive(Clone, Debug)]
pub struct VectoriserArgs {
    typed: Map<String, Value>,
    /// A file, a language, or another word for what is left out.
    stop_words: Option<PathBuf>,
}

/// What languages call themselves, and their codes, beside what they are called here.
const OWN_NAMES: [(&str, &str); 40] = [
    ("العربية", "arabic"),
    ("ar", "arabic"),
    ("dansk", "danish"),
    ("da", "danish"),
    ("nederlands", "dutch"),
    ("nl", "dutch"),
    ("en", "english"),
    ("suomi", "finnish"),
    ("fi", "finnish"),
    ("français", "french"),
    ("francais", "french"),
    ("fr", "french"),
    ("deutsch", "german"),
    ("de", "german"),
    ("ελληνικά", "greek"),
    ("el", "greek"),
    ("magyar", "hungarian"),
    ("hu", "hungarian"),
    ("italiano", "italian"),
    ("it", "italian"),
    ("norsk", "norwegian"),
    ("no", "norwegian"),
    ("português", "portuguese"),
    ("portugues", "portuguese"),
    ("pt", "portuguese"),
    ("română", "romanian"),
    ("romana", "romanian"),
    ("ro", "romanian"),
    ("русский", "russian"),
    ("ru", "russian"),
    ("español", "spanish"),
    ("espanol", "spanish"),
    ("es", "spanish"),
    ("svenska", "swedish"),
    ("sv", "swedish"),
    ("தமிழ்", "tamil"),
    ("ta", "tamil"),
    ("türkçe", "turkish"),
    ("turkce", "turkish"),
    ("tr", "turkish"),
];

/// What a language is called here that is called otherwise.
fn english(own: &str) -> Option<&'static str> {
    let own = own.to_lowercase();
    OWN_NAMES.iter().find(|(name, _)| *name == own).map(|(_, english)| *english)
}

/// What is typed for a setting that is left open.
const NONE: &str = "none";

/// The flag of a setting of text.
fn flag(setting: Setting) -> Flag {
    Flag { name: setting.name, of: vec![("text", setting)] }
}

impl Args for VectoriserArgs {
    fn augment_args(command: Command) -> Command {
        let defaults = json!(Params::default());
        command.args(Params::table().into_iter().map(|setting| {
            let arg = flag(setting.clone()).arg(None).help_heading("Text to vectors");
            if setting.kind == Kind::Words {
                let file = arg.value_name("LANGUAGE|FILE|auto").value_parser(value_parser!(PathBuf));
                return file.help(
                    "Leave out the most common words of a language, one of those of --stem; auto guesses it from \
                     the texts. Or those of a file, one per line; ./english is a file of that name [default: none]",
                );
            }
            if setting.off.is_some() {
                return arg;
            }
            let arg = match setting.kind {
                Kind::Choice(names) if setting.is_optional => {
                    let own = OWN_NAMES.iter().map(|(own, _)| PossibleValue::new(*own).hide(true));
                    let names = names.iter().copied().chain([NONE]).map(PossibleValue::new);
                    let names = PossibleValuesParser::new(names.chain(own).collect::<Vec<_>>());
                    arg.value_parser(names.try_map(|name| match english(&name) {
                        Some(english) => Err(format!("that language is called {english} here")),
                        None if name == NONE => Ok(Value::Null),
                        None => Ok(name.into()),
                    }))
                }
                _ => arg,
            };
            let value = match &defaults[setting.name] {
                Value::Null => NONE.into(),
                value => value.clone(),
            };
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            arg.help(help + &default(&setting, &value))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for VectoriserArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values = Params::table().into_iter().filter(|setting| setting.kind != Kind::Words);
        let typed = values
            .filter_map(|setting| Some((setting.name.to_owned(), flag(setting).value(matches)?)));
        Ok(VectoriserArgs {
            typed: typed.collect(),
            stop_words: matches.get_one("stop_words").cloned(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl VectoriserArgs {
    /// Whether a flag was typed that changes a default.
    pub fn is_typed(&self) -> bool {
        let defaults = json!(Params::default());
        let is_changed = |(name, value): (&String, &Value)| defaults[name] != *value;
        self.stop_words.is_some() || self.typed.iter().any(is_changed)
    }

    /// The settings that were typed, by name.
    pub fn typed(&self) -> Vec<String> {
        let stop_words = self.stop_words.is_some().then(|| "stop_words".to_owned());
        self.typed.keys().cloned().chain(stop_words).collect()
    }

    /// What was typed, and `base` for the rest, checked.
    pub fn over(&self, mut base: Params, task: &Task) -> Result<Params> {
        if let Some(file) = &self.stop_words {
            base.stop_words = stop_words(file, task)?;
        }
        let mut values = json!(base);
        for (name, value) in &self.typed {
            values[name] = value.clone();
        }
        let params: Params = serde_json::from_value(values)?;
        params.check().map_err(as_flag)?;
        Ok(params)
    }
}

fn stop_words(file: &Path, task: &Task) -> Result<StopWords> {
    let name = file.to_str().unwrap_or_default();
    if [NONE, "auto"].contains(&name) || Language::NAMES.contains(&name) {
        return Ok(serde_json::from_value(name.into())?);
    }
    if let Some(english) = english(name).filter(|_| !file.exists()) {
        bail!("--stop-words {name}: that language is called {english} here");
    }
    let (mut words, mut bytes) = (Vec::new(), 0);
    read_lines(file, task, |line| {
        let word = line.trim();
        if !word.is_empty() {
            words.push(word.to_owned());
            // They are kept twice, the second time in a table.
            bytes += 2 * word.len() + 128;
        }
        bytes
    })
    .context("the stop words cannot be read: name a file, a language such as english, or auto")?;
    Ok(StopWords::Words(words))
}

/// Learns how to read text from a file of documents; gives their rows too.
pub fn fit(
    (documents, options): (Documents<'_>, Options),
    params: Params,
    names: LabelIndexBuilder,
    task: &Task,
) -> Result<(TextReader, Dataset)> {
    let known = names.len();
    let (reader, dataset) =
        TextReader::fit(documents, &options, params, names, task).map_err(lift)?;
    if let Some(unshared) = mostly_unshared(dataset.features.view()) {
        let params = reader.vectoriser().params();
        let is_spaceless = |script: &Script| script.pieces() != Pieces::Syllables;
        let remedy = match params.char_ngrams {
            _ if params.tokens != Tokens::Auto
                && reader.vectoriser().scripts().iter().any(is_spaceless) =>
            {
                "try --tokens auto, since no spaces separate their words"
            }
            None => "try --char-ngrams 3,5, which takes pieces of words, or give more rows",
            Some(_) => "see that they are the texts that you mean, or give more rows",
        };
        tracing::warn!(
            "{unshared} of {} have no term that another document has, so the model can learn little from \
             them: {remedy}",
            plural(dataset.len(), "document")
        );
    }
    let more = dataset.labels.columns() - known;
    if known > 0 && more > 0 {
        let (are, they) = if more == 1 { ("is", "it comes") } else { ("are", "they come") };
        tracing::warn!(
            "{} of the data {are} not among the {known} of the vocabulary; {they} after them",
            plural(more, "label")
        );
    }
    Ok((reader, dataset))
}

/// The error with settings named as they are typed.
pub fn lift(error: TextError) -> anyhow::Error {
    match error {
        TextError::Params(error) => as_flag(error),
        TextError::NoTerms(error) => anyhow::anyhow!(error.describe(|changes| {
            let flag =
                |(name, value): &(&str, &str)| format!(" --{} {value}", name.replace('_', "-"));
            format!("add{}", changes.iter().map(flag).collect::<String>())
        })),
        other => other.into(),
    }
}

/// A label that may be several, or a part of one, and the flag that would change it.
fn example(separator: Option<&Separator>, dataset: &Dataset) -> Option<String> {
    let names = dataset.label_names.as_ref()?;
    let codes = || (0..names.len() as u32).map(|label| names.code(label));
    if let Some(text) = separator.and_then(Separator::text) {
        // A comma may as well be part of a name.
        if text == "," {
            let several = dataset.labels.rows().find(|row| row.indices.len() > 1)?;
            let [one, other] = [0, 1].map(|at| names.code(several.indices[at]));
            return Some(format!(
                "for example \"{one}\" and \"{other}\"; --label-separator none would keep fields whole"
            ));
        }
        let is_sign = |code: &&str| !code.contains(char::is_alphanumeric);
        let sign = codes().find(is_sign).filter(|_| text == " ")?;
        return Some(format!(
            "for example \"{sign}\"; --label-separator none would keep labels of several words whole"
        ));
    }
    // Labels that come as lists are known to be whole.
    if dataset.labels.rows().any(|row| row.indices.len() > 1) {
        return None;
    }
    let having = |separator: &str| codes().filter(|code| code.contains(separator)).count();
    let (count, separator) = [" ", ",", ";", "|"]
        .map(|text| (having(text), text))
        .into_iter()
        .max_by_key(|&(count, _)| count)?;
    let label = codes().find(|code| code.contains(separator)).filter(|_| count > 0)?;
    Some(format!("for example \"{label}\"; --label-separator '{separator}' would split them"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use labelwood::run::Pool;
    use labelwood::text::{CharNgramsIn, Frequency, Stem};

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        documents: DocumentArgs,
        #[command(flatten)]
        vectoriser: VectoriserArgs,
    }

    fn run() -> Task {
        Pool::new(1).expect("a thread can start").task()
    }

    fn parse(line: &str) -> Typed {
        Typed::parse_from(["x"].into_iter().chain(line.split_whitespace()))
    }

    #[test]
    fn flags_go_over_what_a_model_keeps() {
        let command = parse("--text-column title,abstract --label-separator \\t");
        let base = Options { labels: vec!["tags".to_owned()], ..Options::default() };
        let options = command.documents.fields().over(&base);
        assert_eq!(options.text, ["title", "abstract"]);
        let tab = Separator::Text("\t".to_owned());
        assert_eq!((options.labels.clone(), options.separator), (base.labels.clone(), Some(tab)));
        let options = parse("--label-separator none").documents.fields().over(&base);
        assert_eq!(options.separator, Some(Separator::None));
        assert_eq!(command.documents.typed(), Some("--text-column"));
        assert_eq!(parse("").documents.fields().over(&base), base);
    }

    #[test]
    fn every_flag_of_the_vectoriser_has_its_setting() {
        let line = "--tokens unicode --min-token 1 --keep-case --stem finnish --stop-words english \
            --word-ngrams none --char-ngrams 3,5 --char-ngrams-in text --min-df 3 --max-df 0.5 \
            --max-features 9 --no-sublinear-tf --no-idf --no-smooth-idf";
        let params =
            parse(line).vectoriser.over(Params::default(), &run()).expect("they are possible");
        let expected = Params {
            tokens: Tokens::Unicode,
            min_token: 1,
            lowercase: false,
            stem: Some(Stem::Of(Language::Finnish)),
            stop_words: StopWords::Of(Language::English),
            word_ngrams: None,
            char_ngrams: Some((3, 5)),
            char_ngrams_in: CharNgramsIn::Text,
            min_df: Frequency::Count(3),
            max_df: Frequency::Share(0.5),
            max_features: Some(9),
            sublinear_tf: false,
            idf: false,
            smooth_idf: false,
            hashing: None,
        };
        assert_eq!(params, expected);
        assert!(
            parse("").vectoriser.over(expected.clone(), &run()).expect("they are possible")
                == expected
        );
        assert!(parse("--min-token 1").vectoriser.is_typed() && !parse("").vectoriser.is_typed());
        let error =
            parse("--word-ngrams none").vectoriser.over(Params::default(), &run()).unwrap_err();
        assert!(error.to_string().starts_with("--word-ngrams is none"), "{error}");
        let none = parse("--stem none --stop-words none").vectoriser;
        let params =
            none.over(Params { hashing: None, ..expected }, &run()).expect("they are possible");
        assert_eq!((params.stem, params.stop_words), (None, StopWords::None));
        assert_eq!(none.typed(), ["stem", "stop_words"]);
        let auto = parse("--stem auto --stop-words auto").vectoriser;
        let params = auto.over(Params::default(), &run()).expect("they are possible");
        assert_eq!((params.stem, params.stop_words), (Some(Stem::Auto), StopWords::Auto));
    }
}
