#include "cli/key_arg.h"

#include <sys/stat.h>
#include <termios.h>

#include "cli/no_core.h"
#include "base/fs.h"
#include "formats/key_file.h"
#include "formats/pem.h"

enum { PASSWORD_MAX = 4096 };

static void cut_line_end(struct strbuf *b)
{
	while (b->len && strchr("\r\n", b->data[b->len - 1]))
		strbuf_truncate(b, b->len - 1);
}

/* The terminal. */

static int read_line(int fd, struct strbuf *out, struct error *err)
{
	char c;
	ssize_t n;

	strbuf_reserve(out, PASSWORD_MAX + 1);
	while ((n = read(fd, &c, 1)) > 0 && c != '\n') {
		if (out->len == PASSWORD_MAX)
			return error_set(err, ERROR_LIMIT, "password: longer than %d bytes",
					 PASSWORD_MAX);
		strbuf_addc(out, c);
	}
	return n < 0 ? error_set_errno(err, errno, "read the password") : 0;
}

/* With what is typed not shown. */
static int prompt(int fd, const char *what, struct strbuf *out, struct error *err)
{
	struct termios before, hidden;
	bool changed = tcgetattr(fd, &before) == 0;
	int rc;

	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	changed = changed && tcsetattr(fd, TCSAFLUSH, &hidden) == 0;
	dprintf(fd, "%s: ", what);
	rc = read_line(fd, out, err);
	if (changed)
		tcsetattr(fd, TCSAFLUSH, &before);
	dprintf(fd, "\n");
	return rc;
}

static int ask(int fd, const char *what, bool twice, struct strbuf *out, struct error *err)
{
	cleanup_free char *first = xasprintf("Password of %s", what);
	cleanup_secret struct strbuf again = { 0 };

	if (prompt(fd, first, out, err) < 0)
		return -1;
	if (!twice)
		return 0;
	if (prompt(fd, "The same again", &again, err) < 0)
		return -1;
	if (!slice_equal(strbuf_slice(out), strbuf_slice(&again)))
		return error_set(err, ERROR_USAGE, "the two passwords differ");
	return 0;
}

int key_arg_password(const struct invocation *in, const char *what, bool twice, struct strbuf *out,
		     bool *out_given, struct error *err)
{
	static const char *const variables[] = { "GPUIMG_PASSWORD", "COSIGN_PASSWORD" };
	const char *file = option_text(in, "password-file", NULL);
	cleanup_fd int terminal = -1;

	*out_given = true;
	strbuf_reserve(out, PASSWORD_MAX + 1);
	if (file) {
		if (fs_read(AT_FDCWD, file, PASSWORD_MAX, out, err) < 0)
			return error_wrap(err, "--password-file");
		cut_line_end(out);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *value = getenv(variables[i]);

		if (value) {
			strbuf_adds(out, value);
			return 0;
		}
	}
	terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	*out_given = terminal >= 0;
	return terminal < 0 ? 0 : ask(terminal, what, twice, out, err);
}

/* Keys. */

struct asking {
	const struct invocation *in;
	const char *what;
};

static int give_password(void *user, struct strbuf *out, struct error *err)
{
	const struct asking *a = user;
	bool given;

	if (key_arg_password(a->in, a->what, false, out, &given, err) < 0)
		return -1;
	if (given)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "the key is encrypted: give its password with --password-file or in "
			 "$GPUIMG_PASSWORD");
}

static int read_text(const char *text, struct strbuf *out, struct error *err)
{
	const char *value;

	strbuf_reserve(out, PEM_BYTES_MAX + 1);
	if (!str_starts(text, "env://"))
		return fs_read(AT_FDCWD, text, PEM_BYTES_MAX, out, err);
	value = getenv(text + strlen("env://"));
	if (!value)
		return error_set(err, ERROR_USAGE, "%s: there is no such variable", text);
	strbuf_adds(out, value);
	return 0;
}

/* A key that is plain on the disk is what its permissions say. */
static void warn_readable(const struct invocation *in, const char *text, struct slice pem)
{
	static const char mark[] = "ENCRYPTED";
	struct stat st;

	if (str_starts(text, "env://") || stat(text, &st) < 0 || !(st.st_mode & 077) ||
	    memmem(pem.data, pem.len, mark, sizeof(mark) - 1))
		return;
	out_warn(in->out, "%s: others may read this private key (mode %04o)", text,
		 (unsigned)st.st_mode & 07777);
}

struct key *key_arg_private(const struct invocation *in, const char *text, struct error *err)
{
	cleanup_secret struct strbuf pem = { 0 };
	struct asking asking = { in, text };
	struct key *k;

	no_core();
	if (read_text(text, &pem, err) < 0) {
		error_wrap(err, "key");
		return NULL;
	}
	k = key_file_private(strbuf_slice(&pem), give_password, &asking, err);
	if (!k)
		error_wrap(err, "key %s", text);
	else
		warn_readable(in, text, strbuf_slice(&pem));
	return k;
}

struct key *key_arg_wanted(const struct invocation *in, struct error *err)
{
	const char *file = option_text(in, "key", NULL);

	if (file)
		return key_arg_private(in, file, err);
	ignore_result(
		error_set(err, ERROR_USAGE, "--key FILE is wanted (gpuimg keygen makes one)"));
	return NULL;
}

struct key *key_arg_public(const char *text, struct error *err)
{
	cleanup_secret struct strbuf pem = { 0 };
	struct key *k;

	if (read_text(text, &pem, err) < 0) {
		error_wrap(err, "key");
		return NULL;
	}
	k = key_file_public(strbuf_slice(&pem), err);
	if (!k)
		error_wrap(err, "key %s", text);
	return k;
}
