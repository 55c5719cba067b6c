import { effect } from "@preact/signals";
import { signOutMark } from "./early.ts";
import { rights } from "./rights.ts";
import { ended, session } from "./session.ts";

/** Key in the tab's storage of the unsaved inputs. */
const KEY = "mooring.kept";

/** Unsaved inputs of one principal. */
interface Kept {
  readonly principal: string | undefined;
  /** Last sign-out when they were stored: they are not shown after another one. */
  readonly mark: string;
  /** By name of the form. */
  readonly inputs: Readonly<Record<string, unknown>>;
}

function read(): Kept {
  const principal = rights.peek()?.principal;
  const mark = signOutMark();
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
  const isCurrent = kept.principal === principal && kept.mark === mark;
  return { principal, mark, inputs: (isCurrent && kept.inputs) || {} };
}

/**
 * Stores an unsaved input of the signed-in principal in the storage of the tab, so that it survives
 * a reload, other pages and an ended token. It must not contain secrets.
 *
 * @param value undefined: nothing is kept, as for more than the browser stores.
 */
export function keep(name: string, value: unknown): void {
  const kept = read();
  if (kept.principal === undefined) return;
  const write = (input: unknown): void => {
    const inputs = { ...kept.inputs, [name]: input };
    sessionStorage.setItem(KEY, JSON.stringify({ ...kept, inputs }));
  };
  try {
    write(value);
  } catch {
    write(undefined);
  }
}

/** The kept input of the signed-in principal; undefined: none. */
export function keptInput(name: string): unknown {
  return read().inputs[name];
}

/**
 * Removes kept inputs after a sign-out, also by a tab that did not run then, and those of another
 * principal. Called once.
 */
export function forgetKept(): void {
  effect(() => {
    const isSignedOut =
      session.value === undefined && (ended.value === "byUser" || ended.value === "inOtherTab");
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
    const isOthers = rights.value !== undefined && rights.value.principal !== kept.principal;
    if (isSignedOut || isOthers || kept.mark !== signOutMark()) sessionStorage.removeItem(KEY);
  });
}
