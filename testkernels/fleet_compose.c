/*
 * A compose file, for one machine with docker, and the folder it mounts.
 * Source: the Compose specification, "services", "deploy".
 */
#include "testkernels/fleet.h"
#include "testkernels/launch.h"

void fleet_compose(const struct fleet_job *j, struct fleet_files *out)
{
	struct fleet_file *f = fleet_file_add(out, "compose.yaml", false);

	strbuf_addf(&f->bytes,
		    "# docker compose up >job.log; gpuimg test collect job.log\n"
		    "name: %s\n"
		    "services:\n"
		    "  image-under-test:\n"
		    "    image: ",
		    j->name);
	fleet_quote(&f->bytes, j->image);
	strbuf_addf(&f->bytes,
		    "\n"
		    "    entrypoint: [\"/%s\"]\n"
		    "    command: [" FLEET_ARGUMENTS "]\n"
		    "    environment:\n"
		    "      GPUIMG_NODE: \"${HOSTNAME:-}\"\n"
		    "    network_mode: none\n"
		    "    shm_size: 1gb\n"
		    "    volumes:\n"
		    "    - ./gpuimg:/gpuimg:ro\n",
		    j->loader->path);
	if (j->request->gpus)
		strbuf_addf(&f->bytes,
			    "    deploy:\n"
			    "      resources:\n"
			    "        reservations:\n"
			    "          devices:\n"
			    "          - driver: nvidia\n"
			    "            count: %" PRIu64 "\n"
			    "            capabilities: [gpu]\n",
			    j->request->gpus);
	strbuf_add(&fleet_file_add(out, "gpuimg/probe", true)->bytes, probe_bytes, probe_size);
	strbuf_adds(&fleet_file_add(out, "gpuimg/plan", false)->bytes, strbuf_text(&j->plan));
}
