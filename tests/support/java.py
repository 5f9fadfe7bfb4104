"""The Java that Spark runs on."""

from __future__ import annotations

import os
import re
import subprocess


def java_version() -> int:
    home = os.environ.get("JAVA_HOME")
    try:
        found = subprocess.run([f"{home}/bin/java" if home else "java", "-version"], capture_output=True, text=True)
    except OSError:
        return 0
    version = re.search(r'version "(\d+)', found.stderr)
    return int(version[1]) if version else 0
