//! `labelwood update`: more rows for a trained model.

use std::path::PathBuf;

use anyhow::Result;
use labelwood::Settings;
use labelwood::algorithms::Updates;
use labelwood::app::update_bytes;
use labelwood::model::{Model, UpdateError, UpdateStart, Updated, update};
use labelwood::run::Bytes;
use labelwood::store::{Options, check_target, is_model};
use labelwood::words::plural;

use crate::context::Context;
use crate::learn::unlabelled;
use crate::machine;
use crate::prediction::RowArgs;

/// Arguments of `labelwood update`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "New rows are counted in the leaves of a forest. A model that was trained with --keep-rows also \
    divides leaves that became too large, and learns again the linear classifiers that the rows and names touch; \
    label-tree and one-vs-rest models need it. The labels of a vocabulary are found by their names at once. A text model keeps its terms. The model is replaced only \
    when the new one is complete; an update that was stopped goes on when it is repeated, and rows that the \
    last update of the model added are not added again without --again."
)]
pub struct Args {
    /// The model: its folder or file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The rows to add, with their labels, of which some may be new; - for standard input
    #[arg(value_name = "NEWDATA", required_unless_present = "vocabulary")]
    data: Option<PathBuf>,

    /// The folder to write the new model to, or a file if it ends in .labelwood; by default it takes the place of MODEL
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replace a model in DIR, and drop other work that is unfinished there
    #[arg(long)]
    overwrite: bool,

    /// Add the rows even if they are the same as those of the model's last update
    #[arg(long)]
    again: bool,

    /// More labels and more names, in any format that train reads; labels are the same if their codes
    /// are. For NEWDATA of vectors: the names of all labels, those of the model first; by default
    /// those beside NEWDATA, if there are some
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,

    #[command(flatten)]
    rows: RowArgs,
}

/// Reads the rows and writes the new model.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let goes_on = "the same update again goes on with what is finished";
    let task = context.watched_run(
        |progress| progress,
        // The new model may just have taken its place.
        move || format!("the model is the old one or the new one; {goes_on}"),
    )?;
    if let Some(output) = &args.output {
        // What a finished update left there is not in the way of repeating it.
        check_target(output, args.overwrite || is_model(output))?;
    }
    let model = Model::open(&args.model, Options::default(), &task)?;
    let dataset = args.rows.options().read_more(
        args.data.as_deref(),
        &model,
        args.vocabulary.as_deref(),
        &task,
    )?;
    let is_known = args.data.is_none() && dataset.label_names.as_ref() == model.labels().names();
    if is_known && args.output.is_none() {
        context.note(format_args!(
            "{}: the model has all these names, there is nothing left to do",
            args.model.display()
        ));
        return Ok(());
    }
    let threads = task.threads();
    let remedy = if threads > 1 { "try --threads 1" } else { "add fewer rows at a time" };
    let needed = update_bytes(&model, dataset.view(), threads);
    machine::check_memory("update", needed, context.max_memory, |_| remedy.to_owned())?;
    let target = args.output.as_ref().unwrap_or(&args.model);
    let start = UpdateStart { overwrite: args.overwrite, again: args.again };
    let updated = update(&model, &dataset, target, start, &task).map_err(|error| match error {
        UpdateError::Store(error) => error.into(),
        UpdateError::Stopped { source } => {
            anyhow::Error::from(source).context(format!("the model is as it was; {goes_on}"))
        }
        other => anyhow::Error::from(other),
    })?;
    let folder = target.display();
    let Updated { manifest, rows, new_labels, renamed, .. } = &updated;
    if updated.was_there {
        let done = match args.output {
            Some(_) => "this update is finished, there is nothing left to do".to_owned(),
            None => format!(
                "the last update added these {}, there is nothing left to do; --again adds them once \
                 more",
                if *rows > 0 { plural(*rows, "row") } else { "names".to_owned() }
            ),
        };
        context.note(format_args!("{folder}: {done}"));
        return Ok(());
    }
    let renamed =
        if *renamed > 0 { format!(", {renamed} with other names") } else { String::new() };
    context.note(format_args!(
        "{folder}: {} and {} added, now {} and {}{renamed}, {}",
        plural(*rows, "row"),
        plural(*new_labels, "new label"),
        plural(manifest.instances, "row"),
        plural(manifest.labels, "label"),
        Bytes(manifest.bytes())
    ));
    if let Some(mention) = args.data.and_then(|data| unlabelled(&data, &dataset)) {
        context.note(mention);
    }
    if let Some(left) = left(&model).filter(|_| *rows > 0) {
        context.note(format_args!("{left}: train with --keep-rows"));
    }
    if updated.without_rows > 0 {
        context.note(without_rows(&model, updated.without_rows));
    }
    Ok(())
}

/// What becomes of new labels that no row has.
fn without_rows(model: &Model, labels: u64) -> String {
    let settings = model.learned().settings();
    let learns_names = |settings: &Settings| settings.find("names").is_some_and(|names| names != 0);
    let learns = settings.parts().iter().chain([&settings]).any(learns_names);
    let holds_rows = model.manifest().training.keep_rows;
    let fate = match settings.facts().reads_names {
        true => "found by name",
        false if learns && holds_rows && model.text().is_some() => {
            "learned from those words of the names that the model knows"
        }
        false => "not predicted before there are rows, since this model does not look for names",
    };
    let have = if labels == 1 { "has" } else { "have" };
    format!("{} {have} no rows: {fate}", plural(labels, "new label"))
}

/// What could not be done without the training rows.
fn left(model: &Model) -> Option<&'static str> {
    match model.learned().settings().facts().updates {
        Updates::Always(left) if !model.manifest().training.keep_rows => left,
        _ => None,
    }
}
