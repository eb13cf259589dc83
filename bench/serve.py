"""How many requests a second `labelwood serve` answers, beside Annif with its omikuji backend, and what explanations cost.

Writes docs/src/serving-speed.md. Needs wrk, and the sets debian-debtags and yso-finna-en-3plus in LABELWOOD_DATA; run it with
`make serving-speed`. Single texts of the test part are asked for over loopback by one thread of wrk, by default for 60
seconds each: of the default grove and of label trees, through both interfaces. Annif is asked the same under gunicorn
with two workers, in a virtual environment that is made for it. `--only explain` measures one of these again,
`--requests 1000000` counts whether memory grows. Models are trained once and kept under target/serve, with the figures.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).parent.parent
WORK = ROOT / "target" / "serve"
LABELWOOD = ROOT / "target" / "release" / "labelwood"
PAGE = ROOT / "docs" / "src" / "serving-speed.md"
DATA = pathlib.Path(os.environ.get("LABELWOOD_DATA", "."))
TAGS, TITLES = "debian-debtags", "yso-finna-en-3plus"
TEXTS = 2000
EXPLAINED = 1000

HEAD = """# How fast it answers

`make serving-speed` writes this page. Texts of the test part of debian-debtags, one in each request, are asked for over
loopback by one thread of [wrk](https://github.com/wg/wrk) with {connections} connections, for {seconds} seconds each, of models
that learned from its training part: the default grove, label trees alone (`--algorithm label-tree`), and Annif with its omikuji backend as
it is by default, under gunicorn with two workers. The machine has {processors} processors, and wrk runs on the same. Memory is what is
resident before and after.

| what is asked | requests a second | half within | 99 % within | errors | memory, MB |
|---|--:|--:|--:|--:|--:|
"""

EXPLAINING = """
One explanation after the other, of the five best labels of a title, by `POST /api/models/NAME/explain` of the default grove of
yso-finna-en-3plus (24,579 labels, with their names), of {asked:,} titles of its test part: {p50:.1f} ms of CPU time in the median,
{p99:.1f} ms or less for 99 %, {most:.1f} ms at most.
"""

NAMES = {
    "grove, /api": "default grove, `/api/models/NAME/predict`",
    "grove, /v1": "default grove, `/v1/projects/NAME/suggest`",
    "label-tree, /api": "label trees, `/api/models/NAME/predict`",
    "label-tree, /v1": "label trees, `/v1/projects/NAME/suggest`",
    "annif": "Annif, `/v1/projects/NAME/suggest`",
}

PROJECT = """[debtags]
name=debtags
language=en
backend=omikuji
analyzer=snowball(english)
vocab=debtags
"""

# Where the data that NLTK finds ends of sentences with cannot be had, Annif divides a text into words as one
# sentence, which is a little less work.
ONE_SENTENCE = """import functools
import nltk.tokenize
nltk.tokenize.word_tokenize = functools.partial(nltk.tokenize.word_tokenize, preserve_line=True)
"""

SCRIPT = """local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local at = %d
wrk.method = "POST"
wrk.headers["Content-Type"] = "%s"
request = function()
  at = at %% #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
"""


def lines(part: str, data: str = TAGS) -> list[list[str]]:
    """The rows of a part: text and labels."""
    text = subprocess.run(["zstdcat", DATA / data / f"{part}.tsv.zst"], check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in text.splitlines()]


def model(name: str, *flags: str, data: str = TAGS) -> pathlib.Path:
    """A model, trained when it is first asked for."""
    folder = WORK / name
    if not folder.exists():
        labels = ["--vocabulary", DATA / data / "labels.txt.zst"]
        subprocess.run([LABELWOOD, "train", DATA / data / "train.tsv.zst", "--model", folder, *labels, *flags], check=True)
    return folder


def bodies(form: bool) -> pathlib.Path:
    """A file with a request's body a line."""
    texts = [row[0] for row in lines("test")[:TEXTS]]
    path = WORK / ("forms.txt" if form else "bodies.txt")
    made = [urllib.parse.urlencode({"text": text, "limit": 5}) if form else json.dumps({"texts": [text]}) for text in texts]
    path.write_text("\n".join(made) + "\n")
    return path


def resident(pids: list[int]) -> float:
    """The memory of processes that is resident, in MB."""
    status = [pathlib.Path(f"/proc/{pid}/status").read_text() for pid in pids]
    return sum(int(re.search(r"VmRSS:\s+(\d+)", text)[1]) for text in status) / 1000


def cpu(pids: list[int]) -> dict[str, float]:
    """The CPU seconds of the threads of processes so far, by the names of the threads without their numbers."""
    spent: dict[str, float] = {}
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            name, _, figures = (task / "stat").read_text().partition("(")[2].rpartition(")")
            user, system = figures.split()[11:13]
            name = re.sub(r"-?\d+$", "", name)
            spent[name] = spent.get(name, 0) + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return spent


def load(url: str, form: bool, seconds: int, connections: int) -> dict:
    """What wrk measures."""
    script = WORK / "wrk.lua"
    kind = "application/x-www-form-urlencoded" if form else "application/json"
    script.write_text(SCRIPT % (bodies(form), 0, kind))
    command = ["wrk", "-t", "1", "-c", connections, "-d", f"{seconds}s", "--timeout", "30s", "--latency", "-s", script, url]
    output = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    unit = {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}

    def latency(share: str) -> float:
        number, of = re.search(rf"\s{share}%\s+([\d.]+)(us|ms|s|m)", output).groups()
        return float(number) * unit[of]

    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    errors = int(refused[1]) if refused else 0
    errors += sum(map(int, broken.groups())) if broken else 0
    return {
        "requests": int(re.search(r"(\d+) requests in", output)[1]),
        "per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]),
        "p50": latency("50"),
        "p99": latency("99"),
        "errors": errors,
    }


def wait_for(url: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=2).read()
            return
        except OSError:
            time.sleep(0.2)
    sys.exit(f"{url} does not answer")


def children(pid: int) -> list[int]:
    found = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, found)]


def measured(what: str, command: list, ready: str, url: str, form: bool, arguments: argparse.Namespace, **also) -> dict:
    """Starts a server, asks it, and ends it."""
    with subprocess.Popen([str(part) for part in command], **also) as process:
        try:
            wait_for(ready)
            load(url, form, min(5, arguments.seconds), arguments.connections)
            pids = children(process.pid)
            before, began = resident(pids), cpu(pids)
            found = load(url, form, arguments.seconds, arguments.connections)
            asked = found["requests"]
            while asked < arguments.requests:
                asked += load(url, form, arguments.seconds, arguments.connections)["requests"]
            spent = {name: 1e6 * (seconds - began.get(name, 0)) / asked for name, seconds in cpu(pids).items()}
            found |= {"requests": asked, "before": before, "after": resident(pids), "cpu": spent}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    print(f"{what:<34} {found['per_second']:>9.0f}/s  p50 {found['p50']:>7.2f} ms  p99 {found['p99']:>7.2f} ms  "
          f"errors {found['errors']}  {found['requests']} requests  memory {found['before']:.0f} -> {found['after']:.0f} MB", flush=True)
    shares = ", ".join(f"{name} {time:.0f}" for name, time in sorted(spent.items()) if time >= 1)
    print(f"{'':<34} CPU microseconds a request: {shares}", flush=True)
    return found


def annif(arguments: argparse.Namespace) -> dict:
    """Annif with its omikuji backend, with what omikuji learns by default."""
    place = WORK / "annif"
    python = place / "venv" / "bin"
    if not (python / "gunicorn").exists():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
        subprocess.run([python / "pip", "install", "--quiet", "annif[omikuji]", "gunicorn"], check=True)
    environment = dict(os.environ)
    check = "import nltk; nltk.download('punkt_tab'); nltk.data.find('tokenizers/punkt_tab')"
    has_sentences = subprocess.run([python / "python", "-c", check], capture_output=True).returncode == 0
    if not has_sentences:
        print("the data of NLTK cannot be had: Annif takes each text for one sentence")
        (place / "sitecustomize.py").write_text(ONE_SENTENCE)
        environment["PYTHONPATH"] = str(place)
    if not (place / "trained").exists():
        (place / "projects.cfg").write_text(PROJECT)
        rows = lines("train")
        names = sorted({name for row in rows for name in labels(row)})
        uri = {name: f"<http://example.org/{at}>" for at, name in enumerate(names)}
        with open(place / "labels.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["uri", "label_en"])
            writer.writerows((uri[name].strip("<>"), name) for name in names)
        texts = [f"{row[0]}\t{' '.join(uri[name] for name in labels(row))}\n" for row in rows if labels(row)]
        (place / "train.tsv").write_text("".join(texts))
        for step in [["load-vocab", "debtags", "labels.csv"], ["train", "debtags", "train.tsv"]]:
            subprocess.run([python / "annif", *step], cwd=place, env=environment, check=True)
        (place / "trained").touch()
    command = [python / "gunicorn", "annif:create_app()", "--workers", "2", "--worker-class", "uvicorn.workers.UvicornWorker",
               "--bind", "127.0.0.1:8097", "--timeout", "600", "--log-level", "error"]
    base = "http://127.0.0.1:8097/v1/projects/debtags"
    found = measured("Annif, omikuji, 2 workers", command, base, f"{base}/suggest", True, arguments, cwd=place, env=environment)
    return found | {"has_sentences": has_sentences}


def labels(row: list[str]) -> list[str]:
    """The labels of a row."""
    return [name for name in re.split(r"[ ,;]+", row[1].strip()) if name] if len(row) > 1 else []


def serving(name: str, folder: pathlib.Path) -> list:
    return [LABELWOOD, "serve", f"{name}={folder}", "--port", "8098", "--no-access-log", "--quiet"]


def explained() -> dict:
    """The CPU milliseconds of explanations, one after the other."""
    texts = [row[0] for row in lines("test", TITLES)[:EXPLAINED]]
    with subprocess.Popen([str(part) for part in serving("titles", model("titles", data=TITLES))]) as process:
        try:
            base = "http://127.0.0.1:8098"
            wait_for(f"{base}/ready")

            def spent() -> int:
                """The nanoseconds of all threads so far."""
                tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
                return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

            def took(text: str) -> float:
                began = spent()
                body, kind = json.dumps({"text": text}).encode(), {"Content-Type": "application/json"}
                request = urllib.request.Request(f"{base}/api/models/titles/explain", body, kind)
                urllib.request.urlopen(request, timeout=30).read()
                return (spent() - began) / 1e6

            for text in texts[:100]:
                took(text)
            times = sorted(map(took, texts))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    found = {"asked": len(times), "p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "most": times[-1]}
    print("CPU milliseconds of an explanation: " + ", ".join(f"{name} {figure:.1f}" for name, figure in found.items()), flush=True)
    return found


def page(found: dict) -> str:
    """All figures as a page of the guide."""
    text = HEAD.format(**found["how"])
    for name, what in NAMES.items():
        figures = found[name]
        text += f"| {what} | {figures['per_second']:,.0f} | {figures['p50']:.1f} ms | {figures['p99']:.1f} ms " \
                f"| {figures['errors']} | {figures['before']:.0f}, {figures['after']:.0f} |\n"
    grove, trees, other = (found[name]["per_second"] for name in ("grove, /v1", "label-tree, /v1", "annif"))
    text += f"\nThrough the same interface the grove answers {grove / other:.0f} times as many requests a second as Annif, " \
            f"and label trees alone, which omikuji's are like, {trees / other:.0f} times as many.\n"
    if not found["annif"]["has_sentences"]:
        text += "\nThe data by which NLTK finds the ends of sentences could not be had here: Annif took each text for one sentence, " \
                "which is a little less work.\n"
    return text + EXPLAINING.format(**found["explain"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="how long each is asked")
    parser.add_argument("--connections", type=int, default=16, help="how many requests are in flight")
    parser.add_argument("--requests", type=int, default=0, help="ask each for so many at least, to see whether memory grows")
    parser.add_argument("--only", choices=["grove", "label-tree", "annif", "explain"], help="measure this, and take the other figures as they are")
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    figures = WORK / "serve.json"
    found = json.loads(figures.read_text()) if figures.exists() else {}
    wanted = [arguments.only] if arguments.only else ["grove", "label-tree", "annif", "explain"]
    if wanted != ["explain"]:
        found["how"] = {"seconds": arguments.seconds, "connections": arguments.connections, "processors": os.cpu_count()}
    for name, flags in [("grove", []), ("label-tree", ["--algorithm", "label-tree"])]:
        base = "http://127.0.0.1:8098"
        for form, path in [(False, "/api/models/debtags/predict"), (True, "/v1/projects/debtags/suggest")]:
            if name in wanted:
                what = f"{name}, {'/v1' if form else '/api'}"
                found[what] = measured(what, serving("debtags", model(name, *flags)), f"{base}/ready", base + path, form, arguments)
    if "annif" in wanted:
        found["annif"] = annif(arguments)
    if "explain" in wanted:
        found["explain"] = explained()
    figures.write_text(json.dumps(found, indent=2) + "\n")
    if found.keys() >= {"how", "explain", *NAMES}:
        PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
