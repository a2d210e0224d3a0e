#!/bin/sh
# The answers of real apt to the requests of tests/fixtures/apt-corpus/sets.txt, in Debian's
# bookworm main and on an empty status, beside ours; then those of foreign-sets.txt, with i386 as a
# foreign architecture.
#
#   tests/tools/apt-corpus.sh measure   compare with the archive as it is now; 1 when more than one
#                                       set in a hundred differs
#   tests/tools/apt-corpus.sh make      the same, then write the packages and answers anew, after
#                                       proving that the extract gives the answers of the whole
#                                       index, to us and to apt
#
# Needs apt with Debian's keyring, a source of bookworm main among the machine's own, a network,
# python3 and xz; takes some minutes. KEEP=DIR keeps what it worked with.
set -eu
mode=${1:-measure}
fixtures=tests/fixtures/apt-corpus
O=${O:-build}
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
	# shellcheck disable=SC2086 # several options
	apt-get -o Dir::State::lists="$dir/lists" -o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
		-o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=srcpkgcache.bin \
		-o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o Debug::NoLocking=1 \
		-o APT::Architecture=amd64 $architectures -o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o Acquire::GzipIndexes=false "$@"
}

# What apt would fetch is what it would install (-s says the same, and takes much longer).
apt_answers() { # DIR
	while read -r set; do
		# shellcheck disable=SC2086 # a set is several words
		answer=$({ apt_in "$1" -qq -y --print-uris --no-install-recommends install $set </dev/null 2>/dev/null || true; } |
			sed -n "s/^'[^ ]* \([^_]*\)_[^_]*_\([a-z0-9]*\)\.deb .*/\1:\2/p" | sed 's/:amd64$//; s/:all$//' |
			LC_ALL=C sort | tr '\n' ' ' | sed 's/ *$//')
		echo "$set: ${answer:-FAILED}"
	done <"$sets"
}

ours() { # PACKAGES
	"$O/tests/tools/resolve_debs" "$archs" "$1" -- <"$sets" 2>/dev/null | sed 's/ (searched)$//'
}

# NAME ARCHITECTURES: "" for the 300 sets, "foreign-" for those with i386.
corpus() {
	name=$1 archs=$2 sets=$fixtures/$1sets.txt
	work=$top/${1}work architectures=
	for arch in $(echo "$archs" | tr , ' '); do architectures="$architectures -o APT::Architectures::=$arch"; done
	mkdir -p "$work"
	apt_state "$work/full" "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri bookworm main"
	apt_in "$work/full" -qq update
	cat "$work"/full/lists/*binary-amd64_Packages >"$work/Packages"
	[ "$archs" = amd64 ] || cat "$work"/full/lists/*binary-i386_Packages >>"$work/Packages"
	[ -n "${KEEP:-}" ] && [ -s "$work/apt" ] || apt_answers "$work/full" >"$work/apt"
	ours "$work/Packages" >"$work/ours"

	total=$(wc -l <"$work/apt")
	diff "$work/apt" "$work/ours" | sed -n 's/^< \(.*\): .*/\1/p' >"$work/different" || true
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
	[ "$mode" != make ] || extract
	[ $((different * 100)) -le "$((total > 100 ? total : 100))" ] || worse=1
}

# Without the sets that differ: what apt took back there need not be in the extract.
equal() {
	awk -v file="$work/different" 'BEGIN { while ((getline set <file) > 0) skip[set ": "] = 1 }
		{ for (set in skip) if (index($0, set) == 1) next; print }'
}

extract() {
	mkdir -p "$work/part"
	tests/tools/apt-extract "$work/Packages" "$work/apt" "$work/ours" >"$work/part/Packages"
	ours "$work/part/Packages" | cmp - "$work/ours" || { echo "the extract gives us other sets" >&2; exit 1; }
	# apt fetches what has one name once
	mkdir -p "$work/aptpart"
	awk '/^Package: / { p = $2 } /^Architecture: / { a = $2 } /^Filename: / { $0 = "Filename: ./" p "_" a ".deb" } 1' \
		"$work/part/Packages" >"$work/aptpart/Packages"
	apt_state "$work/partstate" "deb [trusted=yes] file:$work/aptpart ./"
	apt_in "$work/partstate" -qq update
	equal <"$work/apt" >"$work/apt.equal"
	apt_answers "$work/partstate" | equal | cmp - "$work/apt.equal" || { echo "the extract gives apt other sets" >&2; exit 1; }
	xz -9e -c "$work/part/Packages" >"$fixtures/${name}packages.xz"
	xz -9e -c "$work/apt" >"$fixtures/${name}answers.xz"
	ls -l "$fixtures"
}

uri=$(apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
	sed -n 's/^bookworm main //p' | head -n 1)
[ -n "$uri" ] || { echo "the machine's sources of apt have no bookworm main" >&2; exit 3; }
top=$work worse=0
[ -n "${ONLY_FOREIGN:-}" ] || corpus "" amd64
corpus foreign- amd64,i386
[ "$worse" = 0 ]
