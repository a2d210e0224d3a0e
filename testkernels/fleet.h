/*
 * Testing an image where it will run: a job for the scheduler that a fleet has, with the probe and
 * its plan inside, and one report from what the nodes said.
 *
 * The job needs nothing but the image: probe and plan travel in a ConfigMap, in the batch script or
 * in a folder. What the nodes write are the probe's lines in their logs, each behind PROBE_FRAME,
 * with what the report needs to know of the plan among them; so logs are all that has to come back.
 * No scheduler, queue or agent of our own.
 */
#ifndef TESTKERNELS_FLEET_H
#define TESTKERNELS_FLEET_H

#include "testkernels/image_loader.h"
#include "testkernels/probe_lines.h"
#include "testkernels/test.h"

struct fleet_request {
	const char *target;   /* "kubernetes", "slurm", "docker-compose" */
	const char *name;     /* of the job; NULL: "gpuimg-test" */
	const char *image;    /* what the nodes call it; NULL: the image's own name */
	const char *queue;    /* Kueue's local queue, or Slurm's partition; NULL: none */
	const char *rootfs;   /* Slurm without pyxis: the image's tree on each node; NULL: none */
	uint64_t nodes, gpus; /* how many nodes; GPUs of each */
};

/* A file of the job. */
struct fleet_file {
	char *name; /* "job.yaml" */
	struct strbuf bytes;
	bool executable;
};
struct fleet_files {
	struct fleet_file *items;
	size_t len, cap;
};
void fleet_files_release(struct fleet_files *files);
#define cleanup_fleet_files cleanup(fleet_files_release)

/* ERROR_USAGE for an unknown target or a name that the target would refuse. */
int fleet_request_check(const struct fleet_request *request, struct error *err) MUST_USE;
/*
 * The job for `image`; of `options` the targets, commands, time limit, cache and temporary folder
 * count. The first file is the one to submit. Errors as test_run gives them; ERROR_LIMIT when probe
 * and plan do not go into what the target can carry.
 */
int fleet_emit(struct image *image, const struct test_options *options,
	       const struct fleet_request *request, struct fleet_files *out,
	       struct error *err) MUST_USE;

/* What one node said. */
struct fleet_node {
	const char *node, *source; /* its name; the file it came from */
	struct test_report report;
};
struct fleet_report {
	struct arena arena;
	VEC(struct fleet_node) nodes;     /* by name */
	uint64_t wanted;                  /* how many there should be; 0: not known */
	VEC(const char *) not_understood; /* sources that held nothing of ours */
};

/* Add what a log, or a report of gpuimg-test/1, holds; `source` names it. */
void fleet_collect(struct fleet_report *r, struct slice text, const char *source);
void fleet_report_sort(struct fleet_report *r);
void fleet_report_release(struct fleet_report *r);
#define cleanup_fleet_report cleanup(fleet_report_release)
/* As test_report_exit_status over all nodes; 3 also when nodes are missing or nothing was read. */
int fleet_report_exit_status(const struct fleet_report *r);
void fleet_report_json(const struct fleet_report *r, struct strbuf *out);
void fleet_report_junit(const struct fleet_report *r, struct strbuf *out);
void fleet_report_text(const struct fleet_report *r, bool colour, bool verbose, struct strbuf *out);

/* --- for fleet_*.c */

/* Behind the image's loader, where files of the job are mounted on /gpuimg: a list of YAML. */
#define FLEET_ARGUMENTS "/gpuimg/probe, run, /gpuimg/plan, \"\", \"" PROBE_FRAME "\""

/* What every kind of job carries. */
struct fleet_job {
	const struct fleet_request *request;
	const struct image_config *config;
	const struct image_loader *loader;
	const char *image, *name;
	struct strbuf plan;
	struct strbuf probe_base64;
};
void fleet_kubernetes(const struct fleet_job *job, struct fleet_files *out);
void fleet_slurm(const struct fleet_job *job, struct fleet_files *out);
void fleet_compose(const struct fleet_job *job, struct fleet_files *out);
struct fleet_file *fleet_file_add(struct fleet_files *files, const char *name, bool executable);
/* A text in double quotes, as JSON and YAML read it. */
void fleet_quote(struct strbuf *out, const char *text);

#endif
