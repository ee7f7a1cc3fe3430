#!/usr/bin/env bash
# make_deb.sh: build/warpsmith_VERSION_ARCH.deb from what `make install` installs. `make deb` calls it.
#
# It depends on the packages that own the libraries which the binary is linked with, and on what the command runs: a C
# compiler with its headers for kernels of the CPU, gnuplot and a font for figures.
# Environment: BUILD (build), VERSION. Needs dpkg-deb. Exit codes: 0 fine, 3 no dpkg here, or a library of no package.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build}
version=${VERSION:?the version, as make deb gives it}
command -v dpkg-deb >/dev/null || {
    echo 'make_deb: no dpkg-deb here: this is for Debian and its children' >&2
    exit 3
}
arch=$(dpkg --print-architecture)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"

libraries=()
while read -r path; do
    # A library may be known by its path before or after /usr was merged.
    owner=$(dpkg-query -S "$(realpath "$path")" 2>/dev/null || dpkg-query -S "${path#/usr}" 2>/dev/null) || {
        echo "make_deb: no package owns $path" >&2
        exit 3
    }
    libraries+=("${owner%%:*}")
done < <(ldd "$build/warpsmith" | awk '$3 ~ /^\// { print $3 }')
depends=$(printf '%s\n' "${libraries[@]}" | sort -u | paste -sd, | sed 's/,/, /g')

"${MAKE:-make}" --no-print-directory BUILD="$build" DESTDIR="$tree" PREFIX=/usr install >/dev/null
gzip -9n "$tree/usr/share/man/man1/warpsmith.1"
mkdir -p "$tree/DEBIAN" "$tree/usr/share/zsh/vendor-completions"
mv "$tree/usr/share/zsh/site-functions/_warpsmith" "$tree/usr/share/zsh/vendor-completions/"
rmdir "$tree/usr/share/zsh/site-functions"
mv "$tree/usr/share/doc/warpsmith/LICENSE" "$tree/usr/share/doc/warpsmith/copyright"
strip --strip-unneeded "$tree/usr/bin/warpsmith" 2>/dev/null || true
cat >"$tree/DEBIAN/control" <<END
Package: warpsmith
Version: $version
Architecture: $arch
Maintainer: warpsmith maintainers <maintainers@warpsmith.invalid>
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Depends: $depends, gcc, libc6-dev, gnuplot-nox | gnuplot, fonts-dejavu-core
Suggests: python3
Section: science
Priority: optional
Description: tune the kernels of PyTorch files, and measure them
 warpsmith captures a plain PyTorch file, fuses its operators into kernels, generates
 many variants of each, checks them against a reference, times them on the device, and
 keeps the winners. It needs neither Python nor a GPU.
END
out=$build/warpsmith_${version}_$arch.deb
dpkg-deb --root-owner-group -Zxz --build "$tree" "$out" >/dev/null
echo "$out"
