#include "formats/file_caps.h"

#include "base/slice.h"

enum { CAPS_REVISION_2 = 0x02000000, CAPS_EFFECTIVE = 1 };

/* By number. Source: linux/capability.h. */
static const char *const names[] = {
	"cap_chown",
	"cap_dac_override",
	"cap_dac_read_search",
	"cap_fowner",
	"cap_fsetid",
	"cap_kill",
	"cap_setgid",
	"cap_setuid",
	"cap_setpcap",
	"cap_linux_immutable",
	"cap_net_bind_service",
	"cap_net_broadcast",
	"cap_net_admin",
	"cap_net_raw",
	"cap_ipc_lock",
	"cap_ipc_owner",
	"cap_sys_module",
	"cap_sys_rawio",
	"cap_sys_chroot",
	"cap_sys_ptrace",
	"cap_sys_pacct",
	"cap_sys_admin",
	"cap_sys_boot",
	"cap_sys_nice",
	"cap_sys_resource",
	"cap_sys_time",
	"cap_sys_tty_config",
	"cap_mknod",
	"cap_lease",
	"cap_audit_write",
	"cap_audit_control",
	"cap_setfcap",
	"cap_mac_override",
	"cap_mac_admin",
	"cap_syslog",
	"cap_wake_alarm",
	"cap_block_suspend",
	"cap_audit_read",
	"cap_perfmon",
	"cap_bpf",
	"cap_checkpoint_restore",
};

struct caps {
	uint64_t permitted, inheritable, effective;
};

static bool read_names(struct slice list, uint64_t *out)
{
	struct slice name;

	*out = 0;
	if (!list.len || slice_is(list, "all")) {
		*out = (UINT64_C(1) << ARRAY_LEN(names)) - 1;
		return true;
	}
	while (slice_cut(&list, ',', &name)) {
		size_t i = 0;

		while (i < ARRAY_LEN(names) && !slice_is(name, names[i]))
			i++;
		if (i == ARRAY_LEN(names))
			return false;
		*out |= UINT64_C(1) << i;
	}
	return true;
}

static bool apply(struct caps *c, uint64_t set, char op, char flag)
{
	uint64_t *which = flag == 'e'   ? &c->effective
			  : flag == 'p' ? &c->permitted
			  : flag == 'i' ? &c->inheritable
					: NULL;

	if (!which)
		return false;
	*which = op == '-' ? *which & ~set : *which | set;
	return true;
}

/* "cap_net_raw+ep", "=ep", "cap_kill=p-e" */
static bool read_clause(struct caps *c, struct slice clause)
{
	size_t n = 0;
	uint64_t set;
	char op = 0;

	while (n < clause.len && !byte_in(clause.data[n], "=+-"))
		n++;
	if (n == clause.len || !read_names(slice_of(clause.data, n), &set))
		return false;
	for (; n < clause.len; n++) {
		char at = (char)clause.data[n];

		if (strchr("=+-", at) && at) {
			op = at;
			if (op == '=') {
				c->permitted &= ~set;
				c->inheritable &= ~set;
				c->effective &= ~set;
			}
		} else if (!apply(c, set, op, at)) {
			return false;
		}
	}
	return true;
}

static void put_u32(uint8_t *out, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(v >> (8 * i));
}

bool file_caps_encode(const char *text, uint8_t out[FILE_CAPS_BYTES])
{
	struct slice rest = slice_str(text), clause;
	struct caps c = { 0 };
	bool any = false;

	while (slice_cut(&rest, ' ', &clause)) {
		if (!clause.len)
			continue;
		any = true;
		if (!read_clause(&c, clause))
			return false;
	}
	/* a file has one bit for "effective": all of what it permits, or nothing */
	if (!any || (c.effective && c.effective != (c.permitted | c.inheritable)))
		return false;
	put_u32(out, CAPS_REVISION_2 | (c.effective ? CAPS_EFFECTIVE : 0));
	put_u32(out + 4, (uint32_t)c.permitted);
	put_u32(out + 8, (uint32_t)c.inheritable);
	put_u32(out + 12, (uint32_t)(c.permitted >> 32));
	put_u32(out + 16, (uint32_t)(c.inheritable >> 32));
	return true;
}
