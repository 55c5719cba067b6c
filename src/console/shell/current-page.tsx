import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { UNREACHED } from "../api/failure.ts";
import { rights, rightsFailure } from "../api/rights.ts";
import { Failed, NoRight, Skeleton } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { href, place } from "./location.ts";
import { PageHead } from "./page-head.tsx";
import { isOpen, type Page, pages } from "./pages.ts";

/** Loaded pages by name; an error if loading failed. */
const loaded = signal<ReadonlyMap<string, ComponentType | Error>>(new Map());

/** Names of pages that are loaded or loading. */
const underWay = new Set<string>();

/** The page of an address; undefined: unknown. */
export function pageAt(name: string): Page | undefined {
  return name === "" ? pages[0] : pages.find((page) => page.name === name);
}

/** Page of the current address. */
export function CurrentPage() {
  const page = pageAt(place.value.page);
  useEffect(() => {
    document.title = page === undefined ? "Mooring" : `${t(page.title)} · Mooring`;
  });
  const open = page !== undefined && isOpen(page);
  useEffect(() => {
    scrollTo(0, 0);
    if (open) void load(page);
  }, [page, open]);
  if (page === undefined)
    return (
      <>
        <PageHead title={t("state.noPage")} />
        <a href={href("")}>{t("page.overview")}</a>
      </>
    );
  if (rights.value === undefined)
    return rightsFailure.value ? <Failed failure={rightsFailure.value} /> : <Skeleton />;
  if (!open)
    return (
      <>
        <PageHead title={t(page.title)} />
        <NoRight needs={page.needs ?? []} />
      </>
    );
  const Loaded = loaded.value.get(page.name);
  if (Loaded === undefined) return <Skeleton />;
  if (Loaded instanceof Error) return <Failed failure={UNREACHED} retry={() => void load(page)} />;
  return <Loaded key={page.name} />;
}

/** Loads a page's code unless it is loaded or loading. Called at the start, and when a pointer approaches its link. */
export async function load({ name, load }: Page): Promise<void> {
  if (underWay.has(name)) return;
  underWay.add(name);
  const found = await load().then(
    (module) => module.default,
    (error: unknown) => new Error("not loaded", { cause: error }),
  );
  if (found instanceof Error) underWay.delete(name);
  loaded.value = new Map(loaded.peek()).set(name, found);
}
