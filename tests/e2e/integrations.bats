# The CI templates: their shell steps run here, their files are valid for who reads them.

load common

setup_file() {
	# An image with findings (a baked-in driver library) and one without.
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir -p bad/usr/lib/x86_64-linux-gnu good/etc
	echo 'int cuInit(unsigned f) { return (int)f; }' | gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o bad/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14 -xc -
	echo ID=debian >good/etc/os-release
}

setup() {
	work
	mkdir bin && ln -s "$GPUIMG" bin/gpuimg
	PATH=$WORK/bin:$PATH
	BAD=rootfs:$BATS_FILE_TMPDIR/bad GOOD=rootfs:$BATS_FILE_TMPDIR/good
}

# The shell text of a step of the composite action.
action_step() { # N
	python3 -c '
import sys, yaml
print(yaml.safe_load(open(sys.argv[1]))["runs"]["steps"][int(sys.argv[2])]["run"])' "$ROOT/integrations/github-action/action.yml" "$1"
}

@test "ci-lint leaves the reports and gives lint's exit status" {
	run -1 env GPUIMG_IMAGE="$BAD" GPUIMG_FORMATS='sarif junit json gitlab checkstyle html markdown jsonl' "$ROOT/integrations/ci-lint"
	[[ "$output" = *DRV001* ]]
	for f in gpuimg.sarif junit.xml gpuimg.json gl-code-quality-report.json checkstyle.xml gpuimg.html gpuimg.md gpuimg.jsonl; do
		grep -q DRV001 "gpuimg-reports/$f" || { echo "$f does not have the finding"; return 1; }
	done
	run -0 env GPUIMG_IMAGE="$GOOD" GPUIMG_REPORTS=other "$ROOT/integrations/ci-lint"
	[ -s other/gpuimg.sarif ]
	run -0 env GPUIMG_IMAGE="$BAD" GPUIMG_LINT_ARGS='--ignore DRV,ENV --fail-on error' "$ROOT/integrations/ci-lint"
	run -3 env GPUIMG_IMAGE=rootfs:/does/not/exist "$ROOT/integrations/ci-lint"
	run -2 env -u GPUIMG_IMAGE "$ROOT/integrations/ci-lint"
	[[ "$output" = *"the image to judge"* ]]
}

@test "the GitHub action's step annotates, writes the summary and hands lint's status on" {
	action_step 0 >step.sh
	export ACTION=$ROOT/integrations/github-action GPUIMG=gpuimg GPUIMG_IMAGE=$BAD GPUIMG_LINT_ARGS= GPUIMG_REPORTS=r GPUIMG_LOG=github GPUIMG_FORMATS='sarif junit json markdown' GITHUB_STEP_SUMMARY=$WORK/summary.md
	run -1 sh -e step.sh
	[[ "$output" = *"::error"*DRV001* ]]
	grep -q DRV001 summary.md
	[ "$(jq -r '.runs[0].results[0].ruleId' r/gpuimg.sarif)" = DRV001 ]
	GPUIMG_IMAGE=$GOOD run -0 sh -e step.sh
}

@test "the action's variables are those its step uses, and its outputs name a report that is made" {
	python3 - "$ROOT/integrations/github-action/action.yml" <<'END'
import re, sys, yaml
a = yaml.safe_load(open(sys.argv[1]))
used = set(re.findall(r"inputs\.([a-z-]+)", open(sys.argv[1]).read()))
assert used == set(a["inputs"]), (used, set(a["inputs"]))
assert a["outputs"]["sarif"]["value"].endswith("/gpuimg.sarif")
END
	grep -q 'uses: ./integrations/github-action' "$ROOT/integrations/github-action/example.yml"
}

@test "GitLab's template: the script runs, the reports it names are made" {
	python3 - "$ROOT/integrations/gitlab/gpuimg.yml" >job.sh <<'END'
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))[".gpuimg-lint"]
for k, v in job["variables"].items():
    print(f'export {k}="${{{k}:-{v}}}"')
print("\n".join(job["script"]))
reports = job["artifacts"]["reports"].values()
print("#", *reports)
END
	run -1 env CI_PROJECT_DIR="$WORK" GPUIMG_INTEGRATIONS="$ROOT/integrations" GPUIMG_IMAGE="$BAD" sh -e job.sh
	for f in $(sed -n 's/^# //p' job.sh); do [ -s "$f" ] || { echo "no $f"; return 1; }; done
	jq -e 'any(.[]; .check_name | startswith("DRV001"))' gpuimg-reports/gl-code-quality-report.json
}

@test "Jenkins: the steps are programs that are there, the reports those that are made" {
	grep -q "sh 'integrations/ci-lint'" "$ROOT/integrations/jenkins/Jenkinsfile"
	formats=$(sed -n "s/.*GPUIMG_FORMATS = '\(.*\)'/\1/p" "$ROOT/integrations/jenkins/Jenkinsfile")
	run -1 env GPUIMG_IMAGE="$BAD" GPUIMG_FORMATS="$formats" "$ROOT/integrations/ci-lint"
	for f in $(grep -oE 'gpuimg-reports/[a-z.]+' "$ROOT/integrations/jenkins/Jenkinsfile"); do [ -s "$f" ] || { echo "no $f"; return 1; }; done
}

@test "the pre-commit hook resolves each manifest and gives the worst status" {
	for driver in 535 470; do
		printf 'gpuimg: 1\nname: a/b\ntag: "1"\nstack: { driver: ">=%s", cuda: "12.2" }\nsources: []\nstages: { runtime: { profile: base } }\n' "$driver" >"stack.$driver.yaml"
	done
	run -0 "$ROOT/integrations/pre-commit/resolve" stack.535.yaml
	run -2 "$ROOT/integrations/pre-commit/resolve" stack.535.yaml missing.yaml
	run ! "$ROOT/integrations/pre-commit/resolve" stack.470.yaml stack.535.yaml
	python3 -c '
import re, sys, yaml
hook, = yaml.safe_load(open(sys.argv[1]))
assert re.search(hook["files"], "images/stack.yaml") and re.search(hook["files"], "stack.base.yml")
assert not re.search(hook["files"], "stack.lock.json")
print(hook["entry"])' "$ROOT/.pre-commit-hooks.yaml" | { read -r entry; [ -x "$ROOT/$entry" ]; }
}

# What others say of the files: the schemas that check-jsonschema carries, and pre-commit itself.

judged() { PYTHONPATH=$TEST_CACHE/tools/check-jsonschema python3 -m check_jsonschema --builtin-schema "vendor.$1" "$2"; }

@test "GitHub's and GitLab's schemas accept the action, the workflow and the job, and would refuse worse" {
	need_cached check-jsonschema
	judged github-actions "$ROOT/integrations/github-action/action.yml"
	judged github-workflows "$ROOT/integrations/github-action/example.yml"
	# with the job that its comment shows; a hidden job would not be looked at
	{ sed 's/^\.gpuimg-lint:/gpuimg-lint:/' "$ROOT/integrations/gitlab/gpuimg.yml"; sed -n 's/^#   //p' "$ROOT/integrations/gitlab/gpuimg.yml"; } >job.yml
	grep -q '^lint-image:' job.yml
	judged gitlab-ci job.yml
	sed 's/^  using: .*/  using: shell/' "$ROOT/integrations/github-action/action.yml" >action.yml
	run -1 judged github-actions action.yml
	sed 's/runs-on:/run-on:/' "$ROOT/integrations/github-action/example.yml" >workflow.yml
	run -1 judged github-workflows workflow.yml
	sed 's/when: always/when: ever/' job.yml >other.yml
	run -1 judged gitlab-ci other.yml
}

@test "pre-commit takes the hook from a repository, and runs it on what it is for" {
	need git
	need_cached pre-commit
	export HOME=$WORK PRE_COMMIT_HOME=$WORK/cache GIT_CONFIG_NOSYSTEM=1
	git config --global user.email t@example.org
	git config --global user.name T
	git config --global protocol.file.allow always
	pre_commit() { PYTHONPATH=$TEST_CACHE/tools/pre-commit python3 -m pre_commit "$@"; }
	pre_commit validate-manifest "$ROOT/.pre-commit-hooks.yaml"
	mkdir -p hooks/integrations project
	cp "$ROOT/.pre-commit-hooks.yaml" hooks/
	cp -r "$ROOT/integrations/pre-commit" hooks/integrations/
	git -C hooks init -q && git -C hooks add . && git -C hooks commit -qm hooks
	cd project
	printf 'gpuimg: 1\nname: a/b\ntag: "1"\nstack: { driver: ">=535", cuda: "12.2" }\nsources: []\nstages: { runtime: { profile: base } }\n' >stack.yaml
	echo 'not one of ours: [' >other.yaml
	printf 'repos:\n- repo: %s\n  rev: %s\n  hooks: [ { id: gpuimg-resolve } ]\n' "$WORK/hooks" "$(git -C ../hooks rev-parse HEAD)" >.pre-commit-config.yaml
	pre_commit validate-config .pre-commit-config.yaml
	git init -q && git add .
	run -0 pre_commit run --all-files
	[[ $output == *"gpuimg resolve"*"Passed"* ]]
	sed -i 's/535/470/' stack.yaml
	git add stack.yaml
	run -1 pre_commit run
	[[ $output == *"Failed"*"stack.yaml: "* ]]
}
