import { type AuditOrigin, doneEntry } from "../audit/entry.ts";
import { subjectParts } from "../audit/subject-part.ts";
import { mapWriteError } from "../database/error.ts";
import { invalid, notFound, rejectViolations, type Violation } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { onSite } from "../sites/on-site.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import { type SiteNote, type SiteStore, USER_ACTION } from "../sites/store.ts";
import type { SiteClient } from "../sync/client.ts";
import { createQueue } from "../sync/queue.ts";
import { createUserClient, type ServerUsers, type UserClient } from "./client.ts";
import { compareUsers, type UserComparison } from "./compare.ts";
import {
  carryOut,
  checkFolders,
  type NewPassword,
  plannedResults,
  type UserResult,
} from "./copy.ts";
import { type CopyChoice, planCopy, type UserPlan, unknownNames } from "./plan.ts";
import type { UserFamily, UserList } from "./user.ts";

/** Passwords of the users that a copy creates. */
export interface NewPasswords {
  /** Of each user that is not in `byName`; empty: none. */
  readonly all: string;
  readonly byName: Readonly<Record<string, string>>;
  /** Generates a password for each user without one. */
  readonly random: boolean;
}

export interface CopyOptions extends CopyChoice {
  readonly passwords: NewPasswords;
  readonly dryRun: boolean;
}

/** Call about users: its caller, and the signal that ends it. */
export interface UserCall {
  readonly origin: AuditOrigin;
  readonly signal: AbortSignal;
}

/**
 * Users of servers: read, compared, and copied on request. UNAVAILABLE: a server does not answer.
 * FAILED_PRECONDITION: it refuses. NOT_FOUND: there is no such site or user.
 */
export interface UserService {
  /** @param signal ends the call, also below. */
  list(site: string, signal?: AbortSignal): Promise<UserList>;
  compare(
    from: string,
    to: string,
    signal?: AbortSignal,
  ): Promise<{
    readonly families: readonly [UserFamily, UserFamily];
    readonly comparisons: readonly UserComparison[];
  }>;
  /** Copies users from one server to another. */
  copy(
    from: string,
    to: string,
    options: CopyOptions,
    call: UserCall,
  ): Promise<readonly UserResult[]>;
  /** Creates users of a backup on a server. @param from name of the backup in the audit. */
  restore(
    from: { readonly name: string; readonly users: UserList },
    to: string,
    options: CopyOptions,
    call: UserCall,
  ): Promise<readonly UserResult[]>;
}

export interface UserServiceDeps {
  readonly registry: Pick<SiteRegistry, "load" | "byName">;
  readonly clientOf: (site: Site) => SiteClient;
  readonly store: Pick<SiteStore, "note">;
  /** The newest revision. */
  readonly revision: () => number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called after users of a site were created: its folder rules may have waited for them. */
  readonly onCreated?: (siteId: string) => void;
  /** Generates a password. */
  readonly randomPassword: () => string;
}

/** Maximum number of users that a call writes: each takes up to three calls of the server. */
const MAX_WRITTEN = 1_000;
/** Copies to this number of servers run at the same time. */
const CONCURRENCY = 4;

export function createUserService(deps: UserServiceDeps): UserService {
  const queue = createQueue(CONCURRENCY);
  const siteOf = async (name: string): Promise<Site> => {
    await mapWriteError(deps.registry.load());
    return deps.registry.byName(name);
  };
  const clientOf = (site: Site): UserClient => createUserClient(deps.clientOf(site));
  const read = async (name: string, signal?: AbortSignal): Promise<ServerUsers> => {
    const site = await siteOf(name);
    return onSite(clientOf(site).list(), signal);
  };
  /** Both servers, read at the same time. */
  const readBoth = async (from: string, to: string, signal?: AbortSignal) => {
    if (from === to) throw invalid([{ field: "to", description: message("USERS_OF_ONE_SITE") }]);
    return Promise.all([read(from, signal), read(to, signal)]);
  };
  const write = async (
    { name: from, users }: { readonly name: string; readonly users: UserList },
    to: string,
    options: CopyOptions,
    { origin, signal }: UserCall,
  ): Promise<readonly UserResult[]> => {
    checkPasswords(options.passwords);
    const unknown = unknownNames(users, options);
    if (unknown.length > 0)
      throw notFound(message("USER_NOT_ON_SITE", { site: from, names: unknown.join(", ") }));
    const site = await siteOf(to);
    return queue.run(site.id, async () => {
      signal.throwIfAborted();
      const client = clientOf(site);
      const there = await onSite(client.list());
      const plans = planCopy(users, there, options);
      checkAmount(plans);
      const passwordOf = passwordsFor(plans, options, deps.randomPassword);
      const notes = await checkFolders(plans, there, client, signal);
      if (options.dryRun) return plannedResults(plans, notes);
      const record = (results: readonly Written[], step: "begin" | "end"): Promise<void> =>
        mapWriteError(deps.store.note([noteOf(results, { deps, site, from, origin, step })]));
      const planned = plans.filter((plan) => plan.write !== undefined);
      if (planned.length === 0) return plannedResults(plans, notes);
      // Nothing is written without its row in the audit.
      await record(planned, "begin");
      const results = await carryOut(plans, { client, notes, passwordOf, signal });
      if (results.some(({ outcome }) => outcome === "created")) deps.onCreated?.(site.id);
      await record(
        results.filter(({ outcome }) => WRITTEN.has(outcome)),
        "end",
      );
      return results;
    });
  };
  return {
    list: read,
    compare: async (from, to, signal) => {
      const [here, there] = await readBoth(from, to, signal);
      return {
        families: [here.family, there.family],
        comparisons: compareUsers(here, there),
      };
    },
    copy: async (from, to, options, call) => {
      if (from === to) throw invalid([{ field: "to", description: message("USERS_OF_ONE_SITE") }]);
      return write({ name: from, users: await read(from) }, to, options, call);
    },
    restore: write,
  };
}

/** Outcomes with a call to the server. */
const WRITTEN: ReadonlySet<string> = new Set(["created", "updated", "failed"]);

/** User that is or was written, for log and audit. */
type Written = Pick<UserResult, "name" | "outcome" | "reason">;

function noteOf(
  results: readonly Written[],
  {
    deps,
    site,
    from,
    origin,
    step,
  }: {
    readonly deps: UserServiceDeps;
    readonly site: Site;
    readonly from: string;
    readonly origin: AuditOrigin;
    readonly step: "begin" | "end";
  },
): SiteNote {
  const time = deps.now();
  const groups = Map.groupBy(results, ({ outcome }) => outcome);
  const audit = [...groups].flatMap(([outcome, of]) =>
    subjectParts(of.map(({ name }) => subjectOf(name))).map((names) => ({
      ...doneEntry(origin, time, [site.name, ...names], { from, to: site.name, step, outcome }),
      ...(outcome === "failed" && { outcome: "FAILED_PRECONDITION" }),
    })),
  );
  const events = results.map(({ name, outcome, reason }) => ({
    time,
    actor: origin.actor,
    action: USER_ACTION,
    revision: deps.revision(),
    keys: [subjectOf(name)],
    result: DONE[outcome] ?? reason,
  }));
  return { siteId: site.id, audit, events: step === "begin" ? [] : events };
}

/** Results in the log of the site; that of a failure is its reason. */
const DONE: Readonly<Record<string, Message>> = {
  created: message("USER_CREATED"),
  updated: message("USER_REPLACED"),
};

/** Subject of a user. Servers permit line breaks in names, which separate subjects. */
function subjectOf(name: string): string {
  return `user:${name.replace(/\p{Cc}/gu, "\u{fffd}")}`;
}

function checkAmount(plans: readonly UserPlan[]): void {
  const count = plans.filter(({ write }) => write !== undefined).length;
  if (count > MAX_WRITTEN)
    throw invalid([
      { field: "names", description: message("TOO_MANY_USERS", { count, most: MAX_WRITTEN }) },
    ]);
}

/** Maximum length of a password. */
const MAX_PASSWORD = 255;

function checkPasswords({ all, byName, random }: NewPasswords): void {
  const problems: Violation[] = [];
  const check = (field: string, text: string): void => {
    if (isPassword(text)) return;
    const description = message("USER_PASSWORD_INVALID", { most: MAX_PASSWORD });
    problems.push({ field, description });
  };
  if (all !== "") check("password", all);
  for (const [name, text] of Object.entries(byName))
    check(`passwords[${JSON.stringify(name)}]`, text);
  if (all !== "" && random)
    problems.push({ field: "random_passwords", description: message("USER_PASSWORDS_AMBIGUOUS") });
  rejectViolations(problems);
}

/** A server accepts an empty password, with which everyone could log in. */
function isPassword(text: string): boolean {
  return (
    text !== "" && text.length <= MAX_PASSWORD && text.trim() === text && !/\p{Cc}/u.test(text)
  );
}

/**
 * Passwords of the users that a plan creates.
 *
 * @throws INVALID_ARGUMENT for users without one, and for passwords of other users.
 */
function passwordsFor(
  plans: readonly UserPlan[],
  { passwords, dryRun }: CopyOptions,
  randomPassword: () => string,
): (name: string) => NewPassword {
  const created = new Set(
    plans.flatMap(({ name, outcome }) => (outcome === "created" ? [name] : [])),
  );
  const given = new Map(Object.entries(passwords.byName));
  rejectViolations(
    [...given.keys()]
      .filter((name) => !created.has(name))
      .map((name) => ({
        field: "passwords",
        description: message("USER_PASSWORD_UNUSED", { name }),
      })),
  );
  const without = [...created].filter((name) => !given.has(name));
  if (!dryRun && without.length > 0 && passwords.all === "" && !passwords.random)
    throw invalid([
      {
        field: "password",
        description: message("USER_PASSWORD_MISSING", { names: without.join(", ") }),
      },
    ]);
  return (name) => {
    const text = given.get(name) ?? passwords.all;
    return text === ""
      ? { text: randomPassword(), isGenerated: true }
      : { text, isGenerated: false };
  };
}
