import type { AuditPosition } from "../../store/audit-store.ts";

/** Where the audit stood at a time: kept elsewhere, it shows later whether rows up to it are as they were. */
export interface Checkpoint extends AuditPosition {
  /** The id of the database. */
  readonly origin: string;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
}

/**
 * The form of a C2SP tlog-checkpoint without signatures: origin, number, hash in base64, and the time
 * as an extension line. The hash is that of the chain's newest row, and no tree's root.
 */
export function checkpointText({ origin, seq, hash, time }: Checkpoint): string {
  const base64 = Buffer.from(hash, "hex").toString("base64");
  return `${origin}\n${seq}\n${base64}\n${new Date(time).toISOString()}\n`;
}

/** Reads such a text; what comes after an empty line (signatures) is passed over. Undefined: it is none. */
export function readCheckpoint(text: string): Checkpoint | undefined {
  const [origin = "", seq = "", base64 = "", time = "", ...rest] = text
    .replaceAll("\r\n", "\n")
    .split("\n");
  const hash = Buffer.from(base64, "base64");
  const at = Date.parse(time);
  if (origin === "" || !/^(0|[1-9]\d{0,15})$/.test(seq) || hash.length !== 32) return undefined;
  if (Number.isNaN(at) || (rest.length > 0 && rest[0] !== "")) return undefined;
  return { origin, seq: Number(seq), hash: hash.toString("hex"), time: at };
}
