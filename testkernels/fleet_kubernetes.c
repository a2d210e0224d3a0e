/*
 * A Kubernetes Job, with what it needs in a ConfigMap. With a queue it is one of Kueue's.
 * Sources: Kubernetes API batch/v1 Job, "Pod failure policy"; Kueue, "Run a Job".
 */
#include "testkernels/fleet.h"

static void put_config_map(const struct fleet_job *j, struct strbuf *out)
{
	strbuf_addf(out,
		    "apiVersion: v1\n"
		    "kind: ConfigMap\n"
		    "metadata:\n"
		    "  name: %s\n"
		    "data:\n"
		    "  plan: ",
		    j->name);
	fleet_quote(out, strbuf_text(&j->plan));
	strbuf_addf(out, "\nbinaryData:\n  probe: %s\n", strbuf_text(&j->probe_base64));
}

/* The job itself: how often it is tried, and after what. */
static void put_job(const struct fleet_job *j, struct strbuf *out)
{
	strbuf_addf(out,
		    "---\n"
		    "apiVersion: batch/v1\n"
		    "kind: Job\n"
		    "metadata:\n"
		    "  name: %s\n"
		    "  labels:\n"
		    "    app.kubernetes.io/name: %s\n",
		    j->name, j->name);
	if (j->request->queue)
		strbuf_addf(out, "    kueue.x-k8s.io/queue-name: \"%s\"\n", j->request->queue);
	strbuf_addf(out,
		    "spec:\n"
		    "  completions: %" PRIu64 "\n"
		    "  parallelism: %" PRIu64 "\n"
		    "  backoffLimit: 2\n"
		    "  activeDeadlineSeconds: 1800\n"
		    "  ttlSecondsAfterFinished: 86400\n"
		    "  podFailurePolicy:\n"
		    "    rules:\n"
		    "    # 1: the image is to blame, and 2: the plan; trying again helps neither. "
		    "3 is\n"
		    "    # the host or the injection, and is tried again\n"
		    "    - action: FailJob\n"
		    "      onExitCodes:\n"
		    "        containerName: image-under-test\n"
		    "        operator: In\n"
		    "        values: [1, 2]\n"
		    "    - action: Ignore\n"
		    "      onPodConditions:\n"
		    "      - type: DisruptionTarget\n"
		    "        status: \"True\"\n",
		    j->request->nodes, j->request->nodes);
}

/* What all its pods are, up to their container. */
static void put_pod(const struct fleet_job *j, struct strbuf *out)
{
	strbuf_addf(out,
		    "  template:\n"
		    "    metadata:\n"
		    "      labels:\n"
		    "        app.kubernetes.io/name: %s\n"
		    "    spec:\n"
		    "      restartPolicy: Never\n"
		    "      tolerations:\n"
		    "      - key: nvidia.com/gpu\n"
		    "        operator: Exists\n"
		    "        effect: NoSchedule\n",
		    j->name);
	if (j->request->nodes > 1)
		strbuf_addf(out,
			    "      affinity:\n"
			    "        podAntiAffinity:\n"
			    "          requiredDuringSchedulingIgnoredDuringExecution:\n"
			    "          - topologyKey: kubernetes.io/hostname\n"
			    "            labelSelector:\n"
			    "              matchLabels:\n"
			    "                app.kubernetes.io/name: %s\n",
			    j->name);
}

static void put_container(const struct fleet_job *j, struct strbuf *out)
{
	strbuf_adds(out, "      containers:\n"
			 "      - name: image-under-test\n"
			 "        image: ");
	fleet_quote(out, j->image);
	strbuf_addf(out,
		    "\n"
		    "        command: [\"/%s\", " FLEET_ARGUMENTS "]\n"
		    "        env:\n"
		    "        - name: GPUIMG_NODE\n"
		    "          valueFrom:\n"
		    "            fieldRef:\n"
		    "              fieldPath: spec.nodeName\n",
		    j->loader->path);
	if (j->request->gpus)
		strbuf_addf(out,
			    "        resources:\n"
			    "          limits:\n"
			    "            nvidia.com/gpu: %" PRIu64 "\n",
			    j->request->gpus);
	strbuf_addf(out,
		    "        terminationMessagePolicy: FallbackToLogsOnError\n"
		    "        volumeMounts:\n"
		    "        - name: gpuimg\n"
		    "          mountPath: /gpuimg\n"
		    "          readOnly: true\n"
		    "        - name: shm\n"
		    "          mountPath: /dev/shm\n"
		    "      volumes:\n"
		    "      - name: gpuimg\n"
		    "        configMap:\n"
		    "          name: %s\n"
		    "          defaultMode: 365\n" /* 0555 */
		    "      - name: shm\n"
		    "        emptyDir:\n"
		    "          medium: Memory\n"
		    "          sizeLimit: 1Gi\n",
		    j->name);
}

void fleet_kubernetes(const struct fleet_job *j, struct fleet_files *out)
{
	struct fleet_file *f = fleet_file_add(out, "job.yaml", false);

	strbuf_addf(&f->bytes,
		    "# kubectl apply -f job.yaml; when it is complete:\n"
		    "#   kubectl logs -l job-name=%s --prefix --tail=-1 >job.log\n"
		    "#   gpuimg test collect job.log\n",
		    j->name);
	put_config_map(j, &f->bytes);
	put_job(j, &f->bytes);
	put_pod(j, &f->bytes);
	put_container(j, &f->bytes);
}
