#!/usr/bin/env bats
# What an image is made of and how it was made, held against validators that others wrote.

load common

setup() { work; export GPUIMG_STORE=$WORK/store; TOOLS=$TEST_CACHE/tools/sbom; }

# The validators of SPDX and CycloneDX.
validators() { need_cached sbom; }

valid_spdx() { PYTHONPATH=$TOOLS python3 -m spdx_tools.spdx.clitools.pyspdxtools -i "$1"; }

valid_cyclonedx() {
	PYTHONPATH=$TOOLS python3 -c '
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(error) if error else 0)' "$1"
}

# A wheel with a library of NVIDIA's name and one of no list: NAME VERSION.
wheel() {
	python3 - "$1" "$2" wheels <<-'END'
		import base64, hashlib, os, sys, zipfile
		name, version, folder = sys.argv[1:]
		info = f"{name}-{version}.dist-info/"
		files = {
		    "nvidia/cublas/lib/libcublas.so.12": b"not really a library",
		    "nvidia/cublas/lib/libother.so.1": b"nor this",
		    info + "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense: NVIDIA Proprietary Software\n\n".encode(),
		    info + "WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		    info + "License.txt": b"all rights",
		}
		record = "".join(f"{p},sha256={base64.urlsafe_b64encode(hashlib.sha256(d).digest()).decode().rstrip('=')},{len(d)}\n" for p, d in files.items())
		files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
		os.makedirs(folder, exist_ok=True)
		with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as z:
		    for path, data in files.items():
		        z.writestr(path, data)
	END
}

deb() { # NAME
	mkdir -p "tree/$1/DEBIAN" "tree/$1/usr/share/doc/$1" "tree/$1/usr/bin"
	echo "$1" >"tree/$1/usr/bin/$1"
	cat >"tree/$1/usr/share/doc/$1/copyright" <<-'END'
		Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

		Files: *
		Copyright: T
		License: GPL-2+

		Files: b
		Copyright: T
		License: a-licence-of-its-own
		 Its text.
	END
	printf 'Package: %s\nVersion: 1:2-3\nArchitecture: amd64\nMaintainer: T <t@example.org>\nDescription: %s\n' "$1" "$1" >"tree/$1/DEBIAN/control"
	dpkg-deb --root-owner-group -Znone -b "tree/$1" "repo/$1_2-3_amd64.deb" >/dev/null
}

# A locked stack of a .deb, a wheel, files and what a stage gives, made once.
stack() {
	need gpg dpkg-deb python3
	local made=$BATS_FILE_TMPDIR/made
	[ -d "$made" ] || (mkdir "$made" && cd "$made" && GPUIMG_STORE=$made/store make_stack >&2)
	cp -a "$made/." .
}

make_stack() {
	mkdir -p repo src
	deb tool
	wheel nvidia_cublas_cu12 12.6.4.1
	sign_repository repo
	echo data >src/data
	cat >stack.yaml <<-END
		gpuimg: 1
		name: acme/app
		tag: "1.0"
		platforms: [linux/amd64]
		sources:
		  - { id: os, type: apt, url: "file://$PWD/repo/", suite: "./", signed-by: repo/key.gpg }
		  - { id: pip, type: wheels, path: wheels }
		stages:
		  made:
		    files: [ { from: src/, to: /made/ } ]
		  runtime:
		    profile: base
		    packages: { os: [tool], pip: [nvidia-cublas-cu12] }
		    files: [ { from: src/data, to: /opt/data } ]
		    copy: [ { from: made, path: /made/data, to: /opt/copied } ]
	END
	gpuimg lock stack.yaml
	gpuimg fetch stack.yaml
}

build() { gpuimg build --offline --no-lint "$@" stack.yaml >&2; }

@test "sbom: SPDX and CycloneDX pass the validators of others" {
	validators
	stack
	build --to oci:out:1.0 --sbom spdx=a.spdx.json --sbom cyclonedx=a.cdx.json
	run -0 valid_spdx a.spdx.json
	[ -z "$output" ]
	run -0 valid_cyclonedx a.cdx.json
	[ "$(jq -r .specVersion a.cdx.json)" = 1.6 ]
	[ "$(jq -r .spdxVersion a.spdx.json)" = SPDX-2.3 ]
}

@test "sbom: names packages, licences, libraries and what may be handed on" {
	stack
	build --to oci:out:1.0 --sbom spdx=a.spdx.json --sbom cyclonedx=a.cdx.json
	jq -e '.packages[] | select(.name == "tool") | .licenseDeclared == "GPL-2.0-or-later AND LicenseRef-a-licence-of-its-own"
		and .externalRefs[0].referenceLocator == "pkg:deb/debian/tool@1%3A2-3?arch=amd64"' a.spdx.json
	jq -e '[.hasExtractedLicensingInfos[].licenseId] == ["LicenseRef-NVIDIA-Proprietary-Software", "LicenseRef-a-licence-of-its-own"]' a.spdx.json
	jq -e --arg sum "$(sha256sum repo/tool_2-3_amd64.deb | cut -d' ' -f1)" '.packages[] | select(.name == "tool") | .checksums[0].checksumValue == $sum' a.spdx.json
	jq -e '.components[] | select(.name == "nvidia-cublas-cu12") | .purl == "pkg:pypi/nvidia-cublas-cu12@12.6.4.1"
		and (.components | map({ (.name): .properties[0].value }) | add) == {
			"libcublas.so.12": "named in Attachment A of the CUDA Toolkit EULA",
			"libother.so.1": "named in no list of what may be handed on" }' a.cdx.json
	# the library's digest is that of its bytes
	jq -e --arg sum "$(printf 'not really a library' | sha256sum | cut -d' ' -f1)" \
		'.packages[] | select(.name == "libcublas.so.12") | .checksums[0].checksumValue == $sum' a.spdx.json
	jq -e '[.components[] | .properties[] | select(.name == "gpuimg:kind") | .value] | unique == ["deb", "files", "image", "stage", "wheel"]' a.cdx.json
}

@test "sbom: every path of the image has an owner" {
	need umoci
	stack
	build --to oci:out:1.0 --to rootfs:root --sbom files=owners
	(cd root && find . -mindepth 1 -printf '/%P\n' | LC_ALL=C sort) >there
	cut -f2 owners | LC_ALL=C sort >said
	diff there said
	grep -qxF $'deb tool 1:2-3\t/usr/bin/tool' owners
	grep -qxF $'files files\t/opt/data' owners
	grep -qxF $'stage made\t/opt/copied' owners
	[ "$(cut -f1 owners | grep -c '^$')" = 0 ]
}

@test "sbom: the same bytes from another store, time zone, locale and file mode" {
	stack
	build --to oci:out:1.0 --sbom spdx=a --sbom cyclonedx=b --sbom files=c --provenance d
	(
		umask 077
		export TZ=Asia/Tokyo LC_ALL=C
		gpuimg fetch --to other stack.yaml
		gpuimg build --store other --offline --no-lint -j1 --to oci:out2:1.0 --sbom spdx=a2 --sbom cyclonedx=b2 --sbom files=c2 --provenance d2 stack.yaml
	)
	for f in a b c d; do cmp $f ${f}2; done
	# another time is another document
	SOURCE_DATE_EPOCH=1700000000 build --to oci:out3:1.0 --sbom spdx=a3
	[ "$(jq -r .creationInfo.created a3)" = 2023-11-14T22:13:20Z ]
	[ "$(jq -r .documentNamespace a3)" != "$(jq -r .documentNamespace a)" ]
}

@test "sbom IMAGE: what its build said; of an image of others what its databases say" {
	validators
	stack
	build --to oci:out:1.0 --to docker-archive:app.tar --sbom spdx=a.spdx.json
	gpuimg sbom oci:out:1.0 >again
	cmp a.spdx.json again
	gpuimg sbom oci:out:1.0 -o spdx=x -o cyclonedx=y -o provenance=z -o files=w
	cmp a.spdx.json x
	# another store knows nothing of the build
	gpuimg sbom --store elsewhere app.tar >scan.json
	run -0 valid_spdx scan.json
	jq -e '[.packages[].name] | contains(["tool", "nvidia-cublas-cu12", "libcublas.so.12"])' scan.json
	gpuimg inspect --sbom cyclonedx app.tar >scan.cdx.json
	run -0 valid_cyclonedx scan.cdx.json
	jq -e '.components[] | select(.name == "nvidia-cublas-cu12") | .licenses[0].expression == "LicenseRef-NVIDIA-Proprietary-Software"' scan.cdx.json
	run -3 --separate-stderr gpuimg sbom --store elsewhere app.tar -o provenance
	[[ $stderr == *"was not built with this store"* ]]
}

@test "provenance: an in-toto statement with SLSA v1, inputs by their locked digests" {
	stack
	build --to oci:out:1.0 --provenance p.json --sbom spdx=a.spdx.json
	manifest=$(jq -r '.manifests[0].digest' "out/blobs/sha256/$(digest_of out 1.0 | cut -d: -f2)")
	jq -e --arg image "${manifest#sha256:}" --arg spdx "$(sha256sum a.spdx.json | cut -d' ' -f1)" '
		._type == "https://in-toto.io/Statement/v1" and .predicateType == "https://slsa.dev/provenance/v1"
		and .subject[0].digest.sha256 == $image
		and (.predicate.buildDefinition | (.buildType | test("^[a-z]+:")) and (.externalParameters | type == "object")
			and (.internalParameters.coder | startswith("gzip libdeflate-")) and (.resolvedDependencies | length > 0))
		and (.predicate.runDetails.builder.id | test("^[a-z]+:"))
		and (.predicate.runDetails.byproducts[] | select(.name == "spdx") | .digest.sha256 == $spdx)
		and all(.subject[], .predicate.buildDefinition.resolvedDependencies[]; .digest.sha256 | test("^[0-9a-f]{64}$"))' p.json
	jq -r '.platforms[].inputs[] | .digest | sub("sha256:"; "")' stack.lock.json | sort >locked
	jq -r '.predicate.buildDefinition.resolvedDependencies[] | select(.annotations) | .digest.sha256' p.json | sort >said
	diff locked said
}

@test "sbom: requests that cannot be met are usage" {
	stack
	run -2 --separate-stderr gpuimg build --offline --no-lint --sbom spdx stack.yaml
	[[ $stderr == *"--sbom spdx: write FORMAT=FILE"* ]]
	run -2 --separate-stderr gpuimg build --offline --no-lint --sbom syft=x stack.yaml
	[[ $stderr == *"'syft' is none of spdx, cyclonedx, provenance, files"* ]]
	sed -i 's|platforms: .*|platforms: [linux/amd64, linux/arm64]|' stack.yaml
	run -2 --separate-stderr gpuimg build --offline --no-lint --sbom spdx=x stack.yaml
	[[ $stderr == *"put {arch} into the name"* ]]
	[ ! -e x ]
}

@test "sbom: on a base image, what is installed there and what is put upon it" {
	validators
	stack
	build --to oci:base:1.0
	echo more >f
	cat >on.yaml <<-'END'
		gpuimg: 1
		name: acme/on
		platforms: [linux/amd64]
		base: { image: "oci:base:1.0" }
		stages: { runtime: { profile: base, files: [ { from: f, to: /opt/f } ] } }
	END
	gpuimg lock on.yaml
	gpuimg build --no-lint --to oci:on:1 --sbom spdx=s.json --sbom cyclonedx=c.json --sbom files=owners on.yaml
	run -0 valid_spdx s.json
	run -0 valid_cyclonedx c.json
	jq -e '[.components[] | select(.purl) | .purl] == ["pkg:deb/debian/tool@1%3A2-3?arch=amd64", "pkg:pypi/nvidia-cublas-cu12@12.6.4.1"]' c.json
	grep -qx $'base .*\t/usr/bin/tool' owners
	grep -qx $'files files\t/opt/f' owners
	run -0 gpuimg verify --offline --rebuild oci:on:1 on.lock.json
	[[ $output == "linux/amd64  identical  "* ]]
}
