#include "oci/mediatype.h"

#define OCI_FOREIGN "application/vnd.oci.image.layer.nondistributable.v1.tar"
#define DOCKER_FOREIGN "application/vnd.docker.image.rootfs.foreign.diff.tar"

static const struct mediatype types[] = {
	{ MEDIATYPE_OCI_INDEX, MEDIA_INDEX, COMPRESSION_NONE, false, false },
	{ MEDIATYPE_OCI_MANIFEST, MEDIA_MANIFEST, COMPRESSION_NONE, false, false },
	{ MEDIATYPE_OCI_CONFIG, MEDIA_CONFIG, COMPRESSION_NONE, false, false },
	{ MEDIATYPE_OCI_LAYER, MEDIA_LAYER, COMPRESSION_NONE, false, false },
	{ MEDIATYPE_OCI_LAYER_GZIP, MEDIA_LAYER, COMPRESSION_GZIP, false, false },
	{ MEDIATYPE_OCI_LAYER_ZSTD, MEDIA_LAYER, COMPRESSION_ZSTD, false, false },
	{ OCI_FOREIGN, MEDIA_LAYER, COMPRESSION_NONE, false, true },
	{ OCI_FOREIGN "+gzip", MEDIA_LAYER, COMPRESSION_GZIP, false, true },
	{ OCI_FOREIGN "+zstd", MEDIA_LAYER, COMPRESSION_ZSTD, false, true },
	{ MEDIATYPE_DOCKER_INDEX, MEDIA_INDEX, COMPRESSION_NONE, true, false },
	{ MEDIATYPE_DOCKER_MANIFEST, MEDIA_MANIFEST, COMPRESSION_NONE, true, false },
	{ MEDIATYPE_DOCKER_CONFIG, MEDIA_CONFIG, COMPRESSION_NONE, true, false },
	{ MEDIATYPE_DOCKER_LAYER, MEDIA_LAYER, COMPRESSION_NONE, true, false },
	{ MEDIATYPE_DOCKER_LAYER_GZIP, MEDIA_LAYER, COMPRESSION_GZIP, true, false },
	{ MEDIATYPE_DOCKER_LAYER ".zstd", MEDIA_LAYER, COMPRESSION_ZSTD, true, false },
	{ DOCKER_FOREIGN, MEDIA_LAYER, COMPRESSION_NONE, true, true },
	{ DOCKER_FOREIGN ".gzip", MEDIA_LAYER, COMPRESSION_GZIP, true, true },
};

const struct mediatype *mediatype_find(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(types); i++) {
		if (str_equal(types[i].name, name))
			return &types[i];
	}
	return NULL;
}

const char *mediatype_layer(enum compression c)
{
	switch (c) {
	case COMPRESSION_NONE:
		return MEDIATYPE_OCI_LAYER;
	case COMPRESSION_GZIP:
		return MEDIATYPE_OCI_LAYER_GZIP;
	case COMPRESSION_ZSTD:
		return MEDIATYPE_OCI_LAYER_ZSTD;
	case COMPRESSION_XZ:
		break;
	}
	return NULL;
}
