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

# pull_server MODE [ARGUMENT]: sets REGISTRY; its requests are lines of $WORK/requests.
pull_server() {
	: >"$WORK/requests"
	start_server pull_server.py "$WORK/layout" "$WORK/requests" "$@"
	REGISTRY=127.0.0.1:$PORT
}

big() { basename "$(find layout/blobs -size +1M)"; }

# Bytes asked for: the ranges of the big blob, in order.
ranges() { jq -rs --arg d "$(big)" '[.[] | select(.path | endswith($d)) | .range // "all"] | join(" ")' requests; }

@test "what a killed pull got is where the next goes on, and the store knows of it" {
	pull_server cut 3000000
	mkdir -p store/partials
	head -c 4000000 "layout/blobs/sha256/$(big)" >"store/partials/sha256-$(big)"
	run -0 gpuimg pull "$REGISTRY/app:v1" oci:got:v1
	[[ "$output" == *"resumed at"* ]]
	[[ "$(ranges)" == bytes=4000000-* ]]
	same_blobs layout got
	# One that nobody comes back for is seen, and goes, with the rest of the store.
	head -c 4000000 "layout/blobs/sha256/$(big)" >"store/partials/sha256-$(big)"
	run -0 gpuimg store ls
	[[ "$output" == *partials*"3.8 MiB"* ]]
	gpuimg store verify
	gpuimg store gc --older-than 0
	[ -z "$(ls store/partials)" ]
	# One that holds something else is thrown away.
	head -c 4000000 /dev/zero >"store/partials/sha256-$(big)"
	gpuimg pull "$REGISTRY/app:v1" oci:other:v1
	same_blobs layout other
	[ -z "$(ls store/partials)" ]
}

@test "a large blob comes in pieces, several at once" {
	pull_server good
	gpuimg pull --range-size 1 "$REGISTRY/app:v1" oci:got:v1
	same_blobs layout got
	[ "$(ranges | wc -w)" -ge 9 ]
	[[ " $(ranges) " == *" bytes=0-1048575 "* ]]
	[[ " $(ranges) " == *" bytes=2097152-3145727 "* ]]
	[ -z "$(ls store/partials)" ]
	gpuimg pull -j 1 --range-size 1 "$REGISTRY/app:v1" oci:alone:v1
	same_blobs layout alone
}

@test "a registry without ranges sends the whole, in one piece" {
	pull_server ignore 2500000
	gpuimg pull --range-size 1 "$REGISTRY/app:v1" oci:got:v1
	same_blobs layout got
	[[ "$(ranges)" == *all* ]]
}

@test "a wrong byte in a piece costs one more fetch, and the pull if it stays" {
	pull_server flip-once
	gpuimg pull --range-size 1 "$REGISTRY/app:v1" oci:got:v1
	same_blobs layout got
	pull_server flip
	rm -rf got
	run -3 gpuimg pull --range-size 1 "$REGISTRY/app:v1" oci:got:v1
	[[ "$output" == *"another digest"* ]]
	[ -z "$(find store/partials -name "*$(big)*")" ]
}

@test "R4 tags are listed over all pages, repositories where the registry tells" {
	pull_server good
	run -0 gpuimg ls "$REGISTRY/app"
	[ "$output" = $'a\nb\nc\nz' ]
	[ "$(gpuimg ls --all "$REGISTRY/app" | grep -c '^sha256-.*[.]sig$')" = 1 ]
	start_persona v3 # two a page
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/app:1"
	gpuimg tag "$REGISTRY/app:1" 2 3 4 5 >/dev/null
	run -0 gpuimg ls "$REGISTRY/app"
	[ "$output" = $'1\n2\n3\n4\n5' ]
	start_registry
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/one/app:v1"
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/two:v1"
	run -0 gpuimg ls "$REGISTRY"
	[ "$output" = $'one/app\ntwo' ]
	run -3 gpuimg ls "$REGISTRY/three"
	[[ "$output" == *three*404*NAME_UNKNOWN* ]]
}

@test "an image gets more tags, and is removed by its digest" {
	start_registry
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/app:v1"
	run -0 gpuimg tag "$REGISTRY/app:v1" 1 latest
	[ "${lines[1]}" = "$REGISTRY/app:latest@$DIGEST" ]
	run -0 gpuimg ls "$REGISTRY/app"
	[ "$(sort <<<"$output")" = $'1\nlatest\nv1' ]
	run -2 gpuimg rm "$REGISTRY/app:v1"
	[[ "$output" == *"by its digest"* ]]
	gpuimg rm "$REGISTRY/app@$DIGEST"
	run -3 gpuimg pull "$REGISTRY/app:latest" oci:got:v1
	[[ "$output" == *404* ]]
}

@test "login asks the registry first, and keeps what others stored" {
	need skopeo
	start_registry_auth joe s3cret-canary
	mkdir -p .docker
	echo '{"HttpHeaders":{"X":"y"},"auths":{"other.example.org":{"auth":"YTpi"}}}' >.docker/config.json
	run -3 gpuimg login -u joe --password-stdin "$REGISTRY" <<<wrong-canary
	[[ "$output" == *401*"check the user name"* ]]
	[[ "$output" != *canary* ]]
	[ "$(jq '.auths | length' .docker/config.json)" = 1 ]
	run -0 gpuimg login -u joe --password-stdin "$REGISTRY" <<<s3cret-canary
	[[ "$output" != *canary* ]]
	[ "$(stat -c %a .docker/config.json)" = 600 ]
	[ "$(jq -r '.HttpHeaders.X, .auths["other.example.org"].auth' .docker/config.json)" = $'y\nYTpi' ]
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/app:v1"
	skopeo inspect --tls-verify=false --authfile .docker/config.json "docker://$REGISTRY/app:v1" >/dev/null
	gpuimg logout "$REGISTRY"
	[ "$(jq -r '.auths | keys[]' .docker/config.json)" = other.example.org ]
	run -3 gpuimg pull "$REGISTRY/app:v1" oci:got:v1
	[[ "$output" == *"log in"* ]]
}

@test "login at a registry that asks for nothing is kept, and said to be unverified" {
	start_registry
	run -0 gpuimg login -u joe --password-stdin "$REGISTRY" <<<s3cret-canary
	[[ "$output" == *"warning: $REGISTRY asks for no credentials"* ]]
	[ "$(jq -r '.auths | keys[]' .docker/config.json)" = "$REGISTRY" ]
}

@test "A1 login hands over to the helper that the file names" {
	start_registry_auth joe s3cret-canary
	mkdir -p .docker bin
	echo '{"credsStore":"test"}' >.docker/config.json
	printf '#!/bin/sh\ncase $1 in store) cat >%s/kept ;; erase) rm %s/kept ;; get) cat %s/kept ;; esac\n' "$WORK" "$WORK" "$WORK" >bin/docker-credential-test
	chmod +x bin/docker-credential-test
	PATH=$WORK/bin:$PATH run -0 gpuimg login -u joe --password-stdin "$REGISTRY" <<<s3cret-canary
	[ "$(jq -r '.ServerURL, .Username' kept)" = "$REGISTRY"$'\njoe' ]
	[ "$(jq -c . .docker/config.json)" = '{"credsStore":"test"}' ]
	PATH=$WORK/bin:$PATH run -0 gpuimg logout "$REGISTRY"
	[ ! -e kept ]
}

@test "T1 a pull over TLS trusts the CA that is named" {
	start_registry_tls
	gpuimg push -q --tls-ca "$REGISTRY_CA" oci:layout:v1 "docker://$REGISTRY/app:v1"
	run -3 gpuimg pull "$REGISTRY/app:v1" oci:got:v1
	[[ "$output" == *"certificate is not trusted"* ]]
	gpuimg pull --tls-ca "$REGISTRY_CA" "$REGISTRY/app:v1" oci:got:v1
	same_blobs layout got
	mkdir -p ".config/containers/certs.d/$REGISTRY"
	cp "$REGISTRY_CA" ".config/containers/certs.d/$REGISTRY/our.crt"
	gpuimg pull "$REGISTRY/app:v1" oci:got:v2
	touch ".config/containers/certs.d/$REGISTRY/me.cert"
	run -3 gpuimg pull "$REGISTRY/app:v1" oci:got:v3
	[[ "$output" == *"me.cert: there is no key with it"* ]]
}

@test "progress: each blob and all in JSON; a bar with rate and time left on a terminal; none in CI's logs or when quiet" {
	need script
	pull_server slow 2500000
	local all
	all=$(cat layout/blobs/sha256/* | wc -c)
	run -0 --separate-stderr gpuimg pull --progress json "$REGISTRY/app:v1" oci:a:v1
	[ "$output" = "$DIGEST" ]
	jq -es --arg d "$(big | cut -c1-12)" --argjson all "$all" '
		(map(.progress == "pull" and .total_bytes <= $all and .done_bytes <= .total_bytes) | all) and
		(map(.done_bytes) | . == sort) and (last | .done_bytes == .total_bytes) and
		(map(select(.name | startswith("sha256:" + $d))) | length > 2 and (last.name | endswith(" 100%")))' < <(grep '^{' <<<"$stderr")
	# A terminal: what moved, how fast, how long still, of which blob how much; one line, rewritten.
	run -0 script -qec "env -u CI '$GPUIMG' pull --store s1 $REGISTRY/app:v1 oci:b:v1" /dev/null
	[[ "$output" == *$'\r\033[K'*"pull: "*" of "*"/s, "[0-9]*" s left  sha256:"*"%"* ]]
	run -0 script -qec "env CI=true '$GPUIMG' pull --store s2 $REGISTRY/app:v1 oci:c:v1" /dev/null
	[[ "$output" == *"$DIGEST"* && "$output" != *$'\033'* && "$output" != *"%"* ]]
	run -0 --separate-stderr gpuimg pull -q --store s3 "$REGISTRY/app:v1" oci:d:v1
	[ -z "$stderr" ]
}
