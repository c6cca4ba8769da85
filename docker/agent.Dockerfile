# The agent of one client: `docker build -f docker/agent.Dockerfile -t fgpr-agent .`, from the top of the checkout.
# BASE may be any image with Python 3.11, python3-venv and pip; docker/README.md says how to pin it by digest.
ARG BASE=python:3.11.14-slim-bookworm

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements/build.txt requirements/agent.txt requirements/
RUN python3 -m venv /build/tools \
    && /build/tools/bin/python -m pip install --require-hashes -r requirements/build.txt \
    && python3 -m venv /opt/fgpr \
    && /opt/fgpr/bin/python -m pip install --require-hashes -r requirements/agent.txt
COPY pyproject.toml README.md LICENSE ./
COPY migrations migrations
COPY libs libs
COPY services services
RUN /build/tools/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir wheels . \
    && /opt/fgpr/bin/python -m pip install --no-deps --no-index wheels/*.whl \
    && /opt/fgpr/bin/python -m pip uninstall --yes pip

FROM ${BASE}
# The user has no password and no shell. Its folder is there so that a new volume on it belongs to it.
RUN groupadd --gid 10002 fgpr \
    && useradd --uid 10002 --gid fgpr --home-dir /var/lib/fgpr --no-create-home --shell /usr/sbin/nologin fgpr \
    && install -d -o fgpr -g fgpr -m 0700 /var/lib/fgpr \
    && install -d -m 0755 /data
COPY --from=build /opt/fgpr /opt/fgpr
ENV PATH=/opt/fgpr/bin:$PATH \
    HOME=/var/lib/fgpr \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    FGPR_HOME=/var/lib/fgpr
WORKDIR /var/lib/fgpr
USER 10002:10002
STOPSIGNAL SIGTERM
# It listens nowhere: that its process runs is all that can be asked, and Docker knows that.
HEALTHCHECK NONE
ENTRYPOINT ["fgpr-agent"]
CMD ["run", "--data", "/data/rows.csv"]
