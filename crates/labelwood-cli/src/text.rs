//! Text as an argument: the flags that say how documents are read and become vectors.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, FromArgMatches, value_parser};
use labelwood::app::Fields;
use labelwood::data::documents::{Documents, Format, Labels, Options, Separator, read_lines};
use labelwood::data::{Dataset, LabelIndexBuilder};
use labelwood::run::Task;
use labelwood::settings::{Kind, Setting};
use labelwood::text::{Language, Params, StopWords, TextError, TextReader, mostly_unshared};
use serde_json::{Map, Value, json};

use crate::settings::{Flag, as_flag, default};

/// Which fields of a file are text, labels and id.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Text")]
pub struct DocumentArgs {
    /// The columns of a CSV file, or fields of a JSONL file, that make up the text [default: text]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    text_column: Vec<String>,

    /// The column or field of the labels; a path such as subjects[].uri leads into JSON objects
    /// [default: labels]
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,

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

    /// The first flag that was typed, if any.
    pub fn typed(&self) -> Option<&'static str> {
        self.fields().stated()
    }

    /// Opens a file of documents; what was not typed is as in `base`.
    pub fn open<'a>(
        &self,
        path: &Path,
        format: Option<Format>,
        base: &Options,
        labels: Labels,
        task: &'a Task,
    ) -> Result<(Documents<'a>, Options)> {
        Ok(self.fields().open(path, format, base, labels, task)?)
    }

    /// What was decided on text that was to be read with the settings `asked`, in one line; an example of
    /// labels in a second one if they may have been meant otherwise; and the language if it was guessed.
    pub fn describe(&self, asked: &Params, reader: &TextReader, dataset: &Dataset) -> String {
        let terms = match reader.vectoriser().params().hashing {
            Some(columns) => format!("hashed to {columns} columns"),
            None => format!("{} terms", reader.vectoriser().columns()),
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
        let line = format!("text: {documents} documents, {terms}, {labels} labels{split}");
        let example = example(separator, dataset).filter(|_| self.label_separator.is_none());
        let example = example.map(|example| format!("labels: {labels}, {example}"));
        let lines = [Some(line), example, language(asked, reader)];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

/// The language of texts, if it was guessed and matters, with the flag that changes it.
fn language(asked: &Params, reader: &TextReader) -> Option<String> {
    let is_used = asked.is_auto() || reader.finds_names();
    if asked.language().is_some() || !is_used {
        return None;
    }
    let params = reader.vectoriser().params();
    let flag = if params.stem.is_none() && params.stop_words != StopWords::None {
        "--stop-words"
    } else {
        "--stem"
    };
    Some(match (reader.language(), params.language()) {
        (Some(found), Some(_)) => {
            format!("language: {} (guessed; {flag} takes another)", name(found))
        }
        (Some(found), None) => {
            format!(
                "language: {} (guessed, to find names of labels in texts; {flag} takes another)",
                name(found)
            )
        }
        (None, _) if asked.is_auto() => {
            format!("language: unsure, so no words are stemmed or left out ({flag} takes one)")
        }
        (None, _) => format!("language: unsure ({flag} takes one)"),
    })
}

fn name(language: Language) -> &'static str {
    Language::NAMES[language as usize]
}

/// How text becomes vectors: the settings that were typed, by the names that they have in [`Params`].
#[derive(Debug)]
pub struct VectoriserArgs {
    typed: Map<String, Value>,
    /// A file, a language, or another word for what is left out.
    stop_words: Option<PathBuf>,
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
                    let names = names.iter().copied().chain([NONE]);
                    let names = PossibleValuesParser::new(names.collect::<Vec<_>>());
                    arg.value_parser(names.map(|name| if name == NONE { Value::Null } else { name.into() }))
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
        let remedy = match reader.vectoriser().params().char_ngrams {
            None => "try --char-ngrams 1,2 if no spaces separate words, as in Chinese",
            Some(_) => "see that --text-column names the text, or give more rows",
        };
        tracing::warn!(
            "{unshared} of {} documents have no term that another document has, so the model can \
             learn little from them: {remedy}",
            dataset.len()
        );
    }
    let more = dataset.labels.columns() - known;
    if known > 0 && more > 0 {
        tracing::warn!(
            "{more} labels of the data are not among the {known} of the vocabulary; they come after them"
        );
    }
    Ok((reader, dataset))
}

/// The error with settings named as they are typed.
pub fn lift(error: TextError) -> anyhow::Error {
    match error {
        TextError::Params(error) => as_flag(error),
        TextError::NoTerms { documents, min_df, max_df } => anyhow::anyhow!(
            "no term of the {documents} documents is kept (--min-df {min_df}, --max-df {max_df}): \
             give more text, add --min-df 1, or --char-ngrams 1,2 if no spaces separate words, as in \
             Chinese"
        ),
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
    use labelwood::text::{CharNgramsIn, Frequency, Stem, Tokens};

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
        let base = Options { labels: "tags".to_owned(), ..Options::default() };
        let options = command.documents.fields().over(&base);
        assert_eq!(options.text, ["title", "abstract"]);
        let tab = Separator::Text("\t".to_owned());
        assert_eq!((options.labels.as_str(), options.separator), ("tags", Some(tab)));
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
