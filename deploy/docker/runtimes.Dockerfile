# The image with coding CLIs as runtimes of agents (docs/coding-agents.md). For the runners.
#
#   docker build -f deploy/docker/runtimes.Dockerfile --build-arg SWITCHYARD_IMAGE=switchyard:dev -t switchyard:dev-runtimes deploy/docker
ARG SWITCHYARD_IMAGE=switchyard:dev

FROM ${SWITCHYARD_IMAGE}
# Name those that you use; these versions are tried by our tests.
ARG CLIS="@anthropic-ai/claude-code@2.1.330 @google/gemini-cli@0.61.0 @openai/codex@0.169.0 opencode-ai@1.18.33"
USER 0:0
# Programs that are no Node.js look for certificates there.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
# No install script runs: the program of a package that has one is in another package, for this machine alone.
RUN mkdir /opt/clis && cd /opt/clis && echo '{"private":true}' > package.json \
    && npm install --ignore-scripts --no-audit --no-fund ${CLIS} && npm cache clean --force \
    && machine="linux-$(node --print process.arch)" && cd node_modules \
    && for file in "@anthropic-ai/claude-code-$machine/claude" .bin/codex .bin/gemini "opencode-$machine/bin/opencode"; do \
      if [ -e "$file" ]; then ln -s "/opt/clis/node_modules/$file" "/usr/local/bin/$(basename "$file")"; fi; \
    done
USER 10001:10001
