# Shared by the end-to-end tests: paths, a store that outlives a run (downloads are slow), and
# small makers of test material.

bats_require_minimum_version 1.5.0

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GPUIMG=${GPUIMG:-$ROOT/build/gpuimg}
TEST_CACHE=${GPUIMG_TEST_STORE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuimg-test}
export GPUIMG_STORE=$TEST_CACHE

# The machine's own apt and pip, as they were when tests/fill-cache ran: `from: host` in a test needs
# no network. tests/run-e2e serves the mirror over HTTP; a file that runs alone reads it from the disk.
if [ -f "$TEST_CACHE/mirror/complete" ]; then
	MIRROR_CONFIG=${GPUIMG_TEST_MIRROR:-$TEST_CACHE/mirror/config}
	export APT_CONFIG=$MIRROR_CONFIG/apt.conf PIP_CONFIG_FILE=$MIRROR_CONFIG/pip.conf
	unset PIP_FIND_LINKS PIP_NO_INDEX PIP_INDEX_URL PIP_EXTRA_INDEX_URL
fi

gpuimg() { "$GPUIMG" "$@"; }

. "${BASH_SOURCE[0]%/*}/wait.bash"

# Runs gpuimg; status must be $1, and stderr must hold each further argument up to "--".
refuses() { # STATUS TEXT… -- COMMAND…
	local want=$1 text
	local -a texts=()
	shift
	while [ "$1" != -- ]; do texts+=("$1"); shift; done
	shift
	run --separate-stderr gpuimg "$@"
	echo "status $status: $stderr"
	[ "$status" -eq "$want" ]
	for text in "${texts[@]}"; do
		[[ $stderr == *"$text"* ]] || { echo "missing: $text"; return 1; }
	done
}

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

# A validator that tests/fill-cache installs.
need_cached() { # NAME
	need python3
	[ -e "$TEST_CACHE/tools/$1/done" ] || skip "$1 is not in the cache: tests/fill-cache brings it, with a network"
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

# The signed index of a flat repository of the .debs in a folder; DIR/key.gpg is its keyring. Its
# date is now, or RELEASE_DATE.
sign_repository() { # DIR
	need gpg
	local home=$BATS_TEST_TMPDIR/gnupg deb
	(
		cd "$1" || exit 1
		: >Packages
		for deb in *.deb; do
			dpkg-deb -f "$deb" Package Version Architecture Maintainer Description Depends >>Packages
			printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d' ' -f1)" >>Packages
		done
		printf 'Origin: test\nSuite: ./\nDate: %s\nSHA256:\n %s %s Packages\n' "$(LC_ALL=C date -u ${RELEASE_DATE:+-d "$RELEASE_DATE"} '+%a, %d %b %Y %H:%M:%S UTC')" \
			"$(sha256sum Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" >Release
		mkdir -p -m 700 "$home"
		[ -f key.gpg ] || gpg --homedir "$home" --batch --quiet --passphrase '' --quick-generate-key 'Test <test@example.org>' rsa2048 sign never
		gpg --homedir "$home" --batch --quiet --yes --clearsign --digest-algo SHA256 -o InRelease Release
		gpg --homedir "$home" --export >key.gpg
		gpgconf --homedir "$home" --kill all 2>/dev/null || true
	)
}

# The same, served on 127.0.0.1: $REPOSITORY is its address.
start_repository() { # DIR
	need python3
	sign_repository "$1" || return 1
	serve_folder "$1"
}

# Packages in DIR become a signed repository; DIR/key.asc is its key.
sign_rpms() { # DIR
	local home=$BATS_FILE_TMPDIR/gnupg
	(
		cd "$1" || exit 1
		createrepo_c --quiet .
		mkdir -p -m 700 "$home"
		[ -n "$(ls -A "$home")" ] || gpg --homedir "$home" --batch --quiet --passphrase '' --quick-generate-key 'Test <test@example.org>' rsa2048 sign never
		gpg --homedir "$home" --batch --quiet --yes --armor --detach-sign -o repodata/repomd.xml.asc repodata/repomd.xml
		gpg --homedir "$home" --armor --export >key.asc
		gpgconf --homedir "$home" --kill all 2>/dev/null || true
	)
}

# A folder on 127.0.0.1: $REPOSITORY is its address; stop_repository ends it.
serve_folder() { # DIR
	local port=$BATS_TEST_TMPDIR/port.$RANDOM$RANDOM
	python3 -u -c '
import functools, http.server, sys
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), h)
print(s.server_address[1]); sys.stdout.flush()
s.serve_forever()' "$1" >"$port" 2>/dev/null 3>&- &
	REPOSITORY_PID=$!
	wait_for said_or_ended $REPOSITORY_PID test -s "$port"
	REPOSITORY=http://127.0.0.1:$(cat "$port")/
}

stop_repository() {
	[ -z "${REPOSITORY_PID:-}" ] || kill "$REPOSITORY_PID" 2>/dev/null || true
	REPOSITORY_PID=
}
