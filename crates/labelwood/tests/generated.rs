//! Files that are made from the tables of settings: Python's constructors, and the guide's page of
//! settings. A stale one fails; `make settings` writes them anew.

use labelwood::Settings;
use labelwood::settings::{Kind, Setting};
use labelwood::text::Params;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Set to write the files instead of comparing them.
const WRITE: &str = "LABELWOOD_WRITE_SETTINGS";

/// Python's parameters that are no settings of an algorithm, with their types and defaults.
const COMMON: [(&str, &str, &str); 6] = [
    ("favour", "Literal[\"none\", \"tail\"]", "\"none\""),
    ("random_state", "Any", "42"),
    ("threshold", "float | Literal[\"auto\"]", "\"auto\""),
    ("min_labels", "int", "0"),
    ("n_jobs", "int | None", "None"),
    ("verbose", "int", "0"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn compare(file: &str, expected: &str) {
    let path = root().join(file);
    if !path.parent().is_some_and(Path::exists) {
        eprintln!("skipped: {file} is not part of this copy");
        return;
    }
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{file} is stale: write it anew with `make settings`");
}

/// The settings that users set, and their defaults.
fn shown(settings: &Settings) -> Vec<(Setting, Value)> {
    let table = settings.table().into_iter().filter(|setting| !setting.is_elsewhere);
    let with_default = |setting: Setting| {
        let default = settings.find(setting.name).unwrap_or_default();
        (setting, default)
    };
    table.map(with_default).collect()
}

#[test]
fn pythons_constructors_are_made_from_the_tables() {
    let mut text = String::from(
        "\"\"\"The parameters of the estimators. Made from the library's tables of settings by `make settings`.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from collections.abc import Iterable\n\
         from typing import Any, Literal\n",
    );
    // What is made of other algorithms has parameters for them, which the package writes by hand.
    for settings in Settings::all().filter(|settings| settings.parts().is_empty()) {
        write_class(&mut text, &settings);
    }
    write_text_classes(&mut text);
    compare("python/labelwood/_settings.py", &text);
}

fn write_class(text: &mut String, settings: &Settings) {
    let shown = shown(settings);
    let class: String = settings.name().split('-').map(capital).collect();
    let _ = write!(text, "\n\nclass {class}Settings:\n    algorithm = \"{}\"\n", settings.name());
    let fixed: Vec<String> = settings
        .table()
        .iter()
        .filter(|setting| setting.is_elsewhere && setting.name != "seed")
        .map(|setting| {
            let value = settings.find(setting.name).unwrap_or_default();
            format!("\"{}\": {}", setting.name, python(setting, &value))
        })
        .collect();
    if !fixed.is_empty() {
        let _ = writeln!(text, "    _fixed = {{{}}}", fixed.join(", "));
    }
    write_parameters(text, &shown);
    // The first may be given without its name if it says how many trees there are.
    let is_size = |setting: &Setting| ["trees", "submodels"].contains(&setting.name);
    let named_from = usize::from(shown.first().is_some_and(|(setting, _)| is_size(setting)));
    let calibrate = (!settings.facts().is_calibrated).then_some(("calibrate", "bool", "False"));
    write_constructor(text, &[], named_from, &shown, calibrate.into_iter().chain(COMMON));
}

fn write_parameters(text: &mut String, shown: &[(Setting, Value)]) {
    text.push_str("    _parameters = \"\"\"\n    Parameters\n    ----------\n");
    for (setting, default) in shown {
        let (kind, default) = (python_doc_type(setting), python(setting, default));
        let _ = writeln!(text, "    {} : {kind}, default={default}", setting.name);
        for line in wrapped(&setting.help, 88) {
            let _ = writeln!(text, "        {line}");
        }
    }
    text.push_str("    \"\"\"\n\n");
}

/// A constructor that stores its parameters: those before the settings, the settings and those after
/// them, the first `unnamed` of which may be given without their names.
fn write_constructor<'a>(
    text: &mut String,
    before: &[(&str, &str, &str)],
    unnamed: usize,
    shown: &[(Setting, Value)],
    after: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) {
    let owned = |(name, kind, default): (&str, &str, &str)| {
        (name.to_owned(), kind.to_owned(), default.to_owned())
    };
    let of_setting = |(setting, default): &(Setting, Value)| {
        (setting.name.to_owned(), python_type(setting), python(setting, default))
    };
    let parameters: Vec<(String, String, String)> = before
        .iter()
        .copied()
        .map(owned)
        .chain(shown.iter().map(of_setting))
        .chain(after.into_iter().map(owned))
        .collect();
    text.push_str("    def __init__(\n        self,\n");
    for (at, (name, kind, default)) in parameters.iter().enumerate() {
        if at == unnamed {
            text.push_str("        *,\n");
        }
        let _ = writeln!(text, "        {name}: {kind} = {default},");
    }
    text.push_str("    ) -> None:\n");
    for (name, ..) in &parameters {
        let _ = writeln!(text, "        self.{name} = {name}");
    }
}

/// What turns text into vectors, by itself and with an estimator.
fn write_text_classes(text: &mut String) {
    let shown = text_settings();
    text.push_str("\n\nclass TextVectoriserSettings:\n");
    write_parameters(text, &shown);
    let threads = ("n_jobs", "int | None", "None");
    write_constructor(text, &[], 0, &shown, [threads]);
    text.push_str("\n\nclass TextTaggerSettings:\n");
    let separator = ("separator", "str | None", "None");
    let vectoriser = ("vectoriser", "Any", "None");
    let after = [vectoriser, separator, threads, ("verbose", "int", "0")];
    write_constructor(text, &[("estimator", "Any", "None")], 1, &shown, after);
}

/// The settings of text, and their defaults.
fn text_settings() -> Vec<(Setting, Value)> {
    let defaults = json!(Params::default());
    let with_default = |setting: Setting| {
        let default = defaults[setting.name].clone();
        (setting, default)
    };
    Params::table().into_iter().map(with_default).collect()
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

fn python(setting: &Setting, value: &Value) -> String {
    match (&setting.kind, value) {
        (_, Value::Null) => "None".to_owned(),
        (Kind::Words, Value::String(name)) if name == "none" => "None".to_owned(),
        (Kind::Lengths, _) => format!("({})", setting.shown(value).replace(',', ", ")),
        (_, Value::Bool(true)) => "True".to_owned(),
        (_, Value::Bool(false)) => "False".to_owned(),
        (_, Value::String(name)) => format!("\"{name}\""),
        (Kind::Number { .. }, _) => {
            let shown = setting.shown(value);
            if shown.contains(['.', 'e']) { shown } else { format!("{shown}.0") }
        }
        _ => value.to_string(),
    }
}

fn python_type(setting: &Setting) -> String {
    let kind = match setting.kind {
        Kind::Whole { .. } => "int".to_owned(),
        Kind::Number { .. } => "float".to_owned(),
        Kind::Flag => "bool".to_owned(),
        Kind::Choice(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("Literal[{}]", names.join(", "))
        }
        Kind::Lengths => "tuple[int, int]".to_owned(),
        Kind::CountOrShare => "int | float".to_owned(),
        Kind::Words => "str | Iterable[str] | None".to_owned(),
        _ => "Any".to_owned(),
    };
    if setting.is_optional { format!("{kind} | None") } else { kind }
}

fn python_doc_type(setting: &Setting) -> String {
    let kind = match setting.kind {
        Kind::Choice(_) => python_type(setting).replace("Literal[", "{").replace(']', "}"),
        Kind::Words => "str, list of str or None".to_owned(),
        Kind::Lengths => "(int, int) or None".to_owned(),
        _ => python_type(setting),
    };
    kind.replace(" | ", " or ")
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().unwrap();
        if !last.is_empty() && last.len() + 1 + word.len() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[test]
fn the_guides_tables_are_made_from_the_tables() {
    let mut text = String::from(
        "# Settings\n\n\
         <!-- Made from the library's tables of settings by `make settings`. -->\n\n\
         A setting has the same name in the command (`--keep-at-least 40`), in Rust and in Python \
         (`keep_at_least=40`). `labelwood train --algorithm NAME --help` shows those of one algorithm; \
         a preset is a set of values to start from. *Tuned* are the values that `labelwood tune` tries.\n",
    );
    for settings in Settings::all() {
        let _ = write!(text, "\n## {}\n\n", settings.name());
        let about = settings.about();
        let _ = writeln!(text, "{}{}.", capital(&about[..1]), &about[1..]);
        let presets: Vec<String> =
            settings.presets().iter().map(|(name, _)| format!("`{name}`")).collect();
        let _ = writeln!(text, "Presets: {}.\n", presets.join(", "));
        if !settings.parts().is_empty() {
            let parts: Vec<String> =
                settings.parts().iter().map(|part| format!("[{0}](#{0})", part.name())).collect();
            let _ = writeln!(
                text,
                "Its settings are those of its parts, {}; one that several parts have goes to each, but \
                 `trees` to the first.\n",
                parts.join(" and ")
            );
        }
        write_table(&mut text, &shown(&settings), "auto");
    }
    text.push_str(
        "\n## Text\n\n\
         How [text becomes vectors](tuning.md#text). In the command, a setting that is true by default has a \
         flag that makes it false.\n\n",
    );
    write_table(&mut text, &text_settings(), "none");
    compare("docs/src/settings.md", &text);
}

/// The table of some settings; `open` is what those are that are left open.
fn write_table(text: &mut String, shown: &[(Setting, Value)], open: &str) {
    text.push_str("| setting | default | values | what it does | tuned |\n|---|---|---|---|---|\n");
    for (setting, default) in shown {
        let default = match default {
            Value::Null if setting.is_optional => open.to_owned(),
            Value::Null => String::new(),
            value => setting.shown(value),
        };
        let tried: Vec<String> = setting.tried.iter().map(|value| setting.shown(value)).collect();
        let values = match (&setting.kind, setting.off) {
            (Kind::Choice(names), _) => names.join(", "),
            (_, Some((flag, _))) => format!("true or false (`--{flag}`)"),
            (kind, None) => kind.to_string(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {default} | {values} | {} | {} |",
            setting.name,
            setting.help,
            tried.join(", ")
        );
    }
}
