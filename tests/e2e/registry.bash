# Registries for the end-to-end tests: docker-registry on 127.0.0.1 with its own port and folder, and
# an image to push.

# A port that nobody listened on a moment ago.
free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# start_registry_with LINES: sets REGISTRY (host:port), REGISTRY_DIR and REGISTRY_PID. LINES go
# below "http:" (indented by two) or beside it. The port is one that it finds free.
start_registry_with() {
	need docker-registry curl python3
	REGISTRY_DIR=$(mktemp -d "$BATS_TEST_TMPDIR/registry.XXXXXX")
	printf '%s\n' 'version: 0.1' 'log: {level: info, accesslog: {disabled: true}}' \
		"storage: {filesystem: {rootdirectory: $REGISTRY_DIR/data}, delete: {enabled: true}}" \
		'http:' '  addr: 127.0.0.1:0' '  secret: x' "$@" >"$REGISTRY_DIR/config.yml"
	serve_registry || return 1
	REGISTRY=127.0.0.1:$(sed -n 's/.*msg="listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$REGISTRY_DIR/log")
	sed -i "s/addr: 127.0.0.1:0/addr: $REGISTRY/" "$REGISTRY_DIR/config.yml"
}

# docker-registry as $REGISTRY_DIR/config.yml has it: REGISTRY_PID. A second time it gets its port again.
serve_registry() {
	: >"$REGISTRY_DIR/log" # what an earlier one said does not count
	docker-registry serve "$REGISTRY_DIR/config.yml" >>"$REGISTRY_DIR/log" 2>&1 3>&- &
	REGISTRY_PID=$!
	wait_for said_or_ended "$REGISTRY_PID" grep -q 'msg="listening on ' "$REGISTRY_DIR/log"
	kill -0 "$REGISTRY_PID" || { cat "$REGISTRY_DIR/log" >&2; return 1; }
}

start_registry() { start_registry_with; }

# start_registry_auth USER PASSWORD
start_registry_auth() {
	need htpasswd
	local file=$BATS_TEST_TMPDIR/htpasswd
	htpasswd -Bbc "$file" "$1" "$2" 2>/dev/null
	start_registry_with "auth: {htpasswd: {realm: test, path: $file}}"
}

# A registry whose challenge names a token server: start_registry_token USER PASSWORD [LIFE_S].
# Each token call is a line of $TOKEN_LOG. TOKEN_FAULTS, if set, are rules for a proxy in front of it.
start_registry_token() {
	need openssl python3
	local dir=$BATS_TEST_TMPDIR/token port
	mkdir -p "$dir"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=token \
		-keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
	TOKEN_LOG=$dir/log
	: >"$TOKEN_LOG"
	run_server token_server.py "$dir" "$1" "$2" "${3:-300}" || return 1
	TOKEN_PID=$SERVER_PID
	port=$PORT
	if [ "${#TOKEN_FAULTS[@]}" -gt 0 ]; then
		mkdir -p "$dir/proxy"
		start_server fault_proxy.py "$port" "$dir/proxy" "${TOKEN_FAULTS[@]}"
		port=$PORT
	fi
	TOKEN_REALM=http://127.0.0.1:$port/token
	start_registry_with \
		"auth: {token: {realm: \"$TOKEN_REALM\", service: svc, issuer: iss, rootcertbundle: $dir/cert.pem}}"
}

# A CA, $REGISTRY_CA, and a certificate of it for 127.0.0.1: tls.pem and tls.key of $TLS_DIR.
make_certificates() {
	need openssl
	local dir=$BATS_TEST_TMPDIR/tls
	mkdir -p "$dir"
	TLS_DIR=$dir
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca \
		-keyout "$dir/ca.key" -out "$dir/ca.pem" 2>/dev/null
	openssl req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 \
		-keyout "$dir/tls.key" -out "$dir/tls.csr" 2>/dev/null
	openssl x509 -req -in "$dir/tls.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial \
		-days 2 -extfile <(echo subjectAltName=IP:127.0.0.1) -out "$dir/tls.pem" 2>/dev/null
	REGISTRY_CA=$dir/ca.pem
}

# A registry over TLS with a CA of its own: $REGISTRY_CA.
start_registry_tls() {
	make_certificates
	start_registry_with "  tls: {certificate: $TLS_DIR/tls.pem, key: $TLS_DIR/tls.key}"
}

stop_registry() {
	end_servers ${REGISTRY_PID:-} ${TOKEN_PID:-}
	REGISTRY_PID='' TOKEN_PID=''
}

# end_servers PID...: those of this shell that still run. The number of one that has ended may be
# another's process by then.
end_servers() {
	local pid
	for pid; do
		[[ " $(jobs -pr | tr '\n' ' ')" == *" $pid "* ]] || continue
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# docker_config USER PASSWORD: $DOCKER_CONFIG with credentials for $REGISTRY.
docker_config() {
	export DOCKER_CONFIG=$BATS_TEST_TMPDIR/docker
	mkdir -p "$DOCKER_CONFIG"
	printf '{"auths":{"%s":{"auth":"%s"}}}' "$REGISTRY" "$(printf '%s:%s' "$1" "$2" | base64 -w0)" \
		>"$DOCKER_CONFIG/config.json"
}

# blob FILE: stores it in the layout and prints its descriptor, less the media type.
blob() {
	local hex
	hex=$(sha256sum "$1" | cut -d' ' -f1)
	cp "$1" "layout/blobs/sha256/$hex"
	printf '"digest":"sha256:%s","size":%s' "$hex" "$(stat -c %s "$1")"
}

# A layout "layout" with the tag "v1": two layers, one of them 9 MB that does not compress. Made once
# per file; its documents lie beside it.
make_layout() {
	local made=$BATS_FILE_TMPDIR/made
	if [ ! -e "$made/done" ]; then
		mkdir -p "$made"
		(cd "$made" && make_layout_here && touch done) || return 1
	fi
	cp -r "$made/." .
	DIGEST=$(digest_of layout v1)
}

make_layout_here() {
	local oci=application/vnd.oci.image config small big manifest
	mkdir -p layout/blobs/sha256 small big
	echo '{"imageLayoutVersion":"1.0.0"}' >layout/oci-layout
	echo hello >small/hello
	openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 </dev/zero 2>/dev/null | head -c 9000000 >big/noise
	tar -C small -cf small.tar hello
	tar -C big -cf big.tar noise
	printf '{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%s","sha256:%s"]}}' \
		"$(sha256sum small.tar | cut -d' ' -f1)" "$(sha256sum big.tar | cut -d' ' -f1)" >config.json
	gzip -n small.tar
	gzip -1n big.tar
	config=$(blob config.json) small=$(blob small.tar.gz) big=$(blob big.tar.gz)
	printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json","config":{"mediaType":"%s.config.v1+json",%s},"layers":[{"mediaType":"%s.layer.v1.tar+gzip",%s},{"mediaType":"%s.layer.v1.tar+gzip",%s}]}' \
		$oci $oci "$config" $oci "$small" $oci "$big" >manifest.json
	manifest=$(blob manifest.json)
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}' \
		$oci "$manifest" >layout/index.json
}

# run_server SCRIPT ARGUMENTS: a server of tests/support; sets PORT and SERVER_PID.
run_server() {
	need python3
	local file
	file=$(mktemp "$BATS_TEST_TMPDIR/port.XXXXXX")
	python3 "$ROOT/tests/support/$1" "${@:2}" >"$file" 2>"$file.stderr" 3>&- &
	SERVER_PID=$!
	wait_for said_or_ended "$SERVER_PID" test -s "$file"
	PORT=$(cat "$file")
	[ -n "$PORT" ] || { cat "$file.stderr" >&2; return 1; }
}

# start_server SCRIPT ARGUMENTS: the same, until stop_servers.
start_server() {
	run_server "$@" || return 1
	SERVER_PIDS="${SERVER_PIDS:-} $SERVER_PID"
}

# start_persona KIND [USER PASSWORD]: a registry of that kind, $REGISTRY, in the folder $PERSONA.
start_persona() {
	PERSONA=$(mktemp -d "$BATS_TEST_TMPDIR/persona.XXXXXX")
	start_server persona_server.py "$PERSONA" "$@"
	REGISTRY=127.0.0.1:$PORT
}

# start_proxy [OPTION...] [RULE...]: breaks what goes to $REGISTRY, which is the proxy from then on;
# its folder is $PROXY.
start_proxy() {
	PROXY=$(mktemp -d "$BATS_TEST_TMPDIR/proxy.XXXXXX")
	start_server fault_proxy.py "${REGISTRY##*:}" "$PROXY" "$@"
	REGISTRY=127.0.0.1:$PORT
}

stop_servers() {
	end_servers ${SERVER_PIDS:-}
	SERVER_PIDS=
}

# start_nginx LINES: before $REGISTRY, which it is from then on.
start_nginx() {
	need nginx
	local dir port
	for _ in 1 2 3; do # others may take the port meanwhile
		dir=$(mktemp -d "$WORK/nginx.XXXXXX")
		port=$(free_port)
		nginx_configuration "$dir" "$port" "$*" >"$dir/conf"
		nginx -c "$dir/conf" -e "$dir/error.log" >"$dir/out" 2>&1 3>&- &
		SERVER_PIDS="${SERVER_PIDS:-} $!"
		# it says its number once it listens
		wait_for said_or_ended $! test -s "$dir/pid"
		[ ! -s "$dir/pid" ] || { REGISTRY=127.0.0.1:$port; return 0; }
		grep -q 'Address already in use' "$dir/error.log" "$dir/out" || break
	done
	cat "$dir/error.log" "$dir/out" >&2
	return 1
}

nginx_configuration() { # DIR PORT LINES
	cat <<-END
		$([ "$(id -u)" != 0 ] || echo "user root;")
		daemon off; pid $1/pid; error_log $1/error.log; worker_processes 1;
		events { worker_connections 64; }
		http {
			access_log off; client_body_temp_path $1/body; proxy_temp_path $1/proxy;
			fastcgi_temp_path $1/f; uwsgi_temp_path $1/u; scgi_temp_path $1/s;
			server {
				listen 127.0.0.1:$2; $3
				location / { proxy_pass http://$REGISTRY; proxy_set_header Host \$http_host; }
			}
		}
	END
}
