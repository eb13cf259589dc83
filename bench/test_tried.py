"""Small cases of the arithmetic of tried.py and spaces.py, most against plain loops."""

import unittest

import numpy
from scipy import sparse

import spaces
import tried


def drawn(shape, share, seed):
    random = numpy.random.default_rng(seed)
    return sparse.csr_matrix((random.random(shape) < share).astype(numpy.float32))


class Tried(unittest.TestCase):
    def test_the_nearest_rows_come_in_order_and_a_row_is_not_its_own_neighbour(self):
        known = sparse.csr_matrix(numpy.array([[1, 0], [0.6, 0.8], [1, 0], [0, 1]], numpy.float32))
        ids, cosines = tried.nearest(known, known[:1], 3)
        self.assertEqual(ids.tolist(), [[0, 2, 1]])
        numpy.testing.assert_allclose(cosines, [[1, 1, 0.6]], rtol=1e-6)
        self.assertEqual(tried.nearest(known, known, 2, without_itself=True)[0][0].tolist(), [2, 1])

    def test_votes_are_shares_of_powers_of_cosines(self):
        near = numpy.array([[1, 0]]), numpy.array([[1.0, 0.5]])
        labels = sparse.csr_matrix(numpy.array([[1, 0], [1, 1]], numpy.float32))
        numpy.testing.assert_allclose(tried.votes(near, labels, 2, 2).toarray(), [[1, 0.8]])

    def test_precision_takes_the_lower_of_equal_labels_and_none_without_a_score(self):
        truth = sparse.csr_matrix(numpy.array([[0, 1, 0, 1], [1, 0, 0, 0]], numpy.float32))
        scores = sparse.csr_matrix(numpy.array([[0.5, 0.5, 0.1, 0.7], [0, 0.2, 0, 0]]))
        expected = [[1, 2 / 3, 2 / 5], [0, 0, 0]]
        numpy.testing.assert_allclose(tried.precision(scores, truth), expected)
        numpy.testing.assert_allclose(tried.precision(scores.toarray(), truth), expected)

    def test_posteriors_are_those_of_plain_counting(self):
        labels, count = drawn((30, 4), 0.3, 1), 3
        near = tried.nearest(drawn((30, 8), 0.5, 2), drawn((30, 8), 0.5, 2), count, without_itself=True)
        found, y = tried.posteriors(near, labels, count), labels.toarray()
        for label in range(4):
            have = [int(sum(y[one, label] for one in near[0][row])) for row in range(30)]
            frequency = y[:, label].sum()
            for number in range(count + 1):
                yes = sum(have[row] == number and y[row, label] == 1 for row in range(30))
                no = sum(have[row] == number and y[row, label] == 0 for row in range(30))
                yes = (1 + frequency) / 32 * (1 + yes) / (count + 1 + frequency)
                no = (1 - (1 + frequency) / 32) * (1 + no) / (count + 1 + 30 - frequency)
                self.assertAlmostEqual(found[number, label], yes / (yes + no), places=5)

    def test_the_leaves_of_a_tree_divide_its_rows(self):
        features = drawn((200, 20), 0.3, 3)
        tree = tried.Tree(features, 30)
        leaves = [node for node in tree.nodes if not isinstance(node, dict)]
        self.assertGreater(len(leaves), 4)
        self.assertEqual(sorted(numpy.concatenate(leaves)), list(range(200)))
        routed = tree.leaves(features)
        self.assertTrue(all(not isinstance(tree.nodes[leaf], dict) for leaf in routed))

    def test_only_the_most_frequent_labels_of_a_leaf_are_ranked(self):
        labels = sparse.csr_matrix(numpy.array([[1, 0, 0], [1, 1, 0]], numpy.float32))
        tree = tried.Tree(labels, 2)
        scores = sparse.csr_matrix([[0.2, 0.3, 0.5]])
        kept = tried.only_labels_of_leaves(scores, tree, numpy.zeros(1, int), labels, 1)
        self.assertEqual(kept.toarray().tolist(), [[0.2, 0, 0]])


class Spaces(unittest.TestCase):
    def test_ridge_solves_its_equations(self):
        features, targets = drawn((50, 8), 0.4, 4), drawn((50, 3), 0.4, 5).toarray()
        exact = numpy.linalg.solve((features.T @ features).toarray() + numpy.eye(8), features.T @ targets)
        numpy.testing.assert_allclose(spaces.ridge(features, targets), exact, atol=1e-3)

    def test_singular_vectors_keep_the_products_of_rows(self):
        labels = drawn((40, 6), 0.4, 6)
        found = spaces.singular_vectors(labels, 5, numpy.random.default_rng(1))
        left, values, _ = numpy.linalg.svd(labels.toarray(), full_matrices=False)
        exact = left[:, :5] * values[:5]
        numpy.testing.assert_allclose(found @ found.T, exact @ exact.T, atol=1e-3)

    def test_rows_with_the_same_label_come_near_each_other(self):
        labels = sparse.csr_matrix(numpy.eye(2, dtype=numpy.float32)[numpy.arange(60) % 2])
        features = sparse.hstack([labels, drawn((60, 10), 0.5, 7)]).tocsr()
        for learn in [spaces.svd, spaces.ranked]:
            there = spaces.unit(features @ learn(features, labels, numpy.random.default_rng(1)))
            cosines = there @ there.T
            same = labels.toarray() @ labels.toarray().T == 1
            self.assertGreater(cosines[same].mean(), cosines[~same].mean() + 0.3)
