#include "testkernels/image_user.h"

#include "base/stream.h"
#include "testkernels/rootdir.h"

enum { FILE_MAX = 4 * 1024 * 1024 };

/* One line of passwd or group: the fields used. */
struct account {
	struct slice name, number, gid, home, members;
};

static void read_file(int rootfd, const char *path, struct strbuf *out)
{
	struct error ignored = { 0 };
	int fd = rootdir_open(rootfd, path, NULL, &ignored);
	struct stream *s = fd < 0 ? NULL : stream_fd(fd, path);

	if (s && stream_read_all(s, FILE_MAX, out, &ignored) < 0)
		strbuf_truncate(out, 0);
	stream_close(s);
}

static bool next_account(struct slice *rest, bool passwd, struct account *out)
{
	struct slice line, part;

	if (!slice_cut(rest, '\n', &line))
		return false;
	*out = (struct account){ 0 };
	slice_cut(&line, ':', &out->name);
	slice_cut(&line, ':', &part);
	slice_cut(&line, ':', &out->number);
	if (!passwd) {
		slice_cut(&line, ':', &out->members);
		return true;
	}
	slice_cut(&line, ':', &out->gid);
	slice_cut(&line, ':', &part);
	slice_cut(&line, ':', &out->home);
	return true;
}

static bool number_of(struct slice text, uint32_t *out)
{
	uint64_t n;

	if (!slice_u64(text, &n) || n > INT32_MAX)
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool has_member(struct slice members, struct slice name)
{
	struct slice one;

	while (slice_cut(&members, ',', &one)) {
		if (slice_equal(slice_trim(one), name))
			return true;
	}
	return false;
}

/* By name or number. */
static bool find_account(struct slice text, struct slice want, bool passwd, struct account *out)
{
	uint32_t number, here;
	bool numeric = number_of(want, &number);

	while (next_account(&text, passwd, out)) {
		if (out->name.len && (slice_equal(out->name, want) ||
				      (numeric && number_of(out->number, &here) && here == number)))
			return true;
	}
	return false;
}

static void find_groups(struct slice text, struct slice name, struct image_user *out)
{
	struct account a;
	uint32_t gid;

	while (name.len && next_account(&text, false, &a)) {
		if (has_member(a.members, name) && number_of(a.number, &gid) && gid != out->gid &&
		    out->group_count < IMAGE_GROUPS_MAX)
			out->groups[out->group_count++] = gid;
	}
}

static void note(struct arena *arena, const char *what, struct slice name, struct image_user *out)
{
	*out = (struct image_user){ .home = "/root" };
	out->note = arena_printf(arena,
				 "the image's %s '%.*s' is not in its /etc/%s; its processes would "
				 "not start: they run as root here",
				 what, (int)MIN(name.len, (size_t)64), (const char *)name.data,
				 str_equal(what, "user") ? "passwd" : "group");
}

void image_user_find(int rootfd, const char *spec, struct arena *arena, struct image_user *out)
{
	cleanup_strbuf struct strbuf passwd = { 0 }, group = { 0 };
	struct slice rest = slice_str(spec && *spec ? spec : "0"), user, group_name;
	struct account a;
	bool known;

	*out = (struct image_user){ .home = "/" };
	read_file(rootfd, "/etc/passwd", &passwd);
	read_file(rootfd, "/etc/group", &group);
	slice_cut(&rest, ':', &user);
	group_name = rest;
	known = find_account(strbuf_slice(&passwd), user, true, &a);
	if (!known && !number_of(user, &out->uid)) {
		note(arena, "user", user, out);
		return;
	}
	if (known) {
		number_of(a.number, &out->uid);
		number_of(a.gid, &out->gid);
		if (a.home.len && a.home.data[0] == '/')
			out->home = arena_slice(arena, a.home);
		if (!group_name.len)
			find_groups(strbuf_slice(&group), a.name, out);
	}
	if (!group_name.len || number_of(group_name, &out->gid))
		return;
	if (find_account(strbuf_slice(&group), group_name, false, &a) &&
	    number_of(a.number, &out->gid))
		return;
	note(arena, "group", group_name, out);
}
