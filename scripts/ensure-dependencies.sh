#!/bin/sh
# Installs the npm dependencies when they are missing or when package-lock.json is newer than the
# installation. Everything it says goes to stderr: stdout belongs to the command that follows.
set -eu

root=$(CDPATH='' cd -- "$(dirname "$0")/.." && pwd -P)
node=$root/node_modules/.bin/node
# npm writes this file as the last act of an installation.
installed=$root/node_modules/.package-lock.json
# Which package-lock.json our own installation was made from: a checkout can touch the file without changing it.
made_from=$root/node_modules/.made-from
lock=$root/.yard-install.lock

fail() {
  printf 'error: %s\n' "$@" >&2
  exit 1
}

is_current() {
  [ -f "$installed" ] && [ -x "$node" ] || return 1
  [ -z "$(find "$root/package-lock.json" -newer "$installed")" ] ||
    [ "$(cat "$made_from" 2>/dev/null)" = "$(cksum <"$root/package-lock.json")" ]
}

if is_current; then exit 0; fi

command -v node >/dev/null 2>&1 ||
  fail 'Node.js is not on PATH.' 'Install Node.js 20 or newer (https://nodejs.org), then run this command again.'
command -v npm >/dev/null 2>&1 ||
  fail 'npm is not on PATH.' 'It comes with Node.js (on Debian and Ubuntu in its own package: apt-get install npm).'
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] ||
  fail "Node.js $(node --version) is too old to install the dependencies." 'Install Node.js 20 or newer (https://nodejs.org).'

# Two installations at once would take each other's files away. A lock whose owner is gone does not count.
until mkdir "$lock" 2>/dev/null; do
  owner=$(cat "$lock/pid" 2>/dev/null || true)
  if [ -n "$owner" ]; then
    kill -0 "$owner" 2>/dev/null || rm -rf "$lock"
  elif [ -n "$(find "$lock" -prune -mmin +1 2>/dev/null)" ]; then
    rm -rf "$lock" # its owner ended before it wrote its id
  fi
  sleep 1
done
echo $$ >"$lock/pid"
trap 'rm -rf "$lock"' EXIT
trap 'exit 130' INT TERM
if is_current; then exit 0; fi

echo 'yard: installing the dependencies (npm ci), this takes a minute the first time …' >&2
# --loglevel=error: npm would warn that some packages want Node.js 24, which is one of the dependencies.
(cd "$root" && npm ci --no-audit --no-fund --loglevel=error >&2) ||
  fail 'npm ci failed; its messages are above.' "Repeat it by hand: (cd $root && npm ci)"

"$node" --version >/dev/null 2>&1 ||
  fail 'the Node.js 24 that comes as an npm package does not run.' \
    'Its install script may be blocked: allow it with "npm config set ignore-scripts false", then remove node_modules.'

cksum <"$root/package-lock.json" >"$made_from"
