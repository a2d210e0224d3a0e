"""Signs and verifies as others do: nothing of gpuimg, but Debian's python3-cryptography and
python3-nacl, and where it is installed securesystemslib (1.0 or later), the in-toto project's own
reader of envelopes. Registries are spoken to over plain http.

    foreign_sign.py verify-legacy PUBLIC HOST NAME DIGEST [REFERENCE]
    foreign_sign.py verify-bundles PUBLIC HOST NAME DIGEST TYPE...
    foreign_sign.py verify-att PUBLIC HOST NAME DIGEST TYPE...
    foreign_sign.py open-key PRIVATE PASSWORD        prints the public key
    foreign_sign.py make-key PRIVATE PUBLIC PASSWORD as cosign has it
    foreign_sign.py sign PRIVATE HOST NAME DIGEST    a plain key: cosign's tag and a bundle
    foreign_sign.py attest PRIVATE HOST NAME DIGEST TYPE FILE   an attestation, in both forms
    foreign_sign.py certify PRIVATE HOST NAME DIGEST signatures that name a certificate and a log
    foreign_sign.py replay HOST NAME DIGEST OTHER    the signatures of DIGEST beside OTHER
    foreign_sign.py damage HOST NAME DIGEST          a bit of each signature's payload

Exit 1, and why, when something is not as it has to be.
"""
import base64
import hashlib
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
import nacl.secret
import nacl.utils
try:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import Signature
except ImportError:
    Envelope = None

SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
INTOTO = "application/vnd.in-toto+json"
SIGNED = "https://sigstore.dev/cosign/sign/v1"


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)


def need(condition, text):
    if not condition:
        fail(text)


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Repository:
    def __init__(self, host, name):
        self.base = "http://%s/v2/%s/" % (host, name)

    def call(self, method, path, data=None, headers=None):
        url = path if path.startswith("http") else self.base + path
        request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
        with urllib.request.urlopen(request) as answer:
            return answer.headers, answer.read()

    def manifest(self, name):
        accept = {"Accept": MANIFEST + ", " + INDEX}
        return self.call("GET", "manifests/" + name, headers=accept)[1]

    def put_manifest(self, name, data, kind=MANIFEST):
        return self.call("PUT", "manifests/" + name, data, {"Content-Type": kind})[0]

    def blob(self, descriptor):
        data = self.call("GET", "blobs/" + descriptor["digest"])[1]
        need(sha256(data) == descriptor["digest"] and len(data) == descriptor["size"],
             "a blob is not what its descriptor says")
        return data

    def put_blob(self, data, kind, **more):
        headers, _ = self.call("POST", "blobs/uploads/", b"")
        at = urllib.parse.urljoin(self.base, headers["Location"])
        at += ("&" if "?" in at else "?") + "digest=" + sha256(data)
        self.call("PUT", at, data, {"Content-Type": "application/octet-stream"})
        return {"mediaType": kind, "digest": sha256(data), "size": len(data), **more}

    def referrers(self, digest):
        """By the API, else by the tag."""
        try:
            found, at = [], "referrers/" + digest
            while at:
                headers, data = self.call("GET", at)
                found += json.loads(data)["manifests"]
                link = headers.get("Link", "")
                at = urllib.parse.urljoin(self.base, link[1:link.index(">")]) if link else None
            return found
        except urllib.error.HTTPError as e:
            need(e.code == 404, "referrers: %d" % e.code)
        return json.loads(self.manifest(digest.replace(":", "-")))["manifests"]


def public_key(path):
    with open(path, "rb") as f:
        return serialization.load_pem_public_key(f.read())


def verify(key, signature, message):
    try:
        key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        fail("the signature is wrong")


def check_payload(text, digest, reference):
    """As strict as containers/image: these members and no others."""
    said = json.loads(text)
    need(set(said) == {"critical", "optional"}, "members of the payload")
    critical = said["critical"]
    need(set(critical) == {"type", "image", "identity"}, "members of critical")
    need(set(critical["image"]) == {"docker-manifest-digest"}, "members of image")
    need(set(critical["identity"]) == {"docker-reference"}, "members of identity")
    need(critical["type"] == "cosign container image signature", "type")
    need(critical["image"]["docker-manifest-digest"] == digest, "the digest is another")
    need(reference in (None, critical["identity"]["docker-reference"]), "the reference is another")
    optional = said["optional"]
    need(optional is None or isinstance(optional.get("creator", ""), str), "creator")
    need(optional is None or isinstance(optional.get("timestamp", 0), int), "timestamp")


def verify_legacy(key, repository, digest, reference=None):
    manifest = json.loads(repository.manifest(digest.replace(":", "-") + ".sig"))
    config = json.loads(repository.blob(manifest["config"]))
    need(config["rootfs"]["diff_ids"] == [l["digest"] for l in manifest["layers"]], "diff_ids")
    for layer in manifest["layers"]:
        need(layer["mediaType"] == SIMPLE, "media type of a layer")
        payload = repository.blob(layer)
        signature = layer["annotations"]["dev.cosignproject.cosign/signature"]
        verify(key, base64.b64decode(signature, validate=True), payload)
    check_payload(payload, digest, reference)
    print(len(manifest["layers"]))


def pae_of(payload_type, payload):
    return b"DSSEv1 %d %s %d %s" % (len(payload_type), payload_type.encode(), len(payload), payload)


def check_envelope(key, document, digest, version, types):
    payload = base64.b64decode(document["payload"], validate=True)
    need(document["payloadType"] == INTOTO, "payload type")
    need(len(document["signatures"]) == 1, "one signature")
    pae = pae_of(INTOTO, payload)
    signature = base64.b64decode(document["signatures"][0]["sig"], validate=True)
    if Envelope:
        document["signatures"][0].setdefault("keyid", "")
        envelope = Envelope.from_dict(document)
        need(envelope.pae() == pae and envelope.payload == payload, "in-toto reads another envelope")
        need(bytes.fromhex(list(envelope.signatures.values())[0].signature) == signature, "signature")
    verify(key, signature, pae)
    statement = json.loads(payload)
    need(statement["_type"] == "https://in-toto.io/Statement/" + version, "statement type")
    need([s["digest"] for s in statement["subject"]] == [{"sha256": digest[7:]}], "subject")
    need(statement["predicateType"] in types, statement["predicateType"] + " is not wanted")
    return statement["predicateType"]


def verify_bundles(key, repository, digest, *types):
    found = []
    der = key.public_bytes(serialization.Encoding.DER,
                           serialization.PublicFormat.SubjectPublicKeyInfo)
    hint = base64.b64encode(hashlib.sha256(der).digest()).decode()
    for entry in repository.referrers(digest):
        if entry.get("artifactType") != BUNDLE:
            continue
        text = repository.manifest(entry["digest"])
        need(sha256(text) == entry["digest"] and len(text) == entry["size"], "a referrer's digest")
        manifest = json.loads(text)
        need(manifest["subject"]["digest"] == digest, "subject of the manifest")
        need(manifest["config"]["mediaType"] == "application/vnd.oci.empty.v1+json", "config")
        bundle = json.loads(repository.blob(manifest["layers"][0]))
        need(bundle["mediaType"] == BUNDLE, "media type of the bundle")
        need(bundle["verificationMaterial"] == {"publicKey": {"hint": hint}, "tlogEntries": []}, "hint")
        said = check_envelope(key, bundle["dsseEnvelope"], digest, "v1", types)
        need(manifest["annotations"]["dev.sigstore.bundle.predicateType"] == said, "annotation")
        found.append(said)
    need(sorted(set(found)) == sorted(types), "found %s" % found)
    print(len(found))


def verify_att(key, repository, digest, *types):
    manifest = json.loads(repository.manifest(digest.replace(":", "-") + ".att"))
    found = []
    for layer in manifest["layers"]:
        need(layer["mediaType"] == "application/vnd.dsse.envelope.v1+json", "media type")
        said = check_envelope(key, json.loads(repository.blob(layer)), digest, "v0.1", types)
        need(layer["annotations"]["predicateType"] == said, "annotation")
        found.append(said)
    need(sorted(set(found)) == sorted(types), "found %s" % found)
    print(len(found))


def scrypt(password, salt, cost):
    return Scrypt(salt=salt, length=32, n=cost, r=8, p=1).derive(password.encode())


def open_key(path, password):
    with open(path) as f:
        lines = f.read().strip().split("\n")
    need(lines[0] == "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----", "label")
    said = json.loads(base64.b64decode("".join(lines[1:-1])))
    key = scrypt(password, base64.b64decode(said["kdf"]["salt"]), said["kdf"]["params"]["N"])
    der = nacl.secret.SecretBox(key).decrypt(base64.b64decode(said["ciphertext"]),
                                             base64.b64decode(said["cipher"]["nonce"]))
    private = serialization.load_der_private_key(der, None)
    sys.stdout.write(public_pem(private))


def public_pem(private):
    return private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def make_key(path, public, password):
    private = ec.generate_private_key(ec.SECP256R1())
    der = private.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8,
                                serialization.NoEncryption())
    salt = nacl.utils.random(32)
    box = nacl.secret.SecretBox(scrypt(password, salt, 32768)).encrypt(der)
    text = json.dumps({
        "kdf": {"name": "scrypt", "params": {"N": 32768, "r": 8, "p": 1},
                "salt": base64.b64encode(salt).decode()},
        "cipher": {"name": "nacl/secretbox", "nonce": base64.b64encode(box.nonce).decode()},
        "ciphertext": base64.b64encode(box.ciphertext).decode()})
    body = base64.b64encode(text.encode()).decode()
    with open(path, "w") as f:
        f.write("-----BEGIN ENCRYPTED COSIGN PRIVATE KEY-----\n")
        f.writelines(body[i:i + 64] + "\n" for i in range(0, len(body), 64))
        f.write("-----END ENCRYPTED COSIGN PRIVATE KEY-----\n")
    with open(public, "w") as f:
        f.write(public_pem(private))


def put_tag(repository, digest, suffix, layer):
    config = repository.put_blob(json.dumps({
        "architecture": "", "created": "0001-01-01T00:00:00Z", "os": "", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}).encode(), CONFIG)
    repository.put_manifest(digest.replace(":", "-") + suffix, json.dumps({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config,
        "layers": [layer]}).encode())


def put_legacy(repository, digest, private, reference, more):
    payload = json.dumps({"critical": {
        "identity": {"docker-reference": reference},
        "image": {"docker-manifest-digest": digest},
        "type": "cosign container image signature"}, "optional": None}).encode()
    signature = private.sign(payload, ec.ECDSA(hashes.SHA256()))
    put_tag(repository, digest, ".sig", repository.put_blob(payload, SIMPLE, annotations={
        "dev.cosignproject.cosign/signature": base64.b64encode(signature).decode(), **more}))


def envelope_of(private, payload):
    """By securesystemslib where it is installed, else by hand."""
    signature = private.sign(pae_of(INTOTO, payload), ec.ECDSA(hashes.SHA256()))
    if Envelope:
        return Envelope(payload, INTOTO, {"": Signature("", signature.hex())}).to_dict()
    return {"payload": base64.b64encode(payload).decode(), "payloadType": INTOTO,
            "signatures": [{"sig": base64.b64encode(signature).decode(), "keyid": ""}]}


def put_bundle(repository, digest, private, payload, material=None):
    bundle = json.dumps({
        "mediaType": BUNDLE,
        "verificationMaterial": material or {"publicKey": {"hint": ""}},
        "dsseEnvelope": envelope_of(private, payload)}).encode()
    image = repository.manifest(digest)
    attach(repository, digest, len(image), repository.put_blob(bundle, BUNDLE))


def attach(repository, digest, size, layer):
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE,
        "config": repository.put_blob(b"{}", "application/vnd.oci.empty.v1+json"),
        "layers": [layer],
        "subject": {"mediaType": MANIFEST, "digest": digest, "size": size}}).encode()
    if repository.put_manifest(sha256(manifest), manifest).get("OCI-Subject"):
        return
    tag = digest.replace(":", "-")
    try:
        index = json.loads(repository.manifest(tag))
    except urllib.error.HTTPError:
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": []}
    index["manifests"].append({"mediaType": MANIFEST, "digest": sha256(manifest),
                               "size": len(manifest), "artifactType": BUNDLE})
    repository.put_manifest(tag, json.dumps(index).encode(), INDEX)


def sign(path, repository, digest):
    with open(path, "rb") as f:
        private = serialization.load_pem_private_key(f.read(), None)
    put_legacy(repository, digest, private, "registry.example.org/foreign", {})
    put_bundle(repository, digest, private, statement("v1", digest, SIGNED, {}))


def statement(version, digest, kind, predicate):
    return json.dumps({
        "_type": "https://in-toto.io/Statement/" + version,
        "subject": [{"name": "", "digest": {"sha256": digest[7:]}}],
        "predicateType": kind, "predicate": predicate}).encode()


def attest(path, repository, digest, kind, file):
    with open(path, "rb") as f:
        private = serialization.load_pem_private_key(f.read(), None)
    with open(file) as f:
        predicate = json.load(f)
    envelope = json.dumps(envelope_of(private, statement("v0.1", digest, kind, predicate)))
    put_tag(repository, digest, ".att", repository.put_blob(
        envelope.encode(), "application/vnd.dsse.envelope.v1+json",
        annotations={"dev.cosignproject.cosign/signature": "", "predicateType": kind}))
    put_bundle(repository, digest, private, statement("v1", digest, kind, predicate))


def certify(path, repository, digest):
    """As keyless signing leaves them; and a bundle by the key that has log entries as well."""
    with open(path, "rb") as f:
        private = serialization.load_pem_private_key(f.read(), None)
    entry = {"logIndex": "1", "kindVersion": {"kind": "dsse", "version": "0.0.1"},
             "integratedTime": "1700000000", "canonicalizedBody": "e30="}
    put_legacy(repository, digest, ec.generate_private_key(ec.SECP256R1()), "registry.example.org/x", {
        "dev.sigstore.cosign/certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "dev.sigstore.cosign/bundle": json.dumps({"SignedEntryTimestamp": "AA==", "Payload": {}})})
    put_bundle(repository, digest, ec.generate_private_key(ec.SECP256R1()),
               statement("v1", digest, SIGNED, {}),
               {"certificate": {"rawBytes": "AAAA"}, "tlogEntries": [entry]})
    put_bundle(repository, digest, private, statement("v1", digest, SIGNED, {}),
               {"publicKey": {"hint": "x"}, "tlogEntries": [entry],
                "timestampVerificationData": {"rfc3161Timestamps": [{"signedTimestamp": "AAAA"}]}})


def replay(repository, digest, other):
    manifest = repository.manifest(digest.replace(":", "-") + ".sig")
    repository.put_manifest(other.replace(":", "-") + ".sig", manifest)
    for entry in repository.referrers(digest):
        text = json.loads(repository.manifest(entry["digest"]))
        attach(repository, other, len(repository.manifest(other)), text["layers"][0])


def damage(repository, digest):
    tag = digest.replace(":", "-") + ".sig"
    manifest = json.loads(repository.manifest(tag))
    for layer in manifest["layers"]:
        payload = bytearray(repository.blob(layer))
        payload[payload.index(b"timestamp") + 11] ^= 1
        layer.update(repository.put_blob(bytes(payload), SIMPLE))
    repository.put_manifest(tag, json.dumps(manifest).encode())
    for entry in repository.referrers(digest):
        text = json.loads(repository.manifest(entry["digest"]))
        bundle = json.loads(repository.blob(text["layers"][0]))
        payload = bytearray(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
        payload[payload.index(b"timestamp") + 12] ^= 1
        bundle["dsseEnvelope"]["payload"] = base64.b64encode(bytes(payload)).decode()
        text["layers"] = [repository.put_blob(json.dumps(bundle).encode(), BUNDLE)]
        changed = json.dumps(text).encode()
        repository.put_manifest(sha256(changed), changed)
        repository.put_manifest(digest.replace(":", "-"), json.dumps({
            "schemaVersion": 2, "mediaType": INDEX, "manifests": [{
                "mediaType": MANIFEST, "digest": sha256(changed), "size": len(changed),
                "artifactType": BUNDLE}]}).encode(), INDEX)


def main(what, *a):
    if what in ("verify-legacy", "verify-bundles", "verify-att"):
        does = {"verify-legacy": verify_legacy, "verify-bundles": verify_bundles,
                "verify-att": verify_att}[what]
        does(public_key(a[0]), Repository(a[1], a[2]), *a[3:])
    elif what == "open-key":
        open_key(*a)
    elif what == "make-key":
        make_key(*a)
    elif what == "sign":
        sign(a[0], Repository(a[1], a[2]), a[3])
    elif what == "attest":
        attest(a[0], Repository(a[1], a[2]), *a[3:])
    elif what == "certify":
        certify(a[0], Repository(a[1], a[2]), a[3])
    elif what == "replay":
        replay(Repository(a[0], a[1]), a[2], a[3])
    elif what == "damage":
        damage(Repository(a[0], a[1]), a[2])
    else:
        fail(what)


main(*sys.argv[1:])
