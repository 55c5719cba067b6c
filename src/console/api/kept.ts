import { effect } from "@preact/signals";
import { signOutMark } from "./early.ts";
import { rights } from "./rights.ts";
import { ended, session } from "./session.ts";

/** Prefix of the keys, in the tab's storage, of unsaved inputs. */
const PREFIX = "mooring.kept.";

/** Unsaved input of one principal. */
interface Kept {
  readonly principal: string;
  /** Last sign-out when it was stored: it is not shown after another one. */
  readonly mark: string;
  readonly value: unknown;
}

/**
 * Stores an unsaved input of the signed-in principal in the storage of the tab, so that it survives
 * a reload, other pages and an ended token. It must not contain secrets.
 *
 * @param value undefined: nothing is kept.
 * @returns false if it is more than the browser stores.
 */
export function keep(name: string, value: unknown): boolean {
  const principal = rights.peek()?.principal;
  if (principal === undefined) return true;
  if (value === undefined) {
    sessionStorage.removeItem(PREFIX + name);
    return true;
  }
  const kept: Kept = { principal, mark: signOutMark(), value };
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(kept));
    return true;
  } catch {
    sessionStorage.removeItem(PREFIX + name);
    return false;
  }
}

/** The kept input of the signed-in principal; undefined: none. */
export function keptInput(name: string): unknown {
  const stored = sessionStorage.getItem(PREFIX + name);
  if (stored === null) return undefined;
  const { principal, mark, value } = JSON.parse(stored) as Kept;
  return mark === signOutMark() && principal === rights.peek()?.principal ? value : undefined;
}

/**
 * Removes kept inputs after a sign-out, also by a tab that did not run then, and those of another
 * principal. Called once.
 */
export function forgetKept(): void {
  effect(() => {
    const principal = rights.value?.principal;
    const isSignedOut = session.value === undefined && ended.value === "byUser";
    for (const key of Object.keys(sessionStorage)) {
      if (!key.startsWith(PREFIX)) continue;
      const kept = JSON.parse(sessionStorage.getItem(key) ?? "null") as Kept | null;
      const isOthers = principal !== undefined && kept?.principal !== principal;
      if (isSignedOut || isOthers || kept?.mark !== signOutMark()) sessionStorage.removeItem(key);
    }
  });
}
