// Requests in their most expensive forms, with a token for only this method.
import type { ClientHttp2Session } from "node:http2";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { callAdmin } from "../../mooring.ts";
import { ACCEPTED, type Form, formsOf, type Size, wholeSize } from "../request/form.ts";
import {
  answered,
  nameOf,
  openSession,
  send,
  TRANSPORTS,
  type Transport,
  type Wire,
  wireOf,
} from "../request/send.ts";
import { createToken } from "../request/token.ts";
import { type Attack, add, mountOf, pause, type Tally, type Target } from "../target.ts";

/** Number of concurrent copies of a request. */
const AT_ONCE = 4;
/** Time limit of a round of requests, in milliseconds. */
const ROUND = 5_000;
/** Number of stored settings and mounts for reads, and the size of each in bytes. */
const STORED = 20;
const SETTING = 50_000;
const MOUNT = 10_000;

/**
 * Sends each form of each method of a service until all are sent or the attack ends: over every
 * transport in both sizes, or in a quick run over one transport in one size.
 */
export function costlyRequests({ methods }: DescService): Attack {
  return async (target, signal, begin) => {
    const tally: Tally = { forms: 0, requests: 0, refused: 0 };
    await store(target);
    let turn = 0;
    for (const method of methods) {
      const token = await createToken(target, method);
      const whole = wholeSize(method);
      for (const form of formsOf(method)) {
        add(tally, "forms");
        for (const [size, transport] of target.quick ? [some(whole, turn)] : all(whole)) {
          if (signal.aborted) return tally;
          begin(describe(form, size, transport));
          const wire = wireOf(method, form.build(size), transport, token);
          await round(target, method, wire, tally, signal);
        }
        turn += 1;
      }
    }
    return tally;
  };
}

function describe({ method, path, kind }: Form, size: Size, transport: Transport): string {
  const amount = size === ACCEPTED ? "accepted" : "whole";
  return [nameOf(method), path, kind, amount, transport].filter((part) => part !== "").join(" ");
}

function all(whole: Size): readonly (readonly [Size, Transport])[] {
  return [whole, ACCEPTED].flatMap((size) =>
    TRANSPORTS.map((transport) => [size, transport] as const),
  );
}

/** Chooses a transport and a size in turn. */
function some(whole: Size, turn: number): readonly [Size, Transport] {
  return [turn % 3 === 0 ? whole : ACCEPTED, TRANSPORTS[turn % TRANSPORTS.length] ?? "grpc"];
}

async function round(
  { port }: Target,
  { methodKind }: DescMethod,
  wire: Wire,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const session = openSession(port);
  const over = AbortSignal.any([signal, AbortSignal.timeout(ROUND)]);
  // A stream has no end: its opening is measured.
  const one = methodKind === "unary" ? answered : opened;
  await Promise.all(Array.from({ length: AT_ONCE }, () => one(session, wire, tally, over)));
  session.destroy();
}

async function opened(
  session: ClientHttp2Session,
  wire: Wire,
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  const stream = send(session, wire);
  add(tally, "requests");
  const ended = new Promise<void>((resolve) => {
    stream.once("response", () => resolve()).once("close", () => resolve());
  });
  await Promise.race([ended, pause(500, over)]);
}

/** Stores settings and mounts for requests that read. */
async function store(target: Target): Promise<void> {
  const numbers = Array.from({ length: STORED }, (_, at) => at);
  const value = "v".repeat(SETTING);
  const settings = numbers.map((at) => ({ key: `attack_${at}`, value, type: "text", flag: 1 }));
  await callAdmin(target, "/api/admin/setting/save", settings);
  const mounts = numbers.map((at) => mountOf("attack", at, MOUNT));
  await callAdmin(target, "/api/admin/mount/save", { mounts });
}
