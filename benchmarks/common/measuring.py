"""How benchmarks and size tests measure: best time of several rounds, peak memory, random masses."""

import time
import tracemalloc

import numpy as np


def best_time(call, rounds=3, clock=time.perf_counter):
    """Seconds of the fastest round: on a shared machine the others measure the neighbours."""
    times = []
    for _ in range(rounds):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def per_iteration(fit, iterations):
    """CPU seconds of the iterations that a long fit makes beyond a short one; some end early."""
    marks = []
    for count in (1, 1 + iterations):
        start = time.process_time()
        model = fit(count)
        marks.append((time.process_time() - start, model.n_iter_))
    (short, few), (long, many) = marks
    return (long - short) / (many - few)


def peak_bytes(call):
    """Bytes that NumPy and Python allocate at the most beyond what was there before the call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def random_masses(n_rows, n_sets, dtype=np.float64, seed=0):
    """Mass functions with some mass on every set."""
    masses = np.random.default_rng(seed).random((n_rows, n_sets), dtype=dtype)
    masses /= masses.sum(axis=1, keepdims=True)
    return masses
