#include "tests/support/test.h"

#include "base/strbuf.h"
#include "formats/json.h"
#include "manifests/embedded.h"
#include "manifests/matrix.h"
#include "manifests/solver.h"

/* A folder with a copy of the tables. */
static char *copied_tables(void)
{
	char *dir = test_dir();
	struct error err = { 0 };

	for (size_t i = 0; i < embedded_count; i++) {
		const struct embedded *f = &embedded_files[i];
		cleanup_free char *path = xasprintf("%s/%s", dir, f->name);

		assert_ok(fs_write(AT_FDCWD, path, embedded_file(f->name), 0644, &err), err);
	}
	return dir;
}

static json_t *read_table(const char *dir, const char *file)
{
	cleanup_free char *path = xasprintf("%s/%s", dir, file);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };
	json_t *root;

	assert_ok(fs_read(AT_FDCWD, path, MIB, &text, &err), err);
	assert_ok(json_parse(strbuf_slice(&text), &root, &err), err);
	return root;
}

static void write_table(const char *dir, const char *file, json_t *root)
{
	cleanup_free char *path = xasprintf("%s/%s", dir, file);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	json_pretty(root, &text);
	assert_ok(fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, &err), err);
	json_decref(root);
}

/* Replace the member of a row by a JSON text; "" takes it away. */
static void change_row(const char *dir, const char *file, const char *section, size_t row,
		       const char *key, const char *value)
{
	json_t *root = read_table(dir, file), *json;
	json_t *object = json_array_get(json_object_get(root, section), row);
	struct error err = { 0 };

	assert_non_null(object);
	if (*value) {
		cleanup_free char *wrapped = xasprintf("[%s]", value);

		assert_ok(json_parse(slice_str(wrapped), &json, &err), err);
		json_object_set(object, key, json_array_get(json, 0));
		json_decref(json);
	} else {
		json_object_del(object, key);
	}
	write_table(dir, file, root);
}

/* Append a row to a list of a table. */
static void add_row(const char *dir, const char *file, const char *section, const char *row)
{
	json_t *root = read_table(dir, file), *json;
	struct error err = { 0 };

	assert_ok(json_parse(slice_str(row), &json, &err), err);
	json_push(json_object_get(root, section), json);
	write_table(dir, file, root);
}

static void test_the_tables_are_consistent(void **state)
{
	cleanup_tables struct tables tables = { 0 };
	cleanup_tables_faults struct tables_faults faults = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	tables_check(&tables, &faults);
	for (size_t i = 0; i < faults.len; i++)
		print_message("%s: %s: %s\n", faults.items[i].file, faults.items[i].row,
			      faults.items[i].text);
	assert_int_equal(faults.len, 0);
}

static void test_a_folder_of_tables_is_read_like_the_program_s_own(void **state)
{
	cleanup_test_dir char *dir = copied_tables();
	cleanup_tables struct tables own = { 0 }, copy = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &own, &err), err);
	assert_ok(tables_load(dir, &copy, &err), err);
	assert_int_equal(own.toolkits.count, copy.toolkits.count);
	assert_int_equal(own.frameworks.builds.len, copy.frameworks.builds.len);
}

static void test_a_missing_folder_says_which_file(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct tables tables;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(tables_load(dir, &tables, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "cuda-toolkits.json");
}

static void test_a_bad_row_is_named_with_its_file(void **state)
{
	static const struct {
		const char *file, *section;
		size_t row;
		const char *key, *value, *says;
	} cases[] = {
		{ "cuda-toolkits.json", "toolkits", 3, "version", "",
		  "cuda-toolkits.json: toolkits: row 3: version: is missing" },
		{ "cuda-toolkits.json", "toolkits", 3, "major", "\"x\"",
		  "major: is not a whole number" },
		{ "cuda-toolkits.json", "toolkits", 3, "version", "\"1.2.x\"", "is not a version" },
		{ "cuda-toolkits.json", "majors", 1, "min_driver_linux_x86_64", "null",
		  "majors: 11: min_driver_linux_x86_64: is missing" },
		{ "driver-branches.json", "branches", 5, "branch", "-4",
		  "branch: is not a whole number" },
		{ "driver-branches.json", "branches", 5, "native_cuda", "12.2",
		  "native_cuda: is not a text" },
		{ "forward-compat.json", "packages", 0, "host_branches", "\"535\"",
		  "cuda-compat-13-4: host_branches: is not a list" },
		{ "gpu-archs.json", "archs", 2, "products", "{}",
		  "gpu-archs.json: archs: sm_32: products: is not a list" },
		{ "gpu-archs.json", "archs", 2, "products", "[{\"name\":\"x\",\"class\":\"toy\"}]",
		  "'toy' is not a class" },
		{ "cudnn.json", "releases", 0, "cuda_majors", "[]",
		  "cudnn.json: releases: 8.0.0.180: cuda_majors: is empty" },
		{ "nccl.json", "releases", 0, "cuda_majors_source_build", "[\"12\"]",
		  "item 0 is not a whole number" },
		{ "torch.json", "releases", 4, "builds", "null",
		  "torch.json: releases: 2.1.1: builds: is not an object" },
		{ "torch.json", "releases", 4, "python", "7", "python: is not an object" },
		{ "tensorflow.json", "releases", 0, "tested_cuda", "",
		  "tensorflow.json: releases: 2.21: tested_cuda: is missing" },
		{ "jax.json", "releases", 0, "extras", "[]",
		  "jax.json: releases: 0.4.18: extras: is not an object" },
		{ "ngc-frameworks.json", "pytorch", 0, "cuda", "\"new\"",
		  "ngc-frameworks.json: pytorch: 19.05: cuda" },
		{ "known-bad.json", "rows", 0, "when", "",
		  "known-bad.json: rows: cudnn-9.10.0: when" },
		{ "known-bad.json", "rows", 0, "level", "\"no\"", "neither avoid nor warn" },
		{ "base-images.json", "rows", 0, "glibc", "true",
		  "base-images.json: rows: bullseye: glibc" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_dir char *dir = copied_tables();
		struct tables tables;
		struct error err = { 0 };

		change_row(dir, cases[i].file, cases[i].section, cases[i].row, cases[i].key,
			   cases[i].value);
		assert_int_equal(tables_load(dir, &tables, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, cases[i].file);
		assert_contains(err.text, cases[i].says);
	}
}

static void test_hostile_tables_are_refused(void **state)
{
	static const char *const texts[] = { "",
					     "[]",
					     "{",
					     "{\"toolkits\":{}}",
					     "null",
					     "{\"a\":1,\"a\":2}",
					     "{\"toolkits\":[1]}",
					     "\xff\xfe" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_test_dir char *dir = copied_tables();
		cleanup_free char *path = xasprintf("%s/cuda-toolkits.json", dir);
		struct tables tables;
		struct error err = { 0 };

		assert_ok(fs_write(AT_FDCWD, path, slice_str(texts[i]), 0644, &err), err);
		assert_int_equal(tables_load(dir, &tables, &err), -1);
		assert_contains(err.text, "cuda-toolkits.json");
	}
}

static void test_what_does_not_hold_is_found(void **state)
{
	static const struct {
		const char *file, *section;
		size_t row;
		const char *key, *value, *says;
	} cases[] = {
		{ "cuda-toolkits.json", "majors", 2, "min_driver_linux_x86_64", "\"440.1\"",
		  "is not above that of CUDA 11" },
		{ "cuda-toolkits.json", "toolkits", 30, "driver_branch", "123", "no branch 123" },
		{ "cuda-toolkits.json", "toolkits", 30, "src", "[\"NOWHERE\"]",
		  "'NOWHERE' is no key of sources" },
		{ "driver-branches.json", "branches", 20, "native_cuda", "\"9.9\"",
		  "no toolkit 9.9" },
		{ "driver-branches.json", "branches", 20, "native_cuda", "\"11.0\"",
		  "is not above" },
		{ "forward-compat.json", "packages", 3, "host_branches", "[535,999]",
		  "no branch 999" },
		{ "forward-compat.json", "packages", 3, "built_from_branch", "580",
		  "whose CUDA is 13.0" },
		{ "gpu-archs.json", "archs", 16, "last_driver_branch", "333", "no branch 333" },
		{ "gpu-archs.json", "archs", 16, "first_cuda", "\"12.99\"", "no toolkit 12.99" },
		{ "ngc-frameworks.json", "pytorch", 8, "cuda", "\"12.99\"", "no toolkit 12.99" },
		{ "known-bad.json", "rows", 0, "id", "\"other\"", "'cudnn-9.10.0' has no row" },
		{ "gpu-archs.json", "families", 0, "members", "[\"sm_100\"]",
		  "family sm_10x does not list it" },
		{ "gpu-archs.json", "families", 0, "members",
		  "[\"sm_100\",\"sm_999\",\"sm_103\",\"sm_107\"]", "no architecture sm_999" },
		{ "gpu-archs.json", "archs", 11, "last_cuda", "null", "CUDA 13.0 removed it" },
		{ "gpu-archs.json", "archs", 11, "last_driver_branch", "575",
		  "Volta ends with 580" },
		{ "forward-compat.json", "packages", 0, "host_branches", "[535]",
		  "is compatible, but not in host_branches" },
		{ "torch.json", "releases", 3, "indexes", "[\"cu118\"]",
		  "build cu121 is in no index" },
		{ "cudnn.json", "support_matrix", 0, "cuda", "[\"11.99\"]", "no toolkit 11.99" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_dir char *dir = copied_tables();
		cleanup_tables struct tables tables = { 0 };
		cleanup_tables_faults struct tables_faults faults = { 0 };
		struct error err = { 0 };
		bool found = false;

		change_row(dir, cases[i].file, cases[i].section, cases[i].row, cases[i].key,
			   cases[i].value);
		assert_ok(tables_load(dir, &tables, &err), err);
		tables_check(&tables, &faults);
		for (size_t k = 0; k < faults.len; k++)
			found |= strstr(faults.items[k].text, cases[i].says) != NULL;
		if (!found)
			print_message("not found: %s\n", cases[i].says);
		assert_true(found);
	}
}

static void test_an_unused_source_is_found(void **state)
{
	cleanup_test_dir char *dir = copied_tables();
	json_t *root = read_table(dir, "gpu-archs.json");
	cleanup_tables struct tables tables = { 0 };
	cleanup_tables_faults struct tables_faults faults = { 0 };
	struct error err = { 0 };

	(void)state;
	json_put(json_object_get(root, "sources"), "LOST", json_text("https://example.org/"));
	write_table(dir, "gpu-archs.json", root);
	assert_ok(tables_load(dir, &tables, &err), err);
	tables_check(&tables, &faults);
	assert_int_equal(faults.len, 1);
	assert_contains(faults.items[0].text, "no row uses 'LOST'");
}

/* CUDA 14, driver branch 700 and an architecture that do not exist: data only. */
static char *tables_of_the_future(void)
{
	char *dir = copied_tables();
	json_t *root;

	add_row(dir, "cuda-toolkits.json", "majors",
		"{\"major\":14,\"minor_version_compat\":true,\"min_driver_branch\":700,"
		"\"min_driver_linux_x86_64\":\"700.10.01\",\"src\":[\"MVC\"]}");
	add_row(dir, "cuda-toolkits.json", "toolkits",
		"{\"version\":\"14.0.0\",\"label\":\"14.0 "
		"GA\",\"major\":14,\"minor\":0,\"status\":\"ga\","
		"\"driver_branch\":700,\"min_driver_linux_x86_64\":\"700.10.01\",\"src\":[\"MVC\"]"
		"}");
	add_row(dir, "driver-branches.json", "branches",
		"{\"branch\":700,\"kind\":\"PB\",\"native_cuda\":\"14.0\",\"latest_seen_linux\":"
		"\"700.10.01\","
		"\"src\":[\"DC-620\"]}");
	add_row(dir, "forward-compat.json", "packages",
		"{\"package\":\"cuda-compat-14-0\",\"cuda\":\"14.0\",\"built_from_branch\":700,"
		"\"host_branches\":[580],\"src\":[\"FWD\"]}");
	add_row(dir, "gpu-archs.json", "archs",
		"{\"sm\":\"sm_130\",\"compute_capability\":\"13.0\",\"generation\":\"Future\","
		"\"products\":[{\"name\":\"F100\",\"class\":\"data-center\"}],\"first_cuda\":\"14."
		"0\","
		"\"src\":[\"PTX\"]}");
	add_row(dir, "gpu-archs.json", "ptx_isa_to_cuda", "{\"ptx\":\"10.0\",\"cuda\":\"14.0\"}");
	add_row(dir, "cudnn.json", "releases", "{\"version\":\"10.0.0.1\",\"cuda_majors\":[14]}");
	root = read_table(dir, "torch.json");
	json_put(json_object_get(json_array_get(json_object_get(root, "releases"), 27), "builds"),
		 "cu140",
		 json_pack("{s:s,s:s,s:[s],s:s}", "cuda_toolkit", "14.0.0", "cudnn", "10.0.0.1",
			   "sm_x86_64", "13.0", "pins_confidence", "observed"));
	json_put(json_array_get(json_object_get(root, "releases"), 27), "indexes",
		 json_pack("[s,s]", "cu132", "cu140"));
	write_table(dir, "torch.json", root);
	return dir;
}

static void test_a_new_cuda_is_a_change_of_data_only(void **state)
{
	cleanup_test_dir char *dir = tables_of_the_future();
	const char *gpus[] = { "f100" };
	struct stack_pair torch = { "torch", "2.*" };
	struct stack_request r = { .driver = ">=580", .gpus = { gpus, 1 }, .cuda = "14" };
	struct solver_request request = { .stack = &r, .amd64 = true };
	cleanup_tables struct tables tables = { 0 };
	cleanup_tables_faults struct tables_faults faults = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(dir, &tables, &err), err);
	tables_check(&tables, &faults);
	assert_int_equal(faults.len, 0);
	{
		cleanup_solution struct solution s = { 0 };

		assert_ok(solver_find(&tables, &request, &s, &err), err);
		assert_true(s.solved);
		assert_string_equal(s.choice.toolkit->version, "14.0.0");
		assert_true(s.choice.compat);
		assert_int_equal(s.branches[0].service, SERVICE_FORWARD);
		assert_string_equal(s.branches[s.branch_count - 1].driver, "700");
		assert_int_equal(s.branches[s.branch_count - 1].service, SERVICE_NATIVE);
		assert_int_equal(s.gpus[0].verdict.service, GPU_CODE);
	}
	r = (struct stack_request){ .driver = ">=700.10.01",
				    .gpus = { gpus, 1 },
				    .framework = { &torch, 1 } };
	{
		cleanup_solution struct solution s = { 0 };

		assert_ok(solver_find(&tables, &request, &s, &err), err);
		assert_true(s.solved);
		assert_string_equal(s.choice.builds[0]->flavour, "cu140");
		assert_string_equal(s.choice.cudnn, "10.0.0.1");
		assert_string_equal(s.require_cuda, "cuda>=14.0");
	}
}

static void test_gpus_are_found_by_their_names(void **state)
{
	static const char *const names[][2] = {
		{ "sm_90", "sm_90" },      { "sm_90a", "sm_90" },
		{ "compute_80", "sm_80" }, { "9.0", "sm_90" },
		{ "12.0", "sm_120" },      { "H100", "sm_90" },
		{ "nvidia-l4", "sm_89" },  { "RTX 4090", "sm_89" },
		{ "rtx4090", "sm_89" },    { "geforce-rtx-5090", "sm_120" },
		{ "Tesla T4", "sm_75" },   { "v100", "sm_70" },
		{ "dgx spark", "sm_121" }, { "gb10", "sm_121" },
		{ "agx orin", "sm_87" },
	};
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct gpu_target target;

		assert_ok(gpu_target_find(&tables.gpus, names[i][0], &target, &err), err);
		assert_string_equal(target.arch->sm, names[i][1]);
	}
}

static void test_unknown_gpus_are_refused(void **state)
{
	static const char *const names[] = { "",       "sm_", "sm_9",
					     "sm_90b", "90",  "compute_",
					     "nvidia", "rtx", "sm_999999999999",
					     "h 1 0" };
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct gpu_target target;

		assert_int_equal(gpu_target_find(&tables.gpus, names[i], &target, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
	}
}

static void test_ptx_versions_between_two_rows_follow_the_minor(void **state)
{
	static const char *const pairs[][2] = { { "12.0", "8.0" }, { "12.3", "8.3" },
						{ "12.5", "8.5" }, { "12.6", "8.5" },
						{ "12.8", "8.7" }, { "11.5", "7.5" },
						{ "13.2", "9.2" } };
	cleanup_arena struct arena arena = { 0 };
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		assert_string_equal(gpu_ptx_of(&tables.gpus, pairs[i][0], &arena), pairs[i][1]);
	assert_null(gpu_ptx_of(&tables.gpus, "10.2", &arena));
	assert_null(gpu_ptx_of(&tables.gpus, "99.0", &arena));
}

/* Whatever list or object a table loses: it is refused, or every use of it still ends well. */
static void use_emptied(const char *dir)
{
	const char *gpus[] = { "h100" };
	struct stack_pair torch = { "torch", ">=2" };
	struct stack_request r = { .driver = ">=535",
				   .gpus = { gpus, 1 },
				   .cuda = "12",
				   .cudnn = "9",
				   .nccl = "2",
				   .framework = { &torch, 1 } };
	struct solver_request request = { .stack = &r, .amd64 = true };
	struct matrix_query overview = { 0 },
			    pair = { .driver = "535", .cuda = "12.6", .gpu = "h100" };
	cleanup_tables struct tables tables = { 0 };
	cleanup_tables_faults struct tables_faults faults = { 0 };
	cleanup_matrix struct matrix_answer answer = { 0 }, other = { 0 };
	cleanup_solution struct solution s = { 0 };
	struct error err = { 0 };

	if (tables_load(dir, &tables, &err) < 0)
		return;
	tables_check(&tables, &faults);
	ignore_result(matrix_ask(&tables, &overview, &answer, &err) < 0);
	ignore_result(matrix_ask(&tables, &pair, &other, &err) < 0);
	ignore_result(solver_find(&tables, &request, &s, &err) < 0);
}

static void test_an_emptied_list_harms_nothing(void **state)
{
	cleanup_test_dir char *dir = copied_tables();
	size_t emptied = 0;

	(void)state;
	for (size_t i = 0; i < embedded_count; i++) {
		const char *file = embedded_files[i].name, *key;
		json_t *root, *value;

		if (!str_ends(file, ".json") || str_equal(file, "require-strings.json"))
			continue;
		root = read_table(dir, file);
		json_object_foreach(root, key, value)
		{
			json_t *less = json_copy(root);

			if (json_is_array(value) || json_is_object(value)) {
				json_put(less, key,
					 json_is_array(value) ? json_array() : json_object());
				write_table(dir, file, json_incref(less));
				use_emptied(dir);
				emptied++;
			}
			json_decref(less);
		}
		write_table(dir, file, root);
	}
	assert_true(emptied > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_tables_are_consistent),
		cmocka_unit_test(test_a_folder_of_tables_is_read_like_the_program_s_own),
		cmocka_unit_test(test_a_missing_folder_says_which_file),
		cmocka_unit_test(test_a_bad_row_is_named_with_its_file),
		cmocka_unit_test(test_hostile_tables_are_refused),
		cmocka_unit_test(test_what_does_not_hold_is_found),
		cmocka_unit_test(test_an_unused_source_is_found),
		cmocka_unit_test(test_a_new_cuda_is_a_change_of_data_only),
		cmocka_unit_test(test_an_emptied_list_harms_nothing),
		cmocka_unit_test(test_gpus_are_found_by_their_names),
		cmocka_unit_test(test_unknown_gpus_are_refused),
		cmocka_unit_test(test_ptx_versions_between_two_rows_follow_the_minor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
