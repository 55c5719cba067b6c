import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Generated } from "./request.ts";

/** The peers by the names that differences.md uses. */
export type Peer = "grpc-gateway" | "vanguard";

/** A request whose outcome differs from that of one peer. */
export interface Difference {
  readonly request: Generated;
  readonly mine: string;
  readonly theirs: string;
  readonly peer: Peer;
}

/** An outcome in its parts. */
type Outcome =
  | { readonly refused: number }
  | {
      readonly refused: undefined;
      readonly rpc: string;
      readonly message: JsonObject;
      readonly status: number;
      readonly reply: string;
    };

/** A parsed difference. */
interface Seen {
  readonly peer: Peer;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly type: string | undefined;
  /** Names and values of the query, unescaped; undefined for a broken escape. */
  readonly query: readonly (readonly [string, string | undefined])[];
  readonly mine: Outcome;
  readonly theirs: Outcome;
}

interface Kind {
  readonly peers: readonly Peer[];
  readonly fits: (seen: Seen) => boolean;
}

export const PEERS: readonly Peer[] = ["grpc-gateway", "vanguard"];
const GRPC_GATEWAY: readonly Peer[] = ["grpc-gateway"];
const VANGUARD: readonly Peer[] = ["vanguard"];
const BOTH = PEERS;

/** The kinds of differences.md by name; the first match applies. */
const KINDS: Readonly<Record<string, Kind>> = {
  "status-of-refusal": {
    peers: BOTH,
    fits: ({ mine, theirs, peer }) =>
      peer === "vanguard"
        ? mine.refused === 400 && theirs.refused === 500
        : mine.refused === 405 && theirs.refused === 501,
  },
  "number-of-64-bits-alone": {
    peers: GRPC_GATEWAY,
    fits: ({ path, body, mine, theirs }) =>
      path === "/v1/reply/i64"
        ? isSame(mine, theirs, (text) =>
            text.replace(/ "(-?\d+)"$/, (_, digits) => ` ${Number(digits)}`),
          )
        : path === "/v1/body/i64" &&
          /^"[\de.]+"$/.test(body) &&
          isReached(mine) &&
          theirs.refused === 400,
  },
  "not-json": {
    peers: GRPC_GATEWAY,
    fits: ({ body, mine, theirs }) =>
      (body.includes("\\ud800") || body === "{}{}") && mine.refused === 400 && isReached(theirs),
  },
  "json-in-query": {
    peers: VANGUARD,
    fits: ({ query, mine, theirs }) =>
      mine.refused === 400 &&
      isReached(theirs) &&
      query.some(
        ([name, value = ""]) =>
          value === "null" || (/^w[iu]/.test(name) && /^1(?:e3|\.0)$/.test(value)),
      ),
  },
  "escape-in-variable": {
    peers: VANGUARD,
    fits: ({ path, theirs }) => /%2[5F]/i.test(path) && theirs.refused === 404,
  },
  "slash-in-several-segments": {
    peers: BOTH,
    fits: ({ path, mine, theirs }) =>
      /%2f/i.test(path) && isSame(mine, theirs, (text) => text.replace(/%2f/gi, "/")),
  },
  "colon-without-verb": {
    peers: VANGUARD,
    fits: ({ path, theirs }) =>
      /:[^/:]*$/.test(path) && (theirs.refused === 404 || theirs.refused === 405),
  },
  "unknown-parameter": {
    peers: VANGUARD,
    fits: ({ path, query, mine, theirs }) =>
      isReached(mine) && theirs.refused === 500 && query.some(([name]) => isUnknown(path, name)),
  },
  "broken-escape": {
    peers: BOTH,
    fits: ({ peer, path, query, mine, theirs }) =>
      query.some(
        ([name, value]) => value === undefined && (peer === "vanguard" || isUnknown(path, name)),
      ) &&
      (peer === "vanguard"
        ? mine.refused === 400 && isReached(theirs)
        : isReached(mine) && theirs.refused === 400),
  },
  "query-beside-the-body": {
    peers: VANGUARD,
    fits: ({ method, path, query, mine, theirs }) =>
      query.length > 0 && isWhole(method, path) && isOwnOrRefused(mine, theirs, query),
  },
  "query-over-path": {
    peers: VANGUARD,
    fits: ({ query, mine, theirs }) =>
      isReached(mine) &&
      query.length > 0 &&
      isOwnOrRefused(mine, theirs, query) &&
      isReached(theirs),
  },
  "body-of-any-type": {
    peers: GRPC_GATEWAY,
    fits: ({ method, path, mine, theirs }) =>
      method === "POST" &&
      /^\/v1\/(?:raw$|files\/)/.test(path) &&
      isReached(mine) &&
      (theirs.refused === 400 ||
        (isReached(theirs) && isWithoutBytes(mine.message, theirs.message))),
  },
  "type-of-an-empty-body": {
    peers: BOTH,
    fits: ({ path, body, mine, theirs }) =>
      path === "/v1/raw" && body === "" && isReached(mine) && isReached(theirs),
  },
  "mask-of-a-patch": {
    peers: GRPC_GATEWAY,
    fits: ({ method, body, mine, theirs }) =>
      method === "PATCH" &&
      (isSameBut(mine, theirs, "fm") ||
        isSameBut(mine, theirs, "updateMask") ||
        (/"(?:nope|an)"/.test(body) && isReached(mine) && theirs.refused === 400)),
  },
  "mask-in-query": {
    peers: BOTH,
    fits: ({ peer, query, mine, theirs }) => {
      const mask = query.find(([name]) => /^(?:fm|update_?mask)$/i.test(name))?.[1];
      if (mask === undefined) return false;
      if (peer === "vanguard")
        return /^$|_|[^\w.,]/.test(mask) && isReached(mine) && theirs.refused === 400;
      // Its mask has no JSON, or names in a form that JSON does not have.
      return (
        isReached(theirs) &&
        (theirs.status === 500 || mine.refused === 400 || "binary" in theirs.message)
      );
    },
  },
  "message-of-an-unknown-member": {
    peers: GRPC_GATEWAY,
    fits: ({ query, mine, theirs }) =>
      query.some(([name]) => name === "m.nope") && isSameBut(mine, theirs, "m"),
  },
  "null-body": {
    peers: BOTH,
    fits: ({ path, body, mine, theirs }) =>
      body === "null" && !/\/m$/.test(path) && isReached(mine) && isRefused(theirs),
  },
  "no-body": {
    peers: VANGUARD,
    fits: ({ method, path, body, mine, theirs }) =>
      isWhole(method, path) && body === "" && isReached(mine) && theirs.refused === 500,
  },
  "unknown-number-of-an-enum": {
    peers: GRPC_GATEWAY,
    fits: ({ query, mine, theirs }) =>
      query.some(([name, value]) => name === "e" && value === "9") &&
      isReached(mine) &&
      theirs.refused === 400,
  },
  "parameter-of-the-body": {
    peers: BOTH,
    fits: ({ peer, method, path, query, mine, theirs }) =>
      query.some(([name]) => /^m(?:\.|$)/.test(name)) &&
      (peer === "vanguard"
        ? (method === "PATCH" || path === "/v1/body/m") && isReached(mine) && theirs.refused === 400
        : /^\/v1\/(?:nested|parts)\//.test(path) && mine.refused === 400 && isReached(theirs)),
  },
  "words-of-a-bool": {
    peers: GRPC_GATEWAY,
    fits: ({ path, mine, theirs }) =>
      /^\/v1\/typed\/[^/]*\/[01]\//.test(path) && mine.refused === 400 && isReached(theirs),
  },
  "byte-order-mark": {
    peers: BOTH,
    fits: ({ body, mine, theirs }) =>
      body.startsWith("\ufeff") && isReached(mine) && isRefused(theirs),
  },
  "several-values": {
    peers: BOTH,
    fits: ({ peer, query, mine, theirs }) =>
      peer === "vanguard"
        ? (new Set(query.map(([name]) => JSON_NAMES[name] ?? name)).size < query.length ||
            hasSeveralMembers(query)) &&
          mine.refused === 400 &&
          isReached(theirs)
        : query.filter(([name]) => name === "mss").length === 2 &&
          mine.refused === 400 &&
          isReached(theirs),
  },
  "nothing-before-a-verb": {
    peers: GRPC_GATEWAY,
    fits: ({ path, theirs }) => /\/:[a-z]+$/.test(path) && theirs.refused === 501,
  },
  "empty-segment": {
    peers: BOTH,
    fits: ({ path, mine }) =>
      (mine.refused === 404 || mine.refused === 405) && /\/(?:\/|$|:)/.test(path),
  },
  "float-digits": {
    peers: BOTH,
    fits: ({ mine, theirs }) => isSame(mine, theirs, withFloatDigits),
  },
  "any-without-type": {
    peers: BOTH,
    fits: ({ body, mine, theirs }) =>
      body.includes('"an":{"a":"x"}') &&
      mine.refused === 400 &&
      isReached(theirs) &&
      isDeepStrictEqual(theirs.message["an"], {}),
  },
  "empty-value": {
    peers: BOTH,
    fits: ({ path, body, mine, theirs }) =>
      path === "/v1/body/va" &&
      body === "" &&
      isReached(mine) &&
      isReached(theirs) &&
      theirs.status === 500,
  },
  "result-of-a-stream": {
    peers: BOTH,
    fits: ({ peer, path, mine, theirs }) =>
      peer === "vanguard"
        ? /^\/v1\/(?:stream|parts)(?:\/|$)/.test(path) && theirs.refused === 415
        : /^\/v1\/(?:stream|parts|chunks)(?:\/|$)/.test(path) &&
          isSame(mine, unwrapped(theirs), withFloatDigits),
  },
  "unknown-enum": {
    peers: BOTH,
    fits: ({ body, mine, theirs }) =>
      /"(?:e|re)":\[?"RED"/.test(body) && mine.refused === 400 && isReached(theirs),
  },
};

/** Text of the largest float with all its digits. */
function withFloatDigits(text: string): string {
  return text.replaceAll("3.4028234663852886e+38", "3.4028235e+38");
}

/**
 * A reply of grpc-gateway without the object around each message, and around an error without one.
 */
function unwrapped(outcome: Outcome): Outcome {
  if (!isReached(outcome)) return outcome;
  const { rpc, reply, status } = outcome;
  if (rpc === "Chunks") return { ...outcome, reply: withoutLineEnds(reply) };
  const member = status === 200 ? "result" : "error";
  const around = new RegExp(`^\\{"${member}":(.*)\\}$`, "gm");
  return { ...outcome, reply: reply.replace(around, "$1") };
}

/** The type and the base64 of a body without the line break after each of two messages. */
function withoutLineEnds(reply: string): string {
  const [, type, data = ""] = /^(\S+) (.*)$/.exec(reply) ?? [];
  const text = Buffer.from(data, "base64").toString();
  return `${type} ${Buffer.from(text.replace(/\n(; end)\n$/, "$1")).toString("base64")}`;
}

/** Whether a parameter of a path names no field, or the one that the path sets. */
function isUnknown(path: string, name: string): boolean {
  if (/^\/v1\/(?:files|chunks)/.test(path)) return name !== "part";
  return UNKNOWN.test(name) || (name === "s" && !path.startsWith("/v1/query"));
}

const UNKNOWN = /^(?:nope|unknownField|m\.nope|s\.x|rs\[\])$/;

/** Whether the rule of a path reads the whole message from the body. */
function isWhole(method: string, path: string): boolean {
  if (method === "PATCH") return false;
  return /^\/v1\/(?:whole|reply\/|raw$|ones:batch$|one\/[^/]*:cancel$)/.test(path);
}

type Reached = Exclude<Outcome, { refused: number }>;

function isReached(outcome: Outcome): outcome is Reached {
  return outcome.refused === undefined;
}

function isRefused(outcome: Outcome): boolean {
  return !isReached(outcome);
}

/** Whether two outcomes are equal after a conversion of their text. */
function isSame(one: Outcome, other: Outcome, form: (text: string) => string): boolean {
  return form(textOf(one)) === form(textOf(other));
}

function textOf(outcome: Outcome): string {
  if (!isReached(outcome)) return `refused ${outcome.refused}`;
  const { rpc, message, status, reply } = outcome;
  return `${rpc} ${JSON.stringify(message)} ${status} ${reply}`;
}

/** Whether two messages are equal except for some fields. */
function isSameBut(one: Outcome, other: Outcome, ...names: readonly string[]): boolean {
  if (!isReached(one) || !isReached(other) || one.rpc !== other.rpc) return false;
  const left = { ...one.message };
  const right = { ...other.message };
  for (const name of names) {
    delete left[name];
    delete right[name];
  }
  return isDeepStrictEqual(left, right);
}

/** Whether a peer has only accepted or refused additional parameters of the query. */
function isOwnOrRefused(mine: Outcome, theirs: Outcome, query: Seen["query"]): boolean {
  if (!isReached(theirs)) return isReached(mine) && theirs.refused >= 400;
  const names = query.map(([name]) => JSON_NAMES[name] ?? name.replace(/\..*/, ""));
  const isInOneof = names.some((name) => ONEOF.includes(name));
  return isSameBut(mine, theirs, ...names, ...(isInOneof ? ONEOF : []));
}

/** Members of one oneof: a set one removes the others. */
const ONEOF = ["cs", "ci", "cm"];

/** Whether a query sets several members of the oneof. */
function hasSeveralMembers(query: Seen["query"]): boolean {
  const members = query.map(([name]) => name.split(".")[0] ?? "");
  return new Set(members.filter((name) => ONEOF.includes(name))).size > 1;
}

const JSON_NAMES: Readonly<Record<string, string>> = {
  two_words: "twoWords",
  renamed: "otherName",
};

/** Whether a message lacks only the bytes of its body. */
function isWithoutBytes(mine: JsonObject, theirs: JsonObject): boolean {
  const without = ({ content: _, contentType: __, data: ___, ...rest }: JsonObject) => rest;
  return isDeepStrictEqual(without(mine), without(theirs));
}

function read({ request, mine, theirs, peer }: Difference): Seen {
  const [path = "", search = ""] = request.target.split("?");
  const query = search === "" ? [] : search.split("&").map(readPair);
  const { method, type, body = "" } = request;
  return { peer, method, path, body, type, query, mine: parse(mine), theirs: parse(theirs) };
}

function readPair(pair: string): readonly [string, string | undefined] {
  const [name = "", value = ""] = pair.split("=");
  try {
    return [decodeURIComponent(name), decodeURIComponent(value)];
  } catch {
    return [name, undefined];
  }
}

function parse(outcome: string): Outcome {
  const refused = /^refused (\d+)$/.exec(outcome)?.[1];
  if (refused !== undefined) return { refused: Number(refused) };
  const [, rpc = "", text = "", status, reply = ""] =
    /^(\S+) (.*?) -> (\d+) (.*)$/s.exec(outcome) ?? [];
  const message = text.startsWith("{") ? JSON.parse(text) : { binary: text };
  return { refused: undefined, rpc, message, status: Number(status), reply };
}

export const KIND_NAMES = Object.keys(KINDS);

/** The kind of a difference; undefined: a fault. */
export function kindOf(difference: Difference): string | undefined {
  const seen = read(difference);
  return Object.entries(KINDS).find(
    ([, { peers, fits }]) => peers.includes(difference.peer) && fits(seen),
  )?.[0];
}
