#include "builder/assemble.h"

#include "builder/plan.h"
#include "builder/sources/dir.h"

void assembled_release(struct assembled *assembled)
{
	if (!assembled)
		return;
	rootfs_release(&assembled->rootfs);
	vec_release(&assembled->finish.actions);
	vec_release(&assembled->finish.overrides);
}

/* Opening one input on a thread of the pool. */
struct opening {
	struct pool_job job;
	const struct assembly *assembly;
	const struct stack_stage *stage;
	const struct lock_input *input;
	struct component *component;
	struct error error;
};

/* Where wheels of a stage go. */
struct placing {
	struct wheel_placing ordinary, toolkit;
	char *site, *headers, *python, *root;
};

static void placing_release(struct placing *p)
{
	free(p->site);
	free(p->headers);
	free(p->python);
	free(p->root);
}

/* "3.9.18-3.el9" of python3 or python3-libs, or what the name python3.12 itself says. */
static const char *rpm_python(const struct lock_input *in)
{
	if (in->kind != LOCK_RPM)
		return NULL;
	if (str_starts(in->name, "python3.") &&
	    in->name[strcspn(in->name, "-")] == '\0') /* python3.12, not python3.12-pip */
		return in->name + strlen("python");
	if ((str_equal(in->name, "python3") || str_equal(in->name, "python3-libs")) &&
	    str_starts(in->version, "3."))
		return in->version;
	return NULL;
}

/* The Python of the stage: that of its packages, else the manifest's, else Debian 12's. */
static const char *python_version(const struct assembly *a, const struct stack_stage *stage)
{
	for (size_t i = 0; i < a->inputs->inputs.len; i++) {
		const struct lock_input *in = &a->inputs->inputs.items[i];

		if (str_equal(in->stage, stage->name) && rpm_python(in))
			return rpm_python(in);
		if (in->kind == LOCK_DEB && str_equal(in->stage, stage->name) &&
		    str_starts(in->name, "python3.") && str_ends(in->name, "-minimal") &&
		    !str_starts(in->name, "libpython"))
			return in->name + strlen("python");
	}
	if (a->stack->stack.python) /* and what it comes to */
		return *a->lock->stack.python ? a->lock->stack.python : a->stack->stack.python;
	return a->base && a->base->python ? a->base->python : "3.11";
}

/* A Python of the base image that is not Debian's looks in site-packages, beside itself. */
static bool foreign_python(const struct assembly *a, const char *version)
{
	return a->base && a->base->python && !a->base->debian_python &&
	       str_starts(version, a->base->python);
}

static bool has_kind(const struct assembly *a, const struct stack_stage *stage, enum lock_kind kind)
{
	for (size_t i = 0; i < a->inputs->inputs.len; i++) {
		if (a->inputs->inputs.items[i].kind == kind &&
		    str_equal(a->inputs->inputs.items[i].stage, stage->name))
			return true;
	}
	return false;
}

static void make_placing(const struct assembly *a, const struct stack_stage *stage,
			 struct placing *out)
{
	const char *version = python_version(a, stage);
	const char *dot = strchr(version, '.');
	size_t len =
		dot ? (size_t)(dot - version) + 1 + strspn(dot + 1, "0123456789") : strlen(version);

	bool foreign = foreign_python(a, version);

	/* Python of the RPM world looks in lib and lib64 of /usr/local; all goes to one of them, so
	 * that libraries of one wheel find those of another by their relative paths */
	out->site = xasprintf("usr/local/lib/python%.*s/%s-packages", (int)len, version,
			      foreign || has_kind(a, stage, LOCK_RPM) ? "site" : "dist");
	out->headers = xasprintf("usr/include/python%.*s", (int)len, version);
	out->python = foreign ? xstrdup(a->base->python_program)
			      : xasprintf("/usr/bin/python%.*s", (int)len, version);
	out->root = xasprintf("usr/local/cuda-%s", a->lock->stack.cuda);
	out->ordinary = (struct wheel_placing){ .site = out->site,
						.scripts = "usr/local/bin",
						.prefix = "usr/local",
						.headers = out->headers,
						.python = out->python,
						.profile = stage->profile };
	out->toolkit = out->ordinary;
	out->toolkit.toolkit = out->root;
	out->toolkit.target = finish_cuda_target(&a->platform);
}

static struct component *open_wheel(const struct opening *o, struct error *err)
{
	cleanup(placing_release) struct placing p = { 0 };

	make_placing(o->assembly, o->stage, &p);
	return wheel_open(o->assembly->store, o->input,
			  o->input->toolkit ? &p.toolkit : &p.ordinary, err);
}

static struct component *open_redist(const struct opening *o, struct error *err)
{
	const struct assembly *a = o->assembly;
	cleanup_free char *root = xasprintf("usr/local/cuda-%s", a->lock->stack.cuda);
	const struct redist_placing placing = { .toolkit = root,
						.target = finish_cuda_target(&a->platform),
						.profile = o->stage->profile };

	if (!*a->lock->stack.cuda) {
		error_set(err, ERROR_FORMAT, "the lock says no stack.cuda, whose folder %s goes to",
			  o->input->name);
		return NULL;
	}
	return redist_open(a->store, o->input, &placing, err);
}

static void open_input(struct pool_job *job)
{
	struct opening *o = (struct opening *)job;

	switch (o->input->kind) {
	case LOCK_DEB:
		o->component = deb_open(o->assembly->store, o->input, &o->error);
		break;
	case LOCK_WHEEL:
		o->component = open_wheel(o, &o->error);
		break;
	case LOCK_RPM:
		o->component = rpm_open(o->assembly->store, o->input, &o->error);
		break;
	case LOCK_TREE:
		o->component =
			dir_component(o->assembly->store, o->assembly->stack, o->input, &o->error);
		break;
	case LOCK_REDIST:
		o->component = open_redist(o, &o->error);
		break;
	case LOCK_IMAGE: /* lies below all stages: base_image_tree */
		assert(false);
		break;
	}
}

/* An input that is opened for the stage; the base image's lie below all of them. */
static bool is_of(const struct lock_input *in, const struct stack_stage *stage)
{
	return in->kind != LOCK_IMAGE && str_equal(in->stage, stage->name);
}

static size_t count_inputs(const struct assembly *a, const struct stack_stage *stage)
{
	size_t count = 0;

	for (size_t i = 0; i < a->inputs->inputs.len; i++)
		count += is_of(&a->inputs->inputs.items[i], stage);
	return count;
}

/* base-files and base-passwd, or filesystem, go first: they own the folders and links of the root.
 */
static bool goes_first(const struct lock_input *in)
{
	if (in->kind == LOCK_RPM)
		return str_equal(in->name, "filesystem");
	return in->kind == LOCK_DEB &&
	       (str_equal(in->name, "base-files") || str_equal(in->name, "base-passwd"));
}

static void start_all(const struct assembly *a, const struct stack_stage *stage,
		      struct opening *openings)
{
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < a->inputs->inputs.len; i++) {
			const struct lock_input *in = &a->inputs->inputs.items[i];

			if (!is_of(in, stage) || goes_first(in) != (pass == 0))
				continue;
			openings[n] = (struct opening){
				.job.run = open_input, .assembly = a, .stage = stage, .input = in
			};
			pool_submit(a->pool, &openings[n++].job);
		}
	}
}

/* Take the components in the lock's order, whatever the order in which they were opened. */
static int open_all(const struct assembly *a, const struct stack_stage *stage, struct rootfs *r,
		    struct error *err)
{
	size_t count = count_inputs(a, stage);
	cleanup_free struct opening *openings = xcalloc(count + 1, sizeof(*openings));
	int rc = 0;

	start_all(a, stage, openings);
	for (size_t i = 0; i < count; i++) {
		struct opening *o = &openings[i];

		pool_wait(a->pool, &o->job);
		if (rc == 0 && !o->component) {
			*err = o->error;
			rc = -1;
		}
		if (rc == 0)
			finish_diversions(o->component, r);
	}
	for (size_t i = 0; i < count; i++) {
		if (rc == 0)
			rc = rootfs_add(r, openings[i].component, err);
		else
			component_free(openings[i].component);
	}
	return rc;
}

/* The root is made by a package of the RPM world. */
static bool brings_root(const struct assembly *a, const struct stack_stage *stage)
{
	for (size_t i = 0; i < a->inputs->inputs.len; i++) {
		const struct lock_input *in = &a->inputs->inputs.items[i];

		if (in->kind == LOCK_RPM && str_equal(in->name, "filesystem") &&
		    str_equal(in->stage, stage->name))
			return true;
	}
	return false;
}

static int add_extra(struct component **extra, struct rootfs *r, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; extra && extra[i]; i++) {
		if (rc == 0)
			rc = rootfs_add(r, extra[i], err);
		else
			component_free(extra[i]);
	}
	return rc;
}

static int add_files(const struct assembly *a, const struct stack_stage *stage, struct rootfs *r,
		     struct error *err)
{
	const struct dir_reading reading = { a->store, a->pool };
	cleanup_component struct component *files = NULL;
	struct digest now;

	if (!stage->file_count)
		return 0;
	files = dir_files(a->stack, stage, &reading, err);
	if (!files)
		return -1;
	now = dir_files_digest(files);
	if (!digest_equal(&now, &a->files[stage - a->stack->stages]))
		return error_set(err, ERROR_INTEGRITY,
				 "stage %s: its files changed during the build; build again",
				 stage->name);
	return rootfs_add(r, steal_ptr(&files), err);
}

/* What everything else is put upon: the base image as it is, else the links and folders of a root.
 */
static int add_ground(const struct assembly *a, const struct stack_stage *stage, struct rootfs *r,
		      struct error *err)
{
	bool last = stage == &a->stack->stages[a->stack->stage_count - 1];
	struct component *tree;

	if (!a->base && brings_root(a, stage))
		return 0;
	if (!a->base)
		return rootfs_add(r, finish_filesystem(&a->platform, has_kind(a, stage, LOCK_DEB)),
				  err);
	r->base_layers = a->base->layer_count;
	tree = base_image_tree(a->store, a->inputs, a->base, !last, err);
	return tree ? rootfs_add(r, tree, err) : -1;
}

int assemble_stage(const struct assembly *a, const struct stack_stage *stage,
		   struct component **extra, struct assembled *out, struct error *err)
{
	struct rootfs *r = &out->rootfs;
	struct finish *f = &out->finish;
	int rc = add_ground(a, stage, r, err);

	if (rc == 0)
		rc = open_all(a, stage, r, err);
	if (add_extra(extra, r, err) < 0 || rc < 0 || add_files(a, stage, r, err) < 0)
		return -1;
	*f = (struct finish){ .rootfs = r,
			      .stack = a->stack,
			      .stage = stage,
			      .solved = &a->lock->stack,
			      .platform = a->platform,
			      .base = a->base,
			      .arena = a->arena };
	f->final = stage == &a->stack->stages[a->stack->stage_count - 1];
	f->cuda = component_new(COMPONENT_FINISH, PLAN_CUDA, "");
	f->metadata = component_new(COMPONENT_FINISH, PLAN_METADATA, "");
	rootfs_attach(r, f->cuda);
	rootfs_attach(r, f->metadata);
	return finish_run(f, err);
}
