# What the tests of uploads share. docker-registry (2.8) is started once per file, other kinds of
# registries (tests/support/persona_server.py) where a test wants one; every test pushes to
# repositories of its own.

upload_setup_file() {
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	start_registry
	export SHARED_REGISTRY=$REGISTRY SHARED_REGISTRY_PID=$REGISTRY_PID SHARED_REGISTRY_DIR=$REGISTRY_DIR
	cd "$BATS_FILE_TMPDIR" || return 1
	make_layout
	export LAYOUT=$BATS_FILE_TMPDIR/layout DIGEST
	SIZE=$(cat layout/blobs/sha256/* | wc -c)
	SIZE=$((SIZE - $(stat -c %s "layout/blobs/sha256/${DIGEST#sha256:}")))
	export SIZE # of all blobs
}

upload_teardown_file() { kill "$SHARED_REGISTRY_PID" 2>/dev/null || true; }

upload_setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker XDG_STATE_HOME=$WORK/state
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE
	REGISTRY=$SHARED_REGISTRY
	NAME=r$BATS_TEST_NUMBER/app
}

# serve_by KIND: $REGISTRY, which is $DIRECT as well, is docker-registry or a persona of that kind, and
# $NAME a repository of its own. Nothing is known of it.
serve_by() {
	rm -rf state
	SERVER=$1
	NAME=r$BATS_TEST_NUMBER/$1
	REGISTRY=$SHARED_REGISTRY
	PERSONA=
	[ "$1" = docker-registry ] || start_persona "$@"
	DIRECT=$REGISTRY
}

# The same behind a proxy, with a token server, whose calls token_calls counts: serve_by_token KIND
# [LIFE_S [SKEW_S]] [-- RULE...]. REALM in a rule is the token server's address. The life of a
# persona's tokens is its kind's. TOKEN_FAULTS are rules for the way to the token server, TOKEN_USER is whom it knows.
serve_by_token() {
	local kind=$1 times=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		times+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	if [ "$kind" = docker-registry ]; then
		stop_registry
		start_registry_token "${TOKEN_USER:-joe}" s3cret-canary "${times[@]:-300}"
		rm -rf state
		SERVER=$kind NAME=r$BATS_TEST_NUMBER/$kind
		start_proxy "${@//REALM/$TOKEN_REALM}"
	else
		serve_by "$kind" joe s3cret-canary
		start_proxy "${TOKEN_FAULTS[@]}" "${@//REALM/http://$REGISTRY/token}"
	fi
	docker_config joe s3cret-canary
}

token_calls() {
	if [ "$SERVER" = docker-registry ]; then
		wc -l <"$TOKEN_LOG"
	else
		jq -s 'map(select(.path == "/token")) | length' "$PERSONA/log"
	fi
}

push() { run -0 gpuimg push "$@" "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"; }
refused() { run -3 gpuimg push "$@" "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"; }

# The blob bytes that left us, as the proxy counted them.
sent() { jq -s 'map(select(.path | contains("/uploads/")) | .body) | add // 0' "$PROXY/log"; }
requests() { # METHOD REGEX
	jq -s --arg m "$1" --arg r "$2" 'map(select(.method == $m and (.path | test($r)))) | length' "$PROXY/log"
}
# Sent at most the blobs and so many bytes more; curl hands some to a connection that is no more.
sent_at_most() { # BYTES
	[ "$(sent)" -le $((SIZE + $1)) ] || { echo "sent $(sent) of $SIZE + $1"; return 1; }
}
arrived() {
	curl -sfo got ${AUTH:+-u "$AUTH"} -H "Accept: application/vnd.oci.image.manifest.v1+json" "http://$REGISTRY/v2/$NAME/manifests/1"
	[ "sha256:$(sha256sum got | cut -d' ' -f1)" = "$DIGEST" ]
	no_journal
}
# The same where it is asked for no credentials: by the registry's files.
stored() {
	local where=$PERSONA/manifests/${NAME//\//_}.$DIGEST
	[ "$SERVER" != docker-registry ] ||
		where=$REGISTRY_DIR/data/docker/registry/v2/repositories/$NAME/_manifests/revisions/sha256/${DIGEST#*:}/link
	[ -e "$where" ]
	no_journal
}
no_journal() { [ -z "$(find state -name '*.json' -path '*uploads*')" ]; } # no session is under way any more
big() { find "${1:-$LAYOUT}/blobs" -size +1M; }
# What the registry answers when it is asked for the large blob, at $DIRECT.
big_status() { curl -so ignored -w '%{http_code}' -I "http://$DIRECT/v2/$NAME/blobs/sha256:$(basename "$(big)")"; }

# What is known of $REGISTRY before the push, as JSON members.
known() {
	mkdir -p state/gpuimg/hosts
	printf '{"version":1,"learned":%s,%s}' "$(date +%s)" "$1" >"state/gpuimg/hosts/$REGISTRY.json"
}
learned() { jq -e "$1" "state/gpuimg/hosts/$REGISTRY.json" >/dev/null; }

# go_on: what the proxy held back passes.
go_on() { touch "$PROXY/go"; }
wait_held() {
	wait_for test -e "$PROXY/held" && return 0
	echo "nothing was held; the push says: $(cat aside)"
	return 1
}

# A push in the background: $PUSH_PID.
push_aside() {
	"$GPUIMG" push "$@" "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1" >aside 2>&1 3>&- &
	PUSH_PID=$!
}

ended() { # STATUS
	local status=0
	wait "$PUSH_PID" || status=$?
	cat aside
	[ $status = "$1" ]
}

# killed_at BYTES [PUSH OPTIONS]: SIGKILL when so many bytes have passed through a proxy with $RULES.
killed_at() {
	start_proxy --hold "$1" "${RULES[@]}"
	[ -z "${KNOWN:-}" ] || known "$KNOWN"
	push_aside "${@:2}"
	wait_held
	kill -9 $PUSH_PID
	wait $PUSH_PID || true
}
# The journals that a killed push left.
journals() { find state -name '*.json' -path '*uploads*'; }
