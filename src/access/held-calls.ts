import { Code } from "@connectrpc/connect";
import type { Call } from "../gateway/call.ts";
import { LocalizableError } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { type Admission, admissionOf, type Caller, type RightReview } from "./grant.ts";

/** Finds the current caller of a token; undefined: the token is invalid. */
export type FindCaller = (token: string, call?: Call) => Promise<Caller | undefined>;

/** A call and the right by which it was admitted. */
export interface AdmittedCall {
  readonly call: Call;
  readonly admission: Admission;
}

const NO_LONGER_VALID = message("TOKEN_RESET");
const EXPIRED = message("TOKEN_ENDED");

/**
 * Open streams, and calls that take long. They end when their token expires, becomes invalid or has
 * other rights.
 */
export class HeldCalls implements RightReview {
  readonly #findCaller: FindCaller;
  readonly #calls = new Set<AdmittedCall>();

  constructor(findCaller: FindCaller) {
    this.#findCaller = findCaller;
  }

  hold(call: Call): () => void {
    const admission = admissionOf(call);
    if (admission === undefined) return () => undefined;
    const held = { call, admission };
    this.#calls.add(held);
    return () => this.#calls.delete(held);
  }

  async renew(call: Call): Promise<void> {
    const admission = admissionOf(call);
    if (admission === undefined) return;
    const caller = await this.#findCaller(admission.token, call);
    if (caller === undefined || caller.grant !== admission.grant)
      throw unauthenticated(NO_LONGER_VALID);
    admission.until = caller.until;
  }

  /** The messages of a stream, which ends with the token of its call. */
  async *stream<T>(call: Call, messages: AsyncIterable<T>): AsyncIterable<T> {
    const release = this.hold(call);
    try {
      // The token may have ended before the stream was held.
      await this.renew(call);
      yield* messages;
    } finally {
      release();
    }
  }

  /**
   * Checks the tokens of all calls again, and ends calls whose token is invalid or has other rights.
   * A token that cannot be checked counts as invalid.
   */
  async recheck(): Promise<void> {
    const byToken = Map.groupBy(this.#calls, ({ admission }) => admission.token);
    for (const [token, calls] of byToken) {
      const caller = await this.#findCaller(token, calls[0]?.call).catch(() => undefined);
      for (const { call, admission } of calls) {
        if (caller === undefined || caller.grant !== admission.grant)
          call.abort(unauthenticated(NO_LONGER_VALID));
        // A rotation may have set an earlier end.
        else admission.until = caller.until;
      }
    }
  }

  /** Ends the calls of expired tokens. @param now milliseconds since 1970 UTC. */
  expire(now: number): void {
    for (const { call, admission } of this.#calls) {
      const { until } = admission;
      if (until !== undefined && until <= now) call.abort(unauthenticated(EXPIRED));
    }
  }
}

export function unauthenticated(text: Message): LocalizableError {
  return new LocalizableError(Code.Unauthenticated, text);
}
