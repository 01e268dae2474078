# The embedded shop and nothing else. From the repository's root:
#   docker build --file docker/shop.Dockerfile --tag souk-shop .
#
# The base is pinned by its tag. For builds that are the same to the byte give it with its digest:
#   --build-arg PYTHON=python:3.12-slim-bookworm@sha256:...
ARG PYTHON=python:3.12-slim-bookworm

FROM ${PYTHON} AS build
COPY requirements.lock .
# An environment without pip: nothing is installed once the image is made.
RUN python3 -m venv --without-pip /opt/shop \
    && python3 -m pip --python /opt/shop install --no-cache-dir --disable-pip-version-check \
        --constraint requirements.lock babel jinja2 pydantic python-multipart pyyaml starlette uvicorn
WORKDIR /opt/shop/app
COPY interventions/__init__.py interventions/data_file.py interventions/errors.py interventions/
COPY environments/__init__.py environments/
COPY environments/protocol/__init__.py environments/protocol/mcp.py environments/protocol/
COPY environments/launch/__init__.py environments/launch/watchdog.py environments/launch/
COPY environments/shop environments/shop
RUN /opt/shop/bin/python -m compileall -q .

FROM ${PYTHON}
RUN useradd --uid 10001 --no-create-home souk
COPY --from=build /opt/shop /opt/shop
USER 10001
WORKDIR /opt/shop/app
ENV PYTHONDONTWRITEBYTECODE=1
EXPOSE 7770
HEALTHCHECK --interval=5s --timeout=5s --start-period=20s --retries=3 \
    CMD ["/opt/shop/bin/python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7770/', timeout=4)"]
# All addresses of the container; compose.yaml publishes the port on 127.0.0.1 of the host alone.
ENTRYPOINT ["/opt/shop/bin/python", "-m", "environments.shop", "--host", "0.0.0.0", "--port", "7770"]
