import type { Notify } from "../error.ts";
import { StoreError } from "../error.ts";
import { postgresFailure } from "./failure.ts";

/** Reachability of the database; logs each loss and return once. */
export class Contact {
  readonly #place: string;
  readonly #notify: Notify;
  /** Maximum silence of a reachable database, in milliseconds. */
  readonly #patience: number;
  /** Time of the last answer, by `performance.now()`. */
  #answered = performance.now();
  #isLost = false;

  constructor(place: string, notify: Notify, patience: number) {
    this.#place = place;
    this.#notify = notify;
    this.#patience = patience;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Milliseconds since the last answer if the database is unavailable; 0: it is available. */
  get awayFor(): number {
    const silence = performance.now() - this.#answered;
    return this.#isLost || silence > this.#patience ? silence : 0;
  }

  /** @param asked start of the answered query, by `performance.now()`. */
  answered(asked: number): void {
    this.#answered = asked;
    if (this.#isLost) this.#notify("info", `the database ${this.#place} is back`);
    this.#isLost = false;
  }

  lost(error: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const { message } = error instanceof StoreError ? error : postgresFailure(error, this.#place);
    this.#notify(
      "error",
      `${message}; reads continue from memory; saves are refused until it is available`,
    );
  }
}
