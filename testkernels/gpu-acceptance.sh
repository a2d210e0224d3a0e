#!/bin/sh
# Acceptance on a machine with a GPU, without a network, in under 5 minutes.
#
#   testkernels/gpu-acceptance.sh GPUIMG [OUT]
#   testkernels/gpu-acceptance.sh --rehearse DOUBLES GPUIMG [OUT]
#
# GPUIMG is the program: bin/gpuimg of an unpacked `make dist` tarball, or build/gpuimg. An image is
# built by it from this machine's own files (its C library, CUDA libraries and, if there, Python's), then
#   1. both tiers run in every mode that works here, as they would for a user;
#   2. faults are planted one at a time, and each must be blamed on whoever it is the fault of;
#   3. figures are written: time of cuInit, of the tiers, of each test.
# Where there is no GPU, what needs one is named as not run and the rest is done: the load tier, the
# faults of the image, and the driver's codes with a stand-in. Results go to OUT (gpu-acceptance.out).
#
# --rehearse runs the same with the stand-ins that `make doubles` makes (DOUBLES is their folder) in
# place of a GPU, its driver and CUDA's libraries: it shows that this script works, and no more.
# Exit status 0: all that could run went as it should; 1: something did not; 2: usage.
set -u
doubles=
[ "${1:-}" != --rehearse ] || { doubles=$(readlink -f "${2:-}"); shift 2; }
[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: $0 [--rehearse DOUBLES] GPUIMG [OUT]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
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
have python3 || { echo "python3 is needed to read the reports" >&2; exit 2; }
specification() { # LIBRARY ENV [FOLDER]: for the stand-in or a file that is not there
	dir=${3:-$work/cdi}
	mkdir -p "$dir"
	cat >"$dir/nvidia.json" <<-END
		{"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[{"name":"all","containerEdits":{"env":["$2"],
		"deviceNodes":[{"path":"/dev/null"}],
		"mounts":[{"hostPath":"$1","containerPath":"/usr/lib/x86_64-linux-gnu/libcuda.so.1","options":["ro","rbind"]}],
		"hooks":[{"hookName":"createContainer","path":"nvidia-cdi-hook","args":["nvidia-cdi-hook","update-ldcache","--folder","/usr/lib/x86_64-linux-gnu"]}]}}]}
	END
}
# What every test is given: nothing, or in a rehearsal the stand-in's specification.
device=
if [ -n "$doubles" ]; then
	gpu=rehearsal
	specification "$doubles/libcuda.so.1" A=b "$work/device"
	device="--cdi-dir $work/device"
	echo "# REHEARSAL: the GPU, its driver and CUDA's libraries are stand-ins"
fi
test_image() { # OPTION…: gpuimg test on the device that there is
	# shellcheck disable=SC2086
	"$gpuimg" test $device "$@"
}
echo "# $(uname -sr), $("$gpuimg" --version 2>/dev/null | head -n 1)"
if [ "$gpu" = yes ]; then
	head -n 1 /proc/driver/nvidia/version 2>/dev/null
	have nvidia-smi && nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader
fi

# --- the image: what a program with these libraries needs, and nothing of the driver
toolkit=
for d in /usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib /usr/lib/x86_64-linux-gnu; do
	[ -z "$toolkit" ] && ls "$d"/libcudart.so.* >/dev/null 2>&1 && toolkit=$d
done
[ -z "$doubles" ] || toolkit=$doubles
wheels=
[ -n "$doubles" ] || wheels=$(python3 -c 'import nvidia, os; print(list(nvidia.__path__)[0])' 2>/dev/null)
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
# The image itself, built by gpuimg: a folder in a layer, and what it is told with.
stack() { # NAME FOLDER [ENV]: prints the image
	cat >"$work/$1.yaml" <<-END
		gpuimg: 1
		name: acceptance/$1
		stages: { runtime: { files: [ { from: $2/, to: / } ] } }
		image: { env: { ${3:-A: b} } }
		layers: { compression: none }
	END
	{ "$gpuimg" lock "$work/$1.yaml" && "$gpuimg" build --offline --no-lint --to "oci:$work/images/$1:t" "$work/$1.yaml"; } >"$out/build-$1.txt" 2>&1 || return 1
	echo "oci:$work/images/$1:t"
}
start=$(date +%s)
image=$(stack image root) || { tail -n 3 "$out/build-image.txt"; echo "the image cannot be built" >&2; exit 1; }
ok "the image is built, $(($(date +%s) - start)) s"

# A program with GPU code of ours in it, as nvcc would leave it.
program() { # FILE ptx | FILE cubin MAJOR: PTX alone, or a cubin for another GPU than MAJOR.*
	python3 - "$here/kernels" "$@" <<-'END'
		import struct, sys
		kernels, path, kind = sys.argv[1:4]
		if kind == "ptx":
		    code = open(kernels + "/vectoradd.ptx", "rb").read() + b"\0"
		    code += b"\0" * (-len(code) % 8)
		    entries = struct.pack("<HHIIIIIHHIIIQQQ", 1, 0x101, 64, len(code), 0, 0, 0, 0, 6, 50, 0, 0, 0x11, 0, 0) + code
		else:
		    fatbin, at = open(kernels + "/kernels.fatbin", "rb").read(), 16
		    while True: # the first entry for another generation
		        head, payload = struct.unpack_from("<IQ", fatbin, at + 4)
		        if struct.unpack_from("<I", fatbin, at + 28)[0] // 10 != int(sys.argv[4]): break
		        at += head + payload
		    entries = fatbin[at:at + head + payload]
		container = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
		names = b"\0.nv_fatbin\0.shstrtab\0"
		body = container + names + b"\0" * 4096
		body += b"\0" * (-len(body) % 8)
		section = lambda name, type, offset, size: struct.pack("<IIQQQQIIQQ", name, type, 2, 0, offset, size, 0, 0, 8, 0)
		header = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64 + len(body), 0, 64, 56, 0, 64, 3, 2)
		table = section(0, 0, 0, 0) + section(1, 1, 64, len(container)) + section(12, 3, 64 + len(container), len(names))
		open(path, "wb").write(header + body + table)
	END
	chmod 755 "$1"
}

tier() { # REPORT WHAT: what became of the run tier, test by test
	python3 - "$@" >>"$out/tests.txt" <<-'END'
		import json, sys
		for t in json.load(open(sys.argv[1]))["tests"]:
		    if t["tier"] == "run": print(sys.argv[2], t["id"], t["status"], t["duration_ms"], "ms", t["reason"] or t["message"] or "")
	END
	passes=$(grep -c "^$2 run[^ ]* pass " "$out/tests.txt")
	fails=$(grep "^$2 run[^ ]* fail " "$out/tests.txt" | cut -d' ' -f3 | tr '\n' ' ')
	if [ -z "$fails" ] && [ "$passes" -gt 8 ]; then ok "$2: $passes tests of the run tier pass"; else bad "$2: $passes tests of the run tier pass; not $fails"; fi
}

# --- 1. both tiers in every mode
modes=
for mode in runc crun bwrap loader; do
	start=$(date +%s%N)
	status=0
	test_image --mode $mode -o json="$out/$mode.json" -o junit="$out/$mode.xml" "$image" >"$out/$mode.txt" 2>&1 || status=$?
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
		tier "$out/$mode.json" "mode $mode"
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
	test_image --engine $engine -o json="$out/$engine.json" "rootfs:$root" >"$out/$engine.txt" 2>&1 || status=$?
	[ -s "$out/$engine.json" ] && ok "engine $engine: status $status" || left "engine $engine" "$(tail -n 1 "$out/$engine.txt")"
done

# --- 2. faults, each in a copy of hard links
fault() { # NAME: a fresh copy in $copy
	copy=$work/fault
	rm -rf "$copy"
	cp -al "$root" "$copy"
	target=rootfs:$copy
}
blamed() { # WHAT ID WANTED-BLAME CODE-NAME OPTION…: of $target
	what=$1 id=$2 want=$3 code=$4
	shift 4
	test_image --mode "$mode" "$@" -o json="$work/report.json" "$target" >"$work/out" 2>&1
	got=$(field "$work/report.json" "$id" blame) name=$(field "$work/report.json" "$id" code_name)
	cp "$work/report.json" "$out/fault-$(echo "$what" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9\n' -).json" 2>/dev/null
	if [ "$got" = "$want" ] && { [ -z "$code" ] || [ "$name" = "$code" ]; }; then ok "$what: $id, $want${name:+ ($name)}"; else bad "$what: $id blames '$got' ($name), not $want"; fi
}
double=$(dirname "$gpuimg")/libcuda-double.so
[ -z "$doubles" ] || double=$doubles/libcuda.so.1
stub=
for f in /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda/targets/*/lib/stubs/libcuda.so; do [ -e "$f" ] && stub=$f; done

fault
if [ -n "$stub" ]; then
	cp -L "$stub" "$copy$cuda/libcuda.so.1" && ldconfig -r "$copy"
	blamed 'stub first on the path' load.no-driver image CUDA_ERROR_STUB_LIBRARY
else
	left 'stub first on the path' 'no stub on this machine'
fi
real_libraries() { # faults of their own: stand-ins need nothing of each other
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
	if ls "$root$cuda"/libnvJitLink.so.* >/dev/null 2>&1 && ls "$root$cuda"/libcusparse.so.* >/dev/null 2>&1; then
		fault
		rm -f "$copy$cuda"/libnvJitLink* && ldconfig -r "$copy"
		blamed 'nvJitLink missing' "load.$(cd "$copy$cuda" && ls libcusparse.so.1[0-9] | tail -n 1)" image missing-library
	else
		left 'nvJitLink missing' 'this image has not nvJitLink and cuSPARSE'
	fi
}
if [ -n "$doubles" ]; then left "faults among CUDA's libraries" "they are stand-ins"; else real_libraries; fi
fault
blamed 'driver for an older CUDA' "load.driver-what-if.$cudart" image CUDA_ERROR_INSUFFICIENT_DRIVER --driver 11.0

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
# --- faults that need a device: in a small image
small=$work/small
mkdir -p "$small$cuda"
cp -al "$root/lib" "$root/lib64" "$root/etc" "$small/"
cp -a "$root$cuda"/libcudart.so.* "$small$cuda/"
mkdir -p "$small/tmp" "$small/opt"
ldconfig -r "$small"
capability=$(field "$out/$mode.json" run.init compute_capability)
program "$small/opt/ptx-only" ptx
if [ -n "$gpu" ]; then
	target=$(stack ptx-only small)
	test_image --mode "$mode" -o json="$out/ptx-only.json" "$target" >"$work/out" 2>&1
	[ "$(field "$out/ptx-only.json" run.own-code@/opt/ptx-only status)" = pass ] && ok "PTX-only code: compiled by the driver, $(field "$out/ptx-only.json" run.own-code@/opt/ptx-only duration_ms) ms" || bad 'PTX-only code is refused'
	target=$(stack jit-off small 'CUDA_DISABLE_PTX_JIT: "1"')
	blamed 'PTX-only code, and JIT switched off by the image' run.own-code@/opt/ptx-only image ''
	blamed 'JIT switched off by the image' run.vadd-ptx image ''
	program "$small/opt/foreign" cubin "${capability%.*}"
	target=$(stack foreign small)
	blamed 'a cubin for another GPU' run.own-code@/opt/foreign image ''
	compat=$(ls -d /usr/local/cuda/compat 2>/dev/null)
	[ -z "$doubles" ] || compat=$doubles
	if [ -n "$compat" ]; then
		mkdir -p "$small/usr/local/cuda/compat"
		cp -L "$compat"/libcuda.so.1 "$small/usr/local/cuda/compat/"
		cp -L "$compat"/libnvidia-* "$small/usr/local/cuda/compat/" 2>/dev/null
		target=$(stack compat small 'LD_LIBRARY_PATH: /usr/local/cuda/compat')
		blamed 'compat library on the path' load.no-driver image ''
	else
		left 'compat library on the path' 'no /usr/local/cuda/compat on this machine'
	fi
else
	for f in 'PTX-only code' 'JIT switched off by the image' 'a cubin for another GPU' 'compat library on the path'; do left "$f" 'no GPU on this machine'; done
fi

echo "# $(($(date +%s) - begin)) s"
echo "acceptance: $passed passed, $failed failed, $not_run not run"
[ "$failed" -eq 0 ]
