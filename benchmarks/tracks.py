"""From positions to visits: a track of ten million positions, and a comparison with trackintel on a smaller one.

The made-up track alternates between rest and movement. Processor time and memory are those of a separate process that
reads a Parquet file, after another process has compiled the kernels.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Row, best_of, duration, timed
from elsewhere.histories.tracks.points import Points
from elsewhere.histories.tracks.stays import find_stays

_POSITIONS = 10_000_000
_OF_RIVAL = 20_000
_READ = """
import resource, sys, time
import elsewhere as ew
begin = time.process_time()
visits = ew.read(sys.argv[1]).histogram.size
print(visits, time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for number in (1_000, _POSITIONS):
            path = Path(folder, f"{number}.parquet")
            _write(path, walk(number))
            visits, seconds, peak = subprocess.run(
                [sys.executable, "-c", _READ, path], check=True, capture_output=True, text=True
            ).stdout.split()
    gib = int(peak) / 2**20
    ours, met = f"{duration(float(seconds))} of processor time, {gib:.2f} GiB", float(seconds) < 10 and gib < 1
    yield Row(f"{_POSITIONS:,} positions in Parquet to {int(visits):,} visits", ours, "", "", "< 10 s, < 1 GiB", met)
    if find_spec("trackintel"):
        points = walk(_OF_RIVAL)
        stays = best_of(3, find_stays, points, 300, 100, 900)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs, found = timed(_of_trackintel, points)
        assert len(found) == len(find_stays(points, 300, 100, 900))
        yield Row(f"stays in {_OF_RIVAL:,} positions, against trackintel", duration(stays), duration(theirs),
                  f"{theirs / stays:.0f}")  # fmt: skip


def walk(number: int) -> Points:
    rng = np.random.default_rng(5)
    times = 1.6e9 + np.cumsum(rng.integers(5, 60, number)).astype(np.float64)
    step = np.where(np.arange(number) // 200 % 2 == 0, 30.0, 1.0) / 111_000
    north, east = (np.cumsum(rng.normal(0, 1, number) * step) for _ in range(2))
    return Points(times, 12.3 + north, -45.6 + east)


def _write(path: Path, points: Points) -> None:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    columns = dict(zip(("time", "latitude", "longitude"), points, strict=True))
    parquet.write_table(arrow.table(columns), path)


def _of_trackintel(points: Points) -> Any:
    pandas, geopandas, trackintel = (import_module(name) for name in ("pandas", "geopandas", "trackintel"))
    frame = pandas.DataFrame({"user_id": 0, "tracked_at": pandas.to_datetime(points.times, unit="s", utc=True)})
    where = geopandas.points_from_xy(points.longitudes, points.latitudes)
    fixes = trackintel.io.read_positionfixes_gpd(
        geopandas.GeoDataFrame(frame, geometry=where, crs="EPSG:4326"), geom_col="geometry"
    )
    return fixes.generate_staypoints(dist_threshold=100, time_threshold=5, gap_threshold=15, include_last=True)[1]
