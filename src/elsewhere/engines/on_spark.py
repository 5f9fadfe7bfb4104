"""A batch on Spark, from the request to the result."""

from __future__ import annotations

import os
from functools import partial

from elsewhere.engines import spark
from elsewhere.engines.listing import PRIVATE
from elsewhere.engines.request import Request
from elsewhere.engines.result import BatchResult
from elsewhere.engines.summary import check_released
from elsewhere.model.errors import InputError


def run_batch(request: Request, master: str | None) -> BatchResult:
    """Run the batch, and return the summary; Spark reads and writes the tables."""
    if request.output is None:
        raise InputError("output is missing; to get a DataFrame, call elsewhere.engines.spark.sanitize", ("output",))
    summary = spark.run(
        request.plan(), request.input, request.output, report=request.report, master=master,
        personal=request.personal, since=request.since, on_error=request.on_error,
        allow_unchanged=request.allow_unchanged,
        user=request.user_column, location=request.location_column, count=request.count_column,
        rows_are_visits=request.rows_are_visits, keys=request.keys, partition_by=request.partition_by,
        accept=partial(check_released, least=request.min_released),
    )  # fmt: skip
    folder = os.fspath(request.output).rstrip("/")
    report = f"{folder}{PRIVATE}" if request.report is None else os.fspath(request.report)
    return BatchResult(summary, folder, f"{report}/outcomes")
