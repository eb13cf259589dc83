//! The command line as it is typed: the subcommands and the flags that all of them share.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, CommandFactory, Parser};
use labelwood::Settings;
use labelwood::run::Bytes;

use crate::cmd::Command;
use crate::settings::only_of;

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 the input or the settings are at fault, 2 wrong usage, \
3 the machine is at fault (disk, memory), 130 stopped by a signal, 141 standard output was closed early.";

/// Learns which few of very many labels fit a row of features.
///
/// labelwood trains models on sparse data with thousands to millions of labels, predicts with them
/// and measures how good the predictions are.
#[derive(Debug, Parser)]
#[command(name = "labelwood", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// The flags that every subcommand takes.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every subcommand takes, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Seed of all randomness; the same seed gives the same bytes [default: 42]
    #[arg(long, global = true, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// Threads to work on; 0 takes as many as there are
    ///
    /// That is, as the machine and its CPU quota give.
    #[arg(long, global = true, value_name = "N", default_value = "0", value_parser = count,
        allow_negative_numbers = true)]
    pub threads: usize,

    /// The most memory for what is read and learned, such as 8G; by default what the machine or its
    /// control group has. What needs more is refused
    #[arg(long, global = true, value_name = "SIZE")]
    pub max_memory: Option<Bytes>,

    /// Print errors and results only
    ///
    /// No progress, no warnings.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say more: every cause of an error, and what was used; twice for details
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// The subcommands that learn, which have a flag for every setting.
const LEARNING: [&str; 3] = ["train", "tune", "plan"];

/// The flags that `-h` of these shows; `--help` shows all.
const SHOWN: &str = "data model output shards test holdout algorithm text_column label_column vocabulary budget \
    resume overwrite folds measure threads quiet help";

/// Lines to type, for the end of each subcommand's help.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("demo", &["labelwood demo", "labelwood demo --write-corpus questions --to csv"]),
    (
        "train",
        &[
            "labelwood train books.tsv -m books",
            "labelwood train books.tsv -m books --holdout 0.1",
            "labelwood train books.csv -m books --text-column title --label-column subjects",
            "labelwood train train.txt -m model --test test.txt --budget 5m",
        ],
    ),
    (
        "tune",
        &[
            "labelwood tune books.tsv -o tuned --budget 10m",
            "labelwood train books.tsv -m books --settings tuned",
        ],
    ),
    ("inspect", &["labelwood inspect books", "labelwood inspect books --label maps"]),
    (
        "predict",
        &[
            "labelwood predict books new.tsv",
            "labelwood predict books new.csv -o answers.csv -k 3",
            "labelwood predict books --text 'A history of maps'",
            "labelwood predict books new.jsonl -o answers.jsonl --threshold auto",
        ],
    ),
    (
        "explain",
        &[
            "labelwood explain books --text 'A history of maps'",
            "labelwood explain books --text 'A history of maps' --label atlases",
            "labelwood explain books new.tsv -o why.html",
        ],
    ),
    (
        "evaluate",
        &[
            "labelwood evaluate books test.tsv",
            "labelwood evaluate books test.tsv --all --per-label labels.tsv",
            "labelwood evaluate --predictions answers.csv --train train.csv test.csv",
        ],
    ),
    (
        "compare",
        &[
            "labelwood compare books.tsv --algorithms grove,craftml,label-tree:bonsai",
            "labelwood compare train.txt --test test.txt --seeds 3 -o comparison",
            "labelwood compare train.txt --test test.txt --predictions omikuji=answers.txt",
        ],
    ),
    (
        "serve",
        &[
            "labelwood serve books",
            "labelwood serve books maps=models/maps-2026 --port 8000 --api-keys keys.txt",
        ],
    ),
    (
        "update",
        &[
            "labelwood update books more.tsv",
            "labelwood update books --vocabulary subjects.ttl -o newer",
        ],
    ),
    (
        "check",
        &[
            "labelwood check books.tsv",
            "labelwood check train.csv --test test.csv --text-column title",
        ],
    ),
    (
        "split",
        &[
            "labelwood split books.tsv",
            "labelwood split books.csv --test 0.1 --text-column title --by author -o parts",
        ],
    ),
    (
        "convert",
        &[
            "labelwood convert books.tsv books.svm --save-vectoriser words",
            "labelwood convert train.txt train.lwd",
            "labelwood convert books smaller --values f16",
        ],
    ),
    (
        "plan",
        &[
            "labelwood plan train.lwd -o plan --shards 8",
            "labelwood shard --plan plan --index 0",
            "labelwood merge --plan plan -m model",
        ],
    ),
    (
        "shard",
        &[
            "labelwood shard --plan plan --index 3",
            "mpirun -n 8 labelwood shard --plan plan --wait",
        ],
    ),
    ("merge", &["labelwood merge --plan plan -m model"]),
    ("generate", &["labelwood generate --profile eurlex-4k -o train.txt --test-output test.txt"]),
    (
        "completions",
        &["labelwood completions bash > ~/.local/share/bash-completion/completions/labelwood"],
    ),
    ("man", &["labelwood man | man -l -", "labelwood man --output pages"]),
];

/// The command with examples at the end of all its help.
pub fn with_examples() -> clap::Command {
    EXAMPLES.iter().fold(Cli::command(), |command, (name, lines)| {
        let examples = lines.iter().map(|line| format!("\n  {line}")).collect::<String>();
        let examples = format!("Examples:{examples}");
        command.mut_subcommand(name, |command| {
            let about = command.get_after_help().map(|about| format!("{about}\n\n"));
            let about = about.unwrap_or_default();
            command.after_help(examples.clone()).after_long_help(about + &examples)
        })
    })
}

/// The command line that is parsed. `-h` of a subcommand that learns shows what most people need, and
/// `--algorithm NAME --help` the settings of that algorithm only.
pub fn command(typed: impl Iterator<Item = OsString>) -> clap::Command {
    let typed: Vec<String> = typed.map(|word| word.to_string_lossy().into_owned()).collect();
    let asks_for_help = typed.iter().any(|word| word == "--help");
    let named = typed.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some(("--algorithm", name)) => Some(name.to_owned()),
        None if word == "--algorithm" => typed.get(at + 1).cloned(),
        _ => None,
    });
    let algorithm = named.filter(|_| asks_for_help).and_then(|name| Settings::named(&name));
    let mut command = with_examples();
    for name in LEARNING {
        command = command.mut_subcommand(name, |mut command| {
            if let Some(algorithm) = &algorithm {
                command = only_of(command, algorithm);
            }
            command.mut_args(|arg| {
                let is_shown = SHOWN.split(' ').any(|name| arg.get_id() == name);
                arg.hide_short_help(!is_shown)
            })
        });
    }
    command.mut_arg("max_memory", |arg| arg.hide_short_help(true))
}

/// A whole number.
pub fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| match text.parse::<i128>() {
        Ok(..0) => "must be 0 or more".to_owned(),
        Ok(_) => "this number is too large".to_owned(),
        Err(_) => "expected a whole number".to_owned(),
    })
}

/// How many of something, or its place among others.
pub fn count(text: &str) -> Result<usize, String> {
    whole(text).and_then(|number| {
        usize::try_from(number).map_err(|_| "this number is too large".to_owned())
    })
}

/// A whole number that is not 0.
pub fn at_least_1(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<i128>() {
        Ok(..1) => Err("must be 1 or more".to_owned()),
        _ => count(text).and_then(|number| {
            NonZeroUsize::new(number).ok_or_else(|| "must be 1 or more".to_owned())
        }),
    }
}

/// A share of the rows: more than none and fewer than all.
pub fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("expected a share of the rows between 0 and 1, such as 0.1".to_owned()),
    }
}

/// A parser of names, each of which is given with its help and what it stands for.
pub fn choice<T: Clone + Send + Sync + 'static>(
    known: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = known.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).map(|typed| {
        let chosen = known.iter().find(|(name, ..)| *name == typed);
        chosen.expect("the parser takes no other names").2.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_examples_that_can_be_typed() {
        let command = with_examples();
        for subcommand in command.get_subcommands() {
            let (name, help) = (subcommand.get_name(), subcommand.get_after_long_help());
            assert!(help.is_some_and(|help| help.to_string().contains("Examples:")), "{name}");
        }
        for line in EXAMPLES.iter().flat_map(|(_, lines)| *lines) {
            let start = line.find("labelwood ").expect("it is a line for the command");
            let end = line.find(['|', '>']).unwrap_or(line.len());
            // A quoted text is one word.
            let words =
                line[start..end].split('\'').enumerate().flat_map(|(at, piece)| match at % 2 {
                    0 => piece.split_whitespace().collect::<Vec<_>>(),
                    _ => vec![piece],
                });
            let parsed = with_examples().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn numbers_are_asked_for_in_words() {
        assert_eq!(at_least_1("0").unwrap_err(), "must be 1 or more");
        assert_eq!(at_least_1("-3").unwrap_err(), "must be 1 or more");
        assert_eq!(at_least_1("1e9").unwrap_err(), "expected a whole number");
        assert_eq!(at_least_1("99999999999999999999").unwrap_err(), "this number is too large");
        assert_eq!(whole("abc").unwrap_err(), "expected a whole number");
        assert_eq!(whole("-1").unwrap_err(), "must be 0 or more");
        assert_eq!((whole("0"), share("0.1")), (Ok(0), Ok(0.1)));
        assert!(share("0").is_err() && share("1").is_err() && share("10%").is_err());
    }
}
