#!/usr/bin/env bats
# What registries.conf says counts: mirrors, places, what is blocked or insecure; skopeo, which reads
# the same file, says what is right. A small server plays mirrors that misbehave.

load common
load registry

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker GPUIMG_STORE=$WORK/store
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE XDG_STATE_HOME XDG_CONFIG_HOME
	export CONTAINERS_REGISTRIES_CONF=$WORK/registries.conf
	: >"$WORK/registries.conf"
	make_layout
}

teardown() {
	stop_registry
	stop_servers
}

conf() { cat >"$WORK/registries.conf"; }

big() { basename "$(find layout/blobs -size +1M)"; }

# server MODE [ARGUMENT]: $SERVER is its address, its requests are lines of $WORK/$SERVER.
server() {
	local log=$WORK/log.$RANDOM$RANDOM
	: >"$log"
	start_server pull_server.py "$WORK/layout" "$log" "$@"
	SERVER=127.0.0.1:$PORT
	ln -s "$log" "$WORK/$SERVER"
}
ranges() { jq -rs --arg d "$(big)" '[.[] | select(.path | endswith($d)) | .range // "all"] | join(" ")' "$WORK/$1"; }

# A mirror in that mode, before a registry in that.
mirror_before() { # MODE [ARGUMENT] -- MODE [ARGUMENT]
	local first=()
	while [ "$1" != -- ]; do
		first+=("$1")
		shift
	done
	server "${first[@]}"
	MIRROR=$SERVER
	shift
	server "$@"
	ORIGIN=$SERVER
	conf <<-END
		unqualified-search-registries = ["example.org"]
		[[registry]]
		prefix = "images.example.org/team"
		location = "$ORIGIN"
		[[registry.mirror]]
		location = "$MIRROR/copies"
	END
}

pulls() { # what was asked is in the layout
	run -0 gpuimg pull "$@" images.example.org/team/app:v1 oci:got:v1
	diff -r layout/blobs got/blobs
}

@test "P14 a mirror is asked first, and alone when it has all" {
	mirror_before good -- good
	pulls
	[ ! -s "$ORIGIN" ]
	[ "$(jq -rs '.[].path' "$MIRROR" | grep -c '^/v2/copies/app/')" -ge 4 ]
}

@test "P14 a mirror that dies in the middle of a blob: the registry goes on from the same byte" {
	mirror_before die 3000000 -- good
	pulls
	[[ "$output" == *"the next registry is asked, from byte"* ]]
	[[ "$(ranges "$ORIGIN")" == bytes=*- ]]
}

@test "P14 a mirror that lacks a blob, is in trouble, or sends other bytes" {
	local mode
	for mode in missing busy flip long; do
		mirror_before $mode -- good
		rm -rf got store
		pulls
		[ "$(ranges "$ORIGIN")" != "" ]
	done
}

@test "P14 a mirror that nobody listens at is passed over with a word" {
	mirror_before good -- good
	sed -i "s/$MIRROR/127.0.0.1:1/" registries.conf
	pulls
	[[ "$output" == *"the mirror 127.0.0.1:1 is passed over"* ]]
}

@test "a registry that is out of reach is no obstacle when a mirror has the image" {
	mirror_before good -- good
	sed -i "s/$ORIGIN/127.0.0.1:1/" registries.conf
	pulls
}

@test "mirrors for digests only, or for tags only" {
	mirror_before good -- good
	sed -i 's/^\[\[registry.mirror.*/&\npull-from-mirror = "digest-only"/' registries.conf
	pulls
	[ ! -s "$MIRROR" ]
	rm -rf got
	gpuimg pull "images.example.org/team/app@$DIGEST" oci:got:v1
	[ -s "$MIRROR" ]
	: >"$MIRROR"
	sed -i 's/digest-only/tag-only/' registries.conf
	gpuimg pull "images.example.org/team/app@$DIGEST" oci:other:v1
	[ ! -s "$MIRROR" ]
	sed -i 's/pull-from-mirror.*//; s/^\[\[registry\]\].*/&\nmirror-by-digest-only = true/' registries.conf
	rm -rf got
	pulls
	[ ! -s "$MIRROR" ]
}

@test "a name that lies elsewhere, as skopeo finds it; blocked ones are refused for pull and push" {
	need skopeo
	start_registry
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/real/app:v1"
	conf <<-END
		[[registry]]
		prefix = "*.example.org"
		location = "$REGISTRY/real"
		[[registry]]
		location = "bad.example.org/x"
		blocked = true
	END
	gpuimg pull sub.example.org/app:v1 oci:got:v1
	skopeo copy -q --registries-conf registries.conf --src-tls-verify=false docker://sub.example.org/app:v1 oci:theirs:v1
	diff -r got/blobs theirs/blobs
	run -2 gpuimg pull bad.example.org/x/app:v1 oci:none:v1
	[[ "$output" == *"is blocked by $WORK/registries.conf"* ]]
	run -2 gpuimg push oci:layout:v1 docker://bad.example.org/x/app:v1
	[[ "$output" == *"is blocked by"* ]]
	run -1 skopeo inspect --registries-conf registries.conf docker://bad.example.org/x/app:v1
}

@test "what is insecure may have a certificate that nobody knows, with a warning" {
	start_registry_tls
	run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/app:1"
	[[ "$output" == *"certificate is not trusted"* ]]
	conf <<<"[[registry]]
location = \"$REGISTRY\"
insecure = true"
	run -0 gpuimg push oci:layout:v1 "docker://$REGISTRY/app:1"
	[[ "$output" == *"warning: $REGISTRY/app: its certificate is not verified, since registries.conf"* ]]
	gpuimg pull "$REGISTRY/app:1" oci:got:v1
	[ "$(digest_of got v1)" = "$DIGEST" ]
}

@test "the user's file, and folders of files over it" {
	unset CONTAINERS_REGISTRIES_CONF
	mkdir -p .config/containers/registries.conf.d
	echo '[[registry]]
location = "one.example.org"
blocked = true' >.config/containers/registries.conf
	run -2 gpuimg ls one.example.org/a
	echo '[[registry]]
location = "two.example.org"
blocked = true' >.config/containers/registries.conf.d/50-two.conf
	run -2 gpuimg ls two.example.org/a
	[[ "$output" == *"registries.conf.d/50-two.conf"* ]]
	echo 'broken = [' >.config/containers/registries.conf.d/60-broken.conf
	run -3 gpuimg ls one.example.org/a
	[[ "$output" == *"60-broken.conf:"* ]]
}
