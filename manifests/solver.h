/*
 * The solver: the stack section of a manifest and the compatibility tables into exact versions,
 * or into the smallest set of clauses that cannot hold together and the nearest changes that can.
 *
 * The same question always has the same answer. Among what satisfies all clauses it takes
 *   1. the newest release of each framework, in the order they are written;
 *   2. a build that the floor runs without the compatibility package, unless compat is "always";
 *   3. the build that the source of wheels gives for that release, when the request knows it;
 *   4. the newest CUDA, then the newest cuDNN, then the newest NCCL.
 * Pins of a framework are kept exactly; frameworks that pin one CUDA minor must agree on it.
 * Every sentence names the rows it rests on and their source.
 */
#ifndef MANIFESTS_SOLVER_H
#define MANIFESTS_SOLVER_H

#include "manifests/driver_verdict.h"
#include "manifests/stack.h"

/* What is asked. Texts are borrowed and outlive the solution. */
struct solver_request {
	const struct stack_request *stack;
	const char *base_image; /* NULL: the system comes from packages */
	const char *glibc;      /* of the system, when it is known; else that of the base image */
	/* Which build of a release the source of wheels has: "cu128" of torch; "": the one that a
	 * package index gives by default; NULL: not known. */
	const char *flavour;
	bool amd64, arm64; /* platforms */
};

/*
 * The question that a manifest asks for one of its platforms: its stack section, base image, the C
 * library of its suite, and what its first source of wheels gives. Borrows all of them, and
 * `arena`.
 */
struct solver_request solver_request_of(const struct tables *tables, const struct stack *stack,
					const char *platform, struct arena *arena);

enum solver_clause_kind {
	CLAUSE_DRIVER,
	CLAUSE_GPU,
	CLAUSE_CUDA,
	CLAUSE_CUDNN,
	CLAUSE_NCCL,
	CLAUSE_FRAMEWORK,
	CLAUSE_PYTHON,
	CLAUSE_COMPAT,
	CLAUSE_BASE,
	CLAUSE_GLIBC,
};

/* One thing that was asked, which a conflict can name and a repair can change. */
struct solver_clause {
	enum solver_clause_kind kind;
	const char *key;   /* "driver", "gpus", "cuda", "framework.torch", … */
	const char *value; /* as written */
	size_t index;      /* of the GPU or the framework */
};

#define SENTENCE_ORIGINS 3

/* A statement and what it rests on. */
struct solver_sentence {
	const char *text;
	struct table_origin origins[SENTENCE_ORIGINS];
	size_t origin_count;
};

struct solver_sentences {
	struct solver_sentence *items;
	size_t len, cap;
};

struct solver_branch {      /* how the hosts of one driver branch run the stack */
	const char *driver; /* "535.183.06" (the floor) or "580" */
	bool is_floor;
	enum driver_service service;
	const char *package; /* NULL: no compatibility package helps */
	const char *sentence;
};

struct solver_gpu { /* how one target is served */
	struct gpu_target target;
	struct gpu_verdict verdict;
	const char *ptx_driver; /* for PTX: the driver that compiles it; NULL: not established */
	unsigned first_branch, last_branch; /* 0: not known, none */
	const char *sentence;
};

struct solver_choice {
	const struct framework_build **builds; /* one per framework, in the order asked */
	size_t build_count;
	const struct toolkit *toolkit; /* NULL: the stack has no CUDA */
	const char *cudnn, *nccl;      /* NULL: not part of the stack */
	const char *python;            /* "3.13"; NULL: not established */
	bool compat;                   /* the floor needs the compatibility package */
};

struct solver_repair {
	const char *key;      /* the clause that changes */
	const char *value;    /* what it becomes; NULL: it is left out */
	const char *sentence; /* "set cuda to 12.9: …" */
};

struct solution {
	struct arena arena;
	bool solved;
	struct solver_choice choice; /* when solved */
	struct solver_branch *branches;
	size_t branch_count;
	struct solver_gpu *gpus;
	size_t gpu_count;
	const char *require_cuda;          /* "": no CUDA */
	struct solver_sentences sentences; /* the reasons of every choice, in order */
	struct solver_sentences warnings;
	struct solver_clause *conflict; /* when not: the minimal set */
	size_t conflict_count;
	struct solver_sentences reasons; /* why they clash */
	struct {
		struct solver_repair *items; /* nearest first; each was solved */
		size_t len, cap;
	} repairs;
};

/*
 * Solve. ERROR_USAGE for clauses that cannot be read (an unknown GPU or framework, a range that
 * is none): "stack.gpus: …". Both a solution and a conflict are success. Release with
 * solution_release.
 */
int solver_find(const struct tables *tables, const struct solver_request *request,
		struct solution *out, struct error *err) MUST_USE;
void solution_release(struct solution *solution);
#define cleanup_solution cleanup(solution_release)

/* The driver of a floor: ">=535.183.06" and "535" are read; ERROR_USAGE for others. */
int solver_floor(const char *text, struct arena *arena, const char **out,
		 struct error *err) MUST_USE;

#endif
