import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { oncePerTick } from "../database/replica.ts";
import { toConnectError } from "../gateway/application-error.ts";
import type { Call } from "../gateway/call.ts";
import { LocalizableError } from "../messages/error.ts";
import type { Localize } from "../messages/localize.ts";
import { message } from "../messages/message.ts";
import { Admission, type Caller } from "./grant.ts";
import { HeldCalls, unauthenticated } from "./held-calls.ts";
import { accessInterceptor } from "./interceptor.ts";
import { checkRequirement, publicMethods } from "./requirement.ts";
import type { Throttle } from "./throttle.ts";
import { readToken, TOKEN_PREFIX } from "./token-text.ts";

/** Finds the caller of a token. */
export interface CallerSource {
  /**
   * Applies the changes of all processes. Calls in the same event-loop tick share one check.
   *
   * @throws ServiceError when the current state is unknown.
   */
  fresh(): Promise<unknown>;
  /**
   * Caller of a token, as of the last `fresh`.
   *
   * @returns undefined for an invalid token.
   */
  callerOf(
    token: string,
    call?: Pick<Call, "header" | "peer">,
  ): Caller | undefined | Promise<Caller | undefined>;
}

/** Authorization of calls. */
export interface Authentication {
  /**
   * Admits a call by its headers, before its body is read. Calls of one event-loop tick are admitted
   * together. The token is sent raw or as `Bearer …` (docs/rest-contract.md, section 5; RFC 6750,
   * section 2.1).
   *
   * @throws UNAUTHENTICATED without a valid token, PERMISSION_DENIED without the scope of the method,
   *   RESOURCE_EXHAUSTED with `retry-after` after too many wrong tokens.
   */
  admit(call: Call): void | Promise<void>;
  /**
   * Checks the header `authorization` of a request outside of the contract.
   *
   * @throws as admit.
   */
  check(authorization: string | undefined): Promise<void>;
  readonly interceptor: Interceptor;
  /** Checks the tokens of all open streams and long calls again, and ends those of invalid tokens. */
  recheck(): Promise<void>;
  /** Ends open streams and long calls of expired tokens. @param now milliseconds since 1970 UTC. */
  expire(now: number): void;
}

const MISSING = message("TOKEN_MISSING");
const WRONG = message("TOKEN_WRONG");
/** The same message whether or not a principal's token exists. */
const WRONG_OF_PRINCIPAL = message("SCOPED_TOKEN_WRONG");

/**
 * @param source finds the callers of tokens.
 * @param throttle counts wrong tokens.
 * @param localize adds an error's message in the language of the call.
 */
export function createAuthentication(
  source: CallerSource,
  throttle: Throttle,
  localize: Localize,
): Authentication {
  const findCaller = (token: string, call?: Call): Promise<Caller | undefined> =>
    source.fresh().then(
      () => source.callerOf(token, call),
      (error: unknown) => {
        throw toConnectError(error);
      },
    );
  const held = new HeldCalls(findCaller);
  /** Admits calls of public methods at the end of the tick, as `fresh` does for the others. */
  const endOfTick = oncePerTick(() => undefined);
  /** Counts a wrong token. */
  const wrong = (peer: string, error: ConnectError): ConnectError => {
    const seconds = throttle.wrong(peer);
    return seconds === 0 ? error : tooMany(seconds);
  };
  const admitCaller = (call: Call, token: string, caller: Caller | undefined): void => {
    if (caller === undefined) throw wrong(call.peer, wrongToken(token));
    call.actor = caller.name;
    // All tokens of a principal share one part of the byte budget.
    call.holder = principalOf(caller);
    call.principal = new Admission(caller, token, performance.now(), held);
    checkRequirement(call.method, caller.grant);
  };
  return {
    admit: (call) => {
      const fail = (error: unknown): never => {
        throw localize(toConnectError(error), call);
      };
      if (publicMethods.has(call.method)) return endOfTick();
      const token = readToken(call.header("authorization"));
      if (token === "") return fail(unauthenticated(MISSING));
      // One `then` in the usual case: each promise is garbage of every call.
      return source.fresh().then(() => {
        try {
          const found = source.callerOf(token, call);
          if (!(found instanceof Promise)) return admitCaller(call, token, found);
          return found
            .catch((error: unknown) => {
              throw isRefusal(error) ? wrong(call.peer, error) : error;
            })
            .then((caller) => admitCaller(call, token, caller))
            .catch(fail);
        } catch (error) {
          return fail(error);
        }
      }, fail);
    },
    check: async (authorization) => {
      const token = readToken(authorization);
      if (token === "") throw unauthenticated(MISSING);
      if ((await findCaller(token)) === undefined) throw wrong("", wrongToken(token));
    },
    interceptor: accessInterceptor(held),
    recheck: () => held.recheck(),
    expire: (now) => held.expire(now),
  };
}

function principalOf({ name, tokenId }: Caller): string {
  return tokenId === "" ? name : name.slice(0, -tokenId.length - 1);
}

function wrongToken(token: string): LocalizableError {
  return unauthenticated(token.startsWith(TOKEN_PREFIX) ? WRONG_OF_PRINCIPAL : WRONG);
}

function isRefusal(error: unknown): error is ConnectError {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}

function tooMany(seconds: number): ConnectError {
  const error = new LocalizableError(
    Code.ResourceExhausted,
    message("TOO_MANY_WRONG_TOKENS", { seconds }),
  );
  error.metadata.set("retry-after", String(seconds));
  return error;
}
