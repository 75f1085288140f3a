#!/usr/bin/env bash
# need.sh GROUP...: installs the missing Debian packages of these groups; prints nothing if none is missing.
#
#   build      compilers and libraries
#   database   PostgreSQL's server and client programs
#   test       PL/Proxy, and programs with which the tests make pictures and connections
#   faults     tools for the networks and the clocks of the fault tests
#   s3         installers of the S3 servers of the tests
#   demo       photos to show
#   bench      installers of the benchmark's other queues, a compiler of its C baseline, photos, and tools for them
#   checks     interpreters of the checks
#   deploy     readers of the units, the manifests and the Compose file of a deployment
#   managed    a pooler with TLS, and an installer of other versions of PostgreSQL
#   failover   PostgreSQL's failover: Patroni, etcd and HAProxy, and tools for their networks
#   clients    Python, Node.js and Go, for workers that pull jobs by SQL
#   web        a browser, and what drives it
#   dist       makers of the Debian package and of the wheel, and of a Debian to try them in
set -euo pipefail

packages=()
for group in "$@"; do
    case $group in
        build) packages+=(pkg-config libarchive-dev libpng-dev libpq-dev libqrencode-dev libssl-dev libvips-dev) ;;
        database) packages+=(postgresql) ;;
        test)
            # PL/Proxy for the server that is there, or for the one that `postgresql` installs.
            server=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
            [ -x "$server" ] || server=$(apt-cache depends postgresql 2> /dev/null | grep -o '[0-9]*$' || true)
            packages+=("postgresql-$(grep -o '[0-9]\+' <<< "$server" | head -1)-plproxy")
            packages+=(pgbouncer imagemagick libvips-tools libimage-exiftool-perl libheif-examples webp mate-backgrounds)
            packages+=(fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji zbar-tools librsvg2-bin curl) ;;
        faults) packages+=(iproute2 nftables libfaketime gcc libc6-dev) ;;
        s3) packages+=(python3 python3-venv openssl) ;;
        bench)
            packages+=(python3 python3-venv gcc libc6-dev libvips-tools imagemagick jpegoptim)
            packages+=(mate-backgrounds lomiri-wallpapers-16.04 lomiri-wallpapers-20.04) ;;
        demo) packages+=(mate-backgrounds) ;;
        checks) packages+=(python3 git) ;;
        deploy) packages+=(systemd docker-compose python3 python3-venv python3-yaml) ;;
        managed) packages+=(pgbouncer openssl python3 python3-venv) ;;
        failover)
            packages+=(patroni etcd-server haproxy python3-etcd python3-psycopg2 python3-dnspython iproute2 nftables) ;;
        dist)
            packages+=(binutils dpkg-dev lintian debootstrap python3-pip python3-venv)
            packages+=(libarchive-dev libpng-dev libpq-dev libqrencode-dev libssl-dev libvips-dev) ;;
        clients) packages+=(python3 python3-venv nodejs golang-go golang-github-lib-pq-dev) ;;
        web) packages+=(chromium chromium-driver fonts-dejavu-core python3 python3-venv) ;;
        *) echo "need.sh: no group is named $group" >&2; exit 64 ;;
    esac
done

if ! command -v apt-get > /dev/null; then
    echo "This is no Debian. If something is missing below, install what these packages hold: ${packages[*]}" >&2
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2> /dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
        echo "Missing, and neither root nor sudo is here to install it: apt-get install ${missing[*]}" >&2
        exit 69
    fi
    as_root=(sudo)
fi
echo "Installing from Debian: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" > "$log" 2>&1; }
if ! { apt update && apt install --no-install-recommends "${missing[@]}"; }; then
    cat "$log" >&2
    exit 69
fi
