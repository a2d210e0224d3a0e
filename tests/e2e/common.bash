# Shared by the end-to-end tests: paths, a store that outlives a run (downloads are slow), and
# small makers of test material.

bats_require_minimum_version 1.5.0

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GPUIMG=${GPUIMG:-$ROOT/build/gpuimg}
export GPUIMG_STORE=${GPUIMG_TEST_STORE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuimg-test}

gpuimg() { "$GPUIMG" "$@"; }

# A fresh directory per test, removed by bats.
work() {
	WORK=$(mktemp -d "$BATS_TEST_TMPDIR/work.XXXXXX")
	cd "$WORK" || return 1
}

need() {
	for tool; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
}

# The index digest of a layout's tag.
digest_of() { # DIR TAG
	jq -r --arg tag "$2" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag) | .digest' "$1/index.json"
}

# A lock of a library manifest in $BATS_FILE_TMPDIR/stacks, made and fetched once per file.
library_stack() { # NAME: prints the path of the manifest
	local dir=$BATS_FILE_TMPDIR/stacks
	if [ ! -f "$dir/$1.lock.json" ]; then
		mkdir -p "$dir"
		cp -r "$ROOT/manifests/library/." "$dir/"
		gpuimg lock "$dir/$1.yaml" >&2 || return 1
		gpuimg fetch "$dir/$1.lock.json" >&2 || return 1
	fi
	echo "$dir/$1.yaml"
}
