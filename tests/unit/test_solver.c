#include "tests/support/test.h"

#include "base/vec.h"
#include "manifests/dotted.h"
#include "manifests/solver.h"

/*
 * The cases of tests/unit/solver.cases, line by line: what is asked (driver, gpus, cuda, cudnn,
 * nccl, python, compat, libraries, base, glibc, index, platform, or the name of a framework), then
 * what is expected.
 */
struct asked {
	struct stack_request request;
	const char *gpus[16];
	struct stack_pair frameworks[8];
	const char *base, *glibc, *flavour;
	bool arm64;
};

struct expectation {
	char *what, *value;
};

struct solver_case {
	char *name;
	struct asked asked;
	struct expectation expected[16];
	size_t expected_count;
};

static enum stack_compat compat_of(const char *value)
{
	return str_equal(value, "always")  ? COMPAT_ALWAYS
	       : str_equal(value, "never") ? COMPAT_NEVER
					   : COMPAT_AUTO;
}

static void add_gpus(struct asked *a, struct arena *arena, const char *value)
{
	struct slice rest = slice_str(value), piece;

	a->request.gpus.items = a->gpus;
	while (slice_cut(&rest, ' ', &piece)) {
		assert_true(a->request.gpus.count < ARRAY_LEN(a->gpus));
		a->gpus[a->request.gpus.count++] = arena_slice(arena, piece);
	}
}

static void add_line(struct solver_case *c, struct arena *arena, const char *key, const char *value)
{
	struct asked *a = &c->asked;

	if (str_equal(key, "driver"))
		a->request.driver = value;
	else if (str_equal(key, "gpus"))
		add_gpus(a, arena, value);
	else if (str_equal(key, "cuda"))
		a->request.cuda = value;
	else if (str_equal(key, "cudnn"))
		a->request.cudnn = value;
	else if (str_equal(key, "nccl"))
		a->request.nccl = value;
	else if (str_equal(key, "python"))
		a->request.python = value;
	else if (str_equal(key, "compat"))
		a->request.compat = compat_of(value);
	else if (str_equal(key, "libraries"))
		a->request.libraries = LIBRARIES_SYSTEM;
	else if (str_equal(key, "base"))
		a->base = value;
	else if (str_equal(key, "glibc"))
		a->glibc = value;
	else if (str_equal(key, "index")) /* a package index, or one of such builds */
		a->flavour = str_equal(value, "default") ? "" : value;
	else if (str_equal(key, "platform"))
		a->arm64 = str_equal(value, "linux/arm64");
	else {
		assert_true(a->request.framework.count < ARRAY_LEN(a->frameworks));
		a->request.framework.items = a->frameworks;
		a->frameworks[a->request.framework.count++] =
			(struct stack_pair){ .key = key, .value = value };
	}
}

static bool is_service(const struct solution *s, const char *value)
{
	struct slice rest = slice_str(value), driver = { 0 };

	slice_cut(&rest, ' ', &driver);
	for (size_t i = 0; i < s->branch_count; i++) {
		const struct solver_branch *b = &s->branches[i];

		if ((b->is_floor && slice_is(driver, "floor")) ||
		    (!b->is_floor && slice_is(driver, b->driver)))
			return slice_is(rest, driver_service_name(b->service));
	}
	return false;
}

static bool is_gpu_verdict(const struct solution *s, const char *value)
{
	struct slice rest = slice_str(value), gpu = { 0 };

	slice_cut(&rest, ' ', &gpu);
	for (size_t i = 0; i < s->gpu_count; i++) {
		if (slice_is(gpu, s->gpus[i].target.text))
			return slice_is(rest, gpu_service_name(s->gpus[i].verdict.service));
	}
	return false;
}

static bool any_holds(const struct solver_sentences *list, const char *part)
{
	for (size_t i = 0; i < list->len; i++) {
		if (strstr(list->items[i].text, part))
			return true;
	}
	return false;
}

static bool has_build(const struct solution *s, const char *what, const char *value)
{
	for (size_t i = 0; i < s->choice.build_count; i++) {
		const struct framework_build *b = s->choice.builds[i];

		if (str_equal(b->framework, what)) {
			cleanup_free char *full = xasprintf("%s %s", b->version, b->flavour);

			return str_equal(b->version, value) || str_equal(full, value);
		}
	}
	return false;
}

static bool text_is(const char *text, const char *value)
{
	return str_equal(text ? text : "none", value);
}

static bool conflict_is(const struct solution *s, const char *value)
{
	cleanup_strbuf struct strbuf keys = { 0 };

	for (size_t i = 0; i < s->conflict_count; i++)
		strbuf_addf(&keys, "%s%s", i ? " " : "", s->conflict[i].key);
	return !s->solved && str_equal(strbuf_text(&keys), value);
}

static bool has_repair(const struct solution *s, const char *value)
{
	for (size_t i = 0; i < s->repairs.len; i++) {
		cleanup_free char *text =
			xasprintf("%s %s", s->repairs.items[i].key,
				  s->repairs.items[i].value ? s->repairs.items[i].value : "out");

		if (str_equal(text, value))
			return true;
	}
	return false;
}

static bool is_met(const struct solution *s, const char *what, const char *value)
{
	if (str_equal(what, "conflict"))
		return conflict_is(s, value);
	if (str_equal(what, "repair"))
		return has_repair(s, value);
	if (str_equal(what, "because"))
		return any_holds(&s->reasons, value);
	if (!s->solved)
		return false;
	if (str_equal(what, "cuda"))
		return text_is(s->choice.toolkit ? s->choice.toolkit->version : NULL, value);
	if (str_equal(what, "cudnn"))
		return text_is(s->choice.cudnn, value);
	if (str_equal(what, "nccl"))
		return text_is(s->choice.nccl, value);
	if (str_equal(what, "python"))
		return text_is(s->choice.python, value);
	if (str_equal(what, "compat"))
		return str_equal(s->choice.compat ? "yes" : "no", value);
	if (str_equal(what, "require"))
		return str_equal(s->require_cuda, value);
	if (str_equal(what, "driver"))
		return is_service(s, value);
	if (str_equal(what, "gpu"))
		return is_gpu_verdict(s, value);
	if (str_equal(what, "says"))
		return any_holds(&s->sentences, value);
	if (str_equal(what, "warns"))
		return any_holds(&s->warnings, value);
	return has_build(s, what, value);
}

/* What was answered, for a case that fails. */
static char *answer_of(const struct solution *s)
{
	struct strbuf b = { 0 };

	for (size_t i = 0; i < s->choice.build_count; i++)
		strbuf_addf(&b, "%s %s %s; ", s->choice.builds[i]->framework,
			    s->choice.builds[i]->version, s->choice.builds[i]->flavour);
	if (s->solved)
		strbuf_addf(&b, "cuda %s, cudnn %s, nccl %s, python %s, compat %d, require %s",
			    s->choice.toolkit ? s->choice.toolkit->version : "none",
			    s->choice.cudnn ? s->choice.cudnn : "none",
			    s->choice.nccl ? s->choice.nccl : "none",
			    s->choice.python ? s->choice.python : "none", s->choice.compat,
			    s->require_cuda);
	for (size_t i = 0; i < s->gpu_count; i++)
		strbuf_addf(&b, "\n  %s", s->gpus[i].sentence);
	for (size_t i = 0; i < s->warnings.len; i++)
		strbuf_addf(&b, "\n  warns: %s", s->warnings.items[i].text);
	for (size_t i = 0; i < s->conflict_count; i++)
		strbuf_addf(&b, "\n  conflict: %s", s->conflict[i].key);
	for (size_t i = 0; i < s->reasons.len; i++)
		strbuf_addf(&b, "\n  because: %s", s->reasons.items[i].text);
	for (size_t i = 0; i < s->repairs.len; i++)
		strbuf_addf(&b, "\n  repair: %s", s->repairs.items[i].sentence);
	return strbuf_steal(&b);
}

static int run_case(const struct tables *tables, const struct solver_case *c)
{
	struct solver_request request = { .stack = &c->asked.request,
					  .base_image = c->asked.base,
					  .glibc = c->asked.glibc,
					  .flavour = c->asked.flavour,
					  .amd64 = !c->asked.arm64,
					  .arm64 = c->asked.arm64 };
	cleanup_solution struct solution s = { 0 };
	struct error err = { 0 };
	int bad = 0;

	if (solver_find(tables, &request, &s, &err) < 0) {
		for (size_t i = 0; i < c->expected_count; i++)
			bad += !str_equal(c->expected[i].what, "refused") ||
			       !strstr(err.text, c->expected[i].value);
		if (bad)
			print_message("case %s: refused: %s\n", c->name, err.text);
		return bad;
	}
	for (size_t i = 0; i < c->expected_count; i++) {
		if (!is_met(&s, c->expected[i].what, c->expected[i].value)) {
			print_message("case %s: expected %s %s\n", c->name, c->expected[i].what,
				      c->expected[i].value);
			bad++;
		}
	}
	if (bad) {
		cleanup_free char *answer = answer_of(&s);

		print_message("  %s\n", answer);
	}
	return bad;
}

/* Runs a file of cases; gives how many there were. */
static size_t run_cases(const char *file, const char *required)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_tables struct tables tables = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct solver_case c = { 0 };
	struct error err = { 0 };
	struct slice rest, line;
	size_t count = 0, with_required = 0;
	bool has_required = false;
	int bad = 0;

	assert_ok(tables_load(NULL, &tables, &err), err);
	assert_ok(fs_read(AT_FDCWD, file, MIB, &text, &err), err);
	strbuf_adds(&text, "\ncase end\n");
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		struct slice value, word;

		line = slice_trim(line);
		if (!line.len || line.data[0] == '#')
			continue;
		value = line;
		slice_cut(&value, ' ', &word);
		if (slice_is(word, "case")) {
			if (c.name) {
				assert_true(c.expected_count > 0);
				bad += run_case(&tables, &c);
				with_required += has_required;
				count++;
			}
			memset(&c, 0, sizeof(c));
			c.name = arena_slice(&arena, value);
			has_required = false;
		} else if (required && slice_is(word, required)) {
			has_required = true;
		} else if (slice_is(word, "expect")) {
			struct expectation *e = &c.expected[c.expected_count++];

			assert_true(c.expected_count < ARRAY_LEN(c.expected));
			slice_cut(&value, ' ', &word);
			e->what = arena_slice(&arena, word);
			e->value = value.data ? arena_slice(&arena, slice_trim(value))
					      : arena_strdup(&arena, "");
		} else {
			add_line(&c, &arena, arena_slice(&arena, word),
				 arena_slice(&arena, slice_trim(value)));
		}
	}
	assert_int_equal(bad, 0);
	if (required)
		assert_int_equal(with_required, count);
	return count;
}

static void test_every_case_is_answered_as_expected(void **state)
{
	(void)state;
	assert_true(run_cases("tests/unit/solver.cases", NULL) >= 60);
}

static void test_answers_agree_with_the_published_tables(void **state)
{
	(void)state;
	assert_true(run_cases("tests/unit/solver_published.cases", "source") >= 20);
}

static struct solution solve(const struct tables *tables, const struct stack_request *request)
{
	struct solver_request r = { .stack = request, .amd64 = true };
	struct solution s;
	struct error err = { 0 };

	assert_ok(solver_find(tables, &r, &s, &err), err);
	return s;
}

static void test_the_same_question_has_the_same_answer(void **state)
{
	const char *gpus[] = { "h100" };
	struct stack_pair torch = { "torch", "2.*" };
	struct stack_request r = { .driver = ">=535",
				   .gpus = { gpus, 1 },
				   .framework = { &torch, 1 } };
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	for (int i = 0; i < 2; i++) {
		cleanup_solution struct solution a = solve(&tables, &r), b = solve(&tables, &r);
		cleanup_free char *x = answer_of(&a), *y = answer_of(&b);

		assert_string_equal(x, y);
	}
}

static void test_every_sentence_names_a_row(void **state)
{
	const char *gpus[] = { "h100", "v100" };
	struct stack_pair torch = { "torch", "2.7.*" };
	struct stack_request r = { .driver = ">=535",
				   .gpus = { gpus, 2 },
				   .framework = { &torch, 1 } };
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	cleanup_solution struct solution s = solve(&tables, &r);
	assert_true(s.solved);
	for (size_t i = 0; i < s.sentences.len; i++) {
		assert_true(s.sentences.items[i].origin_count > 0);
		assert_true(*s.sentences.items[i].origins[0].source);
	}
	for (size_t i = 0; i < s.warnings.len; i++)
		assert_true(s.warnings.items[i].origin_count > 0);
}

static void test_every_repair_that_is_offered_solves(void **state)
{
	const char *gpus[] = { "h100" };
	struct stack_pair torch = { "torch", "2.9.*" };
	struct stack_request r = { .driver = ">=470",
				   .gpus = { gpus, 1 },
				   .framework = { &torch, 1 } };
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	cleanup_solution struct solution s = solve(&tables, &r);
	assert_false(s.solved);
	assert_true(s.repairs.len >= 2);
	for (size_t i = 0; i < s.repairs.len; i++) {
		const struct solver_repair *repair = &s.repairs.items[i];
		struct stack_pair changed = torch;
		struct stack_request q = r;

		q.framework.items = &changed;
		if (str_equal(repair->key, "driver"))
			q.driver = repair->value;
		else
			changed.value = repair->value;
		cleanup_solution struct solution t = solve(&tables, &q);
		assert_true(t.solved);
	}
}

/* What the clauses of a request are, so that some can be left out. */
struct combination {
	const char *driver, *gpu, *cuda, *torch, *jax;
};

static struct solution solve_combination(const struct tables *tables, const struct combination *c)
{
	struct stack_request r = { .driver = c->driver, .cuda = c->cuda };
	struct stack_pair frameworks[2];
	const char *gpus[1] = { c->gpu };

	r.gpus = (struct stack_texts){ gpus, c->gpu ? 1 : 0 };
	r.framework.items = frameworks;
	if (c->torch)
		frameworks[r.framework.count++] = (struct stack_pair){ "torch", c->torch };
	if (c->jax)
		frameworks[r.framework.count++] = (struct stack_pair){ "jax", c->jax };
	return solve(tables, &r);
}

/* The clause of that key, or NULL. */
static const char **member(struct combination *c, const char *key)
{
	return str_equal(key, "driver")            ? &c->driver
	       : str_equal(key, "gpus")            ? &c->gpu
	       : str_equal(key, "cuda")            ? &c->cuda
	       : str_equal(key, "framework.torch") ? &c->torch
	       : str_equal(key, "framework.jax")   ? &c->jax
						   : NULL;
}

static void check_solved(const struct tables *tables, const struct combination *c,
			 const struct solution *s)
{
	const struct toolkit *t = s->choice.toolkit;

	if (c->cuda)
		assert_true(dotted_in(t->version, c->cuda));
	if (c->driver) {
		assert_int_not_equal(s->branches[0].service, SERVICE_IMPOSSIBLE);
		assert_int_equal(s->choice.compat && s->branches[0].service < SERVICE_MINOR,
				 s->branches[0].service == SERVICE_FORWARD);
	}
	if (c->gpu)
		assert_int_not_equal(s->gpus[0].verdict.service, GPU_NONE);
	for (size_t i = 0; i < s->choice.build_count; i++) {
		const struct framework_build *b = s->choice.builds[i];

		assert_true(dotted_in(b->version, b->framework[0] == 't' ? c->torch : c->jax));
		assert_true(dotted_in(t->version, b->cuda));
		assert_true(!b->cudnn || dotted_in(s->choice.cudnn, b->cudnn));
		assert_true(!b->nccl || dotted_in(s->choice.nccl, b->nccl));
	}
	(void)tables;
}

/* The set clashes, and without any one of its clauses it does not. */
static void check_conflict(const struct tables *tables, const struct combination *c,
			   const struct solution *s)
{
	struct combination only = { 0 };

	assert_true(s->conflict_count > 0 && s->reasons.len > 0);
	for (size_t i = 0; i < s->reasons.len; i++)
		assert_true(s->reasons.items[i].origin_count > 0);
	for (size_t i = 0; i < s->conflict_count; i++)
		*member(&only, s->conflict[i].key) =
			*member((struct combination *)c, s->conflict[i].key);
	{
		cleanup_solution struct solution all = solve_combination(tables, &only);

		assert_false(all.solved);
	}
	for (size_t i = 0; i < s->conflict_count; i++) {
		struct combination less = only;

		*member(&less, s->conflict[i].key) = NULL;
		cleanup_solution struct solution part = solve_combination(tables, &less);
		assert_true(part.solved);
	}
}

static void check_repairs(const struct tables *tables, const struct combination *c,
			  const struct solution *s)
{
	assert_true(s->repairs.len > 0);
	for (size_t i = 0; i < s->repairs.len; i++) {
		struct combination changed = *c;
		const char *key = s->repairs.items[i].key;

		if (str_starts(key, "gpus: "))
			changed.gpu = NULL;
		else if (member(&changed, key))
			*member(&changed, key) = s->repairs.items[i].value;
		else
			continue; /* two clauses at once */
		cleanup_solution struct solution t = solve_combination(tables, &changed);
		assert_true(t.solved);
	}
}

static void test_answers_hold_conflicts_are_minimal_and_repairs_work(void **state)
{
	static const char *const drivers[] = { NULL, ">=470", ">=535", ">=590" },
				 *const gpus[] = { NULL, "v100", "b200", "rtx4090" },
				 *const cudas[] = { NULL, "11.8", "12.6", "13" },
				 *const torches[] = { NULL, "2.5.*", "2.7.*", "2.12.*" },
				 *const jaxes[] = { NULL, "0.4.30", "0.8.*" };
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };
	size_t solved = 0, clashing = 0;

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	for (size_t i = 0; i < 4 * 4 * 4 * 4 * 3; i++) {
		struct combination c = { drivers[i % 4], gpus[i / 4 % 4], cudas[i / 16 % 4],
					 torches[i / 64 % 4], jaxes[i / 256] };
		cleanup_solution struct solution s = solve_combination(&tables, &c);

		if (s.solved && s.choice.toolkit)
			check_solved(&tables, &c, &s);
		if (!s.solved) {
			check_conflict(&tables, &c, &s);
			check_repairs(&tables, &c, &s);
		}
		solved += s.solved;
		clashing += !s.solved;
	}
	assert_true(solved > 100 && clashing > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_case_is_answered_as_expected),
		cmocka_unit_test(test_answers_agree_with_the_published_tables),
		cmocka_unit_test(test_the_same_question_has_the_same_answer),
		cmocka_unit_test(test_every_sentence_names_a_row),
		cmocka_unit_test(test_every_repair_that_is_offered_solves),
		cmocka_unit_test(test_answers_hold_conflicts_are_minimal_and_repairs_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
