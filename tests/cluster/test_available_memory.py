"""Amount of available memory, as reported by the system."""

import os

import pytest

from evlearn.cluster import focal_families

PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else None
MACHINE = "MemTotal:       24000000 kB\nMemFree:          300000 kB\nMemAvailable:   20000000 kB\n"


@pytest.fixture
def system(tmp_path, monkeypatch):
    monkeypatch.setattr(focal_families, "_MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(focal_families, "_CONTAINER", tmp_path)
    return tmp_path


@pytest.mark.skipif(PHYSICAL is None, reason="unknown on this system")
def test_available_memory_is_at_most_the_physical_memory():
    assert 0 < focal_families.available_memory() <= PHYSICAL


@pytest.mark.skipif(PHYSICAL is None, reason="unknown on this system")
def test_physical_memory_is_the_fallback(system):
    assert focal_families.available_memory() == PHYSICAL


def test_reclaimable_memory_is_available(system):
    (system / "meminfo").write_text(MACHINE)
    assert focal_families.available_memory() == 20_000_000 * 1024


def test_the_limit_of_a_container_applies(system):
    (system / "meminfo").write_text(MACHINE)
    (system / "memory.max").write_text("2000000000\n")
    (system / "memory.stat").write_text("anon 500000000\nfile 1400000000\n")
    assert focal_families.available_memory() == 1_500_000_000
    (system / "memory.max").write_text("max\n")
    assert focal_families.available_memory() == 20_000_000 * 1024


def test_memory_is_unknown_without_sysconf(system, monkeypatch):
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert focal_families.available_memory() is None
