"""The C headers of the kernels are for compilers that users have: GCC from version 11, and Clang."""

import shutil
import subprocess
from pathlib import Path

import pytest

HEADERS = sorted(
    path
    for path in (Path(__file__).resolve().parents[2] / "src" / "evlearn" / "kernels").glob("*.h")
    if not path.name.endswith("_body.h")
)
OTHERS = [name for name in (*(f"gcc-{version}" for version in range(11, 16)), "clang") if shutil.which(name)]


def compile_header(header, compiler, *options):
    given = [compiler, "-std=gnu11", "-x", "c", *options, str(header)]
    return subprocess.run(given, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_old_versions_of_gcc_are_not_asked_for_what_they_do_not_have(header):
    old = ("-U__GNUC__", "-D__GNUC__=11")
    assert compile_header(header, "gcc", "-fsyntax-only", *old).returncode == 0
    seen = compile_header(header, "gcc", "-E", *old).stdout
    assert seen
    assert "__builtin_shufflevector" not in seen


@pytest.mark.slow
@pytest.mark.parametrize("compiler", OTHERS)
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_the_headers_compile_with_every_compiler_that_is_here(header, compiler):
    strict = "-Werror=implicit-function-declaration"
    done = compile_header(header, compiler, "-c", "-O1", strict, "-o", "/dev/null")
    assert done.returncode == 0, done.stderr


def test_microsofts_compiler_is_refused_with_what_to_do():
    header = next(path for path in HEADERS if path.name == "processor.h")
    done = compile_header(header, "gcc", "-fsyntax-only", "-U__GNUC__")
    assert done.returncode != 0
    assert "CC=clang-cl" in done.stderr
