load common

# A root that no maintainer script has seen, against one that mmdebstrap installed with them.

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	command -v mmdebstrap >/dev/null || return 0
	KEEP=$BATS_FILE_TMPDIR "$ROOT/tests/tools/compare-mmdebstrap.sh" small >"$BATS_FILE_TMPDIR/log" 2>&1 ||
		touch "$BATS_FILE_TMPDIR/different"
}

setup() {
	need mmdebstrap jq
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	small=$BATS_FILE_TMPDIR/small
}

blob() { echo "$small/ours/blobs/$(echo "$1" | tr : /)"; }

@test "finish: every difference to an installation with maintainer scripts is explained" {
	cat "$BATS_FILE_TMPDIR/log"
	[ ! -e "$BATS_FILE_TMPDIR/different" ]
	grep -q ' 0 unexplained' "$BATS_FILE_TMPDIR/log"
}

@test "finish: dpkg and apt find nothing to mend and go on, ldconfig writes the same cache" {
	root=$BATS_FILE_TMPDIR/root
	mkdir "$root"
	index=$(blob "$(jq -r '.manifests[0].digest' "$small/ours/index.json")")
	manifest=$(blob "$(jq -r '.manifests[0].digest' "$index")")
	for layer in $(jq -r '.layers[].digest' "$manifest"); do
		tar -C "$root" --keep-directory-symlink --xattrs --xattrs-include='*' -xpf "$(blob "$layer")"
	done
	cp "$root/etc/ld.so.cache" "$BATS_FILE_TMPDIR/cache"
	run -0 chroot "$root" dpkg --audit
	[ -z "$output" ]
	run -0 chroot "$root" dpkg -V
	[ -z "$output" ]
	run -0 env -u APT_CONFIG chroot "$root" apt-get check
	run -0 chroot "$root" ldconfig
	cmp "$BATS_FILE_TMPDIR/cache" "$root/etc/ld.so.cache"
	run -0 chroot "$root" dpkg-query -W -f '${Package} ${Version}\n'
	locked=$(jq -r '.. | objects | select(.kind? == "deb") | "\(.name) \(.version)"' "$small/stack.lock.json" | LC_ALL=C sort)
	[ "$(echo "$output" | LC_ALL=C sort)" = "$locked" ]
	mkdir -p "$BATS_FILE_TMPDIR/more/DEBIAN"
	printf 'Package: more\nVersion: 1\nArchitecture: all\nMaintainer: T <t@example.org>\nDepends: netbase\nDescription: t\n' \
		>"$BATS_FILE_TMPDIR/more/DEBIAN/control"
	dpkg-deb -b "$BATS_FILE_TMPDIR/more" "$root/more.deb" >/dev/null
	run -0 env -u APT_CONFIG chroot "$root" sh -c 'mknod -m 666 /dev/null c 1 3; apt-get -o APT::Sandbox::User=root install -y /more.deb'
	run -0 chroot "$root" dpkg --audit
	[ -z "$output" ]
}
