//! Lines in, lines out.

use crate::harness::{Listening, options, post, questions, serve, task};
use labelwood::data::corpus;
use labelwood::sparse::Query;
use labelwood_server::Options;
use serde_json::{Value, json};

const PATH: &str = "/api/models/desk/predict-stream";
const NDJSON: &str = "application/x-ndjson";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn lines_are_answered_in_their_order() {
    let model = questions("label-tree", 1);
    let texts: Vec<&str> = corpus::test().map(|(text, _)| text).collect();
    let texts: Vec<&str> = texts.iter().copied().cycle().take(1000).collect();
    let expected = model.predict_texts(&texts, Query::top(2), &task()).unwrap();
    let server = serve(vec![("desk", model)], options());
    let body: String = (0..)
        .zip(&texts)
        .map(|(id, text)| format!("{}\n", json!({"id": [id], "text": text, "title": "x"})))
        .collect();
    let found = post(&server, &format!("{PATH}?k=2"), NDJSON, body).await.fine();
    assert_eq!(found.header("content-type"), NDJSON);
    let found = lines(&found.text());
    assert_eq!(found.len(), texts.len());
    for (row, line) in found.iter().enumerate() {
        assert_eq!(line["id"], json!([row]));
        let ids: Vec<u32> = line["labels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_u64().unwrap() as u32)
            .collect();
        assert_eq!(ids, expected.row(row).iter().map(|best| best.id).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_bad_line_is_answered_by_what_is_wrong_with_it() {
    let options = Options { max_body: 100, ..options() };
    let server = serve(vec![("desk", questions("label-tree", 4))], options);
    let long = format!("{{\"text\":\"{}\"}}", "a ".repeat(5000));
    let body = format!(
        "{{\"id\":1,\"text\":\"old maps\"}}\n\n  \nnonsense\n{long}\n{{\"text\":\"zzz\"}}\r\n{{\"id\":2}}\n{{\"id\":\"last\",\"text\":\"a\"}}"
    );
    let found = lines(&post(&server, PATH, NDJSON, body).await.fine().text());
    assert_eq!(found.len(), 6);
    assert!(found[0]["id"] == 1 && !found[0]["labels"].as_array().unwrap().is_empty());
    assert_eq!([&found[1]["error"]["status"], &found[2]["error"]["status"]], [400, 413]);
    assert_eq!(found[3], json!({"id": null, "labels": [], "is_unknown": true}));
    assert_eq!(found[4]["error"]["status"], 400);
    assert_eq!(found[5]["id"], "last");
    assert!(found[5]["error"].is_null() && found[1]["labels"].is_null());
    assert!(post(&server, PATH, NDJSON, "").await.fine().text().is_empty());
}

#[tokio::test]
async fn wrong_streams_are_refused_at_once() {
    let server = serve(vec![("desk", questions("label-tree", 4))], options());
    post(&server, PATH, "application/json", "{}").await.problem(415);
    post(&server, "/api/models/x/predict-stream", NDJSON, "").await.problem(404);
    for query in ["k=0", "threshold=x", "threshold=auto", "language=xx", "what=1"] {
        post(&server, &format!("{PATH}?{query}"), NDJSON, "").await.problem(400);
    }
}

#[test]
fn answers_come_while_documents_are_still_to_come() {
    let server = serve(vec![("desk", questions("label-tree", 4))], options());
    let listening = Listening::start(&server);
    let mut connection = listening.connect();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: {NDJSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    connection.send(head.as_bytes()).unwrap();
    let mut seen = String::new();
    for id in 0..3 {
        let line = format!("{{\"id\":{id},\"text\":\"old maps\"}}\n");
        connection.send(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()).unwrap();
        while !seen.contains(&format!("\"id\":{id},")) {
            let mut bytes = [0; 4096];
            let count = std::io::Read::read(&mut connection.stream, &mut bytes).unwrap();
            assert!(count > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }
    connection.send(b"0\r\n\r\n").unwrap();
}
