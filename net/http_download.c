#include <strings.h>
#include <time.h>

#include <curl/curl.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "net/http.h"

enum { RETRY_AFTER_MAX_S = 60 };

static void curl_text_free_p(char **s)
{
	curl_free(*s);
}

static int download_file(const char *url, struct sink *out, struct error *err)
{
	const char *rest = url + strlen("file://");
	const char *slash = strchr(rest, '/');
	cleanup(curl_text_free_p) char *path = NULL;
	cleanup_stream struct stream *src = NULL;
	int fd, len = 0;

	if (!slash || (slash != rest && strncmp(rest, "localhost/", 10)))
		return error_set(err, ERROR_USAGE, "\"%s\" names a file of another host", url);
	path = curl_easy_unescape(NULL, slash, 0, &len);
	if (!path || strlen(path) != (size_t)len)
		return error_set(err, ERROR_USAGE, "\"%s\" is no file address", url);
	fd = fs_open(AT_FDCWD, path, err);
	if (fd < 0)
		return -1;
	src = stream_fd(fd, path);
	return sink_copy(out, src, NULL, err);
}

uint64_t http_retry_after_ms(const struct http_response *r)
{
	struct slice value = http_header(r, "retry-after");
	cleanup_free char *text = NULL;
	uint64_t seconds;
	time_t when;

	if (!value.data)
		return 0;
	if (slice_u64(value, &seconds))
		return seconds > 86400 ? 86400000 : seconds * 1000;
	text = xstrndup((const char *)value.data, value.len);
	when = curl_getdate(text, NULL);
	if (when < 0 || when <= time(NULL))
		return 0;
	seconds = (uint64_t)(when - time(NULL));
	return seconds > 86400 ? 86400000 : seconds * 1000;
}

bool http_status_transient(int status)
{
	return status == 408 || status == 429 || status == 499 || status == 522 ||
	       (status >= 500 && status != 501 && status != 505 && status != 507);
}

/* Whether another try of a download makes sense after this one. */
static bool download_retry(const struct http_response *r, int rc)
{
	if (rc == 0)
		return http_status_transient(r->status);
	return r->failure == HTTP_FAILURE_RESOLVE || r->failure == HTTP_FAILURE_CONNECT ||
	       r->failure == HTTP_FAILURE_TRANSFER;
}

void http_sleep_ms(uint64_t ms)
{
	struct timespec left = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int download_status(const char *url, const struct http_response *r, struct error *err)
{
	cleanup_free char *shown = http_url_display(url);
	bool missing = r->status == 404 || r->status == 410;

	return error_set(err, missing ? ERROR_NOT_FOUND : ERROR_NETWORK,
			 "GET %s: the server answers %d%s", shown, r->status,
			 r->status == 401 || r->status == 403 ? " (credentials are wanted)" : "");
}

/* Passes on, and remembers that something was written. */
struct noting_sink {
	struct sink base;
	struct sink *inner;
	bool wrote;
};

static int noting_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct noting_sink *s = (struct noting_sink *)base;

	s->wrote = s->wrote || len;
	return sink_write(s->inner, data, len, err);
}

static const struct sink_ops noting_ops = { .write = noting_write };

int http_download(struct http_client *c, const char *url, const char *authorization, unsigned tries,
		  struct sink *out, struct error *err)
{
	struct noting_sink noting = { .base = { &noting_ops }, .inner = out };
	struct http_request request = { .method = "GET",
					.url = url,
					.authorization = authorization,
					.out_body = &noting.base };

	if (strncasecmp(url, "file://", 7) == 0)
		return download_file(url, out, err);
	for (unsigned try = 1;; try++) {
		cleanup_response struct http_response r = { 0 };
		struct error failed = { 0 };
		int rc = http_perform(c, &request, &r, &failed);
		uint64_t wait_ms = UINT64_C(1000) << MIN(try - 1, 5u);

		if (rc == 0 && r.status == 200)
			return 0;
		if (try >= tries || noting.wrote || !download_retry(&r, rc)) {
			if (rc == 0)
				return download_status(url, &r, err);
			*err = failed;
			return -1;
		}
		if (rc == 0 && http_retry_after_ms(&r))
			wait_ms = http_retry_after_ms(&r);
		http_sleep_ms(MIN(wait_ms, UINT64_C(1000) * RETRY_AFTER_MAX_S));
	}
}
