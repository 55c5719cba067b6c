import { setTimeout as sleep } from "node:timers/promises";
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { Code, type Interceptor } from "@connectrpc/connect";
import { Health } from "../../gen/health/v1/health_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import type { Call } from "../gateway/call.ts";
import { type Line, readEtag } from "../ledger/etag.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { invalid, ServiceError, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";

/** Methods of the ledger for the current revision. */
type Instance = Pick<Ledger, "snapshot" | "refresh">;

/** Methods for checks by supervisors, which do not depend on settings. */
const HEALTH: ReadonlySet<DescMethod> = new Set<DescMethod>([
  PublicService.method.ping,
  ...Health.methods,
]);

/** Header (or metadata) of a read that requires this revision or etag, or a later one. */
const AT_LEAST = "mooring-at-least-revision";

/**
 * Header (or metadata) with the age of a reply that was made without the database: whole seconds
 * since the database last answered, rounded up. Absent while the database answers.
 *
 * `Age` (RFC 9111, section 5.1) is not used: intermediate caches add their own time to it, and gRPC
 * does not have it.
 */
const STALE = "mooring-stale-seconds";

/**
 * Checks admitted calls. A call with a NUL character (U+0000) in a text is refused: PostgreSQL can
 * neither store nor compare one, and SQLite follows the same rule. A google.protobuf.Struct is
 * checked by its reader. A call that requires a revision waits until this instance has reached it;
 * health checks ignore that header. Replies made without the database get the header with their age.
 *
 * @param awayFor milliseconds since the last answer of an unavailable database; 0: it answers.
 * @throws INVALID_ARGUMENT that names the field with the NUL character.
 */
export function checkInterceptor(ledger: Instance, line: Line, awayFor: () => number): Interceptor {
  return (next) => (sent) => {
    const request = withoutNul(sent);
    const silence = awayFor();
    const asked = HEALTH.has(request.method) ? "" : askedRevision(request);
    const replying =
      asked === "" ? next(request) : reaches(ledger, line, asked).then(() => next(request));
    if (silence === 0) return replying;
    return replying.then((response) => {
      response.header.set(STALE, String(Math.ceil(silence / 1_000)));
      return response;
    });
  };
}

type AnyRequest = Parameters<ReturnType<Interceptor>>[0];

/** Required revision; reads the header without creating web headers if possible. */
function askedRevision(request: AnyRequest): string {
  const { call } = request as { readonly call?: Call };
  return (call === undefined ? request.header.get(AT_LEAST) : call.header(AT_LEAST)) ?? "";
}

function invalidRevision(text: string): ServiceError {
  return new ServiceError(
    Code.InvalidArgument,
    message("AT_LEAST_REVISION_INVALID", { text: text.slice(0, 50) }),
  );
}

/** Maximum wait for a revision and interval between checks, in milliseconds. */
const PATIENCE = 1_000;
const POLL_INTERVAL = 20;

/**
 * Waits until this process shows a revision, or a later one.
 *
 * @param asked the revision or its etag.
 * @throws UNAVAILABLE when it does not within a second; ABORTED for an etag that is not of this
 *   database; INVALID_ARGUMENT for other texts.
 */
async function reaches(ledger: Instance, line: Line, asked: string): Promise<void> {
  const etag = asked.trim();
  const required = readEtag(etag);
  if (required === undefined) throw invalidRevision(asked);
  await reachesNumber(ledger, required.revision);
  if (required.mark !== "") await line.require(etag);
}

async function reachesNumber(ledger: Instance, revision: number): Promise<void> {
  if (ledger.snapshot().revision >= revision) return;
  const giveUp = performance.now() + PATIENCE;
  while ((await ledger.refresh()).revision < revision) {
    if (performance.now() > giveUp)
      throw unavailable(
        message("REVISION_NOT_REACHED", { shown: ledger.snapshot().revision, asked: revision }),
      );
    await sleep(POLL_INTERVAL);
  }
}

const NUL = "\0";

/** The request; the messages of a stream are checked as they arrive. */
function withoutNul(request: AnyRequest): AnyRequest {
  const { input } = request.method;
  if (request.stream) return { ...request, message: checked(input, request.message) };
  check(input, request.message);
  return request;
}

async function* checked(
  desc: DescMessage,
  messages: AsyncIterable<Message>,
): AsyncGenerator<Message> {
  for await (const one of messages) {
    check(desc, one);
    yield one;
  }
}

function check(desc: DescMessage, value: Message): void {
  const path = finderOf(desc)(value);
  if (path === undefined) return;
  // The path of a top-level field begins with a full stop.
  const field = path.slice(1);
  throw invalid([
    {
      field,
      description: message("NAMED_PROBLEM", { name: field, problem: message("NUL_CHARACTER") }),
    },
  ]);
}

/**
 * Finds a text with a NUL character in a value.
 *
 * @returns its path below the value, such as `.name` or `[2].name`; empty: the value itself. Undefined:
 *   there is none.
 */
type Find = (value: unknown) => string | undefined;

/** One finder per message type. */
const finders = new WeakMap<DescMessage, Find>();

function finderOf(desc: DescMessage): Find {
  const known = finders.get(desc);
  if (known !== undefined) return known;
  const fields: { readonly field: DescField; readonly find: Find }[] = [];
  const findInMessage: Find = (holder) => {
    for (const { field, find } of fields) {
      const value = fieldOf(holder as Message, field);
      const inner = value === undefined ? undefined : find(value);
      if (inner !== undefined) return `.${field.name}${inner}`;
    }
    return undefined;
  };
  // Before its fields are visited: a message may contain its own type.
  finders.set(desc, findInMessage);
  for (const field of desc.fields) {
    const find = finderOfField(field);
    if (find !== undefined) fields.push({ field, find });
  }
  return findInMessage;
}

function fieldOf(holder: Message, { localName, oneof }: DescField): unknown {
  const values = holder as unknown as Record<string, unknown>;
  if (oneof === undefined) return values[localName];
  const chosen = values[oneof.localName] as { readonly case?: string; readonly value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}

/** Undefined: the field holds no text. */
function finderOfField(field: DescField): Find | undefined {
  const one = finderOfValue(field);
  switch (field.fieldKind) {
    case "list":
      return one && ((list) => findInList(list as readonly unknown[], one));
    case "map":
      return (map) => findInMap(map as Readonly<Record<string, unknown>>, one);
    default:
      return one;
  }
}

function finderOfValue({ message: desc, scalar }: DescField): Find | undefined {
  if (desc !== undefined && desc.typeName !== "google.protobuf.Struct") return finderOf(desc);
  return scalar === ScalarType.STRING ? findInText : undefined;
}

function findInText(text: unknown): string | undefined {
  return typeof text === "string" && text.includes(NUL) ? "" : undefined;
}

function findInList(list: readonly unknown[], find: Find): string | undefined {
  for (let at = 0; at < list.length; at += 1) {
    const inner = find(list[at]);
    if (inner !== undefined) return `[${at}]${inner}`;
  }
  return undefined;
}

/** For a key with a NUL character, the path is that of the map. */
function findInMap(
  map: Readonly<Record<string, unknown>>,
  find: Find | undefined,
): string | undefined {
  for (const key of Object.keys(map)) {
    if (key.includes(NUL)) return "";
    const inner = find?.(map[key]);
    if (inner !== undefined) return `.${key}${inner}`;
  }
  return undefined;
}
