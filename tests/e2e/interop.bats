#!/usr/bin/env bats
# What we push, others pull, and what they push, we pull, byte for byte: skopeo, podman and buildah,
# by docker-registry; Docker's daemon has dockerd.bats. Gzip and zstd, both kinds of manifests, an index.

load common
load registry

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker GPUIMG_STORE=$WORK/store
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE XDG_STATE_HOME XDG_CONFIG_HOME CONTAINERS_REGISTRIES_CONF
	mkdir -p "$WORK/run" "$DOCKER_CONFIG"
	echo "{}" >"$DOCKER_CONFIG/config.json"
	start_registry
	make_images
}

teardown() {
	[ -z "${STORAGE:-}" ] || rm -rf "$STORAGE" 2>/dev/null || engine buildah unshare rm -rf "$STORAGE"
	stop_registry
}

# Layout "images" with one small image in each form: gzip and zstd (OCI), schema2, index.
make_images() {
	need skopeo zstd jq
	local made=$BATS_FILE_TMPDIR/images
	if [ ! -e "$made/done" ]; then
		mkdir -p "$made/root/etc" && echo hello >"$made/root/etc/hello"
		(
			cd "$made" || exit 1
			mkdir -p layout/blobs/sha256
			echo '{"imageLayoutVersion":"1.0.0"}' >layout/oci-layout
			tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C root -cf l.tar .
			gzip -nk l.tar
			zstd -q l.tar -o l.tar.zst
			image gzip amd64 l.tar.gz application/vnd.oci.image
			image zstd amd64 l.tar.zst application/vnd.oci.image
			image arm arm64 l.tar.gz application/vnd.oci.image
			image schema2 amd64 l.tar.gz application/vnd.docker
			printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s,%s]}' \
				"$(cat gzip.desc)" "$(cat arm.desc)" >index.json
			printf '{"mediaType":"application/vnd.oci.image.index.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"index"}}' \
				"$(blob index.json)" >index.entry
			printf '{"schemaVersion":2,"manifests":[%s,%s,%s,%s]}' "$(cat gzip.entry)" "$(cat zstd.entry)" \
				"$(cat schema2.entry)" "$(cat index.entry)" >layout/index.json
			touch done
		) || return 1
	fi
	cp -r "$made/layout" images
}

image() { # NAME ARCHITECTURE LAYER FAMILY
	local config=$4.config.v1+json layer=$4.layer.v1.tar+${3##*.} manifest=$4.manifest.v1+json d
	layer=${layer%gz} && [ "${3##*.}" = gz ] && layer=$4.layer.v1.tar+gzip
	[ "${3##*.}" != zst ] || layer=$4.layer.v1.tar+zstd
	if [ "$4" = application/vnd.docker ]; then
		config=application/vnd.docker.container.image.v1+json
		layer=application/vnd.docker.image.rootfs.diff.tar.gzip
		manifest=application/vnd.docker.distribution.manifest.v2+json
	fi
	printf '{"architecture":"%s","os":"linux","config":{"Cmd":["/x"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
		"$2" "$(sha256sum l.tar | cut -d' ' -f1)" >"$1.config"
	printf '{"schemaVersion":2,"mediaType":"%s","config":{"mediaType":"%s",%s},"layers":[{"mediaType":"%s",%s}]}' \
		"$manifest" "$config" "$(blob "$1.config")" "$layer" "$(blob "$3")" >"$1.manifest"
	d=$(blob "$1.manifest")
	printf '{"mediaType":"%s",%s,"platform":{"os":"linux","architecture":"%s"}}' "$manifest" "$d" "$2" >"$1.desc"
	printf '{"mediaType":"%s",%s,"annotations":{"org.opencontainers.image.ref.name":"%s"}}' "$manifest" "$d" "$1" >"$1.entry"
}

# The engines, with a store of their own, whose path has to be short.
start_engine() { # podman|buildah
	need "$1"
	STORAGE=$(mktemp -d /tmp/gpuimg-e.XXXXXX)
	engine "$1" images >/dev/null || skip "$1 does not run here"
}

engine() { # podman|buildah ARGUMENTS
	local tool=$1
	shift
	"$tool" --root "$STORAGE/root" --runroot "$STORAGE/run" --storage-driver vfs "$@"
}

push_all() {
	for form in gzip zstd schema2 index; do
		gpuimg push -q "oci:images:$form" "docker://$REGISTRY/ours:$form"
	done
}

# The digest of a tag in the registry, of its bytes as they are.
registry_digest() { # NAME:TAG
	curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json' \
		"http://$REGISTRY/v2/${1%:*}/manifests/${1##*:}" | sha256sum | sed 's/^/sha256:/; s/ .*//'
}

@test "skopeo pulls what we pushed, and we pull what it pushed, byte for byte, in every form" {
	local form all
	push_all
	for form in gzip zstd schema2 index; do
		all=() && [ $form != index ] || all=(--all)
		[ "$(registry_digest ours:$form)" = "$(digest_of images $form)" ]
		skopeo copy -q "${all[@]}" --src-tls-verify=false "docker://$REGISTRY/ours:$form" "dir:theirs-$form"
		[ "$(sha256sum <"theirs-$form/manifest.json" | cut -d' ' -f1)" = "$(digest_of images $form | cut -d: -f2)" ]
		skopeo copy -q "${all[@]}" --dest-tls-verify=false "dir:theirs-$form" "docker://$REGISTRY/theirs:$form"
		gpuimg pull -q --all-platforms "$REGISTRY/theirs:$form" "oci:back:$form"
		[ "$(digest_of back $form)" = "$(digest_of images $form)" ]
	done
	diff -r images/blobs back/blobs
}

# They push what they pulled, as OCI and as schema2. First of all: an engine that has seen a layer as
# zstd too may put that into a manifest of a kind that knows no zstd, and then refuse it.
engine_pushes() { # podman|buildah
	local form at
	engine "$1" pull -q --tls-verify=false "$REGISTRY/ours:gzip"
	for form in oci v2s2; do
		at=$REGISTRY/$1:$form
		[ "$1" = podman ] || at=docker://$at
		engine "$1" push -q --tls-verify=false --format $form "$REGISTRY/ours:gzip" "$at"
		run -0 --separate-stderr gpuimg pull "$REGISTRY/$1:$form" "oci:got:$form"
		[ "$output" = "$(registry_digest "$1:$form")" ]
		gpuimg push -q "oci:got:$form" "docker://$REGISTRY/again:$form"
		[ "$output" = "$(registry_digest again:$form)" ]
	done
	skopeo inspect oci:got:oci >/dev/null # Debian's reads no schema2 in a layout
}

# What an engine holds of a form has the layers that were pushed.
engine_pulls() { # podman|buildah
	local form diff_id
	diff_id=$(jq -r '.rootfs.diff_ids[0]' <(skopeo inspect --config "oci:images:gzip"))
	for form in gzip zstd schema2 index; do
		engine "$1" pull -q --tls-verify=false "$REGISTRY/ours:$form"
		if [ "$1" = podman ]; then
			run -0 engine podman image inspect --format '{{index .RootFS.Layers 0}}' "$REGISTRY/ours:$form"
		else
			run -0 engine buildah inspect --type image --format '{{index .OCIv1.RootFS.DiffIDs 0}}' "$REGISTRY/ours:$form"
		fi
		[ "$output" = "$diff_id" ]
	done
}

@test "podman pulls what we pushed, and we pull what it pushed" {
	start_engine podman
	push_all
	engine_pushes podman
	engine_pulls podman
	[ "$(engine podman image inspect --format '{{.Digest}}' "$REGISTRY/ours:gzip")" = "$(digest_of images gzip)" ]
}

@test "buildah pulls what we pushed, and we pull what it pushed" {
	start_engine buildah
	push_all
	engine_pushes buildah
	engine_pulls buildah
}
