import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HttpReply } from "./http-call.ts";
import type { Stage } from "./stage.ts";

/** A reply as a file, for a yardstick to send: head and body as Mooring sends them. */
export interface FixedReply {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** Base64. */
  readonly body: string;
}

/** What Node's server adds by itself. */
const ADDED_BY_NODE = new Set(["date", "connection", "keep-alive", "transfer-encoding"]);

/** Keeps a reply of Mooring's for its yardsticks; returns the file. */
export function keepReply(stage: Stage, { status, rawHeaders, body }: HttpReply): string {
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!ADDED_BY_NODE.has(name.toLowerCase())) headers.push([name, value]);
  }
  return keep(stage, { status, headers, body: body.toString("base64") } satisfies FixedReply);
}

/** What a gRPC yardstick answers with. */
export interface FixedMessage {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Base64 of the encoded message. */
  readonly body: string;
}

/** Keeps a message of Mooring's for its yardsticks; returns the file. */
export function keepMessage(stage: Stage, path: string, body: Buffer): string {
  return keep(stage, { path, body: body.toString("base64") } satisfies FixedMessage);
}

function keep(stage: Stage, value: unknown): string {
  const file = join(stage.folder(), "reply.json");
  writeFileSync(file, JSON.stringify(value));
  return file;
}
