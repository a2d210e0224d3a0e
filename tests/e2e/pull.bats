#!/usr/bin/env bats
# Pulls from docker-registry and copies between registries, layouts and archives; skopeo says what
# is right. A small server breaks lines, lies and redirects.

load common
load registry

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker GPUIMG_STORE=$WORK/store
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE XDG_STATE_HOME
	make_layout
}

teardown() {
	stop_registry
	stop_servers
}

# Every file of the layout is the same.
same_blobs() { # DIR DIR
	diff -r "$1/blobs" "$2/blobs"
}

push_v1() { # NAME:TAG
	skopeo copy -q --dest-tls-verify=false oci:layout:v1 "docker://$REGISTRY/$1"
}

# An index of layout's image for two platforms, under the tag "multi".
make_index() {
	local oci=application/vnd.oci.image one other index
	one=$(blob manifest.json)
	jq -c '.annotations.other = "arm"' manifest.json >other.json
	sed s/amd64/arm64/ config.json >arm.json
	jq -c --argjson d "{$(blob arm.json)}" '.config = (.config + $d)' other.json >other2.json
	other=$(blob other2.json)
	printf '{"schemaVersion":2,"mediaType":"%s.index.v1+json","manifests":[{"mediaType":"%s.manifest.v1+json",%s,"platform":{"os":"linux","architecture":"amd64"}},{"mediaType":"%s.manifest.v1+json",%s,"platform":{"os":"linux","architecture":"arm64"}}]}' \
		$oci $oci "$one" $oci "$other" >index.json
	index=$(blob index.json)
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.index.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"multi"}}]}' \
		$oci "$index" >layout/index.json
}

@test "what skopeo pushed is pulled byte for byte, as skopeo pulls it" {
	need skopeo
	start_registry
	push_v1 a/b:v1
	run -0 --separate-stderr gpuimg pull "$REGISTRY/a/b:v1" oci:got:v1
	[ "$output" = "$DIGEST" ]
	[ "$(digest_of got v1)" = "$DIGEST" ]
	skopeo copy -q --src-tls-verify=false "docker://$REGISTRY/a/b:v1" oci:theirs:v1
	same_blobs got theirs
	[ -z "$(ls store/partials)" ]
	run -0 gpuimg pull "docker://$REGISTRY/a/b@$DIGEST" oci:got:pinned
	[[ "$output" == *"0 blobs received"*"3 were there"* ]]
	[ "$(digest_of got pinned)" = "$DIGEST" ]
	run -3 gpuimg pull "$REGISTRY/a/b@sha256:$(printf '0%.0s' $(seq 64))" oci:none
	[[ "$output" == *"a/b"*404* ]]
}

@test "archives are what skopeo reads" {
	need skopeo
	start_registry
	push_v1 app:v1
	gpuimg pull "$REGISTRY/app:v1" oci-archive:app.tar:v1
	gpuimg pull "$REGISTRY/app:v1" docker-archive:docker.tar:example.org/app:2
	skopeo copy -q oci-archive:app.tar:v1 oci:back:v1
	[ "$(digest_of back v1)" = "$DIGEST" ]
	same_blobs layout back
	[ "$(skopeo inspect --format '{{.Architecture}}' docker-archive:docker.tar:example.org/app:2)" = amd64 ]
	gpuimg copy oci-archive:app.tar:v1 oci:again:v1
	same_blobs layout again
}

@test "of an index one platform is taken, or all" {
	need skopeo
	make_index
	start_registry
	skopeo copy -q --all --dest-tls-verify=false oci:layout:multi "docker://$REGISTRY/multi:1"
	gpuimg pull --all-platforms "$REGISTRY/multi:1" oci:all:m
	[ "$(digest_of all m)" = "$(digest_of layout multi)" ]
	gpuimg pull --platform linux/arm64 "$REGISTRY/multi:1" oci:arm:m
	[ "$(digest_of arm m)" = "sha256:$(sha256sum other2.json | cut -d' ' -f1)" ]
	run -3 gpuimg pull --platform linux/s390x "$REGISTRY/multi:1" oci:none:m
	[[ "$output" == *s390x*linux/arm64* ]]
	gpuimg copy "docker://$REGISTRY/multi:1" "docker://$REGISTRY/other/multi:2"
	skopeo copy -q --all --src-tls-verify=false "docker://$REGISTRY/other/multi:2" oci:back:m
	cmp "all/blobs/sha256/$(sha256sum index.json | cut -d' ' -f1)" index.json
	[ "$(digest_of back m)" = "$(digest_of all m)" ]
}

@test "a copy within a registry sends nothing, one to another goes past the disk" {
	need skopeo
	start_registry
	push_v1 app:v1
	run -0 gpuimg copy "docker://$REGISTRY/app:v1" "docker://$REGISTRY/else/app:v1"
	[[ "$output" == *"0 blobs sent"*"3 taken over from app"* ]]
	local first=$REGISTRY pid=$REGISTRY_PID
	start_registry
	REGISTRY_PID="$REGISTRY_PID $pid"
	run -0 --separate-stderr gpuimg copy "docker://$first/app:v1" "docker://$REGISTRY/app:v1"
	[ "$output" = "$REGISTRY/app:v1@$DIGEST" ]
	skopeo copy -q --src-tls-verify=false "docker://$REGISTRY/app:v1" oci:back:v1
	same_blobs layout back
	[ ! -e store/partials ]
}
