"""A small stand-in for `labelwood serve`, with the same answers for the same questions, for tests of the page.

It knows a few labels, each with words that speak for it or against it. What a test wants to go wrong is set on the server:
`busy` (how many calls are answered with 503), `key` (which key it wants), `slow` (seconds that each call takes),
`odd` (an answer that is no JSON), and `calls` has what was asked. `python stand_in.py 8000` serves it to look at.
"""

import json
import math
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = Path(__file__).resolve().parents[2] / "page"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HOSTILE = '<img src=x onerror="document.title=1">'
CODE = "http://vocabulary.example/"

# Name, its words with their weights, broader label, names in other languages, rows of training.
LABELS = [
    ("local history", {"house": 2.1, "lived": 1.3, "town": 1.9, "built": 1.2, "war": 0.8, "mill": 1.4}, None, {"de": "Heimatkunde", "ar": "تاريخ محلي"}, 41),
    ("genealogy", {"lived": 1.6, "family": 2.4, "grandmother": 1.9, "born": 1.8, "house": 0.4}, "local history", {"de": "Genealogie", "ar": "علم الأنساب"}, 23),
    ("historic buildings", {"house": 1.7, "built": 2.0, "mill": 1.5, "church": 1.9}, "local history", {"de": "Baudenkmäler"}, 12),
    ("maps", {"map": 3.0, "mill": 0.6, "town": 0.7, "old": 0.4}, None, {"de": "Karten", "ar": "خرائط"}, 19),
    ("World War, 1939–1945", {"war": 2.6, "before": 0.3, "mill": -0.7}, None, {"de": "Zweiter Weltkrieg"}, 17),
    ("fiction", {"novel": 2.8, "translation": 1.0, "read": 1.1, "house": -0.6, "war": 0.5}, None, {"de": "Belletristik", "ar": "رواية"}, 88),
    ("children's books", {"children": 2.5, "picture": 1.7, "read": 1.0, "silly": 1.2}, None, {"de": "Kinderbücher"}, 56),
    ("picture books", {"picture": 2.6, "children": 1.3}, "children's books", {"de": "Bilderbücher"}, 20),
    ("languages", {"translation": 2.2, "arabic": 1.5, "language": 2.5}, None, {"de": "Sprachen", "ar": "لغات"}, 30),
    ("Arabic literature", {"القصة": 2.0, "كتاب": 1.8, "مكتبة": 1.2, "arabic": 2.0}, "languages", {"ar": "أدب عربي"}, 7),
    ("census records", {"lived": 0.9, "before": 0.5, "born": 1.1}, "genealogy", {"de": "Volkszählungslisten"}, 5),
    ("gardens", {"garden": 3.0, "house": 0.2}, None, {"de": "Gärten"}, 9),
    (HOSTILE, {"onerror": 3.0, "img": 2.0}, None, {}, 1),
] + [(f"place names {number}", {"places": 0.1 * number}, "maps", {}, number % 4) for number in range(1, 60)]

WORD = re.compile(r"\w+")


class Labels:
    """The labels of a model, their names, and what they say of a text."""

    def __init__(self, language=None):
        self.language = language

    def name(self, number, language=None):
        name, _, _, names, _ = LABELS[number]
        return names.get(language, name)

    def brief(self, number, language=None):
        return {"id": number, "code": f"{CODE}{number}", "name": self.name(number, language)}

    def marks(self, number, text):
        words = LABELS[number][1]
        found = [(match, words.get(match.group().lower())) for match in WORD.finditer(text)]
        return [{"start": match.start(), "end": match.end(), "term": match.group().lower(), "weight": weight} for match, weight in found if weight]

    def score(self, number, text):
        total = sum(mark["weight"] for mark in self.marks(number, text))
        return 1 / (1 + math.exp(2.6 - 1.1 * total))

    def ranked(self, text):
        return sorted(range(len(LABELS)), key=lambda number: (-self.score(number, text), number))

    def predict(self, text, k, threshold, language):
        unknown = not any(self.marks(number, text) for number in range(len(LABELS)))
        chosen = [] if unknown else self.ranked(text)[:k]
        labels = [{**self.brief(number, language), "score": self.score(number, text)} for number in chosen]
        return {"labels": [label for label in labels if label["score"] >= threshold], "is_unknown": unknown}

    def explain(self, text, number, language):
        marks = self.marks(number, text)
        name = self.name(number)
        found = text.lower().find(name)
        pairs = [{"start": a["start"], "end": b["end"], "term": f"{a['term']} {b['term']}", "weight": 0.3} for a, b in zip(marks, marks[1:]) if b["start"] - a["end"] < 6]
        terms = [{"feature": at, "term": mark["term"], "contribution": mark["weight"]} for at, mark in enumerate(marks)]
        parts = [
            {"part": "label-tree", "kind": "linear", "score": self.score(number, text), "weight": 0.6, "terms": terms, "bias": -2.6, "trees": 1,
             "steps": [{"tree": 0, "level": 0, "labels": 16, "children": 5, "margin": 1.1, "bias": -2.6, "log_probability": -0.3, "terms": []}]},
            {"part": "craftml", "kind": "forest", "score": 0.4, "trees": 8, "voting": 3, "leaves": [
                {"tree": 0, "depth": 4, "weight": 0.5, "rows": 9, "having": 5, "labels": [{**self.brief(3, language), "rows": 4}]}]},
            {"part": "neighbours", "kind": "neighbours", "score": 0.61, "weight": 0.3, "neighbours": 10, "having": 4, "rows": [
                {"row": 3, "similarity": 0.71, "has_label": True, "labels": [self.brief(number, language)], "terms": terms[:2]},
                {"row": 9, "similarity": 0.33, "has_label": False, "labels": [], "words": [HOSTILE], "terms": []},
                {"row": 11, "similarity": 0.2, "share": 0.1, "has_label": False, "labels": [], "words": ["mill", "river"], "terms": terms[:1]}]},
            {"part": "names", "kind": "names", "score": 1.0, "found": 7, "in_one_piece": True, "names": [{"name": name, "start": found, "end": found + len(name)}]}
            if found >= 0 else {"part": "names", "kind": "none", "score": 0.0},
            {"part": "ranker", "kind": "ranker", "score": self.score(number, text), "log_odds": 1.2, "terms": [{"feature": 2, "term": None, "contribution": 0.4}],
             "rest": {"count": 5, "contribution": -0.1}},
        ]
        how = [{"what": "blend of the parts", "value": 0.74}, {"what": "the ranker's trees", "value": 0.9}, {"what": "probability", "value": self.score(number, text)}]
        rank = self.ranked(text).index(number) + 1
        unknown = [{"start": match.start(), "end": match.end(), "term": match.group().lower()} for match in WORD.finditer(text) if match.group() == "hers"]
        return {"text": text, "unknown": unknown, "labels": [{"label": self.brief(number, language), "score": self.score(number, text), "is_probability": True,
                                          "rank": rank, "marks": marks + pairs, "parts": parts, "how": how}]}

    def search(self, words, limit, offset, language):
        found = []
        for number, (name, _, _, names, count) in enumerate(LABELS):
            places = [other.lower().find(words.lower()) for other in [name, *names.values()] if words.lower() in other.lower()]
            if places:
                found.append((min(places), number, count))
        found.sort(key=lambda entry: (entry[0], entry[1]) if words else (0, entry[1]))
        labels = [{**self.brief(number, language), "count": count} for _, number, count in found[offset : offset + limit]]
        return {"total": len(found), "labels": labels}

    def card(self, number, language):
        name, words, broader, names, count = LABELS[number]
        numbers = {label[0]: at for at, label in enumerate(LABELS)}
        return {
            **self.brief(number, language),
            "names": [{"language": "en", "name": name, "preferred": True}] + [{"language": code, "name": other, "preferred": True} for code, other in names.items()]
            + ([{"language": "en", "name": "regional history", "preferred": False}] if number == 0 else []),
            "broader": [self.brief(numbers[broader], language)] if broader else [],
            "narrower": [self.brief(at, language) for at, label in enumerate(LABELS) if label[2] == name],
            "count": count,
            "terms": [{"term": word, "weight": weight} for word, weight in sorted(words.items(), key=lambda entry: -abs(entry[1]))],
            "examples": [{"row": 3, "terms": ["house", "lived", HOSTILE]}, {"row": 12, "terms": []}],
        }


def model(name, **more):
    return {"name": name, "algorithm": "grove", "labels": len(LABELS), "rows": 436, "features": 726, "reads_text": True,
            "languages": ["en", "de", "ar"], "language": "en", "threshold": 0.31, "is_probability": True, "id": "0123456789abcdef"} | more


class Problem(Exception):
    """An answer that is not what was asked for."""

    def __init__(self, status, detail, headers=None):
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.answer()

    do_POST = do_GET

    def answer(self):
        address = urlsplit(self.path)
        path = [unquote(part) for part in address.path.split("/")[1:]]
        query = {name: values[-1] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            if path[0] == "api":
                self.refuse()
                self.server.calls.append((address.path, query, body.decode()))
                self.api(path[1:], query, body)
            else:
                self.file(path)
        except Problem as problem:
            document = {"type": "about:blank", "title": "refused", "status": problem.status, "detail": problem.detail}
            self.send(json.dumps(document), "application/problem+json", problem.status, problem.headers)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def refuse(self):
        server = self.server
        if server.slow:
            time.sleep(server.slow)
        if server.key and self.headers.get("Authorization") != f"Bearer {server.key}":
            raise Problem(401, "a key is needed", {"WWW-Authenticate": "Bearer"})
        if server.busy > 0:
            server.busy -= 1
            raise Problem(503, "too many requests at once", {"Retry-After": "1"})

    def file(self, path):
        if path == ["favicon.ico"]:
            raise Problem(404, "no such file")
        name = "index.html" if path == [""] else path[1] if path[0] == "assets" and len(path) == 2 else None
        found = PAGE / name if name and "/" not in name else None
        if found is None or not found.is_file():
            raise Problem(404, "no such file")
        self.send(found.read_bytes(), TYPES[found.suffix])

    def api(self, path, query, body):
        server = self.server
        if path == ["models"]:
            return self.send(server.odd or json.dumps({"models": server.models}))
        about = next((about for about in server.models if about["name"] == path[1]), None) if len(path) > 1 else None
        if about is None:
            raise Problem(404, "there is no such model")
        labels, language = Labels(), query.get("language")
        match path[2:]:
            case ["predict"]:
                asked = json.loads(body)
                predictions = [labels.predict(text, asked["k"], asked["threshold"], asked.get("language")) for text in asked["texts"]]
                if not about["is_probability"]:
                    for label in predictions[0]["labels"]:
                        label["score"] *= 37
                return self.send(json.dumps({"predictions": predictions}))
            case ["predict-stream"]:
                return self.stream(labels, body.decode().splitlines(), int(query["k"]), float(query["threshold"]), language)
            case ["explain"]:
                asked = json.loads(body)
                return self.send(json.dumps(labels.explain(asked["text"], asked["label"], asked.get("language"))))
            case ["labels"]:
                return self.send(json.dumps(labels.search(query["search"], int(query["limit"]), int(query.get("offset", 0)), language)))
            case ["labels", number] if number.isdigit() and int(number) < len(LABELS):
                return self.send(json.dumps(labels.card(int(number), language)))
        raise Problem(404, "there is no such label")

    def stream(self, labels, lines, k, threshold, language):
        self.start(200, "application/x-ndjson", {"Transfer-Encoding": "chunked"})
        for line in lines:
            row = json.loads(line)
            if "unreadable" in row["text"]:
                answer = {"id": row["id"], "error": {"status": 422, "title": "too long", "detail": "the text is too long"}}
            else:
                answer = {"id": row["id"], **labels.predict(row["text"], k, threshold, language)}
            piece = json.dumps(answer).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            time.sleep(self.server.slow_row)
        self.wfile.write(b"0\r\n\r\n")

    def start(self, status, kind, headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def send(self, content, kind="application/json", status=200, headers=None):
        content = content.encode() if isinstance(content, str) else content
        self.start(status, kind, {"Content-Length": str(len(content)), **(headers or {})})
        self.wfile.write(content)


class StandIn(ThreadingHTTPServer):
    """The server; `address` is that of its page."""

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}/"
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self):
        self.models = [model("desk"), model("scores", is_probability=False, threshold=None, languages=[]), model("vectors", reads_text=False)]
        self.busy, self.slow, self.slow_row, self.key, self.odd, self.calls = 0, 0, 0, None, None, []


if __name__ == "__main__":
    print(StandIn(int(sys.argv[1])).address, flush=True)
    threading.Event().wait()
