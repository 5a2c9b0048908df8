# The app in a container, reached only from this machine:
#   docker build -t dlsched . && docker run --rm -p 127.0.0.1:8501:8501 -v dlsched:/data dlsched
# A command in its place: docker run --rm dlsched simulate sample:campus --policy easy-backfill
# Only /data is written (results, compiled code) and /tmp, so that all else may be read-only.
FROM python:3.12-slim AS build
WORKDIR /src
COPY constraints.txt requirements.txt ./
RUN python -m venv /opt/dlsched && /opt/dlsched/bin/pip install --no-cache-dir -r requirements.txt
COPY . .
RUN /opt/dlsched/bin/pip install --no-cache-dir -c constraints.txt ".[dask]"

FROM python:3.12-slim
RUN useradd --uid 10001 --home-dir /data --create-home dlsched
COPY --from=build /opt/dlsched /opt/dlsched
ENV PATH=/opt/dlsched/bin:$PATH HOME=/data DLSCHED_STORE=/data/results.duckdb
USER dlsched
WORKDIR /data
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
ENTRYPOINT ["dlsched"]
CMD ["app", "--address", "0.0.0.0", "--port", "8501", "--no-browser"]
