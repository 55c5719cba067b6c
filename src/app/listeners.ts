import { randomBytes } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Authentication } from "../access/authenticate.ts";
import { admissionOf } from "../access/grant.ts";
import { publicMethods } from "../access/requirement.ts";
import type { Config } from "../config/config.ts";
import type { Call } from "../gateway/call.ts";
import { restGateway } from "../gateway/gateway.ts";
import { createGrpcHandler } from "../gateway/grpc.ts";
import type { Method } from "../gateway/method.ts";
import type { CallObserver } from "../gateway/observer.ts";
import { ERROR_DOMAIN } from "../messages/error.ts";
import { chooseLanguage } from "../messages/language.ts";
import type { Localize } from "../messages/localize.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Buffered } from "../transport/body.ts";
import type { GrpcListener } from "../transport/http2.ts";
import { createPeerOf } from "../transport/peer.ts";
import { createRequestIds } from "../transport/request-id.ts";
import type { SlowReaders } from "../transport/slow-reader.ts";
import { OWN_PAGES } from "../upstream/handler.ts";
import { registerReflection } from "./connect-reflection.ts";
import { consolePlugin } from "./console.ts";
import { docsPlugin } from "./docs.ts";
import {
  answerHeaders,
  examples,
  readContractComments,
  replyHeaders,
  requestHeaders,
  securitySchemes,
} from "./documentation.ts";
import { createGrpcConnections } from "./grpc-connection.ts";
import { type HealthOptions, healthPlugin } from "./health.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import { createMemberRule, misspeltParameter } from "./misspelt-parameter.ts";
import { openApiPlugin } from "./openapi.ts";
import { createReflection, encodedReflection } from "./reflection.ts";
import { createBodyLimit, createMessageLimits } from "./request-limits.ts";
import { restContract, servedServices } from "./routes.ts";
import { forwardToUpstream, type UpstreamParts } from "./sites.ts";
import { START_TEXTS, type StartState } from "./start-page.ts";

export interface ServersDeps extends Omit<UpstreamParts, "requestId"> {
  readonly methods: readonly Method[];
  /** Admits a call by its headers. */
  readonly admit: Authentication["admit"];
  /** Checks a token alone. */
  readonly check: Authentication["check"];
  readonly observer: Required<CallObserver>;
  readonly slowReaders: SlowReaders;
  /** Byte budget of incomplete requests. */
  readonly buffered: Buffered;
  /** Requirements of readiness. */
  readonly checks: HealthOptions["checks"];
  readonly etagPrefix: () => string;
  readonly localize: Localize;
  readonly log: Logger;
  /** The program's version, such as `v0.1.0`. */
  readonly version: string;
}

/**
 * Creates the HTTP and gRPC servers of the methods. They do not listen yet.
 *
 * @throws Error naming the rpc, when a rule of the contract is wrong.
 */
export async function createServers(
  config: Config,
  deps: ServersDeps,
): Promise<{ readonly http: HttpServer; readonly grpc: GrpcListener }> {
  const { methods, admit, slowReaders, buffered, log } = deps;
  const requestId = createRequestIds(randomBytes(6).toString("base64url"));
  const common = {
    methods,
    bounds: { buffered, timeoutMs: config.bodyTimeoutMs, maxBytes: config.maxBody },
    bodyLimit: createBodyLimit(config),
    messageLimits: createMessageLimits(config),
    admit,
    peerOf: createPeerOf(config.trustedProxies),
    ...reportUnserved(deps),
  };
  const explanation = { errorDomain: ERROR_DOMAIN, explain: deps.localize };
  const report = (error: unknown, request: { readonly id: string }): void =>
    log.error({ err: error, requestId: request.id }, "request failed");
  const http = createHttpServer({
    forward: forwardToUpstream(config, { ...deps, requestId }),
    requestId,
    cors: { origins: config.corsOrigins },
    maxHeaderBytes: config.maxHeaders,
    requestTimeoutMs: config.bodyTimeoutMs,
    report,
  });
  const { fastify } = http;
  await fastify.register(healthPlugin, { checks: deps.checks });
  await fastify.register(restGateway, {
    ...restContract,
    // First segments: the 350 paths would take 7 % of a start, and no own route is below them.
    maxRoutes: 0,
    unknownParameters: misspeltParameter,
    unknownMembers: createMemberRule(servedServices),
    ...common,
    ...explanation,
    slowReaders,
    seesWhole: (call) => admissionOf(call)?.grant.isRoot ?? true,
    httpStatus: config.httpStatus,
    etagPrefix: deps.etagPrefix,
    cacheControl: (desc) => (publicMethods.has(desc) ? "public, no-cache" : "private, no-store"),
    report,
  });
  // Links carry no token: no link to a reference that requires one.
  const reference = config.reflection === "on" ? "../reference" : "";
  if (config.console === "on")
    await fastify.register(consolePlugin, {
      reference,
      login: loginOf(config),
      frameAncestors: config.consoleFrameAncestors,
      slowReaders,
    });
  await fastify.register(docsPlugin, {
    slowReaders,
    below: config.upstream === undefined ? "" : OWN_PAGES,
    hasReference: config.reflection !== "off",
  });
  const checkReflection = config.reflection === "token" ? deps.check : undefined;
  await fastify.register(openApiPlugin, {
    ...aboutContract(config, deps),
    check: checkReflection,
  });
  const reflect =
    config.reflection === "off"
      ? undefined
      : encodedReflection(createReflection(methods), (error) =>
          log.error({ err: error.cause }, "reflection failed"),
        );
  if (reflect) await registerReflection(fastify, reflect, checkReflection);
  const grpc = {
    ...createGrpcConnections({ reflect, slowReaders }),
    direct: createGrpcHandler({
      ...common,
      ...explanation,
      immutableReplies: restContract.immutableReplies,
      requestId,
      slowReaders,
    }),
    ...(checkReflection === undefined ? {} : { check: checkReflection }),
  };
  return { http, grpc };
}

/** Path of the upstream's login, relative to the console below `/@mooring/`. */
function loginOf({ upstream }: Config): string {
  if (upstream === undefined) return "";
  return `../..${new URL(upstream).pathname.replace(/\/+$/, "")}/api/auth/login`;
}

/** Reports calls that never reach a method: refused and aborted ones. */
function reportUnserved({ observer, log }: ServersDeps) {
  return {
    refused: (error: ConnectError, call: Call) => {
      observer.started(call.method, call);
      observer.ended({ desc: call.method, call, duration: 0, error });
    },
    dropped: (error: ConnectError, { method, transport, requestId, peer }: Call) =>
      log.debug(
        {
          method: `${method.parent.typeName}/${method.name}`,
          transport,
          requestId,
          peer,
          reason: error.rawMessage,
        },
        "call dropped",
      ),
  };
}

/** State of the service and the next step, for a visitor without a token. */
function startState(
  checks: Awaited<ReturnType<ServersDeps["checks"]>>,
  hasConsole: boolean,
): StartState {
  const problem = checks
    .map(({ problem, degraded }) => problem ?? degraded)
    .find((each) => each !== undefined);
  return {
    isReady: problem === undefined,
    text: problem === undefined ? START_TEXTS.ready : START_TEXTS.notReady,
    ...(problem !== undefined && { problem }),
    next: hasConsole ? START_TEXTS.signIn : START_TEXTS.read,
  };
}

/** The start page, and the contract as OpenAPI. */
function aboutContract(config: Config, { methods, version, checks, translations }: ServersDeps) {
  return {
    name: `Mooring ${version}`,
    description: START_TEXTS.about,
    translationFor: (accepted: string | undefined) => {
      const language = chooseLanguage("", accepted);
      return { language, translate: translations(language) };
    },
    state: async () => startState(await checks(), config.console === "on"),
    links: [
      ...(config.console === "on" ? [{ href: "console/", text: START_TEXTS.console }] : []),
      { href: "docs/", text: START_TEXTS.documentation },
    ],
    contract: config.reflection !== "off",
    document: () => ({
      title: "Mooring",
      version: version.replace(/^v/, ""),
      description:
        "The REST interface. Replies have an envelope whose `code` is the outcome of the call. " +
        "The same contract is served over gRPC, gRPC-Web and Connect.",
      methods,
      comments: readContractComments(),
      examples,
      isPublic: (desc: DescMethod) => publicMethods.has(desc),
      securitySchemes,
      httpStatus: config.httpStatus,
      headers: {
        request: requestHeaders,
        reply: replyHeaders,
        answer: answerHeaders,
      },
    }),
  };
}
