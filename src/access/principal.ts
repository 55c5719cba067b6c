import { Code } from "@connectrpc/connect";
import { doneEntry } from "../audit/entry.ts";
import { invalid, notFound, ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { type Page, type PageRequest, type Place, pageOf } from "../messages/page.ts";
import type { AccessCaller, Change } from "./change.ts";
import type { AccessRegistry } from "./registry.ts";
import type { StoredPrincipal } from "./store.ts";

/** Names that history and log use for other actors. */
const RESERVED = new Set(["root", "admin", "cli", "mooring", "system"]);

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Position of a principal in the list: its name. */
const PLACE: Place<StoredPrincipal> = {
  of: ({ name }) => name,
  after: (text) => (NAME.test(text) ? ({ name }) => name > text : undefined),
};

/** Maximum number of principals. */
const MAX_PRINCIPALS = 100_000;

/** Service for principals. */
export interface PrincipalService {
  /** Sorted by name. @throws INVALID_ARGUMENT for an invalid page size or token. */
  principals(page: PageRequest): Page<StoredPrincipal>;
  /** @throws INVALID_ARGUMENT; ALREADY_EXISTS; RESOURCE_EXHAUSTED. */
  createPrincipal(name: string, kind: string, caller: AccessCaller): Promise<StoredPrincipal>;
  /** Ends the rights of all its tokens. @throws NOT_FOUND. */
  disablePrincipal(name: string, caller: AccessCaller): Promise<StoredPrincipal>;
}

export interface PrincipalDeps {
  readonly registry: Pick<AccessRegistry, "principals" | "now">;
  readonly change: Change;
  readonly randomBytes: (size: number) => Buffer;
}

export function createPrincipalService(deps: PrincipalDeps): PrincipalService {
  const { registry, change, randomBytes } = deps;
  return {
    principals: (page) =>
      pageOf(
        registry.principals().toSorted((one, other) => (one.name < other.name ? -1 : 1)),
        page,
        PLACE,
      ),
    createPrincipal: async (name, kind, caller) => {
      checkName(name);
      checkPrincipalCount(registry);
      return change(async (transaction) => {
        const known = await transaction.principalNamed(name);
        if (known !== undefined) throw existsAlready(known);
        const now = registry.now();
        const principal = newPrincipal(name, kind, caller.actor, now, randomBytes);
        const audit = [doneEntry(caller, now, [name], { kind })];
        await transaction.write({ principals: [principal], audit });
        return principal;
      });
    },
    disablePrincipal: (name, caller) =>
      change(async (transaction) => {
        const principal = await transaction.principalNamed(name);
        if (principal === undefined) throw noPrincipal(name);
        if (principal.disabledAt !== null) return principal;
        const now = registry.now();
        const disabled = { ...principal, disabledAt: now };
        await transaction.write({
          principals: [disabled],
          audit: [doneEntry(caller, now, [name], {})],
        });
        return disabled;
      }),
  };
}

/** @param added number of principals that a change adds. @throws RESOURCE_EXHAUSTED. */
export function checkPrincipalCount(
  { principals }: Pick<AccessRegistry, "principals">,
  added = 1,
): void {
  if (principals().length + added > MAX_PRINCIPALS)
    throw new ServiceError(
      Code.ResourceExhausted,
      message("TOO_MANY_PRINCIPALS", { most: MAX_PRINCIPALS }),
    );
}

export function newPrincipal(
  name: string,
  kind: string,
  createdBy: string,
  createdAt: number,
  randomBytes: (size: number) => Buffer,
): StoredPrincipal {
  const id = randomBytes(9).toString("base64url");
  return { id, name, kind, createdAt, createdBy, disabledAt: null };
}

/** @throws INVALID_ARGUMENT. */
export function checkName(name: string): void {
  const isReserved = RESERVED.has(name);
  if (NAME.test(name) && !isReserved) return;
  const id = isReserved ? "PRINCIPAL_NAME_RESERVED" : "PRINCIPAL_NAME_INVALID";
  const shown = JSON.stringify(name.slice(0, 100));
  throw invalid([{ field: "principal", description: message(id, { name: shown }) }]);
}

function noPrincipal(name: string): ServiceError {
  return notFound(message("PRINCIPAL_NOT_FOUND", { name: JSON.stringify(name.slice(0, 100)) }));
}

function existsAlready({ name, kind, disabledAt }: StoredPrincipal): ServiceError {
  const shown = `"${name}"`;
  const text =
    disabledAt === null
      ? message("PRINCIPAL_EXISTS", {
          name: shown,
          kind: message(kind === "person" ? "KIND_PERSON" : "KIND_PROGRAM"),
        })
      : message("PRINCIPAL_EXISTS_DISABLED", { name: shown });
  return new ServiceError(Code.AlreadyExists, text);
}
