import { type WatchTimes, watchFolder } from "../files/file-watch.ts";
import { memoize } from "../memoize.ts";
import { notFound, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { createStateFeed, type View } from "../state-feed.ts";
import { type BuiltIn, readAll } from "./built-in.ts";
import {
  type Catalogue,
  type CatalogueDifference,
  createCatalogue,
  diffCatalogues,
} from "./catalogue.ts";
import type { DriverInfo } from "./driver-info.ts";
import { type FolderContent, listFolder, readFolder } from "./folder.ts";

/** Replacement of a catalogue by another one. */
export interface CatalogueChange {
  readonly catalogue: Catalogue;
  readonly difference: CatalogueDifference;
}

/** Catalogue of a deployment, updated from its folder. */
export interface LiveCatalogue {
  /** Current catalogue: the same object until a change. */
  readonly current: () => Catalogue;
  /** Calls the listener after each change, in order. @returns a function that ends this. */
  readonly subscribe: (listener: (change: CatalogueChange) => void) => () => void;
  /** Stops watching the folder. */
  readonly close: () => void;
}

export interface LiveCatalogueOptions {
  /** Reads the built-in drivers: at the first use, unless a folder or `enabled` is given. */
  readonly builtIn: () => BuiltIn;
  /** Folder of driver files that add drivers or replace built-in ones. Undefined: none. */
  readonly directory?: string | undefined;
  /** The only names to offer. Undefined: all. */
  readonly enabled?: readonly string[] | undefined;
  /**
   * Called with the problem of an invalid folder: a DriverFileError (files, positions, reasons) or
   * a CatalogueError (missing folder, missing enabled driver). The catalogue stays unchanged.
   * Called once per state of the folder, not once per check.
   */
  readonly onError: (error: Error) => void;
  /** Called with notices that need no action. */
  readonly onNotice?: (message: string) => void;
  readonly times?: WatchTimes;
}

/**
 * Reads the folder, creates the first catalogue, and watches the folder. A catalogue is only
 * replaced as a whole.
 *
 * @throws DriverFileError or CatalogueError, as passed to `onError`, when the first read fails.
 */
export async function openCatalogue(options: LiveCatalogueOptions): Promise<LiveCatalogue> {
  const { directory, enabled, onError, onNotice = () => {} } = options;
  if (directory === undefined) {
    const live = still(() => {
      const { drivers } = options.builtIn();
      return enabled === undefined
        ? catalogueOf(drivers)
        : createCatalogue({ definitions: drivers, enabled });
    });
    // An unknown name ends the start.
    if (enabled !== undefined) live.current();
    return live;
  }

  const builtIn = options.builtIn();
  const listeners = new Set<(change: CatalogueChange) => void>();
  const create = (own: readonly DriverInfo[]) =>
    createCatalogue({ definitions: [...builtIn.drivers, ...own], enabled });

  let content = await readFolder(directory);
  let catalogue = create(readAll(content.sources, builtIn.reader));
  /** Result of the last check: the hash of the content, or the text of an error. */
  let state = content.hash;

  function publish(next: Catalogue): void {
    const difference = diffCatalogues(catalogue, next);
    if (next.revision === catalogue.revision) return;
    catalogue = next;
    for (const listener of [...listeners]) listener({ catalogue, difference });
  }

  function adopt(next: FolderContent): void {
    const failed = state !== content.hash;
    const emptied = next.sources.length === 0 && content.sources.length > 0;
    const replacement = create(readAll(next.sources, builtIn.reader));
    content = next;
    state = next.hash;
    if (emptied) {
      onNotice(
        `driver folder ${directory}: the folder has no driver files; only built-in drivers are offered`,
      );
    } else if (failed) {
      onNotice(`driver folder ${directory}: the files are valid again and in use`);
    }
    publish(replacement);
  }

  async function reload(folder: string): Promise<void> {
    let found: string | undefined;
    try {
      const next = await readFolder(folder);
      found = next.hash;
      if (closed || found === state) return;
      adopt(next);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      const reached = found ?? failure.message;
      if (closed || reached === state) return;
      state = reached;
      onError(failure);
    }
  }

  let closed = false;
  let work = Promise.resolve();
  const endWatch = watchFolder(
    directory,
    listFolder,
    () => {
      work = work.then(() => reload(directory));
    },
    options.times,
  );

  return {
    current: () => catalogue,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => {
      closed = true;
      listeners.clear();
      endWatch();
    },
  };
}

/** Catalogue of all of these drivers: the same one for each service of a process. */
const catalogueOf = memoize((definitions: readonly DriverInfo[]) =>
  createCatalogue({ definitions }),
);

/**
 * Catalogue without a folder, which never changes. It is read at its first use: 20 ms of a start, for
 * drivers that no call has asked for.
 */
function still(read: () => Catalogue): LiveCatalogue {
  let catalogue: Catalogue | undefined;
  return {
    current: () => {
      catalogue ??= read();
      return catalogue;
    },
    subscribe: () => () => {},
    close: () => {},
  };
}

/** Drivers of this deployment. */
export interface DriverService {
  /** The current catalogue: a new object after each change. */
  catalogue(): Catalogue;
  /** @throws NOT_FOUND naming the driver and the nearest names. */
  get(name: string): DriverInfo;
  /** Streams catalogues. @throws UNAVAILABLE when the service stops. */
  watch<M>(view: View<Catalogue, M>, signal: AbortSignal): AsyncIterable<M>;
}

export function createDriverService({
  live,
  stopping,
}: {
  readonly live: LiveCatalogue;
  readonly stopping: AbortSignal;
}): DriverService {
  const catalogue = live.current;
  const feed = createStateFeed<Catalogue>({
    read: (before) => (before?.revision === catalogue().revision ? before : catalogue()),
    isCurrent: ({ revision }) => revision === catalogue().revision,
    stopping,
    ended: () => unavailable(message("SERVICE_STOPPING")),
  });
  live.subscribe(feed.changed);
  return {
    catalogue,
    get: (name) => {
      const driver = catalogue().get(name);
      if (driver !== undefined) return driver;
      const hint = didYouMean(name, catalogue().names);
      throw notFound(
        message("DRIVER_NOT_FOUND", {
          name: name.slice(0, 255),
          hint: hint === "" ? "" : `.${hint}`,
        }),
      );
    },
    watch: feed.watch,
  };
}
