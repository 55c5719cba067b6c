/**
 * How far this process has read what has numbers (revisions of settings, versions of who may do what),
 * and of what numbers it has heard.
 */
export class Progress {
  #known = -1;
  #heard = -1;
  readonly #onHeard: () => void;

  /** @param onHeard told when another number than before is the newest: others wait for that to be told. */
  constructor(onHeard: () => void) {
    this.#onHeard = onHeard;
  }

  /** The newest that was read. */
  get known(): number {
    return this.#known;
  }

  /** The newest that was heard of. */
  get heard(): number {
    return this.#heard;
  }

  /** Whether there is something that was not read. */
  get isBehind(): boolean {
    return this.#heard !== this.#known;
  }

  /** What has changed up to a number was read, or was written here. */
  saw(number: number): void {
    this.#known = Math.max(this.#known, number);
    if (number > this.#heard) this.#hearOf(number);
  }

  /** Everything was read, as of a number that may be older than one before. */
  sawAll(number: number): void {
    this.#known = number;
    if (number > this.#heard) this.#hearOf(number);
  }

  /** Everything was read, and newer numbers of before mean nothing any more. */
  startAgain(number: number): void {
    this.#known = number;
    this.#hearOf(number);
  }

  /** Somebody says that there is a number. @returns whether it is new. */
  hear(number: number): boolean {
    if (!Number.isSafeInteger(number) || number <= this.#known) return false;
    if (number > this.#heard) this.#hearOf(number);
    return true;
  }

  /**
   * The database says which number is the newest.
   *
   * @param asked what was heard of when it was asked: what has come since is newer than the answer.
   */
  found(newest: number, asked: number): void {
    if (this.#heard === asked && newest !== asked) this.#hearOf(newest);
  }

  #hearOf(number: number): void {
    this.#heard = number;
    this.#onHeard();
  }
}
