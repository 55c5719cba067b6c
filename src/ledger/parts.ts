import type { Parts } from "./kind.ts";

/** Reports whether two records have the same open part and the same secret parts. */
export function isSameParts(a: Parts, b: Parts): boolean {
  const [old, next] = [Object.entries(a.secrets), new Map(Object.entries(b.secrets))];
  return (
    a.body === b.body &&
    old.length === next.size &&
    old.every(([part, text]) => next.get(part) === text)
  );
}

/** UTF-8 bytes of a record. */
export function bytesOfParts(key: string, { body, secrets }: Parts): number {
  return Object.entries(secrets).reduce(
    (sum, [part, text]) => sum + Buffer.byteLength(part) + Buffer.byteLength(text),
    Buffer.byteLength(key) + Buffer.byteLength(body ?? ""),
  );
}
