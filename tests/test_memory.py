"""How much memory there is, as far as anybody says."""

import os

import pytest

from evlearn.utils import memory

PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else None
MACHINE = "MemTotal:       24000000 kB\nMemFree:          300000 kB\nMemAvailable:   20000000 kB\n"


@pytest.fixture
def said(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path)
    return tmp_path


@pytest.mark.skipif(PHYSICAL is None, reason="nobody says it here")
def test_no_more_is_available_than_there_is():
    assert 0 < memory.available_memory() <= PHYSICAL


@pytest.mark.skipif(PHYSICAL is None, reason="nobody says it here")
def test_all_is_taken_for_available_where_nobody_says_more(said):
    assert memory.available_memory() == PHYSICAL


def test_what_a_system_can_give_up_is_available(said):
    (said / "meminfo").write_text(MACHINE)
    assert memory.available_memory() == 20_000_000 * 1024


def test_a_container_has_what_it_may_take(said):
    (said / "meminfo").write_text(MACHINE)
    (said / "memory.max").write_text("2000000000\n")
    (said / "memory.stat").write_text("anon 500000000\nfile 1400000000\n")
    assert memory.available_memory() == 1_500_000_000
    (said / "memory.max").write_text("max\n")
    assert memory.available_memory() == 20_000_000 * 1024


def test_nothing_is_said_of_a_system_without_these_names(said, monkeypatch):
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert memory.available_memory() is None
