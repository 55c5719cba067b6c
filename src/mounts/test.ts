import { message, type Text } from "../messages/message.ts";
import type { Site } from "../sites/site.ts";
import { pathOn } from "../sites/site-choice.ts";
import { SiteFailure } from "../sync/failure.ts";
import { isErrorStatus } from "./decide-state.ts";
import type { Mount } from "./mount.ts";
import type { Listed, Lister } from "./site/listing.ts";
import type { StorageRow } from "./site/row.ts";

/** Time after which no further listing begins, in milliseconds. */
const LIMIT = 150_000;
/** Maximum number of sites that are read at the same time. */
const SITES_AT_ONCE = 8;
/** Maximum number of entries in a result. */
const MAX_SHOWN = 10;

/** Mount to be listed on a site. */
export interface Target {
  readonly mount: Mount;
  readonly site: Site;
}

/** Result of a test of a mount on a site. */
export interface TestResult {
  readonly name: string;
  readonly site: string;
  readonly path: string;
  readonly outcome: "works" | "fails" | "unknown" | "skipped" | "disabled";
  /** Cause. With `works`: the error that the server keeps for the mount; empty: none. */
  readonly error: Text;
  /** Remedy; empty: none. */
  readonly remedy: Text;
  /** First entries; folders end with `/`. */
  readonly entries: readonly string[];
  readonly total: number;
  /** Milliseconds. */
  readonly duration: number;
}

/** Newest revision of a mount on a site. */
export interface Arrival {
  /** Whether it is still being brought there. */
  readonly isPending: boolean;
  /** Reason for which the site did not accept it; empty: none is known. */
  readonly refusal: Text;
  /** Remedy for what keeps it from the site; empty: none, or unknown. */
  readonly remedy: Text;
}

export interface TestDeps {
  readonly lister: Pick<Lister, "list" | "accountOf">;
  /** Waits until a site that follows has the newest revision of a mount, or does not accept it. */
  readonly arrival: (target: Target, signal: AbortSignal) => Promise<Arrival>;
  /** Rows of a site. @throws SiteFailure. */
  readonly rowsOf: (site: Site) => Promise<readonly StorageRow[]>;
  /** Stores the result of a listing. @param error empty: it worked. */
  readonly record: (site: Site, row: StorageRow, error: string) => Promise<void>;
  /** Status of a row without secrets. */
  readonly statusOf: (row: StorageRow) => string;
  readonly remedyFor: (error: string) => Text;
  /** Reports whether each further attempt of the account would fail, and may lock it. */
  readonly isRefusal: (error: string) => boolean;
  readonly now: () => number;
  /** Aborted when the client has gone: no further listing begins. */
  readonly signal: AbortSignal;
}

/** State of a running test. */
interface Run extends TestDeps {
  /** Time after which no further listing begins. */
  readonly end: number;
  /** Accounts whose credential was refused in this test. */
  readonly refused: Set<string>;
  readonly results: Map<Target, TestResult>;
}

/** Lists mounts on their sites now. The results have the order of the targets. */
export async function testMounts(
  targets: readonly Target[],
  deps: TestDeps,
): Promise<readonly TestResult[]> {
  const run: Run = {
    ...deps,
    end: deps.now() + LIMIT,
    refused: new Set(),
    results: new Map(),
  };
  const bySite = Map.groupBy(targets, ({ site }) => site);
  const queue = bySite.entries();
  const work = async (): Promise<void> => {
    for (const [site, own] of queue) await testOnSite(site, own, run);
  };
  await Promise.all(Array.from({ length: Math.min(SITES_AT_ONCE, bySite.size) }, work));
  return targets.flatMap((target) => run.results.get(target) ?? []);
}

/** Tests the mounts of a site, and stores their results. */
async function testOnSite(site: Site, targets: readonly Target[], run: Run): Promise<void> {
  const { signal, results } = run;
  if (signal.aborted) {
    for (const target of targets)
      results.set(target, resultOf(target, "skipped", { error: message("TEST_TOO_LATE") }));
    return;
  }
  try {
    const arrivals = await Promise.all(
      targets.map(async (target) => ({ target, arrival: await run.arrival(target, signal) })),
    );
    const rows = await run.rowsOf(site);
    await Promise.all(
      arrivals.map(async ({ target, arrival }) => {
        results.set(target, await testMount(target, arrival, rows, run));
      }),
    );
  } catch (failure) {
    if (!(failure instanceof SiteFailure)) throw failure;
    const remedy = message("DO_CHECK_SITE", { site: site.name });
    for (const target of targets)
      if (!results.has(target))
        results.set(target, resultOf(target, "unknown", { error: failure.text, remedy }));
  }
}

/** @param rows those of the site. @throws SiteFailure. */
async function testMount(
  target: Target,
  arrival: Arrival,
  rows: readonly StorageRow[],
  run: Run,
): Promise<TestResult> {
  const { mount, site } = target;
  if (arrival.isPending)
    return resultOf(target, "unknown", {
      error: arrival.refusal === "" ? message("MOUNT_NOT_THERE_YET") : arrival.refusal,
      remedy: message("DO_TEST_LATER", { name: mount.name }),
    });
  const path = pathOn(mount, site.id);
  const row = rows.find((each) => each.mount_path === path && each.driver === mount.driver);
  if (row === undefined) {
    const error = arrival.refusal === "" ? message("MOUNT_NOT_THERE", { path }) : arrival.refusal;
    const sync = message("DO_SYNC_MOUNT", { site: site.name, name: mount.name });
    const remedy = arrival.remedy === "" ? sync : arrival.remedy;
    return resultOf(target, "fails", { error, remedy });
  }
  if (row.disabled)
    return resultOf(target, "disabled", { error: message("MOUNT_IS_DISABLED_THERE") });
  return listMount(target, row, rows, run);
}

async function listMount(
  target: Target,
  row: StorageRow,
  rows: readonly StorageRow[],
  run: Run,
): Promise<TestResult> {
  const { lister, refused, signal, now } = run;
  const { site } = target;
  const account = lister.accountOf(site, row);
  let began = now();
  let reason: Text = "";
  const mayBegin = (): boolean => {
    began = now();
    if (refused.has(account)) reason = message("ACCOUNT_REFUSED");
    else if (signal.aborted || began >= run.end) reason = message("TEST_TOO_LATE");
    return reason === "";
  };
  const others = rows.map(({ mount_path: other }) => other);
  const listed = await lister.list(site, row, others, mayBegin, signal);
  if (listed === undefined)
    return resultOf(target, "skipped", {
      error: reason === "" ? message("TEST_TOO_LATE") : reason,
    });
  if (listed.outcome === "fails" && run.isRefusal(listed.error)) refused.add(account);
  const result = listedResult(target, row, listed, now() - began, run);
  // Known, even if it cannot be stored.
  run.results.set(target, result);
  if (listed.outcome !== "unknown")
    await run.record(site, row, listed.outcome === "works" ? "" : listed.error);
  return result;
}

function listedResult(
  target: Target,
  row: StorageRow,
  listed: Listed,
  duration: number,
  { statusOf, remedyFor }: Pick<TestDeps, "statusOf" | "remedyFor">,
): TestResult {
  const { site, mount } = target;
  const remedyOf = (error: string): Text =>
    message("DO_THEN", {
      remedy: remedyFor(error),
      next: message("DO_SYNC_MOUNT", { site: site.name, name: mount.name }),
    });
  if (listed.outcome === "unknown")
    return resultOf(target, "unknown", { error: listed.reason, duration });
  if (listed.outcome === "fails") {
    const { error } = listed;
    return resultOf(target, "fails", { error, remedy: remedyOf(error), duration });
  }
  const entries = listed.entries
    .slice(0, MAX_SHOWN)
    .map(({ name, isFolder }) => (isFolder ? `${name}/` : name));
  const status = statusOf(row);
  // The mount counts as failing until the server mounts it again.
  const kept = isErrorStatus(status) && {
    error: message("LISTED_BUT_FAILING", { status }),
    remedy: remedyOf(status),
  };
  return resultOf(target, "works", { entries, total: listed.total, duration, ...kept });
}

/** A result. Members that are not given are empty. */
function resultOf(
  { mount, site }: Target,
  outcome: TestResult["outcome"],
  given: Partial<TestResult> = {},
): TestResult {
  return {
    name: mount.name,
    site: site.name,
    path: pathOn(mount, site.id),
    outcome,
    error: "",
    remedy: "",
    entries: [],
    total: 0,
    duration: 0,
    ...given,
  };
}
