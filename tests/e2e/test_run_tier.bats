# The run tier against stand-ins: a driver whose device is this processor, and CUDA's libraries on it
# (testkernels/double/). Each test is shown a device that does as it should, one that gives wrong
# numbers, and one on which each call in turn is refused.

load common

setup() {
	work
	need cc jq bwrap
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64"
	export GPUIMG_STORE=$WORK/store
	DOUBLES=$(dirname "$GPUIMG")/doubles
	PROBE=$(dirname "$GPUIMG")/gpuimg-probe
	[ -e "$DOUBLES/libcuda.so.1" ] || skip "no stand-ins: make doubles"
}

# An image of stand-ins, and a specification that injects their driver.
image() { # [ENV…]
	local l libc env='"A=b"' e
	mkdir -p root/lib root/lib64 cdi
	cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
	libc=$(dirname "$(cc -print-file-name=libc.so.6)")
	for l in libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1; do cp -L "$libc/$l" root/lib/; done
	for l in "$DOUBLES"/*; do
		case ${l##*/} in libcuda.so.* | libnvidia-ml.so.*) ;; *) cp "$l" root/lib/ ;; esac
	done
	for e; do env="$env, \"$e\""; done
	cat >cdi/nvidia.yaml <<-END
		cdiVersion: "0.5.0"
		kind: nvidia.com/gpu
		devices: [ { name: "0", containerEdits: { deviceNodes: [ { path: /dev/null } ] } } ]
		containerEdits:
		  env: [ $env ]
		  mounts:
		  - { hostPath: "$DOUBLES/libcuda.so.1", containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.1, options: [ ro, rbind ] }
		  - { hostPath: "$DOUBLES/libnvidia-ml.so.1", containerPath: /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1, options: [ ro, rbind ] }
		  hooks:
		  - { hookName: createContainer, path: nvidia-cdi-hook, args: [ nvidia-cdi-hook, update-ldcache, --folder, /usr/lib/x86_64-linux-gnu ] }
	END
}
field() { # ID FIELD
	jq -r --arg id "$1" ".tests[] | select(.id == \$id) | .$2" report.json
}

# The probe alone, with the stand-ins as its libraries: "CHECK STATUS KIND CALL CODE" of each.
probe() { # PLAN
	LD_LIBRARY_PATH=$DOUBLES "$PROBE" run "$1" 3>lines || return 1
	jq -r 'select(.event == "result") | "\(.test) \(.status) \(.kind // "-") \(.call // "-" | gsub(" "; "_")) \(.code // "-")"' lines
}
plan() { # CHECK [LIBRARY]…, one a line on standard input
	while read -r check library; do
		printf '%s\t20000\t%s%s\n' "$check" "$check" "${library:+	$library}"
	done
}

driver_checks='init
nvml
vadd-cubin
vadd-ptx
reduce
pinned-overlap
graph
managed
p2p
bandwidth'
library_checks='cudart libcudart.so.13
cublas-sgemm libcublas.so.13
cublaslt-tf32 libcublasLt.so.13
cublaslt-bf16 libcublasLt.so.13
cublaslt-fp8 libcublasLt.so.13
cudnn-conv libcudnn.so.9
cufft libcufft.so.12
curand libcurand.so.10
cusolver libcusolver.so.12
cusparse libcusparse.so.12
nvrtc-run libnvrtc.so.13
nccl-allreduce libnccl.so.2'

@test "run tier: a device and libraries that work pass every test, in every mode" {
	need runc
	image GPUIMG_DOUBLE_DEVICES=2
	for m in runc bwrap loader; do
		[ $m != loader ] || export GPUIMG_DOUBLE_DEVICES=2
		run -0 gpuimg test --mode $m --cdi-dir cdi --require run -o json=report.json rootfs:root
		[ "$(jq -r '[.tests[] | select(.status == "fail")] | length' report.json)" = 0 ]
		[ "$(jq -r '[.tests[] | select(.tier == "run" and .status == "skip") | .id] | join(" ")' report.json)" = run.own-code ] # it has none
		[ "$(jq -r '[.tests[] | select(.tier == "run" and .status == "pass")] | length' report.json)" -ge 24 ]
		[ "$(field run.vadd-cubin evidence.code_loaded)" = sm_90 ]
		[ "$(field run.init evidence.uuid)" = 10101010-1010-1010-1010-101010101010 ]
		[ "$(field run.nccl-allreduce evidence.devices)" = 2 ]
		[ "$(field run.p2p evidence.direct)" = "0>1 1>0" ]
	done
}

@test "run tier: wrong numbers of the driver and of each library are seen" {
	{ echo "$driver_checks"; echo "$library_checks"; } | plan >all
	export GPUIMG_DOUBLE_DEVICES=2
	probe all >right
	! grep -v ' pass ' right || { cat lines; return 1; }
	while read -r wrong checks; do
		{ echo "$driver_checks"; echo "$library_checks"; } | grep -E "^(${checks// /|})( |\$)" | plan >some
		GPUIMG_DOUBLE_WRONG=$wrong probe some >found
		for check in $checks; do
			grep -q "^$check fail wrong-numbers " found || { echo "$wrong: $(grep "^$check " found)"; return 1; }
		done
	done <<-END
		cuLaunchKernel vadd-cubin vadd-ptx reduce pinned-overlap graph managed cudart nvrtc-run
		cuMemcpyHtoD_v2 vadd-cubin vadd-ptx cublas-sgemm cusparse
		cuMemcpyDtoH_v2 vadd-cubin reduce graph cublas-sgemm
		cuMemcpyDtoHAsync_v2 pinned-overlap
		cuMemcpyHtoDAsync_v2 pinned-overlap
		cuEventElapsedTime pinned-overlap
		cuMemcpyDtoDAsync_v2 bandwidth
		cuMemcpyPeer p2p
		cuGraphLaunch graph
		cudaMemset cudart
		cudaMemcpy cudart
		cublasSgemm_v2 cublas-sgemm
		cublasLtMatmul cublaslt-tf32 cublaslt-bf16 cublaslt-fp8
		cudnnConvolutionForward cudnn-conv
		cufftExecC2C cufft
		curandGenerateUniform curand
		cusolverDnSgetrf cusolver
		cusolverDnSgetrs cusolver
		cusparseSpMV cusparse
		ncclGroupEnd nccl-allreduce
	END
	# a compiler whose code lacks the kernel, and one without a heuristic, are refusals
	plan <<<'nvrtc-run libnvrtc.so.13' >some
	GPUIMG_DOUBLE_WRONG=nvrtcGetPTX probe some | grep -q '^nvrtc-run fail call cuModuleGetFunction 500'
	plan <<<'cublaslt-fp8 libcublasLt.so.13' >some
	GPUIMG_DOUBLE_WRONG=cublasLtMatmulAlgoGetHeuristic probe some | grep -q '^cublaslt-fp8 fail call cublasLtMatmulAlgoGetHeuristic 15'
}

@test "run tier: each call that is refused ends its test, which names the call and its code" {
	grep -v bandwidth <<<"$driver_checks" | plan >plan.driver
	plan <<<bandwidth >plan.bandwidth
	export GPUIMG_DOUBLE_DEVICES=2
	# every function of the tables, but those that cannot refuse or that stand behind a refusal
	printf '#include "testkernels/probe/gpu_api.h"\n#define F(r, f, name, p) CALLED name\n%s\n' \
		"$(sed -n 's/^#define GPU_API_\([A-Z_]*\)(F).*/TABLE \1 GPU_API_\1(F)/p' "$ROOT/testkernels/probe/gpu_api.h")" |
		cc -E -P -I"$ROOT" -x c - | grep -o -e 'TABLE [A-Z_]*' -e 'CALLED [A-Za-z0-9_]*' |
		awk '$1 == "TABLE" { table = $2 } $1 == "CALLED" { print table, $2 }' |
		grep -v -e cuDriverGetVersion -e Error -e GetProgramLog -e nvrtcGetCUBIN -e cuModuleUnload >functions
	[ "$(wc -l <functions)" -gt 80 ]
	while read -r table function; do
		case $table:$function in
		*:cuMemcpyDtoDAsync_v2) plan=plan.bandwidth ;;
		DRIVER:* | GRAPH:* | NVML:*) plan=plan.driver ;;
		*)
			grep -i "lib${table%_LATER}\.so" <<<"$library_checks" | plan >plan.library
			[ -s plan.library ]
			plan=plan.library
			;;
		esac
		GPUIMG_DOUBLE_FAIL=$function=777 probe $plan >found
		awk '$2 == "fail" && $3 == "call" && $5 == 777' found | grep -q . ||
			{ echo "nobody minds that $function is refused"; cat found; return 1; }
	done <functions
}

@test "run tier: what a device has not is skipped with its reason" {
	{ echo "$driver_checks"; echo "$library_checks"; } | plan >all
	GPUIMG_DOUBLE_CAPABILITY=70 probe all >found
	[ "$(awk '$2 == "skip" { printf "%s ", $1 }' found)" = "vadd-cubin p2p cublaslt-tf32 cublaslt-bf16 cublaslt-fp8 " ]
	grep -q '^reduce pass' found # from PTX
	GPUIMG_DOUBLE_WRONG=cuDeviceGetAttribute probe all | grep -q '^managed skip'
	image
	rm root/lib/libcufft.so.12
	sed -i '/libnvidia-ml/d' cdi/nvidia.yaml
	run -0 gpuimg test --mode bwrap --cdi-dir cdi -o json=report.json rootfs:root
	[ "$(field run.cufft reason)" = library-not-in-image ]
	[ "$(field run.p2p reason)" = single-gpu ]
	[ "$(field run.nvml reason)" = not-requested ]
	[[ $(field run.nvml message) == *utility* ]]
}

@test "run tier: who is to blame for a library's refusal" {
	image
	while read -r fail id code_name blame; do
		image "GPUIMG_DOUBLE_FAIL=$fail"
		run gpuimg test --mode bwrap --cdi-dir cdi -o json=report.json rootfs:root
		[ "$(field "$id" code_name) $(field "$id" blame)" = "$code_name $blame" ] ||
			{ echo "$fail: $(field "$id" 'code_name, .blame, .message')"; return 1; }
	done <<-END
		cublasSgemm_v2=13 run.cublas-sgemm CUBLAS_STATUS_EXECUTION_FAILED image
		cublasLtMatmulAlgoGetHeuristic=15 run.cublaslt-bf16 CUBLAS_STATUS_NOT_SUPPORTED image
		cublasCreate_v2=3 run.cublas-sgemm CUBLAS_STATUS_ALLOC_FAILED host
		cudnnConvolutionForward=5000 run.cudnn-conv CUDNN_STATUS_EXECUTION_FAILED image
		cufftPlan1d=5 run.cufft CUFFT_INTERNAL_ERROR image
		curandCreateGenerator=203 run.curand CURAND_STATUS_INITIALIZATION_FAILED image
		cusolverDnSgetrf=7 run.cusolver CUSOLVER_STATUS_INTERNAL_ERROR image
		cusparseSpMV=4 run.cusparse CUSPARSE_STATUS_ARCH_MISMATCH image
		ncclCommInitAll=2 run.nccl-allreduce ncclSystemError host
		nvmlInit_v2=18 run.nvml NVML_ERROR_LIB_RM_VERSION_MISMATCH injection
		nvmlInit_v2=9 run.nvml NVML_ERROR_DRIVER_NOT_LOADED host
		cuMemAllocManaged=999 run.managed CUDA_ERROR_UNKNOWN injection
		cudaMalloc=2 run.cudart CUDA_ERROR_OUT_OF_MEMORY host
	END
}

@test "run tier: the probe's own exit status, for schedulers, names the image only for what is its fault" {
	{ echo vadd-cubin; echo nvml; echo "cublas-sgemm libcublas.so.13"; echo "nccl-allreduce libnccl.so.2"; } | plan | sed 's/^/run./' >some
	while read -r variable value want; do
		status=0
		env LD_LIBRARY_PATH="$DOUBLES" "$variable=$value" "$PROBE" run some '' 'frame ' >lines || status=$?
		[ "$status" -eq "$want" ] || { echo "$variable=$value: $status, not $want"; cat lines; return 1; }
	done <<-END
		GPUIMG_DOUBLE_DEVICES 2 0
		GPUIMG_DOUBLE_WRONG cuLaunchKernel 3
		GPUIMG_DOUBLE_INIT 802 3
		GPUIMG_DOUBLE_FAIL cuModuleLoadDataEx=209 1
		GPUIMG_DOUBLE_FAIL cuMemAlloc_v2=2 3
		GPUIMG_DOUBLE_FAIL nvmlInit_v2=18 3
		GPUIMG_DOUBLE_FAIL cublasSgemm_v2=13 1
		GPUIMG_DOUBLE_FAIL ncclCommInitAll=2 3
		GPUIMG_DOUBLE_FAIL ncclCommInitAll=1 1
	END
}
