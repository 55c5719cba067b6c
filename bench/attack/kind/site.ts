// Sites whose replies are as costly as their size permits. They run in the attacker's process.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { callAdmin } from "../../mooring.ts";
import { type Attack, add, pause, type Tally, type Target } from "../target.ts";

/** Lists of a hostile site, made anew for each reply. */
interface Lists {
  readonly settings?: () => readonly object[];
  readonly mounts?: () => readonly object[];
}

/** A site in the attacker's process that the target follows. */
interface HostileSite {
  /** Replies so far. */
  readonly replies: () => number;
  /** Resolves when both lists have been read. */
  isRead(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Starts a site and adds it to the target. */
export async function addSite(target: Target, lists: Lists): Promise<HostileSite> {
  const read = { settings: 0, mounts: 0 };
  const usual = () => [settingRow("version", "v4.1.0")];
  // The first list must be usual: otherwise the site is not added.
  const settings = () => (read.settings === 1 ? usual() : (lists.settings ?? usual)());
  const mounts = lists.mounts ?? (() => []);
  const server = createServer((request, response) => {
    request.resume();
    const { pathname } = new URL(request.url ?? "/", "http://site");
    let data: unknown = null;
    if (pathname === "/api/admin/setting/list") {
      read.settings += 1;
      data = settings();
    } else if (pathname === "/api/admin/storage/list") {
      read.mounts += 1;
      const content = mounts();
      data = { content, total: content.length };
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ code: 200, message: "success", data }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await callAdmin(target, "/api/admin/site/create", {
    name: `hostile-${port}`,
    url: `http://127.0.0.1:${port}`,
    token: "a-token-of-the-site",
  });
  return {
    replies: () => read.settings + read.mounts,
    isRead: async (signal) => {
      while (!signal.aborted && (read.settings === 0 || read.mounts === 0))
        await pause(100, signal);
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function settingRow(key: string, value: string): object {
  return { key, value, type: "string", options: "", help: "", group: 1, flag: 0 };
}

/** A mount that fails, with a different message each time. */
export function failingRow(at: number, status = `failed to list: no such folder ${at}`): object {
  return {
    id: at + 1,
    mount_path: `/hostile/${at}`,
    driver: "Local",
    addition: "{}",
    status,
    disabled: false,
  };
}

/** The maximum of a reply, less the rest of its list. */
const MOST = 7_800_000;

const values = (count: number, length: number): string =>
  JSON.stringify(
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`k${at}`, `${at}`.padEnd(length, "v")]),
    ),
  );

/** Replies by the name of the attack. */
export const hostileLists: Readonly<
  Record<string, { readonly title: string; readonly lists: Lists }>
> = {
  values: {
    title: "a site with a mount of 100,000 values and a status of 100 kB",
    lists: {
      mounts: () => [
        { ...failingRow(0, `failed: ${"v".repeat(100_000)}`), addition: values(100_000, 8) },
      ],
    },
  },
  rows: {
    title: "a site with 85,000 failing mounts",
    lists: {
      mounts: () => Array.from({ length: 85_000 }, (_, at) => failingRow(at, `e${Math.random()}`)),
    },
  },
  crowd: {
    title: "a site with 9,500 failing mounts, each with another message and other secrets",
    lists: {
      mounts: () =>
        Array.from({ length: 9_500 }, (_, at) => ({
          ...failingRow(
            at,
            `failed: ${Buffer.from(`${Math.random()} ${"v".repeat(300)}`).toString("base64")}`,
          ),
          addition: values(10, 20),
        })),
    },
  },
  settings: {
    title: "a site with 80,000 settings",
    lists: {
      settings: () => Array.from({ length: 80_000 }, (_, at) => settingRow(`k${at}`, "")),
    },
  },
  texts: {
    title: "a site with mounts and settings of megabytes each",
    lists: {
      mounts: () => [failingRow(0, "s".repeat(MOST))],
      settings: () => [settingRow("site_title", "v".repeat(MOST))],
    },
  },
  depth: {
    title: "a site with a mount of deeply nested values",
    lists: {
      mounts: () => [
        { ...failingRow(0), addition: `{"a":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}` },
      ],
    },
  },
};

/** Lets the target read the site until the attack ends: each change of settings causes a read. */
export function hostileSite(lists: Lists): Attack {
  return async (target, signal, begin) => {
    begin("first reads");
    const site = await addSite(target, lists);
    const tally: Tally = { replies: 0 };
    await site.isRead(signal);
    begin("later reads");
    while (!signal.aborted) {
      await callAdmin(target, "/api/admin/mount/save", {
        mounts: [
          {
            name: "hostile",
            mount_path: "/hostile-change",
            driver: "Local",
            config: { root_folder_path: `/${site.replies()}` },
          },
        ],
      });
      await pause(1_000, signal);
    }
    add(tally, "replies", site.replies());
    site.close();
    return tally;
  };
}
