import { type WatchTimes, watchFiles } from "../../files/file-watch.ts";
import type { Provision } from "./provision.ts";

export interface ProvisionWatchOptions {
  /** Path of the settings file. */
  readonly path: string;
  /** Content that the caller has already loaded and applied. */
  readonly first: Provision;
  readonly load: () => Provision;
  /**
   * Called once with each new content, valid or not, in order and one call at a time. A rejection
   * is passed to `onError`, and the content is tried again at the next change.
   */
  readonly onChange: (provision: Provision) => void | Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly times?: WatchTimes;
}

export interface ProvisionWatch {
  /**
   * Ends the watch; afterwards there are no calls. Resolves when a running call of `onChange` has
   * ended.
   */
  readonly close: () => Promise<void>;
}

/** Watches a settings file and the files with its values. */
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
