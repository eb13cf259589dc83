"""The service as other people's programs see it: schemathesis, Annif's client and curl."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TEXT = "Who lived in our house before the war?"


def test_schemathesis_finds_nothing(server, tmp_path):
    pytest.importorskip("schemathesis", reason="schemathesis cannot be installed here")
    run = subprocess.run(
        [Path(sys.executable).with_name("schemathesis"), "--config-file", HERE / "schemathesis.toml", "run", f"{server}/api/openapi.json", "--seed", "1",
         "--max-examples", "15", "--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all",
         "--warnings", "off", "--continue-on-failure", "--request-timeout", "30"],
        env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE)},
        cwd=tmp_path, capture_output=True, text=True,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr


def test_annifs_client_works_unchanged(server):
    annif_client = pytest.importorskip("annif_client", reason="Annif's client cannot be installed here")
    client = annif_client.AnnifClient(api_base=f"{server}/v1/")
    assert client.api_info["title"] == "Annif REST API"
    assert [project["project_id"] for project in client.projects] == ["demo"]
    project = client.get_project("demo")
    assert (project["language"], project["is_trained"]) == ("en", True)
    results = client.suggest("demo", TEXT, limit=2, threshold=0.2)
    assert [result["label"] for result in results] == ["local history", "house history"]
    assert set(results[0]) == {"uri", "label", "notation", "score"}
    documents = [{"document_id": "doc-0", "text": TEXT}, {"text": "Recipes for jam"}]
    batch = client.suggest_batch("demo", documents, limit=2)
    assert [document["document_id"] for document in batch] == ["doc-0", None]
    assert batch[0]["results"] == client.suggest("demo", TEXT, limit=2)
    found = client.detect_language("The quick brown fox jumped over the lazy dog", ["en", "fi", "sv"])
    assert found["results"][0]["language"] == "en"
    with pytest.raises(ValueError, match="nothing"):
        client.get_project("nothing")
    with pytest.raises(ValueError, match="nothing"):
        client.suggest("nothing", TEXT)
    rows = model_facts(server)["rows"]
    learned = client.learn("demo", [{"text": "Who built the mill?", "subjects": [{"uri": "local history"}]}])
    assert learned.status_code == 204
    assert model_facts(server)["rows"] == rows + 1


def curl(*arguments):
    run = subprocess.run(["curl", "--silent", "--show-error", *arguments], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def model_facts(server):
    return curl(f"{server}/api/models/demo")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_lines_for_curl_of_annifs_users_work(server):
    projects = curl("-X", "GET", f"{server}/v1/projects", "-H", "accept: application/json")["projects"]
    assert projects[0]["backend"]["backend_id"] == "grove"
    form = ["--data-urlencode", f"text={TEXT}", "--data", "limit=1&threshold=0"]
    suggested = curl("-X", "POST", *form, f"{server}/v1/projects/demo/suggest")
    assert suggested["results"][0]["label"] == "local history"
    body = json.dumps({"documents": [{"text": TEXT, "document_id": "1"}]})
    batch = curl("-X", "POST", f"{server}/v1/projects/demo/suggest-batch?limit=1", "-H", "Content-Type: application/json", "-d", body)
    assert batch == [{**suggested, "document_id": "1"}]
    lines = subprocess.run(
        ["curl", "--silent", "-X", "POST", f"{server}/api/models/demo/predict-stream?k=1", "-H",
         "Content-Type: application/x-ndjson", "-T", "-"],
        input="".join(json.dumps({"id": at, "text": TEXT}) + "\n" for at in range(500)),
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(500))
