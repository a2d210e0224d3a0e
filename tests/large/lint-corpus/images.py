"""The images of tests/tools/lint-corpus: a function each below @made, whose doc string says what it is."""

import glob, os, shutil, subprocess, time

from lint_corpus import GPUIMG, ROOT, WORK, Missing, need, run

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
GPU = ["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"]
CUDA = "/usr/local/cuda"
IMAGES = {}


def made(function):
    IMAGES[function.__name__.replace("_", "-")] = function
    return function


def plain(image, *command):
    image.config.update(Env=[PATH], Cmd=list(command or ["bash"]))


def python(image, *packages):
    image.debian("bookworm", "python3", "libgomp1", "ca-certificates", *packages)
    image.config.update(Env=[PATH] + GPU, Cmd=["python3"])


@made
def deb11(image):
    "Debian 11, minbase"
    image.debian("bullseye")
    plain(image)


@made
def deb12(image):
    "Debian 12, minbase"
    image.debian("bookworm")
    plain(image)


@made
def deb13(image):
    "Debian 13, minbase"
    image.debian("trixie")
    plain(image)


@made
def deb12_tools(image):
    "Debian 12 with python3, openssh-server, gcc, git and curl"
    image.debian("bookworm", "python3", "openssh-server", "gcc", "libc6-dev", "git", "curl", "ca-certificates")
    plain(image, "/usr/sbin/sshd", "-D")


@made
def deb12_hpc(image):
    "Debian 12 with Open MPI, UCX, libfabric and the Slurm client"
    image.debian("bookworm", "openmpi-bin", "slurm-client", "libucx0", "libfabric-bin", "openssh-client")
    image.config.update(Env=[PATH, "NVIDIA_VISIBLE_DEVICES=all"], Entrypoint=["mpirun"], Cmd=["--version"])


@made
def deb12_cudart(image):
    "Debian 12 with Debian's own CUDA 11.8 libraries"
    image.debian("bookworm", "libcudart11.0", "libcublas11", "libcurand10", "libnvrtc11.2", components="main,contrib,non-free,non-free-firmware")
    image.config.update(Env=[PATH] + GPU, Cmd=["bash"])


@made
def deb12_driver(image):
    "Debian 12 with Debian's driver libraries and nvidia-smi baked in"
    image.debian("bookworm", "nvidia-smi", "libcuda1", "libnvidia-ml1", "libnvidia-encode1", "libnvcuvid1", "nvidia-vulkan-icd",
                 components="main,contrib,non-free,non-free-firmware")
    image.config.update(Env=[PATH] + GPU, Cmd=["nvidia-smi"])


@made
def deb13_cudart(image):
    "Debian 13 with Debian's own CUDA 12.4 libraries and a Debian program that uses them"
    image.debian("trixie", "libcudart12", "libcublas12", "libcufft11", "libcusparse12", "libcusolver11",
                 components="main,contrib,non-free,non-free-firmware")
    image.config.update(Env=[PATH] + GPU, Cmd=["bash"])


@made
def deb12_media(image):
    "Debian 12 with ffmpeg, Mesa's and Vulkan's tools, clinfo, hashcat and PoCL"
    image.debian("bookworm", "ffmpeg", "mesa-utils", "vulkan-tools", "clinfo", "hashcat", "pocl-opencl-icd", "x11-utils")
    image.config.update(Env=[PATH] + GPU, Entrypoint=["ffmpeg"])


@made
def deb12_nvtop(image):
    "Debian 12 with nvtop, which opens the driver's management library"
    image.debian("bookworm", "nvtop", components="main,contrib")
    image.config.update(Env=[PATH, "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility"], Cmd=["nvtop"])


def toolkit(image, keep):
    if not os.path.exists(CUDA + "/lib64/libcudart.so"):
        raise Missing("a CUDA toolkit in " + CUDA)
    folder = image.folder()
    real = os.path.realpath(CUDA)
    os.makedirs(folder + "/usr/local")
    run("cp", "-a", real, folder + real)
    os.symlink(real, folder + CUDA)
    keep(folder + real)
    os.makedirs(folder + "/etc/ld.so.conf.d")
    with open(folder + "/etc/ld.so.conf.d/000_cuda.conf", "w") as f:
        f.write("/usr/local/cuda/lib64\n")
    image.layer(folder, "COPY /usr/local/cuda-13.0 /usr/local/cuda-13.0 # buildkit")
    image.config.update(Env=["PATH=/usr/local/cuda/bin:" + PATH[5:], "LD_LIBRARY_PATH=/usr/local/cuda/lib64", "CUDA_VERSION=13.0.2",
                             "NVIDIA_REQUIRE_CUDA=cuda>=13.0"] + GPU, Entrypoint=["/bin/bash"])


@made
def cuda13_devel(image):
    "The CUDA 13.0 toolkit of this machine with gcc, as a development image"
    image.debian("bookworm", "gcc", "g++", "make", "libc6-dev")
    toolkit(image, lambda tree: None)


@made
def cuda13_runtime(image):
    "The shared libraries of CUDA 13.0, as a runtime image"
    image.debian("bookworm")

    def keep(tree):
        for name in ("bin", "include", "nvvm", "targets"):
            path = os.path.join(tree, name)
            if not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
        for base, dirs, files in os.walk(tree):
            for f in files:
                path = os.path.join(base, f)
                if ".so." not in f and not base.endswith("dist-info"):
                    os.unlink(path)
    toolkit(image, keep)


@made
def torch_new(image):
    "torch for CUDA 13 with its wheels, on Debian's Python"
    python(image)
    image.pips()


@made
def torch_26(image):
    "torch 2.6 for CUDA 12.4 with its wheels, on Debian's Python"
    python(image)
    image.pips()


@made
def torch_113(image):
    "torch 1.13 for CUDA 11.7 with its wheels, on Debian's Python"
    python(image)
    image.pips()


@made
def torch_extras(image):
    "torch for CUDA 13 with torchvision, torchcodec and bitsandbytes"
    python(image, "gcc", "libc6-dev", "python3-dev")
    image.pips("torch-new")
    image.pip()


@made
def onnxruntime(image):
    "onnxruntime-gpu without the CUDA wheels it opens"
    python(image)
    image.pip()


@made
def jax_cuda13(image):
    "jax with its CUDA 13 plugin and wheels"
    python(image)
    image.pips()


@made
def jax_cuda12_alone(image):
    "jax with its CUDA 12 plugin and no CUDA wheels"
    python(image)
    image.pip()


@made
def cupy(image):
    "CuPy for CUDA 12 with the wheels of its extra `ctk`"
    python(image)
    image.pips()


@made
def triton(image):
    "Triton alone with a C compiler"
    python(image, "gcc", "libc6-dev", "python3-dev")
    image.pip()


@made
def tensorrt(image):
    "TensorRT's lean runtime; the wheels of the full one are not in the index"
    python(image)
    image.pip()


@made
def tensorflow(image):
    "TensorFlow without the wheels of `and-cuda`"
    python(image)
    image.pip()


@made
def numba(image):
    "numba-cuda with NVRTC and libnvvm"
    python(image)
    image.pip()


@made
def warp_taichi(image):
    "Warp and Taichi, which carry their own compilers"
    python(image)
    image.pip()


@made
def boosting(image):
    "XGBoost, CatBoost and LightGBM"
    python(image)
    image.pip()


@made
def faiss(image):
    "faiss-gpu for CUDA 12 with cuBLAS"
    python(image)
    image.pip()


@made
def ctranslate2(image):
    "CTranslate2, which opens cuBLAS and cuDNN"
    python(image)
    image.pip()


@made
def video(image):
    "PyAV, OpenCV, decord and PyNvVideoCodec"
    python(image)
    image.pip()
    image.config["Env"] = [PATH, "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"]


@made
def monitoring(image):
    "nvidia-ml-py, gpustat and nvitop: Python that opens the management library"
    python(image)
    image.pip()
    image.config.update(Env=[PATH, "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility"], Entrypoint=["/usr/local/bin/nvitop"])


def wheel(image, requirement, folder):
    """Unpacks a wheel as it is, without installing it."""
    down = image.dir + "/down"
    shutil.rmtree(down, ignore_errors=True)
    run("/usr/bin/python3", "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--only-binary", ":all:", "-d", down, requirement)
    run("unzip", "-qo", glob.glob(down + "/*.whl")[0], "-d", folder)
    shutil.rmtree(down)


def musl_root(image):
    """A root as Alpine lays it out, of Debian's musl and busybox."""
    need("apt-get", "dpkg-deb", "musl-gcc")
    folder = image.folder()
    debs = os.path.join(image.dir, "debs")
    os.makedirs(debs, exist_ok=True)
    run("apt-get", "-o", "APT::Sandbox::User=root", "download", "musl", "busybox-static", cwd=debs)
    for deb in glob.glob(debs + "/*.deb"):
        run("dpkg-deb", "-x", deb, debs + "/x")
    for d in ("bin", "lib/apk/db", "etc", "usr/bin", "usr/lib", "sbin", "tmp", "root"):
        os.makedirs(os.path.join(folder, d))
    shutil.copy(glob.glob(debs + "/x/**/libc.so", recursive=True)[0], folder + "/lib/ld-musl-x86_64.so.1")
    os.symlink("ld-musl-x86_64.so.1", folder + "/lib/libc.musl-x86_64.so.1")
    shutil.copy(debs + "/x/bin/busybox", folder + "/bin/busybox")
    for applet in ("sh", "ls", "cat", "env", "sleep"):
        os.symlink("/bin/busybox", os.path.join(folder, "bin", applet))
    with open(os.path.join(image.dir, "hello.c"), "w") as f:
        f.write("#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n")
    run("musl-gcc", "-o", folder + "/usr/bin/hello", os.path.join(image.dir, "hello.c"))
    for name, text in (("etc/alpine-release", "3.20.3\n"),
                       ("etc/os-release", "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.20.3\n"),
                       ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
                       ("lib/apk/db/installed", "P:musl\nV:1.2.5-r0\nA:x86_64\nF:lib\nR:ld-musl-x86_64.so.1\nR:libc.musl-x86_64.so.1\n\n"
                        "P:busybox\nV:1.36.1-r29\nA:x86_64\nF:bin\nR:busybox\n\n")):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    os.chmod(folder + "/tmp", 0o1777)
    image.layer(folder, "ADD alpine-minirootfs-3.20.3-x86_64.tar.gz / # buildkit")
    image.config.update(Env=[PATH], Cmd=["/usr/bin/hello"])


@made
def musl(image):
    "A root of musl and busybox in Alpine's layout"
    musl_root(image)


@made
def musl_cuda(image):
    "The same with CUDA's wheels, which need glibc"
    musl_root(image)
    folder = image.folder()
    os.makedirs(folder + "/usr/lib/cuda")
    wheel(image, "nvidia-cuda-runtime-cu12==12.4.127", folder + "/usr/lib/cuda")
    image.layer(folder, "COPY cuda /usr/lib/cuda # buildkit")
    image.config.update(Env=[PATH] + GPU)


@made
def conda(image):
    "A conda prefix with its own Python, CUDA libraries and records"
    image.debian("bookworm")
    folder = image.folder()
    prefix = folder + "/opt/conda"
    os.makedirs(prefix + "/lib/stubs")
    os.makedirs(prefix + "/conda-meta")
    for name, version, requirement in (("cuda-cudart", "12.4.127", "nvidia-cuda-runtime-cu12==12.4.127"),
                                       ("libcublas", "12.4.5.8", "nvidia-cublas-cu12==12.4.5.8"),
                                       ("cuda-nvrtc", "12.4.127", "nvidia-cuda-nvrtc-cu12==12.4.127")):
        source = os.path.join(image.dir, "wheel")
        wheel(image, requirement, source)
        files = []
        for path in sorted(glob.glob(source + "/nvidia/*/lib/*.so*")):
            shutil.move(path, prefix + "/lib/")
            files.append("lib/" + os.path.basename(path))
        shutil.rmtree(source)
        with open("%s/conda-meta/%s-%s-h0.json" % (prefix, name, version), "w") as f:
            f.write('{"name": "%s", "version": "%s", "build": "h0", "build_number": 0, "channel": "nvidia", "files": %s}' % (
                name, version, str(files).replace("'", '"')))
    with open(prefix + "/conda-meta/history", "w") as f:
        f.write("==> 2026-11-01 00:00:00 <==\n# cmd: conda create -p /opt/conda libcublas\n")
    with open(os.path.join(image.dir, "app.c"), "w") as f:
        f.write("int cublasGetVersion_v2(void *, int *); int cudaRuntimeGetVersion(int *);\n"
                "int main(void) { int v; return cudaRuntimeGetVersion(&v) + cublasGetVersion_v2(0, &v); }\n")
    os.makedirs(prefix + "/bin")
    run("gcc", "-o", prefix + "/bin/app", os.path.join(image.dir, "app.c"), "-L" + prefix + "/lib", "-l:libcublas.so.12", "-l:libcudart.so.12",
        "-Wl,-rpath,$ORIGIN/../lib", "-Wl,--allow-shlib-undefined")
    shutil.copy("/usr/local/cuda/lib64/stubs/libcuda.so", prefix + "/lib/stubs/libcuda.so")
    image.layer(folder, "/bin/sh -c micromamba create -p /opt/conda libcublas")
    image.config.update(Env=["PATH=/opt/conda/bin:" + PATH[5:]] + GPU, Entrypoint=["/opt/conda/bin/app"])


def base_tar(image):
    """The archive of deb12, which other tools begin with."""
    image.debian("bookworm")
    image.layers, image.history = [], []
    return max(glob.glob(image.blobs + "/*"), key=os.path.getsize)


@made
def buildah(image):
    "What buildah makes: a base, packages' files and a configuration, three layers"
    need("buildah")
    storage = ["buildah", "--root", image.dir + "/storage", "--runroot", image.dir + "/run", "--storage-driver", "vfs"]
    base = base_tar(image)
    first = run(*storage, "from", "scratch").split()[-1]
    run(*storage, "add", first, base, "/")
    run(*storage, "config", "--env", PATH, "--cmd", "bash", first)
    run(*storage, "commit", "--rm", first, "base")
    second = run(*storage, "from", "--pull-never", "localhost/base").split()[-1]
    run(*storage, "run", "--isolation", "chroot", second, "--", "sh", "-ec",
        "useradd -m app; mkdir -p /opt/app; printf '#!/bin/sh\nexec sleep 9\n' >/opt/app/run; chmod 755 /opt/app/run")
    run(*storage, "config", "--env", "NVIDIA_VISIBLE_DEVICES=all", "--env", "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        "--user", "app", "--entrypoint", '["/opt/app/run"]', "--label", "org.opencontainers.image.title=app", second)
    run(*storage, "commit", "--rm", second, "oci:%s/made:t" % image.dir)
    image.reference = "oci:%s/made:t" % image.dir


DOCKERFILE = """FROM base
ARG HF_TOKEN
ENV NVIDIA_VISIBLE_DEVICES=all CUDA_VERSION=12.4.1 LD_LIBRARY_PATH=/opt/app/lib:$LD_LIBRARY_PATH
RUN head -c 20000000 /dev/urandom >/opt/cache.bin && mkdir -p /opt/app/lib
RUN rm /opt/cache.bin
COPY run.sh /opt/app/run.sh
RUN chmod 755 /opt/app/run.sh
WORKDIR /opt/app
HEALTHCHECK CMD /opt/app/run.sh
ENTRYPOINT ["./run.sh"]
"""


def dockerd(image):
    """A Docker of our own; the options of its client."""
    need("dockerd", "docker")
    place = "/tmp/gpuimg-corpus.%d" % os.getpid()  # socket paths are short
    os.makedirs(place)
    log = open(place + "/log", "w")
    daemon = subprocess.Popen(["dockerd", "--data-root", place + "/data", "--exec-root", place + "/exec", "--pidfile", place + "/pid",
                               "-H", "unix://%s/sock" % place, "--storage-driver", "vfs", "--iptables=false", "--ip6tables=false",
                               "--bridge=none"], stdout=log, stderr=log)

    def stop():
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(place)
    image.at_end(stop)
    os.environ["DOCKER_HOST"] = "unix://%s/sock" % place
    for _ in range(300):
        if subprocess.run(["docker", "info"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return
        time.sleep(0.2)
    raise Missing("a dockerd that starts")


@made
def docker_build(image):
    "A Dockerfile with a deleted download, a chmod of its own and a legacy CUDA_VERSION"
    dockerd(image)
    run("docker", "import", "--change", "ENV " + PATH, base_tar(image), "base")
    folder = image.folder()
    with open(folder + "/Dockerfile", "w") as f:
        f.write(DOCKERFILE)
    with open(folder + "/run.sh", "w") as f:
        f.write("#!/bin/sh\nexec sleep 9\n")
    run("docker", "build", "--network", "none", "--build-arg", "HF_TOKEN=" + "hf_" + "u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL", "-t", "made", folder,
        env=dict(os.environ, DOCKER_BUILDKIT="0"))
    image.reference = "docker-daemon:made:latest"


@made
def docker_commit(image):
    "A container committed with what the GPU runtime had mounted, as empty files"
    dockerd(image)
    run("docker", "import", "--change", "ENV " + PATH, base_tar(image), "base")
    run("docker", "run", "--name", "changed", "--network", "none", "base", "sh", "-ec",
        "cd /usr/lib/x86_64-linux-gnu; : >libcuda.so.550.54.15; : >libnvidia-ml.so.550.54.15; ln -s libcuda.so.550.54.15 libcuda.so.1; "
        "ln -s libcuda.so.1 libcuda.so; ln -s libnvidia-ml.so.550.54.15 libnvidia-ml.so.1; : >/usr/bin/nvidia-smi; chmod 755 /usr/bin/nvidia-smi")
    run("docker", "commit", "--change", "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        "--change", 'ENTRYPOINT ["nvidia-smi"]', "changed", "made")
    run("docker", "save", "-o", image.dir + "/made.tar", "made")
    image.reference = "docker-archive:%s/made.tar" % image.dir


@made
def podman(image):
    "What podman imports, runs, commits and saves"
    need("podman")
    pod = ["podman", "--root", image.dir + "/storage", "--runroot", image.dir + "/run", "--storage-driver", "vfs", "--runtime", "runc"]
    run(*pod, "import", "-c", "ENV " + PATH, base_tar(image), "localhost/base")
    run(*pod, "run", "--name", "changed", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "localhost/base", "sh", "-ec", "mkdir /srv/data; chmod 1777 /srv/data")
    run(*pod, "commit", "-q", "--change", "CMD /bin/bash", "--change", "ENV NVIDIA_VISIBLE_DEVICES=0", "--change", "ENV NVIDIA_DRIVER_CAPABILITIES=compute", "changed",
        "localhost/made")
    run(*pod, "save", "-q", "--format", "docker-archive", "-o", image.dir + "/made.tar", "localhost/made")
    image.reference = "docker-archive:%s/made.tar" % image.dir


@made
def umoci(image):
    "What umoci unpacks, repacks and configures"
    need("umoci")
    layout = image.dir + "/made"
    base = base_tar(image)
    run("umoci", "init", "--layout", layout)
    run("umoci", "new", "--image", layout + ":t")
    run("umoci", "raw", "add-layer", "--image", layout + ":t", base)
    run("umoci", "unpack", "--image", layout + ":t", image.dir + "/bundle")
    root = image.dir + "/bundle/rootfs"
    os.makedirs(root + "/opt/app")
    with open(root + "/opt/app/run", "w") as f:
        f.write("#!/usr/bin/env python3\n")
    os.unlink(root + "/etc/motd") if os.path.exists(root + "/etc/motd") else None
    run("umoci", "repack", "--image", layout + ":t", image.dir + "/bundle")
    run("umoci", "config", "--image", layout + ":t", "--config.env", PATH, "--config.env", "NVIDIA_VISIBLE_DEVICES=all",
        "--config.env", "NVIDIA_DRIVER_CAPABILITIES=compute,utility,", "--config.entrypoint", "/opt/app/run")
    shutil.rmtree(image.dir + "/bundle")
    image.reference = "oci:%s:t" % layout


@made
def rpm_root(image):
    "A system of .rpms that rpm itself installed, with CUDA's runtime library in lib64"
    need("rpm", "rpmbuild")
    packages = os.path.join(image.dir, "rpms")
    run(ROOT + "/tests/support/rhel/make", packages)
    folder = image.folder()
    run("rpm", "--root", folder, "--dbpath", "/var/lib/rpm", "--initdb")
    first = [p for p in glob.glob(packages + "/*.rpm") if "/filesystem-" in p]
    newest = [p for p in sorted(glob.glob(packages + "/*.rpm")) if "notes-1" not in p]
    run("rpm", "--root", folder, "--dbpath", "/var/lib/rpm", "-U", "--nodeps", "--noscripts", "--notriggers", "--nosignature", *(first or newest))
    if first:
        run("rpm", "--root", folder, "--dbpath", "/var/lib/rpm", "-U", "--replacefiles", "--nodeps", "--noscripts", "--notriggers", "--nosignature",
            *[p for p in newest if p not in first])
    image.layer(folder, "ADD rhel-like.tar / # buildkit")
    image.config.update(Env=[PATH] + GPU, Cmd=["/bin/bash"])


def ours(image, name):
    """An image of gpuimg's own, of a manifest of its library."""
    shutil.copytree(ROOT + "/manifests/library", image.dir + "/library")
    stack = "%s/library/%s.yaml" % (image.dir, name)
    store = ["--store", os.path.join(WORK, "inputs")]
    run(GPUIMG, "lock", *store, stack)
    run(GPUIMG, "fetch", *store, stack.replace(".yaml", ".lock.json"))
    run(GPUIMG, "build", "--offline", *store, "--no-lint", "--to", "oci:%s/made:t" % image.dir, stack)
    image.reference = "oci:%s/made:t" % image.dir
    image.options = ["--gpu", "h100,b200,l4", "--driver", "580.65.06"]


@made
def gpuimg_runtime(image):
    "gpuimg's own cuda13-runtime"
    ours(image, "cuda13-runtime")


@made
def gpuimg_python(image):
    "gpuimg's own python-cuda"
    ours(image, "python-cuda")
