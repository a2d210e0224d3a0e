# make_sparse_layout COUNT MEGABYTES: "layout", tag v1, with so many layers of so many MB that are
# nearly all holes on the disk, each another one; layout/size is the sum of its blobs, $DIGEST the image.

sparse_blob() { # FILE: into the layout; prints its descriptor, less the media type
	local hex
	hex=$(openssl dgst -sha256 -r "$1" | cut -d" " -f1)
	mv "$1" "layout/blobs/sha256/$hex"
	printf '"digest":"sha256:%s","size":%s' "$hex" "$(stat -c %s "layout/blobs/sha256/$hex")"
}

make_sparse_layout() {
	local oci=application/vnd.oci.image layers= n
	mkdir -p layout/blobs/sha256
	for n in $(seq "$1"); do
		echo "layer $n" >layer
		truncate -s "${2}000000" layer
		layers+="${layers:+,}{\"mediaType\":\"$oci.layer.v1.tar\",$(sparse_blob layer)}"
	done
	printf '{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[]}}' >config
	printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json","config":{"mediaType":"%s.config.v1+json",%s},"layers":[%s]}' \
		$oci $oci "$(sparse_blob config)" "$layers" >manifest
	DIGEST=sha256:$(sha256sum manifest | cut -d' ' -f1)
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}' \
		$oci "$(sparse_blob manifest)" >layout/index.json
	echo '{"imageLayoutVersion":"1.0.0"}' >layout/oci-layout
	stat -c %s layout/blobs/sha256/* | awk '{ s += $1 } END { printf "%.0f", s }' >layout/size
}
