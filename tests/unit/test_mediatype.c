#include "tests/support/test.h"

#include "oci/mediatype.h"

static void test_types_know_kind_compression_and_family(void **state)
{
	const struct mediatype *t = mediatype_find(MEDIATYPE_DOCKER_LAYER_GZIP);

	(void)state;
	assert_non_null(t);
	assert_int_equal(t->kind, MEDIA_LAYER);
	assert_int_equal(t->compression, COMPRESSION_GZIP);
	assert_true(t->docker);
	assert_int_equal(mediatype_find(MEDIATYPE_OCI_INDEX)->kind, MEDIA_INDEX);
	assert_false(mediatype_find(MEDIATYPE_OCI_CONFIG)->docker);
}

static void test_nondistributable_layers_are_known_as_such(void **state)
{
	(void)state;
	assert_true(mediatype_find("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip")
			    ->nondistributable);
	assert_false(mediatype_find(MEDIATYPE_OCI_LAYER)->nondistributable);
}

static void test_unknown_types_have_no_row(void **state)
{
	(void)state;
	assert_null(mediatype_find("application/octet-stream"));
	assert_null(mediatype_find("application/vnd.oci.image.index.v1+JSON"));
	assert_null(mediatype_find(""));
	assert_null(mediatype_find(NULL));
}

static void test_a_layer_type_implies_its_compression(void **state)
{
	(void)state;
	for (int c = COMPRESSION_NONE; c <= COMPRESSION_ZSTD; c++)
		assert_int_equal(mediatype_find(mediatype_layer((enum compression)c))->compression,
				 c);
	assert_null(mediatype_layer(COMPRESSION_XZ));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types_know_kind_compression_and_family),
		cmocka_unit_test(test_nondistributable_layers_are_known_as_such),
		cmocka_unit_test(test_unknown_types_have_no_row),
		cmocka_unit_test(test_a_layer_type_implies_its_compression),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
