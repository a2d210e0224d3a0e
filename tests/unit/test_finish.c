#include "tests/support/test.h"

#include "builder/finish/finish.h"
#include "builder/plan.h"
#include "formats/ldcache.h"
#include "tests/support/site.h"

static void open_site(struct site *s, const char *image)
{
	site_open(s, image);
	site_add(s, finish_filesystem(&s->finish.platform, true));
}

static struct component *deb(const char *name, const char *postinst)
{
	struct component *c = component_new(COMPONENT_DEB, name, "1.0");

	c->arch = "amd64";
	c->control = slice_str(arena_printf(&c->arena,
					    "Package: %s\nVersion: 1.0\nArchitecture: amd64\n"
					    "Description: a test\n and more\n",
					    name));
	if (postinst) {
		struct component_script script = { .name = "postinst" };

		script.text = arena_strdup(&c->arena, postinst);
		script.len = strlen(postinst);
		vec_push(&c->scripts, script);
	}
	return c;
}

static void put(struct site *s, const char *package, const char *postinst, const char *path,
		const char *text)
{
	struct component *c = deb(package, postinst);
	struct error err = { 0 };

	finish_diversions(c, &s->rootfs);
	component_add_text(c, path, 0755, slice_str(text));
	assert_ok(rootfs_add(&s->rootfs, c, &err), err);
}

static void test_accounts_come_from_the_masters_and_the_manifest(void **state)
{
	cleanup_site struct site s = { 0 };
	cleanup_free char *passwd = NULL, *shadow = NULL, *group = NULL;

	(void)state;
	open_site(&s, "{ user: { name: app, uid: 1000, gid: 1000, home: /home/app } }");
	put(&s, "base-passwd", NULL, "usr/share/base-passwd/passwd.master",
	    "root:*:0:0:root:/root:/bin/bash\nbin:*:2:2:bin:/bin:/usr/sbin/nologin\n");
	site_finish_well(&s);
	passwd = site_text(&s, "etc/passwd");
	shadow = site_text(&s, "etc/shadow");
	group = site_text(&s, "etc/group");
	assert_contains(passwd, "root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:");
	assert_contains(passwd, "app:x:1000:1000::/home/app:/bin/sh\n");
	assert_contains(shadow, "root:*:3652:0:99999:7:::\n");
	assert_contains(group, "app:x:1000:\n");
	assert_int_equal(rootfs_lookup(&s.rootfs, "etc/shadow")->tar->mode, 0640);
	assert_int_equal(rootfs_lookup(&s.rootfs, "etc/shadow")->tar->gid, 42);
	assert_int_equal(rootfs_lookup(&s.rootfs, "home/app")->tar->uid, 1000);
}

static void test_a_user_whose_number_is_taken_is_refused(void **state)
{
	cleanup_site struct site s = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, "{ user: { name: app, uid: 65534, gid: 65534 } }");
	assert_int_equal(site_finish(&s, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "nobody");
}

static void test_system_users_of_packages_have_fixed_numbers(void **state)
{
	cleanup_site struct site s = { 0 };
	cleanup_free char *passwd = NULL;

	(void)state;
	open_site(&s, "{}");
	put(&s, "apt",
	    "#!/bin/sh\nif [ \"$1\" = configure ]; then\n"
	    "adduser --force-badname --system --home /nonexistent --no-create-home --quiet "
	    "_apt\nfi\n",
	    "usr/bin/apt", "x");
	put(&s, "some",
	    "#!/bin/sh\nsystemd-sysusers ${DPKG_ROOT:+--root=\"$DPKG_ROOT\"} some.conf\n",
	    "usr/lib/sysusers.d/some.conf",
	    "# comment\nu some 250 \"Some Service\" /var/lib/some\nu drawn - \"Drawn\"\n");
	site_finish_well(&s);
	passwd = site_text(&s, "etc/passwd");
	assert_contains(passwd, "_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\n");
	assert_contains(passwd, "some:x:250:250:Some Service:/var/lib/some:/usr/sbin/nologin\n");
	assert_contains(passwd, "drawn:x:999:999:Drawn:/:");
}

static void test_what_scripts_do_with_files_for_sure_is_done(void **state)
{
	cleanup_site struct site s = { 0 };
	cleanup_free char *overrides = NULL, *text = NULL;
	const struct rootfs_node *n;

	(void)state;
	open_site(&s, "{}");
	put(&s, "libcap2-bin", NULL, "usr/sbin/setcap", "x");
	put(&s, "tool",
	    "#!/bin/sh\naddgroup --system ssl-cert\n"
	    "[ -d /var/lib/tool ] || mkdir -m 750 /var/lib/tool\n"
	    "if unknown; then mkdir /var/lib/other; fi\n"
	    "chown root:ssl-cert /var/lib/tool\nln -s ../x /etc/link\n"
	    "cat >/etc/made <<EOF\nline\nEOF\n"
	    "if command -v setcap >/dev/null; then setcap cap_net_raw+ep /usr/bin/tool; fi\n"
	    "dpkg-statoverride --update --add root ssl-cert 4710 /usr/bin/tool\n",
	    "usr/bin/tool", "x");
	site_finish_well(&s);
	n = rootfs_lookup(&s.rootfs, "var/lib/tool");
	assert_int_equal(n->tar->mode, 0750);
	assert_int_equal(n->tar->gid, 116);
	assert_null(rootfs_lookup(&s.rootfs, "var/lib/other"));
	assert_string_equal(site_link(&s, "etc/link"), "../x");
	text = site_text(&s, "etc/made");
	assert_string_equal(text, "line\n");
	n = rootfs_lookup(&s.rootfs, "usr/bin/tool");
	assert_int_equal(n->tar->mode, 04710);
	assert_int_equal(n->tar->gid, 116);
	assert_int_equal(tar_extras(n->tar)->xattr_count, 1);
	assert_string_equal(n->tar->extras->xattrs[0].name, "security.capability");
	assert_int_equal(n->tar->extras->xattrs[0].value[5], 0x20);
	overrides = site_text(&s, "var/lib/dpkg/statoverride");
	assert_string_equal(overrides, "root ssl-cert 4710 /usr/bin/tool\n");
}

static void test_a_diversion_moves_what_others_bring(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *big = deb("big", NULL);
	const char *preinst = "#!/bin/sh\nif [ \"$1\" = install ]; then\ndpkg-divert --package big "
			      "--add --rename --divert /usr/bin/x.small /usr/bin/x\nfi\n";
	struct component_script script = { "preinst", preinst, strlen(preinst), NULL };
	struct error err = { 0 };
	cleanup_free char *diversions = NULL;

	(void)state;
	open_site(&s, "{}");
	vec_push(&big->scripts, script);
	finish_diversions(big, &s.rootfs);
	put(&s, "small", NULL, "usr/bin/x", "small");
	component_add_text(big, "usr/bin/x", 0755, slice_str("big"));
	assert_ok(rootfs_add(&s.rootfs, big, &err), err);
	site_finish_well(&s);
	assert_non_null(rootfs_lookup(&s.rootfs, "usr/bin/x.small"));
	diversions = site_text(&s, "var/lib/dpkg/diversions");
	assert_string_equal(diversions, "/usr/bin/x\n/usr/bin/x.small\nbig\n");
}

static void test_a_diversion_to_what_is_no_name_is_passed_over(void **state)
{
	static const char *const places[] = { "/usr/lib/..", "/usr/lib/.",    "/usr/lib/",
					      "/",           "/usr/lib/../x", "usr/bin/y" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		cleanup_site struct site s = { 0 };
		cleanup_free char *script = xasprintf(
			"dpkg-divert --package big --add --divert %s /usr/bin/x\n", places[i]);

		open_site(&s, "{}");
		put(&s, "big", script, "usr/bin/big", "big");
		put(&s, "small", NULL, "usr/bin/x", "small");
		site_finish_well(&s);
		assert_non_null(rootfs_lookup(&s.rootfs, "usr/bin/x"));
		assert_int_equal(s.rootfs.diversions.len, 0);
	}
}

static const char awk[] =
	"#!/bin/sh\nset -e\nif [ \"$1\" = configure ] || [ \"$1\" = abort-upgrade ]; then\n"
	"update-alternatives --install /usr/bin/awk awk /usr/bin/mawk 5 \\\n"
	"  --slave /usr/bin/nawk nawk /usr/bin/mawk --slave /usr/share/man/a.1 a.1 /no/such\nfi\n";

static void test_the_highest_priority_is_the_alternative(void **state)
{
	cleanup_site struct site s = { 0 };
	cleanup_free char *record = NULL;

	(void)state;
	open_site(&s, "{}");
	put(&s, "mawk", awk, "usr/bin/mawk", "mawk");
	put(&s, "gawk",
	    "#!/bin/sh\nupdate-alternatives --install /usr/bin/awk awk /usr/bin/gawk 10\n",
	    "usr/bin/gawk", "gawk");
	site_finish_well(&s);
	assert_string_equal(site_link(&s, "etc/alternatives/awk"), "/usr/bin/gawk");
	assert_string_equal(site_link(&s, "usr/bin/awk"), "/etc/alternatives/awk");
	record = site_text(&s, "var/lib/dpkg/alternatives/awk");
	assert_string_equal(record, "auto\n/usr/bin/awk\na.1\n/usr/share/man/a.1\nnawk\n"
				    "/usr/bin/nawk\n\n/usr/bin/gawk\n10\n\n\n"
				    "/usr/bin/mawk\n5\n/no/such\n/usr/bin/mawk\n\n");
}

static void test_of_equal_priorities_the_first_registered_stays(void **state)
{
	cleanup_site struct site s = { 0 };

	(void)state;
	open_site(&s, "{}");
	put(&s, "second", "#!/bin/sh\nupdate-alternatives --install /usr/bin/t t /usr/bin/t-z 10\n",
	    "usr/bin/t-z", "z");
	put(&s, "first", "#!/bin/sh\nupdate-alternatives --install /usr/bin/t t /usr/bin/t-a 10\n",
	    "usr/bin/t-a", "a");
	site_finish_well(&s);
	assert_string_equal(site_link(&s, "etc/alternatives/t"), "/usr/bin/t-z");
}

/* A small system, in which the scripts of base-files, libc-bin and others have something to do. */
static void open_system(struct site *s)
{
	open_site(s, "{}");
	put(s, "base-files", NULL, "etc/dpkg/origins/debian", "Vendor: Debian\n");
	put(s, "dash", NULL, "usr/bin/dash", "dash");
	put(s, "libc-bin", NULL, "usr/share/libc-bin/nsswitch.conf", "hosts: files dns\n");
	put(s, "tzdata", "#!/bin/sh\necho Etc/UTC > /etc/timezone\n", "usr/share/zoneinfo/Etc/UTC",
	    "TZif");
	put(s, "openssh-server", NULL, "usr/sbin/sshd", "sshd");
	site_finish_well(s);
}

static void test_files_that_scripts_write_or_copy_are_there(void **state)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "etc/nsswitch.conf", "hosts: files dns\n" },
		{ "etc/timezone", "Etc/UTC\n" },
		{ "etc/machine-id", "" },
		{ "etc/subuid", "" },
		{ "etc/subgid", "" },
	};
	cleanup_site struct site s = { 0 };

	(void)state;
	open_system(&s);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_free char *text = site_text(&s, files[i].path);

		assert_string_equal(text, files[i].text);
	}
	assert_string_equal(site_link(&s, "usr/bin/sh"), "dash");
	assert_string_equal(site_link(&s, "etc/localtime"), "/usr/share/zoneinfo/Etc/UTC");
	assert_string_equal(site_link(&s, "etc/dpkg/origins/default"), "debian");
}

static void test_what_differs_between_machines_is_not_made(void **state)
{
	static const char *const paths[] = {
		"etc/hostname",
		"etc/hosts",
		"etc/resolv.conf",
		"etc/mtab",
		"etc/fstab",
		"etc/ssh/ssh_host_rsa_key",
		"etc/ssh/ssh_host_ed25519_key",
		"var/lib/dbus/machine-id",
		"var/log/dpkg.log",
		"var/log/alternatives.log",
		"var/log/bootstrap.log",
		"var/log/apt",
		"var/lib/apt/lists",
		"var/cache/ldconfig/aux-cache",
		"var/lib/systemd/random-seed",
		"var/cache/fontconfig",
	};
	cleanup_site struct site s = { 0 };

	(void)state;
	open_system(&s);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (rootfs_lookup(&s.rootfs, paths[i]))
			fail_msg("%s", paths[i]);
	}
}

static void test_folders_of_the_system_have_their_modes(void **state)
{
	static const struct {
		const char *path;
		uint32_t mode;
		uint64_t gid;
	} folders[] = {
		{ "tmp", 01777, 0 },      { "var/tmp", 01777, 0 }, { "run", 0755, 0 },
		{ "run/lock", 01777, 0 }, { "root", 0700, 0 },     { "var/mail", 02775, 8 },
	};
	cleanup_site struct site s = { 0 };

	(void)state;
	open_system(&s);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		const struct rootfs_node *n = rootfs_lookup(&s.rootfs, folders[i].path);

		if (!n || n->tar->type != TAR_DIR || n->tar->mode != folders[i].mode ||
		    n->tar->gid != folders[i].gid)
			fail_msg("%s", folders[i].path);
	}
	assert_string_equal(site_link(&s, "usr/local/man"), "share/man");
}

static void test_slaves_whose_file_is_missing_are_left_out(void **state)
{
	cleanup_site struct site s = { 0 };

	(void)state;
	open_site(&s, "{}");
	put(&s, "mawk", awk, "usr/bin/mawk", "mawk");
	site_finish_well(&s);
	assert_string_equal(site_link(&s, "usr/bin/nawk"), "/etc/alternatives/nawk");
	assert_null(rootfs_lookup(&s.rootfs, "usr/share/man/a.1"));
}

static void test_names_of_alternatives_never_leave_their_folder(void **state)
{
	cleanup_site struct site s = { 0 };

	(void)state;
	open_site(&s, "{}");
	put(&s, "evil",
	    "#!/bin/sh\nupdate-alternatives --install /usr/bin/x ../../etc/passwd /usr/bin/y 5\n"
	    "update-alternatives --install /usr/../etc/x z /usr/bin/y 5\n",
	    "usr/bin/y", "y");
	site_finish_well(&s);
	assert_null(rootfs_lookup(&s.rootfs, "usr/bin/x"));
	assert_null(rootfs_lookup(&s.rootfs, "etc/x"));
}

static const char certificate[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBoTCCAUegAwIBAgIUP5YUi3ppUGnLQNcj4oKdxSiSwEwwCgYIKoZIzj0EAwIw\n"
	"JTEUMBIGA1UECgwLZ3B1aW1nIHRlc3QxDTALBgNVBAMMBFRlc3QwIBcNMjYxMTMw\n"
	"MTc1MzA4WhgPMjEyNjExMDYxNzUzMDhaMCUxFDASBgNVBAoMC2dwdWltZyB0ZXN0\n"
	"MQ0wCwYDVQQDDARUZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE9fhGrhKT\n"
	"RoWGbBLPwD3Pv4EGId7v7UKd8FL/p7NwD94gT/bo0xaFJXsyR6s9fdCa5TVFlr/y\n"
	"4z+L7HZw7iPzdqNTMFEwHQYDVR0OBBYEFE/IihlHH9ffuaLCCbaC40anHqPVMB8G\n"
	"A1UdIwQYMBaAFE/IihlHH9ffuaLCCbaC40anHqPVMA8GA1UdEwEB/wQFMAMBAf8w\n"
	"CgYIKoZIzj0EAwIDSAAwRQIgcE1idTHPY52uxpu/ZLip+XElZX3yR7Pq1kIEyjxl\n"
	"2XECIQDntNHgeFRNG7dL1Nz/UVXAG0GiXzafFW04TNTkZxhLDw==\n"
	"-----END CERTIFICATE-----\n";

static void test_certificates_get_a_bundle_and_their_links(void **state)
{
	cleanup_site struct site s = { 0 };
	cleanup_free char *bundle = NULL;

	(void)state;
	open_site(&s, "{}");
	put(&s, "ca-certificates", NULL, "usr/share/ca-certificates/mozilla/Test (1).crt",
	    certificate);
	site_finish_well(&s);
	bundle = site_text(&s, "etc/ssl/certs/ca-certificates.crt");
	assert_string_equal(bundle, certificate);
	assert_string_equal(site_link(&s, "etc/ssl/certs/Test_=1=.pem"),
			    "/usr/share/ca-certificates/mozilla/Test (1).crt");
	assert_string_equal(site_link(&s, "etc/ssl/certs/5c22188b.0"), "Test_=1=.pem");
}

static void test_certificates_of_the_site_go_behind_those_of_the_distribution(void **state)
{
	cleanup_site struct site s = { 0 };
	cleanup_free char *bundle = NULL, *conf = NULL,
			  *twice = xasprintf("%s%s", certificate, certificate);

	(void)state;
	open_site(&s, "{}");
	put(&s, "ca-certificates", NULL, "usr/share/ca-certificates/mozilla/Test.crt", certificate);
	put(&s, "site", NULL, "usr/local/share/ca-certificates/a/Own CA.crt", certificate);
	put(&s, "other", NULL, "usr/local/share/ca-certificates/Test.crt", certificate);
	put(&s, "none", NULL, "usr/local/share/ca-certificates/readme.txt", "no certificate");
	site_finish_well(&s);
	bundle = site_text(&s, "etc/ssl/certs/ca-certificates.crt");
	conf = site_text(&s, "etc/ca-certificates.conf");
	assert_int_equal(strlen(bundle), 3 * strlen(certificate));
	assert_string_equal(bundle + strlen(certificate), twice);
	assert_string_equal(site_link(&s, "etc/ssl/certs/Own_CA.pem"),
			    "/usr/local/share/ca-certificates/a/Own CA.crt");
	assert_string_equal(site_link(&s, "etc/ssl/certs/5c22188b.1"), "Own_CA.pem");
	/* one name, one link */
	assert_string_equal(site_link(&s, "etc/ssl/certs/Test.pem"),
			    "/usr/share/ca-certificates/mozilla/Test.crt");
	assert_null(strstr(conf, "Own"));
	assert_contains(conf, "\nmozilla/Test.crt\n");
}

static void java(struct site *s, const char *defaults, bool installed)
{
	open_site(s, "{}");
	put(s, "ca-certificates", NULL, "usr/share/ca-certificates/Test.crt", certificate);
	put(s, "ca-certificates-java", "#!/bin/sh\njava -jar x\n", "etc/default/cacerts", defaults);
	if (installed)
		put(s, "jre", NULL, "usr/bin/java", "x");
	site_finish_well(s);
}

static void test_java_gets_a_key_store_of_the_certificates(void **state)
{
	static const uint8_t head[] = { 0xfe, 0xed, 0xfe, 0xed, 0,   0,   0,   2,   0,   0,
					0,    1,    0,    0,    0,   2,   0,   15,  'd', 'e',
					'b',  'i',  'a',  'n',  ':', 't', 'e', 's', 't', '.' };
	cleanup_site struct site s = { 0 };
	cleanup_strbuf struct strbuf store = { 0 };
	struct error err = { 0 };

	(void)state;
	java(&s, "#storepass=''\ncacerts_updates=yes\n", true);
	assert_ok(rootfs_read(&s.rootfs, "etc/ssl/certs/java/cacerts", MIB, &store, &err), err);
	assert_int_equal(store.len, 12 + 4 + 17 + 8 + 7 + 4 + 421 + 20);
	assert_memory_equal(store.data, head, sizeof(head));
	assert_int_equal(rootfs_lookup(&s.rootfs, "etc/default/cacerts")->tar->mode, 0600);
	for (size_t i = 0; i < s.finish.actions.len; i++)
		assert_int_not_equal(s.finish.actions.items[i].fate, SCRIPT_NOT_DONE);
}

static void test_java_gets_no_key_store_where_its_script_makes_none(void **state)
{
	cleanup_site struct site forbidden = { 0 }, bare = { 0 };

	(void)state;
	java(&forbidden, "cacerts_updates=no\n", true);
	assert_null(rootfs_lookup(&forbidden.rootfs, "etc/ssl/certs/java/cacerts"));
	java(&bare, "cacerts_updates=yes\n", false);
	assert_null(rootfs_lookup(&bare.rootfs, "etc/ssl/certs/java/cacerts"));
}

static void test_tmpfiles_with_a_prefix_make_only_what_lies_there(void **state)
{
	cleanup_site struct site s = { 0 };

	(void)state;
	open_site(&s, "{}");
	put(&s, "systemd", "#!/bin/sh\nsystemd-tmpfiles --create --prefix /var/log/journal\n",
	    "usr/bin/systemd-tmpfiles", "x");
	put(&s, "one", NULL, "usr/lib/tmpfiles.d/one.conf",
	    "d /var/log/journal 2755 root root -\nd /var/log/journals 0755\nd /var/other 0755\n");
	put(&s, "two", "#!/bin/sh\nsystemd-tmpfiles --create --prefix=/srv two.conf\n",
	    "usr/lib/tmpfiles.d/two.conf", "d /srv/two 0700\n");
	site_finish_well(&s);
	assert_non_null(rootfs_lookup(&s.rootfs, "var/log/journal"));
	assert_int_equal(rootfs_lookup(&s.rootfs, "var/log/journal")->tar->mode, 02755);
	assert_null(rootfs_lookup(&s.rootfs, "var/log/journals"));
	assert_null(rootfs_lookup(&s.rootfs, "var/other"));
	assert_non_null(rootfs_lookup(&s.rootfs, "srv/two"));
}

static void test_folders_of_tmpfiles_and_of_users_have_proper_names(void **state)
{
	cleanup_site struct site s = { 0 };

	(void)state;
	open_site(&s, "{}");
	put(&s, "systemd", "#!/bin/sh\nsystemd-tmpfiles --create t.conf\n",
	    "usr/bin/systemd-tmpfiles", "x");
	put(&s, "t", "#!/bin/sh\nadduser --system --group --home /var/lib/t/ t\n",
	    "usr/lib/tmpfiles.d/t.conf",
	    "d //top 0700\nd /srv/slash/ 0700\nd /srv/up/.. 0700\nd /srv/here/. 0700\nf "
	    "/srv/../etc/x\n");
	site_finish_well(&s);
	assert_int_equal(rootfs_lookup(&s.rootfs, "srv/slash")->tar->mode, 0700);
	assert_non_null(rootfs_lookup(&s.rootfs, "top"));
	assert_null(rootfs_lookup(&s.rootfs, "/top"));
	assert_non_null(rootfs_lookup(&s.rootfs, "var/lib/t"));
	assert_null(rootfs_lookup(&s.rootfs, "srv/up/.."));
	assert_null(rootfs_lookup(&s.rootfs, "srv/here/."));
	assert_null(rootfs_lookup(&s.rootfs, "etc/x"));
}

static void test_what_is_no_certificate_is_named(void **state)
{
	cleanup_site struct site s = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, "{}");
	put(&s, "ca-certificates", NULL, "usr/share/ca-certificates/bad.crt", "not PEM");
	assert_int_equal(site_finish(&s, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, "bad.crt");
}

static void test_the_package_database_is_the_full_form(void **state)
{
	cleanup_site struct site s = { 0 };
	cleanup_free char *status = NULL, *list = NULL;
	struct component *c = deb("tool", NULL);
	struct error err = { 0 };

	(void)state;
	open_site(&s, "{}");
	c->conffiles = slice_str("/etc/tool.conf\n");
	component_add_text(c, "bin/tool", 0755, slice_str("x"));
	component_add_text(c, "etc/tool.conf", 0644, slice_str("abc"));
	assert_ok(rootfs_add(&s.rootfs, c, &err), err);
	site_finish_well(&s);
	status = site_text(&s, "var/lib/dpkg/status");
	list = site_text(&s, "var/lib/dpkg/info/tool.list");
	assert_string_equal(status, "Package: tool\nStatus: install ok installed\n"
				    "Architecture: amd64\nVersion: 1.0\nConffiles:\n"
				    " /etc/tool.conf 900150983cd24fb0d6963f7d28e17f72\n"
				    "Description: a test\n and more\n\n");
	assert_string_equal(list, "/.\n/bin/tool\n/etc/tool.conf\n");
}

static void test_cuda_gets_its_links_and_the_stub_off_every_path(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *wheel = component_new(COMPONENT_WHEEL, "nvidia-cuda-runtime", "13.0");
	cleanup_free char *conf = NULL;
	struct error err = { 0 };

	(void)state;
	open_site(&s, "{}");
	s.solved.cuda = "13.0";
	put(&s, "libc6", NULL, "lib64/ld-linux-x86-64.so.2", "elf");
	component_add_text(wheel, "usr/local/cuda-13.0/targets/x86_64-linux/lib/libcudart.so.13",
			   0755, slice_str("elf"));
	assert_ok(rootfs_add(&s.rootfs, wheel, &err), err);
	site_finish_well(&s);
	assert_string_equal(site_link(&s, "usr/local/cuda"), "cuda-13.0");
	assert_string_equal(site_link(&s, "usr/local/cuda-13.0/lib64"), "targets/x86_64-linux/lib");
	assert_non_null(rootfs_resolve(&s.rootfs, "/usr/local/cuda/lib64/stubs/libcuda.so"));
	assert_null(rootfs_resolve(&s.rootfs, "/usr/local/cuda/lib64/stubs/libcuda.so.1"));
	conf = site_text(&s, "etc/ld.so.conf.d/gpuimg-cuda.conf");
	assert_string_equal(conf, "/usr/local/cuda-13.0/targets/x86_64-linux/lib\n");
}

static void test_a_toolkit_with_lib_beside_it_has_the_stub_there(void **state)
{
	cleanup_site struct site s = { 0 };
	struct component *kit = component_new(COMPONENT_TREE, "kit", "");
	struct error err = { 0 };

	(void)state;
	open_site(&s, "{}");
	s.solved.cuda = "13.0";
	component_add_text(kit, "usr/local/cuda-13.0/lib/libcudart.so.13", 0755, slice_str("elf"));
	assert_ok(rootfs_add(&s.rootfs, kit, &err), err);
	site_finish_well(&s);
	assert_string_equal(site_link(&s, "usr/local/cuda-13.0/lib64"), "lib");
	assert_non_null(rootfs_lookup(&s.rootfs, "usr/local/cuda-13.0/lib/stubs/libcuda.so"));
}

/* A .pyc as Python 3.7 and later begin it: number, flags, time and size of the source, code. */
static void put_pyc(struct component *c, const char *path, uint32_t flags, uint32_t time,
		    uint32_t size)
{
	const uint32_t words[] = { 0x0a0d0d6f, flags, time, size, 0xe3 };
	uint8_t bytes[sizeof(words)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(words[i / 4] >> (8 * (i % 4)));
	component_add_text(c, path, 0644, slice_of(bytes, sizeof(bytes)));
}

#define SITE "usr/local/lib/python3.11/dist-packages/"

static void test_what_of_wheels_runs_or_is_of_no_use_is_said(void **state)
{
	static const char *const said[] = {
		"/" SITE "hook.pth: Python runs lines of it whenever it starts",
		"Wheel-Version 1.4, where 1.0 is known: placed as that",
		"2 files of byte-code that Python passes over: their sources have another time "
		"(/" SITE "m/__pycache__/late.cpython-311.pyc)",
	};
	cleanup_site struct site s = { 0 };
	struct component *c = component_new(COMPONENT_WHEEL, "demo", "1");
	struct error err = { 0 };

	(void)state;
	open_site(&s, "{}");
	component_add_text(c, SITE "hook.pth", 0644, slice_str("# x\nimport demo; demo.run()\n"));
	component_add_text(c, SITE "paths.pth", 0644, slice_str("/opt/lib\nimported\n"));
	component_add_text(c, SITE "demo/inner.pth", 0644, slice_str("import os\n"));
	component_add_text(c, SITE "demo-1.dist-info/WHEEL", 0644,
			   slice_str("Root-Is-Purelib: true\nWheel-Version: 1.4\n"));
	component_add_text(c, SITE "m/good.py", 0644, slice_str("1234"));
	component_add_text(c, SITE "m/late.py", 0644, slice_str("1234"));
	component_add_text(c, SITE "m/size.py", 0644, slice_str("1234"));
	component_add_text(c, SITE "m/hash.py", 0644, slice_str("1234"));
	put_pyc(c, SITE "m/__pycache__/good.cpython-311.pyc", 0, FIXED_MTIME, 4);
	put_pyc(c, SITE "m/__pycache__/late.cpython-311.pyc", 0, FIXED_MTIME + 2, 4);
	put_pyc(c, SITE "m/__pycache__/size.cpython-311.pyc", 0, FIXED_MTIME, 5);
	put_pyc(c, SITE "m/__pycache__/hash.cpython-311.pyc", 1, 77, 78);
	put_pyc(c, SITE "m/__pycache__/gone.cpython-311.pyc", 0, 77, 78);
	put_pyc(c, SITE "m/alone.pyc", 0, 77, 78);
	assert_ok(rootfs_add(&s.rootfs, c, &err), err);
	site_finish_well(&s);
	assert_int_equal(s.finish.actions.len, ARRAY_LEN(said));
	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		assert_string_equal(s.finish.actions.items[i].text, said[i]);
		assert_string_equal(s.finish.actions.items[i].package, "demo");
		assert_int_not_equal(s.finish.actions.items[i].fate, SCRIPT_NOT_DONE);
	}
}

static void test_what_no_action_has_done_is_said_with_its_line(void **state)
{
	static const char script[] = "#!/bin/sh\nset -e\n/usr/lib/foo/make-index --all\n";
	cleanup_site struct site s = { 0 };
	const struct build_action *a;
	struct digest digest = digest_of(slice_str(script));

	(void)state;
	open_site(&s, "{}");
	put(&s, "foo", script, "usr/bin/foo", "x");
	put(&s, "bar", "#!/bin/sh\ndeb-systemd-helper enable bar.service\n", "usr/bin/bar", "x");
	put(&s, "mawk", awk, "usr/bin/mawk", "mawk");
	put(&s, "lua", "#!/usr/bin/lua\nos.exit(1)\n", "usr/bin/lua5", "x");
	site_finish_well(&s);
	a = site_action(&s, "foo", "");
	assert_int_equal(a->fate, SCRIPT_NOT_DONE);
	assert_int_equal(a->line, 3);
	assert_string_equal(a->text, "/usr/lib/foo/make-index --all");
	assert_true(digest_equal(&a->digest, &digest));
	assert_int_equal(site_action(&s, "bar", "")->fate, SCRIPT_HARMLESS);
	assert_int_equal(site_action(&s, "mawk", "")->fate, SCRIPT_DONE);
	assert_int_equal(site_action(&s, "lua", "")->fate, SCRIPT_NOT_DONE);
}

/* The fates of a script's commands, one letter each in their order: d(one), h(armless), n(ot). */
static void assert_fates(const char *script, const char *want)
{
	static const char letters[] = { [SCRIPT_DONE] = 'd',
					[SCRIPT_HARMLESS] = 'h',
					[SCRIPT_NOT_DONE] = 'n',
					[SCRIPT_ACCEPTED] = 'a' };
	cleanup_site struct site s = { 0 };
	cleanup_free char *text = xasprintf("#!/bin/sh\nset -e\n%s", script);
	cleanup_strbuf struct strbuf got = { 0 };

	open_site(&s, "{}");
	put(&s, "libcap2-bin", NULL, "usr/sbin/setcap", "x");
	put(&s, "debianutils", NULL, "usr/share/debianutils/shells", "/bin/sh\n");
	put(&s, "base-passwd", NULL, "usr/share/base-passwd/group.master",
	    "root:*:0:\nadm:*:4:\nstaff:*:50:\n");
	put(&s, "tool", text, "usr/bin/tool", "x");
	site_finish_well(&s);
	for (size_t i = 0; i < s.finish.actions.len; i++) {
		if (str_equal(s.finish.actions.items[i].package, "tool"))
			strbuf_addc(&got, letters[s.finish.actions.items[i].fate]);
	}
	if (!str_equal(strbuf_text(&got), want))
		fail_msg("%s: %s, not %s", script, strbuf_text(&got), want);
}

static void test_what_an_action_has_applied_is_reported_as_done(void **state)
{
	static const char *const scripts[][2] = {
		{ "adduser --system --group --home /var/lib/t t\nadduser t adm\n", "dd" },
		{ "addgroup --system t\nchown root:t /usr/bin/tool\n", "dd" },
		{ "groupadd -r t\nchgrp t /usr/bin/tool\nchmod 2755 /usr/bin/tool\n", "ddd" },
		{ "chmod u+s /usr/bin/tool\nchmod g-w,o= /usr/bin/tool\n", "dd" },
		{ "chown root:adm /usr/bin/tool\nchown root:root /usr/bin/tool\n", "dd" },
		{ "dpkg-statoverride --update --add root adm 4710 /usr/bin/tool\n", "d" },
		{ "if setcap cap_net_raw+ep /usr/bin/tool; then chmod u-s /usr/bin/tool; fi\n",
		  "dd" },
		{ "mkdir -m 750 -p /var/lib/t/\ninstall -d -o root -g adm -m 2750 /srv/t\n", "dd" },
		{ "ln -s tool /usr/bin/link\ncp /usr/bin/tool /etc/copy\n", "dd" },
		{ "cat >/etc/made <<EOF\nx\nEOF\necho x >/etc/echoed\n", "dd" },
		{ "touch /var/log/t\nchown root:adm /var/log/t\nucf /usr/bin/tool /etc/t\n",
		  "ddd" },
		{ "add-shell /bin/t\nldconfig\nupdate-shells\n", "dhd" },
		{ "for i in a b; do mkdir /srv/$i; done\n", "dd" },
		{ "t() { mkdir \"$1\"; }\nt /srv/a\nt /srv/b\n", "dd" },
		{ "rm -f /etc/nothing /etc/no*\nln -s /bin/tool /usr/bin/tool\n", "dd" },
		{ "dpkg-divert --add --rename --package tool --divert /usr/bin/y /usr/bin/x\n",
		  "d" },
		{ "# Automatically added by dh_usrlocal\nwhile read line; do\n set -- $line\n"
		  " dir=\"$1\"\n mkdir -p \"$dir\"\n chown \"$3:$4\" \"$dir\"\ndone << DATA\n"
		  "/usr/local/share/t default\nDATA\n",
		  "dd" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		assert_fates(scripts[i][0], scripts[i][1]);
}

static void test_what_was_applied_in_part_or_not_for_sure_is_not_done(void **state)
{
	static const char *const scripts[][2] = {
		{ "if unknown; then chown root:adm /usr/bin/tool; fi\n", "n" },
		{ "if unknown; then chmod u+s /usr/bin/tool; fi\n", "n" },
		{ "if unknown; then mkdir /srv/t; fi\n", "n" },
		{ "chown nobody-knows /usr/bin/tool\nchown root:adm /usr/bin/other\n", "nn" },
		{ "chmod u+s /usr/bin/tool /usr/bin/other\nchmod --reference /a /usr/bin/tool\n",
		  "nn" },
		{ "chmod -R 700 /usr/bin\nchmod u+X /usr/bin/tool\n", "nn" },
		{ "dpkg-statoverride --update --add t t 4710 /usr/bin/tool\n", "n" },
		{ "setcap cap_nothing+ep /usr/bin/tool\nsetcap -r /usr/bin/tool\n", "nn" },
		{ "adduser t\nadduser t adm\nusermod -L t\nadduser --system $name\n", "nnnn" },
		{ "ln -s other /usr/bin/tool\ncp /usr/bin/tool /usr/sbin/setcap2/../x\n", "nn" },
		{ "mkdir /srv/t/.\nmkdir /srv/..\nln -s /bin/sh /srv/t/.\necho x >/srv/t/.\n",
		  "nnnn" },
		{ "echo x >/usr/bin/tool\necho x >>/etc/more\necho x >\"$conf\"\n", "nnn" },
		{ "{ echo x; } >/etc/more\ncat /etc/x | tee /etc/y\n", "nn" },
		{ "ucf $new /etc/t\nrm /usr/bin/tool\nrm -f /usr/bin/t*\n", "nnn" },
		{ "add-shell $shell\nupdate-ca-certificates\neval \"$x\"\nexec /usr/bin/tool\n",
		  "nnnn" },
		{ "update-alternatives --install /usr/bin/t t $path 1\n", "n" },
		{ "sed -i s/a/b/ /etc/x\nmv /usr/bin/tool /usr/bin/t\n", "nn" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		assert_fates(scripts[i][0], scripts[i][1]);
}

static void test_commands_that_change_nothing_of_the_image_are_no_actions(void **state)
{
	static const char *const scripts[][2] = {
		{ "echo x\necho y >&2\necho z >/dev/null\nexec 1>&2\n", "" },
		{ "grep -q x /etc/x 2>/dev/null || true\n", "" },
		{ "dpkg-divert --remove --rename /usr/bin/x\ndpkg-divert --list x\n", "" },
		{ "mkdir /run/t\necho x >/run/t/x\n", "h" },
		{ "systemctl daemon-reload\ndpkg-trigger x\n", "hh" },
		{ "update-alternatives --install /usr/bin/tool tool /usr/bin/missing 1\n", "h" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		assert_fates(scripts[i][0], scripts[i][1]);
}

static void test_what_is_there_already_stays(void **state)
{
	cleanup_site struct site s = { 0 };
	cleanup_free char *conf = NULL, *machine_id = NULL;

	(void)state;
	open_site(&s, "{}");
	put(&s, "libc6", NULL, "lib64/ld-linux-x86-64.so.2", "elf");
	put(&s, "mine", NULL, "etc/ld.so.conf", "/opt/lib\n");
	put(&s, "base-files", NULL, "etc/debian_version", "12\n");
	site_finish_well(&s);
	conf = site_text(&s, "etc/ld.so.conf");
	machine_id = site_text(&s, "etc/machine-id");
	assert_string_equal(conf, "/opt/lib\n");
	assert_string_equal(machine_id, "");
	assert_string_equal(site_link(&s, "var/run"), "/run");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accounts_come_from_the_masters_and_the_manifest),
		cmocka_unit_test(test_a_user_whose_number_is_taken_is_refused),
		cmocka_unit_test(test_system_users_of_packages_have_fixed_numbers),
		cmocka_unit_test(test_what_scripts_do_with_files_for_sure_is_done),
		cmocka_unit_test(test_a_diversion_moves_what_others_bring),
		cmocka_unit_test(test_a_diversion_to_what_is_no_name_is_passed_over),
		cmocka_unit_test(test_the_highest_priority_is_the_alternative),
		cmocka_unit_test(test_of_equal_priorities_the_first_registered_stays),
		cmocka_unit_test(test_files_that_scripts_write_or_copy_are_there),
		cmocka_unit_test(test_what_differs_between_machines_is_not_made),
		cmocka_unit_test(test_folders_of_the_system_have_their_modes),
		cmocka_unit_test(test_slaves_whose_file_is_missing_are_left_out),
		cmocka_unit_test(test_names_of_alternatives_never_leave_their_folder),
		cmocka_unit_test(test_certificates_get_a_bundle_and_their_links),
		cmocka_unit_test(test_certificates_of_the_site_go_behind_those_of_the_distribution),
		cmocka_unit_test(test_java_gets_a_key_store_of_the_certificates),
		cmocka_unit_test(test_java_gets_no_key_store_where_its_script_makes_none),
		cmocka_unit_test(test_tmpfiles_with_a_prefix_make_only_what_lies_there),
		cmocka_unit_test(test_folders_of_tmpfiles_and_of_users_have_proper_names),
		cmocka_unit_test(test_what_is_no_certificate_is_named),
		cmocka_unit_test(test_the_package_database_is_the_full_form),
		cmocka_unit_test(test_cuda_gets_its_links_and_the_stub_off_every_path),
		cmocka_unit_test(test_a_toolkit_with_lib_beside_it_has_the_stub_there),
		cmocka_unit_test(test_what_of_wheels_runs_or_is_of_no_use_is_said),
		cmocka_unit_test(test_what_no_action_has_done_is_said_with_its_line),
		cmocka_unit_test(test_what_an_action_has_applied_is_reported_as_done),
		cmocka_unit_test(test_what_was_applied_in_part_or_not_for_sure_is_not_done),
		cmocka_unit_test(test_commands_that_change_nothing_of_the_image_are_no_actions),
		cmocka_unit_test(test_what_is_there_already_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
