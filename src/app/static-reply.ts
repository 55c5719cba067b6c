/** Headers of files that browsers run or show, with the content security policy of their page. */
export function securityHeaders(policy: readonly string[]): Readonly<Record<string, string>> {
  return {
    "content-security-policy": policy.join("; "),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  };
}

/** Whether an If-None-Match header names an entity tag: a weak comparison (RFC 9110, 13.1.2). */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((one) => ["*", tag, `W/${tag}`].includes(one.trim()));
}
