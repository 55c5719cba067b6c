import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { TOKEN } from "../service.ts";

/** Actions of a client and their expected result: the same over every transport. */
export interface WireCase {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** One call and its expected reply. */
export interface Step {
  readonly method: DescMethodUnary;
  readonly request: Message;
  readonly headers: Readonly<Record<string, string>>;
  readonly expected: Expected;
}

/** Members of the reply (others are ignored), or a failure. */
export type Expected =
  | { readonly reply: Readonly<Record<string, unknown>> }
  | { readonly failure: ExpectedFailure };

export interface ExpectedFailure {
  readonly code: Code;
  /** The message, which must match as a whole sentence. */
  readonly message: RegExp;
  /** The fields of the violations; undefined: not compared. */
  readonly fields?: readonly string[];
}

/** The headers of a client with the admin token. */
export const ADMIN = { authorization: TOKEN } as const;
/** The headers of a guest. */
export const NOBODY: Readonly<Record<string, string>> = {};

/** A case of several calls in sequence. */
export function wireCase(name: string, ...steps: readonly Step[]): WireCase {
  return { name, steps };
}

/** A call that succeeds, by default as the admin. */
export function replies<I extends DescMessage>(
  method: DescMethodUnary<I>,
  request: MessageInitShape<NoInfer<I>>,
  reply: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = ADMIN,
): Step {
  return { method, request: create(method.input, request), headers, expected: { reply } };
}

/** A call that fails, by default as the admin. */
export function fails<I extends DescMessage>(
  method: DescMethodUnary<I>,
  request: MessageInitShape<NoInfer<I>>,
  failure: ExpectedFailure,
  headers: Readonly<Record<string, string>> = ADMIN,
): Step {
  return { method, request: create(method.input, request), headers, expected: { failure } };
}

/** A call of the admin that is refused as invalid, with these fields if any are given. */
export function refused<I extends DescMessage>(
  method: DescMethodUnary<I>,
  request: MessageInitShape<NoInfer<I>>,
  message: RegExp,
  ...fields: readonly string[]
): Step {
  const failure = { code: Code.InvalidArgument, message };
  return fails(method, request, fields.length === 0 ? failure : { ...failure, fields });
}

/** A list with an item that has these members, among others. */
export function among(members: object): unknown {
  return expect.arrayContaining([expect.objectContaining(members)]);
}
