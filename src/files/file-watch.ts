import { type FSWatcher, watch } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Times of a watch. The defaults suit files that are written by people and configuration tools. */
export interface WatchTimes {
  /**
   * Interval of checks for changes that the system does not report, in milliseconds. Default: 2000.
   */
  readonly interval?: number;
  /**
   * Time after the last report until a change counts as complete, in milliseconds. Default: 100.
   */
  readonly quiet?: number;
}

/** Watch of files by their paths, including missing files. */
export interface FileWatch {
  /** Replaces the watched paths. */
  readonly follow: (paths: readonly string[]) => void;
  /** Ends the watch; afterwards there are no calls. */
  readonly close: () => void;
}

interface WatchedFolder {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/** Watched files. */
interface Watched {
  readonly folders: readonly string[];
  /** Whether a report about this name in a folder needs a check. */
  readonly concerns: (name: string) => boolean;
  /** Text that changes with the files. */
  readonly fingerprint: () => Promise<string>;
}

/**
 * Calls `onChange` when one of the files may have been changed, created or deleted. Every change
 * leads to a call; there may be additional calls, such as one soon after the start for earlier
 * changes. Folders are watched instead of files, because a replaced file and the swapped link of a
 * Kubernetes volume are changes of the folder. Periodic checks find changes that the system does
 * not report, as on network file systems and behind links to other folders.
 *
 * A watch does not keep the process alive.
 */
export function watchFiles(
  paths: readonly string[],
  onChange: () => void,
  times?: WatchTimes,
): FileWatch {
  const watched = createWatch(onChange, times);
  const follow = (files: readonly string[]): void => {
    const names = new Set(files.map((file) => basename(file)));
    watched.follow({
      folders: files.map((file) => dirname(file)),
      // A database in the same folder writes all the time.
      concerns: (name) => names.has(name),
      fingerprint: async () => JSON.stringify(await Promise.all(files.map(fingerprintOf))),
    });
  };
  follow(paths);
  return { follow, close: watched.close };
}

/**
 * Calls `onChange` when files of a folder may have changed, as in `watchFiles`.
 *
 * @param list reads the names of the watched files.
 * @returns a function that ends it.
 */
export function watchFolder(
  directory: string,
  list: (directory: string) => Promise<readonly string[]>,
  onChange: () => void,
  times?: WatchTimes,
): () => void {
  const { follow, close } = createWatch(onChange, times);
  follow({
    folders: [directory],
    concerns: () => true,
    fingerprint: async () => {
      const names = await list(directory).catch((error: unknown) => [String(error)]);
      const facts = names.map(async (name) => [name, await fingerprintOf(join(directory, name))]);
      return JSON.stringify(await Promise.all(facts));
    },
  });
  return close;
}

function createWatch(
  onChange: () => void,
  { interval = 2000, quiet = 100 }: WatchTimes = {},
): { readonly follow: (watched: Watched) => void; readonly close: () => void } {
  const folders = new Map<string, WatchedFolder>();
  let watched: Watched | undefined;
  let seen: string | undefined;
  let settle: NodeJS.Timeout | undefined;
  let next: NodeJS.Timeout | undefined;
  let checking = false;
  let lookAgain = false;
  let closed = false;

  function unwatch(folder: string): void {
    folders.get(folder)?.watcher.close();
    folders.delete(folder);
  }

  /** Renews the watch of a replaced folder, and retries one that failed. */
  function rewatch(folder: string, identity: string | undefined): void {
    if (identity !== undefined && folders.get(folder)?.identity === identity) return;
    unwatch(folder);
    if (identity === undefined) return;
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        if (event === "rename" || name === null || watched?.concerns(name)) check();
      });
      watcher.on("error", () => unwatch(folder));
      folders.set(folder, { identity, watcher });
    } catch {
      // The periodic checks continue.
    }
  }

  async function lookOnce(): Promise<void> {
    if (watched === undefined) return;
    const { fingerprint } = watched;
    const wanted = new Set(watched.folders);
    for (const folder of folders.keys()) if (!wanted.has(folder)) unwatch(folder);
    for (const folder of wanted) {
      const identity = await identityOf(folder);
      if (closed) return;
      rewatch(folder, identity);
    }
    // Read after the watches have started, so that no change is missed.
    const found = await fingerprint();
    if (closed || found === seen) return;
    seen = found;
    clearTimeout(settle);
    settle = setTimeout(onChange, quiet).unref();
  }

  function check(): void {
    lookAgain = true;
    if (checking || closed) return;
    checking = true;
    clearTimeout(next);
    void lookUntilStill();
  }

  async function lookUntilStill(): Promise<void> {
    while (lookAgain && !closed) {
      lookAgain = false;
      await lookOnce();
    }
    checking = false;
    if (!closed) next = setTimeout(check, interval).unref();
  }

  return {
    follow: (wanted) => {
      watched = wanted;
      check();
    },
    close: () => {
      closed = true;
      clearTimeout(next);
      clearTimeout(settle);
      for (const folder of [...folders.keys()]) unwatch(folder);
    },
  };
}

async function identityOf(path: string): Promise<string | undefined> {
  const facts = await stat(path).catch(() => undefined);
  return facts && `${facts.dev}:${facts.ino}`;
}

/** Target and state of a path; an unreachable file counts too. */
async function fingerprintOf(path: string): Promise<string> {
  try {
    const [target, file] = await Promise.all([realpath(path), stat(path, { bigint: true })]);
    return `${target} ${file.dev}:${file.ino} ${file.size} ${file.mtimeNs} ${file.ctimeNs}`;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "unknown";
  }
}

/** Content of a file that names further files. */
interface WatchedContent {
  readonly files: readonly string[];
}

export interface ContentWatchOptions<Content extends WatchedContent> {
  readonly path: string;
  /** Content that the caller has already applied. */
  readonly first: Content;
  readonly load: () => Content;
  /** Text that is equal for equal contents. */
  readonly keyOf: (content: Content) => string;
  /**
   * Called with each new content, in order and one call at a time. After a rejection it is called
   * again at the next change, or after the interval of checks.
   */
  readonly onChange: (content: Content) => void | Promise<void>;
  /** Called with the first of several rejections. */
  readonly onError: (error: unknown) => void;
  readonly times?: WatchTimes | undefined;
  /** Calls the listener when the key may have changed without a change of the files. Default: never. */
  readonly subscribe?: ((listener: () => void) => () => void) | undefined;
}

/** Pause before another attempt to apply a content, in milliseconds. */
const AGAIN = 2_000;

/**
 * Watches a file, and the files that it names, for new content.
 *
 * @returns a function that ends the watch; afterwards there are no calls. It resolves when a running
 *   call of `onChange` has ended.
 */
export function watchContent<Content extends WatchedContent>(
  options: ContentWatchOptions<Content>,
): () => Promise<void> {
  const { path, first, load, keyOf, onChange, onError, times } = options;
  let used: string | undefined = keyOf(first);
  let isFailing = false;
  let isClosed = false;
  let again: NodeJS.Timeout | undefined;
  let work: Promise<void> = Promise.resolve();
  const reload = async (): Promise<void> => {
    clearTimeout(again);
    if (isClosed) return;
    const content = load();
    watch.follow([path, ...content.files]);
    const key = keyOf(content);
    if (key !== used) {
      used = undefined;
      await onChange(content);
      used = key;
    }
    isFailing = false;
  };
  const fail = (error: unknown): void => {
    if (!isFailing) onError(error);
    isFailing = true;
    if (!isClosed) again = setTimeout(next, times?.interval ?? AGAIN).unref();
  };
  const next = (): void => {
    work = work.then(reload).catch(fail);
  };
  const watch = watchFiles([path, ...first.files], next, times);
  const unsubscribe = options.subscribe?.(next);
  return () => {
    isClosed = true;
    clearTimeout(again);
    watch.close();
    unsubscribe?.();
    return work;
  };
}
