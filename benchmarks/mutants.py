"""Whether tests notice errors in central lines: ``python benchmarks/mutants.py [FILE ...]``.

Each mutant of `mutant_list` is put into a copy of the tree that has kernels of its own and no folder ``shared``
beside it; then the tests that belong to the file are run. A mutant is killed if one of them fails, or if they take
much longer than they do without it. Tests with a Dask cluster are left out: on a busy machine they may fail by
themselves. Needs the virtual environment of an editable install to be active, for ninja and meson. With names of
files, such as ``cluster/pairs.py``, only their mutants are tried again.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import record
from mutant_list import FROM_THE_REVIEW, MUTANTS, tests_of

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 400
# The loader of an editable install would find the original in the place of the copy.
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
        self.root = folder / "evidential-learn"
        self.source = self.root / "src" / "evlearn"
        listed = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
            if name and (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, self.root / name)
        (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(folder), str(self.root / "src")]),
            "PYTHONDONTWRITEBYTECODE": "1",  # a file may change twice within the second that a cache looks at
            "OMP_NUM_THREADS": "1",
        }
        subprocess.run(["meson", "setup", "build"], cwd=self.root, check=True, stdout=subprocess.DEVNULL)
        self.build()
        told = self._python("-c", "import evlearn.kernels.evclus as one; print(one.__file__)", check=True)
        if Path(told.stdout.strip()).parent != self.source / "kernels":
            raise RuntimeError(f"the copy does not use its own kernels but {told.stdout.strip()}")

    def build(self):
        """Compile what has changed; a kernel that does not compile is an error of the list."""
        done = subprocess.run(["ninja", "-C", "build"], cwd=self.root, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"a kernel does not compile:\n{done.stdout[-3000:]}")
        for library in (self.root / "build").glob("*.so"):
            shutil.copyfile(library, self.source / "kernels" / library.name)

    def put(self, file, text):
        """Write a source file, and compile the kernels that are made of it."""
        (self.source / file).write_text(text)
        if not file.endswith(".py"):
            self.build()

    def test(self, tests, seconds=SECONDS):
        """Run tests until one fails.

        Parameters
        ----------
        tests : iterable of str
            Files and folders; those that are not there are left out.
        seconds : float or None, default=SECONDS
            How long they may take.

        Returns
        -------
        outcome : {"passed", "failed", "too long"}
            What happened.
        test : str
            The test that failed, if there is one.
        took : float
            How many seconds it took.
        """
        begin = time.perf_counter()
        present = [name for name in dict.fromkeys(tests) if (self.root / name).exists()]
        options = ["-x", "-q", "-m", "not size", "-k", "not dask", "-p", "no:cacheprovider", "--tb=no"]
        done = self._python("-m", "pytest", *options, *present, seconds=seconds)
        took = round(time.perf_counter() - begin, 1)
        if done is None:
            return "too long", "", took
        if done.returncode == 0:
            return "passed", "", took
        if done.returncode in (4, 5):
            raise RuntimeError(f"there are no such tests: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        told = [line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return "failed", told[0] if told else f"the process ended with {done.returncode}", took

    def _python(self, *arguments, seconds=SECONDS, check=False):
        """Run Python in the copy; None if it takes longer than it may."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its own session: no other process is in it
            process.communicate()
            return None
        if check and process.returncode:
            raise RuntimeError(stderr)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def mutated(mutant, root=ROOT):
    """The source of a file without and with the error of a mutant."""
    text = (root / "src" / "evlearn" / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(
            f"the list of mutants is out of date: {mutant.old!r} stands {text.count(mutant.old)} times in "
            f"{mutant.file}."
        )
    return text, text.replace(mutant.old, mutant.new)


def attempt(copy, mutant):
    """What the tests of a file say to one of its mutants."""
    original, wrong = mutated(mutant, copy.root)
    copy.put(mutant.file, wrong)
    try:
        outcome, test, seconds = copy.test(tests_of(mutant.file))
    finally:
        copy.put(mutant.file, original)
    return {
        "file": mutant.file,
        "old": mutant.old,
        "new": mutant.new,
        "why": mutant.why,
        "from_the_review": mutant in FROM_THE_REVIEW,
        "equivalent": mutant.equivalent,
        "outcome": "survived" if outcome == "passed" else "killed",
        "by": test or ("" if outcome == "passed" else outcome),
        "seconds": seconds,
    }


def summary(found):
    """How many of the mutants that can be noticed were."""
    counted = [one for one in found if not one["equivalent"]]
    killed = sum(one["outcome"] == "killed" for one in counted)
    return {"mutants": len(counted), "killed": killed, "equivalent": len(found) - len(counted)}


def known():
    """The outcomes of the last study, by file and texts."""
    if not (record.RESULTS / "mutants.json").exists():
        return {}
    return {(one["file"], one["old"], one["new"]): one for one in record.read("mutants")["outcomes"]}


def main():
    """Try all mutants, or those of the files that are named, and write what was found."""
    files = sys.argv[1:]
    chosen = [one for one in MUTANTS if not files or one.file in files]
    for mutant in chosen:
        mutated(mutant)
    found = known() if files else {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        outcome, test, _ = copy.test([name for one in chosen for name in tests_of(one.file)], seconds=None)
        if outcome != "passed":
            raise RuntimeError(f"the tests fail without any mutant: {test}")
        for mutant in chosen:
            one = attempt(copy, mutant)
            found[mutant.file, mutant.old, mutant.new] = one
            print(
                f"{one['outcome']:<9}{one['seconds']:>7} s  {mutant.file}: {mutant.new!r}  {one['by']}", flush=True
            )
    outcomes = [found[key] for one in MUTANTS if (key := (one.file, one.old, one.new)) in found]
    told = summary(outcomes)
    record.write("mutants", told | {"outcomes": outcomes})
    print(f"{told['killed']} of {told['mutants']} killed; {told['equivalent']} cannot be noticed")


if __name__ == "__main__":
    main()
