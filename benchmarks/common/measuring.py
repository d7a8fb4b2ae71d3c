"""Measurements for benchmarks and size tests: best time of several rounds, peak memory, random masses."""

import time
import tracemalloc

import numpy as np


def best_time(call, rounds=3, clock=time.perf_counter):
    """Return the seconds of the fastest round; slower rounds are disturbed by other processes."""
    times = []
    for _ in range(rounds):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def per_iteration(fit, iterations):
    """Return CPU seconds per iteration, from the difference between a long and a short fit."""
    marks = []
    for count in (1, 1 + iterations):
        start = time.process_time()
        model = fit(count)
        marks.append((time.process_time() - start, model.n_iter_))
    (short, n_iter_short), (long, n_iter_long) = marks
    return (long - short) / (n_iter_long - n_iter_short)


def peak_bytes(call):
    """Return the peak number of bytes that NumPy and Python allocate during a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def random_masses(n_rows, n_sets, dtype=np.float64, seed=0):
    """Return random mass functions with positive mass on every set."""
    masses = np.random.default_rng(seed).random((n_rows, n_sets), dtype=dtype)
    masses /= masses.sum(axis=1, keepdims=True)
    return masses
