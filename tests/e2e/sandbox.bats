#!/usr/bin/env bats
# Commands of build stages: what they may do, what they see, how they end, and what of it reaches an image.

load common

setup() {
	work
	export GPUIMG_STORE=$WORK/store
	NAP=9$$ # seconds, to be found by: those of other runs on this machine are others
}

# A stage with a shell and a few programs of this machine, their libraries beside them. COMMANDS…
stage() {
	local made=$BATS_FILE_TMPDIR/root
	[ -d "$made" ] || programs "$made" sh cat sleep mkdir chmod grep head id setsid touch ls env readlink timeout
	cp -a "$made" root
	{
		printf 'gpuimg: 1\nname: test/run\ntag: "1"\nplatforms: [%s]\nstages:\n' "$(platform)"
		printf '  build:\n    files: [ { from: root/, to: / } ]\n'
		[ -z "${EXTRA:-}" ] || printf '    %s\n' "$EXTRA"
		printf '    run:\n'
		printf '      - %s\n' "$@"
		printf '  runtime: { profile: base, copy: [ { from: build, path: /out, to: /opt/out } ] }\n'
	} >stack.yaml
	gpuimg lock stack.yaml
}

platform() { case $(uname -m) in aarch64) echo linux/arm64 ;; *) echo linux/amd64 ;; esac; }

programs() { # ROOT NAME…
	local root=$1 name file
	shift
	mkdir -p "$root/bin"
	for name; do
		file=$(readlink -f "$(command -v "$name")")
		cp "$file" "$root/bin/$name"
		for file in $(ldd "$file" | grep -o '/[^ ]*'); do
			mkdir -p "$root$(dirname "$file")"
			[ -e "$root$file" ] || cp -L "$file" "$root$file"
		done
	done
}

build() { gpuimg build --no-lint --to oci:out:1 "$@" stack.yaml; }

# What the image has in /opt/out.
made() {
	need umoci
	rm -rf bundle
	umoci unpack --rootless --image out:1 bundle >&2
	cat bundle/rootfs/opt/out
}

# Everything but bwrap on PATH.
without_bwrap() {
	local program
	need runc
	mkdir -p path
	for program in "$@" runc bash sh env cat umoci readlink; do ln -sf "$(command -v "$program")" path/; done
	export PATH=$WORK/path
}

need_bwrap() {
	need bwrap
	bwrap --bind / / --unshare-pid true 2>/dev/null || skip "bwrap cannot make name spaces here"
}

# runc in whatever we are in: some hosts refuse it.
need_runc() {
	need runc
	[ "$(id -u)" -eq 0 ] || skip "runc here wants root"
	programs probe/root sh
	printf '{"ociVersion":"1.0.2","process":{"user":{"uid":0,"gid":0},"args":["/bin/sh","-c","exit 7"],"cwd":"/"},"root":{"path":"root"},"mounts":[{"destination":"/proc","type":"proc","source":"proc"}],"linux":{"namespaces":[{"type":"pid"},{"type":"mount"}]}}' >probe/config.json
	local rc=0
	runc --root "$WORK/probe/state" run --bundle probe "probe$$" || rc=$?
	[ "$rc" = 7 ] || skip "runc cannot run here"
}

@test "commands: root with few capabilities, no network, no path and no variable of the host" {
	need_bwrap
	stage "ls / >/out" "id -u >>/out" "grep CapEff /proc/self/status >>/out" "cat /proc/net/dev >>/out" "env >>/out" "ls /proc/1/fd >/dev/null"
	TOKEN=secret-of-the-host run -0 build
	made >seen
	run ! grep -q secret-of-the-host seen
	run ! grep -qx work seen
	grep -qx 0 seen
	# chown, dac_override, fowner, fsetid, kill, setgid, setuid
	[ "$(id -u)" -ne 0 ] || grep -q 'CapEff:.00000000000000fb' seen
	[ "$(grep -cE '^ *[a-z0-9]+:' seen)" -le 1 ] # lo at most
	run ! grep -qE '^ *(eth|en|wl)' seen
}

@test "commands: without bubblewrap they run in runc, with the same bounds and result" {
	need_bwrap
	need_runc
	stage "id -u >/out" "grep CapEff /proc/self/status >>/out" "env | grep -v SHLVL >/env; for v in HOME LANG TZ USER PATH; do grep ^\$v= /env >>/out; done"
	run -0 build
	made >with-bwrap
	rm -rf store out
	(
		without_bwrap ls grep rm
		"$GPUIMG" build --no-lint --to oci:out:1 stack.yaml
	)
	made >with-runc
	diff with-bwrap with-runc
}

@test "commands: with neither bubblewrap nor runc it is said what to install" {
	stage "touch /out"
	mkdir empty
	run -2 --separate-stderr env PATH="$WORK/empty" "$GPUIMG" build --no-lint --to oci:out:1 stack.yaml
	[[ $stderr == *"install bubblewrap"* ]]
}

@test "secrets: commands see them, from a file and from a variable, and nothing else does" {
	need_bwrap
	EXTRA='secrets: [ licence, { id: token, variable: BUILD_TOKEN } ]' stage \
		"grep -qx s3.ret-in-a-file /run/secrets/licence" 'grep -qx s3.ret-of-a-variable /run/secrets/token' \
		"ls -l /run/secrets >/listing; grep -c -- '^-r--------' /listing >/out" "! touch /run/secrets/new 2>/dev/null || true"
	echo s3cret-in-a-file >licence.txt
	BUILD_TOKEN=s3cret-of-a-variable build -v --secret id=licence,src=licence.txt >said 2>&1
	[ "$(made)" = 2 ]
	# in no object, record or layer; layers are gzip
	run ! grep -rlE 's3cret' store out stack.lock.json
	for blob in out/blobs/sha256/*; do zcat -f "$blob"; done >all
	run ! grep -q s3cret all
	run ! grep -q s3cret said
	# in runc, too
	if runc --version >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
		need_runc
		rm -rf store out
		(
			without_bwrap ls grep
			BUILD_TOKEN=s3cret-of-a-variable "$GPUIMG" build --no-lint --to oci:out:1 --secret id=licence,src=licence.txt stack.yaml
		)
		[ "$(made)" = 2 ]
		run ! grep -rlE 's3cret' store out
	fi
}

@test "secrets: an output that holds one is refused by name, and what is printed is masked" {
	need_bwrap
	EXTRA='secrets: [ token ]' stage "mkdir -p /out/deep" "head -c 70000 /dev/zero >/out/deep/file; cat /run/secrets/token >>/out/deep/file"
	T=s3cret-of-a-variable run -3 --separate-stderr build --secret id=token,env=T
	[[ $stderr == *"/out/deep/file: holds the secret 'token'"* ]]
	[ ! -e out ]
	EXTRA='secrets: [ token ]' stage 'mkdir /out' 'touch "/out/x$(cat /run/secrets/token)"'
	T=s3cret-of-a-variable run -3 --separate-stderr build --secret id=token,env=T
	[[ $stderr == *"/out: holds the secret 'token' in a name or link"* ]]
	EXTRA='secrets: [ token ]' stage 'cat /run/secrets/token' 'exit 3'
	T=s3cret-of-a-variable run -1 --separate-stderr build -v --secret id=token,env=T
	[[ $stderr == *'***'* && $stderr != *s3cret* ]]
}

@test "secrets: what is not given, not named or too short is usage" {
	EXTRA='secrets: [ token ]' stage "touch /out"
	run -2 --separate-stderr build
	[[ $stderr == *"stack.yaml:8:16: secret 'token': it is not given; add --secret id=token,src=FILE"* ]] || { echo "$stderr"; false; }
	run -2 --separate-stderr build --secret id=other,src=stack.yaml
	[[ $stderr == *"no stage of stack.yaml has a secret 'other'"* ]]
	run -2 --separate-stderr build --secret token
	[[ $stderr == *"write id=NAME,src=FILE or id=NAME,env=VARIABLE"* ]]
	T=abc run -2 --separate-stderr build --secret id=token,env=T
	[[ $stderr == *"fewer than 6 characters"* ]]
	run -2 --separate-stderr build --secret id=token,src=nowhere
	[[ $stderr == *"nowhere: No such file"* ]]
}

@test "time: a command that does not end is ended, with all it started" {
	need_bwrap
	EXTRA='timeout: 1s' stage "sleep ${NAP}1 & exec sleep ${NAP}2"
	run -1 --separate-stderr build
	[[ $stderr == *"since the stage's time of 1s is over"* ]]
	run ! pgrep -fx "sleep ${NAP}[12]"
	sed -i 's/timeout: 1s/timeout: 10/' stack.yaml
	run -2 --separate-stderr build
	[[ $stderr == *"'10' is no time"* ]]
}

@test "time: in runc as well" {
	need_runc
	EXTRA='timeout: 1s' stage "sleep ${NAP}1 & exec sleep ${NAP}2"
	(without_bwrap && exec "$GPUIMG" build --no-lint --to oci:out:1 stack.yaml) 2>said && false
	grep -q "since the stage's time of 1s is over" said
	run ! pgrep -fx "sleep ${NAP}[12]"
	[ -z "$(ls -A store/tmp)" ]
}

@test "daemons: what a command leaves running ends with it" {
	need_bwrap
	stage "setsid sleep ${NAP}1 </dev/null >/dev/null 2>&1 & setsid sleep ${NAP}2 & echo done >/out"
	run -0 timeout 60 "$GPUIMG" build --no-lint --to oci:out:1 stack.yaml
	run ! pgrep -fx "sleep ${NAP}[12]"
	[ "$(made)" = done ]
}

@test "disk: a command that fills it is told apart from one that fails" {
	need_bwrap
	[ "$(id -u)" -eq 0 ] || skip "a small file system needs root"
	mkdir small
	mount -t tmpfs -o size=24m tmpfs small 2>/dev/null || skip "tmpfs cannot be mounted here"
	stage 'cat /dev/zero >/out'
	run -3 --separate-stderr gpuimg build --store small --no-lint --to oci:out:1 stack.yaml
	left=$(ls -A small/tmp)
	umount small
	[[ $stderr == *"the disk of the store is full"* ]]
	[ -z "$left" ]
	[ ! -e out ]
}

@test "cache: a stage runs once for the same inputs, and again for others" {
	need_bwrap
	stage 'cat /proc/sys/kernel/random/uuid >/out'
	run -0 build
	first=$(made)
	# even when the image's record is gone
	rm -rf store/keys/images store/keys/attachments
	run -0 build
	[[ $output != *"stage build: cat"* ]]
	[ "$(made)" = "$first" ]
	echo more >root/more
	gpuimg lock stack.yaml
	run -0 build
	[ "$(made)" != "$first" ]
}

# A machine's device that is none: /dev/zero under another name, a library, a variable.
fake_device() {
	need "${CC:-cc}"
	mkdir -p cdi driver
	echo 'int fake(void); int fake(void) { return 0; }' >fake.c
	"${CC:-cc}" -shared -fPIC -nostdlib -Wl,-soname,libfake.so.1 -o driver/libfake.so.580.1 fake.c
	cat >cdi/vendor.json <<-END
	{ "cdiVersion": "0.6.0", "kind": "vendor.com/gpu",
	  "containerEdits": { "env": ["GPU_SEEN=yes"],
	    "mounts": [ { "hostPath": "$WORK/driver/libfake.so.580.1", "containerPath": "/usr/lib/driver/libfake.so.580.1", "options": ["ro", "nosuid", "nodev", "bind"] } ],
	    "hooks": [
	      { "hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "create-symlinks", "--link", "libfake.so.1::/usr/lib/driver/libfake.so"] },
	      { "hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "update-ldcache", "--folder", "/usr/lib/driver"] } ] },
	  "devices": [
	    { "name": "0", "containerEdits": { "deviceNodes": [ { "path": "/dev/fake-gpu", "hostPath": "/dev/zero" } ] } },
	    { "name": "1", "containerEdits": { "deviceNodes": [ { "path": "/dev/fake-gpu", "hostPath": "/dev/full" } ] } },
	    { "name": "gone", "containerEdits": { "deviceNodes": [ { "path": "/dev/gone", "hostPath": "$WORK/gone" } ] } } ] }
	END
}

device_stage() {
	EXTRA="gpu: vendor.com/gpu=${1:-0}" stage 'mkdir /out' 'head -c 3 /dev/fake-gpu >/out/bytes' \
		'readlink /usr/lib/driver/libfake.so /usr/lib/driver/libfake.so.1 >/out/links' \
		'cat /usr/lib/driver/libfake.so | head -c 4 | grep -q ELF && echo $GPU_SEEN $LD_LIBRARY_PATH >/out/env' \
		'if touch /usr/lib/driver/libfake.so.580.1 2>/dev/null; then exit 9; fi' 'cat /proc/sys/kernel/random/uuid >/out/id'
	sed -i 's|path: /out, to: /opt/out|path: /, to: /opt/all|' stack.yaml
	gpuimg lock stack.yaml
}

# What was made of it, and that nothing of the device is there.
device_image() {
	need umoci
	rm -rf bundle
	umoci unpack --rootless --image out:1 bundle >&2
	local all=bundle/rootfs/opt/all
	[ "$(od -An -tx1 "$all/out/bytes" | tr -d ' ')" = 000000 ]
	[ "$(cat "$all/out/links")" = $'libfake.so.1\nlibfake.so.580.1' ]
	[ "$(cat "$all/out/env")" = "yes /usr/lib/driver" ]
	[ -z "$(find bundle/rootfs '(' -name '*libfake*' -o -name driver -o -name 'fake-gpu*' ')' -print)" ]
}

@test "gpu: commands have the device of a CDI specification, and the image has nothing of it" {
	need_bwrap
	fake_device
	device_stage
	run -0 build --cdi-dir cdi
	device_image
	# in runc, too
	if runc --version >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
		need_runc
		rm -rf store out
		(
			without_bwrap ls grep
			"$GPUIMG" build --no-lint --to oci:out:1 --cdi-dir cdi stack.yaml
		)
		device_image
	fi
}

@test "gpu: the stage's key has the device, and what was kept counts where there is none" {
	need_bwrap
	fake_device
	device_stage
	run -0 build --cdi-dir cdi
	device_image
	first=$(cat bundle/rootfs/opt/all/out/id)
	rm -rf store/keys/images store/keys/attachments
	run -0 build --cdi-dir nowhere
	device_image
	[ "$(cat bundle/rootfs/opt/all/out/id)" = "$first" ]
	device_stage 1
	run -0 build --cdi-dir cdi
	device_image
	[ "$(cat bundle/rootfs/opt/all/out/id)" != "$first" ]
}

@test "gpu: a device that is not there, is damaged, or has no such name is said with its place" {
	fake_device
	device_stage 7
	run -2 --separate-stderr build --cdi-dir cdi
	[[ $stderr == *"stack.yaml:6:"*"stage build: gpu: no CDI device 'vendor.com/gpu=7': there is vendor.com/gpu=0"* ]] || { echo "$stderr"; false; }
	device_stage gone
	run -2 --separate-stderr build --cdi-dir cdi
	[[ $stderr == *"its specification names $WORK/gone, which this machine does not have"* ]]
	sed -i 's|gpu: .*|gpu: everything|' stack.yaml
	run -2 --separate-stderr build --cdi-dir cdi
	[[ $stderr == *"'everything' is no CDI device; write VENDOR/CLASS=NAME"* ]] || { echo "$stderr"; false; }
}
