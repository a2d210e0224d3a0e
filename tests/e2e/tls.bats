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

# serve_tls KIND: $REGISTRY is docker-registry or a persona, over TLS; its certificate is that of
# make_certificates, or what certify made instead. With $TLS_DIR/clients.pem it wants one of those.
serve_tls() {
	local lines="  tls: {certificate: $TLS_DIR/tls.pem, key: $TLS_DIR/tls.key"
	stop_registry
	stop_servers
	if [ "$1" != docker-registry ]; then
		PERSONA_TLS=$TLS_DIR start_persona "$1"
	else
		[ ! -e "$TLS_DIR/clients.pem" ] || lines+=", clientcas: [$TLS_DIR/clients.pem]"
		start_registry_with "$lines}"
	fi
}

# trust: what certs.d says of $REGISTRY, which has another port each time.
trust() {
	mkdir -p ".config/containers/certs.d/$REGISTRY"
	cp "$REGISTRY_CA" ".config/containers/certs.d/$REGISTRY/ca.crt"
}

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

# self_signed: tls.pem that is its own issuer.
self_signed() {
	openssl req -x509 -key "$TLS_DIR/tls.key" -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
		-out "$TLS_DIR/tls.pem" 2>/dev/null
}

@test "T1 a certificate of an unknown issuer or of its own, an old one, one of another name; and then certs.d" {
	for kind in docker-registry v3; do
		make_certificates
		serve_tls $kind
		run -3 push
		[[ "$output" == *"certificate is not trusted"* ]]
		trust
		push -q
		certify IP:127.0.0.1 -3 -1
		serve_tls $kind
		trust
		run -3 push
		[[ "$output" == *"certificate is not trusted"*expired* ]]
		certify IP:127.0.0.2 -1 1
		serve_tls $kind
		trust
		run -3 push
		[[ "$output" == *"certificate is not trusted"*127.0.0.1* ]]
		certify IP:127.0.0.1 -1 1
		serve_tls $kind
		trust
		push -q
		self_signed
		serve_tls $kind
		run -3 push
		[[ "$output" == *"certificate is not trusted"*self*signed* ]]
		REGISTRY_CA=$TLS_DIR/tls.pem trust
		push -q
	done
}

@test "T2 a registry that wants a certificate of ours gets the one of certs.d" {
	need openssl
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=client -keyout me.key -out me.cert 2>/dev/null
	make_certificates
	cp me.cert "$TLS_DIR/clients.pem"
	for kind in docker-registry v3; do
		serve_tls $kind
		trust
		run -3 push
		[[ "$output" == *"$REGISTRY"*certificate* ]]
		cp me.cert ".config/containers/certs.d/$REGISTRY/"
		run -3 push
		[[ "$output" == *"me.cert: there is no key with it"* ]]
		cp me.key ".config/containers/certs.d/$REGISTRY/"
		push -q
		gpuimg pull -q "$REGISTRY/app:1" "oci:got:$kind"
		[ "$(digest_of got $kind)" = "$DIGEST" ]
	done
}

@test "T3 a connection that breaks in the hand-shake, or later by an alert of TLS, is tried again" {
	local way
	make_certificates
	for kind in docker-registry v3; do
		for way in "reset 1" "alert 100000"; do
			serve_tls $kind
			start_server tcp_relay.py "${REGISTRY##*:}" $way
			REGISTRY=127.0.0.1:$PORT
			run -0 push --tls-ca "$REGISTRY_CA"
			run -0 gpuimg pull --tls-ca "$REGISTRY_CA" "$REGISTRY/app:1" oci:got:1
			rm -rf got store
		done
	done
}

@test "T4 plain http where TLS is wanted is for loopback hosts only" {
	for kind in docker-registry v3; do
		if [ $kind = v3 ]; then start_persona v3; else start_registry; fi
		push -q
		# by way of a proxy that takes every name for this host
		start_server tcp_relay.py 0 proxy
		HTTPS_PROXY=http://127.0.0.1:$PORT run -3 gpuimg push oci:layout:v1 "docker://registry.example.org:${REGISTRY##*:}/app:1"
		[[ "$output" == *"plain http is spoken to loopback hosts only"* ]]
		stop_registry
		stop_servers
	done
}

@test "T5 a proxy is gone through, and its refusals are told as its own; NO_PROXY counts" {
	local code
	make_certificates
	for kind in docker-registry v3; do
		serve_tls $kind
		export SSL_CERT_FILE=$REGISTRY_CA
		start_server tcp_relay.py 0 proxy
		HTTPS_PROXY=http://127.0.0.1:$PORT push -q
		cat "$BATS_TEST_TMPDIR"/port.*.stderr | grep -q "^CONNECT $REGISTRY "
		for code in 407 502; do
			start_server tcp_relay.py 0 proxy $code
			HTTPS_PROXY=http://127.0.0.1:$PORT run -3 push
			[[ "$output" == *"by way of the proxy"*$code* ]]
			HTTPS_PROXY=http://127.0.0.1:$PORT NO_PROXY=127.0.0.1 push -q
		done
	done
	HTTPS_PROXY=http://127.0.0.1:1 run -3 gpuimg push oci:layout:v1 docker://registry.example.org/app:1
	[[ "$output" == *"by way of the proxy"*"127.0.0.1 port 1"* ]]
	HTTPS_PROXY=http://no-such-proxy.invalid:1 run -3 gpuimg push oci:layout:v1 docker://registry.example.org/app:1
	[[ "$output" == *"proxy: no-such-proxy.invalid"* ]]
}

@test "T6 a name that nobody knows, and a port where nobody listens, are told apart, at once" {
	run -3 gpuimg push oci:layout:v1 docker://no-such-host.invalid/app:1
	[[ "$output" == *no-such-host.invalid*esolve* ]]
	run -3 gpuimg push oci:layout:v1 docker://127.0.0.1:1/app:1
	[[ "$output" == *127.0.0.1:1*onnect* ]]
}

@test "T6 of a name's addresses one that answers nothing is no obstacle" {
	grep -q " lo$" /proc/net/if_inet6 || skip "no IPv6 here"
	for kind in docker-registry v3; do
		if [ $kind = v3 ]; then start_persona v3; else start_registry; fi
		start_server tcp_relay.py "${REGISTRY##*:}" full 6
		REGISTRY=localhost:$PORT # both of its addresses
		push -q
		gpuimg pull -q "$REGISTRY/app:1" "oci:got:$kind"
		[ "$(digest_of got $kind)" = "$DIGEST" ]
	done
}

# NGC as far as its challenge, its key and its refusals are known, under its own name: a proxy takes
# every name for the persona.
@test "nvcr.io: the key in NGC_API_KEY, and what is said when it is missing, wrong, or has no right" {
	local denies words
	make_certificates
	certify DNS:nvcr.io -1 1
	export SSL_CERT_FILE=$REGISTRY_CA
	PERSONA_TLS=$TLS_DIR start_persona ngc '$oauthtoken' key-canary
	start_server tcp_relay.py "${REGISTRY##*:}" proxy
	export HTTPS_PROXY=http://127.0.0.1:$PORT
	NGC_API_KEY=key-canary run -0 gpuimg push -v oci:layout:v1 docker://nvcr.io/acme/app:1
	[[ "$output" != *canary* ]]
	NGC_API_KEY=key-canary gpuimg pull -q nvcr.io/acme/app:1 oci:got:1
	[ "$(digest_of got 1)" = "$DIGEST" ]
	run -3 gpuimg pull nvcr.io/acme/app:1 oci:got:2
	[[ "$output" == *"set NGC_API_KEY"* ]]
	NGC_API_KEY=old-canary run -3 gpuimg pull nvcr.io/acme/app:1 oci:got:2
	[[ "$output" == *"the NGC key has expired, was revoked, or is of the wrong kind"* || "$output" == *"the key has expired, was revoked, or is of the wrong kind"* ]]
	[[ "$output" != *canary* ]]
	run -3 gpuimg pull --username joe --password-stdin nvcr.io/acme/app:1 oci:got:2 <<<key-canary
	[[ "$output" == *'NGC wants the literal user name $oauthtoken'* ]]
	[[ "$output" != *canary* ]]
	NGC_API_KEY=key-canary run -3 gpuimg pull nvcr.io/acme/no-team/none:1 oci:got:2
	[[ "$output" == *"check the name and the tag"* ]]
	NGC_API_KEY=key-canary run -3 gpuimg pull nvcr.io/acme/team/sub/app:1 oci:got:2
	[[ "$output" == *"two or three parts, ORGANISATION/IMAGE or ORGANISATION/TEAM/IMAGE"* ]]
	while IFS='|' read -r denies words; do
		stop_servers
		PERSONA_DENIES=$denies PERSONA_TLS=$TLS_DIR start_persona ngc '$oauthtoken' key-canary
		start_server tcp_relay.py "${REGISTRY##*:}" proxy
		NGC_API_KEY=key-canary HTTPS_PROXY=http://127.0.0.1:$PORT run -3 gpuimg pull nvcr.io/acme/app:1 oci:got:2
		echo "$output"
		[[ "$output" == *"$words"* ]]
	done <<-'END'
		402|licence
		403|the key lacks the service or entitlement, or the organisation's name is wrong
	END
}
