"""The vocabulary, addresses, trouble with the server, and what holds for the whole page."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import TEXT
from playwright.sync_api import expect

ARABIC = "أبحث عن كتاب: القصة في مكتبة"


def test_the_vocabulary_is_searched_and_shows_cards(visitor):
    page = visitor.open("#view=labels")
    expect(page.locator(".vocabulary li")).to_have_count(50)
    page.click("text=Show more")
    expect(page.locator(".vocabulary li")).to_have_count(72)
    expect(page.locator(".vocabulary a").nth(50)).to_be_focused()
    page.fill("#search", "hist")
    expect(page.locator(".vocabulary a")).to_have_text(["historic buildings", "local history"])
    page.click("text=local history")
    expect(page.locator(".card h2")).to_have_text("local history")
    expect(page.locator(".card h2")).to_be_focused()
    assert page.locator(".vocabulary a[aria-current]").inner_text() == "local history"
    card = page.locator(".card")
    expect(card).to_contain_text("given to 41 training rows")
    expect(card.locator(".names")).to_contain_text("Heimatkunde")
    expect(card.locator(".balance li").first).to_contain_text("house")
    expect(card.locator(".rows li").first).to_contain_text("row 4 house · lived · <img")
    expect(card.locator(".rows li").last).to_contain_text("row 13 texts are not kept")
    card.locator("text=genealogy").click()
    expect(page.locator(".card h2")).to_have_text("genealogy")
    expect(page.locator(".card .links").first).to_have_text("local history")
    page.go_back()
    expect(page.locator(".card h2")).to_have_text("local history")
    page.fill("#search", "no such")
    expect(page.locator(".finder .hint")).to_contain_text("No label has “no such”")


def test_a_label_is_accepted_from_its_card(visitor):
    page = visitor.open("#view=labels&label=3")
    page.click("text=Accept it for the text")
    page.click("nav >> text=One text")
    assert page.locator(".accepted-list a").all_inner_texts() == ["maps"]


def test_an_address_leads_to_the_model_the_view_and_the_label(visitor):
    page = visitor.open("#model=scores&view=labels&label=4&search=war")
    expect(page.locator(".card h2")).to_have_text("World War, 1939–1945")
    assert page.input_value("#search") == "war" and page.input_value("#model") == "scores"
    assert page.title() == "Vocabulary – scores – labelwood"
    page.click("nav >> text=Spreadsheet")
    assert page.url.endswith("#model=scores&view=sheet")
    expect(page.locator("#sheet-title")).to_be_focused()
    page.go_back()
    expect(page.locator(".card h2")).to_be_visible()


def test_an_address_of_a_model_that_is_gone_says_so(visitor):
    page = visitor.open("#model=gone&view=labels")
    expect(page.locator(".notice")).to_have_text("There is no model “gone” here. This is “desk”.")


def test_a_label_that_is_gone_says_so(visitor):
    page = visitor.open("#view=labels&label=999")
    expect(page.locator(".card [role=alert]")).to_contain_text("there is no such label")


def test_a_server_without_models_says_so(visitor, server):
    server.models = []
    page = visitor.browser.new_page()
    page.goto(server.address)
    expect(page.locator(".notice")).to_contain_text("no model yet")
    page.close()


def test_a_key_is_asked_for_until_it_is_right_and_kept_for_the_tab(visitor, server):
    server.key = "secret"
    page = visitor.open()
    expect(page.locator("dialog")).to_contain_text("asks for a key")
    page.fill("#key", "wrong")
    page.keyboard.press("Enter")
    expect(page.locator("dialog .wrong")).to_be_visible()
    page.fill("#key", "secret")
    page.keyboard.press("Enter")
    page.wait_for_selector("nav a[aria-current]")
    page.reload()
    page.wait_for_selector("nav a[aria-current]")
    assert page.locator("dialog").count() == 0
    assert page.evaluate("JSON.stringify({...localStorage})") == "{}"


def test_without_a_key_the_page_says_so_and_asks_again(visitor, server):
    server.key = "secret"
    page = visitor.open()
    page.keyboard.press("Escape")
    expect(page.locator(".notice [role=alert]")).to_contain_text("Without a key")
    page.click("text=Try again")
    page.fill("#key", "secret")
    page.click("text=Use it")
    page.wait_for_selector("nav a[aria-current]")


def test_a_busy_server_is_asked_again_after_the_time_it_says(visitor, server):
    page = visitor.open()
    page.fill("#text", TEXT)
    server.busy = 2
    page.click("text=Suggest labels")
    expect(page.locator(".busy")).to_contain_text("The next try is in 1 second.")
    page.click("text=Try now")
    page.wait_for_selector(".suggestion")
    assert server.busy == 0


def test_a_slow_server_is_waited_for(visitor, server):
    page = visitor.open()
    page.fill("#text", TEXT)
    server.slow = 1
    page.click("text=Suggest labels")
    expect(page.locator(".asking")).to_have_text("Asking the model …")
    page.wait_for_selector(".suggestion")
    assert page.locator(".asking").count() == 0


def test_a_server_that_is_gone_or_odd_is_told_and_can_be_tried_again(visitor, server):
    page = visitor.open()
    page.fill("#text", TEXT)
    page.route("**/predict", lambda route: route.abort())
    page.click("text=Suggest labels")
    expect(page.locator(".suggested [role=alert]")).to_contain_text("The server does not answer")
    page.unroute("**/predict")
    page.route("**/predict", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
    page.click("text=Try again")
    expect(page.locator(".suggested [role=alert]")).to_contain_text("cannot be read (502)")
    page.unroute("**/predict")
    page.click("text=Try again")
    page.wait_for_selector(".suggestion")
    server.odd = "<html>"
    assert page.locator(".suggested [role=alert]").count() == 0
    page = visitor.open()
    expect(page.locator(".notice [role=alert]")).to_contain_text("cannot be read")
    server.odd = None
    page.click("text=Try again")
    page.wait_for_selector("nav a[aria-current]")


def explained(visitor, **options):
    page = visitor.ask(**options)
    page.click("[aria-label='Accept maps']")
    page.click("[aria-label='Reject genealogy']")
    page.click(".suggestion > .name >> nth=0")
    page.wait_for_selector(".inset .balance")
    for summary in page.locator(".inset summary").all():
        summary.click()
    return page


def labelled(visitor, **options):
    page = visitor.open("#view=sheet", **options)
    page.set_input_files("#file", files=[{"name": "a.csv", "mimeType": "text/csv", "buffer": b"title,note\nA map,x\nunreadable,y\n"}])
    page.click(".run .main")
    page.wait_for_selector(".outcome")
    return page


def card(visitor, **options):
    page = visitor.open("#view=labels&label=0", **options)
    page.wait_for_selector(".card h2")
    page.wait_for_selector(".vocabulary li", state="attached")
    return page


def offered(visitor, **options):
    page = visitor.open(**options)
    page.fill("#add", "p")
    page.wait_for_selector("[role=option]")
    return page


def helped(visitor, **options):
    page = visitor.open(**options)
    page.click("footer >> text=Keys")
    return page


STATES = [explained, labelled, card, offered, helped]


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"width": 360}], ids=["light", "dark", "narrow"])
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(visitor, state, options):
    page = state(visitor, **options)
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [320, 390, 768, 1024])
@pytest.mark.parametrize("state", STATES)
def test_nothing_is_wider_than_the_screen(visitor, state, width):
    page = state(visitor, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_narrow_screen_the_marked_text_is_with_the_explanation(visitor):
    page = explained(visitor, width=390)
    assert page.locator("#text").is_visible() and page.locator(".marked").is_hidden()
    assert page.locator(".marked-here").inner_text() == TEXT
    assert "house" in page.locator(".marked-here mark").all_inner_texts()
    box = page.locator("[aria-label='Accept maps']").bounding_box()
    assert box["width"] >= 40 and box["height"] >= 40


def test_on_a_narrow_screen_a_card_takes_the_place_of_the_list(visitor):
    page = visitor.open("#view=labels", width=390)
    page.click(".vocabulary a >> nth=0")
    page.wait_for_selector(".card h2")
    assert page.locator(".vocabulary").is_hidden()
    page.click("text=Back to the list")
    expect(page.locator(".vocabulary")).to_be_visible()
    assert page.locator(".card").is_hidden()


def brightness(page, selector, property):
    color = page.eval_on_selector(selector, f"(element) => getComputedStyle(element).{property}")
    return sum(float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3]) / 3


def test_dark_mode_is_dark(visitor):
    for scheme, dark in (("light", False), ("dark", True)):
        page = visitor.open(color_scheme=scheme)
        assert (brightness(page, "html", "backgroundColor") < 60) == dark
        assert (brightness(page, "#text", "color") > 190) == dark


def test_texts_from_right_to_left_are_shown_so(visitor):
    page = visitor.ask(ARABIC)
    direction = "(element) => getComputedStyle(element).direction"
    assert page.eval_on_selector("#text", direction) == "rtl"
    page.click(".suggestion > .name >> nth=0")
    page.wait_for_selector(".inset .balance")
    assert page.eval_on_selector(".marked", direction) == "rtl"
    assert page.locator(".marked").inner_text() == ARABIC
    assert set(page.locator(".marked mark").all_inner_texts()) >= {"كتاب", "القصة", "مكتبة"}
    page.select_option("#language", "ar")
    expect(page.locator(".suggestion > .name").first).to_have_text("أدب عربي")
    assert page.eval_on_selector(".suggestion > .name", direction) == "rtl"


def test_a_page_from_right_to_left_keeps_its_bars_and_line_together(visitor):
    page = visitor.ask()
    page.evaluate("document.documentElement.dir = 'rtl'")
    place = page.locator(".place").nth(3).bounding_box()
    bar = page.locator(".place").nth(3).locator(".filled").bounding_box()
    assert abs(bar["x"] + bar["width"] - place["x"] - place["width"]) < 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_who_wants_no_motion_gets_none(visitor, server):
    server.slow = 1
    page = visitor.open(reduced_motion="reduce")
    page.wait_for_selector(".dots")
    assert page.eval_on_selector(".dots", "(dots) => getComputedStyle(dots).animationName") == "none"


def test_the_policy_of_the_server_is_in_force(visitor):
    page = visitor.open()
    page.evaluate("document.body.setAttribute('onclick', 'document.title = 1')")
    page.evaluate("document.body.click()")
    assert page.title() != "1"
    assert any("policy" in wrong or "Content Security Policy" in wrong for wrong in visitor.wrong)
    visitor.wrong.clear()
