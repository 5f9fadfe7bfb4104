"""The engine for a cluster: Spark reads, adds up and spreads the rows, and its executors run the kernel on them."""

from importlib.util import find_spec

from elsewhere.model.errors import InputError

if find_spec("pyspark") is None:
    raise InputError("the engine needs PySpark; install it with: pip install 'elsewhere[spark]'")

from elsewhere.engines.spark.batch import run
from elsewhere.engines.spark.frames import outcomes, releases, sanitize
from elsewhere.engines.spark.function import register

__all__ = ["outcomes", "register", "releases", "run", "sanitize"]
