# recollect serve in a container: docker build -t recollect . (see docs/docker.md)
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY man man
COPY recollect recollect
RUN python -m venv /opt/recollect \
    && /opt/recollect/bin/pip install --no-cache-dir ".[server,mcp]" \
    && /opt/recollect/bin/pip uninstall --yes pip

FROM python:3.13-slim
COPY --from=build /opt/recollect /opt/recollect
RUN mkdir /data && chown 10001:10001 /data
ENV PATH=/opt/recollect/bin:$PATH \
    RECOLLECT_DB=/data/memory.db \
    HOME=/data \
    HEALTH_URL=https://0.0.0.0:8420/healthz
WORKDIR /data
USER 10001:10001
VOLUME /data
EXPOSE 8420
HEALTHCHECK --start-period=20s CMD ["python", "-c", "import os, ssl, urllib.request as r; r.urlopen(os.environ['HEALTH_URL'], timeout=3, context=ssl._create_unverified_context())"]
ENTRYPOINT ["recollect"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8420"]
