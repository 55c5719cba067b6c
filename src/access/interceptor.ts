import type { Interceptor } from "@connectrpc/connect";
import { type Call, callKey } from "../gateway/call.ts";
import { message } from "../messages/message.ts";
import { admissionOf } from "./grant.ts";
import { type HeldCalls, unauthenticated } from "./held-calls.ts";
import { checkRequirement, publicMethods } from "./requirement.ts";

/**
 * Milliseconds since the admission after which the token is checked again before the call runs: a
 * slow body must not extend an ended right.
 */
const LATE = 1;

/**
 * Refuses calls without admission, and calls whose token ended while the body arrived; ends a stream
 * when its token ends.
 */
export function accessInterceptor(held: HeldCalls): Interceptor {
  return (next) => {
    /** Runs a call; the messages of its stream end with its token. */
    const run: typeof next = (request) => {
      const { call } = request as { readonly call?: Call };
      const reply = next(request);
      if (!request.stream || call === undefined || admissionOf(call) === undefined) return reply;
      return reply.then((response) =>
        response.stream ? { ...response, message: held.stream(call, response.message) } : response,
      );
    };
    return (request) => {
      const { call } = request as { readonly call?: Call };
      const admission = admissionOf(call ?? request.contextValues.get(callKey));
      if (!publicMethods.has(request.method)) {
        if (admission === undefined) throw unauthenticated(message("TOKEN_MISSING"));
        checkRequirement(request.method, admission.grant);
      }
      const isLate = admission !== undefined && performance.now() - admission.at > LATE;
      return call !== undefined && isLate
        ? held.renew(call).then(() => run(request))
        : run(request);
    };
  };
}
