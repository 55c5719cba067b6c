/** A service without transports, in a separate process: see ../../store/process.ts. */

import { setImmediate } from "node:timers/promises";
import { ServiceError } from "../../../src/messages/error.ts";
import { SETTINGS } from "../../../src/settings/kind.ts";
import { say, serve } from "../../store/served.ts";
import { openParts, type Parts, save } from "../parts.ts";
import type { Recorded } from "./guarantee.ts";
import { publicRecorded, recorded, streamsOf, type WatchOptions } from "./stream.ts";

/** Streams of this process, as reported. */
export interface Reported {
  readonly stream: string;
  readonly event?: Recorded;
  /** Reason of its end. */
  readonly end?: { readonly code: number; readonly message: string };
}

let parts: Parts;
let poll: NodeJS.Timeout | undefined;
const streams = new Map<string, AbortController>();

async function tell(stream: string, events: AsyncIterable<Recorded | undefined>): Promise<void> {
  try {
    for await (const event of events) say({ stream, event } as Reported);
  } catch (error) {
    const { code, message } =
      error instanceof ServiceError ? error : { code: -1, message: `${error}` };
    say({ stream, end: { code, message } } satisfies Reported);
  }
}

async function* recordEach<E>(events: AsyncIterable<E>, record: (event: E) => Recorded) {
  for await (const event of events) yield record(event);
}

serve({
  open: async (path: string, pollEvery?: number) => {
    parts = await openParts(path, { idle: 50 });
    if (pollEvery !== undefined) poll = setInterval(() => void parts.ledger.fresh(), pollEvery);
  },
  close: () => {
    clearInterval(poll);
    for (const stop of streams.values()) stop.abort();
    return parts.close();
  },
  watch: (name: string, options: WatchOptions, isPublic = false) => {
    const stop = new AbortController();
    streams.set(name, stop);
    const open = streamsOf(parts);
    void tell(
      name,
      isPublic
        ? recordEach(open.publicSettings(options, stop.signal), publicRecorded)
        : recordEach(open.settings(options, stop.signal), recorded),
    );
  },
  unwatch: (name: string) => streams.get(name)?.abort(),
  save: async (values: Record<string, string>) => (await save(parts, values)).revision,
  /** Saves this number of times in sequence, with occasional concurrent saves. */
  saveOften: async (key: string, count: number) => {
    const revisions: number[] = [];
    while (revisions.length < count) {
      const at = revisions.length;
      const several = at % 10 === 0 ? 4 : 1;
      const saves = Array.from({ length: several }, (_, one) =>
        save(parts, { [key]: `${at}.${one}`, k0: `${key} ${at}.${one}` }),
      );
      revisions.push(...(await Promise.all(saves)).map(({ revision }) => revision));
    }
    return revisions;
  },
  saveForever: async (key: string) => {
    for (let at = 0; ; at += 1) {
      await save(parts, { [key]: `${at}` });
      await setImmediate();
    }
  },
  token: async () => (await parts.ledger.fresh()).get(SETTINGS, "token")?.value,
  snapshotToken: () => parts.ledger.snapshot().get(SETTINGS, "token")?.value,
  value: (key: string) => parts.ledger.snapshot().get(SETTINGS, key)?.value,
});
