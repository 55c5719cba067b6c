import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { createVariant, type EncodedReply, type Variant } from "./encoded-reply.ts";
import type { Coding } from "./entity-tag.ts";

/** Chooses the variant to send, and has missing ones made. */
export type VariantChooser = (reply: EncodedReply, accepted: readonly Coding[]) => Variant;

/** Most compressions at one time: they run on the thread pool, which others need as well. */
const MAX_JOBS = 2;

/**
 * Makes a chooser. A compressed variant is made off the event loop when it is first asked for;
 * until it is ready, replies go out as they are.
 */
export function createVariantChooser(): VariantChooser {
  const jobs = { running: 0 };
  return (reply, accepted) => {
    if (!reply.compressible) return reply.identity;
    const [preferred] = accepted;
    if (preferred === undefined) return reply.identity;
    const variant = reply.coded.get(preferred);
    if (variant) return variant;
    if (jobs.running < MAX_JOBS && !reply.started.has(preferred)) start(reply, preferred, jobs);
    return readyVariant(reply, accepted);
  };
}

function readyVariant(reply: EncodedReply, accepted: readonly Coding[]): Variant {
  const coding = accepted.find((one) => reply.coded.has(one));
  return (coding && reply.coded.get(coding)) ?? reply.identity;
}

function start(reply: EncodedReply, coding: Coding, jobs: { running: number }): void {
  reply.started.add(coding);
  jobs.running++;
  compress(coding, reply.bytes, (body) => {
    jobs.running--;
    if (body === undefined || body.length >= reply.bytes.length) return;
    reply.coded.set(coding, createVariant(reply, body, coding));
  });
}

/** Brotli's level: near the size of the highest for a tenth of its time. */
const BROTLI_QUALITY = 6;

function compress(coding: Coding, body: Buffer, done: (body: Buffer | undefined) => void): void {
  const end = (error: Error | null, result: Buffer): void => done(error ? undefined : result);
  if (coding === "gzip") {
    gzip(body, end);
    return;
  }
  const params = {
    [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
    [zlib.BROTLI_PARAM_SIZE_HINT]: body.length,
  };
  brotliCompress(body, { params }, end);
}
