#include "tests/support/test.h"

#include "base/pool.h"

struct square {
	struct pool_job job;
	unsigned in, out;
};

static void run_square(struct pool_job *job)
{
	struct square *s = (struct square *)job;

	s->out = s->in * s->in;
}

static void test_every_job_is_done_once_waited_for(void **state)
{
	enum { COUNT = 500 };
	cleanup_pool struct pool *p = pool_new(4);
	cleanup_free struct square *jobs = xcalloc(COUNT, sizeof(*jobs));

	(void)state;
	assert_int_equal(pool_threads(p), 4);
	for (unsigned i = 0; i < COUNT; i++) {
		jobs[i] = (struct square){ .job.run = run_square, .in = i };
		pool_submit(p, &jobs[i].job);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		pool_wait(p, &jobs[i].job);
		assert_int_equal(jobs[i].out, i * i);
	}
}

static void test_a_job_may_be_used_again(void **state)
{
	cleanup_pool struct pool *p = pool_new(2);
	struct square s = { .job.run = run_square };

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		s.in = i;
		pool_submit(p, &s.job);
		pool_wait(p, &s.job);
		assert_int_equal(s.out, i * i);
	}
}

struct place {
	struct pool_job job;
	unsigned *next; /* of one thread only */
	unsigned at;
};

static void take_place(struct pool_job *job)
{
	struct place *s = (struct place *)job;

	s->at = (*s->next)++;
}

static void test_jobs_start_in_the_order_of_submission(void **state)
{
	cleanup_pool struct pool *p = pool_new(1);
	struct place jobs[50];
	unsigned next = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = (struct place){ .job.run = take_place, .next = &next };
		pool_submit(p, &jobs[i].job);
	}
	for (size_t i = ARRAY_LEN(jobs); i > 0; i--)
		pool_wait(p, &jobs[i - 1].job);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		assert_int_equal(jobs[i].at, i);
}

static void test_freeing_waits_for_what_was_submitted(void **state)
{
	struct square jobs[20] = { 0 };
	struct pool *p = pool_new(3);

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = (struct square){ .job.run = run_square, .in = i + 1 };
		pool_submit(p, &jobs[i].job);
	}
	pool_join(p);
	for (unsigned i = 0; i < ARRAY_LEN(jobs); i++)
		assert_int_equal(jobs[i].out, (i + 1) * (i + 1));
	pool_join(NULL);
}

static void test_there_are_as_many_threads_as_processors(void **state)
{
	cleanup_pool struct pool *p = pool_new(0);

	(void)state;
	assert_in_range(pool_processors(), 1, 64);
	assert_int_equal(pool_threads(p), pool_processors());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_job_is_done_once_waited_for),
		cmocka_unit_test(test_a_job_may_be_used_again),
		cmocka_unit_test(test_jobs_start_in_the_order_of_submission),
		cmocka_unit_test(test_freeing_waits_for_what_was_submitted),
		cmocka_unit_test(test_there_are_as_many_threads_as_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
