/*
 * A Slurm batch script: pyxis where the cluster has it, else bubblewrap or the image's loader on
 * a tree that each node finds.
 * Sources: sbatch(1), srun(1); NVIDIA/pyxis README.
 */
#include "base/slice.h"
#include "testkernels/fleet.h"

enum { LINE = 120 };

/* For sh, in single quotes. */
static void put_quoted(struct strbuf *out, const char *text)
{
	strbuf_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			strbuf_adds(out, "'\\''");
		else
			strbuf_addc(out, *text);
	}
	strbuf_addc(out, '\'');
}

static void put_base64(const struct fleet_job *j, struct strbuf *out)
{
	const char *text = strbuf_text(&j->probe_base64);

	for (size_t at = 0; at < j->probe_base64.len; at += LINE)
		strbuf_addf(out, "%.*s\n", LINE, text + at);
}

static void put_files(const struct fleet_job *j, struct strbuf *out)
{
	strbuf_adds(out, "base64 -d >\"$dir/probe\" <<'END_OF_PROBE'\n");
	put_base64(j, out);
	strbuf_adds(out, "END_OF_PROBE\ncat >\"$dir/plan\" <<'END_OF_PLAN'\n");
	strbuf_addf(out, "%sEND_OF_PLAN\nchmod 0755 \"$dir\" \"$dir/probe\"\n",
		    strbuf_text(&j->plan));
}

/* "registry#path:tag", as enroot names images. */
static void put_enroot_name(struct strbuf *out, const char *image)
{
	const char *slash = strchr(image, '/');
	bool host = slash && memchr(image, '.', (size_t)(slash - image));
	cleanup_strbuf struct strbuf name = { 0 };

	if (slash && !host)
		host = memchr(image, ':', (size_t)(slash - image)) != NULL;
	strbuf_adds(&name, image);
	if (host)
		name.data[slash - image] = '#';
	put_quoted(out, strbuf_text(&name));
}

static void put_head(const struct fleet_job *j, struct strbuf *out)
{
	const struct fleet_request *q = j->request;

	strbuf_addf(out,
		    "#!/bin/sh\n"
		    "#SBATCH --job-name=%s\n"
		    "#SBATCH --nodes=%" PRIu64 "\n"
		    "#SBATCH --ntasks-per-node=1\n"
		    "#SBATCH --output=%s-%%j.log\n"
		    "#SBATCH --time=30\n",
		    j->name, q->nodes, j->name);
	if (q->gpus)
		strbuf_addf(out, "#SBATCH --gpus-per-node=%" PRIu64 "\n", q->gpus);
	if (q->queue)
		strbuf_addf(out, "#SBATCH --partition=%s\n", q->queue);
	strbuf_addf(out,
		    "# sbatch job.sh; when it has ended: gpuimg test collect %s-JOB.log\n"
		    "set -u\n"
		    "image=",
		    j->name);
	put_enroot_name(out, j->image);
	strbuf_adds(out, "\nrootfs=${GPUIMG_ROOTFS:-");
	strbuf_adds(out, q->rootfs ? q->rootfs : "");
	strbuf_adds(out, "}\n");
}

static void put_pyxis(const struct fleet_job *j, struct strbuf *out)
{
	strbuf_addf(out,
		    "if [ -z \"$rootfs\" ]; then\n"
		    "if ! srun --help 2>&1 | grep -q -e --container-image; then\n"
		    "	echo 'this Slurm has no pyxis: unpack the image where all nodes see it, "
		    "and name "
		    "the folder in GPUIMG_ROOTFS' >&2\n"
		    "	exit 3\n"
		    "fi\n"
		    "dir=${SLURM_SUBMIT_DIR:-$PWD}/%s-$SLURM_JOB_ID\n"
		    "mkdir -p \"$dir\" || exit 3\n",
		    j->name);
	put_files(j, out);
	strbuf_addf(out,
		    "srun --label --container-image=\"$image\" "
		    "--container-mounts=\"$dir:/gpuimg:ro\" \\\n"
		    "	--no-container-mount-home --container-readonly --no-container-entrypoint "
		    "\\\n"
		    "	/%s /gpuimg/probe run /gpuimg/plan '' '" PROBE_FRAME "'\n"
		    "status=$?\n"
		    "rm -rf \"$dir\"\n"
		    "exit $status\n"
		    "fi\n",
		    j->loader->path);
}

static void put_environment(const struct fleet_job *j, struct strbuf *out)
{
	strbuf_adds(out,
		    "environment() { # COMMAND…: with the image's environment alone\n"
		    "	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "
		    "HOME=/tmp GPUIMG_NODE=\"$GPUIMG_NODE\"");
	for (size_t i = 0; i < j->config->env.count; i++) {
		if (str_starts(j->config->env.items[i], "LD_"))
			continue; /* steers the loader; set where the image's root is "/" */
		strbuf_adds(out, " \\\n		");
		put_quoted(out, j->config->env.items[i]);
	}
	strbuf_adds(out, " \\\n		\"$@\"\n}\n");
}

/* What bubblewrap mounts: the image, the devices and the driver's libraries of the node. */
static void put_bwrap_mounts(struct strbuf *out)
{
	strbuf_adds(out,
		    "bwrap=$(command -v bwrap)\n"
		    "set -- --unshare-pid --unshare-ipc --die-with-parent --new-session\n"
		    "[ \"$(id -u)\" -eq 0 ] || set -- \"$@\" --unshare-user\n"
		    "for entry in \"$rootfs\"/* \"$rootfs\"/.[!.]*; do\n"
		    "	name=/${entry##*/}\n"
		    "	case $name in /proc | /sys | /dev | /tmp) continue ;; esac\n"
		    "	if [ -L \"$entry\" ]; then set -- \"$@\" --symlink \"$(readlink "
		    "\"$entry\")\" \"$name\"\n"
		    "	elif [ -e \"$entry\" ]; then set -- \"$@\" --ro-bind \"$entry\" \"$name\"; "
		    "fi\n"
		    "done\n"
		    "set -- \"$@\" --proc /proc --dev /dev --tmpfs /dev/shm --tmpfs /tmp --ro-bind "
		    "/sys "
		    "/sys --ro-bind \"$dir\" /dev/.gpuimg\n"
		    "for node in /dev/nvidia*; do\n"
		    "	[ ! -c \"$node\" ] || set -- \"$@\" --dev-bind \"$node\" \"$node\"\n"
		    "done\n"
		    "driver=$(ldconfig -p 2>/dev/null | sed -n 's/.*libcuda\\.so\\.1 .*64.* => "
		    "//p' | head "
		    "-n 1)\n"
		    "mkdir \"$dir/driver\"\n"
		    "if [ -n \"$driver\" ]; then\n"
		    "	for file in \"${driver%/*}\"/libcuda.so* "
		    "\"${driver%/*}\"/libcudadebugger.so* "
		    "\"${driver%/*}\"/libnvidia-*.so*; do\n"
		    "		[ -e \"$file\" ] || continue\n"
		    "		ln -sf \"$file\" \"$dir/driver/${file##*/}\"\n"
		    "		set -- \"$@\" --ro-bind \"$file\" "
		    "\"/dev/.gpuimg-driver/${file##*/}\"\n"
		    "	done\n"
		    "fi\n");
}

static void put_bwrap(const struct fleet_job *j, struct strbuf *out)
{
	const char *path = config_env(j->config, "LD_LIBRARY_PATH");

	put_bwrap_mounts(out);
	strbuf_adds(out, "libraries=");
	put_quoted(out, path ? path : "");
	strbuf_addf(
		out,
		"\n"
		"[ ! -n \"$driver\" ] || libraries=$libraries${libraries:+:}/dev/.gpuimg-driver\n"
		"[ -z \"$libraries\" ] || set -- \"$@\" --setenv LD_LIBRARY_PATH \"$libraries\"\n"
		"if [ -n \"$bwrap\" ] && environment \"$bwrap\" \"$@\" -- '/%s' /dev/.gpuimg/probe "
		"noop "
		"3>\"$dir/noop\" 2>\"$dir/why\" && grep -q ok \"$dir/noop\"; then\n"
		"	environment \"$bwrap\" \"$@\" -- '/%s' /dev/.gpuimg/probe run "
		"/dev/.gpuimg/plan '' "
		"'" PROBE_FRAME "'\n"
		"	exit $?\n"
		"fi\n"
		"echo \"bubblewrap was passed over: $(tail -n 1 \"$dir/why\" 2>/dev/null)\"\n",
		j->loader->path, j->loader->path);
}

static void put_loader(const struct fleet_job *j, struct strbuf *out)
{
	strbuf_adds(out, "search=\n"
			 "for folder in");
	for (size_t i = 0; i < j->loader->dirs.len; i++) {
		strbuf_addc(out, ' ');
		put_quoted(out, j->loader->dirs.items[i]);
	}
	strbuf_addf(out,
		    "; do search=$search${search:+:}$rootfs$folder; done\n"
		    "loader=$rootfs/%s\n"
		    "environment \"$loader\" %s--library-path \"$search:$dir/driver\" "
		    "\"$dir/probe\" run "
		    "\"$dir/plan\" \"$rootfs\" '" PROBE_FRAME "'\n"
		    "exit $?\n",
		    j->loader->path, j->loader->musl ? "" : "--inhibit-cache ");
}

void fleet_slurm(const struct fleet_job *j, struct fleet_files *out)
{
	struct fleet_file *f = fleet_file_add(out, "job.sh", true);
	struct strbuf *b = &f->bytes;

	put_head(j, b);
	put_pyxis(j, b);
	strbuf_adds(b, "srun --label sh -s \"$rootfs\" <<'END_OF_TASK'\n"
		       "rootfs=$1\n"
		       "dir=$(mktemp -d) || exit 3\n"
		       "trap 'rm -rf \"$dir\"' EXIT\n"
		       "GPUIMG_NODE=${SLURMD_NODENAME:-$(hostname)}\n");
	put_files(j, b);
	put_environment(j, b);
	put_bwrap(j, b);
	put_loader(j, b);
	strbuf_adds(b, "END_OF_TASK\n");
}
