"""Mutation testing of central lines: ``python -m benchmarks.studies.robustness.mutants``.

Each mutant of `mutant_list` is applied to a copy of the tree without reference folder; affected kernels are
compiled again. Then the tests of the file are run. A mutant is killed if a test fails, or if the tests take too
long. This requires an active virtual environment with an editable install, for meson and ninja. With file names as
arguments, such as ``mixture/em.py``, only their mutants are run again, and the record also contains the earlier
commands.
"""

import contextlib
import importlib
import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from benchmarks.common import record
from benchmarks.common.reference import ROOT
from benchmarks.studies.robustness.mutant_list import FROM_THE_REVIEW, FROM_THE_THIRD_REVIEW, MUTANTS, tests_of

SECONDS = 900
# Imports of tests take longer than most mutants need to be killed, so modules are loaded once and runs are forks.
PRELOADED = ("numpy", "scipy.stats", "hypothesis", "pandas", "polars", "sklearn.cluster", "sklearn.pipeline")
PRELOADED += ("sklearn.utils.estimator_checks", "sklearn.neighbors", "sklearn.datasets")
# Tests of Dask clusters and of timing fail at random on a busy machine.
OPTIONS = ("-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "xdist.plugin")
OPTIONS += ("-k", "not dask and not is_quick and not slow_down and not slow_the")
# Slow tests are run if no fast test fails.
TIERS = ("not slow and not long and not timing", "slow and not long and not timing")
# For subprocesses of tests: the loader of an editable install would find the original instead of the copy.
SITECUSTOMIZE = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "MesonpyMetaFinder"]
"""


class Copy:
    """A copy of the tree for mutants.

    Parameters
    ----------
    folder : Path
        Empty folder.
    """

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "evidential-learn"
        self.kernels = self.root / "src" / "evlearn" / "kernels"
        copy_files(self.root)
        (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
        self.compiled = compiled_kernels()
        for library in self.compiled:
            shutil.copyfile(library, self.kernels / library.name)
        subprocess.run(["meson", "setup", "build"], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    @contextlib.contextmanager
    def mutated(self, mutant):
        """Apply a mutant to the copy, temporarily."""
        path = self.root / "src" / "evlearn" / mutant.file
        original = path.read_text()
        path.write_text(mutated_source(mutant))
        try:
            for library in self._touched(mutant.file):
                self._compile(library.name)
            yield
        finally:
            path.write_text(original)
            for library in self._touched(mutant.file):
                shutil.copyfile(library, self.kernels / library.name)

    def test(self, tests, seconds=SECONDS):
        """Run the fast tests, and then the slow ones, until one fails.

        Parameters
        ----------
        tests : iterable of str
            Files and folders.
        seconds : float, default=SECONDS
            Time limit of each tier.

        Returns
        -------
        by : str
            First test that failed, or another reason of failure; empty if all passed.
        took : float
            Elapsed seconds.
        """
        by, took = self._test(tests, TIERS[0], seconds)
        if not by:
            by, seconds_of_slow_tests = self._test(tests, TIERS[1], seconds)
            took += seconds_of_slow_tests
        return by, round(took, 1)

    def _test(self, tests, markers, seconds):
        begin, log = time.perf_counter(), self.folder / "log"
        process = os.fork()
        if process == 0:
            self._run(["-m", markers, *dict.fromkeys(tests)], log)
        while not (status := os.waitpid(process, os.WNOHANG))[0]:
            if time.perf_counter() - begin > seconds:
                os.killpg(process, signal.SIGKILL)  # the session contains no other processes
                os.waitpid(process, 0)
                return "too long", round(time.perf_counter() - begin, 1)
            time.sleep(0.05)
        code, took = os.waitstatus_to_exitcode(status[1]), round(time.perf_counter() - begin, 1)
        lines = log.read_text(errors="replace").splitlines()
        if code == 5 and markers == TIERS[1]:  # there are no slow tests
            code = 0
        if code in (4, 5):
            raise RuntimeError("\n".join(["these tests cannot be run", *lines[-20:]]))
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        names = [line.split(" ", 1)[1].split(" - ")[0] for line in failed]
        return "" if code == 0 else (names or [f"the process ended with {code}"])[0], took

    def _touched(self, file):
        """Return the kernels that include a file: ``gram_body.h`` is included by ``evclus.pyx``."""
        owners = {"gram": "evclus", "faces": "simplex_qp"}
        name = Path(file).stem.removesuffix("_body")
        return [library for library in self.compiled if library.name.split(".")[0] == owners.get(name, name)]

    def _compile(self, library):
        process = subprocess.run(["ninja", "-C", "build", library], cwd=self.root, capture_output=True, text=True)
        if process.returncode:
            raise RuntimeError(f"{library} does not compile:\n{process.stdout[-3000:]}")
        shutil.copyfile(self.root / "build" / library, self.kernels / library)

    def _run(self, arguments, log):
        """Run pytest in a fork, and exit."""
        os.setsid()
        os.chdir(self.root)
        with log.open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(item, "wb")) for item in (1, 2))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(self.folder), str(self.root / "src")])
        # A file may change more often than the resolution of time stamps of cached bytecode.
        os.environ["PYTHONDONTWRITEBYTECODE"] = os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        sys.dont_write_bytecode = True
        # Tests must import from the copy, not from the working directory of this process.
        sys.path = [str(self.root / "src"), *(item for item in sys.path if Path(item).resolve() != ROOT)]
        for name in [item for item in sys.modules if item.split(".")[0] == "benchmarks"]:
            del sys.modules[name]
        os.environ.pop("EVLEARN_REFERENCE", None)
        exec(SITECUSTOMIZE)
        code = 3
        try:
            import evlearn

            assert Path(evlearn.__file__).is_relative_to(self.root)
            code = int(pytest.main([*OPTIONS, *arguments]))
        finally:
            sys.stdout.flush()
            os._exit(code)


def copy_files(root):
    """Copy the files of the project that git does not ignore."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    for name in subprocess.check_output(command, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)


def compiled_kernels():
    """Return the libraries of the editable install, which compiles changed files when it is imported."""
    names = [path.stem for path in (ROOT / "src" / "evlearn" / "kernels").glob("*.pyx")]
    code = f"for one in {names}: print(__import__('evlearn.kernels.' + one, fromlist=['_']).__file__)"
    output = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT / "tests", text=True)
    return [Path(line) for line in output.split()]


def mutated_source(mutant):
    """Return the source of a file with a mutant."""
    text = (ROOT / "src" / "evlearn" / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(
            f"the list of mutants is out of date: {mutant.old!r} stands {text.count(mutant.old)} times in "
            f"{mutant.file}."
        )
    return text.replace(mutant.old, mutant.new)


def attempt(copy, mutant):
    """Return the outcome of the tests of a file for one of its mutants."""
    with copy.mutated(mutant):
        by, seconds = copy.test(tests_of(mutant.file))
    return {
        "file": mutant.file,
        "old": mutant.old,
        "new": mutant.new,
        "why": mutant.consequence,
        "from_the_review": mutant in FROM_THE_REVIEW + FROM_THE_THIRD_REVIEW,
        "equivalent": mutant.equivalent,
        "killed": bool(by),
        "by": by,
        "seconds": seconds,
    }


def summary(outcomes):
    """Return the numbers of mutants, of killed and of equivalent ones."""
    detectable = [outcome for outcome in outcomes if not outcome["equivalent"]]
    killed = sum(outcome["killed"] for outcome in detectable)
    return {"mutants": len(detectable), "killed": killed, "equivalent": len(outcomes) - len(detectable)}


def key(mutant):
    """Return a key that identifies a mutant."""
    facts = mutant if isinstance(mutant, dict) else mutant._asdict()
    return facts["file"], facts["old"], facts["new"]


def main():
    """Run all mutants, or those of the selected files, and write the results."""
    files = sys.argv[1:]
    chosen = [mutant for mutant in MUTANTS if not files or mutant.file in files]
    for mutant in chosen:
        mutated_source(mutant)
    recorded = record.load("mutants") if files else {"outcomes": []}
    results = {key(outcome): outcome for outcome in recorded["outcomes"]}
    # This must precede the import of NumPy, because a process with threads cannot be forked.
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in PRELOADED:
        if importlib.util.find_spec(name.split(".")[0]):
            importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        by, _ = copy.test([name for mutant in chosen for name in tests_of(mutant.file)], seconds=10 * SECONDS)
        if by:
            raise RuntimeError(f"the tests fail without any mutant: {by}")
        for mutant in chosen:
            outcome = results[key(mutant)] = attempt(copy, mutant)
            name = outcome["by"] or "SURVIVED"
            print(f"{outcome['seconds']:>7} s   {mutant.file}   {mutant.new!r}   {name}", flush=True)
    outcomes = [results[key(mutant)] for mutant in MUTANTS if key(mutant) in results]
    counts = summary(outcomes)
    additional = {"other_files": [*recorded.get("other_files", []), recorded["command"]]} if files else {}
    record.write("mutants", counts | additional | {"outcomes": outcomes}, former=recorded if files else None)
    print(f"{counts['killed']} of {counts['mutants']} killed; {counts['equivalent']} are equivalent")


if __name__ == "__main__":
    main()
