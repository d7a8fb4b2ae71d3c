"""What this version costs beside another one: both are asked in turn, in one run, and CPU time is compared.

Run it with ``python -m benchmarks.regression.against PYTHON [--rounds 15]``, where PYTHON is the interpreter of an
environment in which the other version is installed. Each version has one process; a round asks both for the same
case, and who goes first changes from round to round. The ratio is that of the fastest rounds: on a shared machine
the slower ones measure the neighbours. Files that are loaded were written by the other version, so both read the
same bytes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path


def blobs(n_samples, n_features, n_clusters=4, dtype="float64"):
    """Samples around some centres."""
    import numpy as np

    random = np.random.default_rng(0)
    centers = 6 * random.standard_normal((n_clusters, n_features))
    noise = random.standard_normal((n_samples, n_features))
    return (centers[np.arange(n_samples) % n_clusters] + noise).astype(dtype)


def prototype_cases():
    """Fits and predictions of the prototype methods."""
    from evlearn.cluster import CCM, ECM

    for method in (ECM, CCM):
        for n_features in (2, 10, 50):
            for dtype in ("float32", "float64"):
                X = blobs(400_000 // n_features, n_features, dtype=dtype)
                model = method(4, random_state=0, max_iter=20, tol=0)
                name = f"{method.__name__} {n_features} features {dtype}"
                yield f"{name}: fit", lambda model=model, X=X: model.fit(X)
                yield f"{name}: predict_mass", lambda model=model, X=X: model.predict_mass(X)
    X = blobs(20_000, 8)
    adaptive = ECM(4, metric="adaptive", random_state=0, max_iter=10, tol=0)
    yield "ECM adaptive 8 features: fit", lambda: adaptive.fit(X)
    yield "ECM adaptive 8 features: predict_mass", lambda: adaptive.predict_mass(X)


def other_cases():
    """Fits and predictions of other methods."""
    from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier
    from evlearn.cluster import BPEC, CECM, EVCLUS, RECM, BootClus, ECMdd, EKNNClus
    from evlearn.mixture import ParsimoniousGaussianMixture

    X, wide, small = blobs(2_000, 4), blobs(4_000, 32), blobs(300, 4)
    y = [row % 4 for row in range(len(X))]
    models = {
        "EVCLUS": (EVCLUS(4, random_state=0), small),
        "EVCLUS landmarks": (EVCLUS(4, solver="landmark", random_state=0), X),
        "EKNNClus 4 features": (EKNNClus(random_state=0), X),
        "EKNNClus 32 features": (EKNNClus(random_state=0), wide),
        "BPEC": (BPEC(4), X),
        "CECM": (CECM(4, random_state=0), small),
        "RECM": (RECM(4, random_state=0), small),
        "ECMdd": (ECMdd(4, random_state=0), small),
        "BootClus": (BootClus(4, n_bootstrap=20, random_state=0), small),
        "ParsimoniousGaussianMixture": (ParsimoniousGaussianMixture(4, random_state=0), X),
    }
    for name, (model, data) in models.items():
        yield f"{name}: fit", lambda model=model, data=data: model.fit(data)
        ask = "predict_mass" if hasattr(model, "predict_mass") else "predict_proba"
        yield f"{name}: {ask}", lambda model=model, data=data, ask=ask: getattr(model, ask)(data)
    for classifier in (EvidentialKNNClassifier(), EvidentialNeuralClassifier(random_state=0, max_iter=20)):
        name = type(classifier).__name__
        yield f"{name}: fit", lambda classifier=classifier: classifier.fit(X, y)
        yield f"{name}: predict_mass", lambda classifier=classifier: classifier.predict_mass(X)


def file_cases(folder, *, write):
    """Reading of models and partitions."""
    import numpy as np

    import evlearn
    from evlearn.belief import FocalSets
    from evlearn.cluster import ECM, EVCLUS, RECM, BootClus, ECMdd, EKNNClus

    X = blobs(600, 10)
    makers = {
        "ECM": lambda: ECM(4, random_state=0).fit(X),
        "EVCLUS": lambda: EVCLUS(4, random_state=0).fit(X),
        "RECM": lambda: RECM(4, random_state=0).fit(X),
        "ECMdd": lambda: ECMdd(4, random_state=0).fit(X),
        "EKNNClus": lambda: EKNNClus(random_state=0).fit(X),
        "BootClus": lambda: BootClus(4, n_bootstrap=20, random_state=0).fit(X[:200]),
    }
    for name, make in makers.items():
        path = Path(folder) / f"{name}.json"
        if write:
            evlearn.save_model(make(), path)
        yield f"load_model {name}", lambda path=path: evlearn.load_model(path)
    for name, n_samples in (("partition.json", 20_000), ("partition.npz", 500_000)):
        path = Path(folder) / name
        if write:
            masses = np.random.default_rng(0).dirichlet(np.ones(12), n_samples)
            evlearn.CredalPartition(masses, FocalSets.pairs(4)).save(path)
        yield f"CredalPartition.load {name[10:]}", lambda path=path: evlearn.CredalPartition.load(path)


def serve(folder, *, write):
    """Answer questions: a line with a case in, its CPU seconds out."""
    warnings.simplefilter("ignore")
    cases = dict([*prototype_cases(), *other_cases(), *file_cases(folder, write=write)])
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        start, calls = time.process_time(), 0
        while calls == 0 or time.process_time() - start < 0.05:  # short cases many times
            cases[json.loads(line)]()
            calls += 1
        print((time.process_time() - start) / calls, flush=True)


def start(python, folder, *, write):
    """A process of one version, and the names of its cases."""
    command = [python, "-m", "benchmarks.regression.against", "--serve", folder, *(["--write"] if write else [])]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())


def ask(process, case):
    """CPU seconds of a case."""
    process.stdin.write(json.dumps(case) + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(python, rounds, chosen):
    """Cases, with the CPU seconds of both versions and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        before, names = start(python, folder, write=True)
        after, _ = start(sys.executable, folder, write=False)
        found = []
        for name in names:
            if chosen not in name:
                continue
            times = {before: [], after: []}
            for number in range(rounds):
                for process in (before, after) if number % 2 else (after, before):
                    times[process].append(ask(process, name))
            fastest = min(times[before]), min(times[after])
            found.append({"case": name, "before": fastest[0], "now": fastest[1], "ratio": fastest[1] / fastest[0]})
            print(f"{name:48} {fastest[0]:10.5f} {fastest[1]:10.5f} {fastest[1] / fastest[0]:7.3f}", flush=True)
        for process in (before, after):
            process.stdin.close()
            process.wait()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", nargs="?", help="the interpreter that has the other version")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--case", default="", help="only cases whose name has this text in it")
    parser.add_argument("--name", help="write the results to results/NAME.json")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, write=options.write)
        return
    found = compare(options.python, options.rounds, options.case)
    if options.name:
        from benchmarks.common import record

        record.write(options.name, {"rounds": options.rounds, "cases": found})


if __name__ == "__main__":
    main()
