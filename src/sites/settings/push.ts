import { message, type Text } from "../../messages/message.ts";
import { isUncertain, SiteFailure } from "../../sync/failure.ts";
import type { SettingClient, SiteRow } from "./client.ts";
import { keyPolicyOf, separateOrder } from "./key-policy.ts";

/** Value to push to a site. */
export interface Wanted {
  readonly key: string;
  readonly value: string;
  /** Row of the site, which is sent with the new value. */
  readonly row: SiteRow;
  readonly secret: boolean;
}

/**
 * Outcome of one push.
 * - `applied`: the site has the value. `rewritten`: the site stored a different value.
 * - `refused`: the site kept the old value; `reason` is its message.
 * - `overtaken`: the site has a third value: another client saved in the meantime.
 * - `unknown`: no answer; it may still be stored.
 */
export interface Pushed {
  readonly key: string;
  readonly outcome: "applied" | "rewritten" | "refused" | "overtaken" | "unknown";
  readonly reason: Text;
  /** Code of the site's envelope for a refused call; 0: none. */
  readonly code: number;
  /** Current value on the site. */
  readonly now: string;
}

/**
 * Pushes values to a site: those without side effects in one call, each other one separately, because a
 * refused call may have taken effect in memory. Then reads the values back.
 *
 * @param listed the site's list, with the rows of the wanted values.
 * @returns the outcome of each, and the list as far as it is known afterwards.
 * @throws SiteFailure when the outcomes cannot be read from the site.
 */
export async function push(
  client: SettingClient,
  wanted: readonly Wanted[],
  listed: readonly SiteRow[],
): Promise<{ readonly results: readonly Pushed[]; readonly rows: readonly SiteRow[] }> {
  const refusals = new Map<string, Refusal>();
  const unsure = new Set<string>();
  // A refusal may quote the site's value.
  const secrets = wanted.flatMap(({ secret, value, row }) => (secret ? [value, row.value] : []));
  /** @returns whether further calls may be sent. */
  const send = async (part: readonly Wanted[], limit?: number): Promise<boolean> => {
    const rows = part.map(({ row, value }) => ({ ...row, value }));
    try {
      await client.save(rows, { secrets, ...(limit === undefined ? {} : { limit }) });
      return true;
    } catch (error) {
      if (!(error instanceof SiteFailure)) throw error;
      if (error.kind === "refused") {
        const { message: reason, code } = error;
        for (const { key } of part) refusals.set(key, { reason, code });
        return true;
      }
      if (!isUncertain(error)) throw error;
      for (const { key } of part) unsure.add(key);
      return false;
    }
  };
  const together = wanted.filter(({ key }) => !keyPolicyOf(key).separate);
  const separate = wanted
    .filter(({ key }) => keyPolicyOf(key).separate)
    .sort((a, b) => separateOrder(a.key) - separateOrder(b.key));
  let goesOn = together.length === 0 || (await send(together));
  if (goesOn && refusals.size > 0 && together.length > 1)
    goesOn = await sendOneByOne(client, together, { refusals, send });
  for (const one of separate) {
    if (!goesOn) {
      unsure.add(one.key);
      continue;
    }
    const { limit, repair } = keyPolicyOf(one.key);
    goesOn = await send([one], limit);
    // Some settings do not work after a refusal until the old value is saved again.
    if (repair && refusals.has(one.key)) goesOn = await send([{ ...one, value: one.row.value }]);
  }
  const readBack = async () => {
    const rows = await listAgain(client, wanted, listed);
    const byKey = new Map(rows.map((row) => [row.key, row.value]));
    return {
      rows,
      results: wanted.map((one) =>
        judge(one, byKey.get(one.key) ?? "", refusals.get(one.key), unsure.has(one.key)),
      ),
    };
  };
  const first = await readBack();
  // An earlier save that timed out may have been stored only now. The value after a second save is the
  // one that the site accepts.
  const odd = new Set(
    first.results
      .filter(({ outcome, reason }) => outcome === "rewritten" || reason === KEPT)
      .map(({ key }) => key),
  );
  const again = goesOn ? wanted.filter(({ key }) => odd.has(key)) : [];
  const firstForms = new Map<string, string>();
  for (const one of again) {
    if (!(await send([one], keyPolicyOf(one.key).limit))) break;
    firstForms.set(one.key, first.results.find(({ key }) => key === one.key)?.now ?? "");
  }
  const { rows, results } = again.length > 0 ? await readBack() : first;
  return { rows, results: results.map((one) => verified(one, firstForms)) };
}

/**
 * The outcome of a value that the site has stored in another form: only what two saves have given is
 * the site's own form. Another client has saved any other value in the meantime.
 *
 * @param firstForms values after the first save, of keys that were saved twice.
 */
function verified(pushed: Pushed, firstForms: ReadonlyMap<string, string>): Pushed {
  const isAnother = pushed.outcome === "rewritten" && firstForms.get(pushed.key) !== pushed.now;
  return isAnother
    ? { ...pushed, outcome: "overtaken", reason: message("SAVED_MEANWHILE") }
    : pushed;
}

/** Reads only the group of the rows if they have one: a tenth of the list. */
async function listAgain(
  client: SettingClient,
  wanted: readonly Wanted[],
  listed: readonly SiteRow[],
): Promise<readonly SiteRow[]> {
  const [group, ...others] = new Set(wanted.map(({ row }) => row.group));
  if (group === undefined || others.length > 0) return client.list();
  const found = new Map((await client.list({ group })).map((row) => [row.key, row]));
  // The setting moved to another group, or the server ignores groups.
  if (!wanted.every(({ key }) => found.has(key))) return client.list();
  return listed.map((row) => found.get(row.key) ?? row);
}

const KEPT = message("SITE_KEPT_VALUE");

/** A refused save of one key. */
type Refusal = Pick<Pushed, "reason" | "code">;

/** Repeats a refused call one by one: some servers have stored the other values, others none. */
async function sendOneByOne(
  client: SettingClient,
  part: readonly Wanted[],
  {
    refusals,
    send,
  }: { refusals: Map<string, Refusal>; send: (part: Wanted[]) => Promise<boolean> },
): Promise<boolean> {
  const there = new Map((await client.list()).map((row) => [row.key, row.value]));
  refusals.clear();
  for (const one of part)
    if (there.get(one.key) !== one.value && !(await send([one]))) return false;
  return true;
}

function judge(
  { key, value, row }: Wanted,
  now: string,
  refusal: Refusal | undefined,
  isUnsure: boolean,
): Pushed {
  const found = (outcome: Pushed["outcome"], reason: Text = "", code = 0): Pushed => ({
    key,
    outcome,
    reason,
    code,
    now,
  });
  if (now === value) return found("applied");
  if (isUnsure) return found("unknown", message("NO_ANSWER"));
  if (refusal !== undefined) return found("refused", refusal.reason, refusal.code);
  const { rewritten, trimmed } = keyPolicyOf(key);
  if (trimmed && now.trim() === value.trim()) return found("applied");
  if (rewritten) return found("rewritten", message("SITE_MADE_OTHER_VALUE"));
  if (now === row.value) return found("refused", KEPT);
  return found("overtaken", message("SAVED_MEANWHILE"));
}
