#!/usr/bin/env bash
# deploy/image/build.sh [--tag NAME] [--to FOLDER]: makes the image of the service, in a folder of
# OCI's layout when one is named, with compressed layers. In it are Debian's C and C++ libraries and
# certificates, this checkout's Node, and the packed release with the packages it needs: no shell,
# no package manager, no root. The same sources, packages and Node give the same digest. It needs
# buildah, npm and apt-get; it starts nothing in the image.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tag=localhost/penstock:$(node -p "require('$root/package.json').version")
to=
while [ $# -gt 0 ]; do
  case $1 in
    --tag) tag=$2 ;;
    --to) to=$2 ;;
    *) sed -n '2,6s/^# //p' "$0"; exit 2 ;;
  esac
  shift 2
done
for program in buildah npm apt-get dpkg-deb; do
  command -v "$program" > /dev/null || { echo "$program is missing" >&2; exit 3; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
image=$work/image
mkdir -p "$work/debs" "$work/packed" "$image/app" "$image/data" "$image/tmp" "$image/etc"

# Debian's files. The links of a merged /usr come first, since packages name both places.
mkdir -p "$image/usr/bin" "$image/usr/lib" "$image/usr/lib64"
for link in bin lib lib64; do ln -s "usr/$link" "$image/$link"; done
(cd "$work/debs" && apt-get download -qq libc6 libgcc-s1 libstdc++6 ca-certificates)
for deb in "$work"/debs/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$image"
done
mkdir -p "$image/etc/ssl/certs"
find "$image/usr/share/ca-certificates" -name '*.crt' | LC_ALL=C sort | xargs cat \
  > "$image/etc/ssl/certs/ca-certificates.crt"
# Licences stay; manuals, translations and the conversion of encodings do not.
find "$image/usr/share/doc" -type f ! -name copyright -delete
rm -rf "$image"/usr/share/{lintian,man,locale} "$image"/usr/lib/*-linux-gnu/gconv \
  "$image"/usr/sbin "$image"/sbin "$image"/usr/share/gdb
echo 'penstock:x:65532:65532::/data:/nonexistent' > "$image/etc/passwd"
echo 'penstock:x:65532:' > "$image/etc/group"

# Node and the release. PostgreSQL, which the packages could bring, is not in it.
cp -L "$(node -p process.execPath)" "$image/usr/bin/node"
(cd "$root" && npm run --silent pack -- tron devchain command-line web service \
  --to "$work/packed") > /dev/null 2>&1
echo '{"private":true,"type":"module"}' > "$image/app/package.json"
(cd "$image/app" && npm install --silent --prefer-offline --no-audit --no-fund --ignore-scripts \
  --omit=optional --no-package-lock "$work"/packed/*.tgz)
# npm notes where it had the files from.
rm -f "$image/app/node_modules/.package-lock.json"
rm -rf "$image/app/node_modules/.bin"
echo '{"private":true,"type":"module"}' > "$image/app/package.json"
chmod -R go=rX "$image/app"
chmod 1777 "$image/tmp"

# One layer, all of it root's but the data folder, and of one moment.
moment=$(git -C "$root" log -1 --format=%ct 2> /dev/null || echo 0)
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
container=$(buildah from scratch)
trap 'buildah rm "$container" > /dev/null; rm -rf "$work"' EXIT
buildah copy --quiet --chown 0:0 "$container" "$image/" / > /dev/null
chown_data() { chown 65532:65532 "$(buildah mount "$container")/data"; }
chown_data
main=/app/node_modules/penstock-service/src/main.js
buildah config --user 65532:65532 --workingdir /data --env NODE_ENV=production \
  --env SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt --volume /data --port 8080 \
  --entrypoint "[\"/usr/bin/node\",\"--max-semi-space-size=32\",\"$main\"]" \
  --cmd '["--help"]' --label org.opencontainers.image.title=penstock \
  --label org.opencontainers.image.licenses=Apache-2.0 "$container"
buildah commit --quiet --omit-history --timestamp "$moment" "$container" "$tag" > /dev/null
if [ -n "$to" ]; then
  buildah push --quiet --compression-format zstd --compression-level 19 "$tag" "oci:$to:penstock"
fi
buildah inspect --type image --format '{{.FromImageDigest}}' "$tag"
