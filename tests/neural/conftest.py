import pytest

pytest.importorskip("torch", reason="torch is not installed")
