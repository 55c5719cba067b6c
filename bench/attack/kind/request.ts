// Requests in their most expensive forms, with a token for only this method.
import type { ClientHttp2Session } from "node:http2";
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { access } from "../../../gen/mooring/access/v1/access_pb.js";
import { ACCEPTED, type Form, formsOf, type Size, wholeSize } from "../request/form.ts";
import {
  nameOf,
  openSession,
  send,
  TRANSPORTS,
  type Transport,
  type Wire,
  wireOf,
} from "../request/send.ts";
import { type Attack, add, pause, type Tally, type Target } from "../target.ts";

/** Selected part of the table. */
export interface Selection {
  readonly methods: readonly DescMethod[];
  /** Whether to send all combinations, or one transport and one size per form. */
  readonly isFull: boolean;
}

/** Number of concurrent copies of a request. */
const AT_ONCE = 4;
/** Time limit of a round of requests, in milliseconds. */
const ROUND = 5_000;
/** Number of stored settings and mounts for reads, and the size of each in bytes. */
const STORED = { count: 20, bytes: 50_000 };
const MOUNTS = { count: 20, bytes: 10_000 };

/** Sends each form of each method until all are sent or the attack ends. */
export function costlyRequests({ methods, isFull }: Selection): Attack {
  return async (target, signal, begin) => {
    const tally: Tally = { forms: 0, requests: 0, refused: 0 };
    await store(target);
    const tokens = createTokens(target);
    let turn = 0;
    for (const method of methods) {
      const token = await tokens(scopesOf(method));
      for (const form of formsOf(method)) {
        add(tally, "forms");
        const whole = wholeSize(method);
        for (const [size, transport] of isFull ? all(whole) : [some(whole, turn)]) {
          if (signal.aborted) return tally;
          const wire = wireOf(method, form.build(size), transport, token);
          if (wire === undefined) continue;
          begin(describe(form, size, transport));
          await round(target, form, wire, tally, signal);
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
  { method }: Form,
  wire: Wire,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const session = openSession(port);
  const over = AbortSignal.any([signal, AbortSignal.timeout(ROUND)]);
  // A stream has no end: its opening is measured.
  const isStream = method.methodKind !== "unary";
  const one = isStream ? opened : answered;
  await Promise.all(Array.from({ length: AT_ONCE }, () => one(session, wire, tally, over)));
  session.destroy();
}

function answered(
  session: ClientHttp2Session,
  wire: Wire,
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const stream = send(session, wire);
    add(tally, "requests");
    stream.on("response", (head) => {
      if (Number(head[":status"]) >= 400) add(tally, "refused");
    });
    stream.resume().once("close", resolve);
    over.addEventListener("abort", () => resolve(), { once: true });
  });
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

/** Required scopes of a method; undefined: it needs no token. */
export function scopesOf(method: DescMethod): readonly string[] | undefined {
  if (!hasOption(method, access)) return ["settings:read"];
  const { public: isPublic, anyToken, scopes } = getOption(method, access);
  if (isPublic) return undefined;
  // With the permanent token, this would end the token of the well-behaved client.
  if (scopes.includes("root")) return ["settings:write"];
  return anyToken ? ["drivers:read"] : scopes;
}

/** Creates a token for each set of scopes, once. */
export function createTokens(target: Target) {
  const made = new Map<string, Promise<string>>();
  const make = async (scopes: readonly string[]): Promise<string> => {
    const principal = `attack-${target.seed}-${made.size}`;
    await post(target, "/api/admin/access/principals/create", {
      name: principal,
      kind: "PRINCIPAL_KIND_PROGRAM",
    });
    const { secret } = (await post(target, "/api/admin/access/tokens/create", {
      principal,
      scopes,
    })) as { secret: string };
    return secret;
  };
  return async (scopes: readonly string[] | undefined): Promise<string | undefined> => {
    if (scopes === undefined) return undefined;
    const name = scopes.join(" ");
    const token = made.get(name) ?? make(scopes);
    made.set(name, token);
    return token;
  };
}

/** Stores settings and mounts for requests that read. */
async function store(target: Target): Promise<void> {
  const settings = Array.from({ length: STORED.count }, (_, at) => ({
    key: `attack_${at}`,
    value: "v".repeat(STORED.bytes),
    type: "text",
    flag: 1,
  }));
  await post(target, "/api/admin/setting/save", settings);
  const mounts = Array.from({ length: MOUNTS.count }, (_, at) => ({
    name: `attack_${at}`,
    mount_path: `/attack/${at}`,
    driver: "Local",
    config: { root_folder_path: "/" },
    members: { remark: "v".repeat(MOUNTS.bytes) },
  }));
  await post(target, "/api/admin/mount/save", { mounts });
}

/** Calls the API of the target. @returns the data of the reply. */
export async function post(
  { port, token = "" }: Target,
  path: string,
  body: unknown,
): Promise<unknown> {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization: token, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { code, message, data } = (await reply.json()) as Record<string, unknown>;
  // A principal of an earlier attack on the same server may have this name.
  if (code !== 200 && code !== 409) throw new Error(`${path}: ${message}`);
  return data;
}
