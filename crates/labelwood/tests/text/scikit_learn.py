"""Writes scikit_learn.json: what scikit-learn's TfidfVectorizer makes of a few tricky documents.

    python -m pip install scikit-learn
    python scikit_learn.py > scikit_learn.json

Besides the vectors, the file holds which characters Python takes for word characters (`\\w`) and
white space (`\\s`), and which it does not know, as ranges of code points.
"""

import json
import re
import sys
import unicodedata

from sklearn.feature_extraction.text import TfidfVectorizer

DOCUMENTS = [
    "The Birds of the Baltic Sea: a bird-watcher's guide",
    "the sea, THE SEA -- the sea!",
    "",
    "a b c 1 2 _ ,;",
    "Straße STRASSE straße Ünïcödé été ÉTÉ",
    "ΟΔΟΣ οδος ΣΑΣ Σ σας ὈΔΥΣΣΕΎΣ",
    "İstanbul istanbul ISTANBUL ısparta IĞDIR",
    "cafe\u0301 café cafe naïve nai\u0308ve",
    "日本語 の 本 日本語 한국어 русский РУССКИЙ язык",
    "snake_case x_y __init__ a1 1a 3.14 1,000 ½½ ²³ Ⅷⅷ ٣٤",
    "tab\tnew\nline\r\n\u00a0nbsp\u2003em\x1cfs\u3000ideographic  two   three",
    "emoji 😀😀 👩‍👩‍👧 🅰🅱 ⒶⒷ flag🏳️‍🌈flag nul\x00nul",
    "हिन्दी भाषा தமிழ் ไทย עִבְרִית العَرَبِيَّة",
    "sea sea sea sea birds birds guide of of of the café",
]

CASES = [
    ({}, {}),
    ({"min_df": 1}, {"min_df": 1}),
    ({"min_df": 1, "min_token": 1}, {"min_df": 1, "token_pattern": r"(?u)\b\w+\b"}),
    ({"min_df": 1, "lowercase": False}, {"min_df": 1, "lowercase": False}),
    ({"word_ngrams": [1, 2], "min_df": 1}, {"ngram_range": (1, 2), "min_df": 1}),
    ({"word_ngrams": [2, 3], "min_df": 1}, {"ngram_range": (2, 3), "min_df": 1}),
    (
        {"stop_words": {"words": ["the", "of"]}, "word_ngrams": [1, 2]},
        {"stop_words": ["the", "of"], "ngram_range": (1, 2)},
    ),
    ({"sublinear_tf": False}, {"sublinear_tf": False}),
    ({"smooth_idf": False}, {"smooth_idf": False}),
    ({"idf": False}, {"use_idf": False}),
    ({"min_df": 0.1, "max_df": 0.2}, {"min_df": 0.1, "max_df": 0.2}),
    ({"min_df": 1, "max_features": 4}, {"min_df": 1, "max_features": 4}),
    (
        {"word_ngrams": None, "char_ngrams": [3, 5]},
        {"analyzer": "char_wb", "ngram_range": (3, 5)},
    ),
    (
        {"word_ngrams": None, "char_ngrams": [1, 2], "char_ngrams_in": "text"},
        {"analyzer": "char", "ngram_range": (1, 2)},
    ),
]


def rows_of(settings):
    vectoriser = TfidfVectorizer(**{"sublinear_tf": True, "min_df": 2, **settings})
    matrix = vectoriser.fit_transform(DOCUMENTS)
    matrix.sort_indices()
    rows = []
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        values = [round(value, 8) for value in matrix.data[part].tolist()]
        rows.append({"columns": matrix.indices[part].tolist(), "values": values})
    return vectoriser.get_feature_names_out().tolist(), rows


def ranges(holds):
    found = []
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code < 0xE000 or not holds(chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def line(value):
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def main():
    word, space = re.compile(r"\w"), re.compile(r"\s")
    print("{" + f'"documents":{line(DOCUMENTS)},')
    print(f'"word":{line(ranges(word.match))},')
    print(f'"space":{line(ranges(space.match))},')
    print(f'"unknown":{line(ranges(lambda c: unicodedata.category(c) == "Cn"))},')
    cases = []
    for settings, theirs in CASES:
        terms, rows = rows_of(theirs)
        cases.append(line({"settings": settings, "terms": terms, "rows": rows}))
    print('"cases":[' + ",\n".join(cases) + "]}")


main()
