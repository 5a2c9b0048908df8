"""Where and how work is computed: worker processes or a Dask cluster, a queue, progress, cancelling."""
