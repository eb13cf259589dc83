//! Trains one model by three workers, as machines of a cluster do, and merges what they made: the bytes
//! are those of one training. Run it with `cargo run --example shards`.

use labelwood::Settings;
use labelwood::data::Dataset;
use labelwood::data::generate::{Generator, Profile};
use labelwood::model::train;
use labelwood::run::Pool;
use labelwood::shard::{Options, Plan, Work};
use labelwood::store::Manifest;
use std::error::Error;

/// The whole example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let task = Pool::new(2)?.task();
    let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").expect("it is known") };
    let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
    let rows = Dataset { features, labels, label_names: None, named: None };
    let settings = Settings::named("label-tree").expect("it is an algorithm");
    let folder = tempfile::tempdir()?;
    let (path, merged) = (folder.path().join("plan"), folder.path().join("merged"));

    // The plan's folder is what workers share: it says which units each shard trains.
    let options = Options { shards: 3, ..Options::default() };
    let plan = Plan::make(&path, rows.view(), Default::default(), &settings, &options, &task)?;

    // The units below the root of a label tree are known once the root is there, so there are two
    // stages. Within a stage, shards may be trained anywhere and in any order.
    for stage in 1..=plan.stages() {
        for shard in 0..plan.shards().len() {
            let work = Work { stage: Some(stage), ..Work::default() };
            let (trained, _) = plan.train(rows.view(), &[shard], work, &task)?;
            println!("stage {stage}: shard {shard} trained {trained} units");
        }
    }
    plan.merge(&[], &merged, false, &task)?;

    let alone = folder.path().join("alone");
    train(&rows, &settings, &alone, Default::default(), &task)?;
    let (merged, alone) = (Manifest::read(&merged)?, Manifest::read(&alone)?);
    println!("the merged model is {}", merged.model_id());
    assert_eq!(merged.model_id(), alone.model_id());
    Ok(())
}
