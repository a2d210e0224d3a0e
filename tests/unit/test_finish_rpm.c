#include "tests/support/test.h"

#include <sys/stat.h>

#include "builder/finish/finish.h"
#include "builder/plan.h"
#include "formats/pkgdb.h"
#include "tests/support/rpm.h"
#include "tests/support/site.h"

static void open_site(struct site *s)
{
	site_open(s, "{ user: { name: app, uid: 1000, gid: 1000 } }");
}

static struct component *rpm(const char *name)
{
	struct component *c = component_new(COMPONENT_RPM, name, "1.0-3");
	cleanup_test_header struct test_header h = { 0 }, none = { 0 };
	cleanup_strbuf struct strbuf header = { 0 }, signature = { 0 };

	test_header_identity(&h, name, "1.0", "x86_64");
	test_header_blob(&h, &header);
	test_header_blob(&none, &signature);
	c->arch = "x86_64";
	c->rpm_header = slice_of(arena_slice(&c->arena, strbuf_slice(&header)), header.len);
	c->rpm_signature =
		slice_of(arena_slice(&c->arena, strbuf_slice(&signature)), signature.len);
	return c;
}

static void add_script(struct component *c, const char *name, const char *interpreter,
		       const char *text)
{
	struct component_script script = { .name = name, .interpreter = interpreter };

	script.text = arena_strdup(&c->arena, text);
	script.len = strlen(text);
	vec_push(&c->scripts, script);
}

static void add_owned(struct component *c, const char *path, uint32_t mode, const char *user,
		      const char *group)
{
	struct component_owner owner = { c->entries.len, user, group };

	component_add_text(c, path, mode, slice_str("x"));
	vec_push(&c->owners, owner);
}

static void take_setup(struct site *s)
{
	struct component *c = rpm("setup");

	component_add_text(c, "etc/passwd", 0644,
			   slice_str("root:x:0:0:root:/root:/bin/bash\n"
				     "mail:x:8:12:mail:/var/spool/mail:/sbin/nologin\n"));
	component_add_text(c, "etc/group", 0644, slice_str("root:x:0:\nmail:x:12:\n"));
	component_add_text(c, "etc/shadow", 0, slice_str("root:*::0:99999:7:::\n"));
	component_add_text(c, "etc/gshadow", 0, slice_str("root:::"));
	site_add(s, c);
}

static void test_accounts_that_scriptlets_add_go_behind_those_of_setup(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *c = rpm("demod");
	cleanup_free char *passwd = NULL, *shadow = NULL, *group = NULL, *gshadow = NULL;

	(void)state;
	open_site(&s);
	take_setup(&s);
	add_script(c, "pre", "/bin/sh",
		   "getent group demod >/dev/null || groupadd -f -g 381 -r demod\n"
		   "getent passwd demod >/dev/null || useradd -r --uid=381 -g demod -G mail -d "
		   "/var/lib/demod "
		   "-s /sbin/nologin -c 'A demon' demod\nexit 0\n");
	add_script(c, "postun", "/bin/sh", "useradd -r -u 77 later\n");
	site_add(&s, c);
	site_finish_well(&s);
	passwd = site_text(&s, "etc/passwd");
	shadow = site_text(&s, "etc/shadow");
	group = site_text(&s, "etc/group");
	gshadow = site_text(&s, "etc/gshadow");
	assert_string_equal(passwd, "root:x:0:0:root:/root:/bin/bash\n"
				    "mail:x:8:12:mail:/var/spool/mail:/sbin/nologin\n"
				    "demod:x:381:381:A demon:/var/lib/demod:/sbin/nologin\n"
				    "app:x:1000:1000::/home/app:/bin/sh\n");
	assert_string_equal(shadow,
			    "root:*::0:99999:7:::\ndemod:!!:3652::::::\napp:!!:3652::::::\n");
	assert_string_equal(group, "root:x:0:\nmail:x:12:demod\ndemod:x:381:\napp:x:1000:\n");
	assert_string_equal(gshadow, "root:::\ndemod:!::\napp:!::\n");
	assert_int_equal(rootfs_lookup(&s.rootfs, "etc/shadow")->tar->mode, 0);
	assert_int_equal(site_action(&s, "demod", "useradd")->fate, SCRIPT_DONE);
}

static void test_files_belong_to_the_accounts_of_the_image(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *c = rpm("mailer");

	(void)state;
	open_site(&s);
	take_setup(&s);
	add_owned(c, "usr/bin/mailer", 02755, "root", "mail");
	site_add(&s, c);
	site_finish_well(&s);
	assert_int_equal(rootfs_lookup(&s.rootfs, "usr/bin/mailer")->tar->uid, 0);
	assert_int_equal(rootfs_lookup(&s.rootfs, "usr/bin/mailer")->tar->gid, 12);
	assert_int_equal(rootfs_lookup(&s.rootfs, "usr/bin/mailer")->tar->mode, 02755);
}

static void test_an_owner_that_nobody_knows_is_root_without_setuid(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *c = rpm("stray");

	(void)state;
	open_site(&s);
	take_setup(&s);
	add_owned(c, "usr/bin/stray", 06755, "nobody-knows", "mail");
	site_add(&s, c);
	site_finish_well(&s);
	assert_int_equal(rootfs_lookup(&s.rootfs, "usr/bin/stray")->tar->uid, 0);
	assert_int_equal(rootfs_lookup(&s.rootfs, "usr/bin/stray")->tar->mode, 02755);
	assert_non_null(site_action(&s, "stray", "there is no user nobody-knows: /usr/bin/stray"));
	assert_int_equal(site_action(&s, "stray", "nobody-knows")->fate, SCRIPT_NOT_DONE);
}

static void test_hostile_names_make_no_accounts(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *c = rpm("bad");
	cleanup_free char *passwd = NULL;

	(void)state;
	open_site(&s);
	take_setup(&s);
	add_script(
		c, "pre", "/bin/sh",
		"useradd -u 0 'a:b'\nuseradd -c 'x\ny:0:0' bad\nuseradd -d '/:x' worse\nuseradd\n"
		"useradd -u\nuseradd $NAME\nuseradd -- -x\nuseradd 'evil\nroot2'\n");
	site_add(&s, c);
	site_finish_well(&s);
	passwd = site_text(&s, "etc/passwd");
	assert_null(strstr(passwd, "bad"));
	assert_null(strstr(passwd, "worse"));
	assert_null(strstr(passwd, "a:b"));
	assert_null(strstr(passwd, "root2"));
}

static void test_alternatives_of_rpms_have_their_own_record(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *low = rpm("low"), *high = rpm("high");
	cleanup_free char *record = NULL;

	(void)state;
	open_site(&s);
	component_add_text(low, "usr/bin/say.low", 0755, slice_str("low"));
	component_add_text(low, "usr/share/man/say.low.1", 0644, slice_str("low"));
	component_add_text(high, "usr/bin/say.high", 0755, slice_str("high"));
	add_script(
		low, "post", "/bin/sh",
		"if [ $1 -eq 1 ]; then\nalternatives --install /usr/bin/say say /usr/bin/say.low 5 "
		"--follower /usr/share/man/say.1 say-man /usr/share/man/say.low.1 --initscript "
		"said\nfi\n");
	add_script(high, "posttrans", "/bin/sh",
		   "/usr/sbin/update-alternatives --install /usr/bin/say say /usr/bin/say.high 9 "
		   "--family h\n");
	site_add(&s, low);
	site_add(&s, high);
	site_finish_well(&s);
	assert_string_equal(site_link(&s, "usr/bin/say"), "/etc/alternatives/say");
	assert_string_equal(site_link(&s, "etc/alternatives/say"), "/usr/bin/say.high");
	record = site_text(&s, "var/lib/alternatives/say");
	assert_string_equal(record, "auto\n/usr/bin/say\nsay-man\n/usr/share/man/say.1\n\n"
				    "/usr/bin/say.low\n5 said\n/usr/share/man/say.low.1\n"
				    "@h@/usr/bin/say.high\n9\n\n");
	assert_null(rootfs_lookup(&s.rootfs, "var/lib/dpkg/alternatives/say"));
}

static void test_the_policy_decides_the_back_ends(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *c = rpm("crypto-policies");

	(void)state;
	open_site(&s);
	component_add_text(c, "usr/share/crypto-policies/default-config", 0644,
			   slice_str("# a comment\nFUTURE\n"));
	component_add_text(c, "usr/share/crypto-policies/FUTURE/openssl.txt", 0644, slice_str("x"));
	component_add_text(c, "usr/share/crypto-policies/DEFAULT/gnutls.txt", 0644, slice_str("x"));
	site_add(&s, c);
	site_finish_well(&s);
	assert_string_equal(site_link(&s, "etc/crypto-policies/back-ends/openssl.config"),
			    "/usr/share/crypto-policies/FUTURE/openssl.txt");
	assert_null(rootfs_lookup(&s.rootfs, "etc/crypto-policies/back-ends/gnutls.config"));
}

static void test_a_policy_that_leaves_its_folder_is_none(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *c = rpm("crypto-policies");

	(void)state;
	open_site(&s);
	component_add_text(c, "etc/crypto-policies/config", 0644, slice_str("../../../etc\n"));
	component_add_text(c, "etc/openssl.txt", 0644, slice_str("x"));
	site_add(&s, c);
	site_finish_well(&s);
	assert_null(rootfs_lookup(&s.rootfs, "etc/crypto-policies/back-ends/openssl.config"));
}

static void test_scriptlets_are_reported_by_their_interpreters(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *c = rpm("scripts");

	(void)state;
	open_site(&s);
	component_add_text(c, "lib64/ld-linux-x86-64.so.2", 0755, slice_str("elf"));
	add_script(c, "post", "/sbin/ldconfig", "");
	add_script(c, "pretrans", "<lua>", "os.execute('x')\n");
	add_script(c, "posttrans", "/usr/bin/python3", "import os\n");
	add_script(c, "pre", "/bin/sh", "if [ $1 -gt 1 ]; then\n upgrade-it\nfi\nfirst-time\n");
	add_script(c, "preun", "/bin/sh", "never\n");
	site_add(&s, c);
	site_finish_well(&s);
	assert_int_equal(site_action(&s, "scripts", "/sbin/ldconfig")->fate, SCRIPT_DONE);
	assert_int_equal(site_action(&s, "scripts", "a script in Lua")->fate, SCRIPT_NOT_DONE);
	assert_int_equal(site_action(&s, "scripts", "another language")->fate, SCRIPT_NOT_DONE);
	assert_int_equal(site_action(&s, "scripts", "first-time")->fate, SCRIPT_NOT_DONE);
	assert_null(site_action(&s, "scripts", "upgrade-it"));
	assert_null(site_action(&s, "scripts", "never"));
}

static size_t packages_at(struct site *s, const char *path)
{
	cleanup_strbuf struct strbuf b = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct error err = { 0 };

	assert_ok(rootfs_read(&s->rootfs, path, 4 * MIB, &b, &err), err);
	assert_ok(pkgdb_rpm(strbuf_slice(&b), &arena, &db, &err), err);
	return db.len;
}

static void test_the_database_lies_where_the_packages_have_its_folder(void **state)
{
	(void)state;
	for (int image = 0; image < 2; image++) {
		cleanup_site struct site s = { 0 };
		struct component *c = rpm("rpm");

		open_site(&s);
		take_setup(&s);
		if (image)
			component_add_dir(c, "usr/lib/sysimage/rpm", 0755);
		site_add(&s, c);
		site_finish_well(&s);
		assert_int_equal(packages_at(&s, image ? "usr/lib/sysimage/rpm/rpmdb.sqlite"
						       : "var/lib/rpm/rpmdb.sqlite"),
				 2);
		if (image)
			assert_string_equal(site_link(&s, "var/lib/rpm"),
					    "../../usr/lib/sysimage/rpm");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accounts_that_scriptlets_add_go_behind_those_of_setup),
		cmocka_unit_test(test_files_belong_to_the_accounts_of_the_image),
		cmocka_unit_test(test_an_owner_that_nobody_knows_is_root_without_setuid),
		cmocka_unit_test(test_hostile_names_make_no_accounts),
		cmocka_unit_test(test_alternatives_of_rpms_have_their_own_record),
		cmocka_unit_test(test_the_policy_decides_the_back_ends),
		cmocka_unit_test(test_a_policy_that_leaves_its_folder_is_none),
		cmocka_unit_test(test_scriptlets_are_reported_by_their_interpreters),
		cmocka_unit_test(test_the_database_lies_where_the_packages_have_its_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
