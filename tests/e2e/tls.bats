#!/usr/bin/env bats
# TLS and proxies on the way to a registry.

load common
load registry

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE XDG_STATE_HOME XDG_CONFIG_HOME \
		CONTAINERS_REGISTRIES_CONF HTTPS_PROXY https_proxy HTTP_PROXY http_proxy ALL_PROXY all_proxy NO_PROXY no_proxy
	make_layout
}

teardown() {
	stop_registry
	stop_servers
}

push() { gpuimg push "$@" oci:layout:v1 "docker://$REGISTRY/app:1"; }

# certify NAME DAYS-UNTIL-START DAYS-UNTIL-END: tls/NAME.pem with that subject alternative name, of the CA.
certify() {
	(
		cd "$BATS_TEST_TMPDIR/tls" || exit 1
		rm -f index* serial* && : >index && echo 01 >serial
		printf '%s\n' '[ca]' 'default_ca=d' '[d]' 'dir=.' 'database=index' 'new_certs_dir=.' 'serial=serial' \
			'default_md=sha256' 'policy=p' 'unique_subject=no' 'x509_extensions=e' '[p]' 'commonName=supplied' '[e]' \
			"subjectAltName=$1" >ca.conf
		openssl ca -batch -config ca.conf -cert ca.pem -keyfile ca.key -in tls.csr -out tls.pem -notext \
			-startdate "$(date -u -d "$2 days" +%Y%m%d%H%M%SZ)" -enddate "$(date -u -d "$3 days" +%Y%m%d%H%M%SZ)" 2>/dev/null
	)
}

restart() {
	kill "$REGISTRY_PID"
	wait "$REGISTRY_PID" || true
	docker-registry serve "$REGISTRY_DIR/config.yml" >"$REGISTRY_DIR/log" 2>&1 3>&- &
	REGISTRY_PID=$!
	while ! curl -sko ping "https://$REGISTRY/v2/"; do sleep 0.05; done
}

@test "T1 a certificate of an unknown issuer, an old one, one of another name; and then certs.d" {
	start_registry_tls
	run -3 push
	[[ "$output" == *"certificate is not trusted"* ]]
	mkdir -p ".config/containers/certs.d/$REGISTRY"
	cp "$REGISTRY_CA" ".config/containers/certs.d/$REGISTRY/ca.crt"
	push -q
	certify IP:127.0.0.1 -3 -1
	restart
	run -3 push
	[[ "$output" == *"certificate is not trusted"*expired* ]]
	certify IP:127.0.0.2 -1 1
	restart
	run -3 push
	[[ "$output" == *"certificate is not trusted"*127.0.0.1* ]]
	certify IP:127.0.0.1 -1 1
	restart
	push -q
}

@test "T3 a connection that breaks in the hand-shake is tried again" {
	start_registry_tls
	start_server tcp_relay.py "${REGISTRY##*:}" reset 1
	REGISTRY=127.0.0.1:$PORT
	push --tls-ca "$REGISTRY_CA"
}

@test "T4 plain http where TLS is wanted, and nobody at all" {
	start_registry
	push -q
	run -3 gpuimg push oci:layout:v1 "docker://127.0.0.1:1/app:1"
	[[ "$output" == *127.0.0.1*onnect* ]]
}

@test "T5 a proxy is gone through, and its refusals are told as its own; NO_PROXY counts" {
	start_registry_tls
	export SSL_CERT_FILE=$REGISTRY_CA
	start_server tcp_relay.py 0 proxy
	HTTPS_PROXY=http://127.0.0.1:$PORT push -q
	grep -q "^CONNECT $REGISTRY " "$BATS_TEST_TMPDIR"/port.*.stderr
	local status
	for code in 407 502; do
		start_server tcp_relay.py 0 proxy $code
		HTTPS_PROXY=http://127.0.0.1:$PORT run -3 push
		[[ "$output" == *"by way of the proxy"*$code* ]]
		HTTPS_PROXY=http://127.0.0.1:$PORT NO_PROXY=127.0.0.1 push -q
	done
}

@test "T6 a name that nobody knows, and a port where nobody listens, are told apart, at once" {
	run -3 gpuimg push oci:layout:v1 docker://no-such-host.invalid/app:1
	[[ "$output" == *no-such-host.invalid*esolve* ]]
	run -3 gpuimg push oci:layout:v1 docker://127.0.0.1:1/app:1
	[[ "$output" == *127.0.0.1:1*onnect* ]]
}
