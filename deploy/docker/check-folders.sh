# Whether the services can read the two folders that Compose mounts: the project ($1 outside, /config here) and
# the workspace ($2 outside, /workspace here). Runs as one of their users.

closed() {
  echo "$1 cannot be read by the containers ($2)." >&2
  echo "Open it, with: chmod -R go+rX $1" >&2
  echo "or let the containers run as its owner: YARD_UID=\$(id -u) docker compose up --wait" >&2
  exit 1
}

incomplete() {
  echo "The project folder $1 has no $2; $3." >&2
  exit 1
}

ls /config >/dev/null 2>&1 || closed "$1" "user $(id -u)"
first=$(find /config -maxdepth 3 -name node_modules -prune -o \( ! -readable -o -type d ! -executable \) -print 2>/dev/null | head -n 1)
[ -z "$first" ] || closed "$1" "user $(id -u), $1${first#/config}"
ls /workspace >/dev/null 2>&1 || closed "$2" "user $(id -u)"

[ -f /config/mcp-servers.json ] || incomplete "$1" mcp-servers.json 'one without servers has {"mcpServers":{}}'
# A missing policy only warns: the policy service of a running installation keeps the rules before, and a new installation does not start.
[ -e "/config/$POLICY" ] || echo "The project folder $1 has no $POLICY; name the policy with YARD_POLICY, below the folder." >&2
[ -z "$MODELS" ] || [ -f "/config/$MODELS" ] || incomplete "$1" "$MODELS" 'which YARD_MODELS names'
[ -z "$TRIGGERS" ] || [ -f "/config/$TRIGGERS" ] || incomplete "$1" "$TRIGGERS" 'which YARD_TRIGGERS names'
[ -z "$CHANNELS" ] || [ -f "/config/$CHANNELS" ] || incomplete "$1" "$CHANNELS" 'which YARD_CHANNELS names'
[ -z "$HOOKS" ] || [ -f "/config/$HOOKS" ] || incomplete "$1" "$HOOKS" 'which YARD_HOOKS names'
[ -z "$ISSUERS" ] || [ -f "/config/$ISSUERS" ] || incomplete "$1" "$ISSUERS" 'which YARD_ISSUERS names'
[ -z "$INDICATORS" ] || [ -f "/config/$INDICATORS" ] || incomplete "$1" "$INDICATORS" 'which YARD_SCAN_INDICATORS names'
[ -z "$SUPPRESSIONS" ] || [ -f "/config/$SUPPRESSIONS" ] || incomplete "$1" "$SUPPRESSIONS" 'which YARD_SCAN_SUPPRESSIONS names'
