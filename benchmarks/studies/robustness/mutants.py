"""Whether tests notice errors in central lines: ``python -m benchmarks.studies.robustness.mutants``.

Each mutant of `mutant_list` is put into a copy of the tree that has no folder of references; a kernel that is
touched is compiled anew. Then the tests that belong to the file are run. A mutant is killed if one of them fails,
or if they take much longer than they should. Needs the virtual environment of an editable install to be active,
for meson and ninja. With names of files as arguments, such as ``mixture/em.py``, only their mutants are tried
again, and the result names the earlier commands as well.
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
# What tests import takes longer to load than most mutants to be killed: it is loaded once, and runs are forks.
LOADED_ONCE = ("numpy", "scipy.stats", "hypothesis", "pandas", "polars", "sklearn.cluster", "sklearn.pipeline")
LOADED_ONCE += ("sklearn.utils.estimator_checks", "sklearn.neighbors", "sklearn.datasets")
# Dask clusters and clocks fail by themselves on a busy machine.
OPTIONS = ("-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "xdist.plugin")
OPTIONS += ("-m", "not slow and not long and not timing")
OPTIONS += ("-k", "not dask and not is_quick and not slow_down and not slow_the")
# For processes that tests start: the loader of an editable install would find the original instead of the copy.
SITECUSTOMIZE = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "MesonpyMetaFinder"]
"""


class Copy:
    """A copy of the tree in which errors can be made.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "evidential-learn"
        self.kernels = self.root / "src" / "evlearn" / "kernels"
        listed = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
            if name and (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, self.root / name)
        (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
        self.compiled = compiled_kernels()
        for library in self.compiled:
            shutil.copyfile(library, self.kernels / library.name)
        subprocess.run(["meson", "setup", "build"], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    @contextlib.contextmanager
    def mutated(self, mutant):
        """The copy with the error of a mutant, for a while."""
        path = self.root / "src" / "evlearn" / mutant.file
        original = path.read_text()
        path.write_text(with_error(mutant))
        try:
            for library in self._touched(mutant.file):
                self._compile(library.name)
            yield
        finally:
            path.write_text(original)
            for library in self._touched(mutant.file):
                shutil.copyfile(library, self.kernels / library.name)

    def test(self, tests, seconds=SECONDS):
        """Run tests until one fails.

        Parameters
        ----------
        tests : iterable of str
            Files and folders.
        seconds : float, default=SECONDS
            How long they may take.

        Returns
        -------
        by : str
            The test that failed, or what else happened; empty if all passed.
        took : float
            How many seconds it took.
        """
        begin, log = time.perf_counter(), self.folder / "log"
        process = os.fork()
        if process == 0:
            self._run(list(dict.fromkeys(tests)), log)
        while not (ended := os.waitpid(process, os.WNOHANG))[0]:
            if time.perf_counter() - begin > seconds:
                os.killpg(process, signal.SIGKILL)  # a session of its own: nothing else is in it
                os.waitpid(process, 0)
                return "too long", round(time.perf_counter() - begin, 1)
            time.sleep(0.05)
        code, took = os.waitstatus_to_exitcode(ended[1]), round(time.perf_counter() - begin, 1)
        lines = log.read_text(errors="replace").splitlines()
        if code in (4, 5):
            raise RuntimeError("\n".join(["these tests cannot be run", *lines[-20:]]))
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        told = [line.split(" ", 1)[1].split(" - ")[0] for line in failed]
        return "" if code == 0 else (told or [f"the process ended with {code}"])[0], took

    def _touched(self, file):
        """The kernels that a file is a part of: ``gram_body.h`` is one of ``evclus.pyx``."""
        owners = {"gram": "evclus"}
        name = Path(file).stem.removesuffix("_body")
        return [one for one in self.compiled if one.name.split(".")[0] == owners.get(name, name)]

    def _compile(self, library):
        done = subprocess.run(["ninja", "-C", "build", library], cwd=self.root, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{library} does not compile:\n{done.stdout[-3000:]}")
        shutil.copyfile(self.root / "build" / library, self.kernels / library)

    def _run(self, tests, log):
        """In a fork: run the tests and end."""
        os.setsid()
        os.chdir(self.root)
        with log.open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(one, "wb")) for one in (1, 2))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(self.folder), str(self.root / "src")])
        # A file may change twice within the second that caches of bytecode look at.
        os.environ["PYTHONDONTWRITEBYTECODE"] = os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        sys.dont_write_bytecode = True
        # Tests import what the copy has, not what this process runs from.
        sys.path = [str(self.root / "src"), *(one for one in sys.path if Path(one).resolve() != ROOT)]
        for name in [one for one in sys.modules if one.split(".")[0] == "benchmarks"]:
            del sys.modules[name]
        os.environ.pop("EVLEARN_REFERENCE", None)
        exec(SITECUSTOMIZE)
        code = 3
        try:
            import evlearn

            assert Path(evlearn.__file__).is_relative_to(self.root)
            code = int(pytest.main([*OPTIONS, *tests]))
        finally:
            sys.stdout.flush()
            os._exit(code)


def compiled_kernels():
    """The libraries of the editable install, which compiles what has changed when it is imported."""
    names = [path.stem for path in (ROOT / "src" / "evlearn" / "kernels").glob("*.pyx")]
    code = f"for one in {names}: print(__import__('evlearn.kernels.' + one, fromlist=['_']).__file__)"
    told = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT / "tests", text=True)
    return [Path(line) for line in told.split()]


def with_error(mutant):
    """The source of a file with the error of a mutant."""
    text = (ROOT / "src" / "evlearn" / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(
            f"the list of mutants is out of date: {mutant.old!r} stands {text.count(mutant.old)} times in "
            f"{mutant.file}."
        )
    return text.replace(mutant.old, mutant.new)


def attempt(copy, mutant):
    """What the tests of a file say to one of its mutants."""
    with copy.mutated(mutant):
        by, seconds = copy.test(tests_of(mutant.file))
    return {
        "file": mutant.file,
        "old": mutant.old,
        "new": mutant.new,
        "why": mutant.why,
        "from_the_review": mutant in FROM_THE_REVIEW + FROM_THE_THIRD_REVIEW,
        "equivalent": mutant.equivalent,
        "killed": bool(by),
        "by": by,
        "seconds": seconds,
    }


def summary(outcomes):
    """How many of the mutants that can be noticed were."""
    counted = [one for one in outcomes if not one["equivalent"]]
    killed = sum(one["killed"] for one in counted)
    return {"mutants": len(counted), "killed": killed, "equivalent": len(outcomes) - len(counted)}


def key(one):
    """What tells mutants from each other."""
    facts = one if isinstance(one, dict) else one._asdict()
    return facts["file"], facts["old"], facts["new"]


def main():
    """Try all mutants, or those of the files that are named, and write what was found."""
    files = sys.argv[1:]
    chosen = [one for one in MUTANTS if not files or one.file in files]
    for mutant in chosen:
        with_error(mutant)
    before = record.read("mutants") if files else {"outcomes": []}
    found = {key(one): one for one in before["outcomes"]}
    os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is there: a process with threads cannot be forked
    for name in LOADED_ONCE:
        if importlib.util.find_spec(name.split(".")[0]):
            importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        by, _ = copy.test([name for one in chosen for name in tests_of(one.file)], seconds=10 * SECONDS)
        if by:
            raise RuntimeError(f"the tests fail without any mutant: {by}")
        for mutant in chosen:
            one = found[key(mutant)] = attempt(copy, mutant)
            told = one["by"] or "SURVIVED"
            print(f"{one['seconds']:>7} s   {mutant.file}   {mutant.new!r}   {told}", flush=True)
    outcomes = [found[key(one)] for one in MUTANTS if key(one) in found]
    told = summary(outcomes)
    others = {"other_files": [*before.get("other_files", []), before["command"]]} if files else {}
    record.write("mutants", told | others | {"outcomes": outcomes})
    print(f"{told['killed']} of {told['mutants']} killed; {told['equivalent']} more cannot be noticed")


if __name__ == "__main__":
    main()
