/*
 * The compatibility tables, all of them: which CUDA needs which driver, which driver serves which
 * GPU, what each framework build pins. Pure data: a new CUDA release is a change of
 * manifests/tables/ only.
 */
#ifndef MANIFESTS_TABLES_H
#define MANIFESTS_TABLES_H

#include "manifests/table_compat.h"
#include "manifests/table_drivers.h"
#include "manifests/table_frameworks.h"
#include "manifests/table_gpus.h"
#include "manifests/table_images.h"
#include "manifests/table_known_bad.h"
#include "manifests/table_libraries.h"
#include "manifests/table_toolkits.h"

#define TABLE_FILES 13

struct tables {
	struct arena arena;
	struct table files[TABLE_FILES];
	struct table_toolkits toolkits;
	struct table_drivers drivers;
	struct table_compat compat;
	struct table_gpus gpus;
	struct table_libraries libraries;
	struct table_frameworks frameworks;
	struct table_images images;
	struct table_known_bad known_bad;
};

/*
 * Read them: from the folder `dir`, or those inside the program when it is NULL. ERROR_FORMAT
 * names file and row. Release with tables_release.
 */
int tables_load(const char *dir, struct tables *out, struct error *err) MUST_USE;
void tables_release(struct tables *tables);
#define cleanup_tables cleanup(tables_release)

struct tables_fault {
	const char *file, *row, *text;
};

struct tables_faults {
	struct arena arena;
	struct tables_fault *items;
	size_t len, cap;
};

/*
 * Whether they agree: rows in order and once each, floors that rise with the versions, every
 * version, branch, architecture and source that is named has a row, every source is used.
 * Appends what does not hold.
 */
void tables_check(const struct tables *tables, struct tables_faults *out);
void tables_faults_release(struct tables_faults *faults);
#define cleanup_tables_faults cleanup(tables_faults_release)

#endif
