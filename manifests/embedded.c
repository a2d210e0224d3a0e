#include "manifests/embedded.h"

struct slice embedded_file(const char *name)
{
	for (size_t i = 0; i < embedded_count; i++) {
		const struct embedded *f = &embedded_files[i];

		if (str_equal(f->name, name))
			return slice_of(f->data, (size_t)(f->end - f->data));
	}
	return (struct slice){ 0 };
}
