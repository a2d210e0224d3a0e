# gpuimg: one Makefile, no recursion. `make help` lists the targets.
# Flavours live side by side: make O=build/asan SAN=address,undefined check-unit

O       ?= build
V       ?=
Q        = $(if $V,,@)
CC      ?= gcc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
SECONDS ?= 60
POINTS  ?= 100000
PKGS     = libarchive libcrypto jansson libcurl yaml-0.1 libdeflate libzstd libisal liblzma libsolv libsolvext sqlite3

modules  = base formats net oci manifests builder builder/sources builder/finish lint lint/rules registry testkernels
std      = -std=c17 -D_GNU_SOURCE -I. -I$O -MMD -MP -fPIE
warn     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
           -Wwrite-strings -Wformat=2 -Wvla -Wundef -Wconversion -Wno-sign-conversion
# clang's headers make macros of the functions that base.h refuses.
fortify  = $(if $(SAN)$(findstring clang,$(CC)),,$(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-D_FORTIFY_SOURCE=2))
harden   = -fstack-protector-strong -fstack-clash-protection $(if $(findstring x86_64,$(machine)),-fcf-protection) $(fortify)
machine := $(shell $(CC) -dumpmachine)
san      = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
deps_c  := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
deps_l  := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lpthread
compile  = $(CC) $(std) $(warn) $(harden) $(deps_c) $(san) $(CPPFLAGS) $(CFLAGS)
link     = $(CC) -pie -Wl,-z,relro,-z,now $(san) $(CFLAGS) $(LDFLAGS)

rule_src := $(sort $(wildcard lint/rules/*.c))
rule_ids := $(foreach f,$(notdir $(rule_src)),$(firstword $(subst _, ,$(f))))
tables   := $(sort $(wildcard manifests/tables/*))
probe_src := $(sort $(wildcard testkernels/probe/*.c))
lib_src  := $(sort $(wildcard $(modules:%=%/*.c)))
lib_obj  := $(lib_src:%.c=$O/%.o) $(if $(rule_src),$O/lint/rules.gen.o $O/lint/cases.gen.o $O/lint/fact_version.gen.o $O/lint/lint_version.gen.o) $(if $(tables),$O/manifests/embedded.gen.o) $(if $(probe_src),$O/testkernels/probe.gen.o)
cli_obj  := $(patsubst %.c,$O/%.o,$(sort $(wildcard cli/*.c)))
unit_src := $(sort $(wildcard tests/unit/test_*.c))
unit_bin := $(unit_src:%.c=$O/%)
support  := $(patsubst %.c,$O/%.o,$(sort $(wildcard tests/support/*.c)))
fuzz_src := $(sort $(wildcard tests/fuzz/fuzz_*.c))
fuzz_bin := $(fuzz_src:%.c=$O/%)
headers  := $(sort $(wildcard $(modules:%=%/*.h) cli/*.h tests/support/*.h))

formatted := $(sort $(filter-out manifests/library/%,$(shell git ls-files '*.c' '*.h' 2>/dev/null)))

.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

all: $(if $(cli_obj),$O/gpuimg) $(if $(wildcard testkernels/probe/probe.c),$O/gpuimg-probe) ## build gpuimg (the default)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 18

$O/libgpuimg.a: $(lib_obj) $O/sources
	@rm -f $@
	$Q$(AR) rcsD $@ $(lib_obj)

# Whole at any moment: tests may run it meanwhile.
$O/gpuimg: $(cli_obj) $O/libgpuimg.a
	@$(if $V,,echo '  LINK $@')
	$Q$(link) -o $@.new $(cli_obj) $O/libgpuimg.a $(deps_l) && mv $@.new $@

# Rewritten only when the text changes, so a new flag or a deleted file rebuilds what it must.
$O/flags:   text = $(compile) $(LDFLAGS)
$O/sources: text = $(lib_obj)
$O/flags $O/sources: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(text)' | cmp -s - $@ || printf '%s\n' '$(text)' >$@

$O/%.o: %.c $O/flags
	@mkdir -p $(@D)
	@$(if $V,,echo '  CC   $@')
	$Q$(compile) -c -o $@ $<

$O/%.gen.o: $O/%.gen.c $O/flags
	@$(if $V,,echo '  CC   $@')
	$Q$(compile) -c -o $@ $<

$O/lint/rules.gen.c: $O/sources # the rule table, from the file names
	@mkdir -p $(@D)
	@{ echo '#include "lint/rule.h"'; \
	   for id in $(rule_ids); do echo "extern const struct rule rule_$$id;"; done; \
	   echo 'const struct rule *const rules[] = {'; for id in $(rule_ids); do echo "	&rule_$$id,"; done; \
	   echo '};'; echo 'const size_t rules_count = ARRAY_LEN(rules);'; } >$@

$O/lint/cases.gen.c: $(rule_src:%.c=%.cases) manifests/embed $O/sources # the rules' cases, for their pages and tests
	@mkdir -p $(@D)
	@manifests/embed $(rule_src:%.c=%.cases) | sed 's/embedded_files/rule_case_files/; s/embedded_count/rule_case_file_count/; s/struct embedded/struct rule_case_file/; s/table_/cases_/g; s|manifests/embedded.h|lint/rule_cases.h|' >$@

# Facts that are kept are read again only by programs that would find the same: the version is a
# digest of the sources that make them.
fact_src := $(sort $(wildcard lint/fact*.c lint/fact*.h formats/*.c formats/*.h) oci/tree.h)
$O/lint/fact_version.gen.c: $(fact_src)
	@mkdir -p $(@D)
	@{ echo '#include "lint/fact_record.h"'; \
	   echo "const char fact_version[] = \"$$(cat $(fact_src) | sha256sum | cut -c1-32)\";"; } >$@

# The same of verdicts that are kept.
lint_src := $(sort $(wildcard $(patsubst %,%/*.c,base formats oci manifests lint lint/rules)) $(filter base/% formats/% oci/% manifests/% lint/%,$(headers)) $(tables))
$O/lint/lint_version.gen.c: $(lint_src) $O/sources
	@mkdir -p $(@D)
	@{ echo '#include "lint/lint.h"'; \
	   echo "const char lint_version[] = \"$$(cat $(lint_src) | sha256sum | cut -c1-32)\";"; } >$@

$O/manifests/embedded.gen.c: $(tables) manifests/embed $O/sources # the tables become part of the program
	@mkdir -p $(@D)
	@manifests/embed $(tables) >$@

# The probe runs inside images of any age: it is linked against stub libraries that offer only the
# oldest versions of the symbols in imports.list, and takes nothing else of the host's C library.
# The library carries its bytes, so that the installed program is one file.
probe_out   := $O/testkernels/probe
probe_obj    = $(probe_src:%.c=$O/%.o) $(probe_out)/kernels.gen.o
probe_stubs  = $(probe_out)/libc.so.6 $(probe_out)/libdl.so.2
probe_flags  = $(std) -iquote testkernels/probe $(warn) -O2 -fno-stack-protector -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 -fno-asynchronous-unwind-tables
probe_kernels := $(sort $(filter-out %/kernels.cu,$(wildcard testkernels/kernels/*.ptx testkernels/kernels/*.cu)))

$(probe_out)/%.o: testkernels/probe/%.c $O/flags
	@mkdir -p $(@D)
	@$(if $V,,echo '  CC   $@')
	$Q$(CC) $(probe_flags) -c -o $@ $<

$(probe_out)/kernels.gen.o: $(probe_out)/kernels.gen.c $O/flags
	$Q$(CC) $(probe_flags) -c -o $@ $<

$(probe_out)/kernels.gen.c: $(probe_kernels) testkernels/kernels/kernels.fatbin
	@mkdir -p $(@D)
	@{ echo '#include "probe.h"'; for f in $(probe_kernels); do \
	   echo "const char kernel_$$(basename $$f | tr . _)[] ="; \
	   sed -e 's/[\\"]/\\&/g' -e 's/.*/	"&\\n"/' $$f; echo '	;'; done; \
	   echo 'const unsigned char kernel_fatbin[] __attribute__((aligned(8))) = {'; od -An -v -tx1 testkernels/kernels/kernels.fatbin | sed 's/ \(..\)/0x\1,/g'; echo '};'; \
	   echo 'const size_t kernel_fatbin_size = sizeof(kernel_fatbin);'; } >$@

$(probe_stubs): testkernels/probe/imports.list $O/flags
	@mkdir -p $(@D)
	@echo '#define S(name) void name(void); void name(void) { }' >$@.c
	@sed -n 's/^$(@F) [^ ]* \(.*\)/S(\1)/p' $< >>$@.c
	@machine=$$($(CC) -dumpmachine); awk -v machine=$$machine '$$1 == "$(@F)" { \
	   v = machine ~ /^aarch64/ ? "GLIBC_2.17" : $$2; names[v] = names[v] " " $$3 ";" } \
	   END { for (v in names) print v " { global:" names[v] " };" }' $< >$@.map
	$Q$(CC) -shared -nostdlib -fno-builtin -w -fPIC -Wl,-soname,$(@F) -Wl,--version-script,$@.map -o $@ $@.c

$O/gpuimg-probe: $(probe_obj) $(probe_stubs)
	@$(if $V,,echo '  LINK $@')
	$Q$(CC) -pie -nostdlib -nostartfiles -Wl,--hash-style=both -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--build-id=none \
	   -Wl,--no-as-needed -s -o $@ $(probe_obj) $(probe_stubs)

$O/testkernels/probe.gen.c: $O/gpuimg-probe $O/libcuda-double.so
	@{ echo '#include "testkernels/launch.h"'; echo 'const uint8_t probe_bytes[] = {'; \
	   od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g'; echo '};'; \
	   echo 'const size_t probe_size = sizeof(probe_bytes);'; \
	   echo 'const uint8_t driver_double_bytes[] = {'; od -An -v -tx1 $O/libcuda-double.so | sed 's/ \(..\)/0x\1,/g'; echo '};'; \
	   echo 'const size_t driver_double_size = sizeof(driver_double_bytes);'; } >$@

# The stand-in for the driver: every name of the driver API, in a library linked as the probe is.
double_out := $O/testkernels/double
$(double_out)/driver_names.gen.c: manifests/tables/driver-api.txt testkernels/double/driver_double.c
	@mkdir -p $(@D)
	@own=$$(sed -n 's/^int \(cu[A-Za-z0-9_]*\)(.*);$$/\1/p' testkernels/double/driver_double.c); \
	 { echo 'int double_other(void);'; echo 'struct driver_name { const char *name; void *function; };'; \
	   for n in $$own; do echo "int $$n();"; done; \
	   grep -v '^#' $< | grep -vxF "$$own" | sed 's/.*/int &(void); int &(void) { return double_other(); }/'; \
	   echo 'extern const struct driver_name driver_names[]; const struct driver_name driver_names[] = {'; \
	   { grep -v '^#' $<; echo "$$own"; } | sort -u | sed 's/.*/	{ "&", (void *)& },/'; echo '};'; \
	   echo 'extern const unsigned driver_name_count; const unsigned driver_name_count = sizeof(driver_names) / sizeof(driver_names[0]);'; } >$@

$O/libcuda-double.so: testkernels/double/driver_double.c $(double_out)/driver_names.gen.c $(probe_stubs) $O/flags
	@$(if $V,,echo '  LINK $@')
	$Q$(CC) $(probe_flags) -fPIC -c -o $(double_out)/driver_double.o $<
	$Q$(CC) $(probe_flags) -w -fPIC -c -o $(double_out)/driver_names.gen.o $(double_out)/driver_names.gen.c
	$Q$(CC) -shared -nostdlib -Wl,-soname,libcuda.so.1 -Wl,--hash-style=both -Wl,-z,relro,-z,now,-z,noexecstack \
	   -Wl,--build-id=none -Wl,-Bsymbolic -s -o $@ $(double_out)/driver_double.o $(double_out)/driver_names.gen.o $(probe_stubs)

# Stand-ins for tests of the run tier where no GPU is: a driver whose device is this processor, and
# CUDA's libraries on it, all under the names the real ones have.
doubles := libcuda.so.1 libnvidia-ml.so.1 libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libcudnn.so.9 libcudnn_engines_precompiled.so.9 libcudnn_engines_runtime_compiled.so.9 libcudnn_heuristic.so.9 libcufft.so.12 libcurand.so.10 libcusolver.so.12 libcusparse.so.12 libnccl.so.2 libnvrtc.so.13

$(double_out)/%_double.o: testkernels/double/%_double.c testkernels/double/double.h testkernels/probe/gpu_api.h $O/flags
	@mkdir -p $(@D)
	@$(if $V,,echo '  CC   $@')
	$Q$(CC) $(std) $(warn) $(CFLAGS) -fno-sanitize=all -fPIC -c -o $@ $<

$O/doubles/%: $(double_out)/device_double.o $(double_out)/library_double.o
	@mkdir -p $(@D)
	$Q$(CC) -shared -Wl,-soname,$* -o $@ $(if $(filter libcuda.% libnvidia-ml.%,$*),$(word 1,$^),$(word 2,$^) -lm)

doubles: $(doubles:%=$O/doubles/%) ## stand-ins for a GPU's driver and CUDA's libraries, for tests

$O/tests/unit/%: $O/tests/unit/%.o $(support) $O/libgpuimg.a
	@$(if $V,,echo '  LINK $@')
	$Q$(link) -o $@ $^ -lcmocka $(deps_l)

$O/tests/tools/%: $O/tests/tools/%.o $O/libgpuimg.a
	@$(if $V,,echo '  LINK $@')
	$Q$(link) -o $@ $^ $(deps_l)

$O/tests/tools/cli_docs: $O/tests/tools/cli_docs.o $(filter-out $O/cli/main.o,$(cli_obj)) $O/libgpuimg.a
	@$(if $V,,echo '  LINK $@')
	$Q$(link) -o $@ $^ $(deps_l)

$O/tests/fuzz/%: $O/tests/fuzz/%.o $O/tests/fuzz/standalone.o $O/libgpuimg.a
	@$(if $V,,echo '  LINK $@')
	$Q$(link) -o $@ $^ $(deps_l)

FORCE:
-include $(shell find $O -name '*.d' -type f 2>/dev/null)

check: ## everything that needs no GPU; installs what is missing when run as root on Debian
	@tests/install-deps
	@$(MAKE) --no-print-directory -j$$(nproc) check-all

check-all: all
	@tests/run-all

doc_tools := $(addprefix $O/tests/tools/,rule_pages manifest_docs stack_schema policy_docs cli_docs)

docs: $(doc_tools) ## write the generated pages: docs/rules/, docs/manifest.md, docs/commands.md, docs/lint-policy.md and the schemas
	@mkdir -p docs/rules
	$Q$O/tests/tools/rule_pages docs/rules
	$Q$O/tests/tools/manifest_docs >docs/manifest.md
	$Q$O/tests/tools/cli_docs page >docs/commands.md
	$Q$O/tests/tools/stack_schema >docs/stack.schema.json
	$Q$O/tests/tools/policy_docs page >docs/lint-policy.md
	$Q$O/tests/tools/policy_docs schema >docs/lint-policy.schema.json

check-docs: $(doc_tools) ## the generated pages are up to date
	@rm -rf $O/docs && mkdir -p $O/docs/rules
	$Q$O/tests/tools/rule_pages $O/docs/rules
	$Q$O/tests/tools/manifest_docs >$O/docs/manifest.md
	$Q$O/tests/tools/cli_docs page >$O/docs/commands.md
	$Q$O/tests/tools/stack_schema >$O/docs/stack.schema.json
	$Q$O/tests/tools/policy_docs page >$O/docs/lint-policy.md
	$Q$O/tests/tools/policy_docs schema >$O/docs/lint-policy.schema.json
	@diff -r $O/docs/rules docs/rules && for f in manifest.md commands.md stack.schema.json lint-policy.md lint-policy.schema.json; do diff $O/docs/$$f docs/$$f || exit 1; done || \
		{ echo 'run `make docs` and commit what it changes'; exit 1; }
	@tests/check-test-names

check-tables: $O/gpuimg ## the compatibility tables are consistent
	$Q$O/gpuimg matrix --check

format: ## format all sources
	@clang-format -i $(formatted)

check-format: ## the sources are formatted
	@clang-format --dry-run --Werror $(formatted)

# Static analysis. Each file's result is kept, so a second run looks at what changed. What is off,
# and why, stands with the settings: .clang-tidy, tests/cppcheck, and here for gcc 12: the checks
# that follow values through our out-parameters and clean-up attributes see paths that do not exist.
analysed   := $(sort $(filter-out testkernels/double/%,$(filter %.c,$(lib_src) $(wildcard cli/*.c testkernels/probe/*.c))))
gcc_checks  = -fanalyzer -Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-null-dereference -Wno-analyzer-null-argument \
              -Wno-analyzer-possible-null-dereference -Wno-analyzer-possible-null-argument -Wno-analyzer-too-complex

analyse: $(analysed:%.c=$O/analyse/%.gcc) $(analysed:%.c=$O/analyse/%.tidy) $O/analyse/cppcheck ## static analysis by gcc, clang-tidy and cppcheck: no finding

$O/analyse/%.gcc: %.c $O/flags
	@mkdir -p $(@D)
	@$(if $V,,echo '  GCC  $<')
	$Qgcc $(std) $(warn) $(deps_c) $(if $(filter testkernels/probe/%,$<),-iquote testkernels/probe) -O1 $(gcc_checks) -MF $@.d -c -o $@ $<

$O/analyse/%.tidy: %.c .clang-tidy
	@mkdir -p $(@D)
	@$(if $V,,echo '  TIDY $<')
	$Qclang-tidy --quiet --warnings-as-errors='*' $< -- $(filter-out -MMD -MP,$(std)) $(deps_c) $(if $(filter testkernels/probe/%,$<),-iquote testkernels/probe) 2>$@.log || { cat $@.log; exit 1; }
	@touch $@

$O/analyse/cppcheck: $(analysed) tests/cppcheck
	@mkdir -p $(@D)/cppcheck.d
	@$(if $V,,echo '  CPPCHECK')
	$Qcppcheck --quiet --error-exitcode=1 --std=c17 --enable=warning,performance,portability --inline-suppr --suppressions-list=tests/cppcheck \
		--cppcheck-build-dir=$(@D)/cppcheck.d -D_GNU_SOURCE -D__x86_64__ -I. $(analysed)
	@touch $@

check-kernels: ## the committed PTX and machine code are what their sources become, and CUDA's headers agree with our tables of its functions (where a CUDA toolkit is)
	@testkernels/kernels/check
	@tests/tools/gpu-api

check-unit: $(unit_bin) $(if $(cli_obj),$O/gpuimg) ## unit tests
	@tests/run-unit $(unit_bin)

# Compiling is most of what these two take, and what ASan and clang find does not depend on -O2.
asan = O=build/asan SAN=address,undefined CFLAGS='-O1 -g1'

check-fuzz: ## replay each fuzz corpus under ASan and UBSan
	@$(MAKE) --no-print-directory $(asan) fuzz-replay

fuzz-replay: $(fuzz_bin)
	@tests/run-fuzz $(fuzz_bin)

check-e2e: all doubles ## the program against real tools
	@tests/run-e2e $(E2E)

check-layers: ## who may include whom
	@tests/check-layers

check-headers: ## each header compiles alone
	@tests/check-headers "$(CC) $(std) $(warn) $(deps_c)" $(headers)

check-globals: $O/libgpuimg.a $(cli_obj) ## no mutable state
	@tests/check-globals $(lib_obj) $(cli_obj)

check-symbols: all ## no name of ours is a linked library's
	@tests/check-symbols $O/gpuimg $O/libgpuimg.a

check-asan: ## unit tests under ASan and UBSan
	@$(MAKE) --no-print-directory $(asan) check-unit

check-clang: ## clean with clang too
	@$(MAKE) --no-print-directory CC=clang O=build/clang CFLAGS=-O0 all

check-valgrind: $(unit_bin) ## unit tests under valgrind (slow)
	@for t in $(unit_bin); do valgrind -q --error-exitcode=9 --leak-check=full $$t >/dev/null || exit 1; done

fuzz: ## search for crashes: make fuzz SECONDS=60
	@$(MAKE) --no-print-directory CC=clang O=build/fuzz SAN=fuzzer-no-link,address,undefined $(fuzz_src:%.c=build/fuzz/search/%)
	@tests/run-fuzz --search $(SECONDS) $(fuzz_src:%.c=build/fuzz/search/%)

$O/search/tests/fuzz/%: $O/tests/fuzz/%.o $O/libgpuimg.a
	@mkdir -p $(@D)
	@$(if $V,,echo '  LINK $@')
	$Q$(link) -fsanitize=fuzzer -o $@ $^ $(deps_l)

compare-mmdebstrap: all ## the root file system against one whose maintainer scripts ran (needs root, mmdebstrap and a network; SETS=small for a quick one)
	@tests/tools/compare-mmdebstrap.sh $(SETS)

compare-apt: ## the sets of tests/fixtures/apt-corpus by the archive's apt of today (needs a network)
	@tests/tools/apt-corpus.sh measure

check-planted: all ## 58 faults planted one at a time into an image made here, 54 into one with the CUDA toolkit of /usr/local/cuda; with IMAGE=LAYOUT:TAG into PyTorch's wheels (tests/tools/lint-corpus --keep torch-new)
	@GPUIMG=$O/gpuimg tests/tools/plant-faults
	@if [ -e /usr/local/cuda/lib64/libcudart.so ]; then GPUIMG=$O/gpuimg tests/tools/plant-faults --large; else echo 'no CUDA toolkit in /usr/local/cuda: left out'; fi
	@if [ -n "$(IMAGE)" ]; then GPUIMG=$O/gpuimg tests/tools/plant-faults --image "$(IMAGE)"; fi

check-lint-memory: all ## peak memory and time of lint at 1, 5 and 20 GB, a million entries, 10 000 layers and an archive bomb (minutes)
	@GPUIMG=$O/gpuimg tests/tools/lint-memory

check-large: check-planted check-lint-memory ## check-planted, 1000 damaged images, check-lint-memory, and the large set of compare-mmdebstrap (minutes)
	@GPUIMG=$O/gpuimg tests/tools/damage-images 1000
	@if [ "$$(id -u)" -eq 0 ] && command -v mmdebstrap >/dev/null; then tests/tools/compare-mmdebstrap.sh full; \
	   else echo 'the comparison with an installation was left out: it needs root and mmdebstrap'; fi

check-fleet: all doubles ## the job of `gpuimg test emit --for slurm` on a Slurm of two nodes on this machine (needs root; installs slurm-wlm and munge on Debian)
	@tests/install-deps fleet
	@GPUIMG=$O/gpuimg tests/fleet/slurm

check-arm64-probe: ## the probe for aarch64: cross-built, and run by qemu where that is
	@tests/tools/probe-arm64

check-roots: all ## the probe in roots of Debian 11 to 13, Ubuntu's and RHEL's shape and musl, in every mode (needs root, debootstrap and a network)
	@GPUIMG=$O/gpuimg tests/tools/probe-roots

check-load-tier: all ## the load tier on all of the CUDA toolkit in /usr/local/cuda: its checks, and how long they take
	@GPUIMG=$O/gpuimg tests/tools/load-tier

check-lint-corpus: all ## real images made and judged: 41 of packages, wheels, the toolkit and other tools (hours, root, a network, 9 GB below GPUIMG_LARGE_DIR; IMAGES="deb12 torch-new")
	@GPUIMG=$O/gpuimg tests/tools/lint-corpus $(IMAGES)

check-crash: all ## lock, fetch and build killed at 50 random moments
	@tests/tools/kill-moments 50

check-kill-uploads: all ## pushes killed at 30 random positions, and resumed
	@tests/tools/kill-uploads 30

check-slow: all ## faults of registries that take minutes to give up on
	@tests/run-large tests/slow/*.bats

check-cut-line: all ## 5 GB pushed through a line that is cut every 50 to 500 MB; skopeo beside it (needs 10 GB in CUTLINE_DIR)
	@tests/tools/cut-line 5000 5

check-flat-memory: all ## the memory of push, copy and pull at 10 layers of 2 GB (needs 20 GB of room in FLAT_DIR, and fills some of it)
	@tests/tools/flat-memory 10 2000

check-flat-build: all ## the memory of build, of an unchanged build and of lint from 10 MB to 10 GB and from 10 to 500 000 files: a table (500 000 files in BENCH_DIR)
	@tests/bench/growth --check bytes files

check-registry-faults: ## the tests that docs/registry-faults.md names exist
	@tests/check-registry-faults

check-faults: all ## the n-th read, write, rename, allocation, socket call ... of each command fails, for every n (POINTS at most; an hour)
	@GPUIMG=$O/gpuimg tests/tools/inject-faults --points $(POINTS)

check-stacks: all ## real stacks of some gigabytes: locked, built, run, scanned (needs a network, 12 GB below GPUIMG_LARGE_DIR)
	@tests/run-large $(LARGE)

bench: all $O/tests/tools/floor ## ratios against umoci, skopeo and the floor
	@tests/bench/run

bench-peers: all ## the same tree through umoci, buildah, podman and docker
	@tests/bench/peers

bench-growth: all ## time and memory over bytes, files and layers: a table and build/bench/growth.svg
	@tests/bench/growth

bench-overlap: all ## building and sending through a line of limited rate, one after the other and at once
	@tests/bench/overlap

demo: ## install what is missing, build gpuimg and a CUDA 13 image, lint and test it
	@tests/install-deps build
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tests/demo

share := $O/share
pages := $(share)/man/man1/gpuimg.1

# Manual pages and completions, from the command tables.
$(pages): $O/tests/tools/cli_docs
	@rm -rf $(share); mkdir -p $(share)/man/man1 $(share)/bash-completion/completions $(share)/zsh/site-functions $(share)/fish/vendor_completions.d
	$Q$< bash >$(share)/bash-completion/completions/gpuimg
	$Q$< zsh >$(share)/zsh/site-functions/_gpuimg
	$Q$< fish >$(share)/fish/vendor_completions.d/gpuimg.fish
	$Qfor c in $$($< names); do $< man $$c >$(share)/man/man1/gpuimg-$$c.1 || exit 1; done
	$Q$< man >$@

install: all $(pages) ## DESTDIR and PREFIX are honoured
	install -D -m 0755 $O/gpuimg $(DESTDIR)$(PREFIX)/bin/gpuimg
	install -D -m 0644 docs/stack.schema.json $(DESTDIR)$(PREFIX)/share/gpuimg/stack.schema.json
	install -D -m 0644 docs/lint-policy.schema.json $(DESTDIR)$(PREFIX)/share/gpuimg/lint-policy.schema.json
	$Qcd $(share) && find . -type f -exec install -D -m 0644 {} $(abspath $(DESTDIR))$(PREFIX)/share/{} \;

deb: all $(pages) ## a Debian package in build/dist (needs dpkg-dev)
	@mkdir -p $O/dist && packaging/deb $O/dist

dist: all $(pages) ## a portable tarball in build/dist that runs on other distributions
	@mkdir -p $O/dist && packaging/dist $O/dist

image: all $(pages) ## gpuimg's own image in build/image/out, built, judged and tested by itself (needs a network)
	@rm -rf $O/image && mkdir -p $O/image/gpuimg && cp manifests/library/gpuimg.yaml $O/image/
	@$(MAKE) --no-print-directory install DESTDIR=$(abspath $O)/image/gpuimg PREFIX=/usr >/dev/null
	$Q$O/gpuimg build $O/image/gpuimg.yaml --to oci:$O/image/out
	$Q$O/gpuimg lint oci:$O/image/out --fail-on info
	$Q$O/gpuimg test oci:$O/image/out

check-dist: dist ## the tarball in roots of Debian 11 and 13 (needs root, debootstrap and a network)
	@packaging/check-dist $O/dist/gpuimg-*-$$(uname -m).tar.gz bullseye trixie

clean: ## remove what was built
	rm -rf build

.PHONY: check-planted check-lint-memory analyse doubles check-arm64-probe check-slow check-cut-line check-flat-memory check-flat-build check-registry-faults check-faults check-fleet check-roots check-load-tier check-symbols check-large check-stacks all help format check-format docs check-docs check-tables check-kernels check check-all check-unit check-fuzz fuzz-replay check-e2e check-layers check-headers check-globals \
	check-asan check-clang check-valgrind fuzz compare-apt compare-mmdebstrap check-crash bench bench-peers bench-growth bench-overlap demo deb dist image check-dist install clean FORCE
