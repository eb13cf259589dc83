"""The view of one text: suggestions, why, decisions, and what is done with accepted labels."""

import csv
import io
import json

from conftest import TEXT
from playwright.sync_api import expect
from stand_in import CODE, HOSTILE


def names(page):
    return page.locator(".suggestion > .name").all_inner_texts()


def said(page):
    return page.locator("#said").inner_text().strip()


def accepted(page):
    return page.locator(".accepted-list a").all_inner_texts()


def kept(page, form):
    """The file of accepted labels."""
    page.select_option("#form", form)
    with page.expect_download() as download:
        page.click(".give >> text=Download")
    return download.value.suggested_filename, download.value.path().read_bytes().decode()


def test_suggestions_have_bars_two_digits_and_a_threshold(visitor):
    page = visitor.ask()
    assert names(page)[:2] == ["local history", "genealogy"]
    assert page.locator(".suggestion > .number").all_inner_texts()[0] == ">0.99"
    below = page.locator(".suggestion.below > .number").all_inner_texts()
    assert below and all(float(number) < 0.31 for number in below)
    bar = page.locator(".suggestion >> nth=3").locator(".filled").bounding_box()
    place = page.locator(".suggestion >> nth=3").locator(".place").bounding_box()
    number = float(page.locator(".suggestion >> nth=3").locator("> .number").inner_text())
    assert abs(bar["width"] / place["width"] - number) < 0.01
    assert page.locator("#threshold").get_attribute("aria-valuetext") == "0.31"
    assert "10 suggestions" in said(page)


def test_the_threshold_moves_by_keys_and_the_line_with_it(visitor):
    page = visitor.ask()
    page.focus("#threshold")
    page.keyboard.press("End")
    assert page.locator(".suggestion:not(.below)").count() == 0
    page.keyboard.press("Home")
    assert page.locator(".suggestion.below").count() == 0
    for _ in range(50):
        page.keyboard.press("ArrowRight")
    assert page.locator(".thresholds output").inner_text() == "0.50"
    assert page.evaluate("document.querySelector('.suggestions').style.getPropertyValue('--threshold')") == "50%"


def test_the_threshold_of_a_model_without_one_is_one_half_and_of_scores_none(visitor, server):
    server.models[0]["threshold"] = None
    assert visitor.ask().locator(".thresholds output").inner_text() == "0.50"
    page = visitor.ask(fragment="#model=scores")
    assert page.locator(".suggestion.below").count() == 0
    assert page.locator(".suggestion > .number").first.inner_text() == "37"
    assert page.locator(".suggestion .filled").first.evaluate("(bar) => bar.style.inlineSize") == "100%"


def test_pasting_a_text_is_enough(visitor):
    page = visitor.open()
    page.evaluate("(text) => navigator.clipboard.writeText(text)", TEXT)
    page.focus("#text")
    page.keyboard.press("Control+V")
    page.wait_for_selector(".suggestion")
    assert names(page)[0] == "local history"


def test_more_labels_are_listed_when_asked_for(visitor):
    page = visitor.ask()
    page.select_option(".size select", "20")
    expect(page.locator(".suggestion")).to_have_count(20)


def test_a_changed_text_is_told_and_asked_again(visitor):
    page = visitor.ask()
    assert page.locator(".stale").is_hidden()
    page.fill("#text", "A map of the town")
    assert page.locator(".stale").is_visible()
    page.click("text=Suggest again")
    expect(page.locator(".suggestion > .name").first).to_have_text("maps")
    assert page.locator(".stale").is_hidden()


def test_a_text_without_known_words_is_told(visitor):
    page = visitor.open()
    page.fill("#text", "zzz yyy")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".ranking .hint")).to_contain_text("None of the words")


def test_a_label_says_why_and_marks_its_words(visitor):
    page = visitor.ask()
    page.click("text=World War, 1939–1945")
    page.wait_for_selector(".inset .balance")
    assert page.locator("#text").is_hidden()
    assert page.locator(".marked").inner_text() == TEXT
    assert page.locator(".marked mark.for").all_inner_texts() == ["before", " the ", "war"]
    assert page.locator(".marked mark.against").all_inner_texts() == ["mill"]
    assert page.locator(".inset .balance").first.locator("li").first.inner_text().split() == ["war", "+2.6"]
    page.hover(".inset .balance li[data-term=war]")
    assert page.locator(".marked mark.lit").all_inner_texts() == ["war"]
    page.click("text=What “neighbours” says")
    expect(page.locator(".inset .rows")).to_contain_text("likeness 0.71")
    expect(page.locator(".inset .rows")).to_contain_text("row 4 · shares before · war")
    expect(page.locator(".inset .rows")).to_contain_text("row 12 · mill · river")
    page.click("text=What “craftml” says")
    forest = page.locator("#why-4 details", has_text="craftml")
    for sentence in ("3 of 8 trees lead", "a leaf of 9 rows, of which 5 have it", "frequent there: maps"):
        expect(forest).to_contain_text(sentence)
    expect(page.locator("#why-4")).to_contain_text("Not known to the model: hers")
    page.click("text=Edit the text")
    assert page.locator(".marked").is_hidden()
    assert page.locator(".inset:visible").count() == 0
    expect(page.locator("#text")).to_be_focused()


def test_one_explanation_is_open_at_a_time_and_asked_for_once(visitor, server):
    page = visitor.ask()
    buttons = page.locator(".suggestion > .name")
    for at in (0, 1, 0):
        buttons.nth(at).click()
        page.wait_for_selector(f"#why-{at} .balance")
        assert page.locator(".inset:visible").count() == 1
        assert buttons.nth(at).get_attribute("aria-expanded") == "true"
    assert sum(path.endswith("/explain") for path, _, _ in server.calls) == 2


def test_an_explanation_with_hardly_anything_in_it_is_shown(visitor):
    page = visitor.ask()
    answer = {"labels": [{"score": 0.5, "rank": None, "parts": [{"part": "grove", "terms": [{"feature": 3, "contribution": 1}]}], "how": ["as it is"]}]}
    page.route("**/explain", lambda route: route.fulfill(json=answer))
    page.click(".suggestion > .name >> nth=0")
    expect(page.locator("#why-0")).to_contain_text("No single word")
    page.unroute("**/explain")
    page.route("**/explain", lambda route: route.fulfill(json={}))
    page.click(".suggestion > .name >> nth=1")
    expect(page.locator("#why-1")).to_contain_text("No single word")


def test_labels_are_accepted_rejected_and_taken_back(visitor):
    page = visitor.ask()
    page.click("[aria-label='Accept genealogy']")
    page.click("[aria-label='Accept local history']")
    page.click("[aria-label='Reject maps']")
    assert accepted(page) == ["genealogy", "local history"]
    assert page.locator("[aria-label='Reject maps']").get_attribute("aria-pressed") == "true"
    assert said(page) == "maps: rejected."
    page.click("[aria-label='Remove genealogy']")
    assert accepted(page) == ["local history"]
    expect(page.locator("[aria-label='Remove local history']")).to_be_focused()
    page.click("[aria-label='Accept local history']")
    assert accepted(page) == []


def test_all_above_the_threshold_are_accepted_but_the_rejected(visitor):
    page = visitor.ask()
    above = page.locator(".suggestion:not(.below) > .name").all_inner_texts()
    page.click("[aria-label='Reject genealogy']")
    page.click("text=above the threshold")
    assert accepted(page) == [name for name in above if name != "genealogy"]


def test_accepted_labels_are_copied_and_kept_in_every_form(visitor):
    page = visitor.ask()
    page.click("[aria-label^='Accept World War']")
    page.fill("#add", "garden")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("Enter")
    assert accepted(page) == ["World War, 1939–1945", "gardens"]
    assert kept(page, "codes") == ("labels.txt", f"{CODE}4\n{CODE}11\n")
    assert kept(page, "names") == ("labels.txt", "World War, 1939–1945\ngardens\n")
    name, text = kept(page, "csv")
    rows = list(csv.reader(io.StringIO(text)))
    assert name == "labels.csv" and rows[0] == ["code", "name", "score"]
    assert rows[1][:2] == [f"{CODE}4", "World War, 1939–1945"] and rows[2] == [f"{CODE}11", "gardens", ""]
    name, text = kept(page, "json")
    assert name == "labels.json" and [label["name"] for label in json.loads(text)] == ["World War, 1939–1945", "gardens"]
    page.select_option("#form", "names")
    page.click(".give >> text=Copy")
    expect(page.locator("#said")).to_have_text("2 labels copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "World War, 1939–1945\ngardens\n"


def test_copying_works_where_the_browser_has_no_clipboard_for_pages(visitor):
    page = visitor.ask()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.click("[aria-label='Accept maps']")
    page.click(".give >> text=Copy")
    expect(page.locator("#said")).to_have_text("1 label copied.")
    assert page.evaluate("navigator.clipboard.readText()") == f"{CODE}3\n"


def test_the_next_text_starts_anew(visitor):
    page = visitor.ask()
    page.click("[aria-label='Accept maps']")
    page.click("text=Next text")
    assert page.input_value("#text") == "" and accepted(page) == [] and names(page) == []
    expect(page.locator("#text")).to_be_focused()


def test_decisions_and_the_text_stay_when_the_view_or_the_model_changes(visitor):
    page = visitor.ask()
    page.click("[aria-label='Accept maps']")
    page.click("nav >> text=Vocabulary")
    page.click("nav >> text=One text")
    assert page.input_value("#text") == TEXT and accepted(page) == ["maps"]
    page.select_option("#model", "scores")
    expect(page.locator(".suggestion > .number").first).to_have_text("37")
    assert accepted(page) == ["maps"]
    assert page.locator("[aria-label='Accept maps']").get_attribute("aria-pressed") == "true"


def test_names_come_in_the_chosen_language(visitor):
    page = visitor.ask()
    page.select_option("#language", "de")
    expect(page.locator(".suggestion > .name").first).to_have_text("Heimatkunde")
    assert "language=de" in page.url
    page.select_option("#language", "")
    expect(page.locator(".suggestion > .name").first).to_have_text("local history")


def test_everything_can_be_done_by_keys(visitor):
    page = visitor.open()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type(TEXT)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".suggestion > .name").first).to_be_focused()
    page.keyboard.press("a")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.keyboard.press("End")
    expect(page.locator(".suggestion > .name").last).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_selector(".inset .balance")
    page.keyboard.press("Escape")
    assert page.locator(".inset:visible").count() == 0
    expect(page.locator(".suggestion > .name").first).to_be_focused()
    assert accepted(page) == ["local history"]
    assert page.locator(".rejected > .name").all_inner_texts() == ["genealogy"]
    page.keyboard.press("/")
    page.keyboard.type("place")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")
    active = page.locator("#add").get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    assert len(accepted(page)) == 2
    page.keyboard.type("zzz")
    expect(page.locator("[role=listbox]")).to_have_text("No label has this in its name.")
    page.keyboard.press("Escape")
    assert page.locator("[role=listbox]").is_hidden()


def test_help_on_keys_opens_closes_and_switches_them_off(visitor):
    page = visitor.ask()
    page.focus(".suggestion > .name >> nth=0")
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.uncheck("dialog input")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator(".suggestion > .name").first).to_be_focused()
    page.keyboard.press("a")
    page.keyboard.press("?")
    page.keyboard.press("/")
    assert accepted(page) == [] and page.locator("dialog").count() == 0
    page.keyboard.press("ArrowDown")
    expect(page.locator(".suggestion > .name").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#text")).to_be_focused()


def test_hostile_names_and_texts_stay_text(visitor):
    page = visitor.ask(HOSTILE + " house")
    title = page.title()
    assert names(page)[0] == HOSTILE
    page.click(".decide .accept >> nth=0")
    page.click(".suggestion > .name >> nth=0")
    page.wait_for_selector(".inset .balance")
    for summary in page.locator(".inset summary").all():
        summary.click()
    assert HOSTILE in page.locator(".marked").inner_text() and HOSTILE in page.locator(".inset .rows").inner_text()
    assert accepted(page) == [HOSTILE]
    page.click("text=Card of this label")
    page.wait_for_selector(".card h2")
    assert page.locator(".card h2").inner_text() == HOSTILE
    page.fill("#search", HOSTILE)
    expect(page.locator(".vocabulary li")).to_have_count(1)
    assert page.locator("main img").count() == 0
    assert page.evaluate("document.title") != "1" and title != "1"


def test_a_model_of_vectors_says_that_it_reads_no_texts(visitor):
    page = visitor.open("#model=vectors")
    expect(page.locator(".suggested")).to_contain_text("trained on vectors")
    assert page.locator("text=Suggest labels").is_disabled()
    page.click("nav >> text=Spreadsheet")
    expect(page.locator(".spreadsheet")).to_contain_text("trained on vectors")
