#!/bin/sh
# Keeps the state of an installation that is stopped in one file, and puts it back: the folders of the keys, of JetStream and of
# Redis, which have to be of one moment.
#
#   sh deploy/backup.sh save FILE FOLDER …       # makes FILE, and its digest in FILE.sha256
#   sh deploy/backup.sh restore FILE FOLDER …    # each gets what the folder of its name had; it has to be empty
#
# A folder that is a volume of its own may have the directory lost+found of its file system, which belongs to root: it is left alone.
set -eu
umask 077

fail() {
  echo "backup: $1" >&2
  exit 1
}

[ $# -ge 3 ] || fail "usage: sh deploy/backup.sh save|restore FILE FOLDER …"
action=$1
file=$2
shift 2

case $action in
  save)
    [ ! -e "$file" ] || fail "$file is there already"
    for folder; do
      [ -d "$folder" ] || fail "there is no folder $folder"
      set -- "$@" -C "$(cd "$folder/.." && pwd -P)" "$(basename "$folder")"
      shift
    done
    # Fails when a file changes meanwhile, as with a server that runs.
    tar --create --gzip --numeric-owner --file "$file.part" --anchored --no-wildcards-match-slash --exclude '*/lost+found' "$@" || {
      rm -f "$file.part"
      fail "a folder could not be read, or changed meanwhile: stop the services, Redis and NATS first"
    }
    sha256sum <"$file.part" >"$file.sha256"
    mv "$file.part" "$file"
    ;;
  restore)
    [ "$(sha256sum <"$file")" = "$(cat "$file.sha256")" ] || fail "$file is not what was saved"
    for folder; do
      [ -z "$(ls -A "$folder" 2>/dev/null | grep -vx 'lost+found')" ] || fail "$folder is not empty"
    done
    for folder; do
      mkdir -p "$folder"
      tar --extract --gzip --preserve-permissions --numeric-owner --strip-components 1 --file "$file" --directory "$folder" "$(basename "$folder")"
    done
    ;;
  *) fail "$action is neither save nor restore" ;;
esac
