//! Annif's interface: its shapes, statuses and limits.

use crate::harness::{birds, get, options, post, post_form, post_json, questions, serve, vectors};
use labelwood::store::{Load, Options as Opening};
use labelwood_server::{Options, Server};
use serde_json::{Value, json};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test]
async fn projects_and_vocabularies_have_annifs_shape() {
    let server = serve(vec![("birds", birds()), ("desk", questions("one-vs-rest", 4))], options());
    for path in ["/v1", "/v1/"] {
        let info = get(&server, path).await.fine().json();
        assert_eq!(keys(&info), ["title", "version"]);
    }
    let vocabularies = get(&server, "/v1/vocabs").await.fine().json();
    assert_eq!(
        vocabularies["vocabs"][0],
        json!({"vocab_id": "birds", "languages": ["en", "fi"], "size": 4, "loaded": true})
    );
    let projects = get(&server, "/v1/projects").await.fine().json();
    assert_eq!(projects["projects"].as_array().unwrap().len(), 2);
    let project = get(&server, "/v1/projects/birds").await.fine().json();
    assert_eq!(projects["projects"][0], project);
    let expected = [
        "backend",
        "is_trained",
        "language",
        "modification_time",
        "name",
        "project_id",
        "vocab",
        "vocab_language",
    ];
    assert_eq!(keys(&project), expected);
    assert_eq!(project["backend"], json!({"backend_id": "craftml"}));
    assert_eq!(project["vocab"], vocabularies["vocabs"][0]);
    let time = project["modification_time"].as_str().unwrap();
    assert!(time.len() == 20 && time.ends_with('Z'), "{time}");
    assert!(get(&server, "/v1/projects/nothing").await.problem(404).contains("`nothing`"));
}

#[tokio::test]
async fn a_form_with_a_text_gets_the_best_subjects() {
    let server = serve(vec![("birds", birds())], options());
    let path = "/v1/projects/birds/suggest";
    let found = post_form(&server, path, "text=The+owls+of+%C3%A4land&metadata_title=x").await;
    let found = found.fine().json();
    assert_eq!(keys(&found), ["results"]);
    let best = &found["results"][0];
    assert_eq!(keys(best), ["label", "notation", "score", "uri"]);
    assert_eq!(
        (&best["uri"], &best["label"], &best["notation"]),
        (&json!("http://x/birds"), &json!("birds"), &Value::Null)
    );
    let score = best["score"].as_f64().unwrap();
    assert!(score > 0.0 && score <= 1.0);
    let finnish = post_form(&server, path, "text=owls&language=fi&limit=1").await.fine().json();
    assert_eq!(finnish["results"].as_array().unwrap().len(), 1);
    assert_eq!(finnish["results"][0]["label"], "linnut");
    assert_eq!(post_form(&server, path, "text=owls&limit=0").await.json(), json!({"results": []}));
    let high = post_form(&server, path, "text=owls&threshold=1.0").await.fine().json();
    assert!(high["results"].as_array().unwrap().iter().all(|it| it["score"] == 1.0));
    assert_eq!(post_form(&server, path, "text=zzzz").await.json(), json!({"results": []}));
    assert_eq!(post_form(&server, path, "text=").await.json(), json!({"results": []}));
}

#[tokio::test]
async fn wrong_forms_are_refused_as_annif_refuses_them() {
    let server = serve(vec![("birds", birds()), ("numbers", vectors())], options());
    let path = "/v1/projects/birds/suggest";
    for (body, word) in [
        ("limit=3", "text"),
        ("", "text"),
        ("text=a&limit=x", "limit"),
        ("text=a&limit=-1", "limit"),
        ("text=a&threshold=2", "threshold"),
        ("text=a&threshold=-0.1", "threshold"),
        ("text=a&threshold=NaN", "threshold"),
        ("text=a&language=xx", "language"),
        ("text=%ff", "UTF-8"),
    ] {
        let detail = post_form(&server, path, body).await.problem(400);
        assert!(detail.contains(word), "{body}: {detail}");
    }
    post(&server, path, "application/json", "{\"text\":\"owls\"}").await.problem(415);
    post_form(&server, "/v1/projects/nothing/suggest", "text=a").await.problem(404);
    post_form(&server, "/v1/projects/numbers/suggest", "text=a").await.problem(503);
    get(&server, path).await.problem(405);
}

#[tokio::test]
async fn batches_keep_their_ids_and_have_32_documents_at_most() {
    let server = serve(vec![("birds", birds())], options());
    let path = "/v1/projects/birds/suggest-batch";
    let documents = json!({"documents": [
        {"text": "owls", "document_id": "doc-1", "metadata": {"title": "x"}},
        {"text": "the old atlas"},
    ]});
    let found = post_json(&server, &format!("{path}?limit=1"), documents).await.fine().json();
    assert_eq!(keys(&found[0]), ["document_id", "results"]);
    assert_eq!(
        [&found[0]["document_id"], &found[0]["results"][0]["uri"]],
        [&json!("doc-1"), &json!("http://x/birds")]
    );
    let alone =
        post_form(&server, "/v1/projects/birds/suggest", "text=the+old+atlas&limit=1").await;
    assert_eq!(found[1]["results"], alone.fine().json()["results"]);
    assert_eq!(found[1]["document_id"], Value::Null);
    let many = |count: usize| json!({"documents": vec![json!({"text": "owls"}); count]});
    assert_eq!(post_json(&server, path, many(32)).await.json().as_array().unwrap().len(), 32);
    assert!(post_json(&server, path, many(33)).await.problem(400).contains("32"));
    assert_eq!(post_json(&server, path, many(0)).await.json(), json!([]));
    for body in
        [json!({}), json!({"documents": [{}]}), json!([]), json!({"documents": [{"text": 1}]})]
    {
        post_json(&server, path, body).await.problem(400);
    }
    post_json(&server, &format!("{path}?limit=x"), many(1)).await.problem(400);
}

#[tokio::test]
async fn languages_are_told_apart() {
    let server = serve(vec![("birds", birds())], options());
    let text = "A quick brown fox jumped over the lazy dog, and the dog did not mind.";
    let body = json!({"text": text, "languages": ["fi", "en"]});
    let found = post_json(&server, "/v1/detect-language", body).await.fine().json();
    assert_eq!(found["results"][0]["language"], "en");
    assert_eq!(found["results"].as_array().unwrap().len(), 3);
    let body = json!({"text": text, "languages": ["xx"]});
    post_json(&server, "/v1/detect-language", body).await.problem(400);
}

#[tokio::test]
async fn models_learn_only_where_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("birds");
    birds().stored().save(&path, false).unwrap();
    let models = [("birds".to_owned(), path)];
    let documents = json!([
        {"text": "owls on maps", "subjects": [{"uri": "http://x/maps", "label": "maps"}]},
        {"text": "owls", "subjects": [{"uri": "http://x/nothing"}]},
        {"text": "nothing at all"},
    ]);
    let learn = "/v1/projects/birds/learn";
    let closed = Server::open(&models, options(), None).unwrap();
    post_json(&closed, learn, documents.clone()).await.problem(403);
    post_json(&closed, "/v1/projects/none/learn", documents.clone()).await.problem(404);

    let load = Opening { load: Load::Copy, verify: true };
    let open = Options { allow_learn: true, load, ..options() };
    let open = Server::open(&models, open, None).unwrap();
    let rows = async || get(&open, "/api/models/birds").await.fine().json()["rows"].clone();
    assert_eq!(rows().await, 6);
    let learned = post_json(&open, learn, documents.clone()).await;
    assert_eq!((learned.status.as_u16(), learned.bytes.len()), (204, 0), "{}", learned.text());
    assert_eq!(rows().await, 7, "one document has a label that is known");
    let nothing = post_json(&open, learn, json!([])).await;
    assert_eq!(nothing.status, 204);
    assert_eq!(rows().await, 7);
    post_json(&open, learn, json!({"text": "x"})).await.problem(400);
    let again = post_json(&open, learn, documents).await;
    assert_eq!(again.status, 204);
    assert_eq!(rows().await, 8, "the same rows once more");
}

#[tokio::test]
async fn a_list_is_not_taken_for_an_object() {
    let server = serve(vec![("birds", birds())], options());
    for (path, body) in [
        ("/v1/projects/birds/suggest-batch", json!([[]])),
        ("/v1/projects/birds/suggest-batch", json!({"documents": [["owls"]]})),
        ("/v1/detect-language", json!(["owls", ["en"]])),
        ("/api/models/birds/predict", json!([["owls"]])),
        ("/api/models/birds/predict", json!({"vectors": [[[0], [1.0]]]})),
        ("/api/models/birds/explain", json!(["owls"])),
    ] {
        let detail = post_json(&server, path, body).await.problem(400);
        assert!(detail.contains("object"), "{path}: {detail}");
    }
}
