#include "tests/fuzz/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return check_codec(COMPRESSION_GZIP, data, len);
}
