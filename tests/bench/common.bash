# What the scripts beside this one share. They run at the top of the source tree.
gpuimg=$PWD/build/gpuimg
results=$PWD/build/bench
mkdir -p "$results"

have() { command -v "$1" >/dev/null; }
# one line of the result; also into build/bench/$script.txt, from which docs/performance.md's table is made
value() { printf '%-38s %10s %s\n' "$1" "$2" "$3" | tee -a "$results/$script.txt"; }
# ratio NAME OURS THEIRS [BUDGET]
ratio() {
	awk -v a="$2" -v b="$3" -v n="$1" -v m="${4:-}" 'BEGIN {
		printf "%-38s %10.3f ratio%s\n", n, a / b, m == "" ? "" : " (budget " m (a / b <= m ? ")" : ": OVER)") }' |
		tee -a "$results/$script.txt"
}

# timed CMD… : wall seconds into $took, user and system seconds into $cpu, peak memory of the largest
# process in MiB into $peak; $BENCH_STATUS is a status that is expected besides 0
timed() {
	python3 - "$@" >"$dir/timed" <<'PY'
import os, resource, subprocess, sys, time
t = time.monotonic()
r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=open(os.environ.get("BENCH_LOG", "/dev/null"), "ab"))
d = time.monotonic() - t
if r.returncode and str(r.returncode) != os.environ.get("BENCH_STATUS"):
    sys.exit("bench: status %d from %s" % (r.returncode, " ".join(sys.argv[1:])))
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.3f %.2f %.1f" % (d, u.ru_utime + u.ru_stime, u.ru_maxrss / 1024))
PY
	read -r took cpu peak <"$dir/timed"
}

# round NAME CMD…: timed; over all rounds of that name the least seconds are kept in ${wall[NAME]} and
# ${busy[NAME]} (user and system), and the most memory in ${memory[NAME]}. What is compared is run in turn,
# twice or more: the first that touches much memory on a virtual machine pays for all the others.
declare -A wall busy memory
round() {
	local name=$1
	shift
	timed "$@"
	wall[$name]=$(least "$took" "${wall[$name]:-}")
	busy[$name]=$(least "$cpu" "${busy[$name]:-}")
	memory[$name]=$(awk -v a="$peak" -v b="${memory[$name]:-0}" 'BEGIN { print (a > b + 0 ? a : b) }')
}
least() { awk -v a="$1" -v b="${2:-$1}" 'BEGIN { print (a < b + 0 ? a : b) }'; }

# make_tree DIR LIMIT_MIB: real files of $BENCH_TREE, the largest first so that every run takes the same
make_tree() {
	local tree=${BENCH_TREE:-} total=0 size file rel
	if [ -z "$tree" ]; then
		tree=/usr/local/cuda/targets/x86_64-linux/lib
		[ -d "$tree" ] || tree=/usr/lib
	fi
	tree=$(realpath "$tree")
	while read -r size file; do
		[ $((total + size)) -le $(($2 * 1024 * 1024)) ] || continue
		total=$((total + size))
		rel=${file#"$tree"/}
		mkdir -p "$1/$(dirname "$rel")"
		cp -l "$file" "$1/$rel" 2>/dev/null || cp "$file" "$1/$rel"
	done < <(find "$tree" -type f -size +4k -printf '%s %p\n' | grep -v '\.a$' | sort -k1,1nr -k2,2)
	value tree_size $((total / 1048576)) MiB
	# In the page cache for all, and anew: what is left there of other work may lie in small pages, which
	# costs a reader twice the time in the system.
	find "$1" -type f -exec sh -c 'for f; do dd if="$f" iflag=nocache count=0 status=none; done' sh {} +
	find "$1" -type f -exec cat {} + >/dev/null
}

# tree_stack [layers] on standard output
tree_stack() {
	cat <<'YAML'
gpuimg: 1
name: bench/tree
tag: t
stages:
  runtime:
    profile: base
    files: [ { from: tree/, to: /opt/cuda } ]
YAML
	[ -z "${1:-}" ] || echo "layers: $1"
}
