#!/usr/bin/env bats
# Credentials: where they may be seen, which is nowhere; and files of them that are broken.

load common
load registry
load upload

setup_file() { upload_setup_file; }
teardown_file() { upload_teardown_file; }
setup() {
	upload_setup
	export GPUIMG_STORE=$WORK/store
}
teardown() {
	stop_servers
	stop_registry
}

# watched COMMAND...: the program, with cores allowed, held at its first request: its limits (cli/no_core.c)
# and its arguments. Then it goes on; what it prints and executes goes to "seen".
watched() {
	rm -f "$PROXY/go" "$PROXY/held"
	REGISTRY=$BEFORE
	start_proxy "- . 1 wait"
	[ "$1" = login ] || docker_config joe "${PASSWORD:-$CANARY}"
	local arguments=("${@//@/$REGISTRY/$NAME}") pid status=0
	(
		ulimit -c unlimited
		exec "$GPUIMG" "${arguments[@]}" -vv
	) >>seen/printed 2>&1 3>&- <password &
	pid=$!
	wait_held || { cat seen/printed; return 1; }
	tr '\0' ' ' <"/proc/$pid/cmdline" >>seen/arguments
	grep -qE '^Max core file size +1 +1 ' "/proc/$pid/limits" || { echo "$*: a core would be written"; return 1; }
	go_on
	wait $pid || status=$?
	echo "$* ended with $status" >>ran
	cp -r state "seen/state-$1" 2>/dev/null || true
}

stack() {
	mkdir -p src
	echo hello >src/hello
	cat >stack.yaml <<-END
		gpuimg: 1
		name: acme/app
		tag: "1.0"
		platforms: [linux/amd64]
		sources: []
		stages:
		  runtime: { profile: base, files: [ { from: src, to: /opt/src } ] }
	END
	gpuimg lock -q stack.yaml
}

@test "A3 no credential in what is printed, run, remembered or left, whatever the command" {
	local secret command
	CANARY=s3cret-canary-$RANDOM
	echo "$CANARY" >password
	echo "{}" >vex.json
	stack
	gpuimg keygen -q --plain mine
	for kind in docker-registry ecr tokens; do
		rm -rf seen state ran got .docker
		mkdir -p seen state
		: >ran
		SERVER=$kind NAME=r$BATS_TEST_NUMBER/$kind
		if [ $kind = docker-registry ]; then start_registry_token joe "$CANARY"; else start_persona $kind joe "$CANARY"; fi
		BEFORE=$REGISTRY PROXY=$WORK
		watched login -u joe --password-stdin @
		watched push --sign mine.key "oci:$LAYOUT:v1" docker://@:1
		watched pull @:1 oci:got:1
		watched copy docker://@:1 "docker://@-copy:1"
		watched sign --key mine.key --renew docker://@:1
		watched verify --key mine.pub docker://@:1
		watched attest --key mine.key --type openvex --predicate vex.json docker://@:1
		watched doctor @
		watched tag @:1 2
		watched ls @
		watched inspect docker://@:1
		watched ship --no-test --sign mine.key --to docker://@:ship stack.yaml
		PASSWORD=wrong-canary watched push "oci:$LAYOUT:v1" docker://@:3
		PASSWORD=wrong-canary watched pull @:1 oci:other:1
		cat ran
		[ "$(grep -c 'ended with 0' ran)" -ge 10 ]
		[ "$(grep -c 'ended with 3' ran)" -ge 2 ]
		for secret in canary "$(printf 'joe:%s' "$CANARY" | base64 -w0)" eyJ 'Bearer [a-z0-9]' 'token[0-9]' 'PRIVATE KEY'; do
			! grep -rE -- "$secret" seen state store || { echo "$kind: $secret"; return 1; }
		done
		stop_registry
	done
	[ -z "$(find . -name 'core*' -type f)" ]
}

@test "A3 what a killed push leaves has no credential" {
	RULES=()
	for kind in docker-registry harbor; do
		serve_by_token $kind
		REGISTRY=127.0.0.1:${REGISTRY##*:}
		start_proxy --hold 3000000
		docker_config joe s3cret-canary
		push_aside -vv
		wait_held
		kill -9 $PUSH_PID
		wait $PUSH_PID || true
		[ -n "$(journals)" ]
		! grep -rE 'canary|token[0-9]|Bearer|eyJ' aside state
	done
}

# aborted_by SIGNAL: a push that is held in the middle of its bytes ends by that signal, with cores allowed.
aborted_by() {
	start_proxy --hold 3000000
	docker_config joe s3cret-canary
	(
		ulimit -c unlimited
		exec "$GPUIMG" push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
	) >aside 2>&1 3>&- &
	PUSH_PID=$!
	wait_held
	kill -"$1" $PUSH_PID
	ended $((128 + $(kill -l "$1")))
}

@test "A3 a push that aborts with the credentials in its memory leaves no core" {
	local cores signal signals="ABRT SEGV"
	case $(cat /proc/sys/kernel/core_pattern) in
	*/* | "|"*) skip "cores go elsewhere here: $(cat /proc/sys/kernel/core_pattern)" ;;
	esac
	# cores do come here
	mkdir sleeps
	(cd sleeps && ulimit -c unlimited && exec sleep 100) 3>&- &
	until grep -q sleep "/proc/$!/comm"; do sleep 0.01; done
	kill -ABRT $!
	wait $! || true
	[ -n "$(ls sleeps)" ] || skip "no cores are written here"
	# who starts tests in the background may have SIGQUIT ignored, and no program of theirs ends by it
	(((0x$(awk '/^SigIgn/ { print $2 }' /proc/self/status) >> 2) & 1)) || signals+=" QUIT"
	for kind in docker-registry harbor; do
		for signal in $signals; do
			serve_by_token $kind
			aborted_by $signal
		done
	done
	cores=$(find . -path ./sleeps -prune -o -name 'core*' -type f -print)
	[ -z "$cores" ]
}

@test "A3 no argument of a program that is started has a credential" {
	need strace
	start_registry_auth joe s3cret-canary
	mkdir -p .docker bin
	echo '{"credsStore":"test"}' >.docker/config.json
	printf '#!/bin/sh\nprintf "{\\"Username\\":\\"joe\\",\\"Secret\\":\\"s3cret-canary\\"}"\n' >bin/docker-credential-test
	chmod +x bin/docker-credential-test
	PATH=$WORK/bin:$PATH run -0 strace -f -qq -s 4096 -e trace=execve -o exec.log "$GPUIMG" push -vv "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
	grep -q docker-credential-test exec.log
	! grep canary exec.log
	[[ "$output" != *canary* ]]
}

@test "A1 a helper that knows nothing, crashes, fails, says nothing that can be understood, or too much" {
	local script
	mkdir -p .docker bin
	echo '{"credsStore":"test"}' >.docker/config.json
	for kind in docker-registry ecr; do
		serve_by $kind joe s3cret-canary
		[ $kind = ecr ] || start_registry_auth joe s3cret-canary
		while IFS='|' read -r script words; do
			printf '#!/bin/sh\n%s\n' "$script" >bin/docker-credential-test
			chmod +x bin/docker-credential-test
			PATH=$WORK/bin:$PATH refused
			echo "${script//canary/}: $output"
			[[ "$output" == *"$words"* ]]
			[[ "$output" != *canary* ]]
		done <<-'END'
			echo credentials not found in native keychain; exit 1|no credentials were found
			kill -SEGV $$|docker-credential-test: ended with a bad status
			echo canary; exit 7|docker-credential-test: ended with a bad status
			echo canary|docker-credential-test: its answer
			echo '{"Username":7,"Secret":"canary"}'|docker-credential-test: its answer
			head -c 2000000 /dev/zero|docker-credential-test: its output is too long
		END
		printf '#!/bin/sh\necho "{\\"Username\\":\\"joe\\",\\"Secret\\":\\"s3cret-canary\\"}"\n' >bin/docker-credential-test
		PATH=$WORK/bin:$PATH push
		stop_registry
	done
}

@test "A2 a file of credentials that is broken, closed or odd is named where it is wanted" {
	local bad
	start_registry_auth joe s3cret-canary
	mkdir -p .docker
	for bad in '{"auths":' '[]' '{"auths":{"HOST":{"auth":"!canary!"}}}' '{"auths":{"HOST":{"auth":"Y2FuYXJ5"}}}' '{"auths":{"HOST":{"auth":7}}}'; do
		echo "${bad//HOST/$REGISTRY}" >.docker/config.json
		run -3 gpuimg push -v "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
		echo "$output"
		[[ "$output" == *"$WORK/.docker/config.json"* ]]
		[[ "$output" != *canary* && "$output" != *Y2FuYXJ5* ]]
	done
	# of another host: not our business
	jq -n --arg host "$REGISTRY" --arg auth "$(printf joe:s3cret-canary | base64)" \
		'{"auths": {"other.example.org": {"auth": "!"}, ($host): {"auth": $auth}}, "HttpHeaders": 7}' >.docker/config.json
	push
	if [ "$(id -u)" -ne 0 ]; then
		chmod 0 .docker/config.json
		run -3 gpuimg push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
		[[ "$output" == *"$WORK/.docker/config.json"* ]]
	fi
}
