#!/bin/sh
# Upgrades a composition that runs: NATS and Redis keep running, and the services are replaced one after the other, each when the one before is
# healthy. A step that fails ends the upgrade; services that were not replaced yet stay as they are.
#
#   sh deploy/docker/upgrade.sh
#   COMPOSE_FILE=docker-compose.compact.yml sh deploy/docker/upgrade.sh
set -eu
cd "$(dirname "$0")/../.."

# A published image is pulled by the first step, as SWITCHYARD_PULL_POLICY says.
[ -n "${SWITCHYARD_IMAGE:-}" ] || docker compose build
services=$(docker compose config --services)
[ -n "$(docker compose ps --quiet nats)" ] || {
  echo "upgrade: nothing runs here; start it with: docker compose up --build --wait" >&2
  exit 1
}

# New permissions are there before the first service needs them.
for step in folders keys reload-nats reload-redis streams; do
  echo "upgrade: $step"
  docker compose run --rm --no-TTY --no-deps "$step" </dev/null
done
# The policy first, since the others ask it; people and programs come in by the gateway, which is away for a few seconds at the end.
for service in policy importer broker toolbox runner channels scheduler gateway switchyard; do
  echo "$services" | grep -qx "$service" || continue
  echo "upgrade: $service"
  docker compose up --detach --no-deps --no-build --wait "$service"
done
