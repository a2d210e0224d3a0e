#!/bin/sh
# The answers of real apt to the requests of tests/fixtures/apt-corpus/sets.txt, in Debian's
# bookworm main and on an empty status, beside ours.
#
#   tests/tools/apt-corpus.sh measure   compare with the archive as it is now; 1 when more than one
#                                       set in a hundred differs
#   tests/tools/apt-corpus.sh make      the same, then write packages.xz and answers.xz anew, after
#                                       proving that the extract gives the answers of the whole
#                                       index, to us and to apt
#
# Needs apt with Debian's keyring, a source of bookworm main among the machine's own, a network,
# python3 and xz; takes some minutes. KEEP=DIR keeps what it worked with.
set -eu
mode=${1:-measure}
fixtures=tests/fixtures/apt-corpus
O=${O:-build}
sets=$fixtures/sets.txt
work=$(mktemp -d)
[ -n "${KEEP:-}" ] && work=$KEEP && mkdir -p "$work" || trap 'rm -rf "$work"' EXIT
make -s "$O/tests/tools/resolve_debs"

# A state of its own for apt, with one source. The one installed package lets apt keep its cache.
apt_state() { # DIR SOURCE
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
	echo "$2" >"$1/sources.list"
	printf 'Package: %s\nStatus: install ok installed\nMaintainer: T <t@example.org>\nArchitecture: all\nVersion: 1\nDescription: none\n\n' \
		gpuimg-corpus-empty >"$1/status"
}

apt_in() { # DIR ARGUMENT…
	dir=$1
	shift
	apt-get -o Dir::State::lists="$dir/lists" -o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
		-o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=srcpkgcache.bin \
		-o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o Debug::NoLocking=1 \
		-o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o Acquire::GzipIndexes=false "$@"
}

# What apt would fetch is what it would install (-s says the same, and takes much longer).
apt_answers() { # DIR
	while read -r set; do
		# shellcheck disable=SC2086 # a set is several words
		{ apt_in "$1" -qq -y --print-uris --no-install-recommends install $set </dev/null 2>/dev/null || true; } |
			sed -n "s/^'[^ ]* \([^_]*\)_.*/\1/p" | LC_ALL=C sort | tr '\n' ' ' |
			sed "s/ *\$//; s/^/$set: /; s/: *\$/: FAILED/"
		echo
	done <"$sets"
}

ours() { # PACKAGES
	"$O/tests/tools/resolve_debs" amd64 "$1" -- <"$sets" 2>/dev/null | sed 's/ (searched)$//'
}

uri=$(apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
	sed -n 's/^bookworm main //p' | head -n 1)
[ -n "$uri" ] || { echo "the machine's sources of apt have no bookworm main" >&2; exit 3; }
apt_state "$work/full" "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri bookworm main"
apt_in "$work/full" -qq update
cp "$work"/full/lists/*_Packages "$work/Packages"
[ -n "${KEEP:-}" ] && [ -s "$work/apt" ] || apt_answers "$work/full" >"$work/apt"
ours "$work/Packages" >"$work/ours"

total=$(wc -l <"$work/apt")
diff "$work/apt" "$work/ours" | sed -n 's/^< \([^:]*\): .*/\1/p' >"$work/different" || true
while read -r set; do
	echo "$set differs:"
	for f in apt ours; do
		sed -n "s/^$set: //p" "$work/$f" | tr ' ' '\n' | LC_ALL=C sort >"$work/$f.one"
	done
	LC_ALL=C comm -3 "$work/apt.one" "$work/ours.one" |
		awk -F '\t' '{ print ($1 != "" ? "  apt only:  " $1 : "  ours only: " $2) }'
done <"$work/different"
different=$(wc -l <"$work/different")
echo "$((total - different)) of $total equal"

if [ "$mode" = make ]; then
	mkdir -p "$work/part"
	tests/tools/apt-extract "$work/Packages" "$work/apt" "$work/ours" >"$work/part/Packages"
	ours "$work/part/Packages" | cmp - "$work/ours" || { echo "the extract gives us other sets" >&2; exit 1; }
	# apt fetches what has one name once
	mkdir -p "$work/aptpart"
	awk '/^Package: / { p = $2 } /^Filename: / { $0 = "Filename: ./" p ".deb" } 1' "$work/part/Packages" >"$work/aptpart/Packages"
	apt_state "$work/partstate" "deb [trusted=yes] file:$work/aptpart ./"
	apt_in "$work/partstate" -qq update
	apt_answers "$work/partstate" | cmp - "$work/apt" || { echo "the extract gives apt other sets" >&2; exit 1; }
	xz -9e -c "$work/part/Packages" >"$fixtures/packages.xz"
	xz -9e -c "$work/apt" >"$fixtures/answers.xz"
	ls -l "$fixtures"
fi
[ $((different * 100)) -le "$total" ]
