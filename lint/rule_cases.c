#include "lint/rule_cases.h"

struct slice rule_cases(const char *id)
{
	for (size_t i = 0; i < rule_case_file_count; i++) {
		const struct rule_case_file *f = &rule_case_files[i];

		if (strncasecmp(f->name, id, strlen(id)) == 0 && f->name[strlen(id)] == '_')
			return slice_of(f->data, (size_t)(f->end - f->data));
	}
	return (struct slice){ 0 };
}
