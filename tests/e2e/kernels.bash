# Roots for gpuimg test: a C library and its loader, no shell, no passwd, no /tmp, /dev, /proc.

TOOLKIT=/usr/local/cuda/lib64

make_root() { # [LIBRARY…]: of this machine's, beside libc's
	local libc l
	libc=$(dirname "$(cc -print-file-name=libc.so.6)")
	mkdir -p root/lib root/lib64
	cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
	for l in libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1 "$@"; do
		cp -L "$libc/$l" root/lib/ 2>/dev/null || cp -L "$(cc -print-file-name="$l")" root/lib/
	done
}

# Files of the toolkit into root/lib, as links where they lie on the same file system.
add_toolkit() { # NAME…
	local name
	for name; do
		cp -lL "$TOOLKIT/$name" root/lib/ 2>/dev/null || cp -L --reflink=auto "$TOOLKIT/$name" root/lib/
	done
}

# In place of the real libcudart.so.13: what that does with the driver's first answer.
make_cudart() {
	cat >cudart.c <<-'END'
		#include <dlfcn.h>
		int cudaRuntimeGetVersion(int *v) { *v = 13000; return 0; }
		int cudaDriverGetVersion(int *v) { void *h = dlopen("libcuda.so.1", 1); *v = 0; return h ? ((int (*)(int *))dlsym(h, "cuDriverGetVersion"))(v) : 0; }
		int cudaGetDeviceCount(int *n) {
			void *h = dlopen("libcuda.so.1", 1);
			int rc, v = 0;
			*n = 0;
			if (!h || cudaDriverGetVersion(&v) || v < 13000) return 35;
			rc = ((int (*)(unsigned))dlsym(h, "cuInit"))(0);
			return rc ? rc : 500;
		}
	END
	cc -shared -fPIC -Wl,-soname,libcudart.so.13 -o root/lib/libcudart.so.13 cudart.c
}

need_toolkit() {
	[ -e $TOOLKIT/libcudart.so.13 ] || skip "there is no CUDA 13 toolkit in /usr/local/cuda, nor a GPU"
}

status_of() { # ID
	jq -r --arg id "$1" '.tests[] | select(.id == $id) | .status' report.json
}
blame_of() { # ID
	jq -r --arg id "$1" '.tests[] | select(.id == $id) | "\(.code) \(.code_name) \(.blame)"' report.json
}
said_of() { # ID
	jq -r --arg id "$1" '.tests[] | select(.id == $id) | .message' report.json
}
