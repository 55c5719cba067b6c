/**
 * Reports whether the code of a TLS error means that the certificate of the peer is not trusted: a
 * verification result of OpenSSL (`X509_V_ERR_…` without this prefix), or Node's own check of the name
 * (`ERR_TLS_CERT_ALTNAME_INVALID`).
 */
export function isCertificateError(code: string): boolean {
  return /CERT|ISSUER|LEAF_SIGNATURE|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED/.test(
    code,
  );
}

/**
 * Reason of a certificate error: the first line of its message, without Node's advice about options of
 * the program, which the operator of a service cannot follow.
 */
export function certificateReason(message: string): string {
  return message.replace(/\n[\s\S]*$/, "").replace(/; if the root CA is installed locally.*$/, "");
}
