import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { Mount, MountStatus, MountTest } from "../../../gen/mooring/v1/mount_pb.js";
import { mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { lazy } from "../components/lazy.tsx";
import { Notice } from "../components/state.tsx";
import { When } from "../components/text.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { SiteStates } from "../records/list.tsx";
import { OnSite } from "./list.tsx";

/** Time limit of a test or of mounting again, in milliseconds. */
const PATIENCE = 300_000;

const Days = lazy(async () => (await import("../days/strip.tsx")).OneStrip);

/** State of a mount on each of its sites, with cause, remedy, a test and mounting again. */
export function OnItsSites({ mount }: { readonly mount: Mount }) {
  return (
    <SiteStates status={mount.status}>
      {mount.status.map((status) => (
        <OneSite key={status.site} mount={mount} of={status} />
      ))}
    </SiteStates>
  );
}

function OneSite({ mount, of }: { readonly mount: Mount; readonly of: MountStatus }) {
  const { busy, problem, run } = useAction();
  const tested = useSignal<MountTest | undefined>(undefined);
  const request = { names: [mount.name], site: of.site };
  const test = () =>
    run(async ({ gone: signal }) => {
      tested.value = undefined;
      const reply = await mountService.testMounts(request, { signal, timeoutMs: PATIENCE });
      tested.value = reply.tests[0];
    });
  const again = () =>
    run(async () => {
      tested.value = undefined;
      await mountService.syncMounts(request, { timeoutMs: PATIENCE });
    });
  const reason = of.error || of.differs.join(", ");
  return (
    <li class="on-site">
      <OnSite mount={mount} of={of} />
      <span class="quiet small">
        {of.listTime === undefined ? (
          t("mount.neverListed")
        ) : (
          <>
            {t("mount.listed")} <When time={timestampMs(of.listTime)} />
          </>
        )}
      </span>
      {may("mounts:write") && (
        <span class="ways">
          <Button disabled={busy} onClick={() => void test()}>
            {t("mount.test")}
          </Button>
          {(of.state === "failing" || of.state === "stuck") && (
            <Button disabled={busy} onClick={() => void again()}>
              {t("mount.again")}
            </Button>
          )}
        </span>
      )}
      {reason !== "" && <p class="mono small">{reason}</p>}
      {of.remedy !== "" && <p class="small">{of.remedy}</p>}
      {busy && <p class="quiet small">{t("mount.asking")}</p>}
      {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
      {tested.value !== undefined && <TestOutcome of={tested.value} />}
      {may("incidents:read") && (
        <Days site={of.site} mountPath={mount.overrides[of.site]?.mountPath || mount.mountPath} />
      )}
    </li>
  );
}

/** Outcome of a test, with the first entries or the cause. */
export function TestOutcome({ of }: { readonly of: MountTest }) {
  if (of.outcome !== "works")
    return <Notice kind={of.outcome === "disabled" ? "warning" : "wrong"}>{of.error}</Notice>;
  return (
    <div class="mount-test small" role="status">
      {of.error !== "" && <Notice kind="wrong">{of.error}</Notice>}
      <p>{t("mount.works", { count: of.total })}</p>
      <ul>
        {of.entries.map((entry) => (
          <li key={entry} class="mono">
            {entry}
          </li>
        ))}
      </ul>
    </div>
  );
}
