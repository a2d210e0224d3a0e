#!/usr/bin/env bats
# Pushes a layout to docker-registry in its several moods, and lets skopeo read what arrived.

load common
load registry

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE
	make_layout
}

teardown() { stop_registry; }

# The image that arrived is complete and has the digest of the layout's.
arrived() { # NAME:TAG [skopeo options]
	local ref=$1
	shift
	skopeo copy -q "$@" "docker://$REGISTRY/$ref" "oci:$WORK/back-${ref//[:\/]/-}:t"
	[ "$(digest_of "$WORK/back-${ref//[:\/]/-}" t)" = "$DIGEST" ]
}

@test "a layout arrives, digest and all, and a second push sends nothing" {
	need skopeo
	start_registry
	run -0 --separate-stderr gpuimg push oci:layout:v1 "docker://$REGISTRY/a/b:v1" "docker://$REGISTRY/a/b:latest"
	[ "${lines[0]}" = "$REGISTRY/a/b:v1@$DIGEST" ]
	[[ "$stderr" == *"3 blobs sent"* ]]
	arrived a/b:v1 --src-tls-verify=false
	arrived a/b:latest --src-tls-verify=false
	run -0 --separate-stderr gpuimg push oci:layout:v1 "docker://$REGISTRY/a/b:v2"
	[[ "$stderr" == *"0 blobs sent"* ]]
	[[ "$stderr" == *"3 were there"* ]]
}

@test "an index arrives with all its images" {
	start_registry
	local oci=application/vnd.oci.image one index
	one=$(blob manifest.json)
	printf '{"schemaVersion":2,"mediaType":"%s.index.v1+json","manifests":[{"mediaType":"%s.manifest.v1+json",%s,"platform":{"os":"linux","architecture":"amd64"}}]}' \
		$oci $oci "$one" >index.json
	index=$(blob index.json)
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.index.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"multi"}}]}' \
		$oci "$index" >layout/index.json
	gpuimg push oci:layout:multi "docker://$REGISTRY/multi:1"
	curl -sfo got.json -H "Accept: $oci.index.v1+json" "http://$REGISTRY/v2/multi/manifests/1"
	cmp index.json got.json
	curl -sfo got.json -H "Accept: $oci.manifest.v1+json" "http://$REGISTRY/v2/multi/manifests/$DIGEST"
	cmp manifest.json got.json
}

@test "Basic credentials come from docker's configuration" {
	start_registry_auth joe s3cret-canary
	run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/app:1"
	[[ "$output" == *"$REGISTRY/app"*401*"log in"* ]]
	docker_config joe s3cret-canary
	run -0 gpuimg push -v oci:layout:v1 "docker://$REGISTRY/app:1"
	[[ "$output" == *"credentials from $DOCKER_CONFIG/config.json"* ]]
	[[ "$output" != *canary* ]]
	curl -sfo got.json -u joe:s3cret-canary -H "Accept: application/vnd.oci.image.manifest.v1+json" "http://$REGISTRY/v2/app/manifests/1"
	cmp manifest.json got.json
	docker_config joe wr0ng-canary
	run -3 gpuimg push -v oci:layout:v1 "docker://$REGISTRY/app:2"
	[[ "$output" == *"$DOCKER_CONFIG/config.json"* ]]
	[[ "$output" != *canary* ]]
}

@test "the password can come on standard input" {
	start_registry_auth joe s3cret-canary
	echo s3cret-canary | gpuimg push --username joe --password-stdin oci:layout:v1 "docker://$REGISTRY/app:1"
	run -2 gpuimg push --username joe oci:layout:v1 "docker://$REGISTRY/app:1"
}

@test "bearer tokens are fetched for the repository and renewed" {
	start_registry_token joe s3cret-canary 300
	docker_config joe s3cret-canary
	gpuimg push oci:layout:v1 "docker://$REGISTRY/team/app:1"
	[ "$(sort -u "$TOKEN_LOG")" = "repository:team/app:pull,push" ]
	[ "$(wc -l <"$TOKEN_LOG")" -le 2 ]
	docker_config joe wr0ng-canary
	run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/team/app:2"
	[[ "$output" == *"token server"*401* ]]
	[[ "$output" != *canary* ]]
}

@test "a token that lives a second is renewed as often as it takes" {
	start_registry_token joe s3cret-canary 1
	docker_config joe s3cret-canary
	gpuimg push -j 1 oci:layout:v1 "docker://$REGISTRY/team/app:1"
}

@test "over TLS a self-made CA is trusted when it is named" {
	start_registry_tls
	run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/app:1"
	[[ "$output" == *"certificate is not trusted"* ]]
	gpuimg push --tls-ca "$REGISTRY_CA" oci:layout:v1 "docker://$REGISTRY/app:1"
	SSL_CERT_FILE=$REGISTRY_CA gpuimg push oci:layout:v1 "docker://$REGISTRY/app:2"
}

@test "a damaged blob never arrives" {
	start_registry
	local big
	big=$(find layout/blobs -size +1M)
	printf X | dd of="$big" bs=1 seek=5000000 conv=notrunc status=none
	run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/app:1"
	[ "$(curl -so ignored -w '%{http_code}' -I "http://$REGISTRY/v2/app/blobs/sha256:$(basename "$big")")" = 404 ]
	[ "$(curl -so ignored -w '%{http_code}' "http://$REGISTRY/v2/app/manifests/1")" = 404 ]
}

@test "nobody listening is said with the address" {
	run -3 gpuimg push oci:layout:v1 "docker://127.0.0.1:1/app:1"
	[[ "$output" == *"127.0.0.1"*onnect* ]]
}

@test "an archive arrives as the layout does, and from one registry to another" {
	need skopeo
	start_registry
	tar -C layout -cf app.tar .
	gpuimg push oci-archive:app.tar:v1 "docker://$REGISTRY/app:1"
	arrived app:1 --src-tls-verify=false
	gpuimg push "docker://$REGISTRY/app:1" "docker://$REGISTRY/other/app:1"
	arrived other/app:1 --src-tls-verify=false
}
