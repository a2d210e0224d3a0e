#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/x509.h"

/* The first certificate of the text, the caller's; NULL and *err set. */
static X509 *read_pem(struct slice pem, struct error *err)
{
	BIO *bio = pem.len <= INT_MAX ? BIO_new_mem_buf(pem.data, (int)pem.len) : NULL;
	X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	if (!certificate) {
		ERR_clear_error();
		error_set(err, ERROR_FORMAT, "not a certificate in PEM form");
	}
	return certificate;
}

int x509_subject_hash(struct slice pem, uint32_t *out, struct error *err)
{
	X509 *certificate = read_pem(pem, err);

	if (!certificate)
		return -1;
	*out = (uint32_t)X509_NAME_hash(X509_get_subject_name(certificate));
	X509_free(certificate);
	return 0;
}

int x509_der(struct slice pem, struct strbuf *out, struct error *err)
{
	X509 *certificate = read_pem(pem, err);
	unsigned char *der = NULL;
	int len;

	if (!certificate)
		return -1;
	len = i2d_X509(certificate, &der);
	X509_free(certificate);
	if (len < 0)
		return error_set(err, ERROR_FORMAT, "not a certificate that can be written again");
	strbuf_add(out, der, (size_t)len);
	OPENSSL_free(der);
	return 0;
}
