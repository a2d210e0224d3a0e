#!/bin/sh
# Acceptance on a machine with a GPU, without a network, in under 5 minutes.
#
#   testkernels/gpu-acceptance.sh GPUIMG [OUT]
#
# GPUIMG is the program: bin/gpuimg of an unpacked `make dist` tarball, or build/gpuimg. An image is
# built from this machine's own files (its C library, CUDA libraries and, if there, Python's), then
#   1. both tiers run in every mode that works here, as they would for a user;
#   2. faults are planted one at a time, and each must be blamed on whoever it is the fault of;
#   3. figures are written: time of cuInit, of the tiers, of each test.
# Where there is no GPU, what needs one is named as not run and the rest is done: the load tier, the
# faults of the image, and the driver's codes with a stand-in. Results go to OUT (gpu-acceptance.out).
# Exit status 0: all that could run went as it should; 1: something did not; 2: usage.
set -u
[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: $0 GPUIMG [OUT]" >&2; exit 2; }
gpuimg=$(readlink -f "$1")
out=${2:-gpu-acceptance.out}
mkdir -p "$out" && out=$(readlink -f "$out") || exit 2
work=$(mktemp -d /var/tmp/gpuimg-acceptance.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
export GPUIMG_STORE="$work/store"
passed=0 failed=0 not_run=0
ok() { passed=$((passed + 1)); echo "ok       $1"; }
bad() { failed=$((failed + 1)); echo "NOT OK   $1"; }
left() { not_run=$((not_run + 1)); echo "not run  $1: $2"; }
have() { command -v "$1" >/dev/null 2>&1; }
begin=$(date +%s)

gpu=
[ -c /dev/nvidiactl ] && gpu=yes
echo "# $(uname -sr), $("$gpuimg" --version 2>/dev/null | head -n 1)"
if [ -n "$gpu" ]; then
	head -n 1 /proc/driver/nvidia/version 2>/dev/null
	have nvidia-smi && nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader
fi

# --- the image: what a program with these libraries needs, and nothing of the driver
toolkit=
for d in /usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib /usr/lib/x86_64-linux-gnu; do
	[ -z "$toolkit" ] && ls "$d"/libcudart.so.* >/dev/null 2>&1 && toolkit=$d
done
wheels=$(python3 -c 'import nvidia, os; print(list(nvidia.__path__)[0])' 2>/dev/null)
cuda=/usr/local/cuda/lib64
root=$work/root
mkdir -p "$root/lib64" "$root/lib/x86_64-linux-gnu" "$root$cuda" "$root/etc/ld.so.conf.d" "$root/tmp"
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
system=$(dirname "$(ldconfig -p | sed -n 's/.*libc\.so\.6 .*x86-64.* => //p' | head -n 1)")
for l in libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1 libgcc_s.so.1 libstdc++.so.6 libutil.so.1 libz.so.1; do
	[ -e "$system/$l" ] && cp -L "$system/$l" "$root/lib/x86_64-linux-gnu/"
done
put() { # FOLDER: CUDA's libraries of it, without the driver's
	for f in "$1"/lib*.so.*; do
		case ${f##*/} in
		libcuda.so* | libnvidia-ml.so* | *.a) ;;
		libcu* | libnv* | libnccl*) cp -d "$f" "$root$cuda/" 2>/dev/null ;;
		esac
	done
}
[ -n "$toolkit" ] && put "$toolkit"
if [ -n "$wheels" ]; then
	for d in "$wheels"/*/lib; do [ -d "$d" ] && put "$d"; done
fi
if ! ls "$root$cuda"/libcudart.so.* >/dev/null 2>&1; then
	echo "no CUDA libraries on this machine: neither a toolkit nor wheels named nvidia-*" >&2
	exit 2
fi
echo $cuda >"$root/etc/ld.so.conf.d/000-cuda.conf"
echo 'include /etc/ld.so.conf.d/*.conf' >"$root/etc/ld.so.conf"
ldconfig -r "$root"
cudart=$(cd "$root$cuda" && ls libcudart.so.1[0-9] | tail -n 1)
echo "# image: $(ls "$root$cuda" | wc -l) libraries, $(du -sh "$root" | cut -f1), $cudart"

field() { # REPORT ID FIELD, without jq
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
for t in d["tests"]:
    if t["id"] == sys.argv[2]: print(t.get(sys.argv[3]) if t.get(sys.argv[3]) is not None else t["evidence"].get(sys.argv[3], ""))' "$@" 2>/dev/null
}
have python3 || { echo "python3 is needed to read the reports" >&2; exit 2; }

# --- 1. both tiers in every mode
modes=
for mode in runc crun bwrap loader; do
	start=$(date +%s%N)
	status=0
	"$gpuimg" test --mode $mode -o json="$out/$mode.json" -o junit="$out/$mode.xml" "rootfs:$root" >"$out/$mode.txt" 2>&1 || status=$?
	ms=$((($(date +%s%N) - start) / 1000000))
	if [ ! -s "$out/$mode.json" ]; then
		left "mode $mode" "$(tail -n 1 "$out/$mode.txt")"
		continue
	fi
	modes="$modes $mode"
	case $status in
	0) ok "mode $mode: nothing failed, $ms ms" ;;
	*) bad "mode $mode: status $status, see $out/$mode.json" ;;
	esac
	if [ -n "$gpu" ]; then
		[ "$(field "$out/$mode.json" run.init status)" = pass ] && ok "mode $mode: $(field "$out/$mode.json" run.init device), cuInit in $(field "$out/$mode.json" run.init duration_ms) ms" ||
			bad "mode $mode: run.init"
		[ "$(field "$out/$mode.json" run.vadd-ptx status)" = pass ] && ok "mode $mode: vector add from PTX" || bad "mode $mode: run.vadd-ptx"
	else
		left "mode $mode: run tier" "no GPU on this machine"
	fi
done
mode=$(echo $modes | cut -d' ' -f1)
[ -n "$mode" ] || { echo "no mode works here" >&2; exit 1; }
for engine in docker podman; do
	have $engine || { left "engine $engine" "not installed"; continue; }
	[ $engine = docker ] && { left "engine docker" "needs the image in its store: docker load, then --engine docker docker-daemon:NAME"; continue; }
	status=0
	"$gpuimg" test --engine $engine -o json="$out/$engine.json" "rootfs:$root" >"$out/$engine.txt" 2>&1 || status=$?
	[ -s "$out/$engine.json" ] && ok "engine $engine: status $status" || left "engine $engine" "$(tail -n 1 "$out/$engine.txt")"
done

# --- 2. faults, each in a copy of hard links
fault() { # NAME: a fresh copy in $copy
	copy=$work/fault
	rm -rf "$copy"
	cp -al "$root" "$copy"
}
blamed() { # WHAT ID WANTED-BLAME [CODE-NAME] -- OPTIONS…
	what=$1 id=$2 want=$3 code=$4
	shift 4
	"$gpuimg" test --mode "$mode" "$@" -o json="$work/report.json" "rootfs:$copy" >"$work/out" 2>&1
	got=$(field "$work/report.json" "$id" blame) name=$(field "$work/report.json" "$id" code_name)
	cp "$work/report.json" "$out/fault-$(echo "$what" | tr -c 'a-z0-9\n' -).json" 2>/dev/null
	if [ "$got" = "$want" ] && { [ -z "$code" ] || [ "$name" = "$code" ]; }; then ok "$what: $id, $want${name:+ ($name)}"; else bad "$what: $id blames '$got' ($name), not $want"; fi
}
double=$(dirname "$gpuimg")/libcuda-double.so
stub=
for f in /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda/targets/*/lib/stubs/libcuda.so; do [ -e "$f" ] && stub=$f; done

fault
if [ -n "$stub" ]; then
	cp -L "$stub" "$copy$cuda/libcuda.so.1" && ldconfig -r "$copy"
	blamed 'stub first on the path' load.no-driver image CUDA_ERROR_STUB_LIBRARY
else
	left 'stub first on the path' 'no stub on this machine'
fi
fault
rm -f "$copy$cuda"/libnvrtc-builtins* && ldconfig -r "$copy"
ls "$copy$cuda"/libnvrtc.so.* >/dev/null 2>&1 && blamed 'nvrtc without its builtins' load.nvrtc-compile image NVRTC_ERROR_BUILTIN_OPERATION_FAILURE
if ls "$root$cuda"/libcublas.so.* >/dev/null 2>&1; then
	fault
	rm -f "$copy$cuda"/libcublasLt.so.* && ldconfig -r "$copy"
	blamed 'cublasLt missing' "load.$(cd "$copy$cuda" && ls libcublas.so.1[0-9] | tail -n 1)" image missing-library
fi
if ls "$root$cuda"/libcudnn.so.9 >/dev/null 2>&1; then
	fault
	rm -f "$copy$cuda"/libcudnn_ops* "$copy$cuda"/libcudnn_cnn* "$copy$cuda"/libcudnn_adv* && ldconfig -r "$copy"
	blamed 'parts of cuDNN missing' load.cudnn-set image ''
fi
fault
blamed 'driver for an older CUDA' "load.driver-what-if.$cudart" image CUDA_ERROR_INSUFFICIENT_DRIVER --driver 11.0

specification() { # LIBRARY ENV: for the stand-in or a file that is not there
	mkdir -p "$work/cdi"
	cat >"$work/cdi/nvidia.json" <<-END
		{"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[{"name":"all","containerEdits":{"env":["$2"],
		"deviceNodes":[{"path":"/dev/nvidiactl","hostPath":"/dev/null"}],
		"mounts":[{"hostPath":"$1","containerPath":"/usr/lib/x86_64-linux-gnu/libcuda.so.1","options":["ro","rbind"]}],
		"hooks":[{"hookName":"createContainer","path":"nvidia-cdi-hook","args":["nvidia-cdi-hook","update-ldcache","--folder","/usr/lib/x86_64-linux-gnu"]}]}}]}
	END
}
fault
specification "$work/libcuda.so.1.2.3" A=b
blamed 'driver library of a stale specification missing' run.inject injection stale-spec --cdi-dir "$work/cdi"
if [ -e "$double" ]; then
	for row in 35:host 100:injection 222:host 223:image 802:host 803:injection 804:image 999:injection; do
		specification "$double" "GPUIMG_DOUBLE_INIT=${row%:*}"
		blamed "code ${row%:*} (stand-in for the driver)" "run.runtime.$cudart" "${row#*:}" '' --cdi-dir "$work/cdi"
	done
else
	left 'codes with the stand-in' "no libcuda-double.so beside the program (build/libcuda-double.so)"
fi
if [ -n "$gpu" ]; then
	fault
	compat=$(ls -d /usr/local/cuda/compat 2>/dev/null)
	if [ -n "$compat" ]; then
		cp -d "$compat"/libcuda.so* "$compat"/libnvidia-* "$copy$cuda/" && ldconfig -r "$copy"
		blamed 'compat library on the path' run.init image ''
	else
		left 'compat library on the path' 'no /usr/local/cuda/compat on this machine'
	fi
else
	for f in 'compat library on the path' 'PTX-only code' 'JIT switched off by the image' 'a cubin for another GPU'; do left "$f" 'no GPU on this machine'; done
fi
[ -z "$gpu" ] || for f in 'PTX-only code' 'JIT switched off by the image' 'a cubin for another GPU'; do left "$f" 'not part of this script yet'; done

echo "# $(($(date +%s) - begin)) s"
echo "acceptance: $passed passed, $failed failed, $not_run not run"
[ "$failed" -eq 0 ]
