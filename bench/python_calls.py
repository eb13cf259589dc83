#!/usr/bin/env python3
"""What a call of the Python package costs beyond the work: one row at a time against a batch.

    python bench/python_calls.py MODEL ROWS [--rows N] [--batch N]

MODEL is a model's folder, ROWS a file of vectors. The same rows are predicted in batches, with a
`predict_top_k` for each row, and with a `predict_arrays` for each row, which checks nothing: on one
thread, by the processor's time, and on all threads, by the clock. Times are the least of some rounds:
other work on the machine adds to them, and never takes away.
"""

import argparse
import time

import labelwood


def least(rounds: int, now, work) -> float:
    """The seconds that the quickest of some rounds takes."""
    seconds = []
    for _ in range(rounds):
        start = now()
        work()
        seconds.append(now() - start)
    return min(seconds)


def measure(options: argparse.Namespace, n_jobs: int | None) -> dict[str, float]:
    """Microseconds a row: of a batch, and of each kind of call."""
    estimator = labelwood.load(options.model).set_params(n_jobs=n_jobs)
    now = time.process_time if n_jobs == 1 else time.perf_counter
    read = labelwood.datasets.read(options.data, lenient=True, n_features=estimator.n_features_in_)
    rows, k = read.X[: options.rows], options.top_k
    count = rows.shape[0]
    batches = [rows[start : start + options.batch] for start in range(0, count, options.batch)]
    single = [rows[[at]] for at in range(count)]
    arrays = [(row.indptr, row.indices, row.data) for row in single]

    def each_batch():
        for batch in batches:
            estimator.predict_top_k(batch, k)

    def each_checked():
        for row in single:
            estimator.predict_top_k(row, k)

    def each_unchecked():
        for row in arrays:
            estimator.predict_arrays(*row, k)

    kinds = {
        "batch": each_batch,
        "predict_top_k": each_checked,
        "predict_arrays": each_unchecked,
    }
    return {name: 1e6 * least(options.rounds, now, work) / count for name, work in kinds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--top-k", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for title, n_jobs in [("one thread", 1), ("all threads", None)]:
        figures = measure(options, n_jobs)
        share = figures["batch"]
        print(f"{title}\n  {f'a row of {options.batch}':18} {share:8.0f} us")
        for name in ("predict_top_k", "predict_arrays"):
            print(f"  {name:18} {figures[name]:8.0f} us  {figures[name] - share:+8.0f} us")


if __name__ == "__main__":
    main()
