"""The project as a stranger installs it: its wheel, what it depends on, and none of the extras."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

_ROOT = Path(__file__).parents[2]


def bare_installation(folder: Path) -> Path:
    """The Python of a new environment that has the wheel; nothing is downloaded."""
    wheel = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(_ROOT)]
    subprocess.run([sys.executable, "-m", "pip", *wheel], check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    [packages] = (folder / "venv").rglob("site-packages")
    [built] = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(packages)
    [metadata] = packages.glob("elsewhere-*.dist-info")
    for name in _dependencies(Distribution.at(metadata)):
        _link(name, packages)
    return folder / "venv" / "bin" / "python"


def _dependencies(project: Distribution) -> set[str]:
    """The distributions that a project needs without its extras, and those that they need."""
    found: set[str] = set()
    waiting = [project]
    while waiting:
        for requirement in map(Requirement, waiting.pop().requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                if requirement.name not in found:
                    waiting.append(distribution(requirement.name))
                found.add(requirement.name)
    return found


def _link(name: str, packages: Path) -> None:
    installed = distribution(name)
    for top in {file.parts[0] for file in installed.files or () if ".." not in file.parts}:
        (packages / top).symlink_to(str(installed.locate_file(top)))
