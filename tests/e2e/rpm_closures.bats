#!/usr/bin/env bats
# What a lock takes of an rpm-md repository beside what dnf would install: rich dependencies,
# provides, conflicts, obsoletes, epochs, files, several versions and architectures.

load common

# NAME VERSION-RELEASE ARCH | TAG: VALUE | …
packages='
base 1-1 x86_64 | Provides: system-release = 9 | file /etc/base.conf
libc 2.34-1 x86_64 | Provides: libc.so.6()(64bit)
libc 2.34-1 i686 | Provides: libc.so.6
sh 5.1-1 x86_64 | Requires: libc.so.6()(64bit) | Provides: /bin/sh | file /usr/bin/sh
libz 1.2-1 x86_64 | Requires: libc.so.6()(64bit) | Provides: libz.so.1()(64bit)
libz 1.3-1 x86_64 | Requires: libc.so.6()(64bit) | Provides: libz.so.1()(64bit)
libz 1.3-1 i686 | Requires: libc.so.6 | Provides: libz.so.1
ssl1 1:1.1-4 x86_64 | Requires: libz.so.1()(64bit) | Provides: libssl = 1:1.1, libssl.so()(64bit)
ssl3 3.0-1 x86_64 | Requires: libz.so.1()(64bit) | Provides: libssl = 3:3.0, libssl.so()(64bit)
curl 8.0-1 x86_64 | Requires: libssl.so()(64bit), sh
curl-minimal 8.0-1 x86_64 | Provides: curl = 8.0-1 | Conflicts: curl
wget 1.0-1 noarch | Requires: libssl >= 2:0
wget 2.0-1 noarch | Requires: libssl >= 3:0 | Recommends: docs
docs 1-1 noarch | Requires: base
old-tool 1-1 noarch | Requires: base
new-tool 2-1 noarch | Obsoletes: old-tool < 2 | Provides: old-tool = 2 | Requires: sh
user-of-old 1-1 noarch | Requires: old-tool
python3 3.9-1 x86_64 | Requires: libz.so.1()(64bit) | Provides: python(abi) = 3.9
python3.11 3.11-1 x86_64 | Requires: libz.so.1()(64bit) | Provides: python(abi) = 3.11
numpy 1.20-1 x86_64 | Requires: python(abi) = 3.9
numpy 1.26-1 x86_64 | Requires: python(abi) = 3.11
scipy 1-1 x86_64 | Requires: numpy >= 1.25
legacy 1-1 x86_64 | Requires: numpy < 1.25
lang-en 1-1 noarch | Supplements: base
rich-if 1-1 noarch | Requires: (docs if wget)
rich-or 1-1 noarch | Requires: (nothing-has-it or sh)
rich-and 1-1 noarch | Requires: (libz >= 1.3 and docs)
rich-with 1-1 noarch | Requires: (libssl with libssl >= 3:0)
rich-unless 1-1 noarch | Requires: sh | Conflicts: (docs unless base)
needs-file 1-1 noarch | Requires: /etc/base.conf
needs-bin 1-1 noarch | Requires: /usr/bin/sh
mail-a 1-1 noarch | Provides: mail-server = 1
mail-b 2-1 noarch | Provides: mail-server = 2
mailer 1-1 noarch | Requires: mail-server
mailer2 1-1 noarch | Requires: mail-server >= 2
loop-a 1-1 noarch | Requires: loop-b
loop-b 1-1 noarch | Requires: loop-a, base
tilde 1.0~rc1-1 noarch
tilde 1.0-1 noarch | Requires: base
caret 1.0^git1-1 noarch | Requires: base
caret 1.0-1 noarch
fights 1-1 noarch | Conflicts: mail-b
'

# Each is one request: packages with blanks between.
requests='
curl
curl-minimal
wget
"wget = 1.0"
user-of-old
new-tool
old-tool
numpy
scipy
legacy
python3 scipy
rich-if
rich-if wget
rich-or
rich-and
rich-with
rich-unless
needs-file
needs-bin
mailer
mailer2
mailer fights
loop-a
tilde
caret
libz.i686
libz.x86_64 libz.i686
ssl1 wget
docs curl python3.11
legacy scipy
curl curl-minimal
mailer2 fights
'

make_repository() { # DIR
	local head name version arch line tag i=0
	mkdir -p "$1" "$WORK/specs"
	while read -r line; do
		[ -n "$line" ] || continue
		head=${line%% |*}
		read -r name version arch <<<"$head"
		{
			printf 'Name: %s\n' "$name"
			[[ $version != *:* ]] || { printf 'Epoch: %s\n' "${version%%:*}"; version=${version#*:}; }
			printf 'Version: %s\nRelease: %s\nSummary: x\nLicense: none\nAutoReqProv: no\n' "${version%-*}" "${version##*-}"
			[ "$arch" != noarch ] || echo 'BuildArch: noarch'
			tr '|' '\n' <<<"${line#"$head"}" | sed 's/^ *//; s/ *$//' | grep : || true
			printf '%%description\n%%install\n'
			for tag in $(grep -o '| file [^ ]*' <<<"$line" | cut -d' ' -f3); do
				printf 'mkdir -p %%{buildroot}%s; echo x >%%{buildroot}%s\n' "${tag%/*}" "$tag"
			done
			echo '%files'
			for tag in $(grep -o '| file [^ ]*' <<<"$line" | cut -d' ' -f3); do echo "$tag"; done
		} >"$WORK/specs/$i.spec"
		rpmbuild --quiet -bb --target "$arch" --define "_topdir $WORK/rpmbuild" --define "_rpmdir $1" \
			--define '_build_id_links none' --define 'debug_package %{nil}' --define '__os_install_post %{nil}' \
			--define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' "$WORK/specs/$i.spec" >"$WORK/log" 2>&1 ||
			{ cat "$WORK/log" "$WORK/specs/$i.spec" >&2; return 1; }
		i=$((i + 1))
	done <<<"$packages"
	createrepo_c --quiet --no-database "$@"
	mkdir -p -m 700 "$WORK/gnupg"
	gpg --homedir "$WORK/gnupg" --batch --quiet --passphrase '' --quick-generate-key 'Test <test@example.org>' rsa2048 sign never
	gpg --homedir "$WORK/gnupg" --batch --quiet --armor --detach-sign --digest-algo SHA256 "$1/repodata/repomd.xml"
	gpg --homedir "$WORK/gnupg" --armor --export >"$1/key.asc"
	gpgconf --homedir "$WORK/gnupg" --kill all 2>/dev/null || true
}

# One set: "name-version-release.arch" sorted, on a line; "none" when there is none.
by_dnf() { # REQUEST…
	local text
	text=$(dnf -y --installroot="$WORK/root" --repofrompath="t,file://$REPO" --repo=t --nogpgcheck --releasever=9 --forcearch=x86_64 \
		--setopt=install_weak_deps=False --setopt=cachedir="$WORK/cache" --setopt=keepcache=False --setopt=reposdir=/nonexistent \
		--setopt=multilib_policy=best --noplugins --assumeno install "$@" 2>&1) || true
	awk '/^Installing/ { on = 1; next } /^ *$|^Transaction Summary|^=/ { if (!/^=/) on = 0 } on && NF >= 3 && $1 != "replacing" {
		sub(/^[0-9]+:/, "", $3); print $1 "-" $3 "." $2 }' <<<"$text" | LC_ALL=C sort -u | tr '\n' ' '
}

by_gpuimg() { # REQUEST…
	local list
	list=$(printf ', "%s"' "$@")
	cat >"$WORK/stack.yaml" <<-END
		gpuimg: 1
		name: a/b
		platforms: [linux/amd64]
		sources: [ { id: os, type: rpm-md, url: "file://$REPO/", gpgkey: "$REPO/key.asc" } ]
		stages: { run: { packages: { os: [ ${list#, } ] } } }
	END
	rm -f "$WORK/stack.lock.json"
	gpuimg lock "$WORK/stack.yaml" >"$WORK/lock.log" 2>&1 || return 0
	jq -r '.platforms["linux/amd64"].inputs[] | "\(.name)-\(.version | sub("^[0-9]+:"; "")).\(.arch)"' "$WORK/stack.lock.json" |
		LC_ALL=C sort -u | tr '\n' ' '
}

@test "closures of a repository with all kinds of relations are those of dnf" {
	need dnf rpmbuild createrepo_c gpg jq
	work
	export GPUIMG_STORE=$WORK/store
	REPO=$WORK/repo
	make_repository "$REPO"
	local different=0 total=0 request dnf ours
	while read -r request; do
		[ -n "$request" ] || continue
		eval "set -- $request"
		dnf=$(by_dnf "$@")
		ours=$(by_gpuimg "$@")
		total=$((total + 1))
		[ "$dnf" = "$ours" ] || { different=$((different + 1)); printf '%s\n  dnf:  %s\n  ours: %s\n' "$request" "$dnf" "$ours"; }
	done <<<"$requests"
	echo "$((total - different)) of $total equal"
	[ "$total" -ge 30 ]
	[ "$different" = 0 ]
}
