import { once } from "node:events";
import { get } from "node:http";
import type { Browser, Page, Request } from "playwright-core";
import { until } from "../../../bench/port.ts";

/** Pages other than the first one, which are loaded on first use. */
const PAGES = [
  "settings",
  "review",
  "history",
  "drivers",
  "sites",
  "mounts",
  "mount",
  "share-links",
  "webhooks",
  "backup",
  "tokens",
  "audit",
] as const;

/** Bytes of files, as gzip. */
export interface Weight {
  /** All files of the first page. */
  readonly first: number;
  /** Scripts of the first page. */
  readonly scripts: number;
  /** Additional files of each other page. */
  readonly pages: Readonly<Record<string, number>>;
}

/**
 * Opens each page of a console in a browser with an empty cache, and measures the size of its
 * requests.
 *
 * @param origin of the service, such as `http://127.0.0.1:5244`.
 */
export async function weighConsole(
  browser: Browser,
  { origin, token }: { readonly origin: string; readonly token: string },
): Promise<Weight> {
  const page = await browser.newPage();
  await page.addInitScript(
    `sessionStorage.setItem("mooring.token", ${JSON.stringify(token)}); localStorage.clear()`,
  );
  const asked = new Set<string>();
  page.on("request", (request) => {
    if (request.method() === "GET" && !request.url().startsWith("blob:")) asked.add(request.url());
  });
  const settled = quiet(page);
  await page.goto(`${origin}/console/`);
  await settled();
  const first = [...asked];
  const pages: Record<string, number> = {};
  for (const name of PAGES) {
    const before = new Set(asked);
    await page.goto(`${origin}/console/${name}`);
    await settled();
    const added = [...asked].filter((url) => !before.has(url) && url.includes("/assets/"));
    pages[name] = await gzipBytes(added);
    // Files that several pages load are measured for each of them.
    for (const url of added) asked.delete(url);
  }
  await page.context().close();
  const scripts = first.filter((url) => url.endsWith(".js"));
  return { first: await gzipBytes(first), scripts: await gzipBytes(scripts), pages };
}

/** @returns a function that resolves when a page is shown and waits only for streams. */
function quiet(page: Page): () => Promise<void> {
  const waiting = new Set<Request>();
  page.on("request", (request) => {
    if (!request.url().includes("/Watch")) waiting.add(request);
  });
  for (const end of ["requestfinished", "requestfailed"] as const)
    page.on(end as "requestfinished", (request) => void waiting.delete(request));
  return async () => {
    await page.locator("main:not(:has(.skeleton)) h1").waitFor();
    await until(
      async () => waiting.size === 0,
      () => `the page still waits for ${[...waiting].map((request) => request.url()).join(", ")}`,
    );
  };
}

async function gzipBytes(urls: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const url of urls) {
    const request = get(url, { headers: { "accept-encoding": "gzip" } });
    const [reply] = await once(request, "response");
    for await (const chunk of reply) bytes += chunk.length;
  }
  return bytes;
}
