# What is installed: manual pages and completions from the command tables, the Debian package, the
# portable tarball.

load common

setup_file() {
	make -s -C "$ROOT" O=build install DESTDIR="$BATS_FILE_TMPDIR/root" PREFIX=/usr >&2
}

setup() {
	work
	SHARE=$BATS_FILE_TMPDIR/root/usr/share
}

@test "make install puts the program, schemas, a manual page per command and completions below DESTDIR" {
	"$BATS_FILE_TMPDIR/root/usr/bin/gpuimg" --version
	jq -e '."$schema"' "$SHARE/gpuimg/stack.schema.json" "$SHARE/gpuimg/lint-policy.schema.json" >/dev/null
	for c in $(gpuimg --help | awk '/^Commands:/ { on = 1; next } on && !NF { exit } on { print $1 }'); do
		[ -s "$SHARE/man/man1/gpuimg-$c.1" ] || { echo "no page of $c"; return 1; }
		grep -q "gpuimg\\\\-$c" "$SHARE/man/man1/gpuimg.1"
	done
	[ "$(find "$BATS_FILE_TMPDIR/root" -type f -perm /022 | wc -l)" -eq 0 ]
}

@test "the manual pages are well formed and name every option that the help names" {
	need mandoc
	for page in "$SHARE"/man/man1/*.1; do
		mandoc -T lint -W warning "$page" | grep -v 'missing date' && { echo "$page"; return 1; }
	done
	mandoc -T utf8 "$SHARE/man/man1/gpuimg-lint.1" | sed 's/.\x08//g' >page
	for option in $(gpuimg lint --help | grep -oE '^  (-., )?--[a-z-]+' | grep -oE '\-\-[a-z-]+'); do
		grep -q -e "$option" page || { echo "$option is not in the page"; return 1; }
	done
}

@test "bash completes commands, options and the values of options" {
	run -0 bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuimg; printf "%s\n" "${COMPREPLY[@]}"' - "$SHARE/bash-completion/completions/gpuimg" gpuimg pu
	[ "$output" = $'pull\npush' ]
	run -0 bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuimg; printf "%s\n" "${COMPREPLY[@]}"' - "$SHARE/bash-completion/completions/gpuimg" gpuimg build --color a
	[ "$output" = $'auto\nalways' ]
	run -0 bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuimg; printf "%s\n" "${COMPREPLY[@]}"' - "$SHARE/bash-completion/completions/gpuimg" gpuimg lint --min
	[ "$output" = --min-confidence ]
	touch 'a file.yaml'
	run -0 bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuimg; printf "%s\n" "${COMPREPLY[@]}"' - "$SHARE/bash-completion/completions/gpuimg" gpuimg build 'a f'
	[[ "$output" = *file.yaml* ]]
}

@test "fish completes commands, options and the values of options; zsh reads its script" {
	need fish zsh
	run -0 env HOME="$WORK" fish --no-config -c "source $SHARE/fish/vendor_completions.d/gpuimg.fish; complete -C 'gpuimg pu'; complete -C 'gpuimg lint --min'; complete -C 'gpuimg build --color n'"
	[[ "$output" = *pull$'\t'*push$'\t'*--min-confidence$'\t'*never$'\t'* ]]
	zsh -n "$SHARE/zsh/site-functions/_gpuimg"
	run -0 zsh -f -c 'autoload -U compinit; fpath=("$1" $fpath); compinit -D -u; print $_comps[gpuimg]' - "$SHARE/zsh/site-functions"
	[ "$output" = _gpuimg ]
}

@test "the Debian package names the libraries of the program, and is the same bytes every time" {
	need dpkg-shlibdeps
	mkdir a b
	SOURCE_DATE_EPOCH=1700000000 "$ROOT/packaging/deb" a
	TZ=Asia/Tokyo LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH=1700000000 "$ROOT/packaging/deb" b
	cmp a/*.deb b/*.deb
	deb=$(echo a/*.deb)
	[[ "$(dpkg-deb -f "$deb" Depends)" = *libarchive13*libc6*libcurl4*libsqlite3-0* ]]
	dpkg-deb -x "$deb" x
	x/usr/bin/gpuimg --version
	[ -z "$(dpkg-deb -c "$deb" | awk '$2 != "root/root"')" ]
	(cd x && dpkg-deb -I "../$deb" md5sums | md5sum -c --quiet)
	[ -z "$(find x -name '*.1')" ]
	if [ -e /etc/debian_version ] && command -v zsh >/dev/null; then # completions lie where Debian's zsh looks
		zsh -f -c 'print -l $fpath' | grep -qxF "/$(cd x && dirname usr/share/zsh/*/_gpuimg)"
	fi
}

# All of it is made by `make image`, with packages that the tests do not carry.
@test "gpuimg's own image has nothing against it by gpuimg's own rules, but for the packages left out here" {
	cp -r "$BATS_FILE_TMPDIR/root" gpuimg
	awk '/^      os: \[/ { print "      os: [base-files, base-passwd, bash, ca-certificates, coreutils, dash, libc-bin]"; skip = 1 }
	     !skip { print } /\]$/ { skip = 0 }' "$ROOT/manifests/library/gpuimg.yaml" >gpuimg.yaml
	gpuimg build --no-lint --to oci:out gpuimg.yaml
	run -0 gpuimg lint --ignore LNK --fail-on info oci:out
	[[ $output == *"GPU image"* ]]
}

@test "the portable tarball runs where no C library is: it judges, builds offline and tests" {
	need bwrap busybox
	mkdir out && "$ROOT/packaging/dist" out
	stack=$(library_stack cuda13-runtime)
	mkdir -p root/bin root/opt root/work root/tmp
	cp "$(command -v busybox)" root/bin/busybox
	for applet in sh readlink dirname; do ln -s busybox "root/bin/$applet"; done
	tar -C root/opt -xzf out/*.tar.gz
	cp "${stack%/*}"/cuda13-runtime.* root/work/
	gpuimg fetch "${stack%.yaml}.lock.json" --to root/work/store
	[ -z "$(find root -name 'ld-linux*' -not -path 'root/opt/*')" ]
	inside() { bwrap --bind root / --proc /proc --dev /dev --unshare-net --chdir /work --clearenv --setenv PATH /bin --setenv GPUIMG_STORE /work/store sh -c "$1"; }
	inside '/opt/gpuimg-*/bin/gpuimg build --offline --to oci:there:1 cuda13-runtime.yaml'
	inside '/opt/gpuimg-*/bin/gpuimg lint oci:there:1'
	inside '/opt/gpuimg-*/bin/gpuimg test oci:there:1' | grep -q '^pass  load.libcudart.so.13'
	gpuimg build --offline --to oci:here:1 "$stack"
	[ "$(digest_of root/work/there 1)" = "$(digest_of here 1)" ]
}
