#include "tests/support/http_server.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/vec.h"

struct http_server {
	const struct http_server_step *steps;
	size_t step_count;
	int listener;
	char *url;
	pthread_t thread;
	pthread_mutex_t lock;
	VEC(char *) requests;
};

static bool receive(int fd, struct strbuf *into)
{
	char buf[16384];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);

	if (n > 0)
		strbuf_add(into, buf, (size_t)n);
	return n > 0;
}

static void send_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

static size_t body_length(const char *head)
{
	const char *at = strcasestr(head, "\r\nContent-Length:");

	return at ? strtoul(at + strlen("\r\nContent-Length:"), NULL, 10) : 0;
}

/* Read head and body as the step wants; false when the connection is to be closed at once. */
static bool read_request(int fd, const struct http_server_step *step, struct strbuf *text)
{
	const char *end;
	size_t head, want;

	while (!(end = strstr(strbuf_text(text), "\r\n\r\n")))
		if (!receive(fd, text) || text->data[0] == 0x16) {
			strbuf_truncate(text, 0);
			return false;
		}
	head = (size_t)(end - text->data) + 4;
	if (step->early)
		return true;
	if (strcasestr(text->data, "\r\nExpect: 100-continue"))
		send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	want = body_length(text->data);
	if (step->body_cut)
		want = MIN(want, step->body_cut);
	while (text->len < head + want)
		if (!receive(fd, text))
			return true;
	return !step->body_cut;
}

static void send_answer(const struct http_server *s, int fd, const struct http_server_step *step)
{
	const char *body = strstr(step->answer, "\r\n\r\n");
	struct strbuf out = { 0 };

	strbuf_adds(&out, "HTTP/1.1 ");
	for (const char *c = step->answer; c < body; c++) {
		if (str_starts(c, "$URL")) {
			strbuf_adds(&out, s->url);
			c += 3;
		} else {
			strbuf_addc(&out, *c);
		}
	}
	if (!step->no_length && !strstr(step->answer, "Content-Length"))
		strbuf_addf(&out, "\r\nContent-Length: %zu", strlen(body + 4));
	strbuf_addf(&out, "\r\nConnection: close%s", body);
	for (size_t i = 0; step->byte_ms && i < out.len; i++) {
		struct timespec wait = { .tv_nsec = step->byte_ms * 1000000L };

		if (send(fd, out.data + i, 1, MSG_NOSIGNAL) != 1)
			break;
		nanosleep(&wait, NULL);
	}
	if (!step->byte_ms)
		send_all(fd, out.data, out.len);
	strbuf_release(&out);
}

/* Closing with unread bytes would reset the connection before the answer is read. */
static void drain(int fd)
{
	struct strbuf rest = { 0 };
	struct timeval short_time = { .tv_usec = 300000 };

	shutdown(fd, SHUT_WR);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &short_time, sizeof(short_time));
	while (receive(fd, &rest))
		strbuf_truncate(&rest, 0);
	strbuf_release(&rest);
}

static void serve(struct http_server *s, int fd)
{
	static const struct http_server_step beyond = { .answer = "500 Beyond\r\n\r\n" };
	const struct http_server_step *step =
		s->requests.len < s->step_count ? &s->steps[s->requests.len] : &beyond;
	struct strbuf text = { 0 };
	bool answer = read_request(fd, step, &text);

	if (!text.len) {
		strbuf_release(&text);
		return; /* a connection without a request is no step */
	}
	pthread_mutex_lock(&s->lock);
	vec_push(&s->requests, strbuf_steal(&text));
	pthread_mutex_unlock(&s->lock);
	if (answer && step->answer) {
		send_answer(s, fd, step);
		drain(fd);
	}
}

static void *run(void *user)
{
	struct http_server *s = user;
	int fd;

	while ((fd = accept(s->listener, NULL, NULL)) >= 0) {
		serve(s, fd);
		close(fd);
	}
	return NULL;
}

struct http_server *http_server_start(const struct http_server_step *steps, size_t count)
{
	struct http_server *s = xcalloc(1, sizeof(*s));
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	s->steps = steps;
	s->step_count = count;
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&address, len) < 0 ||
	    listen(s->listener, 16) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&address, &len) < 0)
		abort();
	s->url = xasprintf("http://127.0.0.1:%u", ntohs(address.sin_port));
	pthread_mutex_init(&s->lock, NULL);
	if (pthread_create(&s->thread, NULL, run, s))
		abort();
	return s;
}

const char *http_server_url(const struct http_server *s)
{
	return s->url;
}

size_t http_server_count(struct http_server *s)
{
	size_t count;

	pthread_mutex_lock(&s->lock);
	count = s->requests.len;
	pthread_mutex_unlock(&s->lock);
	return count;
}

const char *http_server_request(struct http_server *s, size_t n)
{
	const char *text = "";

	pthread_mutex_lock(&s->lock);
	if (n < s->requests.len)
		text = s->requests.items[n];
	pthread_mutex_unlock(&s->lock);
	return text;
}

void http_server_stop(struct http_server *s)
{
	if (!s)
		return;
	shutdown(s->listener, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listener);
	for (size_t i = 0; i < s->requests.len; i++)
		free(s->requests.items[i]);
	vec_release(&s->requests);
	pthread_mutex_destroy(&s->lock);
	free(s->url);
	free(s);
}
