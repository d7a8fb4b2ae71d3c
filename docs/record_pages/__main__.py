"""Write all generated parts, and the picture of README: ``PYTHONPATH=docs:. python -m record_pages``."""

from . import ROOT, landing, read_results, write_parts

write_parts()
doubt = landing.read_doubt(read_results)
landing.doubt_figure(doubt).savefig(
    ROOT / "docs" / "_static" / "doubt.png", dpi=120, metadata={"Description": landing.alternative_text(doubt)}
)
