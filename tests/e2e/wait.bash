# Waiting for what a test, or the bench, started.

# wait_for COMMAND...: until it succeeds. A minute is no measure of anything: a machine may be busy, and
# nothing that is waited for takes so long.
wait_for() {
	local end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "waited a minute for: $*" >&2; return 1; }
		sleep 0.05
	done
}

# said_or_ended PID COMMAND...: the command succeeds, or the process is no more, and never will.
said_or_ended() { "${@:2}" || ! kill -0 "$1" 2>/dev/null; }
