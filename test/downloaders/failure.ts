import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { ServiceError } from "../../src/messages/error.ts";
import { thrown } from "../thrown.ts";

/** The ServiceError that a promise rejects with; fails if it resolves. */
export const failureOf = (promise: Promise<unknown>) => thrown(ServiceError, () => promise);

/** All texts of an error that a logger could print: members, texts, stacks and causes. */
export function textsOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  const members = Object.getOwnPropertyNames(error) as (keyof typeof error)[];
  return members.map((name) => `${name}: ${textsOf(error[name])}`).join("\n");
}

/** Checks the code, the step in the message, and that no secret is in the error. */
export function expectFailure(
  error: ServiceError,
  code: Code,
  step: RegExp,
  secrets: readonly string[] = [],
): void {
  expect({ code: Code[error.code], message: error.message }).toEqual({
    code: Code[code],
    message: expect.stringMatching(step),
  });
  for (const secret of secrets) expect(textsOf(error)).not.toContain(secret);
}
