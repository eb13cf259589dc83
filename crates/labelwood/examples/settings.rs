//! Chooses an algorithm and its settings by name, as a form or a configuration file would, and makes a
//! grove of parts of one's own. Run it with `cargo run --example settings`.

use labelwood::Settings;
use labelwood::algorithms::{craftml, grove, one_vs_rest};
use labelwood::data::Dataset;
use labelwood::data::generate::{Generator, Profile};
use labelwood::model::Model;
use labelwood::run::Pool;
use std::error::Error;

/// The whole example.
pub fn main() -> Result<(), Box<dyn Error>> {
    // Every setting is a row of a table, from which the command's flags are made, too.
    for settings in Settings::all() {
        println!("{}: {}", settings.name(), settings.about());
        for setting in settings.table().iter().filter(|setting| setting.is_common) {
            println!("    {}, {}: {}", setting.name, setting.kind, setting.help);
        }
    }

    // By name, the value is checked; by type, the compiler knows the names.
    let forest = Settings::named("craftml").expect("it is an algorithm").set("trees", 5)?;
    assert_eq!(forest, craftml::Params { trees: 5, ..Default::default() }.into());
    println!("{}", forest.set("branches", 99).expect_err("a node has 16 children at most"));

    // A grove is a list of parts, each an algorithm with its settings, and a ranker of what they say.
    let parts = vec![forest, one_vs_rest::Params::default().into()];
    let settings = grove::Params { parts, ..Default::default() }.into();
    let task = Pool::new(2)?.task();
    let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").expect("it is known") };
    let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
    let rows = Dataset { features, labels, label_names: None, named: None };
    let model = Model::train(rows.view(), Default::default(), &settings, &task)?;

    // The manifest keeps the settings with every automatic choice made.
    println!("{:#}", model.manifest().training.settings["parts"][0]);
    assert_eq!(model.learned().settings().find("craftml.trees"), Some(5.into()));
    Ok(())
}
