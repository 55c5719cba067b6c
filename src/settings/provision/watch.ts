import { type WatchTimes, watchFiles } from "../../files/file-watch.ts";
import type { Provision } from "./provision.ts";

export interface ProvisionWatchOptions {
  /** Path of the settings file. */
  readonly path: string;
  /** Content that the caller has already loaded and applied. */
  readonly first: Provision;
  readonly load: () => Provision;
  /**
   * Gets each new content once, right or wrong, in order: never two calls at a time. A rejection
   * ends up in `onError`, and the content counts as not used: the next look that finds a change
   * tries again.
   */
  readonly onChange: (provision: Provision) => void | Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly times?: WatchTimes;
}

export interface ProvisionWatch {
  /** Nothing is called after it; resolves when a call of `onChange` that runs has ended. */
  readonly close: () => Promise<void>;
}

/** Follows a settings file and the files that its values are taken from. */
export function watchProvision(options: ProvisionWatchOptions): ProvisionWatch {
  const { path, first, load, onChange, onError, times } = options;
  let used: string | undefined = contentOf(first);
  let closed = false;
  let work: Promise<void> = Promise.resolve();

  const reload = async (): Promise<void> => {
    if (closed) return;
    const provision = load();
    watch.follow([path, ...provision.files]);
    const content = contentOf(provision);
    if (content === used) return;
    used = undefined;
    await onChange(provision);
    used = content;
  };
  const watch = watchFiles(
    [path, ...first.files],
    () => {
      work = work.then(reload).catch(onError);
    },
    times,
  );
  return {
    close: () => {
      closed = true;
      watch.close();
      return work;
    },
  };
}

/** Key for comparing contents; moved lines do not matter. */
function contentOf({ entries, problems }: Provision): string {
  return JSON.stringify([entries.map(({ key, value }) => [key, value]), problems]);
}
