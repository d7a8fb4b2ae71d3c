"""Set the version of the next release, or of development after it: `python .ci/set_version.py 0.1.0`."""

import json
import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD, CHANGES, SWITCH = ROOT / "meson.build", ROOT / "CHANGELOG.md", ROOT / "docs" / "_static" / "versions.json"


def replace(path: Path, old: str, new: str) -> None:
    """Replace a pattern that must occur exactly once."""
    text, count = re.subn(old, new, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if count != 1:
        sys.exit(f"{path.name} has {count} matches of {old!r}; exactly one is required")
    path.write_text(text, encoding="utf-8")


def versions_after(versions: list[dict[str, str]], version: str) -> list[dict[str, str]]:
    """Return the versions of the documentation: development first, then releases, the latest first.

    A release replaces its candidates.
    """
    releases = [entry for entry in versions if not re.search("dev|rc", entry["version"])]
    if "dev" in version:
        short = version.split(".dev")[0].rpartition(".")[0]
        return [{"name": f"{short} (development)", "version": version, "url": "/dev/"}, *releases]
    return [{"name": version, "version": version, "url": f"/{version}/"}, *releases]


def main(version: str) -> None:
    """Update the 3 files."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+|\.dev0)?", version):
        sys.exit(f"{version!r} is not a version such as 0.1.0, 0.1.0rc1 or 0.2.0.dev0")
    replace(BUILD, r"^  version: '[^']+',$", f"  version: '{version}',")
    if "dev" in version:
        replace(CHANGES, r"\A((?:.*\n)*?)(?=## )", r"\1## Unreleased\n\n")
    else:
        replace(CHANGES, r"^## (Unreleased|\d+\.\d+\.\d+rc\d+ .*)$", f"## {version} ({date.today().isoformat()})")
    versions = versions_after(json.loads(SWITCH.read_text(encoding="utf-8")), version)
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in versions)
    SWITCH.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"Version {version}: {BUILD.name}, {CHANGES.name} and {SWITCH.name} are updated. Check and commit them.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
