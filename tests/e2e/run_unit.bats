# The sums of tests/run-unit are those of the programs it ran.

load common

setup() {
	work
	need cc
	echo '#include <cmocka.h>' | cc -fsyntax-only -include stdarg.h -include stddef.h -include setjmp.h -include stdint.h -x c - || skip "cmocka is not installed"
}

# A program of tests that are called by what they do.
program() { # NAME TEST…
	local name=$1
	shift
	{
		cat <<-'EOF'
			#include <setjmp.h>
			#include <stdarg.h>
			#include <stddef.h>
			#include <stdint.h>
			#include <stdlib.h>
			#include <cmocka.h>
			#define TEST(name) __attribute__((unused)) static void name(void **state)
			TEST(good) { (void)state; }
			TEST(also_good) { (void)state; }
			TEST(bad) { (void)state; fail(); }
			TEST(also_bad) { (void)state; assert_int_equal(1, 2); }
			TEST(ends) { (void)state; _Exit(3); }
			TEST(not_here) { (void)state; skip(); }
			static int no_setup(void **state) { (void)state; return -1; }
			TEST(without_setup) { (void)state; }
			#define good_test cmocka_unit_test(good)
			#define also_good_test cmocka_unit_test(also_good)
			#define bad_test cmocka_unit_test(bad)
			#define also_bad_test cmocka_unit_test(also_bad)
			#define not_here_test cmocka_unit_test(not_here)
			#define ends_test cmocka_unit_test(ends)
			#define without_setup_test cmocka_unit_test_setup(without_setup, no_setup)
			int main(void) {
				(void)no_setup;
				const struct CMUnitTest tests[] = {
		EOF
		printf '%s_test, ' "$@"
		echo '}; return cmocka_run_group_tests(tests, NULL, NULL); }'
	} >"$name.c"
	cc -o "$name" "$name.c" -lcmocka
}

@test "each test that fails is counted once, and its program's report shown" {
	program all_good good not_here also_good
	program mixed good bad also_bad
	program unset good without_setup
	program cut_short good ends bad
	run -0 "$ROOT/tests/run-unit" ./all_good
	[ "$output" = "unit: 2 passed, 0 failed, 1 skipped" ]
	run -1 "$ROOT/tests/run-unit" ./mixed ./all_good
	[ "${lines[-1]}" = "unit: 3 passed, 2 failed, 1 skipped" ]
	[[ "$output" == "--- ./mixed"*"0x1 != 0x2"* && "$output" != *all_good* ]]
	run -1 "$ROOT/tests/run-unit" ./unset
	[ "${lines[-1]}" = "unit: 1 passed, 1 failed, 0 skipped" ]
	run -1 "$ROOT/tests/run-unit" ./cut_short ./mixed
	[ "${lines[-1]}" = "unit: 2 passed, 3 failed, 0 skipped" ]
	run -1 "$ROOT/tests/run-unit" ./not-there
	[ "${lines[-1]}" = "unit: 0 passed, 1 failed, 0 skipped" ]
}
