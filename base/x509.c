#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/x509.h"

int x509_subject_hash(struct slice pem, uint32_t *out, struct error *err)
{
	BIO *bio = pem.len <= INT_MAX ? BIO_new_mem_buf(pem.data, (int)pem.len) : NULL;
	X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	if (!certificate) {
		ERR_clear_error();
		return error_set(err, ERROR_FORMAT, "not a certificate in PEM form");
	}
	*out = (uint32_t)X509_NAME_hash(X509_get_subject_name(certificate));
	X509_free(certificate);
	return 0;
}
