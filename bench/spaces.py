"""Spaces of few dimensions in which rows with the same labels are near each other, each a linear map of features."""

import numpy
from scipy import sparse

import rows

# How many clusters there are, and how many clusterings.
CLUSTERS, LEARNERS = 2, 5


def unit(vectors):
    return vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def k_means(features, count, random):
    """Spherical k-means: the means, and the cluster of each row."""
    means, found = features[random.choice(features.shape[0], count, replace=False)].toarray(), None
    for _ in range(20):
        nearest = numpy.argmax(features @ means.T, axis=1)
        if found is not None and (nearest == found).all():
            break
        found = nearest
        for cluster in numpy.unique(found):
            means[cluster] = unit(numpy.asarray(features[found == cluster].sum(0)))[0]
    return means, found


def singular_vectors(matrix, count, random):
    """The left singular vectors of the largest singular values, each times its value: randomised, with four passes."""
    count = min(count, *matrix.shape)
    base = matrix @ random.standard_normal((matrix.shape[1], min(count + 20, *matrix.shape)))
    for _ in range(4):
        base = matrix @ numpy.linalg.qr(matrix.T @ numpy.linalg.qr(base)[0])[0]
    base = numpy.linalg.qr(base)[0]
    left, values, _ = numpy.linalg.svd((matrix.T @ base).T, full_matrices=False)
    return (base @ left[:, :count] * values[:count]).astype(numpy.float32)


def ridge(features, targets, steps=40):
    """The map of features with the least squared error plus its squared length, by conjugate gradients."""
    found = numpy.zeros((features.shape[1], targets.shape[1]), numpy.float32)
    left = features.T @ targets
    way, size = left.copy(), (left * left).sum(0)
    for _ in range(steps):
        step = features.T @ (features @ way) + way
        length = size / numpy.maximum((way * step).sum(0), 1e-12)
        found, left = found + length * way, left - length * step
        fresh = (left * left).sum(0)
        way, size = left + fresh / numpy.maximum(size, 1e-12) * way, fresh
    return found


def svd(features, labels, random):
    """Label rows of length 1 in their 300 largest directions, and ridge regression from the features to these."""
    return ridge(features, singular_vectors(rows.scale(labels), 300, random))


def ranked(features, labels, random, size=100, epochs=15, rate=0.1, sharpness=10):
    """A map learned step by step (AdaGrad), so that a row is nearer to one that shares a label than to others.

    In each batch of pairs, a softmax over the cosines of a row with the second rows of all pairs is to be what the
    squared cosines of their labels are.
    """
    has_labels, by_label, scaled = numpy.flatnonzero(numpy.diff(labels.indptr)), labels.tocsc(), rows.scale(labels)
    found = (random.standard_normal((features.shape[1], size)) / numpy.sqrt(size)).astype(numpy.float32)
    past = numpy.full((features.shape[1], 1), 1e-8, numpy.float32)

    def drawn(matrix, ids):
        starts, ends = matrix.indptr[ids], matrix.indptr[ids + 1]
        return matrix.indices[starts + (random.random(len(ids)) * (ends - starts)).astype(int)]

    for _ in range(epochs):
        order = random.permutation(has_labels)
        for start in range(0, len(order), 256):
            first = order[start:start + 256]
            second = drawn(by_label, drawn(labels, first))
            wanted = (scaled[first] @ scaled[second].T).toarray() ** 2
            wanted /= numpy.maximum(wanted.sum(1, keepdims=True), 1e-9)
            both = sparse.vstack([features[first], features[second]]).tocsr()
            there = both @ found
            length = numpy.maximum(numpy.linalg.norm(there, axis=1, keepdims=True), 1e-6)
            there /= length
            one, other = there[:len(first)], there[len(first):]
            says = sharpness * one @ other.T
            says = numpy.exp(says - says.max(1, keepdims=True))
            wrong = sharpness * (says / says.sum(1, keepdims=True) - wanted) / len(first)
            slope = numpy.vstack([wrong @ other, wrong.T @ one])
            slope = (slope - (slope * there).sum(1, keepdims=True) * there) / length
            columns = numpy.unique(both.indices)
            slope = both[:, columns].T @ slope
            past[columns] += (slope**2).mean(1, keepdims=True)
            found[columns] -= rate * slope / numpy.sqrt(past[columns])
    return found


KINDS = {"svd": (svd, 1), "clusters": (svd, LEARNERS), "ranked": (ranked, 1)}


def near(learn, part, count, nearest):
    """For each learner the neighbours of the rows of a part that are asked."""
    map_of, learners = learn
    if learners == 1:
        found = map_of(part.weighted, part.labels, numpy.random.default_rng(5))
        return [nearest(unit(part.weighted @ found), unit(part.asked @ found), count)]
    return [in_clusters(map_of, part, count, nearest, numpy.random.default_rng(seed)) for seed in range(learners)]


def in_clusters(map_of, part, count, nearest, random):
    """The neighbours of each row in its cluster, which has a space of its own."""
    means, clusters = k_means(part.weighted, CLUSTERS, random)
    asked = numpy.argmax(part.asked @ means.T, axis=1)
    found = [numpy.zeros((part.asked.shape[0], count), int), numpy.zeros((part.asked.shape[0], count))]
    for cluster in numpy.unique(asked):
        learned, here = numpy.flatnonzero(clusters == cluster), numpy.flatnonzero(asked == cluster)
        own = map_of(part.weighted[learned], part.labels[learned], random)
        ids, cosines = nearest(unit(part.weighted[learned] @ own), unit(part.asked[here] @ own), count)
        found[0][here, :ids.shape[1]], found[1][here, :ids.shape[1]] = learned[ids], cosines
    return found
