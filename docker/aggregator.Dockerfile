# The aggregator: `docker build -f docker/aggregator.Dockerfile -t fgpr-aggregator .`, from the top of the checkout.
# BASE may be any image with Python 3.11, python3-venv and pip; docker/README.md says how to pin it by digest.
ARG BASE=python:3.11.14-slim-bookworm

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements/build.txt requirements/aggregator.txt requirements/
RUN python3 -m venv /build/tools \
    && /build/tools/bin/python -m pip install --require-hashes -r requirements/build.txt \
    && python3 -m venv /opt/fgpr \
    && /opt/fgpr/bin/python -m pip install --require-hashes -r requirements/aggregator.txt
COPY pyproject.toml README.md LICENSE ./
COPY migrations migrations
COPY libs libs
COPY services services
RUN /build/tools/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir wheels . \
    && /opt/fgpr/bin/python -m pip install --no-deps --no-index wheels/*.whl \
    && /opt/fgpr/bin/python -m pip uninstall --yes pip

FROM ${BASE}
# The user has no password and no shell. Its folders are there so that a new volume on one of them belongs to it.
RUN groupadd --gid 10001 fgpr \
    && useradd --uid 10001 --gid fgpr --home-dir /var/lib/fgpr --no-create-home --shell /usr/sbin/nologin fgpr \
    && install -d -o fgpr -g fgpr -m 0700 /var/lib/fgpr /var/lib/fgpr/keys /var/lib/fgpr/database
COPY --from=build /opt/fgpr /opt/fgpr
COPY docker/livez.py /opt/fgpr/livez.py
ENV PATH=/opt/fgpr/bin:$PATH \
    HOME=/var/lib/fgpr \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    FGPR_DATABASE=sqlite:////var/lib/fgpr/database/fgpr.db \
    FGPR_KEYS=/var/lib/fgpr/keys
WORKDIR /var/lib/fgpr
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["python", "/opt/fgpr/livez.py"]
ENTRYPOINT ["fgpr-aggregator"]
CMD ["serve", "--listen", "0.0.0.0:8000"]
