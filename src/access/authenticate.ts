import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { Health } from "../../gen/health/v1/health_pb.js";
import { access } from "../../gen/mooring/access/v1/access_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import type { Recorder } from "../audit/recorder.ts";
import { oncePerTick } from "../database/replica.ts";
import { toConnectError } from "../gateway/application-error.ts";
import { type Call, type CallInfo, callKey } from "../gateway/call.ts";
import type { CallObserver } from "../gateway/observer.ts";
import { memoize } from "../memoize.ts";
import { denied, LocalizableError } from "../messages/error.ts";
import type { Localize } from "../messages/localize.ts";
import { type Message, message } from "../messages/message.ts";
import {
  Admission,
  admissionOf,
  type Caller,
  type Grant,
  type RightReview,
  SCOPES,
} from "./grant.ts";
import type { Throttle } from "./throttle.ts";
import { TOKEN_PREFIX } from "./token-text.ts";

/** Methods that need no token. All others require one. */
export const publicMethods: ReadonlySet<DescMethod> = new Set<DescMethod>([
  PublicService.method.ping,
  PublicService.method.getPublicSettings,
  PublicService.method.watchPublicSettings,
  ...Health.methods,
]);

/** Finds the caller of a token. */
export interface Identity {
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
  whose(
    token: string,
    call?: Pick<Call, "header" | "peer">,
  ): Caller | undefined | Promise<Caller | undefined>;
}

/** Authorization of calls. */
export interface Access {
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
  /**
   * Refuses calls without admission, and calls whose token ended while the body arrived; ends a
   * stream when its token ends.
   */
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

const ENDED = message("TOKEN_RESET");
/**
 * Milliseconds since the admission after which the token is checked again before the call runs: a
 * slow body must not extend an ended right.
 */
const LATE = 1;

/**
 * @param identity finds the callers of tokens.
 * @param throttle counts wrong tokens.
 * @param localize adds an error's message in the language of the call.
 */
export function createAccess(identity: Identity, throttle: Throttle, localize: Localize): Access {
  /** Open streams, and calls that take long. */
  const held = new Set<Admitted>();
  /** Admits calls of public methods at the end of the tick, as `fresh` does for the others. */
  const turn = oncePerTick(() => undefined);
  const wrong = (peer: string, error: ConnectError): ConnectError => {
    const seconds = throttle.wrong(peer);
    return seconds === 0 ? error : tooMany(seconds);
  };
  const admitCaller = (call: Call, token: string, caller: Caller | undefined): void => {
    if (caller === undefined) throw wrong(call.peer, refused(wrongOf(token)));
    call.actor = caller.name;
    // All tokens of a principal share one part of the byte budget.
    call.holder = principalOf(caller);
    call.principal = new Admission(caller, token, performance.now(), review);
    checkRequirement(call.method, caller.grant);
  };
  const whose = (token: string, call?: Call): Promise<Caller | undefined> =>
    identity.fresh().then(
      () => identity.whose(token, call),
      (error: unknown) => {
        throw toConnectError(error);
      },
    );
  const review: RightReview = {
    hold: (call) => {
      const admission = admissionOf(call);
      if (admission === undefined) return () => undefined;
      const admitted = { call, admission };
      held.add(admitted);
      return () => held.delete(admitted);
    },
    renew: async (call) => {
      const admission = admissionOf(call);
      if (admission !== undefined) renew(admission, await whose(admission.token, call));
    },
  };
  return {
    admit: (call) => {
      const fail = (error: unknown): never => {
        throw localize(toConnectError(error), call);
      };
      if (publicMethods.has(call.method)) return turn();
      const token = readToken(call.header("authorization"));
      if (token === "") return fail(refused(MISSING));
      // One `then` in the usual case: each promise is garbage of every call.
      return identity.fresh().then(() => {
        try {
          const found = identity.whose(token, call);
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
      if (token === "") throw refused(MISSING);
      if ((await whose(token)) === undefined) throw wrong("", refused(wrongOf(token)));
    },
    interceptor: (next) => {
      const pass: typeof next = (request) => {
        const { call } = request as { readonly call?: Call };
        const passed = next(request);
        const admission = admissionOf(call);
        if (!request.stream || call === undefined || admission === undefined) return passed;
        return passed.then((response) =>
          response.stream
            ? { ...response, message: whileHeld(response.message, { call, admission }) }
            : response,
        );
      };
      return (request) => {
        const { call } = request as { readonly call?: Call };
        const admission = admissionOf(call ?? request.contextValues.get(callKey));
        if (!publicMethods.has(request.method)) {
          if (admission === undefined) throw refused(MISSING);
          checkRequirement(request.method, admission.grant);
        }
        if (call === undefined || admission === undefined) return pass(request);
        const isLate = performance.now() - admission.at > LATE;
        if (!isLate) return pass(request);
        return whose(admission.token, call).then((caller) => {
          renew(admission, caller);
          return pass(request);
        });
      };
    },
    expire: (now) => {
      for (const { call, admission } of held)
        if (admission.until !== undefined && admission.until <= now)
          call.abort(refused(message("TOKEN_ENDED")));
    },
    recheck: async () => {
      const byToken = Map.groupBy(held, ({ admission }) => admission.token);
      for (const [token, calls] of byToken) {
        const now = await whose(token, calls[0]?.call).catch(() => undefined);
        for (const { call, admission } of calls)
          if (now === undefined || now.grant !== admission.grant) call.abort(refused(ENDED));
          // A rotation may have set an earlier end.
          else admission.until = now.until;
      }
    },
  };

  async function* whileHeld<T>(messages: AsyncIterable<T>, admitted: Admitted): AsyncIterable<T> {
    held.add(admitted);
    try {
      // The token may have ended before the stream was in the set.
      renew(admitted.admission, await whose(admitted.admission.token, admitted.call));
      yield* messages;
    } finally {
      held.delete(admitted);
    }
  }
}

function principalOf({ name, tokenId }: Caller): string {
  return tokenId === "" ? name : name.slice(0, -tokenId.length - 1);
}

/** A call and the right by which it was admitted. */
interface Admitted {
  readonly call: Call;
  readonly admission: Admission;
}

/**
 * @param caller current caller of the admission's token.
 * @throws UNAUTHENTICATED when the token has ended or its rights have changed.
 */
function renew(admission: Admission, caller: Caller | undefined): void {
  if (caller === undefined || caller.grant !== admission.grant) throw refused(ENDED);
  admission.until = caller.until;
}

function refused(text: Message): LocalizableError {
  return new LocalizableError(Code.Unauthenticated, text);
}

function wrongOf(token: string): Message {
  return token.startsWith(TOKEN_PREFIX) ? WRONG_OF_PRINCIPAL : WRONG;
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

export function readToken(header: string | undefined): string {
  const value = (header ?? "").trim();
  return /^bearer( |$)/i.test(value) ? value.slice("bearer".length).trim() : value;
}

/** Audits refused calls: those without a valid token, and those without the scope. */
export function auditRefusals(audit: Pick<Recorder, "note">): CallObserver {
  return {
    ended: ({ desc, call, error }) => {
      const reason = error && refusalOf(error.code, call, desc);
      if (reason === undefined || error === undefined) return;
      const { actor = "", transport, requestId, peer } = call;
      audit.note({
        origin: { actor, transport, method: desc.name, requestId, peer },
        outcome: codeToString(error.code).toUpperCase(),
        reason,
      });
    },
  };
}

/** Reason of a refusal, one of a few fixed texts; undefined: the call failed for another reason. */
function refusalOf(code: Code, call: CallInfo, desc: DescMethod): string | undefined {
  if (code === Code.PermissionDenied) return "the token does not have the right";
  // An admitted call may still fail because a right has ended or for another reason.
  if (admissionOf(call) !== undefined || publicMethods.has(desc)) return undefined;
  if (code === Code.ResourceExhausted) return "too many wrong tokens";
  if (code !== Code.Unauthenticated) return undefined;
  return call.header?.("authorization") === undefined ? "no token" : "a wrong token";
}

/** Access requirement of a method, from the contract. */
interface Requirement {
  readonly isPublic: boolean;
  readonly scopes: readonly string[];
  /** Whether the method respects the limits of a token. */
  readonly limited: boolean;
}

/** Scope of methods for the permanent admin token alone. */
const ROOT_ONLY = "root";

/**
 * Reads the option `mooring.access.v1.access` of a method.
 *
 * @throws Error for a method without a valid option: it must not be served.
 */
export const requirementOf = memoize((method: DescMethod): Requirement => {
  // The standard health service has no such option; probes have no token.
  if (method.parent === Health) return { isPublic: true, scopes: [], limited: true };
  if (!hasOption(method, access))
    throw new Error(
      `${method.toString()} has no access option: add (mooring.access.v1.access), such as { scopes: "settings:read" }`,
    );
  const { public: isPublic, anyToken, scopes, limited } = getOption(method, access);
  const known = [...SCOPES, ROOT_ONLY] as readonly string[];
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown !== undefined)
    throw new Error(`${method.toString()} requires the unknown scope ${unknown}`);
  if ([isPublic, anyToken, scopes.length > 0].filter(Boolean).length !== 1)
    throw new Error(`${method.toString()} must have exactly one of public, any_token and scopes`);
  return { isPublic, scopes, limited: limited || anyToken };
});

/** @throws PERMISSION_DENIED naming the scope that is missing. */
export function checkRequirement(method: DescMethod, grant: Grant): void {
  if (grant.isRoot) return;
  const { scopes, limited } = requirementOf(method);
  for (const scope of scopes)
    if (!grant.has(scope))
      throw denied(
        scope === ROOT_ONLY
          ? message("PERMANENT_TOKEN_REQUIRED")
          : message("SCOPE_MISSING", { scope }),
      );
  if (grant.limits.length > 0 && !limited) throw denied(message("LIMITED_TOKEN"));
}
