"""Small cases of the comparison's own arithmetic: target/bench-venv/bin/python -m unittest discover bench"""

import pathlib
import signal
import tempfile
import unittest

import numpy
from scipy import sparse

import charts
import differences
import peers
import peers_page
import rows
import systems


def matrix(*lines):
    return sparse.csr_matrix(numpy.array(lines, numpy.float32))


class Rows(unittest.TestCase):
    def test_counts_are_weighted_as_labelwood_does_it(self):
        x = matrix([1, 3], [1, 0])
        self.assertTrue(rows.has_counts(x))
        idf = rows.inverse_frequencies(x)
        self.assertEqual(idf.tolist(), [0, numpy.log(2)])
        # A feature that every row has says nothing; what is left of the first row has length 1.
        self.assertEqual(rows.weigh(x, idf).toarray().tolist(), [[0, 1], [0, 0]])

    def test_other_values_are_no_counts(self):
        for value in [0.5, -1]:
            self.assertFalse(rows.has_counts(matrix([1, value])))

    def test_rows_of_length_1_are_not_scaled_again(self):
        self.assertFalse(rows.is_scaled(matrix([3, 4])))
        scaled = rows.scale(matrix([3, 4], [0, 0]))
        numpy.testing.assert_allclose(scaled.toarray(), [[0.6, 0.8], [0, 0]], rtol=1e-6)
        self.assertTrue(rows.is_scaled(scaled))

    def test_rows_without_labels_or_features_are_written_and_read(self):
        x, y = matrix([0, 2], [0, 0], [1, 0], [0, 0]), matrix([1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.txt"
            rows.write(path, x, y)
            self.assertEqual(path.read_text(), "4 2 3\n0,2 1:2\n1\n 0:1\n \n")
            again = rows.read(path)
        for found, expected in zip(again, [x, y]):
            self.assertEqual(found.toarray().tolist(), expected.toarray().tolist())


class Differences(unittest.TestCase):
    def test_equal_systems_are_not_apart(self):
        hits = numpy.array([1, 0, 1.0])
        self.assertEqual(differences.interval(hits, hits, 1), [0, 0, 0])

    def test_the_interval_is_that_of_the_paired_mean(self):
        ours, theirs = numpy.zeros(400), numpy.zeros(400)
        ours[:100] = 3
        mean, low, high = differences.interval(ours, theirs, 3)
        self.assertEqual(mean, 25)
        # The mean of 400 rows, a quarter of them 100, has a standard error of 2.17.
        self.assertAlmostEqual(low, 25 - 1.96 * 2.165, delta=0.4)
        self.assertAlmostEqual(high, 25 + 1.96 * 2.165, delta=0.4)

    def test_a_peer_on_scaled_rows_meets_ours_on_raw_ones(self):
        cell = {"fit": 1.0, "whole": 2.0, "predict": 1.0, "model": 5, "memory": 7}
        cells = {"label-tree raw": cell, "pecos unit": cell | {"fit": 4.0}}
        hits = {name: numpy.zeros((3, 3)) for name in cells}
        (found,) = differences.between(cells, hits, [1, 3, 5])
        self.assertEqual((found["ours"], found["peer"], found["rows"]), ("label-tree", "pecos", "unit"))
        self.assertEqual(found["ratios"]["fit"], 0.25)


class Results(unittest.TestCase):
    def test_cost_is_the_least_and_accuracy_the_mean_of_the_runs(self):
        def run(cost, points):
            metrics = dict.fromkeys(peers.METRICS, points)
            return {"fit": None, "whole": cost, "predict": cost, "memory": 1, "model": 1, "metrics": metrics}

        found = peers.cell([run(3, 50), run(2, 52), run(4, 54)])
        self.assertEqual((found["fit"], found["whole"], found["runs"]), (None, 2, 3))
        self.assertEqual(found["metrics"]["p@1"], [52, 2])

    def test_a_failure_has_a_reason(self):
        limits = (600, 12)
        self.assertEqual(peers.reason(-signal.SIGXCPU, "", limits), "more than 600 CPU seconds")
        self.assertEqual(peers.reason(1, "Traceback\nMemoryError: x\n", limits), "more than 12 GiB of memory")
        panic = "thread 'main' panicked at a.rs:1:2:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`\n"
        self.assertEqual(peers.reason(101, panic, limits), "index out of bounds")
        self.assertEqual(peers.reason(-signal.SIGSEGV, "", limits), "SIGSEGV")

    def test_every_peer_is_set_against_one_of_ours(self):
        for peer in systems.PEERS:
            self.assertTrue(systems.ALL[peer.against].is_ours)

    def test_a_page_shows_a_failed_peer(self):
        facts = {"instances": {"train": 2, "test": 1}, "features": 3, "labels": 4}
        facts |= {"empty": {"raw": {"train": 0, "test": 0}}, "blank": {"raw": 0}}
        cell = {"fit": 1.0, "whole": 2.0, "predict": 0.1, "model": 5, "memory": 7, "runs": 1}
        cell["metrics"] = {name: [50, 0] for name in peers.METRICS}
        cells = {"craftml raw": cell, "pecos raw": {"failed": "more than 600 CPU seconds"}}
        figures = {"conditions": {"processor": "p", "cores": 2, "packages": {}, "threads": 2, "seconds": 600, "gigabytes": 12}}
        figures["sets"] = {"mine": {"facts": facts, "cells": cells, "differences": []}}
        page = peers_page.page("{{sets}}", figures)
        self.assertIn("| pecos | raw | more than 600 CPU seconds |", page)
        self.assertIn("| **craftml** | raw | 1.00 | 2.00 |", page)
        self.assertIn("<svg", peers_page.chart(figures))


class Charts(unittest.TestCase):
    def test_axes_have_round_numbers(self):
        self.assertEqual(charts.round_numbers(0.3, 30), [0.5, 1, 2, 5, 10, 20])


if __name__ == "__main__":
    unittest.main()
