#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static bool v4_internal(uint32_t a)
{
	static const struct {
		uint32_t prefix;
		unsigned bits;
	} inside[] = {
		{ 0x00000000, 8 },  /* this host */
		{ 0x0a000000, 8 },  /* private */
		{ 0x64400000, 10 }, /* behind a carrier's NAT */
		{ 0x7f000000, 8 },  /* loopback */
		{ 0xa9fe0000, 16 }, /* link-local; clouds keep credentials there */
		{ 0xac100000, 12 }, /* private */
		{ 0xc0000000, 24 }, /* protocol assignments */
		{ 0xc0a80000, 16 }, /* private */
		{ 0xc6120000, 15 }, /* benchmarks */
		{ 0xe0000000, 3 },  /* multicast, reserved, broadcast */
	};

	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		if ((a ^ inside[i].prefix) >> (32 - inside[i].bits) == 0)
			return true;
	return false;
}

static uint32_t embedded_v4(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool v6_internal(const struct in6_addr *a)
{
	static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b };

	if (IN6_IS_ADDR_V4MAPPED(a) || memcmp(a->s6_addr, nat64, sizeof(nat64)) == 0)
		return v4_internal(embedded_v4(a->s6_addr + 12));
	if (a->s6_addr[0] == 0x20 && a->s6_addr[1] == 0x02) /* 6to4 */
		return v4_internal(embedded_v4(a->s6_addr + 2));
	return IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_LINKLOCAL(a) ||
	       IN6_IS_ADDR_SITELOCAL(a) || IN6_IS_ADDR_MULTICAST(a) ||
	       (a->s6_addr[0] & 0xfe) == 0xfc || IN6_IS_ADDR_V4COMPAT(a);
}

bool address_is_internal(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		return v4_internal(ntohl(v4.sin_addr.s_addr));
	}
	if (address->sa_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		return v6_internal(&v6.sin6_addr);
	}
	return true;
}

bool address_text_is_internal(const char *text)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, text, &v4) == 1)
		return v4_internal(ntohl(v4.s_addr));
	return inet_pton(AF_INET6, text, &v6) == 1 && v6_internal(&v6);
}
