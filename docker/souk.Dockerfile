# Souk itself, as two images. From the repository's root:
#   docker build --file docker/souk.Dockerfile --target proxy --tag souk-proxy .
#   docker build --file docker/souk.Dockerfile --target runner --tag souk-runner .
#
# The base is pinned by its tag. For builds that are the same to the byte give it with its digest:
#   --build-arg PYTHON=python:3.12-slim-bookworm@sha256:...
ARG PYTHON=python:3.12-slim-bookworm

FROM ${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# An environment without pip: nothing is installed once the image is made.
RUN python3 -m venv --without-pip /opt/souk
WORKDIR /build
# The dependencies first: their layer is made anew only when they change. pyproject.toml names a README.
COPY pyproject.toml requirements.lock ./
RUN touch README.md

FROM build AS build-proxy
# What `souk proxy serve --interventions` imports: without the agents, the records and the analysis.
RUN python3 -m pip --python /opt/souk install --constraint requirements.lock \
    babel brotli certifi h11 mitmproxy pydantic python-jsonpath pyyaml regex rich selectolax typer zstandard
COPY . .
RUN python3 -m pip --python /opt/souk install --no-deps .

FROM ${PYTHON} AS user
# The folder is there, and the user's, so that a volume mounted on it is the user's too.
RUN useradd --uid 10001 --create-home souk && install --directory --owner souk /home/souk/runs
ENV PATH=/opt/souk/bin:$PATH
WORKDIR /home/souk
ENTRYPOINT ["souk"]

FROM user AS proxy
COPY --from=build-proxy /opt/souk /opt/souk
USER 10001
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 8080), timeout=4).close()"]
CMD ["proxy", "serve", "--interventions", "nudges", "--port", "8080"]

FROM build AS build-runner
# The tests that packages bring are a fifth of it.
RUN python3 -m pip --python /opt/souk install --constraint requirements.lock ".[postgres]" \
    && find /opt/souk -type d -name tests -prune -exec rm -r {} +
# Further extras of pyproject.toml, separated by commas, in a layer of their own: the images share all that is above.
ARG EXTRAS=postgres
RUN python3 -m pip --python /opt/souk install --constraint requirements.lock ".[${EXTRAS}]" \
    && find /opt/souk -type d -name tests -prune -exec rm -r {} +
COPY . .
RUN python3 -m pip --python /opt/souk install --no-deps --force-reinstall .

FROM user AS runner
# libatomic1 is for the Node.js that Playwright brings.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        chromium-headless-shell fonts-liberation libatomic1 \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY --from=build-runner /opt/souk /opt/souk
USER 10001
VOLUME /home/souk/runs
CMD ["--help"]
