//! Models that are replaced while they are asked.

use crate::harness::{Listening, get, options, questions, serve, shown, task};
use labelwood::model::Model;
use labelwood::sparse::Query;
use labelwood_server::Server;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TEXT: &str = "Who lived in our house before the war?";

/// What a model says of the text, as the server shows it.
fn said(model: &Model) -> String {
    let found = model.predict_texts(&[TEXT], Query::top(5), &task()).unwrap();
    let labels = found.row(0).iter().map(|best| {
        let name = model.labels().name(best.id).unwrap();
        json!({"id": best.id, "code": name, "name": name, "score": shown(best.score)})
    });
    json!({"predictions": [{"labels": labels.collect::<Value>(), "is_unknown": false}]}).to_string()
}

/// Puts a model into the place of another: as training does it, or by renaming folders, between which there
/// is none for a moment.
fn replace(model: &Model, folder: &Path, by_renaming: bool) {
    if !by_renaming {
        return model.stored().save(folder, true).unwrap();
    }
    let [new, old] = ["new", "old"].map(|name| folder.with_file_name(name));
    model.stored().save(&new, false).unwrap();
    std::fs::rename(folder, &old).unwrap();
    std::fs::rename(&new, folder).unwrap();
    std::fs::remove_dir_all(&old).unwrap();
}

#[test]
fn a_model_is_replaced_100_times_without_a_failed_request() {
    let models = [questions("one-vs-rest", 2), questions("one-vs-rest", 3)];
    let expected: HashSet<Value> =
        models.iter().map(|model| serde_json::from_str(&said(model)).unwrap()).collect();
    assert_eq!(expected.len(), 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("desk");
    models[0].stored().save(&path, false).unwrap();
    let server = Server::open(&[("desk".into(), path.clone())], options(), None).unwrap();
    let listening = Listening::start(&server);
    let (ended, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let seen = std::thread::scope(|scope| {
        let ask = || {
            let mut connection = listening.connect();
            let mut seen = HashSet::new();
            let body = json!({"texts": [TEXT]}).to_string();
            while !ended.load(Ordering::Relaxed) {
                let path = "/api/models/desk/predict";
                let answer = connection.post(path, "application/json", body.as_bytes());
                seen.insert(answer.expect("the connection stays").fine().json());
                asked.fetch_add(1, Ordering::Relaxed);
            }
            seen
        };
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        for round in 1..=100 {
            let before = server.models()[0].1.clone();
            replace(&models[round % 2], &path, round % 4 < 2);
            server.reload();
            assert_ne!(server.models()[0].1, before, "round {round}");
            // Let the clients see it.
            let enough = asked.load(Ordering::Relaxed) + 4;
            while asked.load(Ordering::Relaxed) < enough {
                std::thread::yield_now();
            }
        }
        ended.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<HashSet<_>>()
    });
    assert!(seen == expected, "{seen:?}");
}

/// Waits until a model is said to be in trouble, or out of it.
async fn wait_for_trouble(server: &Server, wanted: bool) {
    let began = Instant::now();
    loop {
        let ready = get(server, "/ready").await.fine().json();
        if ready["models"][0]["refused_since"].is_string() == wanted {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{ready}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn a_model_that_is_one_file_is_exchanged_for_a_newer_one() {
    let models = [questions("one-vs-rest", 2), questions("one-vs-rest", 3)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("desk.labelwood");
    models[0].stored().save(&path, false).unwrap();
    let server = Server::open(&[("desk".into(), path.clone())], options(), None).unwrap();
    let before = server.models()[0].1.clone();
    models[1].stored().save(&path, true).unwrap();
    server.reload();
    assert_ne!(server.models()[0].1, before);
    assert_eq!(server.models()[0].1, models[1].manifest().model_id().to_string());
}

#[tokio::test]
async fn a_broken_model_leaves_the_old_one_in_its_place() {
    let models = [questions("one-vs-rest", 2), questions("one-vs-rest", 3)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("desk");
    models[0].stored().save(&path, false).unwrap();
    let server = Server::open(&[("desk".into(), path.clone())], options(), None).unwrap();
    let first = server.models();
    let good = std::fs::read(path.join("manifest.json")).unwrap();
    std::fs::write(path.join("manifest.json"), b"{}").unwrap();
    server.reload();
    assert_eq!(server.models(), first);
    wait_for_trouble(&server, true).await;
    let ready = get(&server, "/ready").await.text();
    assert!(!ready.contains(folder.path().to_str().unwrap()), "{ready}");
    let figures = get(&server, "/metrics").await.text();
    assert!(figures.contains("labelwood_model_stale{project=\"desk\"} 1"));
    assert!(figures.contains("labelwood_reloads_total{model=\"desk\",outcome=\"refused\"} 1"));
    std::fs::write(path.join("manifest.json"), good).unwrap();
    server.reload();
    wait_for_trouble(&server, false).await;
    replace(&models[1], &path, false);
    server.reload();
    assert_ne!(server.models(), first);
}

#[test]
fn a_server_notices_a_newer_model_by_itself() {
    let models = [questions("one-vs-rest", 2), questions("one-vs-rest", 3)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("desk");
    models[0].stored().save(&path, false).unwrap();
    let server = Server::open(&[("desk".into(), path.clone())], options(), None).unwrap();
    let first = server.models();
    let _listening = Listening::start(&server);
    replace(&models[1], &path, true);
    let began = Instant::now();
    while server.models() == first {
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn models_in_memory_have_nothing_to_reload() {
    let server = serve(vec![("desk", questions("one-vs-rest", 4))], options());
    let first = server.models();
    server.reload();
    assert_eq!(server.models(), first);
}
