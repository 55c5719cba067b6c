import { useSignal } from "@preact/signals";
import type { MountResult, MountStatus } from "../../../gen/mooring/v1/mount_pb.js";
import type { Site } from "../../../gen/mooring/v1/site_pb.js";
import { allMounts, mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Notice, Skeleton } from "../components/state.tsx";
import { useTask } from "../components/task.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { stateName } from "../records/list.tsx";
import { Results } from "../records/results.tsx";
import { href } from "../shell/location.ts";

/** Number of mounts that are written in one call. */
const AT_ONCE = 10;
/** Time limit of a call, in milliseconds. */
const PATIENCE = 300_000;

/** Mounts of a site: comparison with Mooring, and writing them to the site. */
export function SiteMounts({ site: { name, status } }: { readonly site: Site }) {
  const found = useSignal<readonly MountResult[] | undefined>(undefined);
  const written = useSignal<readonly MountStatus[]>([]);
  const isDialogOpen = useSignal(false);
  const comparison = useTask(async (signal) => {
    const reply = await mountService.compareMounts({ site: name }, { signal });
    found.value = reply.results.filter(({ outcome }) => outcome !== "unchanged");
  });
  const sync = useTask(async (signal, report) => {
    found.value = undefined;
    written.value = [];
    const mounts = await allMounts({ site: name }, signal);
    for (let done = 0; done < mounts.length; done += AT_ONCE) {
      const names = mounts.slice(done, done + AT_ONCE).map((mount) => mount.name);
      report({ done, all: mounts.length, name: names[0] ?? "" });
      const request = { site: name, names };
      const { status } = await mountService.syncMounts(request, { signal, timeoutMs: PATIENCE });
      written.value = [...written.value, ...status];
    }
  });
  const failing = written.value.filter(({ state }) => state === "failing" || state === "stuck");
  return (
    <section class="sheet" aria-labelledby="site-mounts">
      <h2 class="sheet-title" id="site-mounts">
        {t("page.mounts")}
      </h2>
      <div class="block">
        <p class="quiet">
          {Object.entries(status?.mounts ?? {})
            .map(([state, count]) => `${count} ${stateName(state, count)}`)
            .join(" · ") || t("site.noMounts")}
        </p>
        <div class="ways">
          <Button disabled={comparison.busy} onClick={comparison.start}>
            {t("site.compareMounts")}
          </Button>
          {may("mounts:write") && (
            <Button
              disabled={sync.busy}
              onClick={() => {
                isDialogOpen.value = true;
              }}
            >
              {t("site.syncMounts")}
            </Button>
          )}
          <a class="button" href={href("mounts", { site: name })}>
            {t("site.showMounts")}
          </a>
        </div>
        {comparison.view}
        {sync.view}
        {found.value?.length === 0 && <p class="quiet">{t("mounts.same")}</p>}
        {found.value !== undefined && <Results results={found.value} />}
        {written.value.length > 0 && (
          <Notice kind={failing.length > 0 ? "warning" : "good"}>
            {t("site.mountsWritten", { count: written.value.length - failing.length })}
            <ul>
              {failing.map((each) => (
                <li key={each.error}>
                  {stateName(each.state)}: {each.error} {each.remedy}
                </li>
              ))}
            </ul>
          </Notice>
        )}
      </div>
      {isDialogOpen.value && (
        <Confirm
          title={t("site.syncMounts")}
          action={t("site.syncMountsNow")}
          onAction={async () => sync.start()}
          onClose={() => {
            isDialogOpen.value = false;
          }}
        >
          <SyncPreview site={name} />
        </Confirm>
      )}
    </section>
  );
}

/** What writing the mounts to a site would change there. */
function SyncPreview({ site }: { readonly site: string }) {
  const { data, failure } = useCall(
    (signal) => mountService.compareMounts({ site }, { signal }),
    [site],
  );
  const changed = data?.results.filter(({ outcome }) => outcome !== "unchanged");
  return (
    <>
      <p>{t("site.syncMountsAbout")}</p>
      {failure && <p class="wrong">{failure.message}</p>}
      {changed === undefined && !failure && <Skeleton rows={2} />}
      {changed?.length === 0 && <p class="quiet">{t("mounts.same")}</p>}
      {changed && <Results results={changed} />}
    </>
  );
}
