"""Faults that the checks must detect: ``python -m benchmarks.studies.robustness.planted_faults``.

Each fault is put into a copy of the tree, and the target of the Makefile that should detect it is run there: the
fastest one in which a developer would see it. For the tiers `test` and `test-all` only the tests of the file are
run, with the markers of the tier. Each command must succeed without a fault. With kinds as arguments, only these
are run again. This requires the environment of CONTRIBUTING.md.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import record
from benchmarks.common.reference import ROOT
from benchmarks.studies.robustness.mutants import SITECUSTOMIZE, compiled_kernels, copy_files

#: Markers of the tiers, as in the Makefile.
FREQUENT = "not long and not timing and not integration"
MARKERS = {"test": f"not slow and {FREQUENT}", "test-all": FREQUENT}


class Fault(NamedTuple):
    """A fault, and the target of the Makefile that detects it.

    Attributes
    ----------
    kind : str
        Kind of the fault; a unique name.
    tier : str
        Target of the Makefile.
    file : str
        Pattern of the path of the file, which exists exactly once.
    old : str
        Original text, which occurs in the file.
    new : str
        Text that replaces its first occurrence.
    message : str
        Regular expression for the output of the target.
    tests : tuple of str
        Tests of the tiers `test` and `test-all`: files, folders or tests.
    """

    kind: str
    tier: str
    file: str
    old: str
    new: str
    message: str
    tests: tuple[str, ...] = ()


FAULTS = (
    Fault(
        "formula",
        "smoke",
        "src/evlearn/belief/revision.py",
        "return _normalize_weights(values @ shares.astype(values.dtype))",
        "return _normalize_weights(values @ shares.astype(values.dtype)) ** 2",
        "FAILED .*test_a_law_holds",
    ),
    Fault(
        "verdict rule",
        "test",
        "src/evlearn/partition/verdict.py",
        "required = masses[:, 1:].sum(axis=1) * level",
        "required = masses.sum(axis=1) * level",
        "FAILED .*test_verdict",
        ("tests/partition/test_verdict.py",),
    ),
    Fault(
        "bound of a file reader",
        "test",
        "src/evlearn/**/archives.py",
        "if sum(info.file_size for info in members) > size:",
        "if max(info.file_size for info in members) > size:",
        "FAILED .*test_archives",
        ("tests/**/test_archives.py",),
    ),
    Fault(
        "doctest",
        "test",
        "src/evlearn/belief/transforms.py",
        "array([0. , 0.8, 0.5, 1. ])",
        "array([0. , 0.8, 0.6, 1. ])",
        "FAILED src/evlearn/belief/transforms.py",
        ("src/evlearn/belief/transforms.py",),
    ),
    Fault(
        "undocumented parameter",
        "test",
        "src/evlearn/belief/validation.py",
        '    name : str, default="masses"\n        Name of the parameter in error messages.\n',
        "",
        "FAILED .*check_masses",
        (
            "tests/test_project.py::test_documented_parameters_and_defaults_are_those_of_the_signature"
            "[evlearn.belief.check_masses]",
        ),
    ),
    Fault(
        "dependence on n_jobs",
        "test",
        "src/evlearn/classify/forest.py",
        "(delayed(grow)(int(seed)) for seed in seeds)",
        "(delayed(grow)(int(seed) + (self.n_jobs or 1)) for seed in seeds)",
        "FAILED .*test_forest",
        ("tests/classify/test_forest.py",),
    ),
    Fault(
        "fast test that is slow",
        "test",
        "tests/test_parallel.py",
        "def test_reused_workers",
        "def test_of_many_sums():\n    assert sum(range(3 * 10**8))\n\n\ndef test_reused_workers",
        r"The test used [\d.]+ s of CPU",
        ("tests/test_parallel.py",),
    ),
    Fault(
        "example with a removed name",
        "test",
        "examples/start/plot_first_ten_minutes.py",
        "from evlearn.cluster import CCM",
        "from evlearn.cluster import CCM, Removed",
        "FAILED .*test_examples_use_names.*plot_first_ten_minutes",
        ("tests/test_documentation.py::test_examples_use_names_and_parameters_that_exist",),
    ),
    Fault(
        "file missing in the wheel",
        "test-all",
        "meson.build",
        "exclude_files: kernel_sources,",
        "exclude_files: kernel_sources + ['py.typed'],",
        "FAILED .*test_the_wheel_has_types",
        ("tests/test_types.py::test_the_wheel_has_types_and_a_users_script_is_checked_by_them",),
    ),
    Fault("unused import", "lint", "src/evlearn/exceptions.py", '"""\n\n', '"""\n\nimport os\n', "F401"),
    Fault(
        "question word",
        "lint",
        "src/evlearn/belief/validation.py",
        '"""Validation of mass arrays."""',
        '"""What is checked of mass arrays."""',
        "a docstring that starts with 'What'",
    ),
    Fault(
        "type",
        "types",
        "src/evlearn/belief/validation.py",
        'def check_masses(masses: npt.ArrayLike, focal_sets: FocalSets, *, name: str = "masses") -> FloatArray:',
        'def check_masses(masses: npt.ArrayLike, focal_sets: FocalSets, *, name: str = "masses") -> str:',
        r"validation.py:\d+: error",
    ),
    Fault(
        "upward import",
        "layers",
        "src/evlearn/belief/validation.py",
        "\nimport numpy as np\n",
        "\nimport numpy as np\n\nfrom evlearn.cluster import ECM\n",
        "evlearn.belief.validation -> evlearn.cluster",
    ),
    Fault(
        "failing example",
        "docs",
        "examples/start/plot_first_ten_minutes.py",
        "X.iloc[0, 0] = 1.5",
        "X.iloc[0, 99] = 1.5",
        "plot_first_ten_minutes.py (unexpectedly )?failed",
    ),
    Fault(
        "broken link",
        "docs",
        "docs/faq.rst",
        "\n\n",
        "\n\nSee `this page <guide/nowhere.html>`__.\n\n",
        "guide/nowhere.html does not exist",
    ),
)


class Copy:
    """A copy of the tree in a git repository whose main branch has no fault.

    Parameters
    ----------
    folder : Path
        Empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "evidential-learn"
        copy_files(self.root)
        for library in compiled_kernels():
            (self.root / "src" / "evlearn" / "kernels" / library.name).write_bytes(library.read_bytes())
        (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
        identity = ("-c", "user.name=fault", "-c", "user.email=fault@example.org")
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "All"]):
            subprocess.run(["git", *identity, *words], cwd=self.root, check=True)
        # The documentation runs the examples that differ from the main branch.
        subprocess.run(["git", "switch", "-q", "-c", "branch"], cwd=self.root, check=True)
        words = ["commit", "-q", "--allow-empty", "-m", "Empty"]
        subprocess.run(["git", *identity, *words], cwd=self.root, check=True)

    def run(self, command: tuple[str, ...]) -> tuple[int, str]:
        """Run a command in the copy, and return its exit code and its output."""
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(self.root / "src")]),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "EVLEARN_CPU_LIMIT": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        process = subprocess.run(
            command, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return process.returncode, process.stdout


def path_of(fault: Fault, root: Path = ROOT) -> Path:
    """Return the path of the file of a fault."""
    (path,) = root.glob(fault.file)
    return path


def with_fault(fault: Fault, text: str) -> str:
    """Return the text of a file with a fault."""
    if fault.old not in text:
        raise ValueError(f"the list of faults is out of date: {fault.old!r} is not in {fault.file}")
    return text.replace(fault.old, fault.new, 1)


def command_of(fault: Fault) -> tuple[str, ...]:
    """Return the command that detects a fault."""
    if not fault.tests:
        return "make", fault.tier, f"PYTHON={sys.executable}"
    names = [name.partition("::") for name in fault.tests]
    tests = [f"{path.relative_to(ROOT)}{sep}{test}" for file, sep, test in names for path in ROOT.glob(file)]
    options = ("-q", "--tb=line", "-p", "no:cacheprovider", "-m", MARKERS[fault.tier])
    return sys.executable, "-m", "pytest", *options, *tests


def attempt(copy: Copy, fault: Fault) -> dict[str, object]:
    """Return whether the checks detect a fault, with the line of their output."""
    path = path_of(fault, copy.root)
    original = path.read_text(encoding="utf-8")
    begin = time.perf_counter()
    try:
        path.write_text(with_fault(fault, original), encoding="utf-8")
        code, output = copy.run(command_of(fault))
    finally:
        path.write_text(original, encoding="utf-8")
    lines = [line for line in output.splitlines() if re.search(fault.message, line)]
    return {
        **{key: value for key, value in fault._asdict().items() if key in ("kind", "tier", "old", "new")},
        "file": str(path.relative_to(copy.root)),
        "caught": code != 0 and bool(lines),
        "by": lines[0].strip()[:200] if lines else "",
        "seconds": round(time.perf_counter() - begin, 1),
    }


def main() -> None:
    """Plant all faults, or those of the selected kinds, and write the results."""
    selected = [fault for fault in FAULTS if len(sys.argv) == 1 or fault.kind in sys.argv[1:]]
    former = record.load_if_recorded("planted_faults") if len(sys.argv) > 1 else {}
    outcomes = {outcome["kind"]: outcome for outcome in former.get("outcomes", [])}
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for command in dict.fromkeys(command_of(fault) for fault in selected):
            code, output = copy.run(command)
            if code:
                raise RuntimeError(f"{' '.join(command)} fails without a fault:\n{output[-3000:]}")
        for fault in selected:
            outcome = outcomes[fault.kind] = attempt(copy, fault)
            seconds, by = outcome["seconds"], outcome["by"] or "MISSED"
            print(f"{seconds:>7} s   {fault.tier:<8}   {fault.kind}   {by}", flush=True)
    results = [outcomes[fault.kind] for fault in FAULTS if fault.kind in outcomes]
    n_caught = sum(bool(outcome["caught"]) for outcome in results)
    facts = {"faults": len(results), "caught": n_caught, "outcomes": results}
    record.write("planted_faults", facts, former=former)
    print(f"{n_caught} of {len(results)} faults are detected")


if __name__ == "__main__":
    main()
