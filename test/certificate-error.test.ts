import { expect, test } from "vitest";
import { isCertificateError } from "../src/certificate-error.ts";

test.each([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
])("%s is an error of the certificate", (code) => {
  expect(isCertificateError(code)).toBe(true);
});

test.each([
  "",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EPROTO",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_TLS_HANDSHAKE_TIMEOUT",
])("%j is no error of the certificate", (code) => {
  expect(isCertificateError(code)).toBe(false);
});
