import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { readToken } from "../access/token-text.ts";
import { type AuditOrigin, doneEntry } from "../audit/entry.ts";
import type { Config } from "../config/config.ts";
import type { Method } from "../gateway/method.ts";
import { listRoutes } from "../gateway/rest/rest.ts";
import { chooseLanguage, type Language, type Translate } from "../messages/language.ts";
import type { Origin } from "../proxy/header.ts";
import { createPipe } from "../proxy/pipe.ts";
import { createSealer } from "../secrets/sealer.ts";
import type { KindOfSites } from "../sites/record-effect.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import type { SiteService } from "../sites/site-service.ts";
import {
  createSites,
  openSiteRegistry,
  type Sites,
  type SiteTimes,
  serveSites,
} from "../sites/sites.ts";
import type { SiteEvent, SiteStore } from "../sites/store.ts";
import { forwardingReason } from "../sync/failure.ts";
import type { Logger } from "../telemetry/log.ts";
import { createOriginOf } from "../transport/peer.ts";
import type { RequestIds } from "../transport/request-id.ts";
import { sendWhole } from "../transport/whole-reply.ts";
import { createUpstreamHandler, refuse } from "../upstream/handler.ts";
import { createUnavailablePage } from "../upstream/unavailable-page.ts";
import { startUpstream, type Upstream, type UpstreamDeps } from "../upstream/upstream.ts";
import type { SettingServices } from "./settings.ts";

/** Dependencies of the work on sites. */
export interface SiteParts {
  readonly services: SettingServices;
  readonly store: { readonly sites: SiteStore };
  readonly registry: SiteRegistry;
  readonly log: Logger;
  /** Other intervals for the background work; undefined: those of the program. */
  readonly times?: SiteTimes | undefined;
}

/** Origin of changes by the start of the program. */
const START: AuditOrigin = {
  actor: "sites",
  transport: "start",
  method: "UpdateSite",
  requestId: "",
  peer: "",
};

/** Reads the sites. Secrets that cannot be opened are logged. */
export async function openRegistry(
  { secretKeys }: Config,
  { store, log, times }: Pick<SiteParts, "store" | "log" | "times">,
): Promise<SiteRegistry> {
  return openSiteRegistry({
    store: store.sites,
    sealer: createSealer(secretKeys),
    onClosed: (name, error) =>
      log.error({ site: name, reason: error.message }, "the site's secrets cannot be decrypted"),
    batch: times?.batch,
  });
}

/** Creates the work on sites. The upstream waits for first contact. */
export async function openSites(
  { maxValue, upstream }: Config,
  { services, store, registry, log, times }: SiteParts,
): Promise<Sites> {
  // A site that was the upstream until the configuration changed.
  for (const site of registry.sites())
    if (site.upstream && upstream === undefined)
      await registry.change(
        site.id,
        (now) => ({ ...now, upstream: false }),
        () => [doneEntry(START, Date.now(), [site.name], { changed: ["upstream"] })],
      );
  return createSites({
    registry,
    store: store.sites,
    ledger: services.ledger,
    feed: services.feed,
    hash: services.fingerprint,
    maxValueBytes: maxValue,
    holdsUpstream: upstream !== undefined,
    now: Date.now,
    random: Math.random,
    onEvent: logSiteEvent(log),
    onError: (error) => log.error({ err: error }, "failed to follow the sites"),
    times,
  });
}

/** Creates the service of the sites. */
export function openSiteService(
  { maxValue }: Config,
  parts: Pick<SiteParts, "services" | "log"> & {
    readonly sites: Sites;
    /** Kinds of records beside settings. */
    readonly kinds: readonly KindOfSites[];
    /** File that declares a site; undefined: clients change it. */
    readonly declaredBy: (name: string) => string | undefined;
    readonly stopping: AbortSignal;
  },
): SiteService {
  const { services, sites, kinds, declaredBy, log, stopping } = parts;
  const service = serveSites({
    registry: sites.registry,
    settings: sites.settings,
    ledger: services.ledger,
    definitionOf: services.definitionOf,
    managedBy: services.settings.managedBy,
    declaredBy,
    maxValueBytes: maxValue,
    now: Date.now,
    stopping,
    onEvent: logSiteEvent(log),
    kinds,
  });
  for (const kind of kinds) kind.onStatus(service.changed);
  return service;
}

/** Sentence such as `site home: push of site_title, logo: ok`. */
function siteSentence(
  { name }: Pick<Site, "name">,
  { action, keys, result }: Pick<SiteEvent, "action" | "keys" | "result">,
): string {
  const shown = keys.slice(0, MAX_KEYS).join(", ");
  const more = keys.length > MAX_KEYS ? `, … (+${keys.length - MAX_KEYS})` : "";
  const of = keys.length === 0 ? "" : ` of ${shown}${more}`;
  return `site ${name}: ${action}${of}${String(result) === "" ? "" : `: ${String(result)}`}`;
}

/** Maximum number of keys in a sentence; the member `keys` has all. */
const MAX_KEYS = 5;

function logSiteEvent(log: Logger): (site: Site, event: SiteEvent) => void {
  return (site, { action, actor, revision, keys, result }) => {
    const level = action === "flapping" ? "error" : TROUBLE.has(action) ? "warn" : "info";
    const facts = { kind: "site", site: site.name, action, actor, revision, keys, result };
    log[level](facts, siteSentence(site, { action, keys, result }));
  };
}

/** Results that need attention. */
const TROUBLE: ReadonlySet<string> = new Set(["fail", "refused"]);

/** Opens the upstream, if one is configured. */
export function openUpstream(
  { upstream: url, upstreamToken: token, maxValue }: Config,
  {
    services,
    sites,
    service,
    forwardMounts,
    forwardRules,
    audit,
    log,
    times,
  }: Pick<SiteParts, "services" | "log" | "times"> & {
    readonly sites: Sites;
    readonly service: SiteService;
    readonly forwardMounts: UpstreamDeps["forwardMounts"];
    readonly forwardRules: UpstreamDeps["forwardRules"];
    readonly audit: UpstreamDeps["audit"];
  },
): Upstream | undefined {
  if (url === undefined) return undefined;
  return startUpstream({
    sites,
    service,
    url,
    token,
    maxValueBytes: maxValue,
    ledger: services.ledger,
    now: Date.now,
    managedBy: services.settings.managedBy,
    ...(times === undefined ? {} : { times }),
    forwardMounts,
    forwardRules,
    audit,
    onEvent: (site, { action, keys, result }) =>
      log.info(
        { kind: "site", site: site.name, action, keys, result },
        siteSentence(site, { action, keys, result }),
      ),
    onAdopted: sites.settings.releaseUpstream,
    onNotice: (message) => log.info({ upstream: url }, message),
    onError: (error) => log.error({ err: error }, "failed to follow the upstream"),
  });
}

/** Dependencies of forwarding requests to the upstream. */
export interface UpstreamParts {
  readonly methods: readonly Method[];
  /** Undefined without an upstream. */
  readonly upstream: Upstream | undefined;
  /**
   * Reports whether a header `authorization` holds Mooring's own token, which must not be passed
   * on.
   */
  readonly isOwnToken: (authorization: string) => boolean;
  readonly translations: (language: Language) => Translate;
  readonly requestId: RequestIds;
  readonly log: Logger;
}

/**
 * Handler of requests to the upstream, if one is configured: everything but the contract's own
 * paths.
 */
export function forwardToUpstream(
  { upstream: address, trustedProxies, maxConnections, maxConnectionsPerPeer }: Config,
  parts: UpstreamParts,
): ReturnType<typeof createUpstreamHandler> | undefined {
  if (address === undefined || parts.upstream === undefined) return undefined;
  const { methods, upstream, log, translations } = parts;
  const url = new URL(address);
  const base = url.pathname.replace(/\/+$/, "");
  const originOf = readOrigin(trustedProxies);
  const pageFor = createUnavailablePage((accepted) => {
    const language = chooseLanguage("", accepted);
    return { language, translate: translations(language) };
  });
  const pipe = createPipe({
    url,
    via: `mooring-${randomBytes(6).toString("base64url")}`,
    originOf,
    bounds: { all: maxConnections, eachPeer: maxConnectionsPerPeer },
    authorizationOf: ({ url: target = "", headers: { authorization } }) => {
      if (authorization === undefined || parts.isOwnToken(authorization)) return undefined;
      // The API accepts a login only without a scheme. Elsewhere, such as in WebDAV, `Bearer` has
      // another meaning.
      const isApi = target.startsWith(`${base}/api/`);
      return isApi ? readToken(authorization) : authorization;
    },
    reasonOf: (error) => String(forwardingReason(error)),
    refuse: (request, response, status, message) => {
      const page = status === 502 ? pageFor(request) : undefined;
      if (page === undefined) refuse(request, response, status, message);
      else sendWhole(request, response, status, page);
    },
    onFailure: (reason) => {
      log.debug({ reason }, "the upstream does not answer");
      void upstream.probe();
    },
  });
  return createUpstreamHandler({
    pipe,
    base,
    requestId: parts.requestId,
    peerOf: (request) => originOf(request).peer,
    restPaths: new Set(listRoutes({ methods }).map(({ path }) => path)),
    servicePaths: new Set([
      ...methods.map(({ desc }) => `/${desc.parent.typeName}/${desc.name}`),
      ...ServerReflection.methods.map(({ name }) => `/${ServerReflection.typeName}/${name}`),
    ]),
    events: upstream,
  });
}

/** Origin of a request, from a trusted proxy or else the connection. */
function readOrigin(trusted: readonly string[]): (request: IncomingMessage) => Origin {
  const originOf = createOriginOf(trusted);
  return ({ socket, headers }) => ({
    scheme: "encrypted" in socket ? "https" : "http",
    ...originOf(socket.remoteAddress, (name) => headers[name]?.toString()),
  });
}
