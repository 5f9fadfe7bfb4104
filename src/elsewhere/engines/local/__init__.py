"""The engine for one machine: DuckDB groups the rows, workers sanitize the users, and parts are written."""
