#!/bin/sh
# The files of rhel.spec: ROOT CUDA_FOLDER
set -eu
root=$1 cuda=$2
cd "$root"
mkdir -p boot dev etc home media mnt opt proc root run srv sys tmp usr/bin usr/sbin usr/lib usr/lib64 usr/share usr/local \
	var/lib var/log var/spool/mail var/tmp
ln -s usr/bin bin
ln -s usr/sbin sbin
ln -s usr/lib lib
ln -s usr/lib64 lib64

cat >etc/passwd <<'X'
root:x:0:0:root:/root:/bin/bash
bin:x:1:1:bin:/bin:/sbin/nologin
mail:x:8:12:mail:/var/spool/mail:/sbin/nologin
nobody:x:65534:65534:Kernel Overflow User:/:/sbin/nologin
X
cat >etc/group <<'X'
root:x:0:
bin:x:1:
mail:x:12:
nobody:x:65534:
X
sed 's/:.*/:*:18000:0:99999:7:::/' etc/passwd >etc/shadow
sed 's/:.*/:::/' etc/group >etc/gshadow
printf '/bin/sh\n/bin/bash\n' >etc/shells
printf '127.0.0.1 localhost\n' >etc/hosts
: >etc/fstab
mkdir -p etc/skel

printf 'NAME="RHEL-like"\nID="rhel-like"\nID_LIKE="rhel fedora"\nVERSION_ID="9.6"\n' >usr/lib/os-release
ln -s ../usr/lib/os-release etc/os-release

mkdir -p etc/ld.so.conf.d
printf 'include ld.so.conf.d/*.conf\n' >etc/ld.so.conf
: >etc/ld.so.cache

tinfo=$(ldd /bin/bash | awk '/libtinfo/ { print $3 }')
cp -L "$tinfo" usr/lib64/libtinfo.so.6.2
ln -s libtinfo.so.6.2 usr/lib64/libtinfo.so.6
for library in libgcc_s.so.1 libstdc++.so.6; do cp -L "$(cc -print-file-name=$library)" usr/lib64/$library; done
mv usr/lib64/libstdc++.so.6 usr/lib64/libstdc++.so.6.0.29
ln -s libstdc++.so.6.0.29 usr/lib64/libstdc++.so.6
cp -L /bin/bash usr/bin/bash
ln -s bash usr/bin/sh

for program in cat echo env printenv; do cp -L "/usr/bin/$program" usr/bin/$program; done
mkdir -p usr/share/licenses/coreutils-single
echo 'Copy it.' >usr/share/licenses/coreutils-single/COPYING

mkdir -p etc/crypto-policies/back-ends etc/crypto-policies/state usr/share/crypto-policies/DEFAULT
echo DEFAULT >usr/share/crypto-policies/default-config
echo 'CipherString = @SECLEVEL=2' >usr/share/crypto-policies/DEFAULT/openssl.txt
echo 'SYSTEM=NORMAL' >usr/share/crypto-policies/DEFAULT/gnutls.txt
: >etc/crypto-policies/config
: >etc/crypto-policies/back-ends/openssl.config

mkdir -p etc/pki/ca-trust/extracted/pem etc/pki/tls/certs usr/share/pki/ca-trust-source
ln -s /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem etc/pki/tls/cert.pem
ln -s /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem etc/pki/tls/certs/ca-bundle.crt
: >etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem
work=$(mktemp -d)
certificate() { # NAME
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/$1.key" -out "$work/$1.pem" -days 3650 -subj "/CN=$1" 2>/dev/null
	openssl pkey -in "$work/$1.key" -pubout -out "$work/$1.pub"
}
usage() { # NAME VALUE: what the key may be used for
	printf '\n[p11-kit-object-v1]\nlabel: "%s"\nclass: x-certificate-extension\nobject-id: 2.5.29.37\nvalue: "%s"\nmodifiable: false\n' "$1" "$2"
	cat "$work/$1.pub"
}
anchor() { # NAME ATTRIBUTE
	printf '[p11-kit-object-v1]\nlabel: "%s"\n%s: true\nnss-mozilla-ca-policy: true\nmodifiable: false\n' "$1" "$2"
	cat "$work/$1.pem"
}
for name in Server-CA Mail-CA Bad-CA; do certificate $name; done
{
	echo '# Certificates of a test'
	anchor Server-CA trusted
	usage Server-CA '0%2a%06%03U%1d%25%01%01%ff%04%200%1e%06%08%2b%06%01%05%05%07%03%04%06%08%2b%06%01%05%05%07%03%01%06%08%2b%06%01%05%05%07%03%03'
	anchor Mail-CA trusted
	usage Mail-CA '0%16%06%03U%1d%25%01%01%ff%04%0c0%0a%06%08%2b%06%01%05%05%07%03%04'
	anchor Bad-CA x-distrusted
} >usr/share/pki/ca-trust-source/ca-bundle.trust.p11-kit
rm -rf "$work"

mkdir -p etc/alternatives var/lib/alternatives
for program in say.low say.high whisper.low; do
	printf '#!/bin/sh\necho %s\n' "$program" >usr/bin/$program
	chmod 755 usr/bin/$program
done
: >usr/bin/say
printf '#!/bin/sh\necho ping\n' >usr/bin/ping

mkdir -p var/lib/demod usr/lib/sysusers.d
printf '#!/bin/sh\necho demod\n' >usr/sbin/demod
chmod 755 usr/sbin/demod
echo 1 >var/lib/demod/state
printf '#!/bin/sh\necho keeper\n' >usr/bin/keeper
echo 'u keeper 382 "Keeper" /' >usr/lib/sysusers.d/keeper.conf

mkdir -p ".$cuda/lib"
echo 'int cudaRuntimeGetVersion(int *v) { *v = 12060; return 0; }' |
	cc -x c - -shared -fPIC -Wl,-soname,libcudart.so.12 -o ".$cuda/lib/libcudart.so.12.6.77"
ln -s libcudart.so.12.6.77 ".$cuda/lib/libcudart.so.12"
printf '#include <stdio.h>\nint cudaRuntimeGetVersion(int *);\nint main(void) { int v; cudaRuntimeGetVersion(&v); printf("%%d\\n", v); }\n' |
	cc -x c - -x none -o usr/bin/cuda-probe ".$cuda/lib/libcudart.so.12.6.77"
ln usr/bin/cuda-probe usr/bin/cuda-probe-again
