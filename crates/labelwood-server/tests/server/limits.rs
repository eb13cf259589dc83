//! What clients may do, how much of it, and how long it may take.

use crate::harness::{
    Listening, ask, birds, get, options, post, post_form, post_json, questions, serve,
};
use axum::body::Body;
use axum::http::Request;
use labelwood_server::{Options, Server, StartError};
use serde_json::json;
use std::io::Read;
use std::time::{Duration, Instant};

const PREDICT: &str = "/api/models/birds/predict";

#[tokio::test]
async fn only_clients_with_a_key_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    std::fs::write(&keys, "catalogue 0123456789abcdef\n").unwrap();
    let server = serve(vec![("birds", birds())], Options { keys: Some(keys.clone()), ..options() });
    for path in ["/api/models", "/v1/projects", "/v1/", "/metrics", PREDICT] {
        let refused = get(&server, path).await;
        refused.problem(401);
        assert_eq!(refused.header("www-authenticate"), "Bearer");
    }
    for path in ["/", "/assets/main.js", "/api/docs", "/api/openapi.json", "/health", "/ready"] {
        get(&server, path).await.fine();
    }
    let with = |key: &str| {
        let request = Request::get("/api/models").header("authorization", format!("Bearer {key}"));
        request.body(Body::empty()).unwrap()
    };
    ask(&server, with("0123456789abcdef")).await.fine();
    ask(&server, with("0123456789abcdeX")).await.problem(401);

    std::fs::write(&keys, "another-key-of-ours\n").unwrap();
    server.reload();
    ask(&server, with("0123456789abcdef")).await.problem(401);
    ask(&server, with("another-key-of-ours")).await.fine();
    std::fs::write(&keys, "short\n").unwrap();
    server.reload();
    ask(&server, with("another-key-of-ours")).await.fine();
}

#[tokio::test]
async fn other_sites_are_let_in_only_if_they_are_named() {
    let preflight = |origin: &str| {
        let request = Request::options(PREDICT).header("origin", origin);
        let request = request.header("access-control-request-method", "POST");
        request
            .header("access-control-request-headers", "content-type")
            .body(Body::empty())
            .unwrap()
    };
    let allowed = async |cors: &[&str], origin: &str| {
        let cors = cors.iter().map(|&it| it.to_owned()).collect();
        let server = serve(vec![("birds", birds())], Options { cors, ..options() });
        ask(&server, preflight(origin)).await.header("access-control-allow-origin").to_owned()
    };
    assert_eq!(allowed(&[], "https://a.org").await, "");
    assert_eq!(allowed(&["*"], "https://a.org").await, "*");
    assert_eq!(allowed(&["https://a.org"], "https://a.org").await, "https://a.org");
    assert_eq!(allowed(&["https://a.org"], "https://b.org").await, "");
}

#[tokio::test]
async fn bodies_and_batches_have_a_size_that_is_said() {
    let options = Options { max_body: 1000, max_documents: 3, ..options() };
    let server = serve(vec![("birds", birds())], options);
    let fits = json!({"texts": ["a".repeat(900)]});
    post_json(&server, PREDICT, fits).await.fine();
    let large = json!({"texts": ["a".repeat(1000)]});
    assert!(post_json(&server, PREDICT, large.clone()).await.problem(413).contains("1000 bytes"));
    // The same without a length that says it before.
    let chunks =
        Body::new(http_body_util::StreamBody::new(OneByOne(large.to_string().into_bytes())));
    post(&server, PREDICT, "application/json", chunks).await.problem(413);
    post_form(&server, "/v1/projects/birds/suggest", &format!("text={}", "a".repeat(1000)))
        .await
        .problem(413);
    post_json(&server, PREDICT, json!({"texts": ["a", "a", "a"]})).await.fine();
    assert!(
        post_json(&server, PREDICT, json!({"texts": ["a", "a", "a", "a"]}))
            .await
            .problem(400)
            .contains('3')
    );
}

/// A body that comes byte by byte.
struct OneByOne(Vec<u8>);

impl futures_core::Stream for OneByOne {
    type Item = Result<hyper::body::Frame<bytes::Bytes>, std::convert::Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let next = if self.0.is_empty() { None } else { Some(self.0.remove(0)) };
        std::task::Poll::Ready(next.map(|byte| Ok(hyper::body::Frame::data(vec![byte].into()))))
    }
}

#[tokio::test]
async fn too_many_at_once_are_told_to_come_back() {
    let options = Options { max_concurrent: 2, threads: 1, ..Options::default() };
    let server = serve(vec![("birds", questions("grove", 1))], options);
    let texts = vec!["Who lived in our house before the war? ".repeat(50); 300];
    let mut asked = Vec::new();
    for _ in 0..12 {
        let (server, texts) = (server.clone(), texts.clone());
        asked.push(tokio::spawn(async move {
            post_json(&server, PREDICT, json!({"texts": texts})).await
        }));
    }
    let (mut fine, mut busy) = (0, 0);
    for asked in asked {
        let answer = asked.await.unwrap();
        if answer.status == 503 {
            answer.problem(503);
            assert_eq!(answer.header("retry-after"), "1");
            busy += 1;
        } else {
            answer.fine();
            fine += 1;
        }
    }
    assert!(fine >= 2 && busy >= 1, "{fine} answered, {busy} refused");
    post_json(&server, PREDICT, json!({"texts": ["a"]})).await.fine();
}

#[test]
fn slow_bodies_are_given_up_and_others_are_answered() {
    let options = Options { timeout: Duration::from_millis(300), ..options() };
    let server = serve(vec![("birds", birds())], options);
    let listening = Listening::start(&server);
    let mut slow: Vec<_> = (0..20).map(|_| listening.connect()).collect();
    for connection in &mut slow {
        let head = format!(
            "POST {PREDICT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{{"
        );
        connection.send(head.as_bytes()).unwrap();
    }
    let fine = listening.connect().post(PREDICT, "application/json", b"{\"texts\":[\"owls\"]}");
    fine.unwrap().fine();
    for connection in &mut slow {
        // A byte now and then does not help.
        let _ = connection.send(b" ");
        connection.answer().unwrap().problem(408);
    }
}

#[test]
fn a_head_that_is_too_long_or_no_http_is_refused() {
    let server = serve(vec![("birds", birds())], options());
    let listening = Listening::start(&server);
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(100_000));
    for request in [long.as_str(), "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\0\0\0\r\n\r\n"]
    {
        let mut connection = listening.connect();
        let _ = connection.send(request.as_bytes());
        if let Some(answer) = connection.answer() {
            assert!(answer.status.is_client_error(), "{answer:?}");
        }
        let mut rest = Vec::new();
        let _ = connection.stream.read_to_end(&mut rest);
    }
    listening.connect().get("/health").unwrap().fine();
}

#[test]
fn a_server_that_is_to_stop_answers_what_is_in_flight() {
    let server =
        serve(vec![("birds", questions("grove", 1))], Options { threads: 1, ..Options::default() });
    let mut listening = Listening::start(&server);
    let texts = vec!["Who lived in our house before the war? ".repeat(50); 200];
    let body = json!({"texts": texts}).to_string();
    let length = body.len();
    let mut busy: Vec<_> = (0..3).map(|_| listening.connect()).collect();
    let mut idle = listening.connect();
    idle.get("/health").unwrap().fine();
    for connection in &mut busy {
        let head = format!(
            "POST {PREDICT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        connection.send(head.as_bytes()).unwrap();
        connection.send(&body.as_bytes()[..length - 1]).unwrap();
    }
    // The server has begun to read what it will answer.
    let began = Instant::now();
    while !listening
        .connect()
        .get("/metrics")
        .unwrap()
        .text()
        .contains("labelwood_requests_in_flight 4")
    {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    listening.ask_to_stop();
    for connection in &mut busy {
        connection.send(&body.as_bytes()[length - 1..]).unwrap();
    }
    for connection in &mut busy {
        let answer = connection.answer().unwrap().fine().json();
        assert_eq!(answer["predictions"].as_array().unwrap().len(), 200);
    }
    assert!(idle.answer().is_none(), "an idle connection is closed");
    let address = listening.address;
    listening.wait();
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn odd_names_and_names_that_are_taken_are_refused() {
    let named = |names: &[&str]| {
        let models = names.iter().map(|&name| (name.to_owned(), birds())).collect();
        match Server::of_models(models, options()) {
            Err(StartError::Refused(reason)) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert!(named(&["a", "a"]).contains("two models are called `a`"));
    for name in ["", "a b", "a/b", "..", "ä", &"a".repeat(65)] {
        assert!(named(&[name]).contains("cannot be the name of a model"), "{name}");
    }
    assert_eq!(named(&[]), "there is no model to serve");
}
