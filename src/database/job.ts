/** Slots of periodic jobs that one process at a time may run. */
export interface JobSlots {
  /**
   * Takes the slot of a job that any process on this database may do.
   *
   * @param job its name.
   * @param interval milliseconds, of any process's clock, until the slot is free again.
   * @param now milliseconds since 1970 UTC.
   * @returns whether this caller has the slot.
   */
  claimTurn(job: string, interval: number, now: number): Promise<boolean>;
}
