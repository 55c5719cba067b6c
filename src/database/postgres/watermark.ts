/**
 * Watermark of a numbered source (revisions of settings, versions of the access tables): the number
 * read by this process, and the newest one it was notified of.
 */
export class Watermark {
  #known = -1;
  notified = -1;
  readonly #onHeard: () => void;

  /**
   * @param onHeard called when the newest notified number changes, because other instances wait for
   * its confirmation.
   */
  constructor(onHeard: () => void) {
    this.#onHeard = onHeard;
  }

  /** The newest number that was read. */
  get known(): number {
    return this.#known;
  }

  /** The newest notified number. */
  get heard(): number {
    return this.notified;
  }

  /** Whether a notified number has not been read. */
  get isBehind(): boolean {
    return this.notified !== this.#known;
  }

  /** Records that all changes up to a number were read, or written here. */
  recordRead(number: number): void {
    this.#known = Math.max(this.#known, number);
    if (number > this.notified) this.#hearOf(number);
  }

  /** Records a full read at a number, which may be lower than earlier ones. */
  sawAll(number: number): void {
    this.#known = number;
    if (number > this.notified) this.#hearOf(number);
  }

  /** Records a full read that invalidates earlier, higher numbers. */
  startAgain(number: number): void {
    this.#known = number;
    this.#hearOf(number);
  }

  /** Records a notified number. @returns whether it is new. */
  recordNotified(number: number): boolean {
    if (!Number.isSafeInteger(number) || number <= this.#known) return false;
    if (number > this.notified) this.#hearOf(number);
    return true;
  }

  /**
   * Records the newest number according to the database.
   *
   * @param asked the notified number when the query began: later notifications are newer than the
   * answer.
   */
  recordNewest(newest: number, asked: number): void {
    if (this.notified === asked && newest !== asked) this.#hearOf(newest);
  }

  #hearOf(number: number): void {
    this.notified = number;
    this.#onHeard();
  }
}
