import { message, type Text } from "../messages/message.ts";
import { isUncertain, SiteFailure } from "../sync/failure.ts";
import type { ServerUsers, UserClient, UserMembers } from "./client.ts";
import type { CopyOutcome, UserPlan } from "./plan.ts";
import { ADMIN } from "./user.ts";

/** Result for one user. */
export interface UserResult extends Omit<UserPlan, "outcome" | "write"> {
  readonly outcome: CopyOutcome;
  readonly notes: readonly Text[];
  /** Generated password; empty: none. Shown once. */
  readonly password: string;
}

/** Password of a new user. */
export interface NewPassword {
  readonly text: string;
  readonly isGenerated: boolean;
}

/** The result of a plan that is not carried out. */
export function plannedResults(plans: readonly UserPlan[], notes: FolderNotes): UserResult[] {
  return plans.map(({ write, ...plan }) => ({
    ...plan,
    notes: notes(write?.members),
    password: "",
  }));
}

/**
 * Carries out a plan, one user after the other. A failed user does not prevent the next ones, except
 * when the server does not answer or refuses the token.
 *
 * @param passwordOf password of a new user. @param signal ends it between two users.
 */
export async function carryOut(
  plans: readonly UserPlan[],
  {
    client,
    notes,
    passwordOf,
    signal,
  }: {
    readonly client: UserClient;
    readonly notes: FolderNotes;
    readonly passwordOf: (name: string) => NewPassword;
    readonly signal: AbortSignal;
  },
): Promise<UserResult[]> {
  const results: UserResult[] = [];
  let end: Text | undefined;
  for (const { write, ...plan } of plans) {
    const planned: UserResult = { ...plan, notes: notes(write?.members), password: "" };
    const failed = (reason: Text): UserResult => ({ ...planned, outcome: "failed", reason });
    if (signal.aborted) end ??= message("USER_COPY_ENDED");
    if (write === undefined) results.push(planned);
    else if (end !== undefined) results.push(failed(end));
    else
      try {
        if ("existing" in write) {
          const failure = await client.update(write.existing, write.members);
          results.push({ ...planned, notes: [...planned.notes, ...cacheNotes(failure)] });
        } else {
          const { text, isGenerated } = passwordOf(plan.name);
          const user = { name: plan.name, role: write.role, ...write.members };
          const note = await createUser(client, user, text);
          const password = isGenerated ? text : "";
          results.push({ ...planned, notes: [...planned.notes, ...note], password });
        }
      } catch (error) {
        if (!(error instanceof SiteFailure)) throw error;
        const isUpdate = "existing" in write && isUncertain(error);
        const result = failed(error.text);
        const { notes: known } = result;
        results.push(
          isUpdate ? { ...result, notes: [...known, message("USER_MAY_BE_CHANGED")] } : result,
        );
        if (error.kind !== "refused") end = message("USER_COPY_STOPPED", { reason: error.text });
      }
  }
  return results;
}

/**
 * Creates a user. OpenList stores a new user with LDAP logins in any case: a user without them is
 * created disabled and becomes usable with the call that refuses them.
 *
 * @returns notes.
 */
async function createUser(
  client: UserClient,
  user: Parameters<UserClient["create"]>[0],
  password: string,
): Promise<Text[]> {
  const refusesLdap = user.allowLdap === false;
  await createOnce(client, refusesLdap ? { ...user, disabled: true } : user, password);
  if (!refusesLdap) return [];
  try {
    const { users } = await client.list();
    const created = users.find(({ name }) => name === user.name);
    if (created === undefined)
      throw new SiteFailure("refused", message("USER_CHANGED_MEANWHILE", { name: user.name }));
    return cacheNotes(await client.update(created, user));
  } catch (error) {
    if (!(error instanceof SiteFailure)) throw error;
    return [message("USER_LEFT_DISABLED", { reason: error.text })];
  }
}

/** Notes about an update that was not sent again. */
function cacheNotes(failure: SiteFailure | undefined): Text[] {
  if (failure === undefined) return [];
  return [message("USER_CACHE_KEPT", { reason: failure.text })];
}

/** Creates a user. After an uncertain end its existence decides. */
async function createOnce(
  client: UserClient,
  user: Parameters<UserClient["create"]>[0],
  password: string,
): Promise<void> {
  try {
    await client.create(user, password);
  } catch (error) {
    if (!(error instanceof SiteFailure) || !isUncertain(error)) throw error;
    const there = await client.list().catch(() => undefined);
    const reason = error.text;
    if (there === undefined)
      throw new SiteFailure(error.kind, message("USER_MAY_EXIST", { reason }));
    if (!there.users.some(({ name }) => name === user.name)) throw error;
  }
}

/** Notes about the folder of a user. */
export type FolderNotes = (members: UserMembers | undefined) => readonly Text[];

/** Maximum number of folders that are checked. */
const MAX_FOLDERS = 100;
/** Time limit of all checks of folders, in milliseconds: one at a provider that hangs takes 5 s. */
const FOLDERS_LIMIT = 20_000;

/** Checks whether the folders of the planned users exist on the target. @returns notes about a user. */
export async function checkFolders(
  plans: readonly UserPlan[],
  to: ServerUsers,
  client: Pick<UserClient, "hasFolder">,
  signal: AbortSignal,
): Promise<FolderNotes> {
  const paths = new Set(plans.flatMap(({ write }) => write?.members.basePath ?? []));
  paths.delete("/");
  const found = new Map<string, boolean | undefined>();
  const admin = to.users.find(({ roles }) => roles.includes(ADMIN));
  const end = performance.now() + FOLDERS_LIMIT;
  // Mooring sees a server's folders as its admin does.
  if (admin?.basePath === "/")
    for (const path of [...paths].slice(0, MAX_FOLDERS)) {
      if (signal.aborted || performance.now() > end) break;
      found.set(path, await client.hasFolder(path));
    }
  return (members) => {
    const path = members?.basePath ?? "/";
    if (path === "/" || found.get(path) === true) return [];
    const isMissing = found.get(path) === false;
    return [message(isMissing ? "USER_FOLDER_MISSING" : "USER_FOLDER_UNCHECKED", { path })];
  };
}
