import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { Mount, MountStatus, MountTest } from "../../../gen/mooring/v1/mount_pb.js";
import { problemOf } from "../api/failure.ts";
import { mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { lazy } from "../components/lazy.tsx";
import { Notice } from "../components/state.tsx";
import { When } from "../components/text.tsx";
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
  const busy = useSignal(false);
  const wrong = useSignal("");
  const tested = useSignal<MountTest | undefined>(undefined);
  const act = async (call: () => Promise<void>): Promise<void> => {
    busy.value = true;
    tested.value = undefined;
    try {
      await call();
      wrong.value = "";
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  const request = { names: [mount.name], site: of.site };
  const test = () =>
    act(async () => {
      tested.value = (await mountService.testMounts(request, { timeoutMs: PATIENCE })).tests[0];
    });
  const again = () =>
    act(async () => {
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
          <Button disabled={busy.value} onClick={() => void test()}>
            {t("mount.test")}
          </Button>
          {(of.state === "failing" || of.state === "stuck") && (
            <Button disabled={busy.value} onClick={() => void again()}>
              {t("mount.again")}
            </Button>
          )}
        </span>
      )}
      {reason !== "" && <p class="mono small">{reason}</p>}
      {of.remedy !== "" && <p class="small">{of.remedy}</p>}
      {busy.value && <p class="quiet small">{t("mount.asking")}</p>}
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
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
