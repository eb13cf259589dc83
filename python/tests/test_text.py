"""Texts: the same rows as scikit-learn's, and tags that fit."""

import copy
import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from labelwood import (
    CraftML,
    Grove,
    InputError,
    LabelTree,
    MissingError,
    Names,
    OneVsRest,
    TextTagger,
    TextVectoriser,
)
from labelwood import _native, datasets, load

QUESTIONS = datasets.load_questions()
EXTRA = ["ÄÖ äö, naïve café; ß STRASSE", "1984 x_y 3.14 don't can't", "日本語 の 本", "", "  a b  "]
TEXTS = QUESTIONS.train_texts + EXTRA

#: Our settings, and scikit-learn's words for them.
PARITY = [
    ({}, {"sublinear_tf": True, "min_df": 2}),
    ({"sublinear_tf": False, "min_df": 1}, {}),
    ({"min_df": 1, "smooth_idf": False}, {"sublinear_tf": True, "smooth_idf": False}),
    ({"min_df": 1, "idf": False}, {"sublinear_tf": True, "use_idf": False}),
    ({"lowercase": False, "min_token": 1, "min_df": 1},
     {"lowercase": False, "sublinear_tf": True, "token_pattern": r"(?u)\b\w+\b"}),
    ({"word_ngrams": (1, 3), "max_df": 0.2},
     {"ngram_range": (1, 3), "max_df": 0.2, "min_df": 2, "sublinear_tf": True}),
    # The 86th term occurs more often than the next: of equals, scikit-learn takes any.
    ({"word_ngrams": (2, 2), "max_features": 86, "min_df": 0.002},
     {"ngram_range": (2, 2), "max_features": 86, "min_df": 0.002, "sublinear_tf": True}),
    ({"word_ngrams": None, "char_ngrams": (2, 4)},
     {"analyzer": "char_wb", "ngram_range": (2, 4), "min_df": 2, "sublinear_tf": True}),
    ({"word_ngrams": None, "char_ngrams": (1, 3), "char_ngrams_in": "text"},
     {"analyzer": "char", "ngram_range": (1, 3), "min_df": 2, "sublinear_tf": True}),
    ({"stop_words": ["the", "of", "and"]},
     {"stop_words": ["the", "of", "and"], "min_df": 2, "sublinear_tf": True}),
]


@pytest.mark.parametrize(("ours", "theirs"), PARITY, ids=lambda settings: str(settings)[:40])
def test_rows_are_those_of_scikit_learn(ours, theirs):
    mine, other = TextVectoriser(tokens="word", **ours), TfidfVectorizer(**theirs)
    rows, expected = mine.fit_transform(TEXTS), other.fit_transform(TEXTS)
    assert mine.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    new = QUESTIONS.test_texts + EXTRA
    for rows, expected in [(rows, expected), (mine.transform(new), other.transform(new))]:
        assert rows.shape == expected.shape
        assert abs(rows - expected).max() < 1e-6


def test_settings_and_defaults_are_those_of_the_library():
    library = json.loads(_native.vectoriser_defaults())
    assert json.loads(TextVectoriser()._vectoriser()) == library
    assert json.loads(TextTagger()._vectoriser()) == library


@pytest.fixture(scope="module")
def tagger():
    return TextTagger(LabelTree()).fit(QUESTIONS.train_texts, QUESTIONS.train_tags)


def test_a_tagger_names_tags_that_fit(tagger):
    score = tagger.score(QUESTIONS.test_texts, QUESTIONS.test_tags)
    assert score > 0.4
    [best] = tagger.predict(["Which field guide tells owls from hawks?"], k=3)
    assert len(best) == 3 and all(isinstance(tag, str) and type(score) is float for tag, score in best)
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
    assert tagger.predict("Which field guide tells owls from hawks?", k=3) == best
    assert tagger.predict([]) == []
    assert tagger.predict_top_k(QUESTIONS.test_texts, k=2).shape == (104, len(tagger.classes_))


def test_what_a_tagger_knows_can_be_looked_at(tagger):
    terms = tagger.typical_terms("preserving food")
    assert terms and all(weight > 0 for _, weight in terms)
    with pytest.raises(InputError, match="is no tag that training knew"):
        tagger.typical_terms("no such tag")
    rows = tagger.transform(QUESTIONS.test_texts)
    assert rows.shape == (len(QUESTIONS.test_texts), json.loads(tagger.model_.manifest)["features"])
    lengths = np.sqrt((rows * rows).sum(axis=1))
    assert np.allclose(lengths[lengths > 0], 1)


def test_the_language_is_guessed_from_the_texts():
    guessed = TextVectoriser(stem="auto", stop_words="auto").fit(TEXTS)
    stated = TextVectoriser(stem="english", stop_words="english").fit(TEXTS)
    terms = guessed.get_feature_names_out().tolist()
    assert terms == stated.get_feature_names_out().tolist() and "the" not in terms
    finnish = TextVectoriser(stop_words="finnish", tokens="word").fit(["ja kartta", "ja kartta"])
    assert finnish.get_feature_names_out().tolist() == ["kartta"]


def test_scripts_and_languages_decide_what_terms_are():
    def terms(*texts, **settings):
        return TextVectoriser(min_df=1, **settings).fit(texts).get_feature_names_out().tolist()

    assert terms("古城") == ["古", "古城", "城"]
    assert terms("古城", tokens="word") == ["古城"]
    assert "~karta" not in terms("kartta", stem="finnish", tokens="word")
    assert "~artt" in terms("kartta", stem="finnish")
    with pytest.raises(InputError, match="such as `x`: set min_token to 1"):
        terms("x", "y")


def test_a_text_in_which_no_word_is_known_gets_no_tags(tagger):
    assert tagger.predict(["zzyzx", "owls and hawks"])[0] == []
    assert tagger.predict("") == []


def test_the_best_way_to_read_texts_is_chosen(tmp_path, capsys):
    data = QUESTIONS.train_texts, QUESTIONS.train_tags
    tagger = TextTagger(LabelTree(trees=1), verbose=1).choose_text(*data)
    assert (tagger.stem, tagger.stop_words, tagger.word_ngrams) == ("english", "english", (1, 1))
    assert "7 ways to read text were tried on 436 documents" in capsys.readouterr().err
    tagger.set_params(verbose=0).fit(*data).save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.stem, again.stop_words) == ("english", "english")
    plain = TextTagger(LabelTree(trees=1)).fit(*data)
    test = QUESTIONS.test_texts, QUESTIONS.test_tags
    assert tagger.score(*test) > plain.score(*test)


def test_a_tagger_survives_pickle(tagger):
    again = pickle.loads(pickle.dumps(tagger))
    assert again.predict(QUESTIONS.test_texts) == tagger.predict(QUESTIONS.test_texts)


@pytest.mark.parametrize(
    "settings", [{}, {"hashing": 64}, {"idf": False, "stop_words": ["the"]}], ids=str
)
def test_a_fitted_vectoriser_can_be_copied_and_sent(settings):
    vectoriser = TextVectoriser(**settings).fit(TEXTS)
    expected = vectoriser.transform(QUESTIONS.test_texts)
    copies = [pickle.loads(pickle.dumps(vectoriser)), copy.deepcopy(vectoriser)]
    rows = [again.transform(QUESTIONS.test_texts) for again in copies]
    rows += joblib.Parallel(n_jobs=2)(
        joblib.delayed(vectoriser.transform)(QUESTIONS.test_texts) for _ in range(2)
    )
    for found in rows:
        assert (found != expected).nnz == 0 and found.shape == expected.shape
    assert copies[0].get_feature_names_out().tolist() == vectoriser.get_feature_names_out().tolist()


def test_damaged_parts_of_a_vectoriser_are_refused():
    settings, arrays = TextVectoriser().fit(TEXTS).vectoriser_.__getnewargs__()
    # Of the third, the hash table, it is enough that it has room: what is not there is not found.
    for at in (0, 1, 3):
        damaged = [array[:-8] if place == at else array for place, array in enumerate(arrays)]
        with pytest.raises(InputError):
            _native.Vectoriser(settings, damaged)


def test_a_fit_that_fails_leaves_the_old_one(tagger):
    again, vectoriser = copy.deepcopy(tagger), TextVectoriser().fit(TEXTS)
    before, columns = dict(vars(again)), vectoriser.vectoriser_.columns

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        again.fit(TEXTS[:50], [["a"]] * 50, progress=stop)
    with pytest.raises(InputError):
        vectoriser.fit(["one"])
    assert vars(again) == before and vectoriser.vectoriser_.columns == columns


def test_a_vectoriser_goes_into_pipelines():
    pipeline = make_pipeline(TextVectoriser(), OneVsRest())
    pipeline.fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    assert pipeline.score(QUESTIONS.test_texts, QUESTIONS.test_tags) > 0.4
    assert clone(pipeline).get_params()["textvectoriser__min_df"] == 2


@pytest.mark.parametrize(
    ("texts", "tags", "message"),
    [
        ("one text", [["a"]], "texts is one string"),
        (["a text", 3], [["a"], ["b"]], r"texts\[1\] is 3"),
        (["a text"], ["tag"], r"tags\[0\] is 'tag', but must be a list of tags"),
        (["a text"], [[3]], r"tags\[0\] has 3, but tags are strings"),
        (["a text"], [["a"], ["b"]], "1 texts, but the tags of 2"),
        (["one", "two"], [["a"], ["b"]], "no term of the 2 documents is kept"),
    ],
)
def test_wrong_input_is_named(texts, tags, message):
    with pytest.raises(ValueError, match=message):
        TextTagger().fit(texts, tags)


def test_a_score_is_that_of_each_text_with_its_own_tags(tagger):
    texts, tags = QUESTIONS.test_texts, QUESTIONS.test_tags
    best = [{tag for tag, _ in row} for row in tagger.predict(texts, k=2)]
    expected = sum(len(found & set(right)) for found, right in zip(best, tags)) / (2 * len(texts))
    assert tagger.score(texts, tags, k=2) == tagger.score(iter(texts), map(set, tags), 2) == expected
    with pytest.raises(InputError, match="10 rows or texts, but the labels of 1"):
        tagger.score(texts[:10], tags[:1])
    with pytest.raises(InputError, match=r"tags\[0\] is .*, but must be a list of tags"):
        tagger.score(texts, [" ".join(row) for row in tags])
    with pytest.raises(InputError, match="texts is one string"):
        tagger.score(texts[0], tags[:1])
    with pytest.raises(InputError, match="k is 0, but must be a whole number of at least 1"):
        tagger.score(texts, tags, k=0)


def test_a_table_is_not_taken_for_the_names_of_its_columns(tagger):
    table = pd.DataFrame({"title": QUESTIONS.test_texts, "shelf": "A"})
    for wrong in (table, table.to_dict("list")):
        for use in (tagger.predict, tagger.transform, TextVectoriser().fit):
            with pytest.raises(InputError, match="must be a list of strings: hand over one column"):
                use(wrong)
    assert tagger.predict(table["title"]) == tagger.predict(QUESTIONS.test_texts)
    with pytest.raises(InputError, match="tags is a DataFrame, but must have a list of tags"):
        TextTagger().fit(table["title"], table[["shelf"]])


def test_vectors_and_text_are_told_apart():
    model = OneVsRest().fit(np.eye(2), np.eye(2)).model_
    with pytest.raises(InputError, match="was trained on vectors"):
        model.vectorise(["a text"], 1)
    with pytest.raises(InputError, match="was trained on vectors: give it rows, not text"):
        model.predict_texts(["a text"], 5, None, None, 1, None)
    with pytest.raises(InputError, match="'craftml' has no fit, so that it is no part of a tagger"):
        TextTagger("craftml").fit(["a"], [["b"]])
    assert TextTagger(CraftML(trees=2), hashing=64).fit(TEXTS, [["a"]] * len(TEXTS))


def test_tags_in_sets_have_one_order():
    sets = [{"maps", "birds", "sea"}, {"sea"}]
    tagger = TextTagger(OneVsRest(), min_df=1).fit(["birds of the sea", "the sea"], sets)
    assert tagger.classes_.tolist() == ["birds", "maps", "sea"]


def test_hashed_columns_are_numbered():
    vectoriser = TextVectoriser(hashing=4).fit(["birds", "sea"])
    assert vectoriser.get_feature_names_out().tolist() == [f"textvectoriser{at}" for at in range(4)]


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (lambda: TextTagger().fit(None, None), "texts is None, but must be a list of strings"),
        (lambda: TextTagger().fit(["a"], None), "tags is a NoneType, but must have a list"),
        (lambda: TextTagger(separator="").fit(["a"], [["b"]]), "separator is empty"),
        (lambda: TextVectoriser(word_ngrams=(1, 2, 3)).fit(["a"]), "must be two whole numbers"),
        (lambda: TextVectoriser(char_ngrams=3).fit(["a"]), "must be two whole numbers"),
        (lambda: TextVectoriser().fit(["a", "ab\ud83d"]), r"texts\[1\] has half of .*, '.ud83d', at 2"),
        (lambda: TextTagger().fit(["\udc00"], [["b"]]), r"texts\[0\] has half of a surrogate pair"),
        (lambda: TextTagger().fit(["a"], [["b\ud83d"]]), "the tag 'b.ud83d' has half of a surrogate"),
    ],
)
def test_what_is_wrong_is_named(work, text):
    with pytest.raises(InputError, match=text):
        work()


def test_runs_without_spaces_as_words_are_learned_with_a_warning(caplog):
    texts = [chr(0x4E00 + at) + "\u4e00\u4e01" for at in range(2, 22)]
    texts.append(texts[0])
    tags = [["a tag"]] * len(texts)
    TextTagger(CraftML(trees=1), tokens="word").fit(texts, tags)
    assert "19 of 21 texts have no term that another text has" in caplog.text
    assert 'try tokens="auto"' in caplog.text
    caplog.clear()
    TextTagger(CraftML(trees=1)).fit(texts, tags)
    assert not caplog.records


def test_names_are_found_without_a_single_text_to_learn_from(tmp_path):
    (tmp_path / "birds.nt").write_text(
        '<x:1> <http://www.w3.org/2004/02/skos/core#prefLabel> "birds"@en .\n'
        '<x:1> <http://www.w3.org/2004/02/skos/core#prefLabel> "linnut"@fi .\n'
    )
    tagger = TextTagger(Names()).fit([], [], vocabulary=tmp_path / "birds.nt", language="en")
    assert [tag for tag, _ in tagger.predict("A bird of prey")] == ["birds"]
    assert tagger.predict("Linnut") == []
    assert tagger.label_names("fi") == ["linnut"]
    assert tagger.score(["A bird", "Birds"], [["x:1"], ["birds"]]) == 1
    assert tagger.chosen_ is None
    with pytest.raises(InputError, match="there are no rows"):
        TextTagger().fit([], [], vocabulary={"x": "birds"})
    with pytest.raises(InputError, match="language is for the file of a vocabulary"):
        TextTagger().fit(["a"], [["b"]], language="en")
    with pytest.raises(InputError, match="has 7, but codes and names are strings"):
        TextTagger().fit(["a"], [["b"]], vocabulary={"x": [7]})
    with pytest.raises(MissingError, match="nowhere.ttl"):
        TextTagger().fit(["a"], [["b"]], vocabulary=tmp_path / "nowhere.ttl")


def test_parts_of_a_grove_are_left_out_on_request():
    grove = Grove(CraftML(trees=2), names="drop", one_vs_rest="drop", neighbours="drop")
    tagger = TextTagger(grove).fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    assert tagger.chosen_.startswith("kept: craftml, label-tree; rows are too few")
    with pytest.raises(InputError, match='must be a Names, None or "drop"'):
        TextTagger(Grove(names="no")).fit(["a"], [["b"]])
