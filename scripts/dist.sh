#!/usr/bin/env bash
# dist.sh: packs the release programs into a tarball and a Debian package, the Python client into a wheel, and the schema
# into one SQL file, checks the package with lintian, and prints the paths. SHA256SUMS beside them has their checksums.
#
#   dist.sh [FOLDER]     FOLDER has errand and errand-image already; without it, scripts/release.sh builds them
#
# The version is what `errand --version` prints. DIST_MAINTAINER is who answers for the package: `Name <address>`.
# DIST_LEVEL is how hard xz tries, 0 to 9.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh dist >&2
programs=${1:-$(scripts/release.sh)}
version=$("$programs/errand" --version)
architecture=$(dpkg --print-architecture)
maintainer=${DIST_MAINTAINER:-The authors of Errand <errand@localhost>}
out=.errand/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
# The commit's time in place of the build's: the same programs give the same files.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || date +%s)
export SOURCE_DATE_EPOCH

# Stripped copies, which both take.
install -d "$work/bin"
for program in errand errand-image; do strip --strip-all -o "$work/bin/$program" "$programs/$program"; done

# The tarball.
name=errand-$version-linux-$(uname -m)
install -D --mode 755 --target-directory "$work/$name" "$work/bin/errand" "$work/bin/errand-image"
cp -r deploy/systemd "$work/$name/systemd"
cp LICENSE "$work/$name/"
cp deploy/tarball.md "$work/$name/README.md"
chmod -R u=rwX,go=rX "$work/$name"
tar --create --directory "$work" --sort name --owner root:0 --group root:0 --mtime "@$SOURCE_DATE_EPOCH" "$name" \
    | gzip --no-name > "$out/$name.tar.gz"

# The package. errand finds errand-image beside its own file, so /usr/bin has only a link.
root=$work/package
doc=$root/usr/share/doc/errand
units=$root/lib/systemd/system
install -d "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/man/man1" "$root/usr/share/lintian/overrides" "$doc" "$units"
install -D --mode 755 --target-directory "$root/usr/lib/errand" "$work/bin/errand" "$work/bin/errand-image"
ln -s ../lib/errand/errand "$root/usr/bin/errand"
cp -r deploy/systemd/. "$units/"
find "$units" -type f -exec sed -i 's,/usr/local/,/usr/,' {} +
for process in worker scheduler web; do
    install -D --mode 644 deploy/debian/unit.conf "$units/errand-$process.service.d/database.conf"
done
for process in worker scheduler web migrate storage; do
    install -D --mode 644 deploy/debian/credential.conf "$units/errand-$process.service.d/credential.conf"
done
install -d --mode 750 "$root/etc/errand"
install --mode 640 deploy/debian/errand.env "$root/etc/errand/errand.env"
cp -r docs/. "$doc/"
install --mode 644 deploy/debian/copyright "$doc/"
install --mode 644 deploy/debian/lintian-overrides "$root/usr/share/lintian/overrides/errand"
gzip --best --no-name > "$doc/changelog.Debian.gz" << END
errand ($version-1) unstable; urgency=medium

  * Version $version: /usr/share/doc/errand/changelog.gz says what it brings.

 -- $maintainer  $(date --utc --rfc-email --date "@$SOURCE_DATE_EPOCH")
END
gzip --best --no-name < CHANGELOG.md > "$doc/changelog.gz"
{
    printf '.TH ERRAND 1 "%s" "Errand %s" "User Commands"\n' "$(date --utc --date "@$SOURCE_DATE_EPOCH" +%F)" "$version"
    printf '.SH NAME\nerrand \\- job queue and scheduler in PostgreSQL\n.SH SYNOPSIS\n.B errand\n.I subcommand\n'
    printf '.SH DESCRIPTION\n.nf\n'
    "$work/bin/errand" --help | sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'
    printf '.fi\n.SH FILES\n.I /etc/errand/errand.env\n.br\n.I /usr/share/doc/errand/settings.md\n'
} | gzip --best --no-name > "$root/usr/share/man/man1/errand.1.gz"

echo /etc/errand/errand.env > "$root/DEBIAN/conffiles"
install --mode 755 deploy/debian/{postinst,prerm,postrm} "$root/DEBIAN/"
mkdir -p "$work/debian"
printf 'Source: errand\n\nPackage: errand\nArchitecture: any\n' > "$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O -Tdebian/substvars package/usr/lib/errand/errand{,-image} 2> "$work/said" \
    | sed -n 's/^shlibs:Depends=//p') || { cat "$work/said" >&2; exit 1; }
[ -n "$depends" ] || { cat "$work/said" >&2; echo "dist.sh: dpkg-shlibdeps found no libraries" >&2; exit 1; }
sed -e "s|@VERSION@|$version-1|" -e "s|@ARCHITECTURE@|$architecture|" -e "s|@MAINTAINER@|$maintainer|" \
    -e "s|@DEPENDS@|$depends|" -e "s|@SIZE@|$(du --summarize --apparent-size --block-size 1K "$root" | cut -f 1)|" \
    deploy/debian/control > "$root/DEBIAN/control"
(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
chmod -R go-w,a+rX "$root/usr" "$root/lib"
package=$out/errand_$version-1_$architecture.deb
dpkg-deb --root-owner-group -Zxz "-z${DIST_LEVEL:-6}" --build "$root" "$package" > /dev/null

# The wheel, from a copy: a build leaves files beside its sources.
install -d "$work/python"
cp -r clients/python/{src,README.md,pyproject.toml} LICENSE "$work/python/"
rm -rf "$work"/python/src/*.egg-info
python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out" "$work/python" >&2
wheel=$out/errand_queue-$version-py3-none-any.whl
[ -f "$wheel" ] || { echo "dist.sh: clients/python/pyproject.toml has another version than $version" >&2; exit 1; }

"$programs/errand" migrate --print > "$out/errand-$version.sql"

# Errors fail; warnings are shown.
lintian --fail-on error --tag-display-limit 0 "$package" >&2
(cd "$out" && sha256sum "$name.tar.gz" "${package##*/}" "${wheel##*/}" "errand-$version.sql" > SHA256SUMS)
printf '%s\n' "$PWD/$out/$name.tar.gz" "$PWD/$package" "$PWD/$wheel" "$PWD/$out/errand-$version.sql"
