import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { Call } from "./call.ts";

/** A read that has to show this revision or a later one says so in this header (or metadata). */
const HEADER = "mooring-at-least-revision";

/**
 * Lets a call that asks for a revision wait until this instance shows it: what another instance has
 * saved a moment ago.
 *
 * @param reaches resolves when the revision is shown, and rejects when that takes too long.
 */
export function atLeastInterceptor(reaches: (revision: number) => Promise<void>): Interceptor {
  return (next) => (request) => {
    const { call } = request as { readonly call?: Call };
    const asked = call === undefined ? request.header.get(HEADER) : call.header(HEADER);
    if (asked === undefined || asked === null || asked === "") return next(request);
    return reaches(readRevision(asked)).then(() => next(request));
  };
}

function readRevision(text: string): number {
  const revision = /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(revision)) return revision;
  throw new ConnectError(
    `${HEADER} is a revision as replies name it, such as 42, not "${text.slice(0, 50)}"`,
    Code.InvalidArgument,
  );
}
