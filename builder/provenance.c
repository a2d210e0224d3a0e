#include "builder/provenance.h"

#include "base/program.h"
#include "builder/layer.h"
#include "formats/json.h"

static const char *const kind_words[] = {
	[LOCK_DEB] = "deb",       [LOCK_WHEEL] = "wheel", [LOCK_TREE] = "tree",
	[LOCK_REDIST] = "redist", [LOCK_RPM] = "rpm",     [LOCK_IMAGE] = "image",
};

static json_t *digest_set(const struct digest *d)
{
	json_t *o = json_object();
	char hex[DIGEST_HEX_MAX];

	json_put(o, d->algorithm == DIGEST_SHA256 ? "sha256" : "sha512",
		 json_text(digest_hex(d, hex)));
	return o;
}

static json_t *text_or(const char *text)
{
	return json_text(text ? text : "");
}

/* A resource descriptor. */
static json_t *resource(const char *name, const char *uri, const struct digest *digest)
{
	json_t *o = json_object();

	json_put(o, "name", json_text(name));
	if (uri && *uri)
		json_put(o, "uri", json_text(uri));
	json_put(o, "digest", digest_set(digest));
	return o;
}

static json_t *input(const struct lock_input *in)
{
	cleanup_free char *name =
		xasprintf("%s%s%s", in->name, *in->version ? " " : "", in->version);
	json_t *o = resource(name, in->url, &in->digest), *notes = json_object();

	json_put(notes, "kind", json_text(kind_words[in->kind]));
	if (*in->stage)
		json_put(notes, "stage", json_text(in->stage));
	if (*in->source)
		json_put(notes, "source", json_text(in->source));
	json_put(o, "annotations", notes);
	return o;
}

/* All that went in: the lock's inputs, and what the manifest's `files` are. */
static json_t *dependencies(const struct provenance_request *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->inputs->inputs.len; i++)
		json_push(list, input(&r->inputs->inputs.items[i]));
	for (size_t i = 0; i < r->stack->stage_count; i++) {
		const struct stack_stage *stage = &r->stack->stages[i];
		cleanup_free char *name = xasprintf("files of stage %s", stage->name);

		if (stage->file_count)
			json_push(list, resource(name, NULL, &r->files[i]));
	}
	return list;
}

/* What the user asked for. */
static json_t *external_parameters(const struct provenance_request *r)
{
	json_t *o = json_object(), *solved = json_object(), *commands = json_object();
	json_t *frameworks = json_object(), *devices = json_object();

	json_put(o, "manifest", resource("normalised manifest", NULL, &r->stack->digest));
	json_put(o, "name", json_text(r->stack->name));
	json_put(o, "tag", json_text(r->stack->tag));
	json_put(o, "platform", json_text(r->inputs->platform));
	json_put(o, "created", json_text(r->created));
	json_put(solved, "cuda", text_or(r->lock->stack.cuda));
	json_put(solved, "cudaRelease", text_or(r->lock->stack.cuda_release));
	json_put(solved, "cudnn", text_or(r->lock->stack.cudnn));
	json_put(solved, "driver", text_or(r->lock->stack.driver));
	json_put(solved, "nccl", text_or(r->lock->stack.nccl));
	json_put(solved, "python", text_or(r->lock->stack.python));
	for (size_t i = 0; i < r->lock->stack.framework_count; i++)
		json_put(frameworks, r->lock->stack.frameworks[i].key,
			 json_text(r->lock->stack.frameworks[i].version));
	json_put(solved, "frameworks", frameworks);
	json_put(o, "stack", solved);
	for (size_t i = 0; i < r->stack->stage_count; i++) {
		const struct stack_stage *stage = &r->stack->stages[i];
		json_t *list = json_array();

		for (size_t k = 0; k < stage->run.count; k++)
			json_push(list, json_text(stage->run.items[k]));
		if (stage->gpu)
			json_put(devices, stage->name, json_text(stage->gpu));
		if (stage->run.count)
			json_put(commands, stage->name, list);
		else
			json_decref(list);
	}
	json_put(o, "run", commands);
	if (json_object_size(devices))
		json_put(o, "gpu", devices);
	else
		json_decref(devices);
	return o;
}

static json_t *definition(const struct provenance_request *r)
{
	json_t *o = json_object(), *internal = json_object();

	json_put(internal, "assembly", json_integer(ASSEMBLY_VERSION));
	json_put(internal, "coder", json_text(r->coder));
	json_put(o, "buildType", json_text(PROVENANCE_BUILD_TYPE));
	json_put(o, "externalParameters", external_parameters(r));
	json_put(o, "internalParameters", internal);
	json_put(o, "resolvedDependencies", dependencies(r));
	return o;
}

static json_t *details(const struct provenance_request *r)
{
	json_t *o = json_object(), *builder = json_object(), *version = json_object();
	json_t *byproducts = json_array();

	json_put(version, "gpuimg", json_text(GPUIMG_VERSION));
	json_put(builder, "id", json_text(PROVENANCE_BUILDER));
	json_put(builder, "version", version);
	for (size_t i = 0; i < r->byproduct_count; i++)
		json_push(byproducts,
			  resource(r->byproducts[i].name, NULL, &r->byproducts[i].digest));
	json_put(o, "builder", builder);
	json_put(o, "byproducts", byproducts);
	return o;
}

void provenance_write(const struct provenance_request *r, struct strbuf *out)
{
	cleanup_json json_t *o = json_object();
	json_t *predicate = json_object(), *subjects = json_array();
	cleanup_free char *name = xasprintf("%s:%s", r->stack->name, r->stack->tag);

	json_push(subjects, resource(name, NULL, &r->image));
	json_put(predicate, "buildDefinition", definition(r));
	json_put(predicate, "runDetails", details(r));
	json_put(o, "_type", json_text("https://in-toto.io/Statement/v1"));
	json_put(o, "subject", subjects);
	json_put(o, "predicateType", json_text("https://slsa.dev/provenance/v1"));
	json_put(o, "predicate", predicate);
	json_canonical(o, out);
	strbuf_addc(out, '\n');
}
