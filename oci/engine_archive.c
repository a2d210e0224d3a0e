#include <fcntl.h>

#include "oci/engine_archive.h"

#include "base/fs.h"
#include "base/process.h"
#include "oci/layout.h"

/* The first line of what the tool said. */
static int refused(const struct image_name *name, const char *tool,
		   const struct process_result *result, struct error *err)
{
	struct slice said = strbuf_slice(&result->out_stderr), line = { 0 };
	cleanup_strbuf struct strbuf quoted = { 0 };

	slice_cut(&said, '\n', &line);
	strbuf_add_quoted(&quoted, slice_trim(line), 300);
	return error_set(err, ERROR_SYSTEM, "%s: %s save gave no image: %s", name->text, tool,
			 quoted.len ? strbuf_text(&quoted) : "it said nothing");
}

static int save(const struct image_name *name, const char *tool, const char *reference, int fd,
		struct error *err)
{
	const char *argv[] = { tool, "save", reference, NULL };
	struct process process = { .argv = argv, .stdout_fd = fd, .keep_tail = true };
	cleanup_process struct process_result result = { 0 };

	if (!process_available(tool))
		return error_set(err, ERROR_NOT_FOUND,
				 "%s: %s is not installed; save the image to an archive where it "
				 "is and name that",
				 name->text, tool);
	if (process_run(&process, &result, err) < 0)
		return error_wrap(err, "%s", name->text);
	if (result.exit_status != 0)
		return refused(name, tool, &result, err);
	return lseek(fd, 0, SEEK_SET) < 0 ? error_set_errno(err, errno, "%s", name->text) : 0;
}

struct image_source *engine_source(const struct image_name *name, struct error *err)
{
	bool docker = name->transport == TRANSPORT_DOCKER_DAEMON;
	const char *reference = strchr(name->text, ':') + 1; /* as the user wrote it */
	int fd = fs_scratch(err);

	if (fd < 0)
		return NULL;
	if (save(name, docker ? "docker" : "podman", reference, fd, err) < 0) {
		close(fd);
		return NULL;
	}
	return archive_source(fd, name->text, NULL, err);
}
