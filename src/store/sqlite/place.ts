import { StoreError } from "../error.ts";
import type { Notify } from "../notify.ts";
import { watchFiles } from "./file.ts";

/** How often the files are looked at when nothing is saved, in milliseconds. */
const INTERVAL = 500;

/** Whether a database's files are still those that are open. */
export interface Place {
  /** @throws StoreError when they are not: what is written now would be lost. */
  check(): void;
  close(): void;
}

/**
 * Looks for the files of an open database. When somebody deletes or replaces them, SQLite goes on
 * with the ones that it has, and nobody ever finds again what it writes there.
 */
export function watchPlace(path: string, notify: Notify = () => undefined): Place {
  const loss = watchFiles(path);
  let told: string | undefined;
  const look = (): string | undefined => {
    const lost = loss();
    if (lost === told) return lost;
    if (lost !== undefined) notify("error", `${lost}: nothing is saved any more; ${CURE}`);
    else notify("info", `the files of the database ${path} are back in their place`);
    told = lost;
    return lost;
  };
  const timer = path === ":memory:" ? undefined : setInterval(look, INTERVAL).unref();
  return {
    check: () => {
      const lost = look();
      if (lost !== undefined) throw new StoreError("failed", `${lost}; ${CURE}`);
    },
    close: () => clearInterval(timer),
  };
}

const CURE = "stop the service, put the files back or restore them from a backup, start it again";
