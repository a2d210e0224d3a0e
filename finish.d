finish.o: builder/finish/finish.c builder/finish/finish.h \
  builder/base_image.h base/map.h base/base.h base/out.h \
  builder/base_index.h builder/component.h base/arena.h base/slice.h \
  base/digest.h base/error.h base/stream.h base/strbuf.h \
  formats/deb822.h base/vec.h base/alloc.h formats/tar.h \
  formats/zip_read.h builder/store.h base/fs.h base/sink.h oci/image.h \
  formats/compress.h base/pool.h oci/config.h oci/descriptor.h \
  formats/json.h oci/manifest.h oci/reference.h oci/source.h \
  manifests/lockfile.h manifests/stack.h builder/build.h \
  builder/rootfs.h builder/finish/script_words.h builder/plan.h \
  builder/layer.h

builder/finish/finish.h:

builder/base_image.h:

base/map.h:

base/base.h:

base/out.h:

builder/base_index.h:

builder/component.h:

base/arena.h:

base/slice.h:

base/digest.h:

base/error.h:

base/stream.h:

base/strbuf.h:

formats/deb822.h:

base/vec.h:

base/alloc.h:

formats/tar.h:

formats/zip_read.h:

builder/store.h:

base/fs.h:

base/sink.h:

oci/image.h:

formats/compress.h:

base/pool.h:

oci/config.h:

oci/descriptor.h:

formats/json.h:

oci/manifest.h:

oci/reference.h:

oci/source.h:

manifests/lockfile.h:

manifests/stack.h:

builder/build.h:

builder/rootfs.h:

builder/finish/script_words.h:

builder/plan.h:

builder/layer.h:
