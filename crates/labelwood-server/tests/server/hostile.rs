//! Requests that are wrong on purpose: each is refused with a problem document, and the next good one is
//! answered.

use crate::harness::{Answer, Connection, Listening, birds, options, serve};
use fastrand::Rng;
use labelwood_server::Options;
use std::time::Duration;

/// How many requests there are.
const REQUESTS: u64 = 10_000;
/// The most bytes of a body here.
const MOST: usize = 4000;

const PREDICT: &str = "/api/models/birds/predict";
const EXPLAIN: &str = "/api/models/birds/explain";
const STREAM: &str = "/api/models/birds/predict-stream";
const SUGGEST: &str = "/v1/projects/birds/suggest";
const BATCH: &str = "/v1/projects/birds/suggest-batch";
const LEARN: &str = "/v1/projects/birds/learn";
const DETECT: &str = "/v1/detect-language";
const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// A request, and whether it may be right after all.
struct Wrong {
    bytes: Vec<u8>,
    may_be_right: bool,
    /// It is no HTTP: the connection may just end.
    is_no_http: bool,
}

fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn typed(path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    request("POST", path, &format!("Content-Type: {kind}\r\n"), body)
}

fn pick<'a, T: ?Sized>(random: &mut Rng, all: &[&'a T]) -> &'a T {
    all[random.usize(..all.len())]
}

/// A body of JSON that is right, with the path that takes it.
fn right(random: &mut Rng) -> (&'static str, &'static str) {
    let all = [
        (
            PREDICT,
            r#"{"texts":["owls and herons","a cat"],"k":3,"threshold":0.25,"language":"fi"}"#,
        ),
        (EXPLAIN, r#"{"text":"owls","label":"http://x/birds","k":2}"#),
        (BATCH, r#"{"documents":[{"text":"owls","document_id":"1"},{"text":"the cat"}]}"#),
        (DETECT, r#"{"text":"a quick brown fox","languages":["en","fi"]}"#),
    ];
    all[random.usize(..all.len())]
}

/// JSON of a type that no path takes.
fn wrong_json(random: &mut Rng) -> String {
    let number = random.i64(..);
    let deep = 1 + random.usize(..1500);
    match random.usize(..14) {
        0 => String::new(),
        1 => "null".into(),
        2 => number.to_string(),
        3 => "\"text\"".into(),
        4 => "[".repeat(deep),
        5 => "{\"texts\":".repeat(deep / 8),
        6 => format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
        7 => format!(
            "{{\"texts\":{number},\"text\":{number},\"documents\":{number},\"languages\":{number}}}"
        ),
        8 => {
            format!("{{\"texts\":[[{number}]],\"documents\":[[]],\"text\":[],\"languages\":{{}}}}")
        }
        9 => "{\"texts\":[\"a\"],\"k\":1e400,\"text\":{},\"documents\":{}}".into(),
        10 => format!("{{\"texts\":[\"a\"],\"k\":{},\"text\":null}}", -number.saturating_abs() - 1),
        11 => {
            "{\"texts\":[\"\\ud800\"],\"text\":\"\\ud800\",\"documents\":[{\"text\":\"\\udfff\"}]}"
                .into()
        }
        12 => "{\"texts\":[\"a\"],}".into(),
        _ => "{\"vectors\":[{\"columns\":[4294967296],\"values\":[NaN]}]}".into(),
    }
}

fn wrong(random: &mut Rng) -> Wrong {
    let paths = [PREDICT, EXPLAIN, BATCH, LEARN, DETECT];
    let sure = |bytes| Wrong { bytes, may_be_right: false, is_no_http: false };
    match random.usize(..16) {
        // The wrong shape.
        0..=2 => sure(typed(pick(random, &paths), JSON, wrong_json(random).as_bytes())),
        // Something that was right, with a byte changed, left out or put in between, or cut off.
        3..=5 => {
            let (path, body) = right(random);
            let mut body = body.as_bytes().to_vec();
            for _ in 0..1 + random.usize(..4) {
                if body.is_empty() {
                    break;
                }
                let at = random.usize(..body.len());
                match random.usize(..4) {
                    0 => body[at] = random.u8(..),
                    1 => drop(body.remove(at)),
                    2 => body.insert(at, random.u8(..)),
                    _ => body.truncate(at.max(1)),
                }
            }
            Wrong { bytes: typed(path, JSON, &body), may_be_right: true, is_no_http: false }
        }
        // Bytes that are no text.
        6 => {
            let mut body: Vec<u8> = (0..random.usize(1..200)).map(|_| random.u8(..)).collect();
            body[0] = 0xff;
            sure(typed(pick(random, &paths), JSON, &body))
        }
        // Another encoding.
        7 => {
            let (path, body) = right(random);
            let wide: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
            sure(typed(path, "application/json; charset=utf-16", &wide))
        }
        8 => {
            let (path, body) = right(random);
            let coding = pick(random, &["gzip", "br", "deflate", "zstd", "x"]);
            let headers = format!("Content-Type: {JSON}\r\nContent-Encoding: {coding}\r\n");
            sure(request("POST", path, &headers, body.as_bytes()))
        }
        // Another type.
        9 => {
            let (path, body) = right(random);
            let kind =
                pick(random, &["text/plain", "multipart/form-data", FORM, "", "application/jsonx"]);
            sure(typed(path, kind, body.as_bytes()))
        }
        // Too much.
        10 => {
            let body =
                format!("{{\"texts\":[\"{}\"]}}", "a".repeat(MOST + random.usize(..3 * MOST)));
            sure(typed(pick(random, &paths), JSON, body.as_bytes()))
        }
        11 => {
            let size = MOST + 1 + random.usize(..MOST);
            let head = format!(
                "POST {PREDICT} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n{size:x}\r\n"
            );
            sure([head.into_bytes(), vec![b' '; size], b"\r\n0\r\n\r\n".to_vec()].concat())
        }
        // Forms.
        12 => {
            let body = pick(
                random,
                &[
                    "",
                    "text",
                    "limit=1",
                    "text=%ff",
                    "text=a&limit=%00",
                    "text=a&threshold=inf",
                    "text=a&limit=99999999999",
                    "text=%c3%28&limit=1",
                    "&&&=",
                    "text=a&language=%ff",
                ],
            );
            // A name without a value is an empty text, and that is right.
            let may_be_right = body == "text";
            Wrong { bytes: typed(SUGGEST, FORM, body.as_bytes()), may_be_right, is_no_http: false }
        }
        // Queries, paths and methods.
        13 => {
            let path = pick(
                random,
                &[
                    "/api/models/birds/labels?limit=-1",
                    "/api/models/birds/labels?limit=1e3",
                    "/api/models/birds/labels?offset=99999999999999999999999",
                    "/api/models/birds/labels?search=%ff&what=1",
                    "/api/models/birds/labels/4294967296",
                    "/api/models/birds/labels/-1",
                    "/api/models/%ff",
                    "/api/models/..%2f..%2fetc%2fpasswd",
                    "/assets/..%2f..%2fCargo.toml",
                    "/v1/projects/%00",
                    "//",
                    "/api/models/birds/predict?x=%",
                ],
            );
            sure(request("GET", path, "", b""))
        }
        14 => {
            let method = pick(random, &["PUT", "DELETE", "PATCH", "TRACE", "BREW", "OPTIONS"]);
            let path = pick(random, &[PREDICT, STREAM, "/", "/health", "/v1/projects"]);
            sure(request(method, path, "", b""))
        }
        // No HTTP at all.
        _ => {
            let bytes = match random.usize(..5) {
                0 => (0..random.usize(1..300)).map(|_| random.u8(..)).chain(*b"\r\n\r\n").collect(),
                1 => b"GET / HTTP/1.1\r\nHost x\r\n\r\n".to_vec(),
                2 => b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"
                    .to_vec(),
                3 => b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\nhello".to_vec(),
                _ => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
            };
            Wrong { bytes, may_be_right: true, is_no_http: true }
        }
    }
}

/// Sends a wrong request and then a right one.
fn refused_and_answered(listening: &Listening, connection: &mut Connection, seed: u64) {
    let wrong = wrong(&mut Rng::with_seed(seed));
    let shown = || String::from_utf8_lossy(&wrong.bytes).chars().take(300).collect::<String>();
    // What is sent while the server closes may find nobody.
    let sent = connection.send(&wrong.bytes);
    let answer = connection.answer();
    match &answer {
        Some(answer) if wrong.is_no_http => {
            assert!(answer.status.is_client_error(), "seed {seed}: {answer:?}\n{}", shown());
        }
        Some(answer) if wrong.may_be_right && answer.status.is_success() => {}
        Some(answer) => {
            assert!(answer.status.is_client_error(), "seed {seed}: {answer:?}\n{}", shown());
            let detail = answer.problem(answer.status.as_u16());
            assert!(
                !detail.is_empty() && !detail.contains("/work") && !detail.contains("/root"),
                "{detail}"
            );
        }
        None => assert!(wrong.is_no_http, "seed {seed}: no answer, sent {sent:?}\n{}", shown()),
    }
    if wrong.is_no_http || answer.is_some_and(|it| it.header("connection") == "close") {
        *connection = listening.connect();
    }
    let good = |connection: &mut Connection| -> Option<Answer> {
        connection.post(PREDICT, JSON, b"{\"texts\":[\"owls\"],\"k\":1}")
    };
    // A connection whose request was not read to its end may be closed.
    let answer = good(connection).or_else(|| {
        *connection = listening.connect();
        good(connection)
    });
    let found = answer.unwrap_or_else(|| panic!("seed {seed}: not answered")).fine().json();
    assert_eq!(found["predictions"][0]["labels"][0]["code"], "http://x/birds", "seed {seed}");
}

#[test]
fn ten_thousand_wrong_requests_are_refused_and_the_right_ones_between_them_answered() {
    let options = Options { max_body: MOST, timeout: Duration::from_secs(10), ..options() };
    let server = serve(vec![("birds", birds())], options);
    let listening = Listening::start(&server);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let listening = &listening;
            scope.spawn(move || {
                let mut connection = listening.connect();
                for seed in (part..REQUESTS).step_by(4) {
                    refused_and_answered(listening, &mut connection, seed);
                }
            });
        }
    });
}
