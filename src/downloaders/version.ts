/**
 * A program's version as it names it (`1.36.0`, `v4.5.2`, `v5.0.0beta1`), or undefined when the
 * value is no such thing. It is shown to people, so that only 64 harmless characters are let
 * through, a digit first.
 */
export function readVersion(value: unknown): string | undefined {
  return typeof value === "string" && /^v?\d[\w.+~-]{0,62}$/.test(value) ? value : undefined;
}
