"""``make fuzz MINUTES=10``: run the property tests with new seeds, round after round, until time is up.

The tests compare the solvers with brute force and with HiGHS, pass broken files to the readers, and send random
requests to the page's server. In `make test` their examples are always the same. A failure ends the fuzzing and is
printed with its reduced example. Add that to its test as an ``@example``, so that it is always tried.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

TESTS = (
    "tests/histories/test_fuzz.py", "tests/app/test_fuzz.py", "tests/solvers/*.py", "tests/verification/*.py",
    "tests/engines/test_hiding.py", "tests/histories/test_labels.py", "tests/model/*.py", "tests/paper/*.py",
)  # fmt: skip


def main(minutes: float) -> int:
    """Fuzz for some minutes; the exit status is 1 if a test failed."""
    began, passed = time.monotonic(), 0
    files = [path for pattern in TESTS for path in sorted(Path().glob(pattern)) if "@given" in path.read_text("utf-8")]
    assert files, "run it in the folder of the repository"
    for path in cycle(files):
        left = 60 * minutes - (time.monotonic() - began)
        if left <= 0:
            break
        seed = secrets.randbelow(2**32)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "--hypothesis-profile", "fuzz",
                   f"--hypothesis-seed={seed}", "--numprocesses", str(os.cpu_count() or 1), str(path)]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=left)
        except subprocess.TimeoutExpired:
            break
        if done.returncode:
            print(done.stdout)
            print(f"fuzz: {path} failed with seed {seed}; add the example above to its test")
            return 1
        passed += int((re.search(r"(\d+) passed", done.stdout) or ["", "0"])[1])
    print(f"fuzz: {passed:,} tests with new examples passed in {minutes:g} minutes, none failed")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
