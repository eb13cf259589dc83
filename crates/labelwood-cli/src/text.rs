//! Text as an argument: the flags that say how documents are read and become vectors.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use labelwood::app::Fields;
use labelwood::data::documents::{Documents, Format, Labels, Options, Separator, read_lines};
use labelwood::data::{Dataset, LabelIndexBuilder};
use labelwood::run::Task;
use labelwood::text::{
    CharNgramsIn, Frequency, Language, Params, StopWords, TextError, TextReader, Tokens,
    mostly_unshared,
};

use crate::settings::{as_flag, named};

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

    /// What was decided on text, in one line, and an example of labels in a second one if they may
    /// have been meant otherwise.
    pub fn describe(&self, reader: &TextReader, dataset: &Dataset) -> String {
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
        match example(separator, dataset) {
            Some(example) if self.label_separator.is_none() => {
                format!("{line}\nlabels: {labels}, {example}")
            }
            _ => line,
        }
    }
}

/// How text becomes vectors, each flag with the name it has in [`Params`].
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Text to vectors")]
pub struct VectoriserArgs {
    /// What a word is: a run of letters and digits, or what Unicode's rules say
    #[arg(long, value_name = "NAME", value_parser = named::<Tokens>(&["word", "unicode"]))]
    tokens: Option<Tokens>,

    /// Leave out words of fewer characters [default: 2]
    #[arg(long, value_name = "N")]
    min_token: Option<usize>,

    /// Take upper and lower case for different letters
    #[arg(long)]
    keep_case: bool,

    /// Cut off the endings of words by the Snowball rules of a language, such as english
    #[arg(long, value_name = "LANGUAGE", value_parser = named::<Language>(&LANGUAGES))]
    stem: Option<Language>,

    /// Leave out the words of a file, one per line; `english` has a list of its own
    #[arg(long, value_name = "FILE|english")]
    stop_words: Option<PathBuf>,

    /// From how many to how many words in a row make a term; none for characters only [default: 1,1]
    #[arg(long, value_name = "A,B", value_parser = ngrams)]
    word_ngrams: Option<Ngrams>,

    /// From how many to how many characters in a row make a term [default: none]
    #[arg(long, value_name = "A,B", value_parser = ngrams)]
    char_ngrams: Option<Ngrams>,

    /// Take characters in a row within words or across the whole text [default: words]
    #[arg(long, value_name = "NAME", value_parser = named::<CharNgramsIn>(&["words", "text"]))]
    char_ngrams_in: Option<CharNgramsIn>,

    /// Leave out terms in fewer documents: a number, or a share such as 0.001 [default: 2]
    #[arg(long, value_name = "N|SHARE")]
    min_df: Option<Frequency>,

    /// Leave out terms in more documents: a number, or a share such as 0.5 [default: 1.0]
    #[arg(long, value_name = "N|SHARE")]
    max_df: Option<Frequency>,

    /// Keep at most so many terms, the most frequent
    #[arg(long, value_name = "N")]
    max_features: Option<usize>,

    /// Count a term that occurs n times in a document n rather than 1 + ln n
    #[arg(long)]
    no_sublinear_tf: bool,

    /// Weigh rare terms no more than frequent ones
    #[arg(long)]
    no_idf: bool,

    /// Do not count one document with every term more than there are
    #[arg(long)]
    no_smooth_idf: bool,

    /// Hash terms to N columns, which takes no memory for a vocabulary
    #[arg(long, value_name = "N")]
    hashing: Option<usize>,
}

const LANGUAGES: [&str; 18] = [
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
];

/// From how many to how many; none.
type Ngrams = (usize, usize);

fn ngrams(text: &str) -> Result<Ngrams, String> {
    if text == "none" {
        return Ok((0, 0));
    }
    let range = text.split_once(',').unwrap_or((text, text));
    match (range.0.trim().parse(), range.1.trim().parse()) {
        (Ok(least), Ok(most)) if least > 0 => Ok((least, most)),
        _ => Err("expected two lengths such as 1,2, or none".to_owned()),
    }
}

impl VectoriserArgs {
    /// Whether a flag was typed.
    pub fn is_typed(&self) -> bool {
        self.stop_words.is_some() || self.params(Params::default()) != Params::default()
    }

    /// What was typed, and `base` for the rest, checked.
    pub fn over(&self, mut base: Params, task: &Task) -> Result<Params> {
        if let Some(file) = &self.stop_words {
            base.stop_words = stop_words(file, task)?;
        }
        let params = self.params(base);
        params.check().map_err(as_flag)?;
        Ok(params)
    }

    /// What was typed, and `base` for the rest and for the stop words.
    fn params(&self, base: Params) -> Params {
        let ngrams = |typed: Option<Ngrams>, base| match typed {
            None => base,
            Some((0, _)) => None,
            some => some,
        };
        Params {
            tokens: self.tokens.unwrap_or(base.tokens),
            min_token: self.min_token.unwrap_or(base.min_token),
            lowercase: base.lowercase && !self.keep_case,
            stem: self.stem.or(base.stem),
            stop_words: base.stop_words,
            word_ngrams: ngrams(self.word_ngrams, base.word_ngrams),
            char_ngrams: ngrams(self.char_ngrams, base.char_ngrams),
            char_ngrams_in: self.char_ngrams_in.unwrap_or(base.char_ngrams_in),
            min_df: self.min_df.unwrap_or(base.min_df),
            max_df: self.max_df.unwrap_or(base.max_df),
            max_features: self.max_features.or(base.max_features),
            sublinear_tf: base.sublinear_tf && !self.no_sublinear_tf,
            idf: base.idf && !self.no_idf,
            smooth_idf: base.smooth_idf && !self.no_smooth_idf,
            hashing: self.hashing.or(base.hashing),
        }
    }
}

fn stop_words(file: &Path, task: &Task) -> Result<StopWords> {
    if file == Path::new("english") {
        return Ok(StopWords::English);
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
    .context("the stop words cannot be read: name a file, or english")?;
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

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        documents: DocumentArgs,
        #[command(flatten)]
        vectoriser: VectoriserArgs,
    }

    fn run() -> Task {
        Pool::new(1).expect("a thread can start").task()
    }

    fn parse(line: &str) -> Command {
        Command::parse_from(["x"].into_iter().chain(line.split_whitespace()))
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
            stem: Some(Language::Finnish),
            stop_words: StopWords::English,
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
    }
}
