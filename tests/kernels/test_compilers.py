"""C headers of the kernels compile with the supported compilers: GCC from version 11, and Clang."""

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
    command = [compiler, "-std=gnu11", "-x", "c", *options, str(header)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_headers_support_gcc_11(header):
    old = ("-U__GNUC__", "-D__GNUC__=11")
    assert compile_header(header, "gcc", "-fsyntax-only", *old).returncode == 0
    preprocessed = compile_header(header, "gcc", "-E", *old).stdout
    assert preprocessed
    assert "__builtin_shufflevector" not in preprocessed


@pytest.mark.slow
@pytest.mark.parametrize("compiler", OTHERS)
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_headers_compile_with_all_installed_compilers(header, compiler):
    strict = "-Werror=implicit-function-declaration"
    process = compile_header(header, compiler, "-c", "-O1", strict, "-o", "/dev/null")
    assert process.returncode == 0, process.stderr


def test_microsoft_compiler_raises_an_error_with_a_remedy():
    header = next(path for path in HEADERS if path.name == "processor.h")
    process = compile_header(header, "gcc", "-fsyntax-only", "-U__GNUC__")
    assert process.returncode != 0
    assert "CC=clang-cl" in process.stderr
