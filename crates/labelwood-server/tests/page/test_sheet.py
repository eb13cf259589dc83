"""The view of a spreadsheet: a table in, the same table with suggestions out."""

import csv
import io

import pytest
from playwright.sync_api import expect

TABLE = (
    "\ufeffnumber;title;note\r\n"
    '1;"Who lived; in our ""house"" before the war?";x\r\n'
    "2;A map of the town, please;\r\n"
    "3;;nothing to read\r\n"
    '4;"A novel\r\nin translation"\r\n'
    "5;zzz;=1+1"
)


def drop(page, content, name="books.csv"):
    page.set_input_files("#file", files=[{"name": name, "mimeType": "text/csv", "buffer": content if isinstance(content, bytes) else content.encode()}])


def start(page):
    page.click(".run .main")
    page.wait_for_selector(".outcome")


def kept(page):
    with page.expect_download() as download:
        page.click(".run >> text=Download")
    return download.value.suggested_filename, download.value.path().read_bytes().decode()


def test_a_table_comes_back_as_it_was_with_a_column_of_suggestions(visitor):
    page = visitor.open("#view=sheet")
    drop(page, TABLE)
    expect(page.locator(".found")).to_have_text("books.csv: 5 rows, 3 columns")
    assert page.is_checked("#column-1") and not page.is_checked("#column-0")
    assert page.input_value("#separator") == ";"
    start(page)
    expect(page.locator(".outcome")).to_have_text("Done: 5 rows, 3 with suggestions.")
    name, text = kept(page)
    assert name == "books-labelled.csv"
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=";"))
    assert rows[0] == ["number", "title", "note", "suggestions", "scores"]
    assert rows[1][:3] == ["1", 'Who lived; in our "house" before the war?', "x"]
    assert rows[1][3].split("|")[0] == "local history" and rows[1][4].startswith("0.88|")
    assert rows[3] == ["3", "", "nothing to read", "", ""]
    assert rows[4][:3] == ["4", "A novel\r\nin translation", ""] and rows[4][3].startswith("fiction")
    assert rows[5] == ["5", "zzz", "=1+1", "", ""]
    # All but the new columns is there byte for byte.
    assert text.startswith('\ufeffnumber;title;note;suggestions;scores\r\n1;"Who lived; in our ""house"" before the war?";x;')
    assert text.endswith("5;zzz;=1+1;;\r\n")


def test_codes_without_scores_and_a_threshold_are_written_if_wanted(visitor, server):
    page = visitor.open("#view=sheet")
    drop(page, "text,suggestions\nA map of the town,old\n")
    page.select_option("#form-of-labels", "codes")
    page.uncheck("#with-scores")
    page.fill("#sheet-threshold", "0.5")
    page.fill("#sheet-most", "2")
    start(page)
    name, text = kept(page)
    assert text == "text,suggestions,suggestions 2\nA map of the town,old,http://vocabulary.example/3\n"
    assert [query for path, query, _ in server.calls if path.endswith("stream")] == [{"k": "2", "threshold": "0.5"}]


def test_several_columns_are_read_together_and_a_file_may_lack_a_header(visitor, server):
    page = visitor.open("#view=sheet")
    drop(page, "A map\tof the town\nA novel\tin translation\n", "books.tsv")
    assert page.input_value("#separator") == "\t"
    page.uncheck("#header")
    page.check("#column-0")
    start(page)
    assert '"text":"A map of the town"' in server.calls[-1][2]
    _, text = kept(page)
    assert text.splitlines()[0].startswith("A map\tof the town\tmaps")


def test_another_separator_can_be_chosen(visitor):
    page = visitor.open("#view=sheet")
    drop(page, "a,b,c;text\n1;house\n")
    page.select_option("#separator", ";")
    expect(page.locator(".found")).to_have_text("books.csv: 1 row, 2 columns")
    assert page.locator("thead th").all_inner_texts() == ["a,b,c", "text"]
    expect(page.locator("#separator")).to_be_focused()


def test_without_a_column_of_text_nothing_starts(visitor):
    page = visitor.open("#view=sheet")
    drop(page, TABLE)
    page.uncheck("#column-1")
    expect(page.locator(".run")).to_have_text("Tick at least one column of text.")


@pytest.mark.parametrize(("content", "wanted"), [
    ("title\nCaf\u00e9\n".encode("latin-1"), "is not UTF-8"),
    (b"PK\x03\x04\x14\x00\x06\x00", "is a workbook"),
    (b"\x89PNG\x00\xff", "is not a table of text"),
    (b'title\n"never closed\n', "line 2: a quotation mark"),
    (b"", "has no rows"),
])
def test_what_cannot_be_read_is_told_with_what_to_do(visitor, content, wanted):
    page = visitor.open("#view=sheet")
    drop(page, content, "books.xlsx")
    expect(page.locator(".spreadsheet [role=alert]")).to_contain_text(wanted)
    drop(page, TABLE)
    assert page.locator(".spreadsheet [role=alert]").count() == 0


def test_utf_16_with_a_mark_is_read(visitor):
    page = visitor.open("#view=sheet")
    drop(page, "\ufefftitle\tnote\nA map of the town\tx\n".encode("utf-16-le"), "books.txt")
    start(page)
    assert kept(page)[1].startswith("\ufefftitle\tnote\tsuggestions\tscores\nA map of the town\tx\tmaps")


def test_a_file_can_be_dropped(visitor):
    page = visitor.open("#view=sheet")
    data = page.evaluate_handle("""() => {
        const data = new DataTransfer();
        data.items.add(new File(["title\\nA map\\n"], "dropped.csv"));
        return data;
    }""")
    page.dispatch_event(".drop", "dragover", {"dataTransfer": data})
    page.dispatch_event(".drop", "drop", {"dataTransfer": data})
    expect(page.locator(".found")).to_contain_text("dropped.csv")


def test_a_long_table_shows_how_far_it_is_stops_and_goes_on(visitor, server):
    server.slow_row = 0.01
    page = visitor.open("#view=sheet")
    drop(page, "title\n" + "".join(f"A map of town {row}\n" for row in range(450)))
    page.click(".run .main")
    while page.locator("progress").evaluate("(progress) => progress.value") <= 20:
        page.wait_for_timeout(20)
    expect(page.locator(".progress button")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".outcome")).to_contain_text("Stopped after")
    done = int(page.locator(".outcome").inner_text().split()[2])
    assert 20 < done < 450
    _, text = kept(page)
    labelled = [line for line in text.splitlines()[1:] if "maps" in line]
    assert len(labelled) == done and len(text.splitlines()) == 451
    server.slow_row = 0
    page.click("text=Go on")
    expect(page.locator(".outcome")).to_have_text("Done: 450 rows, 450 with suggestions.")
    assert sum("maps" in line for line in kept(page)[1].splitlines()) == 450


def test_a_busy_server_is_waited_for_and_odd_rows_are_told(visitor, server):
    page = visitor.open("#view=sheet")
    drop(page, "title\nA map\nunreadable\nA novel\n")
    server.busy = 1
    page.click(".run .main")
    expect(page.locator(".busy")).to_contain_text("The server is busy")
    expect(page.locator(".outcome")).to_have_text("Done: 3 rows, 2 with suggestions.")
    expect(page.locator(".problems")).to_have_text("row 3: the text is too long")


def test_a_connection_that_breaks_leaves_what_was_done(visitor, server):
    page = visitor.open("#view=sheet")
    drop(page, "title\n" + "A map\n" * 300)
    calls = []
    page.route("**/predict-stream*", lambda route: (calls.append(1), route.abort() if len(calls) == 2 else route.continue_()))
    start(page)
    expect(page.locator(".outcome")).to_contain_text("Stopped after 200 of 300")
    expect(page.locator(".run [role=alert]")).to_contain_text("The server does not answer")
    page.click("text=Go on")
    expect(page.locator(".outcome")).to_contain_text("Done: 300 rows")


def test_hostile_cells_stay_text(visitor):
    page = visitor.open("#view=sheet")
    drop(page, 'title,<img src=x onerror=alert(1)>\n"<script>alert(1)</script> img onerror",x\n')
    start(page)
    assert page.locator("main img, main script").count() == 0
    expect(page.locator("td.new").first).to_contain_text("<img src=x")
