#!/bin/bash
# Makes the Debian root of this lab the root of the calling mount namespace and replaces itself with a command in it.
# usage: enter-root.sh CACHE WRITABLE COMMAND [ARGUMENT…], in a mount and a PID namespace of its own.
set -e
CACHE=$1 WRITABLE=$2
shift 2
mount --make-rprivate /
mkdir -p "$WRITABLE/root" "$WRITABLE/upper" "$WRITABLE/work"
ROOT=$WRITABLE/root
# Writes go to a folder of this run, so the unpacked Debian stays as it was.
mount -t overlay overlay -o "lowerdir=$CACHE/sid,upperdir=$WRITABLE/upper,workdir=$WRITABLE/work" "$ROOT"
mount -t proc proc "$ROOT/proc"
mount --rbind /sys "$ROOT/sys"
mount --rbind /dev "$ROOT/dev"
# Images and volumes lie on the machine's file system: an overlay cannot be the upper layer of another one.
mkdir -p "$ROOT$CACHE" "$ROOT/machine"
mount --rbind "$CACHE" "$ROOT$CACHE"
if [ -n "$SHARED" ]; then mkdir -p "$ROOT$SHARED"; mount --bind "$SHARED" "$ROOT$SHARED"; fi
cp -L /etc/resolv.conf "$ROOT/etc/resolv.conf"
cp /etc/ssl/certs/ca-certificates.crt "$ROOT/etc/ssl/certs/ca-certificates.crt"
cd "$ROOT"
pivot_root . machine
cd /
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mount --make-rshared /
umount -l /machine
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
exec "$@"
