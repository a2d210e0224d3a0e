#include "registry/tag_state.h"

#include "registry/client_request.h"

int tag_state_read(struct client *c, const char *tag, struct tag_state *out, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct error failed = { 0 };
	struct descriptor desc;

	*out = (struct tag_state){ 0 };
	if (client_manifest_get(c, tag, &arena, &text, &desc, &failed) < 0) {
		if (failed.code == ERROR_NOT_FOUND)
			return 0;
		*err = failed;
		return -1;
	}
	out->exists = true;
	out->digest = desc.digest;
	return 0;
}

int tag_state_unchanged(struct client *c, const char *tag, const struct tag_state *before,
			const struct digest *ours, struct error *err)
{
	const struct client_repository *r = client_repository_of(c);
	char now_text[DIGEST_TEXT_MAX], before_text[DIGEST_TEXT_MAX];
	struct tag_state now;

	if (tag_state_read(c, tag, &now, err) < 0)
		return -1;
	if (now.exists == before->exists &&
	    (!now.exists || digest_equal(&now.digest, &before->digest)))
		return 0;
	if (now.exists && digest_equal(&now.digest, ours))
		return 0;
	return error_set(err, ERROR_NETWORK,
			 "%s/%s:%s: the tag was changed by somebody else during this push: it "
			 "stood for %s and stands for %s now; look at that image, and push again "
			 "if yours is to replace it",
			 client_repository_registry(r), client_repository_name(r), tag,
			 before->exists ? digest_text(&before->digest, before_text) : "nothing",
			 now.exists ? digest_text(&now.digest, now_text) : "nothing");
}
