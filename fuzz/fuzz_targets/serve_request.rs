//! Any body to any path of the service is answered, never with an error of the server's.
//!
//! The first byte says which path is asked, the others are the body.

#![no_main]

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use labelwood::Settings;
use labelwood::data::LabelIndex;
use labelwood::model::{Model, TrainOptions};
use labelwood::sparse::LabelRows;
use labelwood::text::{Params, learn};
use labelwood_fuzz::RUN;
use labelwood_server::{Options, Server};
use std::sync::LazyLock;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

const JSON: &str = "application/json";

/// The paths with the types of their bodies.
const PATHS: [(&str, &str); 8] = [
    ("/api/models/birds/predict", JSON),
    ("/api/models/birds/explain", JSON),
    ("/api/models/birds/predict-stream", "application/x-ndjson"),
    ("/v1/projects/birds/suggest", "application/x-www-form-urlencoded"),
    ("/v1/projects/birds/suggest-batch", JSON),
    ("/v1/projects/birds/learn", JSON),
    ("/v1/detect-language", JSON),
    ("/api/models/numbers/predict", JSON),
];

static SERVICE: LazyLock<(Runtime, Router)> = LazyLock::new(|| {
    let texts = ["owls and herons", "owls and finches", "an old atlas", "the old atlas"];
    let labels = LabelRows::try_new(2, vec![0, 1, 2, 3, 4], vec![0, 0, 1, 1], vec![(); 4]);
    let (labels, names) =
        (labels.expect("rows are sorted"), LabelIndex::from_lines(["birds", "maps"]));
    let (reader, rows) = learn(&texts, labels, names, Default::default(), Params::default(), &RUN)
        .expect("there are terms");
    let settings = Settings::named("one-vs-rest").expect("it is an algorithm");
    let train = |text| {
        let options = TrainOptions { text, ..TrainOptions::default() };
        Model::train(rows.view(), options, &settings, &RUN).expect("there are rows")
    };
    let models = vec![("birds".into(), train(Some(&reader))), ("numbers".into(), train(None))];
    let options = Options { threads: 1, max_body: 10_000, ..Options::default() };
    let server = Server::of_models(models, options).expect("names are plain");
    let runtime = Builder::new_current_thread().enable_all().build().expect("there are threads");
    (runtime, server.router())
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&path, body)) = bytes.split_first() else { return };
    let (path, kind) = PATHS[path as usize % PATHS.len()];
    let (runtime, router) = &*SERVICE;
    let request = Request::post(path).header("content-type", kind);
    let request = request.body(Body::from(body.to_vec())).expect("it is a request");
    let status = runtime.block_on(async {
        let response = router.clone().oneshot(request).await.expect("the router does not fail");
        let status = response.status();
        axum::body::to_bytes(response.into_body(), 64 << 20).await.expect("the answer is whole");
        status
    });
    assert!(!status.is_server_error(), "{status}");
});
