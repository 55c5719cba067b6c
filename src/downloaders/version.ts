/**
 * A program's version in its own notation (`1.36.0`, `v4.5.2`, `v5.0.0beta1`), or undefined for
 * anything else. It is displayed, so that only 64 harmless characters are accepted, beginning with
 * a digit.
 */
export function readVersion(value: unknown): string | undefined {
  return typeof value === "string" && /^v?\d[\w.+~-]{0,62}$/.test(value) ? value : undefined;
}
