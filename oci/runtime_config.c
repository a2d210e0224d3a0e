#include "oci/runtime_config.h"

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
