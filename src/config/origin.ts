import type { Parser } from "./value.ts";

/** Web origins that browsers may call from: all, or these, each as a browser writes it. */
export type Origins = "*" | readonly string[];

/**
 * `*`, or origins separated by commas: `SCHEME://HOST[:PORT]` and nothing after it. Each comes out
 * as browsers send it in the `Origin` header (lower case, the scheme's own port left out), so that
 * a comparison of texts is enough. Any scheme: apps have their own, such as `tauri://localhost`.
 */
export const origins: Parser<Origins> = (text) => {
  if (text === "*") {
    return { value: "*" };
  }
  const found = new Set<string>();
  for (const [index, part] of text.split(",").entries()) {
    const origin = originOf(part.trim());
    if (origin === undefined) {
      return {
        complaint:
          `has a part (number ${index + 1}) that is no origin: write * alone, or origins such as ` +
          "https://files.example.org,http://localhost:3000 without a path or a slash at the end",
      };
    }
    found.add(origin);
  }
  return { value: [...found] };
};

/** What may be shown of a list of origins: somebody may have pasted a URL with a password. */
export function showOrigins(text: string): string {
  return text.replace(/\/\/.*@/s, "//…@");
}

/** RFC 6454, section 6.1: scheme, host and, unless it is the scheme's own, port. */
function originOf(text: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$/i.test(text)) {
    return undefined;
  }
  const url = URL.parse(text);
  if (url === null || url.host === "") {
    return undefined;
  }
  // `url.origin` is "null" for schemes that the URL standard does not list.
  return `${url.protocol}//${url.host}`.toLowerCase();
}
