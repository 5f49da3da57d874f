# The image with what MCP servers are commonly written in: npx (of Node.js), Python, uvx and Git. For broker and toolbox.
#
#   docker build -f deploy/docker/mcp.Dockerfile --build-arg SWITCHYARD_IMAGE=switchyard:dev -t switchyard:dev-mcp deploy/docker
ARG SWITCHYARD_IMAGE=switchyard:dev

FROM ${SWITCHYARD_IMAGE}
USER 0:0
# The wheel of uv is the program; it takes Debian's Python and fetches none of its own.
RUN apt-get update && apt-get install -y --no-install-recommends git python3 python3-venv && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir uv==0.13.8 \
    && ln -s /opt/uv/bin/uv /opt/uv/bin/uvx /usr/local/bin/
ENV UV_PYTHON_DOWNLOADS=never
USER 10001:10001
