import { signal } from "@preact/signals";

/**
 * Current location. A page is one step below the console's folder, and the rest of its state is in
 * the query: relative addresses then work below any path that a proxy serves the console at.
 */
export interface Place {
  /** The last part of the path, such as `settings`; empty: the first page. */
  readonly page: string;
  readonly query: URLSearchParams;
}

/** Members of a query; undefined and empty ones are omitted. */
export type Query = Readonly<Record<string, string | undefined>>;

/** The console's folder. */
const folder = new URL(".", window.location.href);

export const place = signal<Place>(read());

/** The address of a page. */
export function href(page: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given as [string, string][]).toString();
  return `${folder.pathname}${page}${search === "" ? "" : `?${search}`}`;
}

/** Navigates to an address of the console. */
export function go(address: string): void {
  clearTimeout(settling);
  const { page, query } = place.peek();
  // Writes a delayed address first, so that the back button returns to it.
  history.replaceState(null, "", href(page, Object.fromEntries(query)));
  history.pushState(null, "", address);
  place.value = read();
}

/** Delay of changes of the address, in milliseconds: browsers limit their rate. */
const SETTLED = 300;
let settling: ReturnType<typeof setTimeout> | undefined;

/** Changes members of the current page's query without a new entry in the browser's history. */
export function refine(query: Query): void {
  const { page, query: old } = place.peek();
  const address = href(page, { ...Object.fromEntries(old), ...query });
  place.value = { page, query: new URL(address, folder).searchParams };
  clearTimeout(settling);
  settling = setTimeout(() => history.replaceState(null, "", address), SETTLED);
}

/** Follows the browser's history, and links within the console without a reload. */
export function followLocation(): void {
  addEventListener("popstate", () => {
    clearTimeout(settling);
    place.value = read();
  });
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const special = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (link === null || special || event.button !== 0 || event.defaultPrevented) return;
    if (link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== folder.origin || !link.pathname.startsWith(folder.pathname)) return;
    event.preventDefault();
    go(link.href);
  });
}

function read(): Place {
  const { pathname, search } = window.location;
  return {
    page: pathname.slice(pathname.lastIndexOf("/") + 1),
    query: new URLSearchParams(search),
  };
}
