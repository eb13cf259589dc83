"""The page with `labelwood serve` itself, where LABELWOOD_COMMAND says which; a model of the questions that come with it."""

import os
import re
import subprocess
import threading

import pytest
from conftest import Visitor
from playwright.sync_api import expect

KEY = "0123456789abcdef0123"
QUESTION = "Who lived in our house before the war?"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    command = os.environ.get("LABELWOOD_COMMAND")
    if command is None:
        pytest.skip("LABELWOOD_COMMAND does not say where labelwood is")
    folder = tmp_path_factory.mktemp("models")

    def run(*arguments):
        subprocess.run([command, *arguments], cwd=folder, check=True, capture_output=True)

    run("demo", "--write-corpus", "questions", "--to", "csv")
    run("train", "questions/train.csv", "--text-column", "question", "--label-column", "subjects", "--id-column", "number", "--model", "desk", "--keep-rows", "--quiet")
    (folder / "keys.txt").write_text(f"page {KEY}\n")
    server = subprocess.Popen([command, "serve", "desk", "other=desk", "--port", "0", "--no-access-log", "--api-keys", "keys.txt", "--max-body", "20KB"],
                              cwd=folder, stderr=subprocess.PIPE, text=True)
    address = None
    for line in server.stderr:
        if found := re.search(r"listening on (http://\S+/)", line):
            address = found.group(1)
            break
    threading.Thread(target=server.stderr.read, daemon=True).start()
    assert address is not None
    yield folder, address
    server.terminate()
    assert server.wait(30) == 0


@pytest.fixture
def page(browser, served):
    visitor = Visitor(browser, served[1])
    page = visitor.open()
    page.fill("#key", KEY)
    page.keyboard.press("Enter")
    page.wait_for_selector("nav a[aria-current]")
    yield page
    for context in visitor.contexts:
        context.close()
    assert visitor.wrong == []


def test_a_question_gets_labels_and_says_why(page):
    page.fill("#text", QUESTION)
    page.keyboard.press("Control+Enter")
    names = page.locator(".suggestion > .name")
    expect(names.first).to_have_text("local history")
    names.first.click()
    page.wait_for_selector(".inset .balance, .inset .trouble")
    assert "house" in page.locator(".marked mark.for").all_inner_texts()
    for summary in page.locator(".inset summary").all():
        summary.click()
    assert page.locator("[role=alert]:visible").count() == 0


def test_a_table_comes_back_with_suggestions(page, served):
    page.click("nav >> text=Spreadsheet")
    page.set_input_files("#file", served[0] / "questions" / "test.csv")
    assert page.is_checked("text=question")
    page.click(".run .main")
    expect(page.locator(".outcome")).to_contain_text("Done", timeout=60_000)
    with page.expect_download() as download:
        page.click(".run >> text=Download")
    before = (served[0] / "questions" / "test.csv").read_text().splitlines()
    after = download.value.path().read_text().splitlines()
    assert after[0] == before[0] + ",suggestions,scores"
    assert all(new.startswith(old + ",") for old, new in zip(before, after, strict=True))


def test_the_vocabulary_is_searched_and_shows_cards(page):
    page.click("nav >> text=Vocabulary")
    page.fill("#search", "HISTORY")
    page.click(".vocabulary >> text=local history")
    expect(page.locator(".card h2")).to_have_text("local history")
    expect(page.locator(".card")).to_contain_text("training row")
    expect(page.locator(".card .balance li").first).to_be_visible()
    expect(page.locator(".card .rows li").first).to_contain_text(re.compile(r"^row \d+ \w+ · \w+"))
    page.click("nav >> text=One text")
    page.fill("#add", "histo")
    expect(page.locator("[role=option]").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".accepted-list li")).to_have_count(1)


def test_a_refusal_of_the_server_is_told(page):
    page.fill("#text", "word " * 5_000)
    page.click("text=Suggest labels")
    expect(page.locator(".suggested [role=alert]")).to_contain_text("That did not work")
