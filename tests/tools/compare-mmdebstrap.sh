#!/bin/sh
# Builds the sets of packages tests/fixtures/compare-mmdebstrap/NAME.txt with gpuimg, and installs
# the same .debs with mmdebstrap, whose maintainer scripts run; then compares the two trees.
#
#   tests/tools/compare-mmdebstrap.sh [NAME…]       all sets when none is named
#
# Packages come from the machine's own apt configuration; a set whose first line is "# suite NAME"
# takes them from that suite of the same archive. Ends with 1 when a difference is not explained in
# explained.txt, or (of the set "full") an explanation is of no use. Needs root, mmdebstrap, python3,
# jq and, for what is not in the store yet, a network. KEEP=DIR keeps the trees.
set -eu
cd "$(dirname "$0")/../.."
fixtures=tests/fixtures/compare-mmdebstrap
gpuimg=$PWD/${O:-build}/gpuimg
export GPUIMG_STORE="${GPUIMG_STORE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuimg-test}"
work=$(mktemp -d)
chmod 755 "$work"
[ -n "${KEEP:-}" ] && work=$KEEP && mkdir -p "$work" || trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- $(basename -s .txt "$fixtures"/*.txt | grep -vx explained)

# A flat repository of the locked .debs, so that both have the same versions.
repository() { # LOCK DIR
	mkdir -p "$2"
	: >"$2/Packages"
	jq -r '.. | objects | select(.kind? == "deb") | "\(.name)_\(.arch).deb \(.digest | sub("sha256:"; "")) \(.size)"' "$1" |
		while read -r name digest size; do
			find "$GPUIMG_STORE/objects/sha256" -name "$digest" -exec cp {} "$2/$name" \;
			dpkg-deb -f "$2/$name" >>"$2/Packages"
			printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$name" "$size" "$digest" >>"$2/Packages"
		done
}

compare() { # NAME
	dir=$work/$1
	mkdir -p "$dir"
	suite=$(sed -n 's/^# suite //p' "$fixtures/$1.txt")
	packages=$(grep -v '^#' "$fixtures/$1.txt" | tr -s ' \n' ',' | sed 's/^,//; s/,$//')
	if [ -n "$suite" ]; then
		url=$(apt-get indextargets --format '$(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
			awk '$1 == "main" && $2 !~ /-/ { print $3; exit }')
		source="{ id: os, type: apt, url: \"$url\", suite: $suite, components: [main],
    signed-by: /usr/share/keyrings/debian-archive-keyring.gpg }"
	else
		source="{ id: os, type: apt, from: host }"
	fi
	cat >"$dir/stack.yaml" <<-END
	gpuimg: 1
	name: compare/$1
	sources:
	  - $source
	stages: { root: { packages: { os: [$packages] } } }
	layers: { compression: none }
	END
	"$gpuimg" --quiet lock "$dir/stack.yaml" 2>/dev/null || "$gpuimg" lock "$dir/stack.yaml"
	"$gpuimg" fetch "$dir/stack.lock.json"
	"$gpuimg" build -v --offline --no-lint --to "oci:$dir/ours:1" "$dir/stack.yaml" >"$dir/report" 2>&1 || {
		tail -n 5 "$dir/report"
		return 1
	}
	repository "$dir/stack.lock.json" "$dir/repository"
	# shellcheck disable=SC2016 # $1 is the hook's
	mmdebstrap --quiet --variant=apt --include="$packages" --dpkgopt=force-unsafe-io \
		--setup-hook='for d in bin sbin lib lib64; do mkdir -p "$1/usr/$d"; ln -s "usr/$d" "$1/$d"; done' \
		--customize-hook='rm "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"' \
		'' "$dir/real.tar" "deb [trusted=yes] copy:$dir/repository ./" >"$dir/mmdebstrap.log" 2>&1 || {
		tail -n 5 "$dir/mmdebstrap.log"
		return 1
	}
	tests/tools/compare-roots --run "$1" $([ "$1" != full ] || echo --unused) "$dir/ours" "$dir/real.tar" "$fixtures/explained.txt"
}

status=0
for name; do
	echo "== $name"
	compare "$name" || status=1
	[ -n "${KEEP:-}" ] || rm -rf "${work:?}/$name"
done
exit $status
