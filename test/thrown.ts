import { ServiceError } from "../src/messages/error.ts";

/** The error of a class that a call throws or rejects with; fails if there is none. */
export async function thrown<T extends Error>(
  type: abstract new (...parts: never[]) => T,
  call: () => unknown,
): Promise<T> {
  const outcome = await Promise.resolve()
    .then(call)
    .then(
      (value) => new Error(`succeeded with ${JSON.stringify(value)}`),
      (error: unknown) => error,
    );
  if (outcome instanceof type) return outcome;
  throw outcome;
}

/** The service error that a call throws or rejects with. */
export const failureOf = (call: () => unknown) => thrown(ServiceError, call);
