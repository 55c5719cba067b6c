/** Summarizes repeated log lines of one subject. */
export interface Repeats<T> {
  /** Writes the line, or counts it. @param subject such as a client's address. */
  add(subject: string, line: T): void;
}

export interface RepeatsOptions<T> {
  /** @param times number of summarized lines. */
  readonly write: (line: T, times: number) => void;
  /** Time in which the lines after the first are counted, in milliseconds. Default: 60,000. */
  readonly interval?: number;
  /** Maximum number of separate subjects; further ones share one. Default: 256. */
  readonly subjects?: number;
}

/** Lines counted since the last written one. */
interface Counted<T> {
  last: T;
  times: number;
}

/** Subject of the lines beyond the maximum number of subjects. */
const OTHERS = "";

/**
 * Writes the first line of a subject at once; those of the next interval are counted, and the last
 * of them stands for all.
 */
export function createRepeats<T>(options: RepeatsOptions<T>): Repeats<T> {
  const { write, interval = 60_000, subjects = 256 } = options;
  const open = new Map<string, Counted<T>>();
  const wait = (subject: string): void => {
    setTimeout(() => {
      const counted = open.get(subject);
      open.delete(subject);
      if (counted === undefined || counted.times === 0) return;
      write(counted.last, counted.times);
      open.set(subject, { last: counted.last, times: 0 });
      wait(subject);
    }, interval).unref();
  };
  return {
    add: (subject, line) => {
      const key = open.has(subject) || open.size < subjects ? subject : OTHERS;
      const counted = open.get(key);
      if (counted !== undefined) {
        counted.last = line;
        counted.times += 1;
        return;
      }
      open.set(key, { last: line, times: 0 });
      write(line, 1);
      wait(key);
    },
  };
}
