"""How far labelwood and a peer are apart: ratios of their costs, and paired bootstrap intervals of their accuracy."""

import numpy

import systems

DRAWS = 10_000


def interval(ours, theirs, cut):
    """The difference in P@cut in percent, and its 95 % interval over draws of the test rows.

    The arguments are the hits of each row, paired. Rows with the same difference are drawn together: how many of each
    a draw has is multinomial.
    """
    values, counts = numpy.unique((ours - theirs) * 100 / cut, return_counts=True)
    total = counts.sum()
    draws = numpy.random.default_rng(1).multinomial(total, counts / total, size=DRAWS)
    low, high = numpy.percentile(draws @ values / total, [2.5, 97.5])
    return [float(values @ counts / total), float(low), float(high)]


def ratio(cells, name):
    ours, theirs = (one.get(name) for one in cells)
    return ours / theirs if ours and theirs else None


def between(cells, hits, cuts):
    """Every peer, on every kind of rows, against its counterpart of ours on the same kind, or on the raw rows of which
    it makes that kind by itself."""
    found = []
    for peer in systems.PEERS:
        ours = systems.ALL[peer.against]
        for kind in ["raw", "unit", "weighted"]:
            here = "raw" if kind in ours.own else kind
            pair = [f"{ours.name} {here}", f"{peer.name} {kind}"]
            if any(one not in hits or "failed" in cells[one] for one in pair):
                continue
            both = [cells[one] for one in pair]
            found.append({
                "peer": peer.name,
                "ours": ours.name,
                "rows": kind,
                "ratios": {name: ratio(both, name) for name in ["fit", "whole", "predict", "model", "memory"]},
                "points": {
                    f"p@{cut}": interval(hits[pair[0]][:, at], hits[pair[1]][:, at], cut) for at, cut in enumerate(cuts)
                },
            })
    return found
