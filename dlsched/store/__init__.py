"""The results store; the only package that imports duckdb."""
