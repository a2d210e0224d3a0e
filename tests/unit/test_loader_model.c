/*
 * The simulated loader against the real one: trees made at random (always the same), with all that
 * decides where a library is found, started in a chroot under LD_TRACE_LOADED_OBJECTS.
 * LOADER_TREES="FROM TO" makes others.
 */
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/test.h"

#include "base/fs.h"
#include "lint/facts_parts.h"
#include "lint/loader.h"

enum { TREES = 200, LIBRARIES = 9, ELEMENTS = 4 };

static const char interpreter[] = "/lib64/ld-linux-x86-64.so.2";

/* --- random numbers that are the same on every machine */

struct dice {
	uint64_t state;
};

static unsigned roll(struct dice *d, unsigned below)
{
	d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(d->state >> 33) % below;
}

/* --- an ELF file with nothing in it but what the loader reads */

struct object_spec {
	const char *soname, *rpath, *runpath; /* NULL: none */
	const char *needed[8];
	size_t needed_count;
	bool program;
};

static void put(struct strbuf *b, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		strbuf_addc(b, (char)(value >> 8 * i));
}

static uint64_t add_text(struct strbuf *strings, const char *text)
{
	uint64_t at = strings->len;

	strbuf_add(strings, text, strlen(text) + 1);
	return at;
}

static void put_segment(struct strbuf *b, uint32_t type, uint64_t offset, uint64_t size,
			uint64_t align)
{
	put(b, type, 4);
	put(b, 7, 4);
	put(b, offset, 8);
	put(b, offset, 8);
	put(b, offset, 8);
	put(b, size, 8);
	put(b, size, 8);
	put(b, align, 8);
}

static void put_tag(struct strbuf *b, uint64_t tag, uint64_t value)
{
	put(b, tag, 8);
	put(b, value, 8);
}

static void make_object(const struct object_spec *spec, struct strbuf *out)
{
	cleanup_strbuf struct strbuf strings = { 0 }, tags = { 0 };
	const uint64_t headers = 64 + 5 * 56, code = headers, dynamic = headers + 16;
	uint64_t interp, symbols, hash, text, end;
	size_t tag_count = spec->needed_count + 8;

	strbuf_addc(&strings, 0);
	interp = dynamic + tag_count * 16;
	symbols = (interp + sizeof(interpreter) + 7) / 8 * 8;
	hash = symbols + 24;
	text = hash + 24;
	for (size_t i = 0; i < spec->needed_count; i++)
		put_tag(&tags, 1, add_text(&strings, spec->needed[i]));
	if (spec->soname)
		put_tag(&tags, 14, add_text(&strings, spec->soname));
	if (spec->rpath)
		put_tag(&tags, 15, add_text(&strings, spec->rpath));
	if (spec->runpath)
		put_tag(&tags, 29, add_text(&strings, spec->runpath));
	put_tag(&tags, 5, text);
	put_tag(&tags, 10, strings.len);
	put_tag(&tags, 6, symbols);
	put_tag(&tags, 4, hash);
	while (tags.len < tag_count * 16)
		put_tag(&tags, 0, 0);
	end = text + strings.len;
	strbuf_add(out,
		   "\x7f"
		   "ELF\x02\x01\x01",
		   7);
	strbuf_add_zeros(out, 9);
	put(out, 3, 2); /* ET_DYN */
	put(out, 62, 2);
	put(out, 1, 4);
	put(out, code, 8);
	put(out, 64, 8);
	put(out, 0, 8);
	put(out, 0, 4);
	put(out, 64, 2);
	put(out, 56, 2);
	put(out, spec->program ? 5 : 3, 2);
	put(out, 64, 2);
	put(out, 0, 4);
	if (spec->program)
		put_segment(out, 6, 64, headers - 64, 8);
	if (spec->program)
		put_segment(out, 3, interp, sizeof(interpreter), 1);
	put_segment(out, 1, 0, end, 4096);
	put_segment(out, 2, dynamic, tags.len, 8);
	put_segment(out, 0x6474e551, 0, 0, 16);
	strbuf_add_zeros(out, headers - out->len);
	strbuf_add(out, "\x31\xff\xb8\xe7\x00\x00\x00\x0f\x05", 9); /* exit_group(0) */
	strbuf_add_zeros(out, dynamic - out->len);
	strbuf_add(out, tags.data, tags.len);
	strbuf_add(out, interpreter, sizeof(interpreter));
	strbuf_add_zeros(out, hash - out->len);
	put(out, 1, 4); /* one bucket, one symbol */
	put(out, 1, 4);
	put(out, 0, 8);
	strbuf_add_zeros(out, text - out->len);
	strbuf_add(out, strings.data, strings.len);
}

/* --- a tree */

struct made {
	const char *root;
	struct arena arena;
	struct dice dice;
	const char *library_path, *preload; /* of the environment; NULL: none */
	bool usr_merged;
	bool plain; /* $PLATFORM is x86_64: some processors have names of their own */
};

static const char *const dirs[] = { "/lib/x86_64-linux-gnu",
				    "/usr/lib/x86_64-linux-gnu",
				    "/lib",
				    "/usr/lib",
				    "/opt/a",
				    "/opt/b",
				    "/opt/c",
				    "/opt/lib/x86_64-linux-gnu",
				    "/opt/app/lib",
				    "/opt/app/bin",
				    "/srv/one",
				    "/srv/two",
				    "/usr/local/lib",
				    "/opt/x86_64" };

/* Elements of RPATH, RUNPATH and LD_LIBRARY_PATH. */
static const char *const elements[] = { "/opt/a",
					"/opt/b",
					"/opt/c",
					"$ORIGIN",
					"$ORIGIN/../lib",
					"${ORIGIN}/../../a",
					"/opt/$LIB",
					"/opt/app/lib/",
					"/srv/one",
					"/srv/missing",
					"/usr/local/lib",
					"/opt/link",
					"/usr/lib/x86_64-linux-gnu",
					"/opt/$PLATFORM" };

static const char *path_of(struct made *m, const char *path)
{
	return arena_printf(&m->arena, "%s%s", m->root, path);
}

static void make_dirs(struct made *m, const char *path)
{
	char *text = arena_printf(&m->arena, "%s%s", m->root, path);

	for (char *p = text + strlen(m->root) + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(text, 0755);
		*p = '/';
	}
	mkdir(text, 0755);
}

static void write_bytes(struct made *m, const char *path, struct slice bytes)
{
	struct error err = { 0 };

	assert_ok(fs_write(AT_FDCWD, path_of(m, path), bytes, 0755, &err), err);
}

static const char *random_path(struct made *m)
{
	const char *text = "";
	size_t count = 1 + roll(&m->dice, ELEMENTS - 1);

	for (size_t i = 0; i < count; i++)
		text = arena_printf(&m->arena, "%s%s%s", text, *text ? ":" : "",
				    elements[roll(&m->dice, ARRAY_LEN(elements) - !m->plain)]);
	return text;
}

/* Most libraries need some of the later ones, and sometimes an earlier. */
static void random_needs(struct made *m, size_t index, struct object_spec *spec)
{
	size_t count = index ? roll(&m->dice, 4) : 3 + roll(&m->dice, 3);

	for (size_t i = 0; i < count; i++) {
		size_t other = roll(&m->dice, LIBRARIES);

		if (roll(&m->dice, 12) == 0)
			spec->needed[spec->needed_count++] =
				arena_printf(&m->arena, "%s/libw%zu.so.1",
					     dirs[roll(&m->dice, ARRAY_LEN(dirs))], other);
		else if (roll(&m->dice, 10) == 0)
			spec->needed[spec->needed_count++] =
				arena_printf(&m->arena, "libw%zu.so", other);
		else
			spec->needed[spec->needed_count++] =
				arena_printf(&m->arena, "libw%zu.so.1", other);
	}
	switch (roll(&m->dice, 5)) {
	case 0:
		spec->rpath = random_path(m);
		break;
	case 1:
		spec->runpath = random_path(m);
		break;
	case 2:
		spec->rpath = random_path(m);
		spec->runpath = roll(&m->dice, 2) ? random_path(m) : NULL;
		break;
	default:
		break;
	}
}

static void write_library(struct made *m, size_t index, const char *dir)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct object_spec spec = { 0 };
	const char *soname = arena_printf(&m->arena, "libw%zu.so.1", index);
	const char *name = soname;

	random_needs(m, index, &spec);
	if (roll(&m->dice, 8))
		spec.soname = soname;
	if (roll(&m->dice, 3) == 0)
		name = arena_printf(&m->arena, "libw%zu.so.1.%u", index, roll(&m->dice, 3));
	make_object(&spec, &bytes);
	make_dirs(m, dir);
	write_bytes(m, arena_printf(&m->arena, "%s/%s", dir, name), strbuf_slice(&bytes));
	if (name != soname && roll(&m->dice, 4))
		ignore_result(symlink(name, path_of(m, arena_printf(&m->arena, "%s/%s", dir,
								    soname))) < 0);
	if (roll(&m->dice, 4) == 0)
		ignore_result(symlink(soname, path_of(m, arena_printf(&m->arena, "%s/libw%zu.so",
								      dir, index))) < 0);
}

static void write_conf(struct made *m)
{
	cleanup_strbuf struct strbuf one = { 0 };

	make_dirs(m, "/etc/ld.so.conf.d");
	strbuf_addf(&one, "# made\n%s\n", dirs[4 + roll(&m->dice, 9)]);
	write_bytes(m, "/etc/ld.so.conf.d/20-x.conf", strbuf_slice(&one));
	strbuf_truncate(&one, 0);
	strbuf_addf(&one, "%s\n%s\n", dirs[4 + roll(&m->dice, 9)], dirs[4 + roll(&m->dice, 9)]);
	write_bytes(m, "/etc/ld.so.conf.d/10-y.conf", strbuf_slice(&one));
	strbuf_truncate(&one, 0);
	if (roll(&m->dice, 2))
		strbuf_adds(&one, "/opt/c\n");
	strbuf_adds(&one, "include /etc/ld.so.conf.d/*.conf\n");
	if (roll(&m->dice, 2))
		strbuf_adds(&one, "/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n");
	write_bytes(m, "/etc/ld.so.conf", strbuf_slice(&one));
}

static void copy_interpreter(struct made *m)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct error err = { 0 };

	make_dirs(m, "/lib64");
	assert_ok(fs_read(AT_FDCWD, interpreter, 16 * MIB, &bytes, &err), err);
	write_bytes(m, interpreter, strbuf_slice(&bytes));
}

static void write_program(struct made *m)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct object_spec spec = { .program = true };

	random_needs(m, 0, &spec);
	make_object(&spec, &bytes);
	make_dirs(m, "/opt/app/bin");
	write_bytes(m, "/opt/app/bin/prog", strbuf_slice(&bytes));
}

/* What makes the facts take it for a system of Debian's; nothing needs it. */
static void write_libc(struct made *m)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct object_spec spec = { .soname = "libc.so.6" };

	make_object(&spec, &bytes);
	make_dirs(m, "/lib/x86_64-linux-gnu");
	write_bytes(m, "/lib/x86_64-linux-gnu/libc.so.6", strbuf_slice(&bytes));
}

static void write_tree(struct made *m)
{
	m->usr_merged = roll(&m->dice, 2);
	make_dirs(m, "/usr/lib");
	if (m->usr_merged)
		ignore_result(symlink("usr/lib", path_of(m, "/lib")) < 0);
	copy_interpreter(m);
	write_libc(m);
	for (size_t i = 0; i < LIBRARIES; i++) {
		size_t copies = roll(&m->dice, 4);

		for (size_t k = 0; k < copies; k++)
			write_library(m, i, dirs[roll(&m->dice, ARRAY_LEN(dirs))]);
		if (roll(&m->dice, 6) == 0)
			write_library(m, i,
				      arena_printf(&m->arena, "%s/glibc-hwcaps/x86-64-v%u",
						   dirs[roll(&m->dice, ARRAY_LEN(dirs))],
						   2 + roll(&m->dice, 2)));
	}
	make_dirs(m, "/opt");
	ignore_result(symlink("../srv/two", path_of(m, "/opt/link")) < 0);
	write_conf(m);
	write_program(m);
	if (roll(&m->dice, 3) == 0)
		m->library_path = random_path(m);
	if (roll(&m->dice, 5) == 0)
		m->preload = arena_printf(&m->arena, "libw%u.so.1", roll(&m->dice, LIBRARIES));
	if (roll(&m->dice, 6) == 0) {
		cleanup_free char *text = xasprintf("libw%u.so.1\n", roll(&m->dice, LIBRARIES));

		write_bytes(m, "/etc/ld.so.preload", slice_str(text));
	}
}

/* --- the real ones */

static int enter(const char *root)
{
	if (chroot(root) < 0 && (unshare(CLONE_NEWUSER) < 0 || chroot(root) < 0))
		return -1;
	return chdir("/");
}

static void real_trace(struct made *m, struct strbuf *out)
{
	/* Without /proc the loader must be told where the program is. */
	const char *env[5] = { "LD_TRACE_LOADED_OBJECTS=1", "LD_ORIGIN_PATH=/opt/app/bin" };
	size_t count = 2;
	char piece[4096];
	int fds[2];
	pid_t pid;
	ssize_t n;

	if (m->library_path)
		env[count++] = arena_printf(&m->arena, "LD_LIBRARY_PATH=%s", m->library_path);
	if (m->preload)
		env[count++] = arena_printf(&m->arena, "LD_PRELOAD=%s", m->preload);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		char *argv[] = { (char *)(uintptr_t) "/opt/app/bin/prog", NULL };

		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		close(2);
		if (enter(m->root) == 0)
			execve(argv[0], argv, (char **)(uintptr_t)env);
		_exit(127);
	}
	close(fds[1]);
	while ((n = read(fds[0], piece, sizeof(piece))) > 0)
		strbuf_add(out, piece, (size_t)n);
	close(fds[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void run_ldconfig(struct made *m)
{
	pid_t pid = fork();

	if (pid == 0) {
		close(2);
		if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0)
			_exit(127);
		execl("/sbin/ldconfig", "ldconfig", "-r", m->root, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* "libw1.so.1 => /opt/a/libw1.so.1\n" of each; the loader itself and the kernel's left out. */
static void normal_trace(struct slice text, struct strbuf *out)
{
	struct slice line;

	while (slice_cut(&text, '\n', &line)) {
		const uint8_t *bracket;

		line = slice_trim(line);
		bracket = line.len ? memmem(line.data, line.len, " (0x", 4) : NULL;
		if (!bracket || memmem(line.data, line.len, "ld-linux", 8) ||
		    memmem(line.data, line.len, "vdso", 4))
			continue;
		line.len = (size_t)(bracket - line.data);
		if (!memmem(line.data, line.len, " => ", 4))
			strbuf_addf(out, "%.*s => ", (int)line.len, (const char *)line.data);
		strbuf_add(out, line.data, line.len);
		strbuf_addc(out, '\n');
	}
}

static void model_trace(struct made *m, enum loader_cache cache, struct strbuf *out)
{
	cleanup_facts struct facts facts = { 0 };
	struct target target = { 0 };
	struct image_config config = { .platform = { .os = "linux", .architecture = "amd64" } };
	const char *env[2];
	struct loader_process process = { 0 };
	struct error err = { 0 };

	if (m->library_path)
		env[config.env.count++] =
			arena_printf(&m->arena, "LD_LIBRARY_PATH=%s", m->library_path);
	if (m->preload)
		env[config.env.count++] = arena_printf(&m->arena, "LD_PRELOAD=%s", m->preload);
	config.env.items = env;
	facts.config = &config;
	facts.target = &target;
	assert_ok(rootfs_facts_read(&facts, m->root, &err), err);
	assert_ok(facts_derive(&facts, &err), err);
	assert_non_null(facts_object(&facts, "/opt/app/bin/prog"));
	loader_trace(facts.loader, facts_object(&facts, "/opt/app/bin/prog"), cache, &process);
	for (size_t i = 1; i < process.len; i++)
		strbuf_addf(out, "%s => %s\n", process.items[i].name, process.items[i].path);
	vec_release(&process);
}

static bool same_answer(struct made *m, unsigned number, enum loader_cache cache, const char *what)
{
	cleanup_strbuf struct strbuf raw = { 0 }, real = { 0 }, model = { 0 };

	real_trace(m, &raw);
	normal_trace(strbuf_slice(&raw), &real);
	model_trace(m, cache, &model);
	if (str_equal(strbuf_text(&real), strbuf_text(&model)))
		return true;
	fprintf(stderr,
		"tree %u (%s), %s, LD_LIBRARY_PATH=%s LD_PRELOAD=%s\n-- the loader\n%s-- the "
		"model\n%s",
		number, m->root, what, m->library_path ? m->library_path : "",
		m->preload ? m->preload : "", strbuf_text(&real), strbuf_text(&model));
	return false;
}

/* Whether this processor's name is the plain one. */
static bool is_plain(const char *root)
{
	struct made m = { .root = root };
	struct object_spec program = { .program = true,
				       .runpath = "/opt/$PLATFORM",
				       .needed = { "libp.so.1" },
				       .needed_count = 1 };
	struct object_spec library = { 0 };
	cleanup_strbuf struct strbuf one = { 0 }, two = { 0 }, trace = { 0 };

	assert_int_equal(mkdir(root, 0755), 0);
	copy_interpreter(&m);
	make_object(&program, &one);
	make_object(&library, &two);
	make_dirs(&m, "/opt/app/bin");
	make_dirs(&m, "/opt/x86_64");
	write_bytes(&m, "/opt/app/bin/prog", strbuf_slice(&one));
	write_bytes(&m, "/opt/x86_64/libp.so.1", strbuf_slice(&two));
	real_trace(&m, &trace);
	arena_release(&m.arena);
	return strstr(strbuf_text(&trace), "/opt/x86_64/libp.so.1") != NULL;
}

static bool can_enter(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(enter("/") == 0 ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void test_the_model_finds_what_the_real_loader_finds(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *probe = xasprintf("%s/probe", dir);
	const char *range = getenv("LOADER_TREES");
	unsigned first = 0, end = SANITIZED ? TREES / 5 : TREES;
	struct error ignored = { 0 };
	size_t wrong = 0;
	bool plain;

	(void)state;
	if (!can_enter() || access("/sbin/ldconfig", X_OK) < 0 || access(interpreter, R_OK) < 0)
		skip();
#ifndef __x86_64__
	skip(); /* the objects are made for it */
#endif
	plain = is_plain(probe);
	if (range)
		assert_int_equal(sscanf(range, "%u %u", &first, &end), 2);
	for (unsigned i = first; i < end; i++) {
		cleanup_free char *root = xasprintf("%s/%u", dir, i);
		struct made m = { .root = root, .dice = { 1000 + i }, .plain = plain };
		bool same;

		assert_int_equal(mkdir(root, 0755), 0);
		write_tree(&m);
		same = same_answer(&m, i, LOADER_CACHE_BAKED, "without a cache");
		/* Once for the links that it makes, once with them. */
		run_ldconfig(&m);
		run_ldconfig(&m);
		same &= same_answer(&m, i, LOADER_CACHE_BAKED, "with its cache");
		same &= same_answer(&m, i, LOADER_CACHE_REBUILT, "with the cache as rebuilt");
		wrong += !same;
		if (same) /* what differs is left to be looked at */
			ignore_result(fs_remove_tree(AT_FDCWD, root, &ignored));
		arena_release(&m.arena);
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_model_finds_what_the_real_loader_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
