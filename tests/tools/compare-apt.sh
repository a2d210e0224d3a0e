#!/bin/sh
# Compares our resolver's sets with those of the machine's apt, on an empty status, for COUNT
# packages chosen by SEED of the machine's indexes (run apt-get update before).
#
#   tests/tools/compare-apt.sh [COUNT] [SEED] [NAME…]      with names: these sets, one per argument
#
# Needs apt, and build/tests/tools/resolve_debs (made when missing). Prints what differs; ends with
# 1 when more than one in a hundred does.
set -eu
count=${1:-300} seed=${2:-1}
[ $# -gt 1 ] && shift 2 || shift $#
O=${O:-build}
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
[ -n "${KEEP:-}" ] && work=$KEEP && mkdir -p "$work" || trap 'rm -rf "$work"' EXIT
[ -x "$O/tests/tools/resolve_debs" ] || make -s "$O/tests/tools/resolve_debs"

# The order of apt's own sources: indextargets lists them so.
apt-get indextargets --no-release-info --format '$(FILENAME)' 'Created-By: Packages' |
	while read -r file; do
		for f in "$file" "$file".*; do
			if [ -f "$f" ]; then
				echo "$f"
				break
			fi
		done
	done >"$work/lists"
n=0
while read -r file; do
	n=$((n + 1))
	/usr/lib/apt/apt-helper cat-file "$file" >"$work/Packages.$n"
done <"$work/lists"

if [ $# -gt 0 ]; then
	printf '%s\n' "$@" >"$work/sets"
else
	sed -n 's/^Package: //p' "$work"/Packages.* | LC_ALL=C sort -u |
		awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' |
		LC_ALL=C sort | cut -f2 | head -n "$count" >"$work/sets"
fi

: >"$work/status"
while read -r set; do
	# shellcheck disable=SC2086 # a set is several words
	apt-get -s -o Dir::State::status="$work/status" -o Dir::Etc::preferencesparts=/dev/null \
		-o Debug::NoLocking=1 --no-install-recommends -o APT::Architectures="$arch" \
		install $set 2>/dev/null |
		sed -n 's/^Inst \([^ ]*\) .*/\1/p' | LC_ALL=C sort | tr '\n' ' ' |
		sed "s/ *\$//; s/^/$set: /; s/: *\$/: FAILED/"
	echo
done <"$work/sets" >"$work/apt"

# shellcheck disable=SC2046 # file names of our own making
"$O/tests/tools/resolve_debs" "$arch" $(ls "$work"/Packages.* | sort -t. -k3n) -- \
	<"$work/sets" >"$work/ours" 2>"$work/notes"
total=$(wc -l <"$work/sets")
equal=$(awk 'NR == FNR { a[$0]; next } $0 in a' "$work/apt" "$work/ours" | wc -l)
awk 'NR == FNR { a[$0]; next } !($0 in a)' "$work/apt" "$work/ours" | while read -r line; do
	set=${line%%:*}
	echo "$set differs:"
	grep -F "$set: " "$work/apt" | sed "s/^[^:]*: //" | tr ' ' '\n' | LC_ALL=C sort >"$work/a"
	printf '%s\n' "${line#*: }" | tr ' ' '\n' | LC_ALL=C sort >"$work/b"
	LC_ALL=C comm -3 "$work/a" "$work/b" |
		awk -F '\t' '{ print ($1 != "" ? "  apt only:  " $1 : "  ours only: " $2) }'
done
cat "$work/notes"
echo "$equal of $total equal"
[ $((equal * 100)) -ge $((total * 99)) ]
