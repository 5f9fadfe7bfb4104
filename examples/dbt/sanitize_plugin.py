"""Makes `sanitize(map)` a function of the models' SQL."""

from dbt.adapters.duckdb.plugins import BasePlugin

import elsewhere as ew
from elsewhere.engines.duckdb import register


class Plugin(BasePlugin):
    def initialize(self, plugin_config):
        self.policy = ew.Policy.load(plugin_config["policy"])

    def configure_connection(self, conn):
        register(conn, self.policy, "sanitize")
