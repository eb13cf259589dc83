//! The interface of our own, and what is for people.

use crate::harness::{ask, birds, get, options, post_json, questions, serve, shown, task, vectors};
use axum::body::Body;
use axum::http::Request;
use labelwood::data::corpus;
use labelwood::model::explain::ExplainOptions;
use labelwood::sparse::Query;
use serde_json::{Value, json};

#[tokio::test]
async fn predictions_are_those_of_the_library() {
    let model = questions("label-tree", 1);
    let texts: Vec<&str> = corpus::test().map(|(text, _)| text).collect();
    let expected = model.predict_texts(&texts, Query::top(3), &task()).unwrap();
    let server = serve(vec![("desk", model.clone())], options());
    let body = json!({"texts": texts, "k": 3});
    let found = post_json(&server, "/api/models/desk/predict", body).await.fine().json();
    let found = found["predictions"].as_array().unwrap().clone();
    assert_eq!(found.len(), texts.len());
    for (found, expected) in found.iter().zip(expected.rows()) {
        let labels = expected.iter().map(|best| {
            let name = model.labels().name(best.id).unwrap();
            json!({"id": best.id, "code": name, "name": name, "score": shown(best.score)})
        });
        assert_eq!(found["labels"], labels.collect::<Value>());
        assert_eq!(found["is_unknown"], false);
    }
}

#[tokio::test]
async fn requests_that_are_predicted_together_get_what_each_gets_alone() {
    let model = questions("grove", 1);
    let texts: Vec<String> = corpus::test().map(|(text, _)| text.to_owned()).collect();
    let server = serve(vec![("desk", model.clone())], options());
    let mut asked = Vec::new();
    for text in texts.iter().cycle().take(300) {
        let (server, text) = (server.clone(), text.clone());
        asked.push(tokio::spawn(async move {
            let body = json!({"texts": [text]});
            post_json(&server, "/api/models/desk/predict", body).await.fine().json()
        }));
    }
    for (asked, text) in asked.into_iter().zip(texts.iter().cycle()) {
        let found = asked.await.unwrap();
        let alone = model.predict_texts(&[text], Query::top(5), &task()).unwrap();
        let pair = |label: &Value| {
            (label["id"].as_u64().unwrap() as u32, label["score"].as_f64().unwrap() as f32)
        };
        let found: Vec<_> =
            found["predictions"][0]["labels"].as_array().unwrap().iter().map(pair).collect();
        let alone: Vec<_> = alone.row(0).iter().map(|best| (best.id, best.score)).collect();
        assert_eq!(found, alone, "{text}");
    }
}

#[tokio::test]
async fn thresholds_numbers_of_labels_and_languages_are_obeyed() {
    let server = serve(vec![("birds", birds()), ("desk", questions("grove", 1))], options());
    let desk = "/api/models/desk/predict";
    let text = "Who lived in our house before the war?";
    let threshold = get(&server, "/api/models/desk").await.json()["threshold"].as_f64().unwrap();
    let auto = post_json(&server, desk, json!({"texts": [text], "threshold": "auto"})).await;
    let auto = auto.fine().json()["predictions"][0]["labels"].clone();
    let scores: Vec<f64> =
        auto.as_array().unwrap().iter().map(|it| it["score"].as_f64().unwrap()).collect();
    assert!(!scores.is_empty() && scores.iter().all(|score| *score >= threshold));
    let all = post_json(&server, desk, json!({"texts": [text], "threshold": 0.0})).await;
    assert!(all.json()["predictions"][0]["labels"].as_array().unwrap().len() > 5);
    let none = post_json(&server, desk, json!({"texts": [text], "threshold": 1e200})).await;
    assert_eq!(none.fine().json()["predictions"][0]["labels"], json!([]));
    let two = post_json(&server, desk, json!({"texts": [text], "threshold": 0, "k": 2})).await;
    assert_eq!(two.json()["predictions"][0]["labels"].as_array().unwrap().len(), 2);
    let finnish = json!({"texts": ["owls"], "language": "fi", "k": 1});
    let finnish = post_json(&server, "/api/models/birds/predict", finnish).await.fine().json();
    assert_eq!(finnish["predictions"][0]["labels"][0]["name"], "linnut", "{finnish}");
    let unknown = post_json(&server, desk, json!({"texts": ["zzzz qqqq"]})).await.json();
    assert_eq!(unknown["predictions"][0], json!({"labels": [], "is_unknown": true}));
    let none = post_json(&server, desk, json!({"texts": []})).await.fine().json();
    assert_eq!(none, json!({"predictions": []}));
}

#[tokio::test]
async fn vectors_are_predicted_by_models_of_vectors() {
    let server = serve(vec![("numbers", vectors()), ("birds", birds())], options());
    let path = "/api/models/numbers/predict";
    let rows = json!({"vectors": [{"columns": [1], "values": [1.0]}, {"columns": [], "values": []}], "k": 1});
    let found = post_json(&server, path, rows).await.fine().json();
    let best = &found["predictions"][0]["labels"][0];
    assert_eq!((&best["id"], &best["code"], &best["name"]), (&json!(1), &json!("1"), &json!("1")));
    assert_eq!(found["predictions"][1]["is_unknown"], true);
    for (vector, word) in [
        (json!({"columns": [2], "values": [1.0]}), "vectors[0]"),
        (json!({"columns": [1, 0], "values": [1.0, 1.0]}), "vectors[0]"),
        (json!({"columns": [0, 0], "values": [1.0, 1.0]}), "vectors[0]"),
        (json!({"columns": [0], "values": []}), "vectors[0]"),
        (json!({"columns": [0], "values": [1e300]}), ""),
        (json!({"columns": [-1], "values": [1.0]}), "whole number"),
        (json!({"columns": [0]}), "values"),
    ] {
        let detail = post_json(&server, path, json!({"vectors": [vector]})).await.problem(400);
        assert!(detail.contains(word), "{vector}: {detail}");
    }
    post_json(&server, path, json!({"texts": ["a"]})).await.problem(400);
}

#[tokio::test]
async fn wrong_requests_are_refused_with_what_is_wrong() {
    let server = serve(vec![("birds", birds())], options());
    let path = "/api/models/birds/predict";
    for (body, word) in [
        (json!({}), "texts"),
        (json!({"texts": ["a"], "vectors": []}), "either"),
        (json!({"text": "a"}), "unknown field `text`"),
        (json!({"texts": "a"}), "sequence"),
        (json!({"texts": ["a"], "k": 0}), "k: "),
        (json!({"texts": ["a"], "k": 1001}), "k: "),
        (json!({"texts": ["a"], "threshold": "high"}), "threshold"),
        (json!({"texts": ["a"], "threshold": "auto"}), "threshold"),
        (json!({"texts": ["a"], "threshold": []}), "threshold"),
        (json!({"texts": ["a"], "language": "xx"}), "language"),
        (json!({"texts": vec!["a"; 1001]}), "1000"),
    ] {
        let detail = post_json(&server, path, body).await.problem(400);
        assert!(detail.contains(word), "{detail}");
    }
    assert!(
        post_json(&server, "/api/models/x/predict", json!({"texts": []}))
            .await
            .problem(404)
            .contains("`x`")
    );
    get(&server, "/api/nothing").await.problem(404);
    assert_eq!(get(&server, path).await.header("allow"), "POST");
}

#[tokio::test]
async fn explanations_are_those_of_the_library() {
    let model = questions("grove", 1);
    let text = "Who lived in our house before the war?";
    let label = model.labels().find("house history").unwrap();
    let options_of = |labels| ExplainOptions { labels, ..ExplainOptions::default() };
    let expected = model.explain(text, &options_of(&[label]), &task()).unwrap();
    let server = serve(vec![("desk", model)], options());
    let path = "/api/models/desk/explain";
    for wanted in [json!(label), json!("house history")] {
        let found = post_json(&server, path, json!({"text": text, "label": wanted})).await.fine();
        assert_eq!(found.text(), serde_json::to_string(&expected).unwrap());
    }
    let best = post_json(&server, path, json!({"text": text, "k": 2})).await.fine().json();
    assert_eq!(best["labels"].as_array().unwrap().len(), 2);
    for (body, word) in [
        (json!({}), "either"),
        (json!({"text": text, "label": "no such thing"}), "label"),
        (json!({"text": text, "label": 1_000_000}), "label"),
        (json!({"text": text, "label": -1}), "label"),
        (json!({"text": text, "k": 0}), "k: "),
        (json!({"text": "a".repeat(100_001)}), "100000"),
    ] {
        let detail = post_json(&server, path, body).await.problem(400);
        assert!(detail.contains(word), "{detail}");
    }
}

#[tokio::test]
async fn labels_are_found_by_their_names_and_shown_with_what_is_known() {
    let server = serve(vec![("birds", birds())], options());
    let path = "/api/models/birds/labels";
    let found = get(&server, &format!("{path}?search=FOWL")).await.fine().json();
    assert_eq!(found["total"], 1);
    let birds = &found["labels"][0];
    assert_eq!(
        birds,
        &json!({"id": birds["id"], "code": "http://x/birds", "name": "birds", "count": 2})
    );
    let all = get(&server, &format!("{path}?limit=2&offset=1&language=fi")).await.fine().json();
    assert_eq!((&all["total"], all["labels"].as_array().unwrap().len()), (&json!(4), 2));
    let card = get(&server, &format!("{path}/{}", birds["id"])).await.fine().json();
    assert_eq!(
        card["names"],
        json!([
            {"language": "en", "name": "birds", "preferred": true},
            {"language": "en", "name": "fowl", "preferred": false},
            {"language": "fi", "name": "linnut", "preferred": true},
        ])
    );
    assert_eq!(card["broader"][0]["name"], "animals");
    assert!(card["terms"].as_array().unwrap().iter().any(|term| term["term"] == "owls"), "{card}");
    let first = &card["examples"][0];
    assert_eq!((&first["row"], card["examples"].as_array().unwrap().len()), (&json!(0), 2));
    assert!(first["terms"].as_array().unwrap().contains(&json!("owls")), "{first}");
    let animals = get(&server, &format!("{path}/{}", card["broader"][0]["id"])).await.json();
    let below: Vec<_> =
        animals["narrower"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(below, ["birds", "cats"]);
    get(&server, &format!("{path}/4")).await.problem(404);
    get(&server, &format!("{path}/x")).await.problem(400);
    get(&server, &format!("{path}?limit=1001")).await.problem(400);
    get(&server, &format!("{path}?limit=-1")).await.problem(400);
    get(&server, &format!("{path}?sort=x")).await.problem(400);
}

#[tokio::test]
async fn the_document_describes_every_call() {
    let server = serve(vec![("birds", birds())], options());
    let document = get(&server, "/api/openapi.json").await.fine().json();
    let paths = document["paths"].as_object().unwrap();
    for path in [
        "/api/models",
        "/api/models/{model}",
        "/api/models/{model}/predict",
        "/api/models/{model}/predict-stream",
        "/api/models/{model}/explain",
        "/api/models/{model}/labels",
        "/api/models/{model}/labels/{id}",
        "/v1/",
        "/v1/vocabs",
        "/v1/projects",
        "/v1/projects/{project_id}",
        "/v1/projects/{project_id}/suggest",
        "/v1/projects/{project_id}/suggest-batch",
        "/v1/projects/{project_id}/learn",
        "/v1/detect-language",
        "/health",
        "/ready",
        "/metrics",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    assert_eq!(paths.len(), 18);
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn pages_bring_all_they_need_and_are_sent_once() {
    let server = serve(vec![("birds", birds())], options());
    for (path, kind) in [
        ("/", "text/html"),
        ("/assets/main.js", "text/javascript"),
        ("/assets/style.css", "text/css"),
        ("/assets/mark.svg", "image/svg+xml"),
        ("/api/docs", "text/html"),
        ("/api/docs/docs.js", "text/javascript"),
        ("/api/docs/docs.css", "text/css"),
        ("/api/openapi.json", "application/json"),
    ] {
        let page = get(&server, path).await.fine();
        assert!(page.header("content-type").starts_with(kind), "{path}");
        assert!(
            page.header("content-security-policy")
                .starts_with("default-src 'none'; script-src 'self'")
        );
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        let elsewhere = page.text().replace("http://www.w3.org/", "");
        assert!(kind == "application/json" || !elsewhere.contains("http://"), "{path}");
        let tag = page.header("etag").to_owned();
        let request = Request::get(path).header("if-none-match", &tag).body(Body::empty()).unwrap();
        let again = ask(&server, request).await;
        assert_eq!((again.status.as_u16(), again.bytes.len()), (304, 0), "{path}");
    }
    for path in [
        "/assets/nothing.js",
        "/assets/../Cargo.toml",
        "/assets/..%2fCargo.toml",
        "/assets/%2e%2e/Cargo.toml",
    ] {
        get(&server, path).await.problem(404);
    }
}

#[tokio::test]
async fn figures_and_health_tell_what_is_served() {
    let server = serve(vec![("birds", birds())], options());
    post_json(&server, "/api/models/birds/predict", json!({"texts": ["owls", "cat"]})).await.fine();
    get(&server, "/nothing").await.problem(404);
    assert_eq!(get(&server, "/health").await.fine().json()["status"], "ok");
    let ready = get(&server, "/ready").await.fine().json();
    let id = &server.models()[0].1;
    assert_eq!(ready, json!({"ready": true, "models": [{"name": "birds", "id": id}]}));
    let figures = get(&server, "/metrics").await.fine().text();
    for line in [
        "labelwood_requests_total{method=\"POST\",route=\"/api/models/{model}/predict\",status=\"200\"} 1",
        "labelwood_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 1",
        "labelwood_rows_total{model=\"birds\"} 2",
        "labelwood_batch_rows_sum 2.0",
        "labelwood_requests_in_flight 1",
        "labelwood_model_stale{project=\"birds\"} 0",
        "labelwood_request_duration_seconds_count{route=\"/health\"} 1",
    ] {
        assert!(figures.lines().any(|it| it == line), "{line}\n{figures}");
    }
    assert!(figures.contains(&format!("id=\"{id}\"")) && figures.ends_with("# EOF\n"));
}

#[tokio::test]
async fn answers_carry_the_id_of_their_request() {
    let server = serve(vec![("birds", birds())], options());
    let request = Request::get("/health").header("x-request-id", "mine-1").body(Body::empty());
    assert_eq!(ask(&server, request.unwrap()).await.header("x-request-id"), "mine-1");
    let ids = [get(&server, "/health").await, get(&server, "/nothing").await];
    assert!(ids.iter().all(|it| it.header("x-request-id").len() > 16));
    assert_ne!(ids[0].header("x-request-id"), ids[1].header("x-request-id"));
}
