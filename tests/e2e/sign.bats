#!/usr/bin/env bats
# Signatures and attestations, against docker-registry (which keeps no list of referrers), a
# registry that does, and an independent implementation that signs and verifies.

load common
load registry

CANARY=canary-3f9c1e7a # of keys' passwords: must not be seen anywhere

setup() {
	work
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
	unset GPUIMG_PASSWORD COSIGN_PASSWORD SOURCE_DATE_EPOCH
	PYTHON=/usr/bin/python3
	[ -x "$PYTHON" ] || PYTHON=python3
}

teardown() {
	stop_registry
	stop_servers
}

# With in-toto's own library of envelopes where tests/fill-cache brought it.
foreign() {
	PYTHONPATH=$TEST_CACHE/tools/dsse "$PYTHON" "$ROOT/tests/support/foreign_sign.py" "$@"
}

need_foreign() {
	"$PYTHON" -c 'import cryptography, nacl.secret' 2>/dev/null ||
		skip "python3-cryptography and python3-nacl are not installed"
}

# docker-registry, which keeps the list of referrers under a tag, or a persona of a kind ("api": one
# that keeps it itself); the image app:1.
start_pushed() { # [KIND]
	case ${1:-docker-registry} in
	docker-registry) start_registry ;;
	api) start_persona zot ;;
	*) start_persona "$1" ;;
	esac
	[ -e layout ] || make_layout
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/app:1"
	IMAGE=docker://$REGISTRY/app:1
}

@test "keygen: an encrypted pair that others open; a wrong password, none, files that are there" {
	need_foreign
	GPUIMG_PASSWORD=$CANARY run -0 gpuimg keygen
	[ "$output" = $'cosign.key\ncosign.pub' ]
	[ "$(stat -c %a cosign.key)" = 600 ]
	foreign open-key cosign.key "$CANARY" >theirs.pub
	diff theirs.pub cosign.pub
	run -0 --separate-stderr openssl pkey -pubin -in cosign.pub -noout -text
	[[ "$output" == *"prime256v1"* ]]
	GPUIMG_PASSWORD=x run -2 gpuimg keygen
	[[ "$output" == *"cosign.key is there"* ]]
	echo wrong >password
	run -2 gpuimg sign --key cosign.key --password-file password --as example.org/app:1 oci:nowhere:v1
	[[ "$output" == *"the password does not open it"* ]]
	run -2 setsid -w "$GPUIMG" sign --key cosign.key oci:nowhere:v1 </dev/null
	[[ "$output" == *"the key is encrypted: give its password"* ]]
	run -2 setsid -w "$GPUIMG" keygen new </dev/null
	[ ! -e new.key ]
}

@test "sign: others verify what we sign, under the tag and as a referrer" {
	need_foreign
	start_pushed
	gpuimg keygen -q --plain mine
	run -0 gpuimg sign --key mine.key "$IMAGE"
	[[ "$output" == *"2 signatures made, 0 were there"* ]]
	run -0 foreign verify-legacy mine.pub "$REGISTRY" app "$DIGEST" "$REGISTRY/app:1"
	run -0 foreign verify-bundles mine.pub "$REGISTRY" app "$DIGEST" https://sigstore.dev/cosign/sign/v1
	run -0 gpuimg sign --key mine.key "$IMAGE"
	[[ "$output" == *"0 signatures made, 2 were there"* ]]
	run -0 gpuimg ls "$REGISTRY/app"
	[ "$output" = 1 ]
	# with openssl alone, as any script can
	tag=${DIGEST/:/-}.sig
	curl -sf -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$REGISTRY/v2/app/manifests/$tag" >sig.json
	jq -r '.layers[0].annotations["dev.cosignproject.cosign/signature"]' sig.json | base64 -d >sig
	curl -sf "http://$REGISTRY/v2/app/blobs/$(jq -r '.layers[0].digest' sig.json)" >payload
	run -0 openssl dgst -sha256 -verify mine.pub -signature sig payload
	[ "$(jq -r '.critical.image["docker-manifest-digest"]' payload)" = "$DIGEST" ]
}

@test "sign: a registry that lists referrers gets no tag for them, all pages are read" {
	need_foreign
	start_pushed api
	for k in a b c; do
		gpuimg keygen -q --plain "$k"
		gpuimg sign -q --key "$k.key" --format bundle "$IMAGE"
	done
	[ ! -e "$PERSONA/manifests/app.${DIGEST/:/-}" ]
	run -0 gpuimg verify --key c.pub "$IMAGE"
	run -0 gpuimg verify --key a.pub -o json "$IMAGE"
	[ "$(jq '[.judged[0].found[] | select(.verified)] | length' <<<"$output")" = 1 ]
	[ "$(jq '.judged[0].found | length' <<<"$output")" = 3 ]
	gpuimg sign -q --key a.key "$IMAGE"
	run -0 foreign verify-bundles a.pub "$REGISTRY" app "$DIGEST" https://sigstore.dev/cosign/sign/v1 || true
	run -0 foreign verify-legacy a.pub "$REGISTRY" app "$DIGEST"
}

@test "verify: what others signed, with their keys plain and encrypted" {
	need_foreign
	start_pushed
	openssl ecparam -name prime256v1 -genkey -noout -out theirs.key
	openssl ec -in theirs.key -pubout -out theirs.pub 2>/dev/null
	foreign sign theirs.key "$REGISTRY" app "$DIGEST"
	run -0 gpuimg verify --key theirs.pub "$IMAGE"
	[ "$(grep -c '^  good' <<<"$output")" = 2 ]
	foreign make-key cosign.key cosign.pub "$CANARY"
	COSIGN_PASSWORD=$CANARY run -0 gpuimg sign --key cosign.key "$IMAGE"
	run -0 gpuimg verify --key cosign.pub "$IMAGE"
	run -0 gpuimg verify --key theirs.pub "$IMAGE"
	openssl pkcs8 -topk8 -in theirs.key -passout "pass:$CANARY" -out pbes2.key
	echo "$CANARY" >password
	run -0 gpuimg sign --key pbes2.key --password-file password --renew --format legacy "$IMAGE"
	export THEIRS="$(cat theirs.key)"
	run -0 gpuimg sign --key env://THEIRS --renew --format bundle "$IMAGE"
}

@test "verify: wrong keys, altered and replayed signatures, none, old ones: exit 1, and why" {
	need_foreign
	start_pushed
	gpuimg keygen -q --plain mine
	gpuimg keygen -q --plain other
	run -1 gpuimg verify --key mine.pub "$IMAGE"
	[[ "$output" == *"NOT VERIFIED  signature: there is none"* ]]
	SOURCE_DATE_EPOCH=1700000000 gpuimg sign -q --key mine.key "$IMAGE"
	run -1 gpuimg verify --key other.pub "$IMAGE"
	[[ "$output" == *"is not by this key, or was altered"* ]]
	run -0 gpuimg verify --key other.pub --key mine.pub "$IMAGE"
	run -1 gpuimg verify --key mine.pub --max-age 30 "$IMAGE"
	[[ "$output" == *"has expired"* ]]
	run -1 gpuimg verify --key mine.pub -a commit=1 "$IMAGE"
	[[ "$output" == *"was not signed with the wanted value of 'commit'"* ]]
	# another image under the same tag: the tag's signatures are the old image's
	sed 's/"architecture":"amd64"/"architecture":"arm64"/' config.json >config2.json
	sed "s/$(sha256sum config.json | cut -c1-64)/$(sha256sum config2.json | cut -c1-64)/" manifest.json >manifest2.json
	blob config2.json >/dev/null
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"v2"}}]}' "$(blob manifest2.json)" >layout/index.json
	gpuimg push -q oci:layout:v2 "docker://$REGISTRY/app:1"
	run -1 gpuimg verify --key mine.pub "$IMAGE"
	[[ "$output" == *"there is none"* ]]
	# its signatures put beside the other
	other=$(digest_of layout v2)
	[ "$other" != "$DIGEST" ]
	foreign replay "$REGISTRY" app "$DIGEST" "$other"
	run -1 gpuimg verify --key mine.pub "$IMAGE"
	[ "$(grep -c 'was made for another image' <<<"$output")" = 2 ]
	# a bit of what was signed
	foreign damage "$REGISTRY" app "$DIGEST"
	run -1 gpuimg verify --key mine.pub "docker://$REGISTRY/app@$DIGEST"
	[ "$(grep -c 'is not by this key, or was altered' <<<"$output")" = 2 ]
	run -1 gpuimg verify --key mine.pub -o json "docker://$REGISTRY/app@$DIGEST"
	[ "$(jq -r '.verified, .schema' <<<"$output")" = $'false\ngpuimg-verify/1' ]
	run -3 gpuimg verify --key mine.pub "docker://$REGISTRY/nothing:1"
	run -2 gpuimg verify --key mine.key "$IMAGE"
	[[ "$output" == *"this is a private key; the public one is wanted"* ]]
	run -2 gpuimg verify "$IMAGE"
}

@test "attest: statements that others verify; predicates come back as they were" {
	need_foreign
	start_pushed
	gpuimg keygen -q --plain mine
	echo '{"spdxVersion":"SPDX-2.3","name":"é","files":[]}' >app.spdx.json
	run -0 gpuimg attest --key mine.key --type spdx --predicate app.spdx.json "$IMAGE"
	[[ "$output" == *"2 attestations made"* ]]
	run -0 gpuimg attest --key mine.key --type spdx --predicate app.spdx.json "$IMAGE"
	[[ "$output" == *"0 attestations made, 2 were there"* ]]
	run -0 foreign verify-att mine.pub "$REGISTRY" app "$DIGEST" https://spdx.dev/Document
	run -0 foreign verify-bundles mine.pub "$REGISTRY" app "$DIGEST" https://spdx.dev/Document
	run -1 gpuimg verify --key mine.pub --attestation spdx "$IMAGE" # no signature
	gpuimg sign -q --key mine.key "$IMAGE"
	run -0 gpuimg verify --key mine.pub --attestation spdx --predicate out.json "$IMAGE"
	diff <(jq -S . app.spdx.json) <(jq -S . out.json)
	run -1 gpuimg verify --key mine.pub --attestation provenance "$IMAGE"
	run -2 gpuimg attest --key mine.key --type nonsense --predicate app.spdx.json "$IMAGE"
	run -3 gpuimg attest --key mine.key "$IMAGE"
	[[ "$output" == *"the store knows nothing of a build of it"* ]]
}

@test "attest: statements that others made, in both forms; a bit of them changed" {
	need_foreign
	start_pushed
	openssl ecparam -name prime256v1 -genkey -noout -out theirs.key
	openssl ec -in theirs.key -pubout -out theirs.pub 2>/dev/null
	gpuimg keygen -q --plain mine
	echo '{"spdxVersion": "SPDX-2.3", "name": "é", "files": []}' >app.spdx.json
	foreign sign theirs.key "$REGISTRY" app "$DIGEST"
	foreign attest theirs.key "$REGISTRY" app "$DIGEST" https://spdx.dev/Document app.spdx.json
	run -0 gpuimg verify --key theirs.pub --attestation spdx --predicate out.json "$IMAGE"
	[ "$(grep -c '^  good' <<<"$output")" = 4 ] # two signatures, two statements
	diff <(jq -S . app.spdx.json) <(jq -S . out.json)
	run -1 gpuimg verify --key mine.pub --attestation spdx "$IMAGE"
	[ "$(grep -c 'is not by this key, or was altered' <<<"$output")" = 4 ]
	# ours go beside theirs
	gpuimg attest -q --key mine.key --type spdx --predicate app.spdx.json "$IMAGE"
	run -0 gpuimg verify --key theirs.pub --attestation spdx "$IMAGE"
}

@test "verify: certificates are not believed, entries of logs not looked at, and both said" {
	need_foreign
	start_pushed
	openssl ecparam -name prime256v1 -genkey -noout -out theirs.key
	openssl ec -in theirs.key -pubout -out theirs.pub 2>/dev/null
	gpuimg keygen -q --plain mine
	foreign certify theirs.key "$REGISTRY" app "$DIGEST"
	run -0 gpuimg verify --key theirs.pub "$IMAGE"
	[ "$(grep -c '^  good' <<<"$output")" = 1 ] # the bundle by the key, whatever log it names
	[ "$(grep -c 'is by a certificate, not by a key' <<<"$output")" = 2 ]
	run -1 gpuimg verify --key mine.pub "$IMAGE"
	[ "$(grep -c 'is by a certificate, not by a key' <<<"$output")" = 2 ]
}

@test "copies carry what is attached: to a registry with a list, to a layout, back to one without" {
	need_foreign
	start_pushed
	first=$REGISTRY
	gpuimg keygen -q --plain mine
	gpuimg sign -q --key mine.key "$IMAGE"
	echo '{}' >vex.json
	gpuimg attest -q --key mine.key --type openvex --predicate vex.json "$IMAGE"
	start_persona zot
	run -0 gpuimg copy --with-referrers "$IMAGE" "docker://$REGISTRY/app:1"
	[[ "$output" == *"4 attached documents copied"* ]]
	run -0 gpuimg verify --key mine.pub --attestation openvex "docker://$REGISTRY/app:1"
	run -0 gpuimg pull --with-referrers "$REGISTRY/app:1" oci:carried:1
	run -0 gpuimg verify --key mine.pub --attestation openvex oci:carried:1
	run -0 gpuimg verify --key mine.pub oci:carried # the only image, whatever lies beside it
	run -0 skopeo inspect oci:carried:1
	run -0 gpuimg push --with-referrers oci:carried:1 "docker://$first/again:1"
	run -0 foreign verify-bundles mine.pub "$first" again "$DIGEST" https://sigstore.dev/cosign/sign/v1 https://openvex.dev/ns
	run -0 gpuimg verify --key mine.pub --attestation openvex "docker://$first/again:1"
	# what others signed there stays
	gpuimg keygen -q --plain other
	gpuimg sign -q --key other.key "docker://$first/again:1"
	run -0 gpuimg copy --with-referrers "$IMAGE" "docker://$first/again:1"
	run -0 gpuimg verify --key other.pub "docker://$first/again:1"
	run -2 gpuimg copy --with-referrers "$IMAGE" oci-archive:app.tar
}

# How many signatures, or bundles, the tag of that kind holds ("[.]sig", or "" for the list).
held_by_tag() { # SUFFIX
	curl -sfo tag.json -H 'Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json' \
		"http://$DIRECT/v2/app/manifests/${DIGEST/:/-}${1/\[.]/.}" || return 1
	jq '(.layers // .manifests) | length' tag.json
}

@test "R2 four that sign at the same time: all signatures stay" {
	local pids pid
	for k in a b c d; do gpuimg keygen -q --plain "$k"; done
	for kind in docker-registry v3 api; do
		start_pushed $kind
		pids=()
		for k in a b c d; do
			"$GPUIMG" sign -q --key "$k.key" "$IMAGE" 3>&- &
			pids+=($!)
		done
		for pid in "${pids[@]}"; do wait "$pid"; done
		for k in a b c d; do
			run -0 gpuimg verify --key "$k.pub" "$IMAGE"
			[ "$(grep -c '^  good' <<<"$output")" = 2 ]
		done
		[ $kind != docker-registry ] || stop_registry
	done
}

@test "eight that sign one layout at the same time: all signatures stay" {
	local pids=() pid
	make_layout
	for k in a b c d e f g h; do gpuimg keygen -q --plain $k; done
	for k in a b c d e f g h; do
		"$GPUIMG" sign -q --as example.org/app:1 --key $k.key oci:layout:v1 3>&- &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid"; done
	for k in a b c d e f g h; do
		run -0 gpuimg verify --key $k.pub oci:layout:v1
		[ "$(grep -c '^  good' <<<"$output")" = 2 ]
	done
}

@test "R2 one is held up between its look and its write, and writes over another's: that one writes again" {
	local form suffix late early first
	for k in a b; do gpuimg keygen -q --plain "$k"; done
	for kind in docker-registry v3; do
		start_pushed $kind
		DIRECT=$REGISTRY
		for form in legacy bundle; do
			suffix=
			[ $form = bundle ] || suffix='[.]sig'
			REGISTRY=$DIRECT
			start_proxy "PUT manifests/sha256-[0-9a-f]*$suffix$ 1 wait"
			late=$PROXY
			"$GPUIMG" sign -q --format $form --key b.key "docker://$REGISTRY/app:1" 3>&- &
			first=$!
			wait_for test -e "$late/held"
			REGISTRY=$DIRECT
			# is it signed, what is there, has it changed, did ours stay: the fourth is held
			start_proxy "GET manifests/sha256-[0-9a-f]*$suffix$ 4 wait"
			early=$PROXY
			"$GPUIMG" sign -q --format $form --key a.key "docker://$REGISTRY/app:1" 3>&- &
			wait_for test -e "$early/held"
			[ "$(held_by_tag "$suffix")" = 1 ]
			touch "$late/go"
			wait $first
			[ "$(held_by_tag "$suffix")" = 1 ]
			touch "$early/go"
			wait $!
			[ "$(held_by_tag "$suffix")" = 2 ]
			for k in a b; do run -0 gpuimg verify --key $k.pub "docker://$DIRECT/app@$DIGEST"; done
		done
		[ $kind != docker-registry ] || stop_registry
	done
}

@test "R2 where writing takes long, others are waited for longer" {
	local early late first
	for k in a b; do gpuimg keygen -q --plain "$k"; done
	for kind in docker-registry v3; do
		start_pushed $kind
		DIRECT=$REGISTRY
		start_proxy "PUT manifests/sha256-[0-9a-f]*[.]sig$ 1 wait"
		early=$PROXY
		"$GPUIMG" sign -q --format legacy --key a.key "docker://$REGISTRY/app:1" 3>&- &
		first=$!
		wait_for test -e "$early/held"
		REGISTRY=$DIRECT
		start_proxy "PUT manifests/sha256-[0-9a-f]*[.]sig$ 1 wait"
		late=$PROXY
		"$GPUIMG" sign -q --format legacy --key b.key "docker://$REGISTRY/app:1" 3>&- &
		wait_for test -e "$late/held"
		sleep 0.7 # so long, and what came before, the first one's write takes; it waits for twice that
		touch "$early/go"
		wait_for held_by_tag '[.]sig'
		sleep 0.5
		touch "$late/go"
		wait $first
		wait $!
		for k in a b; do run -0 gpuimg verify --key $k.pub "docker://$DIRECT/app@$DIGEST"; done
		[ $kind != docker-registry ] || stop_registry
	done
}

@test "R1 a registry without the list of referrers, whatever it says of it: the tag" {
	local rule
	gpuimg keygen -q --plain mine
	for kind in docker-registry v3; do
		for rule in "" "GET referrers * status 405" "GET referrers * status 400"; do
			start_pushed $kind
			start_proxy ${rule:+"$rule"}
			IMAGE=docker://$REGISTRY/app:1
			gpuimg sign -q --key mine.key --format bundle "$IMAGE"
			curl -sfo list.json -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$REGISTRY/v2/app/manifests/${DIGEST/:/-}"
			[ "$(jq '.manifests | length' list.json)" = 1 ]
			run -0 gpuimg verify --key mine.pub "$IMAGE"
			[ $kind != docker-registry ] || stop_registry
		done
	done
}

@test "R3 a list that the registry does not filter: what is wanted is picked out" {
	gpuimg keygen -q --plain mine
	start_pushed api
	echo '{}' >vex.json
	gpuimg sign -q --key mine.key --format bundle "$IMAGE"
	gpuimg attest -q --key mine.key --format bundle --type openvex --predicate vex.json "$IMAGE"
	gpuimg attest -q --key mine.key --format bundle --type spdx --predicate vex.json "$IMAGE"
	[ "$(curl -sf "http://$REGISTRY/v2/app/referrers/$DIGEST?artifactType=none" | jq '.manifests | length')" = 2 ] # a page of all
	run -0 gpuimg verify --key mine.pub -o json "$IMAGE"
	[ "$(jq '.judged[0].found | length' <<<"$output")" = 1 ]
	run -0 gpuimg verify --key mine.pub --attestation spdx "$IMAGE"
	run -1 gpuimg verify --key mine.pub --attestation cyclonedx "$IMAGE"
}

@test "no password, key or credential is seen: arguments, -vv, errors, state, registry" {
	need_foreign
	export GPUIMG_PASSWORD=$CANARY
	gpuimg keygen -q
	start_registry_auth user "$CANARY"
	docker_config user "$CANARY"
	make_layout
	strace -f -qq -s 4096 -e trace=execve -o exec.log \
		"$GPUIMG" push -vv --sign cosign.key oci:layout:v1 "docker://$REGISTRY/app:1" >out.log 2>&1
	gpuimg verify -vv --key cosign.pub "docker://$REGISTRY/app:1" >>out.log 2>&1
	gpuimg attest -vv --key cosign.key --type openvex --predicate <(echo '{}') "docker://$REGISTRY/app:1" >>out.log 2>&1
	GPUIMG_PASSWORD=$CANARY-not run -2 gpuimg sign -vv --key cosign.key "docker://$REGISTRY/app:1"
	echo "$output" >>out.log
	docker_config user "$CANARY-not"
	run -3 gpuimg sign -vv --key cosign.key "docker://$REGISTRY/app:1"
	echo "$output" >>out.log
	docker_config user "$CANARY"
	secret=$(openssl pkcs8 -topk8 -nocrypt -in <("$PYTHON" - <<-'EOF'
		import base64, json, os, sys
		from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
		from cryptography.hazmat.primitives import serialization as s
		import nacl.secret
		said = json.loads(base64.b64decode("".join(open("cosign.key").read().split("\n")[1:-2])))
		key = Scrypt(salt=base64.b64decode(said["kdf"]["salt"]), length=32, n=said["kdf"]["params"]["N"], r=8, p=1).derive(os.environ["GPUIMG_PASSWORD"].encode())
		der = nacl.secret.SecretBox(key).decrypt(base64.b64decode(said["ciphertext"]), base64.b64decode(said["cipher"]["nonce"]))
		sys.stdout.write(s.load_der_private_key(der, None).private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()).decode())
	EOF
	) | sed -n 2p)
	[ "${#secret}" = 64 ]
	for what in "$CANARY" "$secret" "$(printf 'user:%s' "$CANARY" | base64 -w0)"; do
		run -1 grep -rFq -- "$what" out.log exec.log "$XDG_STATE_HOME" "$REGISTRY_DIR/data"
	done
	run -1 grep -rlE 'PRIVATE KEY' out.log exec.log "$XDG_STATE_HOME" "$REGISTRY_DIR/data"
}
