import { unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { createWaiter } from "../waiter.ts";
import type { SiteRegistry } from "./registry.ts";
import type { Site, SiteView } from "./site.ts";

/** Stream of all sites, then of changed ones, with the names of deleted sites. */
export async function* watchRegistry(
  registry: SiteRegistry,
  viewOf: (site: Site) => SiteView,
  { signal, stopping }: { readonly signal: AbortSignal; readonly stopping: AbortSignal },
): AsyncIterable<{ views: readonly SiteView[]; gone: readonly string[] }> {
  let sent = new Map<string, SiteView>();
  const waiter = createWaiter();
  const waiting = waiter.join([signal, stopping]);
  const end = registry.onChange(waiter.notify);
  try {
    for (let first = true; ; first = false) {
      if (!first) await waiting.next();
      if (signal.aborted) return;
      if (stopping.aborted) throw unavailable(message("SERVICE_STOPPING"));
      const now = new Map(registry.sites().map((site) => [site.id, viewOf(site)]));
      const views = [...now].filter(
        ([id, view]) => sent.get(id)?.site !== view.site || sent.get(id)?.state !== view.state,
      );
      const gone = [...sent].filter(([id]) => !now.has(id)).map(([, { site }]) => site.name);
      sent = now;
      if (first || views.length > 0 || gone.length > 0)
        yield { views: views.map(([, view]) => view), gone };
    }
  } finally {
    end();
    waiting.close();
  }
}
