#!/bin/sh
# Makes the images below ours for a machine that reaches Debian and npm, but no registry of images, and prints the variables that name them:
#
#   eval "$(sh deploy/test/base-images.sh)"
#   YARD_TEST_DOCKER=1 npm run test:release -- scripts/release-images
#
# Needs root, debootstrap, a Docker engine, npm, and nats-server as an argument or on PATH. Certificates of this machine are in the images,
# because a registry of packages may be behind a CA of its own.
set -eu

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

root=$(CDPATH='' cd -- "$(dirname "$0")/../.." && pwd -P)
nats=${1:-$(command -v nats-server || true)}
[ -x "$nats" ] || fail "there is no nats-server: give its path as the argument"
[ "$(head -c 2 "$nats")" != '#!' ] || fail "$nats is a script: give the path of the program that it starts"
command -v debootstrap >/dev/null || fail "there is no debootstrap: apt-get install debootstrap"
docker version >/dev/null || fail "no Docker engine can be reached"
node=$root/node_modules/node/bin/node
[ -x "$node" ] || fail "Node.js is not installed: run npm ci"
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
system=$scratch/system
debootstrap --variant=minbase --include=bubblewrap,ca-certificates,redis-server,tini,wget bookworm "$system" >"$scratch/log" 2>&1 ||
  fail "debootstrap: $(tail -n 3 "$scratch/log")"
umount "$system/proc" "$system/sys" 2>/dev/null || true
rm -rf "$system"/var/cache/apt/archives/*.deb "$system"/var/lib/apt/lists/* "$system"/usr/share/doc
certificates=/etc/ssl/certs/ca-certificates.crt
[ ! -f "$certificates" ] || cp "$certificates" "$system$certificates"
cp "$node" "$nats" "$system/usr/local/bin/"
mkdir -p "$system/usr/local/lib/node_modules"
cp -R "$npm" "$system/usr/local/lib/node_modules/npm"
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$system/usr/local/bin/$name"; done
tar -C "$system" --numeric-owner -cf "$scratch/system.tar" .

# Imports the system as an image, with an instruction of a Dockerfile more, and prints the variable that names it.
import() {
  docker import \
    --change "ENV NODE_EXTRA_CA_CERTS=$certificates PIP_CERT=$certificates PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    --change "$3" "$scratch/system.tar" "yard-test-$2" >/dev/null
  echo "export $1=yard-test-$2"
}
import NODE_IMAGE node:latest 'CMD ["node"]'
import NATS_IMAGE nats:latest 'ENTRYPOINT ["nats-server"]'
import REDIS_IMAGE redis:latest 'CMD ["redis-server"]'
