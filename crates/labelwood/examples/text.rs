//! Trains a model on texts with their labels and asks it about other texts. The model keeps how text
//! becomes rows, so that a text is all that it needs. Run it with `cargo run --example text`.

use labelwood::Settings;
use labelwood::data::corpus;
use labelwood::data::documents::{Documents, Format, Labels, Options};
use labelwood::model::{Model, TrainOptions};
use labelwood::run::Pool;
use labelwood::sparse::Query;
use labelwood::text::{Params, TextReader};
use std::error::Error;

/// The whole example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let task = Pool::new(2)?.task();

    // Lines of text, TAB, labels. `Documents::open` reads a file instead.
    let (lines, fields) = (corpus::TRAIN.as_bytes(), Options::default());
    let documents = Documents::from_bytes(
        lines,
        "questions.tsv",
        Format::Tsv,
        &fields,
        Labels::Required,
        &task,
    )?;
    // The reader learns which words there are, and makes rows of the texts.
    let (reader, rows) =
        TextReader::fit(documents, &fields, Params::default(), Default::default(), &task)?;

    let settings = Settings::named("label-tree").expect("it is an algorithm");
    let options = TrainOptions { text: Some(&reader), ..Default::default() };
    let model = Model::train(rows.view(), options, &settings, &task)?;

    let texts = ["Who lived in our house before the war?", "A picture book about owls"];
    let predictions = model.predict_texts(&texts, Query::top(3), &task)?;
    for (text, best) in texts.iter().zip(predictions.rows()) {
        println!("{text}");
        for label in best {
            let name = model.labels().name(label.id).expect("labels of text have names");
            println!("    {:.3} {name}", label.score);
        }
    }
    assert_eq!(model.labels().name(predictions.row(0)[0].id), Some("local history"));
    Ok(())
}
