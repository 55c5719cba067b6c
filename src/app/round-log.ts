import { type AuditOrigin, doneEntry } from "../audit/entry.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type Message, message, type Text } from "../messages/message.ts";
import type { Site } from "../sites/site.ts";
import type { SiteNote, SiteStore } from "../sites/store.ts";
import { createBatches } from "../sync/batch.ts";
import type { Logger } from "../telemetry/log.ts";

/** Result of a round for one record. */
export interface RoundEntry {
  readonly name: string;
  /** Path on the site. */
  readonly path: string;
  /** Calls that changed the site, in order. */
  readonly steps: readonly string[];
  /** Whether the record was changed on the site, and corrected. */
  readonly drifted: boolean;
  /** Empty: no error. */
  readonly error: Text;
}

export interface RoundLogDeps {
  /** Action in the logs of sites, and prefix of the record's name. */
  readonly action: string;
  readonly worker: AuditOrigin;
  readonly store: Pick<SiteStore, "note">;
  readonly ledger: Pick<Ledger, "snapshot">;
  readonly log: Logger;
}

/** Writes the calls of rounds to the log, the logs of sites and the audit. */
export function recordRounds({
  action,
  worker,
  store,
  ledger,
  log,
}: RoundLogDeps): (site: Site, done: readonly RoundEntry[]) => Promise<void> {
  // The rounds of many sites end at the same time: their entries share transactions.
  const note = createBatches({
    record: async (notes: readonly SiteNote[]): Promise<readonly undefined[]> => {
      await store.note(notes);
      return notes.map(() => undefined);
    },
  });
  return async (site, done) => {
    for (const { name, path, steps, drifted, error } of done)
      log[error === "" ? "info" : "warn"](
        { kind: action, site: site.name, [action]: name, path, steps, drifted, reason: error },
        `${action} ${name} on ${site.name}: ${[...steps, ...(String(error) === "" ? [] : [String(error)])].join(", ") || "no change"}`,
      );
    const time = Date.now();
    const written = done.filter(({ steps }) => steps.length > 0);
    if (written.length === 0) return;
    await note(
      {
        siteId: site.id,
        events: written.map(({ name, steps, error }) => ({
          time,
          actor: worker.actor,
          action,
          revision: ledger.snapshot().revision,
          keys: [`${action}:${name}`],
          result: resultOf(steps, error),
        })),
        audit: written.map(({ name, path, steps, error }) => ({
          ...doneEntry(worker, time, [site.name, `${action}:${name}`], { path, steps: [...steps] }),
          outcome: error === "" ? "OK" : "FAILED_PRECONDITION",
        })),
      },
      { isPatient: true },
    );
  };
}

/** Calls in words, such as `disable, update`, with the error that ended them. */
function resultOf(steps: readonly string[], error: Text): Text {
  const words = steps.map((step) => WORDS[step] ?? step);
  const all = words.reduce<Text>(
    (first, next) => (first === "" ? next : message("LISTED", { first, next })),
    "",
  );
  return error === "" ? all : message("STEPS_FAILED", { steps: all, error });
}

const WORDS: Readonly<Record<string, Message>> = {
  create: message("CALL_CREATE"),
  disable: message("CALL_DISABLE"),
  update: message("CALL_UPDATE"),
  enable: message("CALL_ENABLE"),
  delete: message("CALL_DELETE"),
};
