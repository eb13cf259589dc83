"""Reports on predictions, and their plots."""

import html.parser
import os
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood import metrics

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def tested():
    X, Y, _ = labelwood.datasets.generate("eurlex-4k", rows=400)
    model = labelwood.LabelTree(trees=1).fit(X[:300], Y[:300])
    return Y[:300], Y[300:], model.predict_top_k(X[300:], k=30)


class _Text(html.parser.HTMLParser):
    """The text of a page; no element needs the network or runs."""

    def __init__(self):
        super().__init__()
        self.text, self.open = "", []

    def handle_starttag(self, tag, attrs):
        assert tag not in {"script", "img", "link"}
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data if self.open[-1:] != ["style"] else ""


def text_of(page):
    parser = _Text()
    parser.feed(page)
    assert not parser.open
    return parser.text


def test_its_figures_are_those_of_evaluate(tested):
    Y_train, Y_true, scores = tested
    found = labelwood.report(Y_true, scores, Y_train=Y_train, title="eurlex <1>")
    expected = metrics.evaluate(Y_true, scores, Y_train=Y_train)
    assert {name: expected[name] for name in found.figures} == found.figures
    text = text_of(found.html)
    assert "eurlex <1>" in text and f"{100 * expected['p@1']:.1f} %" in text
    low, high = found.intervals["p@1"]
    assert low < found.figures["p@1"] < high
    points = found.curves["by_threshold"]
    assert (np.diff(points["recall"]) <= 0).all() and len(points["recall"]) <= 101
    again = labelwood.report(Y_true, scores, Y_train=Y_train, title="eurlex <1>")
    assert again.html == found.html
    doubled = sparse.csr_array((scores.data.astype(np.float64), scores.indices, scores.indptr), scores.shape)
    assert labelwood.report(Y_true, doubled, Y_train=Y_train, title="eurlex <1>").html == found.html


def test_names_and_texts_are_shown_and_escaped(tmp_path):
    found = labelwood.report(
        [[1, 0], [0, 1]], [[0.2, 0.9], [0.1, 0.7]], [1], names=["<maps>", "seas & co"],
        texts=["old <script>maps</script>", "half \ud800"], ids=[7, 8], threshold=0.5,
    )
    text = text_of(found.html)
    assert "seas & co" in text and "old <script>maps</script>" in text and "row 1, 7" in text
    assert "With a score of 0.500 or more" in text
    found.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == found.html
    frame = found._repr_html_()
    assert frame.startswith("<iframe") and "<script" not in frame and "&lt;!DOCTYPE html&gt;" in frame
    assert repr(found) == "<labelwood.Report: p@1 0.500>"


def test_the_page_is_that_of_the_command(tmp_path):
    command = os.environ.get("LABELWOOD_COMMAND")
    if not command:
        pytest.skip("LABELWOOD_COMMAND does not name the command")
    (tmp_path / "rows.svm").write_text("0 1:1\n1 2:1\n" * 20)
    (tmp_path / "theirs.tsv").write_text("1 0.75\t0 0.5\n1 0.875\n" * 20)
    args = ["--predictions", "theirs.tsv", "--train", "rows.svm", "rows.svm", "--report", "page.html"]
    subprocess.run([command, "-q", "evaluate", *args], cwd=tmp_path, check=True, capture_output=True)
    Y = [[0], [1]] * 20
    scores = sparse.csr_array(np.array([[0.5, 0.75], [0, 0.875]] * 20, dtype=np.float32))
    found = labelwood.report(Y, scores, Y_train=Y, title="theirs.tsv on rows.svm")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    # The command also knows the most frequent labels and the times.
    start, end = "<h2>Scores</h2>", "<h2>Size and speed</h2>"
    assert found.html[found.html.index(start):found.html.index("</main>")].startswith(
        page[page.index(start):page.index(end)].removesuffix("<section>")
    )


def test_what_does_not_fit_is_refused():
    with pytest.raises(labelwood.InputError, match="texts has 1 entries, but there are 2 rows"):
        labelwood.report([[1], [1]], [[0.2], [0.1]], texts=["one"])
    with pytest.raises(labelwood.InputError, match="names is a string"):
        labelwood.report([[1], [1]], [[0.2], [0.1]], names="one")
    with pytest.raises(labelwood.InputError, match="psndcg is 'x'"):
        labelwood.report([[1], [1]], [[0.2], [0.1]], psndcg="x")


def test_an_order_without_scores_has_no_curves(tested):
    Y_train, Y_true, scores = tested
    scores = scores.copy()
    # What favours rare labels is in an order of its own.
    scores.best_first = scores.indices.copy()
    scores.data[::2] *= 0.5
    found = labelwood.report(Y_true, scores, Y_train=Y_train)
    assert "The predictions came without scores" in found.html
    assert found.curves["by_threshold"] == {} and "ece" not in found.figures
    found.plot()


def test_curves_are_plotted(tested):
    Y_train, Y_true, scores = tested
    found = labelwood.report(Y_true, scores, Y_train=Y_train)
    figure = found.plot()
    assert len(figure.axes) == 4
    axes = found.plot("recall", ax=figure.axes[0])
    assert axes is figure.axes[0] and found.plot("calibration").get_xlabel() == "score"
    with pytest.raises(labelwood.InputError, match="must be one of threshold, recall"):
        found.plot("roc")


def test_matplotlib_is_imported_only_for_plots():
    code = (
        "import sys, labelwood; found = labelwood.report([[1]], [[0.5]]); "
        "print('matplotlib' in sys.modules); sys.modules['matplotlib'] = None; "
        "sys.modules['matplotlib.pyplot'] = None\n"
        "try: found.plot()\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "False\nplots need matplotlib: pip install 'labelwood[plot]'\n"
