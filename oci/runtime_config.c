#include "oci/runtime_config.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

json_t *runtime_mount(const char *to, const char *type, const char *from, json_t *options)
{
	json_t *o = json_object();

	json_put(o, "destination", json_text(to));
	json_put(o, "type", json_text(type));
	json_put(o, "source", json_text(from));
	json_put(o, "options", options);
	return o;
}

void runtime_add_mounts(json_t *mounts)
{
	static const char *const none[] = { "nosuid", "noexec", "nodev", NULL };
	static const char *const dev[] = { "nosuid", "strictatime", "mode=755", "size=65536k",
					   NULL };
	static const char *const pts[] = { "nosuid",        "noexec",    "newinstance",
					   "ptmxmode=0666", "mode=0620", NULL };
	static const char *const tmp[] = { "nosuid", "nodev", "mode=1777", NULL };

	json_push(mounts, runtime_mount("/proc", "proc", "proc", json_texts(none)));
	json_push(mounts, runtime_mount("/dev", "tmpfs", "tmpfs", json_texts(dev)));
	json_push(mounts, runtime_mount("/dev/pts", "devpts", "devpts", json_texts(pts)));
	json_push(mounts, runtime_mount("/tmp", "tmpfs", "tmpfs", json_texts(tmp)));
}

void runtime_add_namespace(json_t *namespaces, const char *kind)
{
	json_t *o = json_object();

	json_put(o, "type", json_text(kind));
	json_push(namespaces, o);
}

json_t *runtime_id_mapping(uint32_t inside, uint32_t outside)
{
	json_t *list = json_array(), *o = json_object();

	json_put(o, "containerID", json_integer(inside));
	json_put(o, "hostID", json_integer(outside));
	json_put(o, "size", json_integer(1));
	json_push(list, o);
	return list;
}

void runtime_add_cdi_mounts(const struct cdi_edits *edits, json_t *mounts)
{
	for (size_t i = 0; i < edits->mounts.len; i++) {
		const struct cdi_mount *m = &edits->mounts.items[i];
		json_t *options = json_array();
		bool bind = false;

		for (size_t k = 0; k < m->options.count; k++) {
			bind |= str_equal(m->options.items[k], "bind") ||
				str_equal(m->options.items[k], "rbind");
			json_push(options, json_text(m->options.items[k]));
		}
		if (!bind && !m->type)
			json_push(options, json_text("rbind"));
		json_push(mounts, runtime_mount(m->container_path, m->type ? m->type : "none",
						m->host_path, options));
	}
}

/*
 * One node, and the rule that lets it be opened: without one, runc on cgroup v1 makes a node whose
 * open gives EPERM. Missing numbers come from the host's node.
 */
static void add_device(const struct cdi_node *n, json_t *devices, json_t *rules)
{
	struct stat st = { 0 };
	bool there = stat(n->host_path, &st) == 0;
	json_t *o = json_object(), *rule = json_object();
	char type[2] = { n->type ? n->type : S_ISBLK(st.st_mode) ? 'b' : 'c', '\0' };
	uint32_t major = n->has_number || !there ? n->major : major(st.st_rdev);
	uint32_t minor = n->has_number || !there ? n->minor : minor(st.st_rdev);

	json_put(o, "path", json_text(n->path));
	json_put(o, "type", json_text(type));
	json_put(o, "major", json_integer(major));
	json_put(o, "minor", json_integer(minor));
	json_put(o, "fileMode",
		 json_integer(n->has_mode ? n->mode
			      : there     ? st.st_mode & 0777
					  : 0666));
	json_put(o, "uid", json_integer(n->has_uid ? n->uid : 0));
	json_put(o, "gid", json_integer(n->has_gid ? n->gid : 0));
	json_push(devices, o);
	json_put(rule, "allow", json_true());
	json_put(rule, "type", json_text(type));
	json_put(rule, "major", json_integer(major));
	json_put(rule, "minor", json_integer(minor));
	json_put(rule, "access", json_text(n->permissions));
	if (n->permissions[0])
		json_push(rules, rule);
	else
		json_decref(rule);
}

void runtime_add_cdi_devices(const struct cdi_edits *edits, json_t *linux_part)
{
	json_t *devices = json_array(), *rules = json_array(), *resources = json_object();

	for (size_t i = 0; i < edits->nodes.len; i++)
		add_device(&edits->nodes.items[i], devices, rules);
	json_put(linux_part, "devices", devices);
	json_put(resources, "devices", rules);
	json_put(linux_part, "resources", resources);
}

void runtime_bind_cdi_devices(const struct cdi_edits *edits, json_t *mounts)
{
	static const char *const options[] = { "bind", "nosuid", "noexec", NULL };

	for (size_t i = 0; i < edits->nodes.len; i++)
		json_push(mounts,
			  runtime_mount(edits->nodes.items[i].path, "none",
					edits->nodes.items[i].host_path, json_texts(options)));
}
