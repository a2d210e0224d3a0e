/*
 * Prints the set that deb_resolve gives for packages, from Packages files: what
 * tests/tools/compare-apt.sh compares with apt's.
 *
 *   resolve_debs ARCH PACKAGES_FILE… -- NAME…        one set, "name version" lines in order
 *   resolve_debs ARCH PACKAGES_FILE… -- < FILE       a set per line: "NAME…: name name …" sorted
 *
 * ARCH may be "amd64,i386": packages of the others count as well, and are written "name:i386".
 */
#include "builder/sources/deb_resolve.h"

#include "base/fs.h"

static int resolve(struct deb_universe *u, char **names, size_t count, struct deb_answer *out,
		   struct error *err)
{
	cleanup_strbuf struct strbuf why = { 0 };
	VEC(struct deb_root) roots = { 0 };
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		struct deb_spec spec = { 0 };
		struct deb_root root = { .package = DEB_NONE, .requested = true };

		if (deb_spec_parse(slice_str(names[i]), &spec))
			root.package = deb_find(u, &spec, NULL);
		if (root.package == DEB_NONE)
			root.package = deb_find_provider(u, &spec, NULL);
		if (root.package == DEB_NONE)
			rc = error_set(err, ERROR_USAGE, "no package %s", names[i]);
		else if (spec.version.len)
			deb_universe_force(u, root.package);
		vec_push(&roots, root);
	}
	if (!rc)
		rc = deb_resolve(u, roots.items, roots.len, out, &why, err);
	if (why.len)
		fprintf(stderr, "%s", strbuf_text(&why));
	vec_release(&roots);
	return rc;
}

static void print_sorted(const struct deb_universe *u, const struct deb_answer *answer)
{
	VEC(char *) names = { 0 };

	for (size_t i = 0; i < answer->choices.len; i++) {
		const struct deb_package *p = &u->packages.items[answer->choices.items[i].package];

		bool native = slice_is(deb_package_arch(u, p), u->arch);

		vec_push(&names,
			 xasprintf("%.*s%s%.*s", (int)p->name.len, (const char *)p->name.data,
				   native ? "" : ":", native ? 0 : (int)p->arch.len,
				   (const char *)p->arch.data));
	}
	vec_sort(&names, str_order);
	for (size_t i = 0; i < names.len; i++) {
		printf(" %s", names.items[i]);
		free(names.items[i]);
	}
	vec_release(&names);
}

static void resolve_line(struct deb_universe *u, char *line)
{
	struct deb_answer answer = { 0 };
	struct error err = { 0 };
	VEC(char *) names = { 0 };
	char *save = NULL;

	printf("%s:", line);
	for (char *w = strtok_r(line, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
		vec_push(&names, w);
	if (resolve(u, names.items, names.len, &answer, &err) < 0) {
		printf(" FAILED\n");
		fprintf(stderr, "%s: %s\n", names.len ? names.items[0] : "", err.text);
	} else {
		print_sorted(u, &answer);
		printf("%s\n", answer.searched ? " (searched)" : "");
	}
	deb_answer_release(&answer);
	vec_release(&names);
}

static int one_set(struct deb_universe *u, char **names, size_t count)
{
	cleanup_deb_answer struct deb_answer answer = { 0 };
	struct error err = { 0 };

	if (resolve(u, names, count, &answer, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return error_exit_status(err.code);
	}
	for (size_t i = 0; i < answer.choices.len; i++) {
		const struct deb_package *p = &u->packages.items[answer.choices.items[i].package];

		printf("%.*s %.*s\n", (int)p->name.len, (const char *)p->name.data,
		       (int)p->version.len, (const char *)p->version.data);
	}
	return 0;
}

int main(int argc, char **argv)
{
	cleanup_free char *archs = xasprintf("%s,all", argc > 1 ? argv[1] : "amd64");
	cleanup_free char *native = xstrndup(archs, strcspn(archs, ","));
	cleanup_universe struct deb_universe u = { .arch = native };
	VEC(struct strbuf) texts = { 0 };
	struct error err = { 0 };
	char *line = NULL;
	size_t cap = 0;
	int i, rc = 0;

	for (char *c = archs; *c; c++)
		*c = *c == ',' ? ' ' : *c;
	for (i = 2; i < argc && !str_equal(argv[i], "--"); i++) {
		struct deb_index index = { .id = "os", .label_text = argv[i] };
		struct strbuf text = { 0 };

		if (fs_read(AT_FDCWD, argv[i], GIB, &text, &err) < 0 ||
		    deb_universe_add(&u, &index, strbuf_slice(&text), archs, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			return 3;
		}
		vec_push(&texts, text);
	}
	if (i + 1 < argc)
		rc = one_set(&u, argv + i + 1, (size_t)(argc - i - 1));
	while (i + 1 >= argc && getline(&line, &cap, stdin) > 0) {
		line[strcspn(line, "\n")] = 0;
		resolve_line(&u, line);
	}
	free(line);
	for (size_t k = 0; k < texts.len; k++)
		strbuf_release(&texts.items[k]);
	vec_release(&texts);
	return rc;
}
